//! What names of a schedule mean in a program: a buffer by its name, a loop by a buffer that is computed in it.

use super::cx::{Cx, Done};
use tc_dialects::tir;
use tc_ir::walk::{all_ops, ancestors};
use tc_ir::{Func, Op, Value, keys};
use tc_support::suggest;

/// The buffers of a program: its parameters, and what it makes.
pub(super) fn buffers(func: &Func) -> Vec<Value> {
    let params = func.params().iter().copied().filter(|&param| func.as_shaped(func.value_type(param)).is_some());
    let made = all_ops(func).filter(|&op| func.opcode(op) == tir::ALLOC).filter_map(|op| func.result(op));
    params.chain(made).collect()
}

/// The loops in which `buffer` is stored to, in the order of the text.
pub(super) fn loops_of(func: &Func, buffer: Value) -> Vec<Op> {
    let stores = all_ops(func).filter(|&op| func.opcode(op) == tir::STORE && func.operand(op, 0) == buffer);
    let mut loops: Vec<Op> = Vec::new();
    for store in stores {
        let mut around: Vec<Op> = ancestors(func, store).filter(|&op| func.opcode(op) == tir::FOR).collect();
        around.reverse();
        loops.extend(around.into_iter().filter(|op| !loops.contains(op)).collect::<Vec<_>>());
    }
    loops
}

impl Cx<'_> {
    /// The buffer that the directive names.
    pub(super) fn named_buffer(&self) -> Done<Value> {
        let func = self.func();
        let name = self.sched.word_of(self.at, keys::NAME).unwrap_or("");
        let all = buffers(func);
        let found: Vec<Value> = all.iter().copied().filter(|&buffer| func.value_text(buffer) == name).collect();
        match found[..] {
            [one] => Ok(one),
            [] => {
                let text = format!("`@{}` has no buffer `{}`", func.symbol(), suggest::shorten(name));
                let mut error = self.error("unknown-stage", text);
                error.help = suggest::did_you_mean(name, all.iter().map(|&buffer| func.value_text(buffer)));
                Err(error.into())
            }
            [first, second, ..] => {
                let text = format!("`@{}` has several buffers `{}`", func.symbol(), suggest::shorten(name));
                let at = |buffer: Value| func.def_op(buffer).map(|op| func.op_location(op)).unwrap_or_default();
                let error = self.error("ambiguous-name", text).label(at(first), "one").label(at(second), "another");
                Err(error.help("give them different names in the program").into())
            }
        }
    }

    /// The loop around stores to `buffer` that has the name which the directive says.
    pub(super) fn named_loop(&self, buffer: Value) -> Done<Op> {
        let name = self.sched.word_of(self.at, keys::NAME).unwrap_or("");
        let all = loops_of(self.func(), buffer);
        let found: Vec<Op> = all.iter().copied().filter(|&op| self.loop_name(op) == name).collect();
        match found[..] {
            [one] => Ok(one),
            [] => {
                let text = format!("no loop `{}` computes `{}`", suggest::shorten(name), self.show(buffer));
                let names: Vec<String> = all.iter().map(|&op| format!("`{}`", self.loop_name(op))).collect();
                let error = self.error("unknown-axis", text);
                Err(match &names[..] {
                    [] => error.help(format!("nothing stores to `{}`", self.show(buffer))),
                    _ => error.help(format!("it is stored to in {}", names.join(", "))),
                }
                .into())
            }
            [first, second, ..] => {
                let text = format!("several loops `{}` compute `{}`", suggest::shorten(name), self.show(buffer));
                let error = self.error("ambiguous-name", text);
                let error = error.label(self.place(first), "one").label(self.place(second), "another");
                Err(error.help("rename one of them in the program, or name them by results of directives").into())
            }
        }
    }

    /// The loop that `axis(B, 0)` or `reduce_axis(B, 0)` names: one whose variable is, or is not, an index of `B`.
    pub(super) fn nth_loop(&self, buffer: Value, reduce: bool) -> Done<Op> {
        let func = self.func();
        let nth = self.sched.attr_named(self.at, "nth").and_then(|attr| self.sched.as_int(attr)).unwrap_or(0);
        let is_data = |op: &Op| {
            let var = func.region_args(func.op_regions(*op)[0])[0];
            let stores = all_ops(func).filter(|&op| func.opcode(op) == tir::STORE && func.operand(op, 0) == buffer);
            let mut indices = stores.flat_map(|op| func.operands(op)[1..func.operands(op).len() - 1].iter());
            indices.any(|&index| index == var)
        };
        let all: Vec<Op> = loops_of(func, buffer).into_iter().filter(|op| is_data(op) != reduce).collect();
        let at = if nth < 0 { nth + all.len() as i64 } else { nth };
        usize::try_from(at).ok().and_then(|at| all.get(at).copied()).ok_or_else(|| {
            let what = if reduce { "loop whose variable is no index" } else { "loop whose variable is an index" };
            let text = format!("`{}` has no {what} number {nth}", self.show(buffer));
            let names: Vec<String> = all.iter().map(|&op| format!("`{}`", self.loop_name(op))).collect();
            let note =
                if names.is_empty() { "it has none".to_string() } else { format!("it has {}", names.join(", ")) };
            self.error("unknown-axis", text).note(note).into()
        })
    }
}
