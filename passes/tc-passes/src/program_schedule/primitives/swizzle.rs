//! XORs bits of the positions in a buffer in shared memory by higher bits: `swizzle(BUFFER, bits = b, base = m, shift = s)`, as
//! for operators.

use super::super::Item;
use super::super::cx::{Cx, Done};
use super::Primitive;
use super::compute_at::plain_buffer;
use tc_dialects::sched;
use tc_dialects::scope::Scope;
use tc_ir::{AttrData, Op, Rewriter, keys};

impl Primitive for sched::Swizzle {
    type Legal = (Op, [i64; 3]);

    fn legality(cx: &Cx<'_>) -> Done<(Op, [i64; 3])> {
        let (buffer, alloc) = cx.own_buffer(cx.operand(0))?;
        if !Scope::of(cx.func(), buffer).is_some_and(Scope::is_shared) {
            let text = format!("`{}` does not lie in shared memory, and only that has banks", cx.show(buffer));
            let error = cx.error("swizzle-scope", text).label(cx.place(alloc), "it is made here");
            return Err(error.help(format!("`set_scope({}, shared)`", cx.show(buffer))).into());
        }
        if cx.func().attr_of(alloc, keys::STAGES).is_none() {
            plain_buffer(cx, buffer, alloc)?;
        }
        let (Some(bits), Some(base), Some(shift)) = (cx.param(1), cx.param(2), cx.param(3)) else {
            return Err(cx.mistyped("`swizzle` takes `bits = …`, `base = …` and `shift = …`").into());
        };
        let [bits, base, shift] = [cx.int(bits)?, cx.int(base)?, cx.int(shift)?];
        // A bit that changes may not decide how another changes: then the way back would not be the same XOR.
        if !(1..=5).contains(&bits) || !(0..=10).contains(&base) || !(bits..=10).contains(&shift) {
            let text =
                format!("`bits` is 1 to 5, `base` 0 to 10, `shift` from `bits` to 10, not {bits}, {base}, {shift}");
            return Err(cx.wrong_number(text).into());
        }
        Ok((alloc, [bits, base, shift]))
    }

    fn edit(cx: &mut Cx<'_>, (alloc, numbers): (Op, [i64; 3])) -> Vec<Item> {
        let func = &mut cx.program.func;
        let list = numbers.map(|number| func.int_attr(number));
        let list = func.attr(AttrData::List(list.into()));
        Rewriter::new(func).set_attr(alloc, keys::SWIZZLE, list);
        Vec::new()
    }
}
