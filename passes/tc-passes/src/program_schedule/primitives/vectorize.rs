//! Runs a loop as the lanes of a vector.
//!
//! # Legality
//!
//! The loop is plain, has a constant extent, and no two of its iterations conflict.

use super::super::Item;
use super::super::cx::{Cx, Done};
use super::super::dependences::Serial;
use super::Primitive;
use tc_dialects::algebra::const_extent;
use tc_dialects::sched;
use tc_ir::{AttrData, Name, Op, Rewriter, keys};

impl Primitive for sched::Vectorize {
    type Legal = Op;

    fn legality(cx: &Cx<'_>) -> Done<Op> {
        let op = constant_loop(cx)?;
        if let Some(obstacle) = Serial::around(cx.func(), op).carried_by(op) {
            let text = format!("the iterations of `{}` cannot run at once", cx.loop_name(op));
            return Err(cx.forbidden("dependence", text, &obstacle).into());
        }
        Ok(op)
    }

    fn edit(cx: &mut Cx<'_>, op: Op) -> Vec<Item> {
        set_kind(cx, op, keys::VECTORIZE);
        Vec::new()
    }
}

/// The operand of the directive, a plain loop of constant extent.
pub(super) fn constant_loop(cx: &Cx<'_>) -> Done<Op> {
    let op = cx.plain_loop(cx.operand(0))?;
    if const_extent(cx.func(), op).is_none() {
        let text = format!("the extent of `{}` is not constant", cx.loop_name(op));
        return Err(cx.error("constant-extent", text).help("`split` it by a factor, and take the inner loop").into());
    }
    Ok(op)
}

/// Says how a loop runs.
pub(super) fn set_kind(cx: &mut Cx<'_>, op: Op, kind: Name) {
    let locs = cx.locs_like(op);
    let func = &mut cx.program.func;
    let kind = func.attr(AttrData::Word(kind));
    let mut rw = Rewriter::new(func);
    rw.set_attr(op, keys::KIND, kind);
    rw.set_locs(op, locs);
}
