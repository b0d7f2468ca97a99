//! Tensors into their readers.

use crate::analysis::inlining::{into_reads, obstacle};
use tc_dialects::te;
use tc_ir::{Func, Op};
use tc_pass::PassCx;
use tc_support::{Diagnostic, suggest};

/// Inlines the tensors of `func` that are wanted, or all that can be.
pub(super) fn inline(func: &mut Func, wanted: &[&str], cx: &mut PassCx) -> bool {
    let computes: Vec<Op> = func.ops(func.body()).filter(|&op| func.opcode(op) == te::COMPUTE).collect();
    let names: Vec<String> =
        computes.iter().flat_map(|&op| func.results(op)).map(|value| func.value_text(value).to_string()).collect();
    for name in wanted {
        if !names.iter().any(|known| known == name) {
            let text = format!("`@{}` computes no tensor `{}`", func.symbol(), suggest::shorten(name));
            let mut diagnostic = Diagnostic::error("unknown-tensor", func.location(func.header.loc), text);
            diagnostic.help = suggest::did_you_mean(name, names.iter().map(String::as_str));
            cx.report(diagnostic);
        }
    }
    let mut changed = false;
    for op in computes {
        let named = func.results(op).any(|value| wanted.contains(&func.value_text(value)));
        if !wanted.is_empty() && !named {
            continue;
        }
        match obstacle(func, op) {
            None => {
                if into_reads(func, op) {
                    cx.count("tensors inlined", 1);
                    changed = true;
                }
            }
            Some(reason) if named => {
                let name = func.results(op).next().map_or("", |value| func.value_text(value));
                cx.report(Diagnostic::error("cannot-inline", func.op_location(op), format!("`{name}` {reason}")));
            }
            Some(reason) => cx.missed(|| {
                let name = func.results(op).next().map_or("", |value| func.value_text(value));
                Diagnostic::remark("not-inlined", func.op_location(op), format!("`{name}` is not inlined: it {reason}"))
            }),
        }
    }
    changed
}
