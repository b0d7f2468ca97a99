//! Fills a buffer in shared memory by bulk copies: `bulk_copy(BUFFER, swizzle = w)`, as for operators.

use super::super::Item;
use super::super::cx::{Cx, Done};
use super::Primitive;
use tc_dialects::sched;
use tc_dialects::scope::Scope;
use tc_ir::{Op, Rewriter, keys};

impl Primitive for sched::BulkCopy {
    type Legal = (Op, Option<i64>);

    fn legality(cx: &Cx<'_>) -> Done<(Op, Option<i64>)> {
        let (buffer, alloc) = cx.own_buffer(cx.operand(0))?;
        if !Scope::of(cx.func(), buffer).is_some_and(Scope::is_shared) {
            let text = format!("`{}` does not lie in shared memory", cx.show(buffer));
            let error = cx.error("bulk-copy", text).label(cx.place(alloc), "it is made here");
            return Err(error.help(format!("`set_scope({}, shared)`", cx.show(buffer))).into());
        }
        let width = cx.param(1).map(|width| cx.int(width)).transpose()?;
        if let Some(width) = width.filter(|width| !matches!(width, 0 | 32 | 64 | 128)) {
            let text = format!("rows of 32, 64 or 128 bytes are swizzled, or none with 0, but not of {width}");
            return Err(cx.wrong_number(text).help("take `swizzle = 128` where rows have that many bytes").into());
        }
        if cx.param(2).is_some() {
            let text = format!("`{}` is filled, and only what is copied to a tensor leaves in pieces", cx.show(buffer));
            return Err(cx.error("pieces", text).help("leave out `pieces`").into());
        }
        Ok((alloc, width))
    }

    fn edit(cx: &mut Cx<'_>, (alloc, width): (Op, Option<i64>)) -> Vec<Item> {
        let func = &mut cx.program.func;
        let width = match width {
            Some(width) => func.int_attr(width),
            None => func.word_attr("any"),
        };
        Rewriter::new(func).set_attr(alloc, keys::BULK, width);
        Vec::new()
    }
}
