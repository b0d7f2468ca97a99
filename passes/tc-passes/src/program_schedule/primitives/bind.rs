//! Binds a loop to a launch coordinate, or to virtual threads.
//!
//! # Legality
//!
//! - The loop is plain; for threads and virtual threads its extent is constant.
//! - No two of its iterations conflict, everything outside of it being the same.
//! - Loops of one launch that are bound to one coordinate have equal extents. A shorter one that is bound later is extended, with a
//!   guard; so bind the loop around them first.
//! - At the end of the schedule the rules of [launch loops](#launch-loops) hold.

use super::super::Item;
use super::super::cx::{Cx, Done};
use super::super::dependences::Serial;
use super::super::nest::{body, substitute, var};
use super::Primitive;
use super::split::guarded;
use crate::analysis::launch::{coordinate, nest_of};
use tc_dialects::algebra::const_extent;
use tc_dialects::tir::Coordinate;
use tc_dialects::{arith, sched};
use tc_ir::clone::ValueMap;
use tc_ir::walk::ops_under;
use tc_ir::{Builder, Func, Op, Rewriter, keys};

/// A loop, what it names, and how far the launch runs where that is further.
pub(super) struct Bound {
    op: Op,
    axis: &'static str,
    launch: Option<i64>,
}

impl Primitive for sched::Bind {
    type Legal = Bound;

    fn legality(cx: &Cx<'_>) -> Done<Bound> {
        let op = cx.plain_loop(cx.operand(0))?;
        let word = cx.sched.attr_named(cx.at, "thread").and_then(|attr| cx.sched.as_word(attr)).unwrap_or("");
        let func = cx.func();
        let extent = const_extent(func, op);
        let name = cx.loop_name(op);
        let Some(of) = Coordinate::parse(word) else {
            if word != "vthread" {
                return Err(cx.error("launch-coordinate", format!("there is no launch coordinate `{word}`")).into());
            }
            if extent.is_none() {
                return Err(cx.error("constant-extent", format!("the extent of `{name}` is not constant")).into());
            }
            return Ok(Bound { op, axis: "vthread", launch: None });
        };
        if of.is_thread() && extent.is_none() {
            let text = format!("the extent of `{name}` is not constant, and a block has a constant number of threads");
            return Err(cx
                .error("constant-extent", text)
                .help("`split` it by a factor, and bind the inner loop")
                .into());
        }
        if let Some(obstacle) = Serial::around(func, op).carried_by(op) {
            let text = format!("the iterations of `{name}` cannot run at once");
            return Err(cx.forbidden("dependence", text, &obstacle).into());
        }
        let own = extent.unwrap_or(0);
        let others: Vec<(Op, Option<i64>)> = same_launch(func, op, of);
        let launch = others.iter().filter_map(|other| other.1).max();
        if let Some(&(other, _)) = others.iter().find(|(_, other)| other.is_none_or(|other| other < own)) {
            let text = format!(
                "`{name}` has {own} iterations, and `{}`, bound to `{}` in the same launch, has fewer",
                cx.loop_name(other),
                of.name()
            );
            let error = cx.error("launch-extent", text).label(cx.place(other), "it is bound here");
            return Err(error.help(format!("`split` `{name}`, and bind a part that is as long")).into());
        }
        Ok(Bound { op, axis: of.name(), launch: launch.filter(|&launch| launch > own) })
    }

    fn edit(cx: &mut Cx<'_>, Bound { op, axis, launch }: Bound) -> Vec<Item> {
        let locs = cx.locs_like(op);
        let func = &mut cx.program.func;
        from_zero(func, op, launch);
        let (kind, axis) = (func.word_attr("bind"), func.word_attr(axis));
        let mut rw = Rewriter::new(func);
        rw.set_attr(op, keys::KIND, kind);
        rw.set_attr(op, keys::AXIS, axis);
        rw.set_locs(op, locs);
        Vec::new()
    }
}

/// The loops of the launch that `op` would be part of which name the coordinate, and how far they run.
fn same_launch(func: &Func, op: Op, of: Coordinate) -> Vec<(Op, Option<i64>)> {
    let root = nest_of(func, op).unwrap_or(op);
    let inside = ops_under(func, body(func, root));
    let all = std::iter::once(root).chain(inside);
    all.filter(|&other| coordinate(func, other) == Some(of)).map(|other| (other, const_extent(func, other))).collect()
}

/// Lets the loop run from zero, and up to `launch` with a guard.
fn from_zero(func: &mut Func, op: Op, launch: Option<i64>) {
    let (lo, hi, number) = (func.operand(op, 0), func.operand(op, 1), var(func, op));
    let starts_at_zero = func.const_int(lo) == Some(0);
    if starts_at_zero && launch.is_none() {
        return;
    }
    let elem = func.value_scalar(number).map_or(tc_ir::Elem::Index, |scalar| scalar.elem);
    let region = body(func, op);
    let constant = const_extent(func, op);
    let ops: Vec<Op> = func.ops(region).collect();
    let mut b = Builder::before(func, op);
    let zero = b.int(0, elem);
    let extent = match constant {
        Some(extent) => b.int(extent, elem),
        None if starts_at_zero => hi,
        None => b.value(arith::SUB, &[hi, lo], &[]),
    };
    let end = launch.map_or(extent, |launch| b.int(launch, elem));
    let (into, value) = b.within(region, |b| {
        let value = if starts_at_zero { number } else { b.value(arith::ADD, &[number, lo], &[]) };
        (if launch.is_some() { guarded(b, "lt", number, extent) } else { region }, value)
    });
    let mut rw = Rewriter::new(func);
    rw.set_operand(op, 0, zero);
    rw.set_operand(op, 1, end);
    ops.iter().for_each(|&inner| rw.move_to_end(inner, into));
    substitute(&mut rw, &ops, &ValueMap::from_iter([(number, value)]));
}
