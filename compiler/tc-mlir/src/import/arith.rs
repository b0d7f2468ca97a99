//! Arithmetic: what the emitter's table spells, comparisons and choices, and what others write that means the same.

use super::state::{Known, Reader, attribute};
use super::types;
use super::values::predicate;
use crate::read::{self, Spelled};
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, ValueLike};
use tc_dialects::arith as ops;
use tc_ir::{Elem, Opcode, Scalar, Value, keys};

/// Ops that mean something else than what is nearest, and what to write instead.
const NEAR: &[(&str, &str)] = &[
    ("arith.maximumf", "tc's `max` gives the other operand where one is NaN: write `arith.maxnumf`"),
    ("arith.minimumf", "tc's `min` gives the other operand where one is NaN: write `arith.minnumf`"),
    ("arith.remf", "write `a - trunc(a / b) * b`"),
    ("math.round", "tc rounds halves to even: write `math.roundeven`"),
    ("math.expm1", "write `math.exp` and a difference"),
    ("math.log1p", "write a sum and `math.log`"),
];

/// Comparisons of integers, by number: the word, and whether they have no sign.
const INTS: [(&str, bool); 10] = [
    ("eq", false),
    ("ne", false),
    ("lt", false),
    ("le", false),
    ("gt", false),
    ("ge", false),
    ("lt", true),
    ("le", true),
    ("gt", true),
    ("ge", true),
];

