//! What 32 bits are not proved to hold.

use super::{Classes, index_lanes};
use crate::analysis::words;
use rustc_hash::FxHashSet;
use tc_dialects::algebra::Algebra;
use tc_ir::{Def, Func, Value};
use tc_pass::PassCx;
use tc_support::{Diagnostic, Location};

/// Keeps what is known of `value`, which may leave 32 bits, while it is known.
pub(super) fn note(func: &Func, value: Value, algebra: &mut Algebra, classes: &mut Classes) {
    let (shown, bounds) = match index_lanes(func, value) {
        Some(1) => {
            let expr = algebra.expr(func, value);
            // What the compiler made has no name that would tell its author anything.
            let Some(text) = words::authored_text(algebra, expr) else { return };
            (text, algebra.analyzer.bounds(expr))
        }
        _ if func.value_text(value).is_empty() => return,
        _ => (func.value_text(value).to_string(), classes.vectors.get(&value).copied().unwrap_or_default()),
    };
    classes.wide.get_or_insert_default().push((value, shown, bounds));
}

/// Tells of each class of values that are wide the first cause.
pub(super) fn tell(func: &Func, classes: &mut Classes, cx: &mut PassCx) {
    let mut told: FxHashSet<usize> = FxHashSet::default();
    for &param in func.params() {
        if cx.wants_missed() && index_lanes(func, param).is_some() {
            told.insert(classes.root(param));
            let text = format!("the parameter `{}` gets 64 bits: callers may give any number", func.value_text(param));
            cx.report(
                Diagnostic::remark("wide-index", func.location(func.header.loc), text).help("give it the type `i32`"),
            );
        }
    }
    for (value, shown, bounds) in classes.wide.take().unwrap_or_default() {
        if !told.insert(classes.root(value)) {
            continue;
        }
        let text = format!("`{shown}` gets 64 bits: it {}", words::range(bounds));
        let found = Diagnostic::remark("wide-index", place(func, value), text);
        cx.report(if bounds.is_finite() {
            found.help("32 bits hold up to 2147483647: make the buffer smaller, or divide it")
        } else {
            found.help("say how large a size may be: `<n: 1..65536>`")
        });
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
