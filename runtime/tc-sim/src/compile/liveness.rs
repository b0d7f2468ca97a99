//! Where values are used last, so that their registers can be used again.

use super::region::makes_reference;
use crate::limits::MAX_DEPTH;
use tc_ir::func::Def;
use tc_ir::walk::all_ops;
use tc_ir::{Func, Op, Region, Value};
use tc_support::Diagnostic;

/// For each op, the values of its own region that it, or an op inside it, is the last to use.
#[derive(Default)]
pub(crate) struct Liveness {
    dies: Vec<Vec<Value>>,
}

impl Liveness {
    /// Looks at `func`; refused where regions are nested too deeply to be followed.
    pub(crate) fn new(func: &Func) -> Result<Liveness, Diagnostic> {
        let mut last: Vec<Option<Op>> = vec![None; func.n_value_ids()];
        let mut depths: Vec<usize> = vec![0; func.n_op_ids()];
        for op in all_ops(func) {
            let depth = func.parent_op(op).map_or(0, |parent| depths[parent.as_u32() as usize] + 1);
            depths[op.as_u32() as usize] = depth;
            if depth > MAX_DEPTH {
                let text = format!("blocks are nested more than {MAX_DEPTH} deep, which the simulator does not follow");
                return Err(Diagnostic::error("limit", func.op_location(op), text));
            }
            for value in func.results(op) {
                last[value.as_u32() as usize] = Some(op);
            }
            let of_references = func.operands(op).iter().filter_map(|&operand| func.def_op(operand));
            let of_references = of_references.filter(|&def| makes_reference(func.opcode(def)));
            // What a reference was made from lives as long as the reference.
            let indices = of_references.flat_map(|def| func.operands(def));
            for &operand in func.operands(op).iter().chain(indices) {
                // Arguments of regions live as long as their op.
                if let Def::Result(def, _) = func.def(operand)
                    && let Some(region) = func.region_of(def)
                {
                    last[operand.as_u32() as usize] = ancestor_in(func, op, region);
                }
            }
        }
        let mut dies = vec![Vec::new(); func.n_op_ids()];
        for (number, op) in last.iter().enumerate() {
            if let Some(op) = op {
                dies[op.as_u32() as usize].push(Value::from_u32(number as u32));
            }
        }
        Ok(Liveness { dies })
    }

    /// The values that nothing uses after `op`.
    pub(crate) fn dies_at(&self, op: Op) -> &[Value] {
        &self.dies[op.as_u32() as usize]
    }
}

/// The op that stands in `region` and is `op` or holds it.
fn ancestor_in(func: &Func, mut op: Op, region: Region) -> Option<Op> {
    while func.region_of(op) != Some(region) {
        op = func.parent_op(op)?;
    }
    Some(op)
}
