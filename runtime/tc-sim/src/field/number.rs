//! Arithmetic on elements with their ranges: sums and products, order, functions.
//!
//! Functions of one float are what their rows say ([`tc_dialects::arith::FUNCTIONS`]): those that others define are computed
//! by these, and the rest is opaque, the same for the same argument; so are powers but with small integers. Order, integer parts and absolute values follow the ranges; where those do not decide, the result is tainted.

use super::element::{Element, NAN};
use super::range::Range;
use super::rounding::{self, is_held, is_narrow};
use crate::cell::{Cell, float_of};
use crate::code::{FloatOp, UnaryOp};
use crate::lanes::float_one;

use tc_dialects::arith::functions::{self, Exact, Function, Shape, Term};
use tc_dialects::arith::{self, Predicate};
use tc_ir::{Elem, Opcode};

/// An element with the interval of the number that it stands for.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Number {
    pub(crate) value: Element,
    pub(crate) range: Range,
}

impl Number {
    pub(crate) const ZERO: Number = Number { value: Element::ZERO, range: Range { lo: 0.0, hi: 0.0 } };

    pub(crate) fn decode(value: Cell, range: Cell) -> Number {
        Number { value: Element::decode(value), range: Range::decode(range) }
    }

    /// The number `value`, exactly.
    pub(crate) fn exact(value: f64) -> Number {
        let range = if value.is_nan() { Range::ALL } else { Range::point(value) };
        Number { value: Element::exact(value), range }
    }

    /// The literal that `cell` is in the domain of numbers.
    pub(crate) fn literal(elem: Elem, cell: Cell) -> Number {
        let value = float_of(elem, cell);
        let number = Number { value: Element::literal(elem, cell), ..Number::exact(value) };
        match Element::near(elem, value) {
            // It stands for what it is near to.
            Some(near) => Number { range: Range::hull(&[value, near.copysign(value)]).slackened(), ..number },
            None => number,
        }
    }

    /// As an op of this type takes it.
    pub(crate) fn settled(self, elem: Elem) -> Number {
        let (value, range) = rounding::settle(elem, self.value, self.range);
        Number { value, range }
    }

    /// As a sum of this type. That the type holds it is chance: other orders of it round.
    pub(super) fn summed(self, elem: Elem) -> Number {
        self.marked(is_narrow(elem) && !self.value.is_special())
    }

    fn marked(self, rounds: bool) -> Number {
        Number { value: Element { narrow: self.value.narrow || rounds, ..self.value }, ..self }
    }

    /// As the result of another op of this type.
    pub(super) fn computed(self, elem: Elem) -> Number {
        let rounds = is_narrow(elem) && !self.value.is_special() && !is_held(elem, self.value);
        if rounds { self.marked(true).settled(elem) } else { self }
    }

    fn undecided(self) -> Number {
        Number { value: self.value.taint(true), ..self }
    }

    fn tainted_like(self, operands: &[Number]) -> Number {
        let tainted = operands.iter().any(|operand| operand.value.tainted);
        Number { value: self.value.taint(tainted), ..self }
    }

    fn add(self, other: Number) -> Number {
        if self.value.is_special() || other.value.is_special() {
            let sum = self.value.as_special() + other.value.as_special();
            return Number::exact(sum).tainted_like(&[self, other]);
        }
        Number { value: self.value.add(other.value), range: self.range.add(other.range) }
    }

    fn neg(self) -> Number {
        Number { value: self.value.neg(), range: self.range.neg() }
    }

    /// A product or quotient with what is no number: by signs, as far as they are known.
    fn by_signs(self, other: Number, f: impl Fn(f64, f64) -> f64) -> Number {
        let sign = |of: Number| match of.value.is_special() {
            true => Some(of.value.as_special()),
            false => Some(of.range.sign()).filter(|&sign| sign != 0.0 || of.value.is_zero()),
        };
        match sign(self).zip(sign(other)) {
            Some((a, b)) => Number::exact(f(a, b)).tainted_like(&[self, other]),
            None if self.value.p == NAN || other.value.p == NAN => Number::exact(f64::NAN),
            None => Number::exact(f64::NAN).undecided(),
        }
    }

    fn mul(self, other: Number) -> Number {
        if self.value.is_special() || other.value.is_special() {
            return self.by_signs(other, |a, b| a * b);
        }
        Number { value: self.value.mul(other.value), range: self.range.mul(other.range) }
    }

    fn div(self, other: Number) -> Number {
        if self.value.is_special() || other.value.is_special() {
            return self.by_signs(other, |a, b| a / b);
        }
        Number { value: self.value.div(other.value), range: self.range.mul(other.range.inverse()) }
    }

