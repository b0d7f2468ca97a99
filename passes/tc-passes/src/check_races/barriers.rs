//! Is there a barrier between any two accesses of two threads that need one?

use super::cells::{AccessPair, Touch};
use super::relevant::Relevant;
use super::trace::{Block, Stop, Trace};
use super::{Kind, Open};
use crate::analysis::launch::{Extent, Nest};
use tc_ir::{Func, Op, Value};
use tc_support::Diagnostic;

/// Steps of one thread that following a nest may take.
const MAX_STEPS: u64 = 1 << 24;
/// Blocks of which it is not clear whether they have a race; after so many no other is looked at.
const MAX_UNCLEAR: usize = 4;

/// What following the threads of some blocks gave.
enum Followed {
    Clean,
    Race(AccessPair),
    /// A barrier that not all threads come to.
    Divergent(Op),
    Unclear(Unclear),
}

/// Why there is no telling.
enum Unclear {
    /// Two accesses that are not both certain.
    Maybe(AccessPair),
    /// Two accesses whose cells cannot be compared.
    Cells(Touch, Touch, Value),
    Stop(Stop),
    /// The number of threads is not constant.
    Threads,
}

/// The race of the threaded nest `nest`, or what is open.
pub(super) fn missing(func: &Func, nest: &Nest, is_noalias: bool) -> Option<Open> {
    let relevant = Relevant::of(func, nest.op, is_noalias);
    if relevant.is_empty() {
        return None;
    }
    let mut steps = MAX_STEPS;
    let unclear = match follow(func, nest, &relevant, [None; 3], &mut steps) {
        Followed::Clean => return None,
        Followed::Race(pair) => return Some(race(func, nest, &pair, None)),
        Followed::Divergent(op) => return Some(divergent(func, op)),
        Followed::Unclear(unclear) => unclear,
    };
    let Some(blocks) = blocks(nest) else { return Some(undecided(func, nest, &unclear)) };
    let mut found = None;
    let mut n_unclear = 0;
    for block in blocks {
        match follow(func, nest, &relevant, block.map(Some), &mut steps) {
            Followed::Clean => {}
            Followed::Race(pair) => return Some(race(func, nest, &pair, Some(block))),
            Followed::Divergent(op) => return Some(divergent(func, op)),
            Followed::Unclear(unclear) => {
                let ends = matches!(unclear, Unclear::Stop(Stop::Budget));
                found = found.or(Some(unclear));
                n_unclear += 1;
                if ends || n_unclear >= MAX_UNCLEAR {
                    break;
                }
            }
        }
    }
    found.map(|unclear| undecided(func, nest, &unclear))
}

fn follow(func: &Func, nest: &Nest, relevant: &Relevant, block: Block, steps: &mut u64) -> Followed {
    let Some(mut trace) = Trace::new(func, nest, relevant, block, *steps) else {
        return Followed::Unclear(Unclear::Threads);
    };
    let ended = trace.run();
    *steps = trace.steps;
    let pairs: Vec<AccessPair> = [trace.shared.conflict, trace.global.conflict].into_iter().flatten().collect();
    if let Some(certain) = pairs.iter().find(|pair| pair.is_certain()) {
        return Followed::Race(*certain);
    }
    if let Some(op) = trace.divergent {
        return Followed::Divergent(op);
    }
    if let Some(maybe) = pairs.first() {
        return Followed::Unclear(Unclear::Maybe(*maybe));
    }
    if let Some((first, second, root)) = trace.shared.unclear.or(trace.global.unclear) {
        return Followed::Unclear(Unclear::Cells(first, second, root));
    }
    match ended {
        Ok(()) => Followed::Clean,
        Err(stop) => Followed::Unclear(Unclear::Stop(stop)),
    }
}

