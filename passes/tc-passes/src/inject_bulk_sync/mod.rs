//! Orders bulk copies to tensors: fences, barriers, groups and waits around each run of them.
//!
//! `tma.store` goes on in the background: it may read shared memory until its group is waited for, and it sees what threads
//! have written only after a fence. This pass lets one thread of a warpgroup begin the copies, once all threads of it have
//! written, and lets the next ones write when the copies have read.
//!
//! # Input form
//!
//! `flat`, before `warp-specialize`. Copies that are in the `background` are left as they are: their author orders them.
//!
//! # Output form
//!
//! All copies to tensors are in the background. Launch loops inside of one of the same coordinate are gone from a nest that
//! has such copies.
//!
//! # Example
//!
//! ```tir
//! for wave in 0..4 {
//!   for tx in 0..128 bind(threadIdx.x) {
//!     S[tx] = X[wave * 128 + tx]
//!   }
//!   tma.store(&C_map[wave * 128 : 128], &S[0 : 128])
//! }
//! ->
//! for wave in 0..4 {
//!   for tx in 0..128 bind(threadIdx.x) {
//!     if tx == 0 {
//!       tma.wait_group(pending = 0, read = true)
//!     }
//!   }
//!   gpu.barrier(warpgroup)
//!   for tx in 0..128 bind(threadIdx.x) {
//!     S[tx] = X[wave * 128 + tx]
//!   }
//!   tma.fence()
//!   gpu.barrier(warpgroup)
//!   for tx in 0..128 bind(threadIdx.x) {
//!     if tx == 0 {
//!       tma.store(&C_map[wave * 128 : 128], &S[0 : 128], background = true)
//!       tma.commit_group()
//!     }
//!   }
//! }
//! for tx in 0..128 bind(threadIdx.x) {
//!   if tx == 0 {
//!     tma.wait_group(pending = 0, read = true)
//!   }
//! }
//! ```
//!
//! # Algorithm
//!
//! 1. Replace each launch loop by its body that stands inside of one of the same coordinate.
//! 2. Take the runs of copies that follow each other in a region. Before a run come a fence and a barrier; then one thread
//!    of each warpgroup begins all of them, as one group.
//! 3. Before the first statement of that region that writes what a run reads, that thread waits until all its copies have
//!    read, and the warpgroup for it. It waits until they have written, where it is not known that all boxes of the nest are
//!    different ones: that is tried, box by box.
//! 4. After the outermost loop around a run the thread waits again: shared memory is not given back before.
//!
//! # Limits
//!
//! The threads of a block are numbered by `threadIdx.x` within a warpgroup, of which there are 128. Nothing but such copies
//! reads the buffers, or accesses the tensors, and what writes the buffers stands before the copies in one region. That a warpgroup copies what its own
//! threads wrote was checked by `inject-bulk-copy`.
//!
//! # Remarks
//!
//! None.
//!
//! # References
//!
//! PTX ISA 8.7, "Async proxy", "cp.async.bulk.commit_group" and "cp.async.bulk.wait_group".

mod disjoint;

use crate::analysis::fold;
use crate::analysis::launch::{LaunchNests, Nest, by_first_thread, coordinate, is_row, launch_var, loop_var};
use crate::analysis::structure::run_once;
use indexmap::IndexSet;
use tc_dialects::algebra::is_launch;
use tc_dialects::tir::Coordinate;
use tc_dialects::update::{self, UpdateClass};
use tc_dialects::{forms, gpu, tir, tma, wgmma};
use tc_ir::effects::{accesses, root_buffer, summary};
use tc_ir::walk::{all_ops, ancestors};
use tc_ir::{AttrData, Builder, Func, Op, Rewriter, Value, keys};
use tc_pass::{FuncPass, PassCx, PassInfo, PassKind};
use tc_support::Diagnostic;

tc_pass::options! {
    /// `inject-bulk-sync` has no options.
    pub struct Options {}
}

/// The row.
pub const INFO: PassInfo = PassInfo {
    name: "inject-bulk-sync",
    page: tc_support::page!("mod.rs"),
    anchor: "tir.func",
    options: Options::INFO,
    requires: &[&forms::FLAT],
    establishes: &[],
    preserves: &[],
    make: |raw| Options::read(raw).map(|_| PassKind::Func(tir::FUNC, Box::new(InjectBulkSync))),
};

/// The pass.
pub struct InjectBulkSync;

