//! From definitions to uses: built when asked for, never kept.

use crate::entity::{Op, Value};
use crate::func::Func;
use crate::walk::all_ops;
use cranelift_entity::SecondaryMap;

/// One use of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Use {
    /// The user.
    pub op: Op,
    /// The operand's number.
    pub idx: usize,
}

/// The uses of every value of a function, in the order of the text. Stale after the next edit.
pub struct Uses {
    map: SecondaryMap<Value, Vec<Use>>,
}

impl Uses {
    /// Collects the uses of `func`.
    pub fn of(func: &Func) -> Uses {
        let mut map: SecondaryMap<Value, Vec<Use>> = SecondaryMap::with_capacity(func.n_value_ids());
        for op in all_ops(func) {
            for (idx, &value) in func.operands(op).iter().enumerate() {
                map[value].push(Use { op, idx });
            }
        }
        Uses { map }
    }

    /// The uses of `value`.
    pub fn of_value(&self, value: Value) -> &[Use] {
        &self.map[value]
    }
}