    /// Which of the two is greater, as far as that is known. Elements that are the same are the same number.
    fn order(self, other: Number) -> Option<std::cmp::Ordering> {
        use std::cmp::Ordering::{Equal, Greater, Less};
        let is_same = self.value.same(other.value) && !self.value.tainted && !other.value.tainted;
        match (self.range, other.range) {
            _ if is_same => Some(Equal),
            (a, b) if a.lo > b.hi => Some(Greater),
            (a, b) if a.hi < b.lo => Some(Less),
            // Infinite ends are unknown, infinite numbers are not.
            _ if self.value.is_special() || other.value.is_special() => {
                let [a, b] = [self.value, other.value].map(Element::as_special);
                a.partial_cmp(&b)
            }
            _ => None,
        }
    }

    fn max(self, other: Number) -> Number {
        if self.value.p == NAN || other.value.p == NAN {
            return if self.value.p == NAN { other } else { self };
        }
        let above = match self.order(other) {
            Some(order) => order.is_gt() || order.is_eq() && self.value.q.is_some(),
            // Two elements and one number: neither stands for it, or the order of the two would show.
            None if self.range == other.range && self.range.lo == self.range.hi && self.range.lo.is_finite() => {
                return Number::exact(self.range.lo).tainted_like(&[self, other]);
            }
            // At the common end the two are the same number.
            None if self.range.lo >= other.range.hi => true,
            None if other.range.lo >= self.range.hi => false,
            None => {
                // Any fixed total order does.
                let picked = if self.value.p >= other.value.p { self } else { other };
                return Number { range: self.range.max(other.range), ..picked }.undecided();
            }
        };
        Number { range: self.range.max(other.range), ..if above { self } else { other } }
    }

    /// An integer part: `function` rounds to an integer.
    fn whole(self, function: &Function) -> Number {
        if self.value.is_special() {
            return self;
        }
        let range = self.range.exactly(function.value);
        let known = if range.lo == range.hi && range.lo.is_finite() {
            Some(range.lo)
        } else {
            self.value.small_integer().map(|known| known as f64).filter(|&known| self.range.contains(known))
        };
        match known {
            Some(known) => Number::exact(known).tainted_like(&[self]),
            None => Number { value: Element::opaque(salt(function), &[self.value]), range }.undecided(),
        }
    }

    fn abs(self) -> Number {
        match self.range {
            _ if self.value.is_special() => Number::exact(self.value.as_special().abs()).tainted_like(&[self]),
            Range { lo, .. } if lo >= 0.0 => self,
            Range { hi, .. } if hi <= 0.0 => self.neg(),
            Range { lo, hi } => {
                let negated = self.value.neg();
                // One of the two, and the same for both.
                let value = if negated.p < self.value.p { negated } else { self.value };
                let number = Number { value, range: Range { lo: 0.0, hi: hi.max(-lo) } };
                if value.is_zero() { number } else { number.undecided() }
            }
        }
    }

    fn exp(self) -> Number {
        Number { value: self.value.exp(), range: self.range.rising(f64::exp).exactly(|end| end.max(0.0)) }
    }

    fn pow(self, other: Number) -> Number {
        let ends = [self.range.lo, self.range.hi].map(|base| [other.range.lo, other.range.hi].map(|of| base.powf(of)));
        let positive = self.range.lo > 0.0;
        let range = if positive { Range::hull(ends.as_flattened()).slackened() } else { Range::ALL };
        let known = other.value.small_integer().filter(|exponent| exponent.abs() <= MAX_EXPONENT);
        let finite = !self.value.is_special() && !other.value.is_special();
        match known {
            Some(exponent) if finite => {
                let power = (0..exponent.abs()).fold(Number::exact(1.0), |power, _| power.mul(self));
                let power = if exponent < 0 { Number::exact(1.0).div(power) } else { power };
                Number { range: if positive { range } else { power.range }, ..power }.tainted_like(&[other])
            }
            _ if finite => Number { value: Element::opaque(POWER, &[self.value, other.value]), range },
            _ => Number::exact(f64::NAN).undecided(),
        }
    }

    /// A number that all ops on floats take, and what they give.
    pub(crate) fn unary(self, op: UnaryOp) -> Number {
        match op {
            UnaryOp::Neg => self.neg(),
            UnaryOp::Abs => self.abs(),
            UnaryOp::Popcount => Number::exact(f64::NAN).undecided(),
            UnaryOp::Function(function) => self.function(function),
        }
    }