impl FuncPass for InjectBulkSync {
    fn run(&self, func: &mut Func, cx: &mut PassCx) -> bool {
        let is_open = |func: &Func, op: Op| tma::writes_tensor(func, op) && !tma::is_async(func, op);
        if !all_ops(func).any(|op| is_open(func, op)) {
            return false;
        }
        let (mut changed, mut runs) = (false, Vec::new());
        for nest in cx.analysis::<LaunchNests>(func).iter() {
            if !nest.ops(func).any(|op| is_open(func, op)) {
                continue;
            }
            changed |= unnest(func, nest);
            let stores: Vec<Op> = nest.ops(func).filter(|&op| is_open(func, op)).collect();
            match find(func, nest, &stores) {
                Ok(found) => runs.extend(found),
                Err(found) => cx.report(*found),
            }
        }
        let new = fold::mark(func);
        runs.iter().for_each(|run| order(func, run));
        fold::fold_new(func, new);
        cx.count("groups of bulk copies", runs.len() as u64);
        changed || !runs.is_empty()
    }
}

/// Copies that follow each other.
struct Run {
    stores: Vec<Op>,
    /// The first statement that writes what they read.
    writer: Option<Op>,
    /// The statement after which the shared memory may be given back.
    outermost: Op,
    /// All boxes of all iterations are different ones.
    disjoint: bool,
}

/// Replaces launch loops inside of one of the same coordinate and extent.
fn unnest(func: &mut Func, nest: &Nest) -> bool {
    let mut changed = false;
    for &(op, of) in &nest.loops {
        let is_same = |&outer: &Op| {
            coordinate(func, outer) == Some(of)
                && func.operands(op)[..2]
                    .iter()
                    .zip(func.operands(outer))
                    .all(|(&a, &b)| a == b || func.const_int(a).is_some_and(|number| func.const_int(b) == Some(number)))
        };
        let outer = ancestors(func, op).find(is_same);
        if let Some(outer) = outer {
            let var = loop_var(func, outer);
            run_once(&mut Rewriter::new(func), op, var);
            changed = true;
        }
    }
    changed
}

fn error(func: &Func, at: Op, text: String, help: &str) -> Box<Diagnostic> {
    Box::new(Diagnostic::error("bulk-copy", func.op_location(at), text).help(help.to_string()))
}

/// The runs of `stores`, all of the nest's.
fn find(func: &Func, nest: &Nest, stores: &[Op]) -> Result<Vec<Run>, Box<Diagnostic>> {
    if nest.extent(Coordinate::ThreadX) != Some(wgmma::WARPGROUP) {
        let text = format!(
            "a warpgroup begins this bulk copy together, {} threads that threadIdx.x numbers",
            wgmma::WARPGROUP
        );
        return Err(error(func, stores[0], text, "bind loops of extent 128 to threadIdx.x"));
    }
    let mut runs: Vec<Run> = Vec::new();
    for &store in stores {
        if let Some(run) = runs.last_mut()
            && run.stores.last().is_some_and(|&last| follows(func, last, store))
        {
            run.stores.push(store);
            continue;
        }
        runs.push(Run { stores: vec![store], writer: None, outermost: store, disjoint: false });
    }
    for run in &mut runs {
        alone(func, nest, run)?;
        run.writer = writer(func, nest, run)?;
        run.outermost = outermost(func, run.stores[0]);
        // Updates of one class may meet in one element.
        run.disjoint = class_of(func, run).is_some() || disjoint::are_always(func, &run.stores);
        if !run.disjoint && !disjoint::are_at_once(func, &run.stores) {
            let text = "bulk copies that may write the same elements would leave either value".to_string();
            return Err(error(func, run.stores[0], text, "copy to different parts of the tensor"));
        }
        let by_row = |&store: &Op| launch_var(func, store, func.operands(store), is_row).is_some();
        if !nest.is_one_row()
            && let Some(&store) = run.stores.iter().find(|store| !by_row(store))
        {
            let text = "all warpgroups of the block would make this bulk copy".to_string();
            return Err(error(func, store, text, "let each of them copy what its own threads wrote"));
        }
    }
    Ok(runs)
}

/// Does `second` stand after `first` in its region, with nothing but arithmetic between?
fn follows(func: &Func, first: Op, second: Op) -> bool {
    let mut between = std::iter::successors(func.next_op(first), |&op| func.next_op(op));
    between.find(|&op| !summary(func, op).is_pure()) == Some(second)
}

/// What all copies of the run have in common as updates.
fn class_of(func: &Func, run: &Run) -> Option<UpdateClass> {
    let first = update::class(func, run.stores[0])?;
    run.stores.iter().all(|&op| update::class(func, op) == Some(first)).then_some(first)
}

