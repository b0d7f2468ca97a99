//! Directives as a schedule writes them.

use crate::graph::{AxisId, Graph, StageId};
use tc_ir::{Func, Op, Value};
use tc_support::suggest;

/// `axis` as a schedule names it: `B.i`, or the name that a directive gave it.
pub(crate) fn axis(graph: &Graph, axis: AxisId) -> String {
    let data = &graph[axis];
    match data.domain {
        Some(_) => format!("{}.{}", graph[data.stage].name, data.name),
        None => data.name.to_string(),
    }
}

pub(crate) fn axes(graph: &Graph, list: &[AxisId]) -> String {
    list.iter().map(|&one| axis(graph, one)).collect::<Vec<_>>().join(", ")
}

pub(crate) fn stage(graph: &Graph, stage: StageId) -> String {
    graph[stage].name.to_string()
}

/// The line of `op` as a word for it: `` the `bind` ``.
pub(crate) fn directive(sched: &Func, op: Op) -> String {
    let row = sched.row(op);
    format!("`{}`", suggest::shorten(row.short.unwrap_or(row.name)))
}

/// The directive `op` as a call, `cache_read(A, shared, [CL])`; `show` writes an operand.
pub(crate) fn call(sched: &Func, op: Op, show: &dyn Fn(Value) -> String) -> String {
    let row = sched.row(op);
    let entries = sched.entries(sched.op_attrs(op));
    let mut parts = Vec::new();
    for (nth, param) in row.params.iter().enumerate() {
        let key = if param.keyed { format!("{} = ", param.name) } else { String::new() };
        if !param.kind.is_operand() {
            let entry = entries.iter().find(|&&(name, _)| sched.text(name) == param.name);
            parts.extend(entry.map(|&(_, attr)| key + &sched.show_attr(attr)));
            continue;
        }
        let shown: Vec<String> = sched.param_operands(op, nth).iter().map(|&operand| show(operand)).collect();
        match shown.is_empty() {
            true => {}
            // Several after something else are a list.
            false if nth > 0 && param.kind.is_variadic() => parts.push(format!("{key}[{}]", shown.join(", "))),
            false => parts.push(key + &shown.join(", ")),
        }
    }
    format!("{}({})", row.short.unwrap_or(row.name), parts.join(", "))
}
