//! Integers of the 32 lanes of a warp, as numbers.

use std::rc::Rc;
use tc_dialects::arith::{self, Predicate, eval};
use tc_ir::attrs::{AttrData, BinOp, UnOp};
use tc_ir::opdef::Role;
use tc_ir::{Elem, Func, Op, Value};

/// Lanes of a warp.
pub(crate) const WARP: usize = 32;
/// Elements of a vector that are looked at, at most.
pub(crate) const MOST_ELEMENTS: usize = 64;

/// An integer or truth value in each lane.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Lanes {
    /// It is no number that the program text tells: data, or a float.
    Unknown,
    /// The same in all lanes.
    Same(i64),
    /// One for each lane.
    Each(Box<[i64; WARP]>),
    /// A vector in each lane, by elements.
    Vector(Rc<[[i64; WARP]]>),
}

impl Lanes {
    /// The number in a lane; of a vector, its first.
    pub(crate) fn at(&self, lane: usize) -> Option<i64> {
        match self {
            Lanes::Unknown => None,
            Lanes::Same(value) => Some(*value),
            Lanes::Each(values) => Some(values[lane]),
            Lanes::Vector(elements) => elements.first().map(|values| values[lane]),
        }
    }

    /// An element of a vector; what is no vector is the same in all elements.
    pub(crate) fn element(&self, nth: usize) -> Lanes {
        match self {
            Lanes::Vector(elements) => {
                elements.get(nth).map_or(Lanes::Unknown, |values| Lanes::Each(Box::new(*values)))
            }
            other => other.clone(),
        }
    }

    /// The vector of `n` elements, if all are known.
    fn vector(n: usize, of: impl Fn(usize) -> Lanes) -> Lanes {
        let numbers = |nth: usize| {
            let one = of(nth);
            (one != Lanes::Unknown).then(|| std::array::from_fn(|lane| one.at(lane).unwrap_or(0)))
        };
        let all: Option<Rc<[[i64; WARP]]>> = (0..n.min(MOST_ELEMENTS)).map(numbers).collect();
        all.map_or(Lanes::Unknown, Lanes::Vector)
    }

    /// In which of the lanes `mask` it holds; `None` where that is not known.
    pub(crate) fn truths(&self, mask: u32) -> Option<u32> {
        let holds = |lane: &usize| self.at(*lane).is_some_and(|value| value != 0);
        (*self != Lanes::Unknown).then(|| mask & (0..WARP).filter(holds).fold(0, |set, lane| set | 1 << lane))
    }

    fn zip(&self, other: &Lanes, op: impl Fn(i64, i64) -> Option<i64>) -> Lanes {
        match (self, other) {
            (Lanes::Unknown, _) | (_, Lanes::Unknown) => Lanes::Unknown,
            (&Lanes::Same(a), &Lanes::Same(b)) => op(a, b).map_or(Lanes::Unknown, Lanes::Same),
            // What a lane would compute that does not come here is of no concern.
            _ => Lanes::Each(Box::new(std::array::from_fn(|lane| {
                self.at(lane).zip(other.at(lane)).and_then(|(a, b)| op(a, b)).unwrap_or(0)
            }))),
        }
    }

    fn map(&self, op: impl Fn(i64) -> Option<i64>) -> Lanes {
        self.zip(&Lanes::Same(0), |value, _| op(value))
    }

    fn choose(condition: &Lanes, then: &Lanes, otherwise: &Lanes) -> Lanes {
        let elements = |one: &Lanes| if let Lanes::Vector(all) = one { all.len() } else { 0 };
        let n = [condition, then, otherwise].map(elements).into_iter().max().unwrap_or(0);
        match condition {
            _ if n > 0 => Lanes::vector(n, |nth| {
                Lanes::choose(&condition.element(nth), &then.element(nth), &otherwise.element(nth))
            }),
            Lanes::Same(0) => otherwise.clone(),
            Lanes::Same(_) => then.clone(),
            Lanes::Each(truths) if !matches!((then, otherwise), (Lanes::Unknown, _) | (_, Lanes::Unknown)) => {
                let pick = |lane: usize| if truths[lane] != 0 { then.at(lane) } else { otherwise.at(lane) };
                Lanes::Each(Box::new(std::array::from_fn(|lane| pick(lane).unwrap_or(0))))
            }
            _ => Lanes::Unknown,
        }
    }

