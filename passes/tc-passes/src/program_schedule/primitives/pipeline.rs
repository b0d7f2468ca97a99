//! Lets what fills the buffers that a loop makes run ahead of it: `pipeline(LOOP, stages = n, async_copies = [BUFFER, …])`.
//!
//! # Legality
//!
//! - The loop runs in order, and makes a buffer; `n` is 1 to 64.
//! - What `async_copies` names is made in the loop, in shared memory, and `n` is at least 2.

use super::super::Item;
use super::super::cx::{Cx, Done};
use super::super::nest::body;
use super::Primitive;
use tc_dialects::fragment::{Family, Use};
use tc_dialects::sched;
use tc_dialects::scope::Scope;
use tc_dialects::tir::{self, LoopKind};
use tc_ir::{AttrData, Op, Rewriter, keys};

/// How many iterations may be in flight.
const MAX_STAGES: i64 = 64;

/// The buffers that get versions, those that asynchronous copies fill, and how many versions.
pub(super) struct Ahead {
    allocs: Vec<Op>,
    copies: Vec<Op>,
    stages: i64,
}

impl Primitive for sched::Pipeline {
    type Legal = Ahead;

    fn legality(cx: &Cx<'_>) -> Done<Ahead> {
        let op = cx.a_loop(cx.operand(0))?;
        let func = cx.func();
        let Some(stages) = cx.param(1) else {
            return Err(cx.mistyped("`pipeline` takes `stages = …`").into());
        };
        let stages = cx.number(stages, "number of stages", MAX_STAGES)?;
        if tir::loop_kind(func, op) != Some(LoopKind::Serial) {
            let text = format!("the loop `{}` does not run in order, so nothing can run ahead of it", cx.loop_name(op));
            return Err(cx.error("stages-loop", text).label(cx.place(op), "this loop").into());
        }
        let is_made = |op: Op| {
            let scope = func.result(op).and_then(|buffer| Scope::of(func, buffer));
            let tiles = scope.and_then(Scope::tiles);
            !matches!(tiles, Some((Family::Wgmma, _) | (_, Use::Accumulator | Use::Rows)))
        };
        let allocs: Vec<Op> =
            func.ops(body(func, op)).filter(|&op| func.opcode(op) == tir::ALLOC && is_made(op)).collect();
        if allocs.is_empty() {
            let text = format!("the loop `{}` makes no buffer, so nothing can run ahead", cx.loop_name(op));
            let help = format!("`compute_at(…, {})` the copies that should", cx.loop_name(op));
            return Err(cx.error("stages-loop", text).help(help).into());
        }
        let mut copies = Vec::new();
        for &value in cx.sched.param_operands(cx.at, 2) {
            let (buffer, alloc) = cx.own_buffer(value)?;
            let is_shared = Scope::of(func, buffer).is_some_and(Scope::is_shared);
            if !allocs.contains(&alloc) || !is_shared || stages < 2 {
                let text = format!("no asynchronous copy fills `{}` ahead of `{}`", cx.show(buffer), cx.loop_name(op));
                let help = "it must be made in that loop, in shared memory, with 2 stages or more";
                return Err(cx.error("async-copy", text).label(cx.place(alloc), "it is made here").help(help).into());
            }
            copies.push(alloc);
        }
        Ok(Ahead { allocs, copies, stages })
    }

    fn edit(cx: &mut Cx<'_>, Ahead { allocs, copies, stages }: Ahead) -> Vec<Item> {
        let func = &mut cx.program.func;
        if stages > 1 {
            let stages = func.int_attr(stages);
            allocs.iter().for_each(|&alloc| Rewriter::new(func).set_attr(alloc, keys::STAGES, stages));
        }
        let yes = func.attr(AttrData::Bool(true));
        copies.iter().for_each(|&alloc| Rewriter::new(func).set_attr(alloc, keys::ASYNC, yes));
        Vec::new()
    }
}
