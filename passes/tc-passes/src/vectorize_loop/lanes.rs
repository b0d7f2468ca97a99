//! What can be done for all lanes at once.

use crate::analysis::overflow::Ranges;
use rustc_hash::FxHashSet;
use tc_dialects::update::is_update;
use tc_dialects::{arith, tir};
use tc_ir::effects::summary;
use tc_ir::{Func, Op, Region, Value};

/// The values that become vectors.
pub(super) struct Varying<'a> {
    func: &'a Func,
    pub(super) values: FxHashSet<Value>,
    /// Those that differ between lanes, and yet there is no vector of them.
    pub(super) scalars: FxHashSet<Value>,
}

impl<'a> Varying<'a> {
    /// Only the variable of the loop is a vector yet.
    pub(super) fn of(func: &'a Func, var: Value) -> Varying<'a> {
        Varying { func, values: FxHashSet::from_iter([var]), scalars: FxHashSet::default() }
    }

    /// The groups that cannot be widened, each with the op at fault and the reason. A value is found to vary before those
    /// who use it are asked.
    pub(super) fn visit(&mut self, groups: &[Vec<Op>]) -> Vec<Option<(Op, String)>> {
        groups
            .iter()
            .map(|group| {
                let mut first = None;
                for &op in group {
                    let Err(fault) = self.op(op) else { continue };
                    let results = self.func.results(op);
                    self.values.extend(results.clone());
                    self.scalars.extend(results);
                    first.get_or_insert(fault);
                }
                first
            })
            .collect()
    }

    fn region(&mut self, region: Region) -> Result<(), (Op, String)> {
        self.func.ops(region).filter(|&op| !self.func.row(op).terminator).try_for_each(|op| self.op(op))
    }

    fn op(&mut self, op: Op) -> Result<(), (Op, String)> {
        let func = self.func;
        let fault = |text: String| Err((op, text));
        let varies = func.operands(op).iter().any(|operand| self.values.contains(operand));
        if func.operands(op).iter().any(|operand| self.scalars.contains(operand)) {
            return fault("it uses a value that is computed lane by lane".to_string());
        }
        if func.opcode(op) == tir::IF {
            return self.branch(op);
        }
        if !varies && func.op_regions(op).is_empty() && !is_update(func, op) {
            return Ok(());
        }
        match func.opcode(op) {
            tir::FOR => return fault("the bounds of the loop, or what it carries, differ between lanes".to_string()),
            tir::LOAD | tir::STORE => self.access(op)?,
            opcode if opcode.dialect() == arith::ADD.dialect() => {
                let numbers = func
                    .operands(op)
                    .iter()
                    .chain(func.results(op).collect::<Vec<_>>().iter())
                    .all(|&value| func.value_scalar(value).is_some_and(|scalar| scalar.lanes == 1));
                if !numbers {
                    return fault(format!("`{}` is a vector already", func.op_name(op)));
                }
            }
            tir::REF | tir::REGION => {
                let name = func.value_text(func.operand(op, 0));
                return fault(format!("what is referred to of `{name}` differs between lanes"));
            }
            _ => return fault(format!("`{}` cannot be done for several lanes at once", func.op_name(op))),
        }
        self.values.extend(func.results(op));
        Ok(())
    }

    fn access(&mut self, op: Op) -> Result<(), (Op, String)> {
        let func = self.func;
        let fault = |text: String| Err((op, text));
        let operands = func.operands(op);
        let is_store = func.opcode(op) == tir::STORE;
        let indices = &operands[1..operands.len() - usize::from(is_store)];
        let Some((last, outer)) = indices.split_last() else {
            return fault("it accesses a buffer without an index".to_string());
        };
        let name = func.value_text(operands[0]);
        if outer.iter().any(|index| self.values.contains(index)) {
            return fault(format!("another index of `{name}` than the last differs between lanes"));
        }
        if !self.values.contains(last) {
            return fault(format!("all lanes write one element of `{name}`"));
        }
        let value = if is_store { operands.last().copied() } else { func.result(op) };
        let numbers = [Some(*last), value]
            .into_iter()
            .all(|value| value.and_then(|value| func.value_scalar(value)).is_some_and(|scalar| scalar.lanes == 1));
        if numbers { Ok(()) } else { fault(format!("an access to `{name}` is that of a vector already")) }
    }

    fn branch(&mut self, op: Op) -> Result<(), (Op, String)> {
        let func = self.func;
        let regions = func.op_regions(op);
        if self.values.contains(&func.operand(op, 0)) && !is_choice(func, op) {
            return Err((op, "its condition differs between lanes".to_string()));
        }
        for &region in regions {
            self.region(region)?;
        }
        for (nth, result) in func.results(op).enumerate() {
            let yields = regions.iter().filter_map(|&region| func.yielded(region).get(nth));
            let differs = self.values.contains(&func.operand(op, 0));
            if differs || yields.into_iter().any(|value| self.values.contains(value)) {
                if func.value_scalar(result).is_none_or(|scalar| scalar.lanes != 1) {
                    return Err((op, "it hands on a vector already".to_string()));
                }
                self.values.insert(result);
            }
        }
        Ok(())
    }
}

/// May both branches of the conditional `op` be evaluated, and one of their values be taken? Arithmetic in them must not
/// overflow where the other one is taken.
pub(super) fn is_choice(func: &Func, op: Op) -> bool {
    let mut ranges = Ranges::default();
    func.n_results(op) > 0
        && func.op_regions(op).len() == 2
        && summary(func, op).is_pure()
        && summary(func, op).speculatable
        && func.op_regions(op).iter().all(|&region| func.ops(region).all(|inner| func.op_regions(inner).is_empty()))
        && func.op_regions(op).iter().all(|&region| func.ops(region).all(|inner| ranges.fits(func, inner, op)))
}
