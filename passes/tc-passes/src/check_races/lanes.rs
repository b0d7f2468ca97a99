//! Integers of all threads of a block at once.
//!
//! A value is a base, the same for all threads, and an offset, a number for each. The base is a sum of multiples of
//! symbols: coordinates of blocks and open sizes, of which it is not said which number they are. Two values of one base
//! can be compared by their offsets.

use std::rc::Rc;
use tc_dialects::arith::{self, Predicate, eval};
use tc_ir::attrs::{BinOp, UnOp};
use tc_ir::{Elem, Opcode};

/// One number for each thread, or one for all.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Offsets {
    Same(i64),
    Each(Rc<[i64]>),
}

/// A sum of multiples of symbols, by their numbers, in ascending order; empty for none.
pub(super) type Base = Rc<[(u32, i64)]>;

/// An integer or truth value.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Lanes {
    /// Nothing is known of it.
    Unknown,
    Known(Base, Offsets),
    /// Vectors of so many numbers, each so much above the one before.
    Ramp(Base, Offsets, i64, i64),
}

impl Offsets {
    pub(super) fn at(&self, thread: usize) -> i64 {
        match self {
            Offsets::Same(value) => *value,
            Offsets::Each(values) => values[thread],
        }
    }

    /// What `op` gives for each thread; `None` where it gives nothing for one that is `active`.
    fn zip(&self, other: &Offsets, active: &[bool], op: impl Fn(i64, i64) -> Option<i64>) -> Option<Offsets> {
        if let (Offsets::Same(a), Offsets::Same(b)) = (self, other) {
            return op(*a, *b).map(Offsets::Same);
        }
        let of = |(thread, &active): (usize, &bool)| {
            let value = op(self.at(thread), other.at(thread));
            // What a thread would compute that does not come here is of no concern.
            if active { value } else { Some(value.unwrap_or(0)) }
        };
        active.iter().enumerate().map(of).collect::<Option<Rc<[i64]>>>().map(Offsets::Each)
    }
}

impl Lanes {
    pub(super) fn constant(value: i64) -> Lanes {
        Lanes::Known(Rc::default(), Offsets::Same(value))
    }

    pub(super) fn symbol(number: u32) -> Lanes {
        Lanes::Known([(number, 1)].into(), Offsets::Same(0))
    }

    pub(super) fn each(values: Vec<i64>) -> Lanes {
        Lanes::Known(Rc::default(), Offsets::Each(values.into()))
    }

    /// The plain numbers that it is; `None` where it has symbols.
    pub(super) fn numbers(&self) -> Option<&Offsets> {
        match self {
            Lanes::Known(base, offsets) if base.is_empty() => Some(offsets),
            _ => None,
        }
    }

    /// `self + factor * other`.
    pub(super) fn plus(&self, other: &Lanes, factor: i64, active: &[bool]) -> Lanes {
        let (Lanes::Known(base, offsets), Lanes::Known(more, others)) = (self, other) else { return Lanes::Unknown };
        let sum = offsets.zip(others, active, |a, b| a.checked_add(b.checked_mul(factor)?));
        match (sum_of(base, more, factor), sum) {
            (Some(base), Some(offsets)) => Lanes::Known(base, offsets),
            _ => Lanes::Unknown,
        }
    }

    /// `lhs op rhs`, of numbers of the type `elem`.
    pub(super) fn binary(op: BinOp, lhs: &Lanes, rhs: &Lanes, elem: Elem, active: &[bool]) -> Lanes {
        let is_wide = matches!(elem, Elem::Index | Elem::I32 | Elem::I64);
        match op {
            // Of these types a program has no sum that does not fit.
            BinOp::Add if is_wide => return lhs.plus(rhs, 1, active),
            BinOp::Sub if is_wide => return lhs.plus(rhs, -1, active),
            BinOp::Mul if is_wide => {
                for (a, b) in [(lhs, rhs), (rhs, lhs)] {
                    if let Some(&Offsets::Same(factor)) = b.numbers() {
                        return Lanes::constant(0).plus(a, factor, active);
                    }
                }
            }
            _ => {}
        }
        let (Some(a), Some(b)) = (lhs.numbers(), rhs.numbers()) else { return Lanes::Unknown };
        let apply = |a: i64, b: i64| match op {
            BinOp::AndAnd => Some(i64::from(a != 0 && b != 0)),
            BinOp::OrOr => Some(i64::from(a != 0 || b != 0)),
            BinOp::BitAnd | BinOp::BitOr | BinOp::BitXor if elem == Elem::Bool => Some(match op {
                BinOp::BitAnd => a & b,
                BinOp::BitOr => a | b,
                _ => a ^ b,
            }),
            _ => i64::try_from(eval::int_binary(op, i128::from(a), i128::from(b), elem)?).ok(),
        };
        known(a.zip(b, active, apply))
    }