impl Reader<'_> {
    /// An op of arithmetic, if `name` is one.
    pub(crate) fn arithmetic(&mut self, op: OperationRef<'_, '_>, name: &str) -> bool {
        match name {
            "arith.cmpi" => self.compare_ints(op),
            "arith.cmpf" => self.compare_floats(op),
            "arith.select" => self.select(op),
            "arith.xori" if self.of(op).is_some_and(|of| of.elem == Elem::Bool) => self.differ(op),
            _ => return self.by_table(op, name),
        }
        true
    }

    /// The type of the first operand.
    fn of(&self, op: OperationRef<'_, '_>) -> Option<Scalar> {
        match types::known(op.operand(0).ok()?.r#type()) {
            types::Known::Scalar(scalar) => Some(scalar),
            _ => None,
        }
    }

    fn by_table(&mut self, op: OperationRef<'_, '_>, name: &str) -> bool {
        if let Some(&(_, help)) = NEAR.iter().find(|(near, _)| *near == name) {
            self.refuse(op, format!("`{name}` has no counterpart"), help);
            self.give(op, Known::Missing);
            return true;
        }
        let Some(of) = self.of(op) else { return false };
        let function = attribute(op, "intrin");
        let function = function.as_deref().map(|function| function.trim_matches('"'));
        let is_exact = attribute(op, "overflowFlags").is_some_and(|flags| flags.contains("nsw"));
        let spelled = match function {
            Some(function) if name == "llvm.call_intrinsic" => Spelled::Function(function),
            _ => Spelled::Op(name, is_exact),
        };
        let other = crate::arith::READ.iter().find(|(other, _)| *other == name).map(|&(_, opcode)| (opcode, of.elem));
        let Some((opcode, elem)) = read::arithmetic(spelled, crate::types::number(of.elem)).or(other) else {
            return false;
        };
        // Bits that a shift drops are an error of a program with signed numbers, and none of MLIR's.
        let drops = opcode == ops::SHL && !is_exact && elem != Elem::Index;
        let elem = if drops { super::values::unsigned(elem).unwrap_or(elem) } else { elem };
        let made = self.operands_as(op, elem).and_then(|operands| match self.folded(opcode, &operands) {
            Some(number) => Some(self.builder(op).int(number, elem)),
            None => self.infer(op, opcode, &operands, &[]),
        });
        self.give_value(op, made);
        true
    }

    /// A sum, difference or product of literal indices, as offsets of views and the like are.
    fn folded(&self, opcode: Opcode, operands: &[Value]) -> Option<i64> {
        let &[lhs, rhs] = operands else { return None };
        if self.scalar(lhs) != Scalar::of(Elem::Index) {
            return None;
        }
        let (lhs, rhs) = (self.func.const_int(lhs)?, self.func.const_int(rhs)?);
        match opcode {
            ops::ADD => lhs.checked_add(rhs),
            ops::SUB => lhs.checked_sub(rhs),
            ops::MUL => lhs.checked_mul(rhs),
            _ => None,
        }
    }

    /// All operands of `op`, as numbers of type `elem`.
    fn operands_as(&mut self, op: OperationRef<'_, '_>, elem: Elem) -> Option<Vec<Value>> {
        let values: Vec<Option<Value>> = (0..op.operand_count()).map(|nth| self.number(op, nth)).collect();
        let values: Vec<Value> = values.into_iter().collect::<Option<_>>()?;
        Some(values.into_iter().map(|value| self.as_elem(op, value, elem)).collect())
    }

    /// Both operands as numbers of one type, that of the first or of MLIR's.
    fn pair(&mut self, op: OperationRef<'_, '_>, first: usize) -> Option<[Value; 2]> {
        let (lhs, rhs) = (self.number(op, first), self.number(op, first + 1));
        let (lhs, rhs) = (lhs?, rhs?);
        let (left, right) = (self.scalar(lhs).elem, self.scalar(rhs).elem);
        if left == right {
            return Some([lhs, rhs]);
        }
        let elem = match types::known(op.operand(first).ok()?.r#type()) {
            types::Known::Scalar(scalar) => scalar.elem,
            _ => left,
        };
        // A truth value of a buffer of bytes is a truth value.
        let elem = if left == Elem::Bool || right == Elem::Bool { Elem::Bool } else { elem };
        Some([self.as_elem(op, lhs, elem), self.as_elem(op, rhs, elem)])
    }

    fn compare(&mut self, op: OperationRef<'_, '_>, [lhs, rhs]: [Value; 2], word: &str) -> Option<Value> {
        let predicate = self.word(keys::PREDICATE, word);
        self.infer(op, ops::CMP, &[lhs, rhs], &[predicate])
    }

    fn compare_ints(&mut self, op: OperationRef<'_, '_>) {
        let made =
            predicate(op).and_then(|nth| INTS.get(usize::try_from(nth).ok()?)).and_then(|&(word, is_unsigned)| {
                let [lhs, rhs] = self.pair(op, 0)?;
                if is_unsigned
                    && self.is_index(op)
                    && let Some(limit) = self.func.const_int(rhs).filter(|&limit| limit >= 0)
                {
                    return self.within(op, lhs, limit, word);
                }
                let ordered = !matches!(word, "eq" | "ne");
                let (lhs, rhs) = match (ordered, is_unsigned) {
                    (true, true) => (self.as_unsigned(op, lhs), self.as_unsigned(op, rhs)),
                    // As a number with a sign `true` is -1, and the lesser.
                    (true, false) if self.scalar(lhs).elem == Elem::Bool => (rhs, lhs),
                    // An index of a number without a sign is not negative.
                    (true, false) if self.is_index(op) => (lhs, rhs),
                    (true, false) => (self.as_signed(op, lhs), self.as_signed(op, rhs)),
                    _ => (lhs, rhs),
                };
                self.compare(op, [lhs, rhs], word)
            });
        self.give_value(op, made);
    }

    fn is_index(&self, op: OperationRef<'_, '_>) -> bool {
        self.of(op).is_some_and(|of| of.elem == Elem::Index && of.lanes == 1)
    }

    /// Whether `value` is less than `limit` as numbers without a sign: then it is from 0 on, which the algebra understands.
    fn within(&mut self, op: OperationRef<'_, '_>, value: Value, limit: i64, word: &str) -> Option<Value> {
        let (from, join, first) = if word.starts_with('l') { ("ge", ops::AND, word) } else { ("lt", ops::OR, word) };
        let elem = self.scalar(value).elem;
        let limit = self.builder(op).int(limit, elem);
        let zero = self.builder(op).int(0, elem);
        let (above, side) = (self.compare(op, [value, zero], from)?, self.compare(op, [value, limit], first)?);
        self.infer(op, join, &[above, side], &[])
    }

    /// tc compares numbers that are no NaN, and says that a NaN differs from everything; the rest is made of that.
    fn compare_floats(&mut self, op: OperationRef<'_, '_>) {
        let made = self.pair(op, 0).and_then(|[lhs, rhs]| {
            let both = [lhs, rhs];
            let simple = |reader: &mut Self, word: &str| reader.compare(op, both, word);
            let not = |reader: &mut Self, value: Value| reader.infer(op, ops::NOT, &[value], &[]);
            match predicate(op)? {
                1 => simple(self, "eq"),
                2 => simple(self, "gt"),
                3 => simple(self, "ge"),
                4 => simple(self, "lt"),
                5 => simple(self, "le"),
                13 => simple(self, "ne"),
                nth @ 9..=12 => {
                    let word = ["le", "lt", "ge", "gt"][usize::try_from(nth - 9).ok()?];
                    let opposite = simple(self, word)?;
                    not(self, opposite)
                }
                nth @ (6 | 8) => {
                    let (less, more) = (simple(self, "lt")?, simple(self, "gt")?);
                    let differs = self.infer(op, ops::OR, &[less, more], &[])?;
                    if nth == 6 { Some(differs) } else { not(self, differs) }
                }
                nth @ (7 | 14) => {
                    let (word, join) = if nth == 7 { ("eq", ops::AND) } else { ("ne", ops::OR) };
                    let (left, right) = (self.compare(op, [lhs, lhs], word)?, self.compare(op, [rhs, rhs], word)?);
                    self.infer(op, join, &[left, right], &[])
                }
                nth => Some(self.builder(op).bool(nth == 15)),
            }
        });
        self.give_value(op, made);
    }

    fn select(&mut self, op: OperationRef<'_, '_>) {
        if let (Known::Bits(..), _) | (_, Known::Bits(..)) = (self.operand(op, 1), self.operand(op, 2)) {
            let _ = self.number(op, 1).and(self.number(op, 2));
            return self.give(op, Known::Missing);
        }
        let made = self.number(op, 0).and_then(|condition| {
            let [yes, no] = self.pair(op, 1)?;
            self.infer(op, ops::SELECT, &[condition, yes, no], &[])
        });
        self.give_value(op, made);
    }

    /// `arith.xori` of truth values: the other one, where one of them is `true`.
    fn differ(&mut self, op: OperationRef<'_, '_>) {
        let made = self.pair(op, 0).and_then(|[lhs, rhs]| {
            let is_true = |reader: &Self, value: Value| {
                let value = match reader.func.def_op(value) {
                    Some(op) if reader.func.opcode(op) == ops::BROADCAST => reader.func.operand(op, 0),
                    _ => value,
                };
                let literal = reader.func.constant(value).map(|attr| reader.func.attr_data(attr).clone());
                literal == Some(tc_ir::AttrData::Bool(true))
            };
            if is_true(self, rhs) {
                return self.infer(op, ops::NOT, &[lhs], &[]);
            }
            if is_true(self, lhs) {
                return self.infer(op, ops::NOT, &[rhs], &[]);
            }
            let other = self.infer(op, ops::NOT, &[rhs], &[])?;
            self.infer(op, ops::SELECT, &[lhs, other, rhs], &[])
        });
        self.give_value(op, made);
    }
}
