//! Statements of laws, as rules state them: what they are made of. The language is described at `tc_arith::rules`.
#![allow(dead_code, reason = "each test binary uses a part")]

pub(crate) mod canon;
pub(crate) mod eval;
pub(crate) mod instance;
pub(crate) mod parse;
pub(crate) mod smt;
pub(crate) mod step;
pub(crate) mod z3;

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};

use tc_arith::BinaryOp;

/// What a name stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sort {
    /// An integer expression, which may fail.
    Integer,
    /// A truth value, which may fail.
    Truth,
    /// An integer variable, which has a value everywhere.
    Variable,
    /// An integer literal.
    Literal,
    /// The name of a machine type.
    Type,
}

impl Sort {
    /// The sort of a name.
    pub(crate) fn of(name: &str) -> Option<Sort> {
        Some(match name.trim_end_matches('\'') {
            "x" | "y" | "z" | "n" => Sort::Integer,
            "p" | "q" => Sort::Truth,
            "v" | "w" => Sort::Variable,
            "a" | "b" | "c" | "d" | "g" | "k" | "m" | "r" => Sort::Literal,
            "t" | "s" => Sort::Type,
            _ => return None,
        })
    }

    /// Whether what the name stands for may have no value.
    pub(crate) fn may_fail(self) -> bool {
        matches!(self, Sort::Integer | Sort::Truth)
    }
}

/// The position of a name in [`Law::names`].
pub(crate) type Name = usize;

/// A term of a law.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Term {
    Int(i64),
    Bool(bool),
    Name(Name),
    Neg(Box<Term>),
    Not(Box<Term>),
    Binary(BinaryOp, Box<Term>, Box<Term>),
    Select(Box<Term>, Box<Term>, Box<Term>),
    /// The value reduced to the range of a machine type.
    Cast(Name, Box<Term>),
}

impl Term {
    /// The terms directly below.
    pub(crate) fn operands(&self) -> Vec<&Term> {
        match self {
            Term::Int(_) | Term::Bool(_) | Term::Name(_) => Vec::new(),
            Term::Neg(a) | Term::Not(a) | Term::Cast(_, a) => vec![a],
            Term::Binary(_, a, b) => vec![a, b],
            Term::Select(c, a, b) => vec![c, a, b],
        }
    }
}

/// A side condition of a law.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Condition {
    /// Where the term has a value, it is true.
    Holds(Term),
    /// The term has a value.
    Defined(Term),
    /// Both have the same value, or none.
    Same(Term, Term),
    /// Where the term has a value and is true, the condition holds.
    Where(Term, Box<Condition>),
    /// Where the term has a value, it is one of the type.
    InType(Term, Name),
    /// Every value of the first type is one of the second.
    Within(Name, Name),
    /// The first type is no wider than the second.
    NoWider(Name, Name),
}

impl Condition {
    fn terms(&self) -> Vec<&Term> {
        match self {
            Condition::Holds(term) | Condition::Defined(term) | Condition::InType(term, _) => vec![term],
            Condition::Same(a, b) => vec![a, b],
            Condition::Where(term, inner) => [vec![term], inner.terms()].concat(),
            Condition::Within(..) | Condition::NoWider(..) => Vec::new(),
        }
    }
}

/// One statement: `left -> right if conditions`.
#[derive(Clone, Debug)]
pub(crate) struct Law {
    /// The statement as it is written.
    pub(crate) text: String,
    pub(crate) names: Vec<(String, Sort)>,
    pub(crate) left: Term,
    pub(crate) right: Term,
    pub(crate) conditions: Vec<Condition>,
}

impl Law {
    pub(crate) fn has_types(&self) -> bool {
        self.names.iter().any(|(_, sort)| *sort == Sort::Type)
    }
}

/// A machine integer type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Machine {
    pub(crate) signed: bool,
    pub(crate) width: u32,
}

impl Machine {
    const fn new(signed: bool, width: u32) -> Machine {
        Machine { signed, width }
    }

    /// The types for which laws with types are proved.
    pub(crate) const PROVED: [Machine; 4] =
        [Machine::new(true, 4), Machine::new(false, 4), Machine::new(true, 8), Machine::new(false, 8)];

    /// The types for which laws with types are tried at all points.
    pub(crate) const TRIED: [Machine; 4] =
        [Machine::new(true, 2), Machine::new(false, 2), Machine::new(true, 3), Machine::new(false, 3)];

    /// The least and the greatest value.
    pub(crate) fn range(self) -> (i64, i64) {
        if self.signed { (-1 << (self.width - 1), (1 << (self.width - 1)) - 1) } else { (0, (1 << self.width) - 1) }
    }

    /// The value of the type that is congruent to `value`.
    pub(crate) fn reduce(self, value: i64) -> i64 {
        let (lo, _) = self.range();
        (value - lo).rem_euclid(1 << self.width) + lo
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.signed { 'i' } else { 'u' }, self.width)
    }
}

/// What a name stands for at one point.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Meaning {
    /// A number, or a truth value as 0 or 1.
    Value(i64),
    /// No value: it divides by zero.
    Fails,
    Type(Machine),
}

impl fmt::Display for Meaning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Meaning::Value(value) => write!(f, "{value}"),
            Meaning::Fails => f.write_str("fails"),
            Meaning::Type(machine) => machine.fmt(f),
        }
    }
}

/// The results of `work` on each item, in the order of the items.
pub(crate) fn on_all_cores<I: Sync, O: Send>(items: &[I], work: impl Fn(&I) -> O + Sync) -> Vec<O> {
    let next = AtomicUsize::new(0);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let one = || {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else { return done };
            done.push((at, work(item)));
        }
    };
    let mut done: Vec<(usize, O)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(one)).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("no worker panics")).collect()
    });
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}
