//! From definitions to uses.

use crate::entity::{Op, Value};
use crate::func::Func;
use crate::walk::all_ops;
use cranelift_entity::EntityRef;

/// One use of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Use {
    /// The user.
    pub op: Op,
    /// The operand's number.
    pub idx: usize,
}

/// The uses of every value of a function, in the order of the text. Stale after the next edit.
#[derive(PartialEq, Eq, Debug)]
pub struct Uses {
    /// Where the uses of a value end, by its number; they begin where those of the value before end.
    ends: Vec<u32>,
    uses: Vec<Use>,
}

impl Uses {
    /// Collects the uses of `func`.
    pub fn of(func: &Func) -> Uses {
        // How many come before those of each value, and then, as they are put there, where the next one goes.
        let mut ends = vec![0u32; func.n_value_ids() + 1];
        let ops: Vec<Op> = all_ops(func).collect();
        for value in ops.iter().flat_map(|&op| func.operands(op)) {
            ends[value.index() + 1] += 1;
        }
        let mut n_uses = 0;
        for end in &mut ends {
            n_uses += *end;
            *end = n_uses;
        }
        let none = Use { op: Op::from_u32(0), idx: 0 };
        let mut uses = vec![none; n_uses as usize];
        for &op in &ops {
            for (idx, &value) in func.operands(op).iter().enumerate() {
                let at = &mut ends[value.index()];
                uses[*at as usize] = Use { op, idx };
                *at += 1;
            }
        }
        Uses { ends, uses }
    }

    /// The uses of `value`.
    pub fn of_value(&self, value: Value) -> &[Use] {
        let Some(&end) = self.ends.get(value.index()) else { return &[] };
        let start = value.index().checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.uses[start as usize..end as usize]
    }
}
