//! Which threads see which buffer: what must hold so that a program means the same whether launch loops run in order or
//! name threads.

use super::nest::{only_effect, var};
use crate::analysis::launch::{coordinate, nest_of};
use crate::analysis::variance::Variance;
use tc_dialects::algebra::const_extent;
use tc_dialects::scope::{Owner, Scope};
use tc_dialects::tir::{self, Coordinate};
use tc_ir::walk::{all_ops, ancestors, is_inside, ops_under};
use tc_ir::{Func, Op, Value, effects};

/// What does not hold, and where.
pub(super) struct Violation {
    pub(super) text: String,
    pub(super) at: Op,
    pub(super) label: String,
    pub(super) help: String,
}

/// What keeps the launch loops of `func` from meaning the same as loops that run in order, dependences apart.
pub(super) fn violation(func: &Func) -> Option<Violation> {
    let launches: Vec<(Op, Coordinate)> = all_ops(func).filter_map(|op| Some((op, coordinate(func, op)?))).collect();
    if launches.is_empty() {
        return None;
    }
    let around = launches.iter().find_map(|&(op, of)| in_serial_loop(func, op, of));
    let around = around.or_else(|| launches.iter().find_map(|&(op, of)| blocks_stand_alone(func, op, of, &launches)));
    let around = around.or_else(|| unequal(func, &launches));
    let around = around.or_else(|| launches.iter().find_map(|&(op, of)| divergent(func, op, of)));
    around.or_else(|| all_ops(func).find_map(|op| outlives(func, op))).or_else(|| shared_by(func))
}

/// Does each value of the coordinate have a buffer of its own, in a scope whose buffers belong to `owner`?
fn has_own(owner: Owner, of: Coordinate) -> bool {
    match owner {
        Owner::Grid => false,
        Owner::Block => !of.is_thread(),
        Owner::Warp => of != Coordinate::ThreadX,
        Owner::Thread => true,
    }
}

fn name(func: &Func, buffer: Value) -> String {
    tc_support::suggest::shorten(func.value_text(buffer)).to_string()
}

fn loop_name(func: &Func, op: Op) -> String {
    tc_support::suggest::shorten(func.value_text(var(func, op))).to_string()
}

fn launches_around(func: &Func, op: Op) -> impl Iterator<Item = (Op, Coordinate)> + '_ {
    ancestors(func, op).filter_map(move |outer| Some((outer, coordinate(func, outer)?)))
}

/// An access of `op` to a buffer that is made outside of a launch loop which gives each thread its own.
fn outlives(func: &Func, op: Op) -> Option<Violation> {
    for (place, _) in effects::accesses(func, op) {
        let buffer = effects::root_buffer(func, place);
        let Some(alloc) = func.def_op(buffer) else { continue };
        let owner = Scope::of(func, buffer)?.owner();
        let outside =
            launches_around(func, op).find(|&(outer, of)| has_own(owner, of) && !is_inside(func, alloc, outer));
        if let Some((outer, of)) = outside {
            let buffer = name(func, buffer);
            let text = format!(
                "`{buffer}` is made outside of the loop `{}`, and there would be one for each {} of `{}`",
                loop_name(func, outer),
                if of.is_thread() { "thread" } else { "block" },
                of.name()
            );
            let help = format!("let it be made inside, by `compute_at({buffer}, …)`, or put it into a wider scope");
            return Some(Violation { text, at: alloc, label: "it is made here".to_string(), help });
        }
    }
    None
}

/// A buffer that is made in a loop over threads which share it, and that differs between them.
fn shared_by(func: &Func) -> Option<Violation> {
    for alloc in all_ops(func).filter(|&op| func.opcode(op) == tir::ALLOC) {
        let buffer = func.result(alloc)?;
        let owner = Scope::of(func, buffer)?.owner();
        if owner != Owner::Grid && nest_of(func, alloc).is_none() {
            let buffer = name(func, buffer);
            let text = format!("`{buffer}` lies on the chip, and is made outside of all launches");
            let help = format!("`compute_at({buffer}, …)` a loop of the launch that uses it");
            return Some(Violation { text, at: alloc, label: "it is made here".to_string(), help });
        }
        let mut sharing = launches_around(func, alloc).filter(|&(_, of)| !has_own(owner, of));
        let differs = |&(outer, _): &(Op, Coordinate)| owner == Owner::Grid || Variance::by(func, outer).buffer(buffer);
        if let Some((outer, of)) = sharing.find(differs) {
            let buffer = name(func, buffer);
            let text = format!(
                "the loop `{}` makes `{buffer}` anew, and all values of `{}` would share one",
                loop_name(func, outer),
                of.name()
            );
            let help = match owner {
                Owner::Grid => format!("`set_scope({buffer}, shared)` or `local`, or make it outside of the launch"),
                _ => "put it into a scope that each of them has for itself, or bind loops before `compute_at`"
                    .to_string(),
            };
            return Some(Violation { text, at: alloc, label: "it is made here".to_string(), help });
        }
    }
    None
}

