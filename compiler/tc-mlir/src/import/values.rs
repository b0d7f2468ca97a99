//! Constants and conversions.

use super::state::{Known, Reader, attribute, integer};
use super::types;
use crate::cast::{Conversion, conversion};
use crate::read::{self, Spelled};
use melior::ir::attribute::{DenseElementsAttribute, FloatAttribute, IntegerAttribute};
use melior::ir::operation::OperationLike;
use melior::ir::{Attribute, OperationRef, ValueLike};
use tc_dialects::arith as ops;
use tc_ir::types::ElemKind;
use tc_ir::{Elem, Scalar, Value, keys};

/// `number` as a number of type `elem`, cut to its bits.
pub(crate) fn wrapped(number: i64, elem: Elem) -> i64 {
    let bits = match elem {
        Elem::Index => 64,
        elem => elem.bits().clamp(1, 64),
    };
    if bits == 64 {
        return number;
    }
    let cut = number & ((1i64 << bits) - 1);
    let is_signed = !crate::arith::is_unsigned(elem);
    if is_signed && cut >> (bits - 1) & 1 == 1 { cut - (1i64 << bits) } else { cut }
}

impl Reader<'_> {
    /// `arith.constant`
    pub(crate) fn constant(&mut self, op: OperationRef<'_, '_>) {
        let Some(scalar) = self.result_type(op, 0) else { return self.give(op, Known::Missing) };
        let Ok(attribute) = op.attribute("value") else { return self.give(op, Known::Missing) };
        if scalar.lanes == 1 {
            let value = self.literal(op, attribute, scalar.elem);
            return self.give_value(op, value);
        }
        let splat = DenseElementsAttribute::try_from(attribute).ok().filter(DenseElementsAttribute::is_splat);
        let Some(splat) = splat else {
            self.refuse(op, "a vector of different literals has no counterpart", "write one literal a lane");
            return self.give(op, Known::Missing);
        };
        let value = self.literal(op, splat.splat_value(), scalar.elem);
        let vector = value.and_then(|value| self.broadcast_value(op, value, scalar));
        self.give_value(op, vector);
    }

    fn literal(&mut self, op: OperationRef<'_, '_>, attribute: Attribute<'_>, elem: Elem) -> Option<Value> {
        if elem == Elem::Bool {
            let value = attribute.to_string().starts_with("true");
            return Some(self.builder(op).bool(value));
        }
        if let Ok(float) = FloatAttribute::try_from(attribute) {
            return Some(self.builder(op).float(float.value(), elem));
        }
        match IntegerAttribute::try_from(attribute) {
            Ok(int) => Some(self.builder(op).int(int.value(), elem)),
            Err(_) => {
                self.refuse(op, format!("the literal `{attribute}` has no counterpart"), "write a number");
                None
            }
        }
    }

    /// A conversion of numbers, if `name` is one.
    pub(crate) fn conversion(&mut self, op: OperationRef<'_, '_>, name: &str) -> bool {
        match name {
            "arith.index_cast" => self.index_cast(op, false),
            "arith.index_castui" => self.index_cast(op, true),
            "arith.bitcast" | "llvm.bitcast" => self.bitcast(op),
            "arith.extf" | "arith.truncf" | "arith.fptosi" | "arith.fptoui" | "arith.sitofp" | "arith.uitofp"
            | "arith.trunci" | "arith.extui" | "arith.extsi" => self.convert(op, name),
            _ => return false,
        }
        true
    }

    /// An `index` is a number, whatever the type of its number is here.
    fn index_cast(&mut self, op: OperationRef<'_, '_>, is_unsigned: bool) {
        let (Some(value), Some(to)) = (self.number(op, 0), self.result_type(op, 0)) else {
            return self.give(op, Known::Missing);
        };
        let have = self.scalar(value).elem;
        // The number and its index are one to who reads the program.
        if let Some(name) = self.text.name_of(op) {
            self.name(value, name);
        }
        let value = match to.elem {
            // As a number with a sign `true` is -1.
            Elem::Index if have == Elem::Bool && !is_unsigned => {
                let (one, zero) = (self.builder(op).index(-1), self.builder(op).index(0));
                let made = self.infer(op, ops::SELECT, &[value, one, zero], &[]);
                return self.give_value(op, made);
            }
            Elem::Bool => {
                let odd = self.is_odd(op, value);
                return self.give_value(op, odd);
            }
            Elem::Index if is_unsigned => self.as_unsigned(op, value),
            Elem::Index => self.as_signed(op, value),
            elem if have == elem => value,
            elem => self.as_elem(op, value, elem),
        };
        self.give_value(op, Some(value));
    }

    /// `value` as a number of its bits that has no sign.
    pub(crate) fn as_unsigned(&mut self, op: OperationRef<'_, '_>, value: Value) -> Value {
        match unsigned(self.scalar(value).elem) {
            Some(elem) => self.as_elem(op, value, elem),
            None => value,
        }
    }

    /// `value` as a number of its bits that may have a sign.
    pub(crate) fn as_signed(&mut self, op: OperationRef<'_, '_>, value: Value) -> Value {
        match signed(self.scalar(value).elem) {
            Some(elem) => self.as_elem(op, value, elem),
            None => value,
        }
    }

    fn convert(&mut self, op: OperationRef<'_, '_>, name: &str) {
        if attribute(op, "roundingmode").is_some_and(|mode| mode != "0 : i32" && !mode.contains("to_nearest_even")) {
            self.refuse(op, "tc rounds to nearest, halves to even", "leave the rounding mode out");
            return self.give(op, Known::Missing);
        }
        let (Some(value), Some(to)) = (self.number(op, 0), self.result_type(op, 0)) else {
            return self.give(op, Known::Missing);
        };
        let have = self.scalar(value).elem;
        // A byte of a buffer of truth values is one already, and a truth value that is stored stays one.
        if to.elem == Elem::Bool {
            let truth = if have == Elem::Bool { Some(value) } else { self.is_odd(op, value) };
            return self.give_value(op, truth);
        }
        let from = op.operand(0).ok().and_then(|operand| match types::known(operand.r#type()) {
            types::Known::Scalar(scalar) => Some(scalar.elem),
            _ => None,
        });
        let Some(number) = from.map(crate::types::number) else { return self.give(op, Known::Missing) };
        let is_one = |from: Elem| conversion(from, to.elem) == Some(Conversion::Op(op_name(name)));
        let source = if have == Elem::Bool { is_one(have).then_some(have) } else { None };
        let source = source.or_else(|| read::elems(number).find(|&from| is_one(from)));
        // What has no sign may become what has none only.
        let target = crate::read::elems(crate::types::number(to.elem));
        let found = source.map(|source| (source, to.elem)).or_else(|| {
            let mut pairs = target.flat_map(|to| read::elems(number).map(move |from| (from, to)));
            pairs.find(|&(from, to)| conversion(from, to) == Some(Conversion::Op(op_name(name))))
        });
        let Some((source, elem)) = found else {
            let text = format!("`{name}` from `{number}` to `{}` has no counterpart", crate::types::number(to.elem));
            self.refuse(op, text, "convert in the steps that `arith` has, by way of `f32` or `i32`");
            return self.give(op, Known::Missing);
        };
        let value = self.as_elem(op, value, source);
        let value = self.as_elem(op, value, elem);
        self.give_value(op, Some(value));
    }

    /// Is the last bit of `value` set?
    fn is_odd(&mut self, op: OperationRef<'_, '_>, value: Value) -> Option<Value> {
        let scalar = self.scalar(value);
        let one = self.builder(op).int(1, scalar.elem);
        let zero = self.builder(op).int(0, scalar.elem);
        let (one, zero) = (self.broadcast_value(op, one, scalar)?, self.broadcast_value(op, zero, scalar)?);
        let (and, _) = read::arithmetic(Spelled::Op("arith.andi", false), crate::types::number(scalar.elem))?;
        let bit = self.infer(op, and, &[value, one], &[])?;
        let predicate = self.word(keys::PREDICATE, "ne");
        self.infer(op, ops::CMP, &[bit, zero], &[predicate])
    }

    /// The bits of a number as an integer: they may be exchanged between lanes, and become the number again.
    fn bitcast(&mut self, op: OperationRef<'_, '_>) {
        if let known @ Known::Register(..) = self.operand(op, 0) {
            return self.give(op, known);
        }
        let Some(value) = self.number(op, 0) else { return self.give(op, Known::Missing) };
        let bits = self.bits_of(value);
        self.give(op, Known::Bits(bits));
    }

    /// `value` in every lane of a vector.
    pub(crate) fn broadcast_value(&mut self, op: OperationRef<'_, '_>, value: Value, scalar: Scalar) -> Option<Value> {
        if scalar.lanes == 1 {
            return Some(value);
        }
        let lanes = self.func.int_attr(scalar.lanes.into());
        self.infer(op, ops::BROADCAST, &[value], &[(keys::LANES, lanes)])
    }
}