/// The blocks of a grid of constant extents: the last one, which is rarely full, and then all others in order.
fn blocks(nest: &Nest) -> Option<impl Iterator<Item = [i64; 3]> + use<>> {
    let mut extents = [1i64; 3];
    for (extent, known) in extents.iter_mut().zip(nest.extents) {
        *extent = match known {
            Extent::One => 1,
            Extent::Const(n) => n.max(1),
            Extent::Symbolic => return None,
        };
    }
    let [x, y, z] = extents;
    let count = x.checked_mul(y)?.checked_mul(z)?;
    let block = move |nth: i64| [nth % x, nth / x % y, nth / x / y];
    Some(std::iter::once(count - 1).chain(0..count - 1).map(block))
}

fn race(func: &Func, nest: &Nest, pair: &AccessPair, block: Option<[i64; 3]>) -> Open {
    let name = func.value_text(pair.root);
    let text = format!("no barrier keeps two threads from touching one cell of `{name}`");
    let (first, second) = (&pair.first, &pair.second);
    let who = |touch: &Touch| {
        let thread = thread_text(nest, touch.thread);
        format!("{} by thread {thread}", if touch.writes { "written" } else { "read" })
    };
    let note = match block {
        Some([x, y, z]) => format!("in block ({x}, {y}, {z}), at place {} of its memory", pair.cell),
        None => format!("in every block, at place {} of its memory", pair.cell),
    };
    let mut diagnostic = Diagnostic::error("race", func.op_location(second.op), text)
        .label(func.op_location(second.op), who(second))
        .note(note)
        .help("put a `gpu.barrier` between the two");
    if first.op != second.op {
        diagnostic = diagnostic.label(func.op_location(first.op), who(first));
    }
    Open { diagnostic, kind: Kind::Race, reason: None }
}

fn divergent(func: &Func, op: Op) -> Open {
    let text = "some threads of a block come to this barrier, and others do not".to_string();
    let diagnostic = Diagnostic::error("divergent-barrier", func.op_location(op), text)
        .help("move it out of the condition or loop that differs between threads");
    Open { diagnostic, kind: Kind::Race, reason: None }
}

fn undecided(func: &Func, nest: &Nest, unclear: &Unclear) -> Open {
    let of_pair = |first: &Touch, second: &Touch, root: Value, reason: &str| {
        let name = func.value_text(root);
        let text = format!("cannot decide whether a barrier keeps two threads from touching one cell of `{name}`");
        let done = |touch: &Touch| if touch.writes { "written here" } else { "read here" };
        let mut diagnostic = Diagnostic::warning("race-undecided", func.op_location(second.op), text);
        if first.op != second.op {
            diagnostic = diagnostic.label(func.op_location(first.op), done(first));
        }
        (diagnostic, reason.to_string())
    };
    let of_nest = |at, reason: &str| {
        let text = "cannot decide whether barriers keep the threads of a block apart";
        (Diagnostic::warning("race-undecided", func.op_location(at), text), reason.to_string())
    };
    let (diagnostic, reason) = match unclear {
        Unclear::Maybe(AccessPair { first, second, root, .. }) => of_pair(
            first,
            second,
            *root,
            "a condition around one of them, or a barrier between, depends on data or sizes",
        ),
        Unclear::Cells(first, second, root) => of_pair(
            first,
            second,
            *root,
            "the cells depend on data, on sizes or on a whole warp, and cannot be compared",
        ),
        Unclear::Stop(Stop::Budget) => of_nest(nest.op, "it has too many threads and iterations to follow each"),
        Unclear::Stop(Stop::Op(op)) => of_nest(*op, "how often this runs, or what it does, is not known"),
        Unclear::Threads => of_nest(nest.op, "the number of threads of a block is not constant"),
    };
    Open { diagnostic, kind: Kind::Open, reason: Some(reason) }
}

/// The coordinates of a thread by its number.
fn thread_text(nest: &Nest, thread: u32) -> String {
    let extent = |nth: usize| match nest.extents[nth] {
        Extent::Const(n) => n.max(1),
        _ => 1,
    };
    let (x, y) = (extent(3), extent(4));
    let number = i64::from(thread);
    if y == 1 && extent(5) == 1 {
        return number.to_string();
    }
    format!("({}, {}, {})", number % x, number / x % y, number / x / y)
}
