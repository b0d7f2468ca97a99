//! Values that do not change while a loop runs, and what has to stand before the loop so that they can be used there.

use super::overflow::{Ranges, runs_with};
use indexmap::IndexSet;
use tc_ir::walk::{is_inside, ops_under};
use tc_ir::{Def, Func, Op, Value, effects};

/// May `op` run where the program would not have run it, unless it overflows (see `overflow`)? It has no effect, reads
/// nothing, and fails for no operands: a division is by a literal above zero.
pub(crate) fn runs_anywhere(func: &Func, op: Op) -> bool {
    let sum = effects::summary(func, op);
    sum.is_pure() && sum.speculatable
}

/// The ops under the loop `op` that `value` is computed from, in the order of the text: with them moved before the loop,
/// it can be used there. `None` where it may change while the loop runs, or may not be computed where the loop does not
/// run.
pub(crate) fn movable_inputs(func: &Func, value: Value, op: Op) -> Option<Vec<Op>> {
    let mut found: IndexSet<Op> = IndexSet::new();
    let mut worklist = vec![value];
    while let Some(value) = worklist.pop() {
        match func.def(value) {
            Def::Arg(region, _) => {
                if func.region_parent(region).is_some_and(|parent| parent == op || is_inside(func, parent, op)) {
                    return None;
                }
            }
            Def::Result(def, _) if is_inside(func, def, op) => {
                if !runs_anywhere(func, def) {
                    return None;
                }
                if found.insert(def) {
                    worklist.extend(inputs(func, def));
                }
            }
            Def::Result(..) => {}
        }
    }
    let mut ranges = Ranges::default();
    if found.iter().any(|&def| !runs_with(func, def, op) && !ranges.fits(func, def, op)) {
        return None;
    }
    let body = *func.op_regions(op).first()?;
    Some(ops_under(func, body).filter(|op| found.contains(op)).collect())
}

/// What `op` and the ops in its regions take from outside of it.
fn inputs(func: &Func, op: Op) -> Vec<Value> {
    let inner = func.op_regions(op).iter().flat_map(|&region| ops_under(func, region));
    let is_own = |value: Value| match func.def(value) {
        Def::Result(def, _) => is_inside(func, def, op),
        Def::Arg(region, _) => {
            func.region_parent(region).is_some_and(|parent| parent == op || is_inside(func, parent, op))
        }
    };
    std::iter::once(op).chain(inner).flat_map(|op| func.operands(op).to_vec()).filter(|&value| !is_own(value)).collect()
}

/// Is `value` computed by arithmetic alone that fails for no operands, as far as its ops stand inside of `of`, or everywhere?
pub(crate) fn is_arithmetic(func: &Func, value: Value, of: Option<Op>) -> bool {
    let (mut worklist, mut seen): (Vec<Value>, IndexSet<Op>) = (vec![value], IndexSet::new());
    while let Some(value) = worklist.pop() {
        let def = func.def_op(value).filter(|&def| of.is_none_or(|of| is_inside(func, def, of)));
        let Some(def) = def.filter(|&def| seen.insert(def)) else { continue };
        if !runs_anywhere(func, def) || !func.op_regions(def).is_empty() {
            return false;
        }
        worklist.extend_from_slice(func.operands(def));
    }
    true
}

/// The arguments of regions and of the function that `value` is computed from, wherever its ops stand.
pub(crate) fn arguments(func: &Func, value: Value) -> IndexSet<Value> {
    let (mut found, mut seen): (IndexSet<Value>, IndexSet<Op>) = (IndexSet::new(), IndexSet::new());
    let mut worklist = vec![value];
    while let Some(value) = worklist.pop() {
        match func.def(value) {
            Def::Arg(..) => {
                found.insert(value);
            }
            Def::Result(def, _) => {
                if seen.insert(def) {
                    worklist.extend(inputs(func, def));
                }
            }
        }
    }
    found
}