/// Names of conversions as the table has them, which live as long as the program.
fn op_name(name: &str) -> &'static str {
    const NAMES: &[&str] = &[
        "arith.extf",
        "arith.truncf",
        "arith.fptosi",
        "arith.fptoui",
        "arith.sitofp",
        "arith.uitofp",
        "arith.trunci",
        "arith.extui",
        "arith.extsi",
    ];
    NAMES.iter().find(|known| **known == name).copied().unwrap_or("")
}

/// The integers of as many bits as `elem` that have no sign.
pub(crate) fn unsigned(elem: Elem) -> Option<Elem> {
    let is_signed = elem == Elem::Index || elem.kind() == ElemKind::Signed;
    is_signed.then(|| of_kind(elem, ElemKind::Unsigned)).flatten()
}

/// The integers of as many bits as `elem` that have one.
fn signed(elem: Elem) -> Option<Elem> {
    (elem.kind() == ElemKind::Unsigned).then(|| of_kind(elem, ElemKind::Signed)).flatten()
}

fn of_kind(elem: Elem, kind: ElemKind) -> Option<Elem> {
    let bits = |elem: Elem| if elem == Elem::Index { 64 } else { elem.bits() };
    Elem::ALL.iter().copied().find(|&other| other != Elem::Index && other.kind() == kind && bits(other) == bits(elem))
}

/// The predicate of a comparison, as a number.
pub(crate) fn predicate(op: OperationRef<'_, '_>) -> Option<i64> {
    integer(op, "predicate").or_else(|| attribute(op, "predicate")?.parse().ok())
}