    /// What `function` gives of it.
    fn function(self, function: &'static Function) -> Number {
        let of_float = |value: f64| Number::exact((function.value)(value)).tainted_like(&[self]);
        match function.exact {
            Exact::Whole => self.whole(function),
            _ if self.value.is_special() => of_float(self.value.as_special()),
            _ if self.value.is_zero() => of_float(0.0),
            Exact::Exp => self.exp(),
            Exact::Log | Exact::Sqrt if self.value == Element::ONE => of_float(1.0),
            Exact::Log => self.opaque(function, Shape::Rising { from: 0.0, least: f64::NEG_INFINITY }),
            Exact::Sqrt => self.opaque(function, Shape::Rising { from: 0.0, least: 0.0 }),
            Exact::By(term, shape) => {
                let number = self.term(term);
                Number { range: self.ranged(function, shape).unwrap_or(number.range), ..number }
            }
            Exact::Opaque(shape) => self.opaque(function, shape),
        }
    }

    /// The value of `term` where its argument is this.
    fn term(self, term: &Term) -> Number {
        match *term {
            Term::X => self,
            Term::Number(number) => Number::exact(number),
            Term::Add(a, b) => self.term(a).add(self.term(b)),
            Term::Mul(a, b) => self.term(a).mul(self.term(b)),
            Term::Div(a, b) => self.term(a).div(self.term(b)),
            Term::Of(opcode, a) => self.term(a).function(function(opcode)),
        }
    }

    /// The range of `function` over that of its argument; `None` where the shape leaves it to the term.
    fn ranged(self, function: &Function, shape: Shape) -> Option<Range> {
        match shape {
            Shape::Rising { from, .. } if self.range.lo < from => Some(Range::ALL),
            Shape::Rising { least, .. } => Some(self.range.rising(function.value).exactly(|end| end.max(least))),
            Shape::Wave => Some(self.range.smooth(function.value)),
            Shape::OfTerm => None,
        }
    }

    fn opaque(self, function: &Function, shape: Shape) -> Number {
        let value = Element::opaque(salt(function), &[self.value]);
        Number { value, range: self.ranged(function, shape).unwrap_or(Range::ALL) }
    }

    pub(crate) fn binary(self, op: FloatOp, other: Number) -> Number {
        match op {
            FloatOp::Add => self.add(other),
            FloatOp::Sub => self.add(other.neg()),
            FloatOp::Mul => self.mul(other),
            FloatOp::Div => self.div(other),
            FloatOp::Max => self.max(other),
            FloatOp::Min => self.neg().max(other.neg()).neg(),
            FloatOp::Pow => self.pow(other),
            FloatOp::Mod if self.value.is_special() || other.value.is_special() => {
                let value = float_one(op, self.value.as_special(), other.value.as_special());
                Number::exact(value).undecided()
            }
            FloatOp::Mod => {
                let quotient = self.div(other).whole(function(arith::FLOOR));
                self.add(quotient.mul(other).neg())
            }
        }
    }

    /// A comparison, and whether it is decided.
    pub(crate) fn compare(self, predicate: Predicate, other: Number) -> (bool, bool) {
        if self.value.p == NAN || other.value.p == NAN {
            return (predicate.holds(None), !self.value.tainted && !other.value.tainted);
        }
        let order = self.order(other);
        let known = match (predicate, self.range, other.range) {
            _ if order.is_some() => Some(predicate.holds(order)),
            (Predicate::Le, a, b) if a.hi <= b.lo => Some(true),
            (Predicate::Gt, a, b) if a.hi <= b.lo => Some(false),
            (Predicate::Ge, a, b) if a.lo >= b.hi => Some(true),
            (Predicate::Lt, a, b) if a.lo >= b.hi => Some(false),
            _ => None,
        };
        let guess = predicate.holds(Some(self.value.p.cmp(&other.value.p)));
        (known.unwrap_or(guess), known.is_some())
    }

    /// The integer part, cut off towards 0, and whether it is decided.
    pub(crate) fn truncated(self) -> (f64, bool) {
        if self.value.is_special() {
            return (self.value.as_special(), !self.value.tainted);
        }
        let whole = self.whole(function(arith::TRUNC));
        (if whole.range.lo.is_finite() { whole.range.lo } else { 0.0 }, whole.range.lo == whole.range.hi)
    }

    /// Is it another number than 0? And whether that is decided.
    pub(crate) fn is_nonzero(self) -> (bool, bool) {
        if self.value.p == NAN {
            return (true, !self.value.tainted);
        }
        self.compare(Predicate::Ne, Number::ZERO)
    }
}

/// Powers up to this are products.
const MAX_EXPONENT: i64 = 64;
/// The salt of the others.
const POWER: u64 = 4 << 32;

/// The function of the row `opcode`.
fn function(opcode: Opcode) -> &'static Function {
    functions::of(opcode).expect("it is a function of one float")
}

/// What tells the opaque values of `function` from those of others.
fn salt(function: &Function) -> u64 {
    5 << 32 | u64::from(function.opcode.dialect()) << 8 | u64::from(function.opcode.row())
}
