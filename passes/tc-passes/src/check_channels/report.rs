//! What is said of faults.

use super::run::{Block, Key, MAX_STEPS, Strand, Wait};
use super::skeleton::is_launch;
use super::threads::Threads;
use crate::analysis::launch::loop_var;
use tc_dialects::algebra::Algebra;
use tc_dialects::tir;
use tc_ir::walk::ancestors;
use tc_ir::{Func, Op, Value};
use tc_support::{Diagnostic, counted};

fn error(func: &Func, at: Op, text: String) -> Diagnostic {
    Diagnostic::error("channel", func.op_location(at), text)
}

fn name(func: &Func, (buffer, index, _): Key) -> String {
    let extents = tir::place_type(func, buffer).map_or(&[][..], |(_, extents, _)| extents);
    let (mut left, mut indices) = (index, Vec::new());
    for extent in extents.iter().skip(1).rev().map(|&extent| func.as_int(extent).unwrap_or(i64::MAX).max(1)) {
        indices.push((left % extent).to_string());
        left /= extent;
    }
    indices.push(left.to_string());
    indices.reverse();
    format!("`{}[{}]`", func.value_text(buffer), indices.join(", "))
}

/// The threads of a strand, in words.
fn who(threads: &Threads) -> String {
    match (threads.ends(), threads.len()) {
        (Some((one, _)), 1) => format!("thread {one}"),
        (Some((first, last)), n) if (last - first) as usize + 1 == n => format!("threads {first} to {last}"),
        (Some((first, last)), n) => format!("{} from {first} to {last}", counted(n, "thread")),
        (None, _) => "no thread".to_string(),
    }
}

/// A barrier that its array has not.
pub(super) fn out_of_bounds(
    func: &Func,
    (buffer, index): (Value, i64),
    extent: i64,
    op: Op,
    threads: &Threads,
) -> Diagnostic {
    let array = func.value_text(buffer);
    let text = format!("index {index} of `{array}` is out of bounds, where {} names it", who(threads));
    error(func, op, text).note(format!("an index there is 0 to {}", extent - 1))
}

/// An arrival at a barrier of a block that the cluster has not.
pub(super) fn no_such_block(func: &Func, (rank, n): (i64, i64), op: Op, threads: &Threads) -> Diagnostic {
    let text = format!("{} arrives at a barrier of block {rank} of the cluster", who(threads));
    let note = match n {
        1 => "the blocks of this kernel are in no cluster: the loop over blockIdx.x has no `cluster = …`".to_string(),
        _ => format!("a cluster has blocks 0 to {}", n - 1),
    };
    error(func, op, text).note(note)
}

/// More steps than are followed.
pub(super) fn too_long(block: &Block<'_, '_>, strand: &Strand) -> Diagnostic {
    let (func, skeleton) = (block.skeleton.func, &block.skeleton);
    let is_loop = |&op: &Op| func.opcode(op) == tir::FOR && !is_launch(func, op);
    let outermost = std::iter::once(strand.at).chain(ancestors(func, strand.at)).filter(is_loop).last();
    let of = if outermost.is_some() { "of this loop" } else { "of this kernel" };
    let mut text = format!("the barriers {of} take more than {MAX_STEPS} steps to check: in block {}", block.number);
    let var = outermost.map(|op| loop_var(func, op));
    let known = |var: Value| strand.numbers.iter().find(|&&(of, _)| of == Algebra::var(var));
    if let Some((var, &(_, at))) = var.and_then(|var| Some((var, known(var)?))) {
        text += &format!(" they lead to `{}` = {at}, where", func.value_text(var));
    }
    let ways = block.strands.iter().filter(|strand| !strand.is_done()).count();
    text += &match ways {
        1 => format!(" {} go the same way", counted(skeleton.threads() as usize, "thread")),
        _ => format!(" {} go {ways} ways", counted(skeleton.threads() as usize, "thread")),
    };
    Diagnostic::error("over-limit", func.op_location(outermost.unwrap_or(skeleton.root)), text)
        .help("let a block do fewer iterations, or let more of its threads take the same way")
}

/// The barrier is made ready twice.
pub(super) fn made_twice(func: &Func, key: Key, op: Op, first: Op) -> Diagnostic {
    let text = format!("{} is made ready twice", name(func, key));
    error(func, op, text)
        .label(func.op_location(first), "it was here")
        .help("let one thread make each barrier ready, once")
}

/// The barrier is used before it is ready, or before the thread knows that it is.
pub(super) fn not_made(func: &Func, key: Key, op: Op, made: Option<(Op, bool)>) -> Diagnostic {
    let text = format!("{} is used before it is made ready", name(func, key));
    let found = error(func, op, text);
    match made {
        Some((made, true)) => found
            .label(func.op_location(made), "another thread makes it ready here, with no barrier of the block between")
            .help("let all threads pass a `gpu.barrier(shared)` before they use it"),
        Some((made, false)) => found
            .label(func.op_location(made), "another block makes it ready here, with no barrier of the cluster between")
            .help("let all threads pass a `gpu.barrier(cluster)` before they use it"),
        None => found.help("let one thread call `mbarrier.init`, and all pass a `gpu.barrier(shared)` then"),
    }
}