    /// What the regions of a conditional hand on, `then` to the lanes `mask`.
    pub(crate) fn merged(mask: u32, then: &Lanes, otherwise: &Lanes) -> Lanes {
        let truths = Lanes::Each(Box::new(std::array::from_fn(|lane| i64::from(mask >> lane & 1))));
        if then == otherwise { then.clone() } else { Lanes::choose(&truths, then, otherwise) }
    }
}

/// What the arithmetic op `op` gives; `of` is what its operands are.
pub(crate) fn evaluate(func: &Func, op: Op, of: impl Fn(Value) -> Lanes) -> Lanes {
    let Some(scalar) = func.result(op).and_then(|value| func.value_scalar(value)) else { return Lanes::Unknown };
    let args: Vec<Lanes> = func.operands(op).iter().map(|&operand| of(operand)).collect();
    let is_vector = args.iter().any(|arg| matches!(arg, Lanes::Vector(_)));
    match func.opcode(op) {
        arith::RAMP => Lanes::vector(scalar.lanes.into(), |nth| {
            let step = args[1].map(|step| step.checked_mul(nth as i64));
            args[0].zip(&step, |base, step| base.checked_add(step))
        }),
        // Vectors are computed element by element.
        _ if is_vector => Lanes::vector(scalar.lanes.into(), |nth| {
            let of_element: Vec<Lanes> = args.iter().map(|arg| arg.element(nth)).collect();
            scalar_value(func, op, scalar.elem, &of_element)
        }),
        _ => scalar_value(func, op, scalar.elem, &args),
    }
}

/// What `op` gives of numbers.
fn scalar_value(func: &Func, op: Op, elem: Elem, args: &[Lanes]) -> Lanes {
    let arg = |nth: usize| &args[nth];
    let fit = |value: i128| i64::try_from(elem.wrap(value)).ok();
    match func.role(op) {
        Role::Constant => {
            match func.constant(func.result(op).expect("a literal has a result")).map(|at| func.attr_data(at)) {
                Some(AttrData::Int(value, _)) => i64::try_from(*value).map_or(Lanes::Unknown, Lanes::Same),
                Some(AttrData::Bool(value)) => Lanes::Same(i64::from(*value)),
                _ => Lanes::Unknown,
            }
        }
        _ if !(elem.is_int() || elem == Elem::Bool) => Lanes::Unknown,
        Role::Binary(infix) => arg(0).zip(arg(1), |a, b| binary(infix, a, b, elem)),
        Role::Unary(UnOp::Neg) => arg(0).map(|value| fit(-i128::from(value))),
        Role::Unary(UnOp::Not) => arg(0).map(|value| Some(i64::from(value == 0))),
        Role::Compare => match Predicate::of(func, op) {
            Some(predicate) => arg(0).zip(arg(1), |a, b| Some(i64::from(predicate.holds(Some(a.cmp(&b)))))),
            None => Lanes::Unknown,
        },
        Role::Cast => arg(0).map(|value| fit(value.into())),
        _ => named(func, op, elem, arg),
    }
}

fn binary(infix: BinOp, a: i64, b: i64, elem: Elem) -> Option<i64> {
    match infix {
        BinOp::AndAnd => Some(i64::from(a != 0 && b != 0)),
        BinOp::OrOr => Some(i64::from(a != 0 || b != 0)),
        BinOp::BitAnd if elem == Elem::Bool => Some(a & b),
        BinOp::BitOr if elem == Elem::Bool => Some(a | b),
        BinOp::BitXor if elem == Elem::Bool => Some(a ^ b),
        _ => i64::try_from(eval::int_binary(infix, a.into(), b.into(), elem)?).ok(),
    }
}

/// What ops without a role give.
fn named<'l>(func: &Func, op: Op, elem: Elem, arg: impl Fn(usize) -> &'l Lanes) -> Lanes {
    match func.opcode(op) {
        arith::MIN => arg(0).zip(arg(1), |a, b| Some(a.min(b))),
        arith::MAX => arg(0).zip(arg(1), |a, b| Some(a.max(b))),
        opcode @ (arith::TDIV | arith::TMOD) => {
            arg(0).zip(arg(1), |a, b| i64::try_from(eval::int_trunc(opcode, a.into(), b.into(), elem)?).ok())
        }
        arith::SELECT => Lanes::choose(arg(0), arg(1), arg(2)),
        arith::LIKELY | arith::BROADCAST => arg(0).clone(),
        _ => Lanes::Unknown,
    }
}
