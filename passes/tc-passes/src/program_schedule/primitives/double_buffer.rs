//! Gives a buffer that is made in a serial loop a second one, so that the next part is computed while the current one is
//! read: `double_buffer(BUFFER)`.

use super::super::Item;
use super::super::cx::{Cx, Done, Refused};
use super::Primitive;
use tc_dialects::sched;
use tc_dialects::tir::{self, LoopKind};
use tc_ir::{Op, Rewriter, keys};

impl Primitive for sched::DoubleBuffer {
    type Legal = Op;

    fn legality(cx: &Cx<'_>) -> Done<Op> {
        let (buffer, alloc) = cx.own_buffer(cx.operand(0))?;
        let around = cx.func().parent_op(alloc);
        if around.is_some_and(|op| {
            cx.func().opcode(op) == tir::FOR && tir::loop_kind(cx.func(), op) == Some(LoopKind::Serial)
        }) {
            return Ok(alloc);
        }
        let text = format!("`{}` is not made in a loop that runs in order", cx.show(buffer));
        let error = cx.error("stages-loop", text).label(cx.place(alloc), "it is made here");
        Err(Refused::from(error.help(format!("`compute_at({}, …)` a loop of what reads it", cx.show(buffer)))))
    }

    fn edit(cx: &mut Cx<'_>, alloc: Op) -> Vec<Item> {
        let func = &mut cx.program.func;
        let two = func.int_attr(2);
        Rewriter::new(func).set_attr(alloc, keys::STAGES, two);
        Vec::new()
    }
}