/// Launch loops that the host would come to again and again, or blocks.
fn in_serial_loop(func: &Func, op: Op, of: Coordinate) -> Option<Violation> {
    let is_serial = |&outer: &Op| func.opcode(outer) == tir::FOR && coordinate(func, outer).is_none();
    let mut around = ancestors(func, op).filter(|&outer| func.opcode(outer) == tir::FOR);
    let outer = if of.is_thread() { around.last().filter(is_serial) } else { around.find(is_serial) }?;
    let (name, outer_name) = (loop_name(func, op), loop_name(func, outer));
    Some(Violation {
        text: format!("the loop `{outer_name}` runs in order around `{name}`, which names `{}`", of.name()),
        at: op,
        label: format!("this is `{name}`"),
        help: format!("`reorder({name}, {outer_name})` first, or bind `{outer_name}` too"),
    })
}

/// Two loops of one launch that name one coordinate, of unequal extents.
fn unequal(func: &Func, launches: &[(Op, Coordinate)]) -> Option<Violation> {
    let of_launch = |op: Op| nest_of(func, op).unwrap_or(op);
    for (nth, &(op, of)) in launches.iter().enumerate() {
        let extent = const_extent(func, op);
        let other = launches[..nth].iter().find(|&&(other, coordinate)| {
            coordinate == of && of_launch(other) == of_launch(op) && const_extent(func, other) != extent
        });
        if let Some(&(other, _)) = other {
            let (name, other_name) = (loop_name(func, op), loop_name(func, other));
            let [extent, others] = [op, other].map(|op| const_extent(func, op).unwrap_or(0));
            return Some(Violation {
                text: format!(
                    "`{name}` has {extent} iterations and `{other_name}` {others}, and both name `{}` in one launch",
                    of.name()
                ),
                at: op,
                label: format!("this is `{name}`"),
                help: "bind the loop around both before them: the shorter one is then extended".to_string(),
            });
        }
    }
    None
}

/// Blocks run in no order, so a launch has one loop for each of their coordinates, and does nothing outside of it.
fn blocks_stand_alone(func: &Func, op: Op, of: Coordinate, launches: &[(Op, Coordinate)]) -> Option<Violation> {
    if of.is_thread() {
        return None;
    }
    let root = nest_of(func, op).unwrap_or(op);
    let again = |&&(other, coordinate): &&(Op, Coordinate)| {
        other != op && coordinate == of && nest_of(func, other).unwrap_or(other) == root
    };
    let violation = |at: Op, label: &str| Violation {
        text: format!("the loop `{}` is not all that a launch with `{}` does", loop_name(func, op), of.name()),
        at,
        label: label.to_string(),
        help: "blocks run in no order: bind a loop around all that one launch does".to_string(),
    };
    if let Some(&(other, _)) = launches.iter().find(again) {
        return Some(violation(other, "this loop names the blocks as well"));
    }
    let mut around: Vec<Op> =
        ancestors(func, op).take_while(|&outer| is_inside(func, outer, root) || outer == root).collect();
    around.reverse();
    for outer in around {
        for &region in func.op_regions(outer) {
            if let Err(other) = only_effect(func, region) {
                return Some(violation(other, "this runs beside it"));
            }
        }
    }
    None
}

/// A loop in another one that is bound to the same coordinate: the threads share out what it does, so all have to come to it,
/// and it may not depend on the thread in the outer loop.
fn divergent(func: &Func, op: Op, of: Coordinate) -> Option<Violation> {
    let (outer, _) = launches_around(func, op).find(|&(_, other)| other == of)?;
    let variance = Variance::by(func, outer);
    let varies = |op: Op| func.operands(op).iter().any(|&value| variance.value(value));
    let between = ancestors(func, op).take_while(|&at| at != outer);
    let name = loop_name(func, op);
    if let Some(at) = std::iter::once(op).chain(between).find(|&at| varies(at)) {
        return Some(Violation {
            text: format!("not all threads of `{}` come to the loop `{name}` together", of.name()),
            at,
            label: "whether they do depends on the thread".to_string(),
            help: "let the condition stand inside the loop".to_string(),
        });
    }
    let at = ops_under(func, func.op_regions(op)[0]).find(|&at| effects::own(func, at).writes && varies(at))?;
    Some(Violation {
        text: format!("`{name}` and `{}` around it are both bound to `{}`", loop_name(func, outer), of.name()),
        at,
        label: "this depends on both".to_string(),
        help: "a loop in another one of the same coordinate shares out what all threads need; bind one of the two"
            .to_string(),
    })
}
