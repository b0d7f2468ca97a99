//! Instructions on elements, in all lanes of a group at once.

use super::number::Number;
use super::rounding;
use crate::cell::{Cell, of_int};
use crate::code::{FloatOp, Reg, Site, UnaryOp};
use crate::lanes::cast_one;
use tc_dialects::arith::Predicate;
use tc_ir::Elem;
use tc_ir::types::ElemKind;

/// What is computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FieldOp {
    Binary(FloatOp),
    Unary(UnaryOp),
    Fma,
    Cmp(Predicate),
    Cast { from: Elem, to: Elem },
}

/// An instruction on elements. What it gives is a value and its range, or an integer.
#[derive(Clone, Debug)]
pub(crate) struct FieldInstr {
    pub(crate) op: FieldOp,
    /// The type of the operands.
    pub(crate) elem: Elem,
    pub(crate) dst: Reg,
    /// Of the result, if it is a float.
    pub(crate) range: Reg,
    pub(crate) args: [Reg; 3],
    pub(crate) ranges: [Reg; 3],
    pub(crate) site: Site,
}

/// What one lane gives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Outcome {
    pub(crate) value: Cell,
    pub(crate) range: Cell,
    pub(crate) doubt: Doubt,
}

/// What the domain does not decide.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Doubt {
    None,
    /// The element: it is tainted.
    Value,
    /// An integer or a truth value, which may decide about anything.
    Choice,
}

impl FieldInstr {
    /// Computes one lane, from the cells of operands and of their ranges.
    pub(crate) fn compute(&self, args: [Cell; 3], ranges: [Cell; 3]) -> Outcome {
        if let FieldOp::Cast { from, to } = self.op {
            return self.cast((from, to), args[0], ranges[0]);
        }
        let [a, b, c] = [0, 1, 2].map(|nth| Number::decode(args[nth], ranges[nth]));
        let settled = |number: Number| number.settled(self.elem);
        let result = match self.op {
            FieldOp::Binary(op) => binary(op, self.elem, a, b),
            // Signs change nothing.
            FieldOp::Unary(op @ UnaryOp::Neg) => a.unary(op),
            FieldOp::Unary(op) => settled(a).unary(op).computed(self.elem),
            FieldOp::Fma => fma(self.elem, a, b, c),
            FieldOp::Cmp(predicate) => return choice(settled(a).compare(predicate, settled(b))),
            FieldOp::Cast { .. } => a,
        };
        of(result, &[a, b, c])
    }

    fn cast(&self, (from, to): (Elem, Elem), value: Cell, range: Cell) -> Outcome {
        if !from.is_float() {
            let cell = cast_one(from, to, value).unwrap_or(0);
            return of(Number::exact(crate::cell::float_of(to, cell)), &[]);
        }
        if to.is_float() {
            let number = Number::decode(value, range);
            let (value, range) = rounding::convert(from, to, number.value, number.range);
            return of(Number { value, range }, &[number]);
        }
        let number = Number::decode(value, range).settled(from);
        if to.kind() == ElemKind::Bool {
            return choice(number.is_nonzero());
        }
        let (whole, is_decided) = number.truncated();
        let (low, high) = to.int_range().unwrap_or((0, 0));
        // Out of range is found on numbers.
        let value = if whole.abs() < 1e30 { (whole as i128).clamp(low, high) } else { 0 };
        let doubt = if is_decided { Doubt::None } else { Doubt::Choice };
        Outcome { value: of_int(value), range: 0, doubt }
    }
}

/// An operation on two numbers of a type. Sums are not rounded.
pub(crate) fn binary(op: FloatOp, elem: Elem, a: Number, b: Number) -> Number {
    match op {
        FloatOp::Add | FloatOp::Sub => a.binary(op, b).summed(elem),
        _ => a.settled(elem).binary(op, b.settled(elem)).computed(elem),
    }
}

/// `a * b + c` in a type. In a narrow one the product is rounded: contraction of the two ops is not seen.
pub(crate) fn fma(elem: Elem, a: Number, b: Number, c: Number) -> Number {
    let product = a.settled(elem).binary(FloatOp::Mul, b.settled(elem)).computed(elem);
    product.binary(FloatOp::Add, c).summed(elem)
}

fn of(result: Number, operands: &[Number]) -> Outcome {
    let is_new = result.value.tainted && !operands.iter().any(|operand| operand.value.tainted);
    let doubt = if is_new { Doubt::Value } else { Doubt::None };
    Outcome { value: result.value.encode(), range: result.range.encode(), doubt }
}

fn choice((holds, is_decided): (bool, bool)) -> Outcome {
    let doubt = if is_decided { Doubt::None } else { Doubt::Choice };
    Outcome { value: u64::from(holds), range: 0, doubt }
}
