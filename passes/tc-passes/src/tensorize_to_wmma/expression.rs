//! What is stored, compared op by op.

use super::attempt::{Attempt, Compared};
use super::matching::Difference;
use super::show;
use tc_dialects::{te, tir};
use tc_ir::attrs::AttrData;
use tc_ir::opdef::Role;
use tc_ir::{Func, Op, Value, keys};

/// Expressions deeper than this, and of more ops, are not compared.
const MAX_DEPTH: u32 = 128;
pub(super) const MAX_STEPS: u32 = 4096;

/// What the value of `op` is computed from.
pub(super) fn inputs(func: &Func, op: Op) -> Vec<Value> {
    let mut inputs = func.operands(op).to_vec();
    inputs.extend(func.op_regions(op).iter().flat_map(|&region| func.yielded(region).iter().copied()));
    inputs
}

impl Attempt<'_, '_, '_> {
    /// Compares `theirs`, used by the op `user`, with `ours`, used by `by`.
    pub(super) fn value(&mut self, theirs: Value, user: Op, ours: Value, by: Op, depth: u32) -> Compared {
        let (func, intrinsic) = (self.site.func, self.theirs.intrinsic);
        self.steps += 1;
        if depth > MAX_DEPTH || self.steps > MAX_STEPS {
            let text = "what is computed is too large to be compared".to_string();
            return Err(self.differ(text, by, show::value(func, ours), user));
        }
        let differs = |this: &Self| {
            let (here, there) = (show::value(func, ours), show::value(intrinsic.func, theirs));
            let types =
                (func.show_type(func.value_type(ours)), intrinsic.func.show_type(intrinsic.func.value_type(theirs)));
            let (here, there) = if here == there {
                (format!("{here}: {}", types.0), format!("{there}: {}", types.1))
            } else {
                (here, there)
            };
            let text = format!("`{here}` stands here, and `{there}` there");
            let mut found = this.differ(text, func.def_op(ours).unwrap_or(by), here, user);
            found.theirs.1 = there;
            found
        };
        let Some(their_op) = intrinsic.func.def_op(theirs) else {
            return self.variable(theirs, ours).map_err(|()| differs(self));
        };
        let Some(our_op) = func.def_op(ours) else { return Err(differs(self)) };
        let same_type = func.value_scalar(ours) == intrinsic.func.value_scalar(theirs);
        match (intrinsic.func.opcode(their_op), func.opcode(our_op)) {
            (te::READ, tir::LOAD) => {
                let (Some((&tensor, theirs)), Some((&buffer, ours))) =
                    (intrinsic.func.operands(their_op).split_first(), func.operands(our_op).split_first())
                else {
                    return Err(differs(self));
                };
                let (theirs, ours) = (theirs.to_vec(), ours.to_vec());
                self.place(tensor, their_op, &theirs, our_op, buffer, &ours)
            }
            (theirs, ours) if theirs == ours && same_type => self.op(their_op, our_op, depth, differs),
            _ => Err(differs(self)),
        }
    }

    /// Compares two ops of one row.
    fn op(&mut self, theirs: Op, ours: Op, depth: u32, differs: impl Fn(&Self) -> Difference) -> Compared {
        let (func, intrinsic) = (self.site.func, self.theirs.intrinsic);
        let (mut there, here) = (inputs(intrinsic.func, theirs), inputs(func, ours));
        if there.len() != here.len() || !self.same_attrs(theirs, ours) {
            return Err(differs(self));
        }
        if let Some(bit) = self.commuted.iter().position(|&op| op == theirs)
            && self.order >> bit & 1 == 1
            && there.len() == 2
        {
            there.swap(0, 1);
        }
        for (theirs_input, ours_input) in there.into_iter().zip(here) {
            self.value(theirs_input, theirs, ours_input, ours, depth + 1)?;
        }
        Ok(())
    }

    fn same_attrs(&self, theirs: Op, ours: Op) -> bool {
        let (func, other) = (self.site.func, self.theirs.intrinsic.func);
        if func.role(ours) == Role::Constant {
            let (ours, theirs) = (func.attr_of(ours, keys::VALUE), other.attr_of(theirs, keys::VALUE));
            return ours
                .zip(theirs)
                .is_some_and(|(ours, theirs)| same_literal(func.attr_data(ours), other.attr_data(theirs)));
        }
        func.row(ours).params.iter().filter(|param| !param.kind.is_operand()).all(|param| {
            let text = |func: &Func, op| func.attr_named(op, param.name).map(|attr| func.show_attr(attr));
            text(func, ours) == text(other, theirs)
        })
    }

    /// An axis that is a number of what is computed: the loop that it is bound to.
    fn variable(&mut self, theirs: Value, ours: Value) -> Result<(), ()> {
        let axis = self.axes.iter().position(|axis| axis.value == theirs).ok_or(())?;
        let nth = self.loops.iter().position(|each| each.var == ours && each.lo == 0).ok_or(())?;
        if self.bound.contains(&(axis, nth)) { Ok(()) } else { Err(()) }
    }
}

/// Are the two literals one number?
pub(super) fn same_literal(a: &AttrData, b: &AttrData) -> bool {
    match (a, b) {
        (AttrData::Int(a, _), AttrData::Int(b, _)) => a == b,
        (AttrData::Float(a, _), AttrData::Float(b, _)) => a == b,
        (AttrData::Bool(a), AttrData::Bool(b)) => a == b,
        _ => false,
    }
}
