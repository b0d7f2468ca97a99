//! Makes clusters of blocks that follow each other along a loop that is bound to `blockIdx.x`: `cluster(LOOP, size = n)`.
//!
//! # Legality
//!
//! The size is 1 to 8, and divides the extent if that is constant.

use super::super::Item;
use super::super::cx::{Cx, Done};
use super::Primitive;
use crate::analysis::launch::coordinate;
use tc_dialects::algebra::const_extent;
use tc_dialects::sched;
use tc_dialects::tir::{Coordinate, MAX_CLUSTER};
use tc_ir::{Op, Rewriter, keys};

impl Primitive for sched::Cluster {
    type Legal = (Op, i64);

    fn legality(cx: &Cx<'_>) -> Done<(Op, i64)> {
        let op = cx.a_loop(cx.operand(0))?;
        let size = cx.param(1).map_or(Ok(1), |size| cx.number(size, "size", MAX_CLUSTER))?;
        if coordinate(cx.func(), op) != Some(Coordinate::BlockX) {
            let text = format!("the loop `{}` is not bound to `blockIdx.x`", cx.loop_name(op));
            return Err(cx.error("cluster", text).help("bind it first").into());
        }
        if const_extent(cx.func(), op).is_some_and(|extent| extent % size != 0) {
            let text = format!("clusters of {size} do not divide the blocks of `{}`", cx.loop_name(op));
            return Err(cx.error("cluster", text).into());
        }
        Ok((op, size))
    }

    fn edit(cx: &mut Cx<'_>, (op, size): (Op, i64)) -> Vec<Item> {
        let func = &mut cx.program.func;
        let size = func.int_attr(size);
        Rewriter::new(func).set_attr(op, keys::CLUSTER, size);
        Vec::new()
    }
}
