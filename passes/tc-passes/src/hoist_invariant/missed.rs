//! What loops do not change and what stays in them all the same.

use super::levels::{Levels, is_run};
use crate::analysis::invariant::runs_anywhere;
use crate::analysis::launch::loop_var;
use crate::analysis::overflow::{Ranges, runs_with};
use crate::analysis::words;
use tc_dialects::tir;
use tc_ir::walk::{all_ops, ancestors, is_inside, ops_under};
use tc_ir::{Def, Func, Op, Value, effects};
use tc_support::Diagnostic;

/// Loads of what no iteration writes, and arithmetic that may fail: each with the innermost loop that does not change it.
pub(super) fn all(func: &Func) -> Vec<Diagnostic> {
    let levels = Levels::of(func);
    let mut ranges = Ranges::default();
    all_ops(func).filter_map(|op| one(func, &levels, &mut ranges, op)).collect()
}

fn one(func: &Func, levels: &Levels, ranges: &mut Ranges, op: Op) -> Option<Diagnostic> {
    let result = func.result(op).filter(|_| func.op_regions(op).is_empty() && !func.operands(op).is_empty())?;
    let loop_op = ancestors(func, op).find(|&outer| is_run(func, outer))?;
    let is_known_before = |&value: &Value| is_outside(func, levels, value, loop_op);
    if !func.operands(op).iter().all(is_known_before) {
        return None;
    }
    let var = func.value_text(loop_var(func, loop_op));
    let remark = |text: String| Diagnostic::remark("not-hoisted", func.op_location(op), text);
    if func.opcode(op) == tir::LOAD {
        let root = effects::root_buffer(func, func.operand(op, 0));
        let inside = || ops_under(func, func.op_regions(loop_op)[0]);
        let is_written = inside().any(|inner| {
            let effect = func.row(inner).effect;
            let mut places = effects::accesses(func, inner).into_iter().filter(|(_, access)| access.writes());
            effect.unknown || effect.synchronises || places.any(|(place, _)| effects::root_buffer(func, place) == root)
        });
        if is_written {
            return None;
        }
        let shown = words::place(func, op);
        return Some(
            remark(format!(
                "`{shown}` is read in each iteration of the loop `{var}`, which does not change it: loads stay"
            ))
            .help(format!(
                "read it before the loop: `let x = {shown}`; the CUDA compiler may do so where nothing aliases"
            )),
        );
    }
    let is_integer = func.value_scalar(result).is_some_and(|scalar| !scalar.elem.is_float());
    if !is_integer || !effects::summary(func, op).is_pure() {
        return None;
    }
    let shown = words::authored(func, result)?;
    if runs_anywhere(func, op) {
        if runs_with(func, op, loop_op) || ranges.fits(func, op, loop_op) {
            return None;
        }
        let text = format!(
            "`{shown}` is computed in each iteration of the loop `{var}`: where the program would not compute it, it might \
             overflow"
        );
        let help =
            "bound its operands (a size by a range, a value by `min` and `max`), or compute it before the loop by hand";
        return Some(remark(text).help(help));
    }
    let text = format!(
        "`{shown}` is computed in each iteration of the loop `{var}`: where the loop does not run it might fail"
    );
    Some(remark(text).help("divide by a number, or compute it before the loop by hand: `let x = …`"))
}

/// Is `value` known before the loop `loop_op`, or could it be computed there?
fn is_outside(func: &Func, levels: &Levels, value: Value, loop_op: Op) -> bool {
    let home = match func.def(value) {
        Def::Arg(region, _) => region,
        Def::Result(..) => levels.home(func, value),
    };
    let owner = func.region_parent(home);
    owner.is_none_or(|owner| owner != loop_op && !is_inside(func, owner, loop_op))
}
