//! Numbers: literals without a type, what converts to what, operators.

use super::state::Reader;
use ruff_text_size::TextRange;
use tc_dialects::arith;
use tc_ir::attrs::BinOp;
use tc_ir::{Attrs, Elem, Scalar, Type, Value, keys};

/// A number of the text.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Number {
    /// A literal that takes its type from what is around it.
    Int(i128),
    /// The same, of a float.
    Float(f64),
    /// A value.
    Value(Value),
}

/// Is it one of the types that index arithmetic may have in TVM?
fn is_counting(elem: Elem) -> bool {
    matches!(elem, Elem::Index | Elem::I32 | Elem::I64)
}

impl Reader<'_> {
    pub(crate) fn scalar(&self, value: Value) -> Option<Scalar> {
        self.func.value_scalar(value)
    }

    /// The number as a value, of the type `expected` where there is one.
    pub(crate) fn settle(&mut self, range: TextRange, number: Number, expected: Option<Type>) -> Option<Value> {
        let wanted = expected.and_then(|ty| self.func.as_scalar(ty));
        let elem = wanted.map(|scalar| scalar.elem);
        let value = match number {
            Number::Value(value) => return self.coerce(range, value, expected),
            Number::Int(value) => match elem.unwrap_or(Elem::Index) {
                elem if elem.is_float() => self.float(range, value as f64, elem),
                elem => self.int(range, value, elem)?,
            },
            Number::Float(value) => match elem.unwrap_or(Elem::F32) {
                elem if elem.is_float() => self.float(range, value, elem),
                elem => {
                    self.error(range, "type", format!("`{value}` is no `{}`", elem.name()));
                    return None;
                }
            },
        };
        self.coerce(range, value, expected)
    }

    /// A literal of type `elem`.
    pub(crate) fn int(&mut self, range: TextRange, value: i128, elem: Elem) -> Option<Value> {
        let fits = elem.int_range().is_some_and(|(low, high)| (low..=high).contains(&value));
        let Some(number) = i64::try_from(value).ok().filter(|_| fits && elem != Elem::Bool) else {
            self.error(range, "literal", format!("{value} does not fit `{}`", elem.name()));
            return None;
        };
        Some(self.builder(range).int(number, elem))
    }

    pub(crate) fn float(&mut self, range: TextRange, value: f64, elem: Elem) -> Value {
        self.builder(range).float(elem.round(value), elem)
    }

    /// `value` as a value of the type `expected`. Integers that count convert to each other, as they do in TVM, and a
    /// number stands for each lane of a vector.
    pub(crate) fn coerce(&mut self, range: TextRange, value: Value, expected: Option<Type>) -> Option<Value> {
        let Some(expected) = expected.filter(|&ty| ty != self.func.value_type(value)) else { return Some(value) };
        let (Some(have), Some(want)) = (self.scalar(value), self.func.as_scalar(expected)) else {
            return self.mismatch(range, value, expected);
        };
        if have.elem != want.elem && !(is_counting(have.elem) && is_counting(want.elem)) {
            return self.mismatch(range, value, expected);
        }
        let mut value = value;
        if have.elem != want.elem {
            value = self.cast(range, value, Scalar { elem: want.elem, lanes: have.lanes });
        }
        match (have.lanes, want.lanes) {
            (have, want) if have == want => Some(value),
            (1, lanes) => {
                let lanes = self.func.int_attr(lanes.into());
                self.infer(range, arith::BROADCAST, &[value], &[(keys::LANES, lanes)])
            }
            _ => self.mismatch(range, value, expected),
        }
    }

    fn mismatch(&mut self, range: TextRange, value: Value, expected: Type) -> Option<Value> {
        let (have, want) = (self.func.show_type(self.func.value_type(value)), self.func.show_type(expected));
        self.error(range, "type", format!("this is `{have}`, and `{want}` is wanted"));
        None
    }

    pub(crate) fn cast(&mut self, range: TextRange, value: Value, to: Scalar) -> Value {
        let ty = self.func.scalar_ty(to);
        let op = self.op(range, arith::CAST, &[value], &[], &[ty], 0);
        self.func.result(op).unwrap_or(value)
    }

    /// Two numbers as values of one type.
    pub(crate) fn unify(&mut self, range: TextRange, lhs: Number, rhs: Number) -> Option<(Value, Value)> {
        let ty = match (lhs, rhs) {
            (Number::Value(lhs), Number::Value(rhs)) => self.common(lhs, rhs),
            (Number::Value(value), _) | (_, Number::Value(value)) => Some(self.func.value_type(value)),
            (Number::Float(_), _) | (_, Number::Float(_)) => Some(self.func.elem_ty(Elem::F32)),
            _ => None,
        };
        let lhs = self.settle(range, lhs, ty)?;
        let rhs = self.settle(range, rhs, ty)?;
        if self.func.value_type(lhs) != self.func.value_type(rhs) {
            let [lhs, rhs] = [lhs, rhs].map(|value| self.func.show_type(self.func.value_type(value)));
            self.error(range, "type", format!("`{lhs}` and `{rhs}` do not mix"));
            return None;
        }
        Some((lhs, rhs))
    }

    /// The type of both where the two mix.
    fn common(&mut self, lhs: Value, rhs: Value) -> Option<Type> {
        let (left, right) = (self.scalar(lhs)?, self.scalar(rhs)?);
        let elem = if left.elem == right.elem {
            left.elem
        } else if !is_counting(left.elem) || !is_counting(right.elem) {
            return None;
        } else if left.elem == Elem::Index || right.elem == Elem::Index {
            Elem::Index
        } else {
            Elem::I64
        };
        let lanes = left.lanes.max(right.lanes);
        Some(self.func.scalar_ty(Scalar { elem, lanes }))
    }

    /// An operator on two numbers; literals are computed here.
    pub(crate) fn binary(&mut self, range: TextRange, sign: BinOp, lhs: Number, rhs: Number) -> Option<Number> {
        if let (Number::Int(lhs), Number::Int(rhs)) = (lhs, rhs)
            && let Some(value) = folded(sign, lhs, rhs)
        {
            return Some(Number::Int(value));
        }
        let (lhs, rhs) = self.unify(range, lhs, rhs)?;
        let elem = self.scalar(lhs)?.elem;
        if sign.is_comparison() {
            return self.compare(range, sign, lhs, rhs).map(Number::Value);
        }
        let is_bool = elem == Elem::Bool;
        let sign = match sign {
            BinOp::BitAnd if is_bool => BinOp::AndAnd,
            BinOp::BitOr if is_bool => BinOp::OrOr,
            sign => sign,
        };
        let fits = match sign {
            BinOp::AndAnd | BinOp::OrOr => is_bool,
            BinOp::BitAnd | BinOp::BitOr | BinOp::BitXor | BinOp::Shl | BinOp::Shr | BinOp::Mod => {
                elem.is_int() && !is_bool
            }
            _ => !is_bool,
        };
        if !fits {
            self.refuse(range, format!("tc has no `{}` of `{}`", sign.text(), elem.name()));
            return None;
        }
        Some(Number::Value(self.builder(range).infix(sign, &[lhs, rhs])))
    }

    fn compare(&mut self, range: TextRange, sign: BinOp, lhs: Value, rhs: Value) -> Option<Value> {
        let word = match sign {
            BinOp::Eq => "eq",
            BinOp::Ne => "ne",
            BinOp::Lt => "lt",
            BinOp::Le => "le",
            BinOp::Gt => "gt",
            _ => "ge",
        };
        let lanes = self.scalar(lhs)?.lanes;
        let ty = self.func.scalar_ty(Scalar { elem: Elem::Bool, lanes });
        let word = self.func.word_attr(word);
        let attrs = self.func.dict(&[(keys::PREDICATE, word)]);
        let spec = tc_ir::builder::OpSpec {
            opcode: arith::CMP,
            operands: &[lhs, rhs],
            keyed: 0,
            attrs,
            results: &[ty],
            n_regions: 0,
        };
        let op = self.builder(range).op(spec);
        self.func.result(op)
    }

    /// `-x`
    pub(crate) fn negated(&mut self, range: TextRange, number: Number) -> Option<Number> {
        match number {
            Number::Int(value) => value.checked_neg().map(Number::Int),
            Number::Float(value) => Some(Number::Float(-value)),
            Number::Value(value) if self.scalar(value).is_some_and(|scalar| scalar.elem != Elem::Bool) => {
                let ty = self.func.value_type(value);
                let op = self.builder(range).op(tc_ir::builder::OpSpec {
                    opcode: arith::NEG,
                    operands: &[value],
                    keyed: 0,
                    attrs: Attrs::EMPTY,
                    results: &[ty],
                    n_regions: 0,
                });
                self.func.result(op).map(Number::Value)
            }
            Number::Value(_) => {
                self.error(range, "type", "a truth value has no sign");
                None
            }
        }
    }
}

/// What TVM's parser computes of two literals, and Python before it.
fn folded(sign: BinOp, lhs: i128, rhs: i128) -> Option<i128> {
    match sign {
        BinOp::Add => lhs.checked_add(rhs),
        BinOp::Sub => lhs.checked_sub(rhs),
        BinOp::Mul => lhs.checked_mul(rhs),
        BinOp::Div if rhs > 0 => Some(lhs.div_euclid(rhs)),
        BinOp::Mod if rhs > 0 => Some(lhs.rem_euclid(rhs)),
        _ => None,
    }
}
