//! Inserts a barrier before each access that conflicts with one since the last barrier.
//!
//! Before the pass a function is *phased*: all threads of a block finish an op before one begins the next. After it the
//! function has the attribute `threaded`: threads run independently and wait for one another only at `gpu.barrier`.
//!
//! # Input form
//!
//! `scheduled`. Buffers may be flat or multi-dimensional. No op with unknown effects inside a launch nest; no tiles of `mma`
//! or `wgmma` that `distribute-fragments` has not divided among threads.
//!
//! # Output form
//!
//! `threaded`. The pass adds only barriers; and fences before them in a kernel whose warpgroup products read what threads wrote.
//!
//! # Example
//!
//! ```tir
//! for tx in 0..32 bind(threadIdx.x) {
//!   alloc S: f32[32] in shared
//!   for k in 0..4 {
//!     S[tx] = A[k * 32 + tx]
//!     B[k * 32 + tx] = S[31 - tx]
//!   }
//! }
//! ->
//! for tx in 0..32 bind(threadIdx.x) {
//!   alloc S: f32[32] in shared
//!   for k in 0..4 {
//!     gpu.barrier(shared)
//!     S[tx] = A[k * 32 + tx]
//!     gpu.barrier(shared)
//!     B[k * 32 + tx] = S[31 - tx]
//!   }
//! }
//! ```
//!
//! # Algorithm
//!
//! 1. Collect the accesses to memory that several threads of a block share: shared, warp and global. Two accesses
//!    conflict if at least one of them writes, unless a dependence test proves that only one thread accesses the same
//!    location by both: their indices, and conditions that fix a coordinate (`tx == 0`), determine all launched thread
//!    coordinates; or the indices are never equal; or there are few points, and all were tried, with the conditions
//!    that hold there. (TVM 0.16 looks at the innermost coordinate only and so loses barriers in blocks of two
//!    dimensions.)
//! 2. Walk each region in order, inner regions first, and plan a barrier before the first statement that conflicts with
//!    an access since the last barrier; then compare the end of a loop's body with its beginning. A reduction across
//!    threads counts as a barrier. Remove a barrier that a later one makes redundant. The write of an asynchronous copy
//!    conflicts with earlier accesses at its start, and with later ones of other threads from the wait that covers it:
//!    the barrier for these follows the wait. An op of a whole warp, on tiles or on rows that its threads name, counts
//!    as an access of the warp and not of a single thread.
//! 3. Put barriers only where all threads of a block arrive: never under a condition or a loop bound that may differ
//!    between them. A conflict in such divergent control flow is an error. So is a conflict between the branches of a
//!    divergent conditional, which run at the same time.
//! 4. Products of warpgroups see shared memory as bulk copies do. In a launch nest where they read what threads write, by stores or
//!    asynchronous copies, each barrier comes after a `tma.fence`, those of the author too.
//!
//! # Limits
//!
//! A conflict inside a divergent condition is refused: split the condition by hand into the part before the barrier and
//! the part after it. A shuffle, or an op on tiles, is refused if not all threads of a warp reach it. The pass does not
//! detect a use of the destination of an outstanding copy, before any wait; the simulator does.
//!
//! # Remarks
//!
//! `barrier`: each inserted barrier, with the two accesses that may conflict.
//!
//! # References
//!
//! TVM 0.16, `src/tir/transforms/thread_storage_sync.cc`.

use crate::analysis::access::Access;
use crate::analysis::launch::{LaunchNests, Nest};
use crate::analysis::sync::{BarrierPlacement, Conflict, Divergent, plan};
use rustc_hash::FxHashSet;
use tc_dialects::fragment::Family;
use tc_dialects::scope::Scope;
use tc_dialects::threads::{Meeting, is_by_mbarrier, meeting};
use tc_dialects::tir::Coordinate;
use tc_dialects::{forms, gpu, tir, tma, wgmma};
use tc_ir::effects::{self, root_buffer};
use tc_ir::opdef;
use tc_ir::verify::is_threaded;
use tc_ir::{AttrData, Builder, Func, Op, Value, keys};
use tc_pass::{FuncPass, PassCx, PassInfo, PassKind, preserved};
use tc_support::Diagnostic;

tc_pass::options! {
    /// `thread-sync` has no options.
    pub struct Options {}
}

/// The row.
pub const INFO: PassInfo = PassInfo {
    name: "thread-sync",
    page: tc_support::page!("thread_sync.rs"),
    anchor: "tir.func",
    options: Options::INFO,
    requires: &[&forms::SCHEDULED],
    establishes: &[&forms::THREADED],
    preserves: &[preserved::<LaunchNests>],
    make: |raw| Options::read(raw).map(|_| PassKind::Func(tir::FUNC, Box::new(ThreadSync))),
};

/// The pass.
pub struct ThreadSync;

