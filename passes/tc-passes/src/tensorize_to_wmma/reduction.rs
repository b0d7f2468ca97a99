//! The two steps of a reduction: what sets an element first, and what adds to it.

use super::attempt::{Attempt, Compared};
use super::expression::same_literal;
use super::matching::Difference;
use super::show;
use tc_dialects::{arith, te, tir};
use tc_ir::{AttrData, Op, Value};

impl Attempt<'_, '_, '_> {
    /// The first step of a reduction stores the combiner's identity.
    pub(super) fn identity(&mut self, stored: Value, store: Op) -> Compared {
        let (func, intrinsic) = (self.site.func, self.theirs.intrinsic);
        let Some(reduction) = &intrinsic.reduction else { return Ok(()) };
        let elem = func.value_scalar(stored).map(|scalar| scalar.elem);
        let wanted = elem.and_then(|elem| te::identity_of(&reduction.combiner, elem));
        let have = func.constant(stored).map(|attr| func.attr_data(attr));
        if wanted.as_ref().zip(have).is_some_and(|(wanted, have)| same_literal(wanted, have)) {
            return Ok(());
        }
        let wanted = wanted.map_or_else(|| "…".to_string(), |data| literal(&data));
        let stored = show::value(func, stored);
        let text = format!("the first step of `{}` sets {wanted}, and `{stored}` is set here", reduction.combiner);
        Err(self.differ(text, store, show::store(func, store), reduction.op))
    }

    /// What `stored` adds to the element that it replaces.
    pub(super) fn added(
        &mut self,
        store: Op,
        buffer: Value,
        indices: &[Value],
        stored: Value,
    ) -> Result<Value, Difference> {
        let (func, intrinsic) = (self.site.func, self.theirs.intrinsic);
        let Some(reduction) = &intrinsic.reduction else { return Ok(stored) };
        let opcode = match &*reduction.combiner {
            "sum" => arith::ADD,
            "prod" => arith::MUL,
            "min" => arith::MIN,
            _ => arith::MAX,
        };
        if let Some(op) = func.def_op(stored).filter(|&op| func.opcode(op) == opcode) {
            let &[a, b] = func.operands(op) else { return Ok(stored) };
            for (so_far, added) in [(a, b), (b, a)] {
                if self.reads(so_far, buffer, indices) {
                    return Ok(added);
                }
            }
        }
        let place = show::place(func, buffer, indices);
        let text = format!("`{place}` does not become the `{}` of itself and one more", reduction.combiner);
        Err(self.differ(text, store, show::store(func, store), reduction.op))
    }

    /// Is `value` the element of `buffer` at `indices`?
    fn reads(&mut self, value: Value, buffer: Value, indices: &[Value]) -> bool {
        let func = self.site.func;
        let Some(op) = func.def_op(value).filter(|&op| func.opcode(op) == tir::LOAD) else { return false };
        let operands = func.operands(op);
        operands.first() == Some(&buffer)
            && operands.len() == indices.len() + 1
            && operands[1..].iter().zip(indices).all(|(&a, &b)| {
                let (a, b) = (self.site.algebra.expr(func, a), self.site.algebra.expr(func, b));
                self.site.algebra.analyzer.can_prove_equal(a, b)
            })
    }
}

fn literal(data: &AttrData) -> String {
    match data {
        AttrData::Int(value, _) => value.to_string(),
        AttrData::Float(bits, _) => format!("{:?}", f64::from_bits(*bits)),
        _ => "…".to_string(),
    }
}
