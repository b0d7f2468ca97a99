//! What 32 bits are not proved to hold.

use super::bound::{Wide, walk};
use super::index_lanes;
use crate::analysis::{target, words};
use tc_ir::{Def, Func, Value};
use tc_pass::PassCx;
use tc_support::{Diagnostic, Location};

/// Tells of each wide value that is computed of narrow ones.
pub(super) fn tell(func: &Func, wide: &Wide, cx: &mut PassCx) {
    for &param in func.params() {
        if index_lanes(func, param).is_some() {
            let text = format!("the parameter `{}` gets 64 bits: callers may give any number", func.value_text(param));
            cx.report(
                Diagnostic::remark("wide-index", func.location(func.header.loc), text).help("give it the type `i32`"),
            );
        }
    }
    let mut found = Vec::new();
    walk(func, &target::of_run(cx), &mut |bounds, value, is_narrow| {
        if is_narrow || causes(func, value).iter().any(|&cause| wide.contains(cause)) {
            return;
        }
        // What the compiler made has no name that would tell its author anything.
        let shown = if index_lanes(func, value) == Some(1) {
            let expr = bounds.algebra.expr(func, value);
            words::authored_text(&bounds.algebra, expr)
        } else {
            Some(func.value_text(value).to_string()).filter(|text| !text.is_empty())
        };
        let Some(shown) = shown else { return };
        let range = bounds.of(value);
        let text = format!("`{shown}` gets 64 bits: it {}", words::range(range));
        let remark = Diagnostic::remark("wide-index", place(func, value), text);
        found.push(if range.is_finite() {
            remark.help("32 bits hold up to 2147483647: make the buffer smaller, or divide it")
        } else {
            remark.help("say how large a size may be: `<n: 1..65536>`")
        });
    });
    found.into_iter().for_each(|remark| cx.report(remark));
}

/// What `value` is computed of.
fn causes(func: &Func, value: Value) -> &[Value] {
    match func.def(value) {
        Def::Result(op, _) => func.operands(op),
        Def::Arg(region, _) => func.region_parent(region).map_or(&[], |op| func.operands(op)),
    }
}

fn place(func: &Func, value: Value) -> Location {
    match func.def(value) {
        Def::Result(op, _) => func.op_location(op),
        Def::Arg(region, _) => {
            func.region_parent(region).map_or_else(|| func.location(func.header.loc), |op| func.op_location(op))
        }
    }
}
