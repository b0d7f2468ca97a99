//! What keeps a nest from being divided into a producer and consumers.

use super::find::{error, labelled};
use crate::analysis::invariant::arguments;
use crate::analysis::launch::{Nest, launch_var};
use indexmap::IndexSet;
use tc_dialects::scope::Scope;
use tc_dialects::threads::{begins_bulk_copy, begins_copy, is_of_warpgroup, is_reduction};
use tc_dialects::tir::Coordinate;
use tc_dialects::update::is_update;
use tc_dialects::{forms, tir, tma, wgmma};
use tc_ir::effects::{accesses, root_buffer, summary};
use tc_ir::walk::is_inside;
use tc_ir::{Def, Func, Op, Region, Value};
use tc_support::Diagnostic;

/// Refuses what the roles cannot order; tells whether only warpgroup products read the ring's `buffers`.
pub(super) fn check(
    func: &Func,
    nest: &Nest,
    (loads, body): (&[Op], Region),
    buffers: &IndexSet<Value>,
) -> Result<bool, Box<Diagnostic>> {
    let mut by_products = true;
    let (mut read, mut written): (IndexSet<Value>, Vec<(Op, Value)>) = (IndexSet::new(), Vec::new());
    let mut consumers: Vec<(Value, Op)> = Vec::new();
    for op in nest.ops(func) {
        if is_reduction(func, op) || begins_copy(func, op) {
            let text = format!(
                "`{}` has all threads of the block wait, and a producer has a role of its own",
                func.op_name(op)
            );
            return Err(error(func, op, text, "leave out `bulk_copy`, or reduce within a warp"));
        }
        if func.opcode(op) == tir::ALLOC
            && let Some(buffer) = func.result(op)
            && Scope::of(func, buffer).is_some_and(Scope::is_shared)
            && !buffers.contains(&buffer)
            && !leaves_in_bulk(func, nest, buffer)
            && !is_of_warpgroup(func, op)
        {
            let name = func.value_text(buffer);
            let text =
                format!("`{name}` is shared memory that threads write, and consumers have no barrier of their own");
            let help = "let it come or leave in bulk, keep it in `local`, or leave out `bulk_copy`";
            return Err(error(func, op, text, help));
        }
        for (place, access) in accesses(func, op) {
            let root = root_buffer(func, place);
            if buffers.contains(&root) {
                if loads.contains(&op) {
                    // Consumers wait for all copies of an iteration at its start, wherever these stand.
                    if let Some(&(_, first)) = consumers.iter().find(|&&(buffer, _)| buffer == root) {
                        let text = "a bulk copy fills a buffer after what reads it in the same iteration".to_string();
                        let found = error(func, op, text, "let the copies stand before what reads them");
                        return Err(labelled(func, *found, first, "it is read here"));
                    }
                    continue;
                }
                if access.writes() {
                    let name = func.value_text(root);
                    let text = format!("`{name}` is filled by bulk copies, and written here by threads");
                    return Err(error(func, op, text, "compute in a buffer of its own"));
                }
                consumers.push((root, op));
                by_products &= func.opcode(op) == wgmma::MMA;
            } else if forms::is_global(func, root) {
                // An update is not ordered with others, and reads nothing else.
                if access.reads() && !is_update(func, op) {
                    read.insert(root);
                }
                if access.writes() {
                    written.push((op, root));
                }
            }
        }
    }
    if let Some(&(op, root)) = written.iter().find(|(_, root)| read.contains(root)) {
        let name = func.value_text(root);
        let text =
            format!("`{name}` is written and read in one kernel with bulk copies, which threads would have to order");
        return Err(error(
            func,
            op,
            text,
            "write to another buffer, or in another kernel; a sum of a schedule is kept by `cache_write(…, local)`",
        ));
    }
    if !written.is_empty() && !tc_ir::verify::has_flag(func, func.header.attrs, tc_ir::keys::NOALIAS) {
        let text = "what is written here may be what the producer copies ahead of it".to_string();
        return Err(error(
            func,
            written[0].0,
            text,
            "if no two parameters are one buffer, say so: `attributes {noalias}`",
        ));
    }
    for &load in loads {
        coordinates(func, nest, load)?;
    }
    debug_assert!(func.ops(body).any(|op| begins_bulk_copy(func, op)));
    Ok(by_products && !consumers.is_empty())
}

/// Do threads only write the buffer, and bulk copies alone read it, which `inject-bulk-sync` orders?
fn leaves_in_bulk(func: &Func, nest: &Nest, buffer: Value) -> bool {
    let of_buffer = |op: Op| accesses(func, op).into_iter().filter(|&(place, _)| root_buffer(func, place) == buffer);
    let mut is_read = false;
    nest.ops(func).all(|op| {
        let is_copy = tma::writes_tensor(func, op) && tma::is_async(func, op);
        of_buffer(op).all(|(_, access)| {
            is_read |= access.reads();
            !access.reads() || is_copy
        })
    }) && is_read
}

/// Does a loop inside of the nest carry `arg` from one iteration to the next?
fn is_carried(func: &Func, nest: &Nest, arg: Value) -> bool {
    let Def::Arg(region, nth) = func.def(arg) else { return false };
    nth > 0 && func.region_parent(region).is_some_and(|op| is_inside(func, op, nest.op))
}

/// Does `op` load an element of a tensor in global memory? A nest with roles writes none that it reads.
pub(super) fn reads_tensor(func: &Func, op: Op) -> bool {
    func.opcode(op) == tir::LOAD && forms::is_global(func, root_buffer(func, func.operand(op, 0)))
}

/// The producer can compute where the load `load` starts: by arithmetic and of data that nothing writes, and not by who the thread is.
fn coordinates(func: &Func, nest: &Nest, load: Op) -> Result<(), Box<Diagnostic>> {
    for &place in &func.operands(load)[..2] {
        let mut worklist = vec![place];
        let mut seen: IndexSet<Value> = IndexSet::new();
        if let Some(arg) = arguments(func, place).into_iter().find(|&arg| is_carried(func, nest, arg)) {
            let text =
                format!("where this bulk copy starts is told by `{}`, which a loop carries", func.value_text(arg));
            return Err(error(func, load, text, "compute it from loops and sizes"));
        }
        while let Some(value) = worklist.pop() {
            let Some(def) = func.def_op(value).filter(|&def| is_inside(func, def, nest.op)) else { continue };
            if func.opcode(def) == tir::ALLOC || !seen.insert(value) {
                continue;
            }
            if !(summary(func, def).is_pure() && func.op_regions(def).is_empty() || reads_tensor(func, def)) {
                let text =
                    format!("where this bulk copy starts is told by `{}`, which only consumers do", func.op_name(def));
                let found = error(func, load, text, "compute it from loops, sizes and what arguments hold");
                return Err(labelled(func, *found, def, "here"));
            }
            worklist.extend_from_slice(func.operands(def));
        }
        if let Some(var) = launch_var(func, load, &[place], Coordinate::is_thread) {
            let text = format!("this bulk copy differs between the threads of a block, by `{}`", func.value_text(var));
            return Err(error(func, load, text, "let it be the same for all threads: one of them makes it"));
        }
    }
    Ok(())
}