/// An arrival too many.
pub(super) fn too_many(func: &Func, key: Key, op: Op, lacks: &str) -> Diagnostic {
    let text = format!("one more arrives at a phase of {}, which {lacks}", name(func, key));
    error(func, op, text)
        .help("count all that arrive in a phase: `mbarrier.init(…, count = n)`; announce the bytes that come")
}

/// A wait for a parity that no phase has.
pub(super) fn no_parity(func: &Func, key: Key, op: Op, parity: i64) -> Diagnostic {
    let text = format!("a wait for phase {parity} of {}: a parity is 0 or 1", name(func, key));
    error(func, op, text).help("take the number of the round modulo 2")
}

/// No strand can go on.
pub(super) fn deadlock(block: &Block<'_, '_>) -> Diagnostic {
    let func = block.skeleton.func;
    let waiting: Vec<&Strand> = block.strands.iter().filter(|strand| !strand.is_done()).collect();
    let phase = |strand: &&&Strand| matches!(strand.waits, Wait::Phase(..));
    let first = waiting.iter().find(phase).or(waiting.first()).copied();
    let Some(first) = first else { return error(func, block.skeleton.root, "nothing goes on".to_string()) };
    let mut found = error(func, first.at, wait_text(block, first));
    for strand in waiting.iter().filter(|strand| strand.at != first.at) {
        found = found.label(func.op_location(strand.at), wait_text(block, strand));
    }
    let ended: Vec<String> =
        block.strands.iter().filter(|strand| strand.is_done()).map(|strand| of_strand(block, strand)).collect();
    if !ended.is_empty() {
        found = found.note(format!("{} ended", ended.join(", ")));
    }
    found.help(
        "each phase wants its arrivals and bytes: compare the loops of the roles, and the parities that they wait for",
    )
}

/// The threads of a strand, in words, and their block where there are several.
fn of_strand(block: &Block<'_, '_>, strand: &Strand) -> String {
    let who = who(&strand.threads);
    match block.skeleton.cluster {
        1 => who,
        _ => format!("{who} of block {}", block.number + strand.rank as u64),
    }
}

fn waits(strand: &Strand) -> &'static str {
    if strand.threads.len() == 1 { "waits" } else { "wait" }
}

fn wait_text(block: &Block<'_, '_>, strand: &Strand) -> String {
    let func = block.skeleton.func;
    let who = of_strand(block, strand);
    match strand.waits {
        Wait::Phase(key, _) => {
            let (phase, lacks) =
                block.barriers.get(&key).map_or((0, String::new()), |(barrier, _)| (barrier.phase, barrier.lacks()));
            format!("{who} {} for ever for phase {phase} of {}, which {lacks}", waits(strand), name(func, key))
        }
        Wait::Warpgroup(op) => {
            format!("{who} {} for ever for the other threads of the warpgroup at `{}`", waits(strand), func.op_name(op))
        }
        Wait::Cluster => format!("{who} {} for ever for the other threads of the cluster", waits(strand)),
        Wait::Block | Wait::Nothing => {
            format!("{who} {} for ever for the other threads of the block", waits(strand))
        }
    }
}

/// What is left over when all threads have ended.
pub(super) fn at_end(block: &Block<'_, '_>) -> Option<Diagnostic> {
    let func = block.skeleton.func;
    let mut keys: Vec<&Key> = block.barriers.keys().collect();
    keys.sort_by_key(|(buffer, index, rank)| (buffer.as_u32(), *index, *rank));
    for key in keys {
        let (barrier, made) = &block.barriers[key];
        if barrier.is_begun() {
            let text =
                format!("the kernel ends in the middle of a phase of {}, which {}", name(func, *key), barrier.lacks());
            return Some(error(func, *made, text).help("let each role go through the ring equally often"));
        }
        if let Some((phase, epoch)) = barrier.reached
            && epoch == block.epoch
            && barrier.waited <= phase
        {
            let text = format!("another block arrives at {}, whose own block may have ended before", name(func, *key));
            let help = "let all threads of the cluster pass a `gpu.barrier(cluster)` before they end";
            return Some(error(func, *made, text).help(help));
        }
        if barrier.is_filled && barrier.waited < barrier.phase {
            let text = format!(
                "{} was filled {}, and waited for {} only",
                name(func, *key),
                counted(barrier.phase, "time"),
                barrier.waited
            );
            return Some(error(func, *made, text).help("what is copied must be waited for before the kernel ends"));
        }
    }
    None
}
