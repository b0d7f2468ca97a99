//! What an access of a thread is of: its cells, and whether all threads store the same.

use super::lanes::{Base, Lanes, Offsets};
use super::trace::{Active, Trace};
use rustc_hash::FxHashSet;
use tc_dialects::threads::begins_copy;
use tc_dialects::tir;
use tc_ir::opdef::{Access, Role};
use tc_ir::{AttrData, Func, Op, TypeData, Value, effects, keys};

impl Trace<'_> {
    /// Does the store `op` write the same value for all threads?
    pub(super) fn stores_one_value(&self, op: Op) -> bool {
        let func = self.func;
        let mut pending: Vec<Value> = match func.role(op) {
            Role::Store => func.operands(op).last().copied().into_iter().collect(),
            _ => return false,
        };
        let mut seen: FxHashSet<Value> = FxHashSet::default();
        while let Some(value) = pending.pop() {
            match self.values.get(&value) {
                Some(Lanes::Known(_, Offsets::Same(_))) => continue,
                Some(Lanes::Known(_, Offsets::Each(_))) => return false,
                _ if !seen.insert(value) => continue,
                _ => {}
            }
            let Some(def) = func.def_op(value) else {
                if func.region_args(func.body()).contains(&value) {
                    continue;
                }
                return false;
            };
            let is_read_only = |&(place, _): &(Value, Access)| {
                let root = effects::root_buffer(func, place);
                func.def_op(root).is_none() && !self.relevant.tracked.contains_key(&root)
            };
            let is_plain = func.op_regions(def).is_empty() && !effects::own(func, def).unknown;
            if !is_plain || func.row(def).effect.convergent || !effects::accesses(func, def).iter().all(is_read_only) {
                return false;
            }
            pending.extend(func.operands(def).iter().filter(|&&operand| func.value_scalar(operand).is_some()));
        }
        true
    }

    /// The base, the first cell of each thread and the number of cells that `op` touches by `place`; `None` where that is
    /// not known.
    pub(super) fn cells(&self, op: Op, place: Value, unit: i64, active: &Active) -> Option<(Base, Vec<i64>, i64)> {
        let func = self.func;
        let is_access = matches!(func.role(op), Role::Load | Role::Store);
        let (buffer, mut indices, length) = if func.as_shaped(func.value_type(place)).is_some() {
            (place, &[][..], 1)
        } else {
            let def = func.def_op(place)?;
            let length = match func.opcode(def) {
                tir::REF if is_access => 1,
                tir::REGION if !is_access && begins_copy(func, op) => region_length(func, place)?,
                _ => return None,
            };
            (func.operand(def, 0), &func.operands(def)[1..], length)
        };
        if is_access && indices.is_empty() {
            let operands = func.operands(op);
            let n_values = usize::from(func.role(op) == Role::Store);
            indices = &operands[1..operands.len() - n_values];
        }
        let (elem, shape, _) = func.as_shaped(func.value_type(buffer))?;
        let strides = strides(func, buffer, shape)?;
        if indices.len() != strides.len() {
            return None;
        }
        let mut sum = Lanes::constant(0);
        let mut n = length;
        for (nth, (&index, &stride)) in indices.iter().zip(&strides).enumerate() {
            let start = match self.value(index) {
                Lanes::Ramp(base, offsets, lanes, 1) if nth + 1 == indices.len() && stride == 1 => {
                    n *= lanes;
                    Lanes::Known(base, offsets)
                }
                other => other,
            };
            sum = sum.plus(&start, stride, &active.threads);
        }
        let Lanes::Known(base, offsets) = sum else { return None };
        let bytes = i64::from(func.as_scalar(elem)?.bytes());
        let (shift, per_element) = (view_offset(func, buffer)?, bytes / unit);
        if bytes % unit != 0 || shift % unit != 0 {
            return None;
        }
        // All that is noted of a buffer counts in its units.
        let base = if base.is_empty() || per_element == 1 {
            base
        } else {
            base.iter().map(|&(symbol, coef)| Some((symbol, coef.checked_mul(per_element)?))).collect::<Option<_>>()?
        };
        let first = |thread: usize| offsets.at(thread).checked_mul(per_element)?.checked_add(shift / unit);
        let first: Option<Vec<i64>> =
            (0..self.n_threads).map(|thread| if active.threads[thread] { first(thread) } else { Some(0) }).collect();
        let mut first = first?;
        // What does not come here counts as the first that does.
        if let Some(one) = active.threads.iter().position(|&active| active) {
            for thread in (0..self.n_threads).filter(|&thread| !active.threads[thread]) {
                first[thread] = first[one];
            }
        }
        Some((base, first, n.checked_mul(per_element)?))
    }
}

/// How many elements, side by side, the region `place` has.
fn region_length(func: &Func, place: Value) -> Option<i64> {
    let TypeData::Ref { shape, .. } = func.type_data(func.value_type(place)) else { return None };
    let (&last, outer) = shape.split_last()?;
    outer.iter().all(|&extent| func.as_int(extent) == Some(1)).then(|| func.as_int(last))?
}

/// What one step in each dimension is worth, in elements.
fn strides(func: &Func, buffer: Value, shape: &[tc_ir::Attr]) -> Option<Vec<i64>> {
    if let Some(AttrData::List(strides)) = func.buffer_attr(buffer, keys::STRIDES).map(|attr| func.attr_data(attr)) {
        return strides.iter().map(|&stride| func.as_int(stride)).collect();
    }
    let mut strides = vec![1i64; shape.len()];
    for nth in (1..shape.len()).rev() {
        strides[nth - 1] = strides[nth].checked_mul(func.as_int(shape[nth])?)?;
    }
    Some(strides)
}

/// Where the view `buffer` starts in the buffer behind it, in bytes.
fn view_offset(func: &Func, buffer: Value) -> Option<i64> {
    let (mut at, mut start) = (buffer, 0i64);
    while let Some(op) = func.def_op(at).filter(|&op| func.opcode(op) == tir::VIEW) {
        start = start.checked_add(func.const_int(func.operand(op, 1))?)?;
        at = func.operand(op, 0);
    }
    Some(start)
}
