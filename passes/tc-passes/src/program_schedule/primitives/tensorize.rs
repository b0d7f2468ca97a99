//! Replaces a loop and those inside by a tensor intrinsic: `tensorize(LOOP, @intrinsic)`.
//!
//! The pass `tensorize-to-wmma` compares them with what the intrinsic computes. An initialisation is a loop of its own, and
//! takes the intrinsic of the product as well.

use super::super::Item;
use super::super::cx::{Cx, Done};
use super::Primitive;
use tc_dialects::sched;
use tc_ir::{AttrData, Op, Rewriter, keys};

impl Primitive for sched::Tensorize {
    type Legal = (Op, Box<str>);

    fn legality(cx: &Cx<'_>) -> Done<(Op, Box<str>)> {
        let op = cx.plain_loop(cx.operand(0))?;
        match cx.sched.attr_named(cx.at, "intrin").map(|attr| cx.sched.attr_data(attr)) {
            Some(AttrData::Symbol(intrinsic)) => Ok((op, intrinsic.clone())),
            _ => Err(cx.mistyped("`tensorize` takes an intrinsic, as in `@wmma_load_a`").into()),
        }
    }

    fn edit(cx: &mut Cx<'_>, (op, intrinsic): (Op, Box<str>)) -> Vec<Item> {
        let locs = cx.locs_like(op);
        let func = &mut cx.program.func;
        let intrinsic = func.attr(AttrData::Symbol(intrinsic));
        let mut rw = Rewriter::new(func);
        rw.set_attr(op, keys::TENSORIZE, intrinsic);
        rw.set_locs(op, locs);
        Vec::new()
    }
}
