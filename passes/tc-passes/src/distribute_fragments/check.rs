//! May the iterations of a nest over elements be divided among the threads of a warp?
//!
//! Before, every thread of the warp runs all of them, and all do the same. Afterwards each thread runs its own. That means
//! the same where iterations do not depend on one another, where nothing depends on which thread runs it, and where no thread
//! wants to find what another thread's iterations left in memory of one's own.

use super::axes::Access;
use super::find::Buffer;
use super::nests::Nests;
use super::reductions::RowReduction;
use crate::analysis::access::is_private;
use crate::analysis::invariant::arguments;
use crate::analysis::launch::{coordinate, loop_var};
use crate::analysis::loop_carried::{self, NestByNest};
use tc_dialects::algebra::Algebra;
use tc_dialects::fragment::Use;
use tc_dialects::scope::Scope;
use tc_dialects::tir::{self, Coordinate};
use tc_ir::effects::{root_buffer, summary};
use tc_ir::walk::{ancestors, is_inside, ops_under};
use tc_ir::{Func, Op};
use tc_support::Diagnostic;

/// What stands in the way of dividing the nests, one diagnostic a nest.
pub(super) fn nests(func: &Func, buffers: &[Buffer], nests: &Nests, reductions: &[RowReduction]) -> Vec<Diagnostic> {
    let mut facts = NestByNest::new(func);
    let roots = nests.roots(func);
    roots.into_iter().filter_map(|root| nest(func, (buffers, reductions), nests, &mut facts, root).err()).collect()
}

fn nest(
    func: &Func,
    (buffers, reductions): (&[Buffer], &[RowReduction]),
    nests: &Nests,
    facts: &mut NestByNest<'_>,
    root: Op,
) -> Result<(), Diagnostic> {
    let inside: Vec<Op> = std::iter::once(root).chain(ops_under(func, func.op_regions(root)[0])).collect();
    for &op in &inside {
        ordinary(func, nests, root, op)?;
    }
    for access in nests.accesses.iter().filter(|access| is_inside(func, access.op, root)) {
        own_loops(func, buffers, nests, access)?;
    }
    same_for_all_lanes(func, root, &inside)?;
    let loops: Vec<Op> = inside.iter().copied().filter(|op| nests.roles.contains_key(op)).collect();
    for loop_op in loops {
        let facts = facts.facts(loop_op);
        let is_reduced = |op: Op| reductions.iter().any(|reduction| reduction.accesses().contains(&op));
        let found = loop_carried::obstacle(facts, loop_op, is_reduced, |reason| {
            let text = format!(
                "the loop `{}` runs over elements of tiles, and its iterations cannot be divided among threads: {reason}",
                func.value_text(loop_var(func, loop_op))
            );
            Diagnostic::error("dependence", func.op_location(loop_op), text)
        });
        if let Some(found) = found {
            let help = if facts.is_noalias() {
                "bring the tile to shared memory, and let what follows read it from there"
            } else {
                "if no two parameters are one buffer, say so: `attributes {noalias}`"
            };
            return Err(found.help(help));
        }
    }
    Ok(())
}

/// What the body of such a nest may be made of.
fn ordinary(func: &Func, nests: &Nests, root: Op, op: Op) -> Result<(), Diagnostic> {
    let refuse = |text: String, help: &str| {
        Err(Diagnostic::error("nest", func.op_location(op), text)
            .label(func.op_location(root), "in this nest over the elements of a tile")
            .help(help.to_string()))
    };
    let name = func.op_name(op);
    match func.opcode(op) {
        tir::FOR if coordinate(func, op).is_some() => {
            let text = format!(
                "the loop `{}` over threads stands in a nest over elements",
                func.value_text(loop_var(func, op))
            );
            refuse(text, "the elements of a tile are divided by the threads of a warp: bind other loops")
        }
        tir::FOR if nests.roles.contains_key(&op) && func.n_results(op) > 0 => {
            let text = format!("the loop `{}` over elements carries a value", func.value_text(loop_var(func, op)));
            refuse(text, "bring the tile to shared memory, and compute the value from there")
        }
        tir::ALLOC if func.result(op).is_some_and(|buffer| !is_private(func, buffer)) => {
            let name = func.result(op).map_or("", |buffer| func.value_text(buffer));
            let text =
                format!("`{name}` is made for each element of a tile, and the threads that divide these have one");
            refuse(text, "make it outside of the nest, with an element for each; or in `local`")
        }
        tir::FOR | tir::IF | tir::YIELD | tir::LOAD | tir::ALLOC | tir::ATOMIC_RMW => Ok(()),
        tir::STORE => own_memory(func, nests, root, op),
        _ if summary(func, op).is_pure() => Ok(()),
        _ => refuse(
            format!("`{name}` is done by all threads together, or does more than compute"),
            "take it out of the nest over the elements of a tile",
        ),
    }
}

