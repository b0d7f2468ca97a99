//! Arithmetic that passes make, on numbers and on vectors alike.

use tc_dialects::arith;
use tc_ir::attrs::AttrData;
use tc_ir::{Builder, Elem, Func, Opcode, Scalar, Value, keys};

/// Makes ops on values of one type.
pub(crate) struct Numbers<'b, 'f> {
    /// Where the ops go.
    pub(crate) b: &'b mut Builder<'f>,
    /// The type.
    pub(crate) scalar: Scalar,
}

impl Numbers<'_, '_> {
    /// The integer `value`, in every lane.
    pub(crate) fn int(&mut self, value: i64) -> Value {
        let number = self.b.int(value, self.scalar.elem);
        self.spread(number)
    }

    /// The float `value`, in every lane.
    pub(crate) fn float(&mut self, value: f64) -> Value {
        let number = self.b.float(value, self.scalar.elem);
        self.spread(number)
    }

    /// `number` in every lane.
    pub(crate) fn spread(&mut self, number: Value) -> Value {
        if self.scalar.lanes == 1 {
            return number;
        }
        let lanes = self.b.func.int_attr(i64::from(self.scalar.lanes));
        self.b.value(arith::BROADCAST, &[number], &[(keys::LANES, lanes)])
    }

    /// The op `opcode` of `operands`.
    pub(crate) fn op(&mut self, opcode: Opcode, operands: &[Value]) -> Value {
        self.b.value(opcode, operands, &[])
    }

    /// A comparison.
    pub(crate) fn compare(&mut self, predicate: arith::Predicate, lhs: Value, rhs: Value) -> Value {
        let word = self.b.func.word_attr(predicate.word());
        self.b.value(arith::CMP, &[lhs, rhs], &[(keys::PREDICATE, word)])
    }
}

/// `value` as a `to`; itself where that is its type.
pub(crate) fn cast(b: &mut Builder<'_>, value: Value, to: Scalar) -> Value {
    let ty = b.func.scalar_ty(to);
    if b.func.value_type(value) == ty {
        return value;
    }
    let op = arith::Cast::build(b, value, &[], &[ty]);
    b.func.result(op).expect("a cast has one result")
}

/// The float `value` in the type `wide`, which holds all that its own type holds; of a literal, a literal.
pub(crate) fn widened(b: &mut Builder<'_>, value: Value, wide: Elem) -> Value {
    let scalar = b.func.value_scalar(value).expect("arithmetic is of numbers");
    let literal = b.func.constant(value).and_then(|attr| match b.func.attr_data(attr) {
        AttrData::Float(bits, _) => Some(scalar.elem.round(f64::from_bits(*bits))),
        _ => None,
    });
    match literal {
        Some(number) if scalar.lanes == 1 => b.float(number, wide),
        _ => cast(b, value, Scalar { elem: wide, ..scalar }),
    }
}

/// The integer that every lane of `value` is.
pub(crate) fn splat(func: &Func, value: Value) -> Option<i64> {
    match func.def_op(value) {
        Some(op) if func.opcode(op) == arith::BROADCAST => func.const_int(func.operand(op, 0)),
        _ => func.const_int(value),
    }
}
