//! Gives hints to passes about a loop: `auto_unroll_max_step = n`, `unroll_explicit = true`, `loop_partition_hint = true`.

use super::super::Item;
use super::super::cx::{Cx, Done};
use super::Primitive;
use tc_dialects::sched;
use tc_ir::{AttrData, Op, Rewriter};

impl Primitive for sched::Pragma {
    type Legal = (Op, Vec<(&'static str, AttrData)>);

    fn legality(cx: &Cx<'_>) -> Done<Self::Legal> {
        let op = cx.a_loop(cx.operand(0))?;
        let mut hints = Vec::new();
        if let Some(value) = cx.param(1) {
            let steps = cx.int(value)?;
            if steps < 0 {
                return Err(cx.wrong_number(format!("`auto_unroll_max_step` cannot be {steps}")).into());
            }
            hints.push(("auto_unroll_max_step", AttrData::int(steps)));
        }
        for key in ["unroll_explicit", "loop_partition_hint"] {
            if cx.sched.attr_named(cx.at, key).is_some() {
                match cx.flag(key) {
                    Some(value) => hints.push((key, AttrData::Bool(value))),
                    None => return Err(cx.mistyped(format!("`{key}` is `true` or `false`")).into()),
                }
            }
        }
        if hints.is_empty() {
            let help = "there is `auto_unroll_max_step`, `unroll_explicit`, `loop_partition_hint`";
            return Err(cx.mistyped("`pragma` takes a hint").help(help).into());
        }
        Ok((op, hints))
    }

    fn edit(cx: &mut Cx<'_>, (op, hints): Self::Legal) -> Vec<Item> {
        let func = &mut cx.program.func;
        for (key, value) in hints {
            let (key, value) = (func.name(key), func.attr(value));
            Rewriter::new(func).set_attr(op, key, value);
        }
        Vec::new()
    }
}