impl FuncPass for ThreadSync {
    fn run(&self, func: &mut Func, cx: &mut PassCx) -> bool {
        if is_threaded(func) {
            return false;
        }
        let nests = cx.analysis::<LaunchNests>(func);
        if let Some(op) = nests.iter().find_map(|nest| undivided(func, nest)) {
            cx.report(not_divided(func, op));
            return false;
        }
        // A nest with barriers in shared memory says itself what orders its threads.
        let is_open = |nest: &&Nest| !nest.ops(func).any(|op| is_by_mbarrier(func, op));
        let plans: Vec<BarrierPlacement> = nests.iter().filter(is_open).map(|nest| plan(func, nest)).collect();
        let n_errors = plans.iter().map(|plan| report(func, plan, cx)).sum::<usize>();
        if n_errors > 0 {
            return false;
        }
        let fenced: Vec<bool> = nests.iter().filter(is_open).map(|nest| products_read_stores(func, nest)).collect();
        let of_author = nests.iter().filter(is_open).zip(&fenced).filter(|&(_, &is_fenced)| is_fenced);
        let of_author = of_author.flat_map(|(nest, _)| nest.ops(func).filter(|&op| is_bare_barrier(func, op)));
        for barrier in of_author.collect::<Vec<Op>>() {
            tma::Fence::build(&mut Builder::before(func, barrier), &[], &[]);
        }
        for (plan, is_fenced) in plans.iter().zip(fenced) {
            cx.count("barriers inserted", plan.barriers.len() as u64);
            for (&op, conflict) in &plan.barriers {
                cx.missed(|| waits(func, op, conflict));
                insert(func, op, conflict, is_fenced);
            }
        }
        let unit = func.attr(AttrData::Unit);
        func.header.attrs = func.with_entry(func.header.attrs, keys::THREADED, unit);
        true
    }
}

fn insert(func: &mut Func, op: Op, conflict: &Conflict, is_fenced: bool) {
    let scope = if conflict.first.global { Scope::Global } else { Scope::Shared };
    let scope = func.word_attr(scope.name());
    let mut b = Builder::before(func, op);
    if is_fenced {
        tma::Fence::build(&mut b, &[], &[]);
    }
    gpu::Barrier::build(&mut b, &[(keys::SCOPE, scope)], &[]);
}

/// Is `op` a barrier that the author wrote, without a fence before it?
fn is_bare_barrier(func: &Func, op: Op) -> bool {
    matches!(meeting(func, op), Some(Meeting::Barrier(_)))
        && func.prev_op(op).is_none_or(|before| func.opcode(before) != tma::FENCE)
}

/// Do warpgroup products of `nest` read from shared memory what its threads write? Then threads have to make a fence before they
/// meet: products see memory as bulk copies do.
fn products_read_stores(func: &Func, nest: &Nest) -> bool {
    let is_product = |&op: &Op| func.opcode(op) == wgmma::MMA;
    let roots = |op: Op, is_it: fn(opdef::Access) -> bool| {
        let places = effects::accesses(func, op).into_iter().filter(move |&(_, access)| is_it(access));
        let roots = places.map(|(place, _)| root_buffer(func, place));
        roots.filter(|&root| Scope::of(func, root).is_some_and(Scope::is_shared)).collect::<Vec<Value>>()
    };
    let read: FxHashSet<Value> =
        nest.ops(func).filter(is_product).flat_map(|op| roots(op, opdef::Access::reads)).collect();
    let is_by_threads = |op: &Op| !is_product(op) && func.opcode(*op) != tma::LOAD;
    !read.is_empty()
        && nest
            .ops(func)
            .filter(is_by_threads)
            .any(|op| roots(op, opdef::Access::writes).iter().any(|root| read.contains(root)))
}

/// Reports what keeps `plan` from being carried out; gives the number of errors.
fn report(func: &Func, plan: &BarrierPlacement, cx: &mut PassCx) -> usize {
    for &op in &plan.unknown {
        let text =
            format!("the memory that `{}` touches is not known, so threads cannot be synchronised", func.op_name(op));
        let help = "give the op a row that declares its effects, or inline the call";
        cx.report(Diagnostic::error("unknown-effect", func.op_location(op), text).help(help));
    }
    for divergent in &plan.divergent {
        cx.report(left_out(func, divergent));
    }
    for conflict in &plan.stuck {
        cx.report(stuck(func, conflict));
    }
    plan.unknown.len() + plan.divergent.len() + plan.stuck.len()
}

/// A buffer of tiles in `nest` whose threads are not there yet: they come with `distribute-fragments`.
fn undivided(func: &Func, nest: &Nest) -> Option<Op> {
    let holds_tiles = |&op: &Op| {
        let scope =
            func.result(op).filter(|_| func.opcode(op) == tir::ALLOC).and_then(|buffer| Scope::of(func, buffer));
        scope.and_then(Scope::tiles).is_some_and(|(family, _)| family != Family::Wmma)
    };
    let has_lanes = nest.loops.iter().any(|&(_, of)| of == Coordinate::ThreadX);
    if has_lanes { None } else { nest.ops(func).find(holds_tiles) }
}