    pub(super) fn unary(op: UnOp, arg: &Lanes, active: &[bool]) -> Lanes {
        match op {
            UnOp::Neg => Lanes::constant(0).plus(arg, -1, active),
            UnOp::Not => match arg.numbers() {
                Some(offsets) => known(offsets.zip(offsets, active, |a, _| Some(i64::from(a == 0)))),
                None => Lanes::Unknown,
            },
        }
    }

    /// `tdiv`, `tmod`, `min` and `max`.
    pub(super) fn named(opcode: Opcode, lhs: &Lanes, rhs: &Lanes, elem: Elem, active: &[bool]) -> Lanes {
        let (Lanes::Known(base, a), Lanes::Known(other, b)) = (lhs, rhs) else { return Lanes::Unknown };
        if base != other {
            return Lanes::Unknown;
        }
        let chosen = match opcode {
            arith::MIN => a.zip(b, active, |a, b| Some(a.min(b))),
            arith::MAX => a.zip(b, active, |a, b| Some(a.max(b))),
            _ if base.is_empty() => a.zip(b, active, |a, b| {
                i64::try_from(eval::int_trunc(opcode, i128::from(a), i128::from(b), elem)?).ok()
            }),
            _ => None,
        };
        chosen.map_or(Lanes::Unknown, |offsets| Lanes::Known(base.clone(), offsets))
    }

    pub(super) fn compare(predicate: Predicate, lhs: &Lanes, rhs: &Lanes, active: &[bool]) -> Lanes {
        match (lhs, rhs) {
            (Lanes::Known(base, a), Lanes::Known(other, b)) if base == other => {
                known(a.zip(b, active, |a, b| Some(i64::from(predicate.holds(Some(a.cmp(&b)))))))
            }
            _ => Lanes::Unknown,
        }
    }

    /// The number in a type that may not hold it.
    pub(super) fn cast(&self, elem: Elem, active: &[bool]) -> Lanes {
        let Some((min, max)) = elem.int_range() else { return Lanes::Unknown };
        let Some(offsets) = self.numbers() else {
            // A symbol is a coordinate or a size, and kernels count these in 32 bits only where they fit.
            return if matches!(elem, Elem::Index | Elem::I64) { self.clone() } else { Lanes::Unknown };
        };
        let fits = |value: i64| (min..=max).contains(&i128::from(value)).then_some(value);
        known(offsets.zip(offsets, active, |value, _| fits(value)))
    }

    pub(super) fn select(condition: &Lanes, then: &Lanes, otherwise: &Lanes, n_threads: usize) -> Lanes {
        let Some(condition) = condition.numbers() else {
            return if then == otherwise { then.clone() } else { Lanes::Unknown };
        };
        if let Offsets::Same(truth) = condition {
            return if *truth != 0 { then.clone() } else { otherwise.clone() };
        }
        match (then, otherwise) {
            (Lanes::Known(base, a), Lanes::Known(other, b)) if base == other => {
                let pick = |thread: usize| if condition.at(thread) != 0 { a.at(thread) } else { b.at(thread) };
                Lanes::Known(base.clone(), Offsets::Each((0..n_threads).map(pick).collect()))
            }
            _ => Lanes::Unknown,
        }
    }
}

fn known(offsets: Option<Offsets>) -> Lanes {
    offsets.map_or(Lanes::Unknown, |offsets| Lanes::Known(Rc::default(), offsets))
}

/// `base + factor * more`; `None` on overflow.
fn sum_of(base: &Base, more: &Base, factor: i64) -> Option<Base> {
    if more.is_empty() || factor == 0 {
        return Some(base.clone());
    }
    let mut sum: Vec<(u32, i64)> = base.to_vec();
    for &(symbol, coef) in more.iter() {
        let coef = coef.checked_mul(factor)?;
        match sum.iter_mut().find(|(other, _)| *other == symbol) {
            Some((_, old)) => *old = old.checked_add(coef)?,
            None => sum.push((symbol, coef)),
        }
    }
    sum.retain(|&(_, coef)| coef != 0);
    sum.sort_unstable();
    Some(sum.into())
}
