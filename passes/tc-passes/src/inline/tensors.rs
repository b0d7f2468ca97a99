//! Tensors into their readers.

use tc_dialects::te::{self, Compute, top_reduce};
use tc_ir::clone::{ValueMap, clone_body};
use tc_ir::uses::{Use, Uses};
use tc_ir::{Func, Op, Rewriter, Value};
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
                cx.count("tensors inlined", func.n_results(op) as u64);
                into_readers(func, op);
                changed = true;
            }
            Some(reason) if named => {
                let name = func.results(op).next().map_or("", |value| func.value_text(value));
                cx.report(Diagnostic::error("cannot-inline", func.op_location(op), format!("`{name}` {reason}")));
            }
            Some(_) => {}
        }
    }
    changed
}

/// Why the tensors of `op` cannot be inlined.
fn obstacle(func: &Func, op: Op) -> Option<&'static str> {
    if top_reduce(func, Compute(op)).is_some() {
        return Some("is a reduction, which is not computed anew at each read");
    }
    let uses = Uses::of(func);
    let users = || func.results(op).flat_map(|value| uses.of_value(value)).copied().collect::<Vec<Use>>();
    let is_read = |user: &Use| func.opcode(user.op) == te::READ && user.idx == 0;
    if !users().iter().all(is_read) {
        return Some("is returned, or used as a whole");
    }
    None
}

fn into_readers(func: &mut Func, op: Op) {
    let body = func.op_regions(op)[0];
    let results: Vec<Value> = func.results(op).collect();
    let uses = Uses::of(func);
    let reads: Vec<(usize, Op)> = results
        .iter()
        .enumerate()
        .flat_map(|(nth, &value)| uses.of_value(value).iter().map(move |user| (nth, user.op)))
        .collect();
    let mut rw = Rewriter::new(func);
    for (nth, read) in reads {
        rw.refresh(read);
        let axes = rw.func().region_args(body).to_vec();
        let indices = rw.func().operands(read)[1..].to_vec();
        let mut map: ValueMap = axes.into_iter().zip(indices).collect();
        let values = clone_body(&mut rw.before(read), body, &mut map);
        rw.replace_op(read, &[values[nth]]);
    }
    rw.erase(op);
}