fn not_divided(func: &Func, op: Op) -> Diagnostic {
    let name = func.result(op).map_or("", |buffer| func.value_text(buffer));
    let text = format!("threads hold the tiles of `{name}` together, and no loop over threads divides them yet");
    Diagnostic::error("lanes", func.op_location(op), text).help("run `distribute-fragments` first")
}

/// What is said of an op that not all threads come to.
fn left_out(func: &Func, divergent: &Divergent) -> Diagnostic {
    let op = divergent.op;
    let (what, group) = match meeting(func, op) {
        Some(Meeting::Reduction) => ("reduction".to_string(), "block"),
        Some(Meeting::Exchange) => ("shuffle".to_string(), "warp"),
        _ if divergent.by_warp => (format!("`{}`", func.op_name(op)), "warp"),
        _ => ("barrier".to_string(), "block"),
    };
    let text = format!("not all threads of the {group} reach this {what}");
    let found = Diagnostic::error("divergent-barrier", func.op_location(op), text);
    let found = match divergent.branch {
        Some(branch) => found.label(func.op_location(branch), format!("the threads of a {group} diverge here")),
        None => found,
    };
    if divergent.by_warp {
        let note = "a warp is 32 threads whose numbers follow each other, and it does such an op as a whole";
        return found
            .note(note)
            .help("let the condition or loop depend on what is the same for a warp, or move the op out of it");
    }
    found.help("move it out of the condition or loop that differs between threads")
}

/// What is reported of a barrier before `op`.
fn waits(func: &Func, op: Op, conflict: &Conflict) -> Diagnostic {
    let (first, second) = (done(&conflict.first), done(&conflict.second));
    let name = func.value_text(conflict.second.root);
    let other = other_name(func, conflict);
    let other = other.map_or(String::new(), |other| format!("`{other}`, which may be the same buffer, "));
    let text = format!(
        "a barrier stands before this: `{name}` is {second} behind it and {other}{first} before it, maybe by two threads"
    );
    let when = if conflict.carried.is_some() { ", in the iteration before" } else { "" };
    Diagnostic::remark("barrier", func.op_location(op), text)
        .label(func.op_location(conflict.first.op), format!("{first} here{when}"))
        .label(func.op_location(conflict.second.op), format!("{second} here"))
        .help("where each thread touches only what it wrote itself, index by all coordinates of the thread")
}

fn stuck(func: &Func, conflict: &Conflict) -> Diagnostic {
    let (first, second) = (done(&conflict.first), done(&conflict.second));
    let name = func.value_text(conflict.second.root);
    let (at, before) = (func.op_location(conflict.second.op), func.op_location(conflict.first.op));
    if conflict.at_once {
        let text =
            format!("`{name}` is {second} here by one thread and {first} by another in the other arm, with no order");
        return Diagnostic::error("divergent-sync", at, text)
            .label(before, format!("{first} in the other arm"))
            .note(
                "threads take the arms differently, so both run at the same time and no barrier can stand between them",
            )
            .help("make two conditionals of it, one after the other: a barrier can stand between these");
    }
    let when = if conflict.carried.is_some() { " in the iteration before" } else { "" };
    let note = "a barrier is needed between the two, and may stand only where all threads of the block come";
    let error = |text: String| Diagnostic::error("divergent-sync", func.op_location(conflict.second.op), text);
    if let Some(other) = other_name(func, conflict) {
        let text = format!(
            "`{other}` and `{name}` may be one buffer: `{other}` is {first} by one thread and `{name}` {second} here by \
             another, under a condition that differs between threads"
        );
        return error(text)
            .label(func.op_location(conflict.first.op), format!("`{other}` is {first} here{when}"))
            .note(note)
            .help("if no two parameters are one buffer, say so: `attributes {noalias}`");
    }
    let text = format!(
        "`{name}` is {second} here by one thread and {first} by another, under a condition that differs between threads"
    );
    error(text)
        .label(func.op_location(conflict.first.op), format!("{first}{when}"))
        .note(note)
        .help("divide the condition, or the loop, into the part before the barrier and the part after it")
}

/// What the first buffer of `conflict` is called, where that is another parameter than the second: nothing says that the
/// two are not one buffer.
fn other_name<'f>(func: &'f Func, conflict: &Conflict) -> Option<&'f str> {
    let other = conflict.first.root;
    (other != conflict.second.root).then(|| func.value_text(other))
}

fn done(access: &Access) -> &'static str {
    if access.writes { "written" } else { "read" }
}