/// A store to what each thread has of its own stays within an iteration.
fn own_memory(func: &Func, nests: &Nests, root: Op, op: Op) -> Result<(), Diagnostic> {
    let buffer = root_buffer(func, func.operand(op, 0));
    if Scope::of(func, buffer) != Some(Scope::Local) {
        return Ok(());
    }
    let innermost = ancestors(func, op).find(|outer| nests.roles.contains_key(outer)).unwrap_or(root);
    if func.def_op(buffer).is_some_and(|alloc| is_inside(func, alloc, innermost)) {
        return Ok(());
    }
    let name = func.value_text(buffer);
    let text = format!("elements of tiles are kept in `{name}`, which every thread has for itself");
    let family = nests.roles[&root].family();
    let (prefix, crew) = (family.name(), family.crew());
    let help = format!(
        "set the scope of `{name}` to `{prefix}.accumulator`, or to `{prefix}.rows` where it has a number for each row: the \
         threads of a {crew} hold it together then"
    );
    let mut found = Diagnostic::error("scope", func.op_location(op), text).help(help);
    if let Some(alloc) = func.def_op(buffer) {
        found = found.label(func.op_location(alloc), "made here, outside of the nest");
    }
    Err(found)
}

/// An element is accessed in the two loops over its tile, and in no others over elements; and where it is does not depend
/// on those but by its two variables.
fn own_loops(func: &Func, buffers: &[Buffer], nests: &Nests, access: &Access) -> Result<(), Diagnostic> {
    let own: Vec<Op> = access.axes.iter().map(|axis| axis.loop_op).collect();
    let name = func.value_text(buffers[access.buffer].tiles.buffer);
    // Each thread of a row has its number, for all columns.
    let is_row = buffers[access.buffer].tiles.part == Use::Rows;
    let counts = |outer: &Op| nests.roles.get(outer).is_some_and(|role| !is_row || role.is_group);
    let around: Vec<Op> = ancestors(func, access.op).filter(counts).collect();
    if let Some(&other) = around.iter().find(|outer| !own.contains(outer)) {
        let text = format!(
            "an element of `{name}` is accessed for each `{}`, and thread t does not hold that element for every t",
            func.value_text(loop_var(func, other))
        );
        return Err(Diagnostic::error("element", func.op_location(access.op), text)
            .label(func.op_location(other), "a loop over the elements of another tile")
            .help("let a tensor intrinsic compute a product (`tensorize`); or bring the tile to shared memory"));
    }
    let all = ancestors(func, access.op).filter(|outer| nests.roles.contains_key(outer));
    let vars: Vec<_> = all.collect::<Vec<Op>>().iter().map(|&outer| Algebra::var(loop_var(func, outer))).collect();
    let pool = &nests.algebra.analyzer.pool;
    let n = buffers[access.buffer].tiles.n_leading();
    let leading = &func.operands(access.op)[1..=n];
    let varies = access.axes.iter().any(|axis| pool.uses_any(axis.base, &vars))
        || leading.iter().any(|&index| arguments(func, index).iter().any(|arg| vars.contains(&Algebra::var(*arg))));
    if varies {
        let text = format!("which tile of `{name}` is meant changes from element to element");
        return Err(Diagnostic::error("element", func.op_location(access.op), text)
            .label(func.op_location(own[0]), "a loop over elements")
            .help("let the loops over elements run along the last two dimensions alone"));
    }
    Ok(())
}

/// Where a loop over `threadIdx.x` stands around the nest, nothing in it depends on that.
fn same_for_all_lanes(func: &Func, root: Op, inside: &[Op]) -> Result<(), Diagnostic> {
    let lanes: Vec<Op> =
        ancestors(func, root).filter(|&outer| coordinate(func, outer) == Some(Coordinate::ThreadX)).collect();
    let Some(&outermost) = lanes.last() else { return Ok(()) };
    let vars: Vec<_> = lanes.iter().map(|&op| loop_var(func, op)).collect();
    let depends = |op: Op| {
        let operands = func.operands(op);
        operands.iter().any(|&operand| arguments(func, operand).iter().any(|arg| vars.contains(arg)))
    };
    let around = ancestors(func, root).take_while(|&outer| outer != outermost).filter(|outer| !lanes.contains(outer));
    let Some(stray) = inside.iter().copied().chain(around).find(|&op| depends(op)) else { return Ok(()) };
    let var = func.value_text(vars[0]);
    let text = format!("what is done with the elements of a tile depends on `{var}`, the thread that does it");
    Err(Diagnostic::error("lanes", func.op_location(stray), text)
        .label(func.op_location(root), "the nest over elements, which the threads divide")
        .help(format!("let the nest stand outside of the loop over `{var}`, or depend on other loops alone")))
}
