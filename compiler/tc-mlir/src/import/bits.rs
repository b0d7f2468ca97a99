//! The bits of numbers that are no integers: on their way between lanes, in words of 32 bits, and back.
//!
//! A program has no bits of a float. What MLIR does to exchange one, or to clear its sign, is followed bit by bit, and only
//! what gives all bits of a number again is one.

use super::state::{Known, Reader};
use super::types;
use melior::ir::{OperationRef, ValueLike};
use tc_dialects::arith as ops;
use tc_dialects::threads::{Meeting, meeting};
use tc_ir::{Op, Scalar, Value};

/// The bits `first .. first + n` of a number, from bit `at` of an integer on, whose other bits are 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Bits {
    pub(crate) value: Value,
    first: u32,
    n: u32,
    at: u32,
}

impl Bits {
    /// The same bits of `value`, another number of the type.
    pub(crate) fn of(self, value: Value) -> Bits {
        Bits { value, ..self }
    }

    /// Are they fewer than those of a word, at its start, so that lanes exchange them as one?
    pub(crate) fn is_word(self) -> bool {
        self.at == 0 && self.n <= 32
    }
}

/// The bits of the scalar or vector that `ty` is.
fn width(scalar: Scalar) -> u32 {
    scalar.elem.bits() * u32::from(scalar.lanes)
}

impl Reader<'_> {
    /// All bits of `value`.
    pub(crate) fn bits_of(&self, value: Value) -> Bits {
        Bits { value, first: 0, n: width(self.scalar(value)), at: 0 }
    }

    /// The number whose bits, all of them, `bits` are.
    pub(crate) fn whole(&self, bits: Bits) -> Option<Value> {
        (bits == self.bits_of(bits.value)).then_some(bits.value)
    }

    /// An op on bits, if `op`'s first operand is bits and they are followed through it.
    pub(crate) fn bitwise(&mut self, op: OperationRef<'_, '_>, name: &str) -> bool {
        let Known::Bits(bits) = self.operand(op, 0) else { return false };
        let to = match op.result(0).map(|result| types::known(result.r#type())) {
            Ok(types::Known::Scalar(scalar)) => scalar,
            _ => return false,
        };
        let known = match name {
            "arith.bitcast" | "llvm.bitcast" => self.cast_back(bits, to),
            "arith.trunci" if bits.at == 0 => Some(Known::Bits(Bits { n: bits.n.min(width(to)), ..bits })),
            "arith.extui" => Some(Known::Bits(bits)),
            "arith.shrui" => self.shift(op).and_then(|by| {
                let n = bits.n.checked_sub(by).filter(|&n| n > 0 && bits.at == 0)?;
                Some(Known::Bits(Bits { first: bits.first + by, n, ..bits }))
            }),
            "arith.shli" => self.shift(op).and_then(|by| {
                let at = bits.at.checked_add(by)?;
                (at + bits.n <= width(to)).then_some(Known::Bits(Bits { at, ..bits }))
            }),
            "arith.ori" => match self.operand(op, 1) {
                Known::Bits(other) => self.joined(bits, other).map(Known::Bits),
                _ => None,
            },
            "arith.andi" => match (self.whole(bits), self.operand(op, 1)) {
                (Some(value), Known::Value(mask)) if self.is_all_but_sign(value, mask) => {
                    self.infer(op, ops::ABS, &[value], &[]).map(|value| Known::Bits(self.bits_of(value)))
                }
                _ => None,
            },
            _ => None,
        };
        match known {
            Some(known) => self.give(op, known),
            None => return false,
        }
        true
    }

    /// Bits as a number: the one that they are of, if it has this type.
    fn cast_back(&self, bits: Bits, to: Scalar) -> Option<Known> {
        let value = self.whole(bits)?;
        let is_same = crate::types::value(to) == crate::types::value(self.scalar(value));
        Some(if is_same { Known::Value(value) } else { Known::Bits(bits) })
    }

    /// By how much `op` shifts.
    fn shift(&self, op: OperationRef<'_, '_>) -> Option<u32> {
        match self.operand(op, 1) {
            Known::Value(by) => u32::try_from(self.func.const_int(by)?).ok().filter(|&by| by < 64),
            _ => None,
        }
    }

    /// Two stretches of bits of one number that lie as they do in it.
    fn joined(&self, one: Bits, other: Bits) -> Option<Bits> {
        let (low, high) = if one.first <= other.first { (one, other) } else { (other, one) };
        let follows = low.first + low.n == high.first && low.at + low.n == high.at;
        (follows && self.is_one(low.value, high.value)).then_some(Bits { n: low.n + high.n, ..low })
    }

    /// Are the values one, or the same exchange of one?
    fn is_one(&self, one: Value, other: Value) -> bool {
        let exchange =
            |value: Value| self.func.def_op(value).filter(|&op| meeting(&self.func, op) == Some(Meeting::Exchange));
        let is_alike = |one: Op, other: Op| {
            self.func.operands(one) == self.func.operands(other)
                && self.func.op_attrs(one) == self.func.op_attrs(other)
                && self.func.region_of(one) == self.func.region_of(other)
        };
        one == other || exchange(one).zip(exchange(other)).is_some_and(|(one, other)| is_alike(one, other))
    }

    /// Is `mask` all bits of the float `value` but that of its sign?
    fn is_all_but_sign(&self, value: Value, mask: Value) -> bool {
        let scalar = self.scalar(value);
        let literal = match self.func.def_op(mask).filter(|&made| self.func.opcode(made) == ops::BROADCAST) {
            Some(made) => self.func.operand(made, 0),
            None => mask,
        };
        let bits = scalar.elem.bits().clamp(1, 64);
        scalar.elem.is_float() && self.func.const_int(literal) == Some(((1u64 << (bits - 1)) - 1) as i64)
    }
}
