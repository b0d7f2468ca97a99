//! Reductions of the IR. They know no dialect: what an op is for, its row says.

mod blocks;
mod header;
mod items;
mod operands;
mod ops;

pub(super) use blocks::Blocks;
pub(super) use header::{Attributes, Header};
pub(super) use items::Items;
pub(super) use operands::{Constants, Forward};
pub(super) use ops::Ops;

use super::state::State;
use tc_ir::opdef::{Context, Role};
use tc_ir::walk::all_ops;
use tc_ir::{Func, Op, Rewriter, Type, Value};

/// Where an op stands: the number of its item, and the op.
type Site = (usize, Op);

/// The ops of all items, in the order of the text.
fn sites(state: &State) -> Vec<Site> {
    let items = state.module.iter().flat_map(|module| module.items.iter().enumerate());
    items.flat_map(|(nth, func)| all_ops(func).map(move |op| (nth, op))).collect()
}

/// The function that a site is in.
fn func_of(state: &State, site: Site) -> Option<&Func> {
    state.module.as_ref()?.items.get(site.0)
}

/// `state` with its items edited at `chosen`, the last first; all of one item by one rewriter. What is left without a
/// use goes as well.
fn edit_at<T: Copy>(state: &State, chosen: &[(usize, T)], mut edit: impl FnMut(&mut Rewriter<'_>, T)) -> Option<State> {
    state.edited(|items| {
        let mut changed = false;
        for (nth, func) in items.iter_mut().enumerate() {
            let mut rw = Rewriter::new(func);
            for &(_, at) in chosen.iter().rev().filter(|(item, _)| *item == nth) {
                edit(&mut rw, at);
            }
            let edited = rw.changed();
            drop(rw);
            if edited {
                clean(func);
                changed = true;
            }
        }
        changed
    })
}

/// Does `op` still stand in the function?
fn stands(func: &Func, op: Op) -> bool {
    let mut at = op;
    loop {
        let Some(region) = func.region_of(at) else { return false };
        match func.region_parent(region) {
            Some(parent) => at = parent,
            None => return region == func.body(),
        }
    }
}

/// Takes out ops whose results nothing uses, those that hold others left alone.
fn clean(func: &mut Func) {
    let ops: Vec<Op> = all_ops(func).collect();
    let mut rw = Rewriter::new(func);
    for &op in ops.iter().rev() {
        let func = rw.func();
        let unused = func.n_results(op) > 0 && func.results(op).all(|value| func.n_uses(value) == 0);
        if unused && func.op_regions(op).is_empty() {
            rw.erase(op);
        }
    }
}

/// Makes a literal of type `ty` before `op`, 0 or 1; none if the type has no literals.
fn literal(rw: &mut Rewriter<'_>, op: Op, ty: Type, one: bool) -> Option<Value> {
    let scalar = rw.func().as_scalar(ty).filter(|scalar| scalar.lanes == 1)?;
    rw.func().registry().by_role(Context::Any, Role::Constant)?;
    let mut builder = rw.before(op);
    Some(match scalar.elem {
        elem if elem.is_float() => builder.float(f64::from(u8::from(one)), elem),
        elem if elem.is_int() => builder.int(i64::from(one), elem),
        _ => builder.bool(one),
    })
}

/// A value of type `ty` that can be seen at `op` and is not made by it: an operand, a result of an op before it, an
/// argument of a region around it.
fn in_scope(func: &Func, op: Op, ty: Type) -> Option<Value> {
    let fits = |value: &Value| func.value_type(*value) == ty;
    if let Some(&value) = func.operands(op).iter().find(|value| fits(value)) {
        return Some(value);
    }
    let mut at = op;
    loop {
        let mut before = func.prev_op(at);
        while let Some(op) = before {
            if let Some(value) = func.results(op).find(fits) {
                return Some(value);
            }
            before = func.prev_op(op);
        }
        let region = func.region_of(at)?;
        if let Some(&value) = func.region_args(region).iter().find(|value| fits(value)) {
            return Some(value);
        }
        at = func.region_parent(region)?;
    }
}
