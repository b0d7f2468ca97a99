//! What of a launch nest has to be followed.

use crate::analysis::access::is_private;
use crate::analysis::uniform::written_buffers;
use rustc_hash::FxHashMap;
use tc_dialects::scope::Scope;
use tc_ir::walk::ops_under;
use tc_ir::{EntitySet, Func, Op, TypeData, Value, effects};

/// The ops that have to be followed: accesses of memory that threads share and something writes, what orders them, and
/// what those are computed from.
pub(super) struct Relevant {
    pub(super) ops: EntitySet<Op>,
    pub(super) tracked: FxHashMap<Value, Tracked>,
}

/// A buffer whose cells are told apart.
#[derive(Clone, Copy)]
pub(super) struct Tracked {
    /// What stands for it: parameters that may be one another are one.
    pub(super) root: Value,
    /// The bytes of a cell: those of the narrowest element that the buffer is accessed by.
    pub(super) unit: i64,
    pub(super) is_global: bool,
    /// Equal indices name one cell. Not so for what may be another buffer, or is one for each warp.
    pub(super) is_exact: bool,
}

impl Relevant {
    /// What has to be followed in `nest`.
    pub(super) fn of(func: &Func, nest: Op, is_noalias: bool) -> Relevant {
        let written = written_buffers(func, nest);
        let is_param = |root: Value| func.def_op(root).is_none();
        let some_param = written.iter().copied().filter(|&root| is_param(root)).min();
        let mut tracked: FxHashMap<Value, Tracked> = FxHashMap::default();
        let all: Vec<Op> = func.op_regions(nest).iter().flat_map(|&region| ops_under(func, region)).collect();
        let mut ops = EntitySet::with_capacity(func.n_op_ids());
        let mut pending: Vec<Op> = Vec::new();
        for &op in &all {
            for (place, _) in effects::accesses(func, op) {
                let root = effects::root_buffer(func, place);
                let Some((_, _, scope)) = func.as_shaped(func.value_type(root)) else { continue };
                let scope = Scope::of_name(func, scope);
                let is_global = scope == Some(Scope::Global);
                let stands_for = match some_param {
                    Some(first) if is_param(root) && !is_noalias => first,
                    _ => root,
                };
                if is_private(func, root) || !written.contains(&stands_for) {
                    continue;
                }
                let is_exact = stands_for == root && (is_global || scope == Some(Scope::Shared));
                let unit = element_bytes(func, place).unwrap_or(1);
                let new = Tracked { root: stands_for, unit, is_global, is_exact };
                let known = tracked.entry(root).or_insert(new);
                known.unit = known.unit.min(unit);
                pending.push(op);
            }
            let effect = func.row(op).effect;
            if effect.synchronises || effect.convergent || effect.unknown {
                pending.push(op);
            }
        }
        while let Some(op) = pending.pop() {
            if op == nest || !ops.insert(op) {
                continue;
            }
            pending.extend(func.parent_op(op));
            pending.extend(func.operands(op).iter().filter_map(|&operand| func.def_op(operand)));
            // What a region gives is what its op gives.
            pending.extend(func.op_regions(op).iter().filter_map(|&region| func.terminator(region)));
        }
        Relevant { ops, tracked }
    }

    /// Is there nothing that two threads could both access?
    pub(super) fn is_empty(&self) -> bool {
        self.tracked.is_empty()
    }
}

fn element_bytes(func: &Func, place: Value) -> Option<i64> {
    let elem = match func.type_data(func.value_type(place)) {
        TypeData::Shaped { elem, .. } | TypeData::Ref { elem, .. } => *elem,
        _ => return None,
    };
    func.as_scalar(elem).map(|scalar| i64::from(scalar.bytes()))
}