/// Nothing else of the nest accesses the tensors that the run writes: it would have to wait until they are written. Other copies that
/// update them alike need not.
fn alone(func: &Func, nest: &Nest, run: &Run) -> Result<(), Box<Diagnostic>> {
    let tensors: IndexSet<Value> = run.stores.iter().map(|&op| root_buffer(func, tma::sides(func, op)[1])).collect();
    let class = class_of(func, run);
    let is_apart = tc_ir::verify::has_flag(func, func.header.attrs, keys::NOALIAS);
    for op in nest.ops(func).filter(|op| !run.stores.contains(op)) {
        for (place, access) in accesses(func, op) {
            let root = root_buffer(func, place);
            let name = func.value_text(root);
            let is_alike =
                func.opcode(op) == tma::REDUCE && update::class(func, op).is_some_and(|of| Some(of) == class);
            if tensors.contains(&root) && !is_alike {
                let verb = if access.writes() { "written" } else { "read" };
                let text = format!("`{name}` leaves by bulk copies, and is {verb} here in the same kernel");
                let help = "access it in another kernel, or let threads store it";
                return Err(Box::new(
                    error(func, op, text, help).label(func.op_location(run.stores[0]), "the bulk copy"),
                ));
            }
            if !is_apart && forms::is_global(func, root) {
                let text = format!("`{name}` may be what bulk copies write ahead of this");
                let help = "if no two parameters are one buffer, say so: `attributes {noalias}`";
                return Err(error(func, op, text, help));
            }
        }
    }
    Ok(())
}

/// The first statement of the region of the run that writes what it reads.
fn writer(func: &Func, nest: &Nest, run: &Run) -> Result<Option<Op>, Box<Diagnostic>> {
    let first = run.stores[0];
    let region = func.region_of(first).expect("a copy stands in a region");
    let buffers: IndexSet<Value> = run.stores.iter().map(|&op| root_buffer(func, tma::sides(func, op)[0])).collect();
    let before: Vec<Op> = func.ops(region).take_while(|&op| op != first).collect();
    let mut writer = None;
    for op in nest.ops(func).filter(|op| !run.stores.contains(op)) {
        for (place, access) in accesses(func, op) {
            let root = root_buffer(func, place);
            if !buffers.contains(&root) {
                continue;
            }
            let name = func.value_text(root);
            if access.reads() {
                let text = format!("`{name}` leaves by bulk copies, and is read here, too");
                return Err(error(func, op, text, "read what it is computed from, or leave out `bulk_copy`"));
            }
            let statement = std::iter::once(op).chain(ancestors(func, op)).find(|op| before.contains(op));
            let Some(statement) = statement else {
                let text =
                    format!("`{name}` is written here, and not before the bulk copy of it in the same iteration");
                return Err(error(func, op, text, "compute it at the loop that copies it"));
            };
            let is_earlier = |&known: &Op| {
                before.iter().position(|&op| op == known) <= before.iter().position(|&op| op == statement)
            };
            writer = writer.filter(is_earlier).or(Some(statement));
        }
    }
    Ok(writer)
}

/// The outermost statement around `store` that is in launch loops alone.
fn outermost(func: &Func, store: Op) -> Op {
    let around = std::iter::once(store).chain(ancestors(func, store));
    around.take_while(|&op| !is_launch(func, op)).last().unwrap_or(store)
}

fn order(func: &mut Func, run: &Run) {
    let first = run.stores[0];
    let repeats = run.outermost != first;
    if let Some(writer) = run.writer.filter(|_| repeats) {
        let mut b = Builder::before(func, writer);
        // Where a box may be written again, it has to be written before.
        by_first_thread(&mut b, |b| wait(b, run.disjoint));
        barrier(&mut b);
    }
    let mut b = Builder::before(func, first);
    tma::Fence::build(&mut b, &[], &[]);
    barrier(&mut b);
    let last = run.stores.last().copied().unwrap_or(first);
    let region = by_first_thread(&mut Builder::after(func, last), |_| {});
    let background = func.attr(AttrData::Bool(true));
    for &store in &run.stores {
        let mut rw = Rewriter::new(func);
        rw.set_attr(store, keys::BACKGROUND, background);
        rw.move_to_end(store, region);
    }
    tma::CommitStores::build(&mut Builder::at_end(func, region), &[], &[]);
    let after =
        if repeats { run.outermost } else { func.region_parent(region).map_or(first, |branch| outer(func, branch)) };
    by_first_thread(&mut Builder::after(func, after), |b| wait(b, true));
}

/// The launch loop around a branch of the first thread.
fn outer(func: &Func, branch: Op) -> Op {
    func.region_of(branch).and_then(|region| func.region_parent(region)).unwrap_or(branch)
}

fn barrier(b: &mut Builder<'_>) {
    let scope = b.func.word_attr("warpgroup");
    gpu::Barrier::build(b, &[(keys::SCOPE, scope)], &[]);
}

/// Waits for all copies of the thread; with `read`, until they have read what they copy.
fn wait(b: &mut Builder<'_>, read: bool) {
    let none = b.func.int_attr(0);
    let mut attrs = vec![(keys::PENDING, none)];
    if read {
        attrs.push((keys::READ, b.func.attr(AttrData::Bool(true))));
    }
    tma::WaitStores::build(b, &attrs, &[]);
}
