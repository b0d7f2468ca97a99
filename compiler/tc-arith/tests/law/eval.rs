//! Laws at points, by the operators of the algebra; and at all points of small ranges.

use tc_arith::{BinaryOp, EvalError};

use super::{Condition, Law, Machine, Meaning, Name, Sort, Term};

/// The value, or that there is none.
type Value = Result<i64, EvalError>;

impl Law {
    fn value(&self, term: &Term, point: &[Meaning]) -> Value {
        let at = |term: &Term| self.value(term, point);
        match term {
            Term::Int(value) => Ok(*value),
            Term::Bool(value) => Ok(i64::from(*value)),
            Term::Name(name) => match point[*name] {
                Meaning::Value(value) => Ok(value),
                Meaning::Fails | Meaning::Type(_) => Err(EvalError::DivisionByZero),
            },
            Term::Neg(a) => BinaryOp::Sub.apply(0, at(a)?),
            Term::Not(a) => Ok(i64::from(at(a)? == 0)),
            Term::Binary(BinaryOp::And, a, b) => {
                if at(a)? == 0 {
                    Ok(0)
                } else {
                    at(b)
                }
            }
            Term::Binary(BinaryOp::Or, a, b) => {
                if at(a)? != 0 {
                    Ok(1)
                } else {
                    at(b)
                }
            }
            Term::Binary(op, a, b) => op.apply(at(a)?, at(b)?),
            Term::Select(c, a, b) => {
                if at(c)? != 0 {
                    at(a)
                } else {
                    at(b)
                }
            }
            Term::Cast(to, a) => Ok(machine(*to, point).reduce(at(a)?)),
        }
    }

    /// Whether the condition is satisfied at a point.
    pub(crate) fn satisfied(&self, condition: &Condition, point: &[Meaning]) -> bool {
        match condition {
            Condition::Holds(term) => self.value(term, point) != Ok(0),
            Condition::Defined(term) => self.value(term, point).is_ok(),
            Condition::Same(a, b) => self.value(a, point) == self.value(b, point),
            Condition::Where(term, inner) => {
                !self.value(term, point).is_ok_and(|holds| holds != 0) || self.satisfied(inner, point)
            }
            Condition::InType(term, to) => {
                let (lo, hi) = machine(*to, point).range();
                self.value(term, point).is_ok_and(|value| (lo..=hi).contains(&value))
                    || self.value(term, point).is_err()
            }
            Condition::Within(narrow, wide) => {
                let (narrow, wide) = (machine(*narrow, point).range(), machine(*wide, point).range());
                wide.0 <= narrow.0 && narrow.1 <= wide.1
            }
            Condition::NoWider(narrow, wide) => machine(*narrow, point).width <= machine(*wide, point).width,
        }
    }

    /// What contradicts the law at a point, in words.
    pub(crate) fn contradiction(&self, point: &[Meaning]) -> Option<String> {
        if !self.conditions.iter().all(|condition| self.satisfied(condition, point)) {
            return None;
        }
        let (left, right) = (self.value(&self.left, point), self.value(&self.right, point));
        let show = |value: Value| value.map_or("a division by zero".to_string(), |value| value.to_string());
        (left != right).then(|| format!("the left side is {}, the right side is {}", show(left), show(right)))
    }

    /// The point in words.
    pub(crate) fn describe(&self, point: &[Meaning]) -> String {
        let parts = self.names.iter().zip(point).map(|((name, _), meaning)| match meaning {
            Meaning::Fails => format!("{name} fails"),
            _ => format!("{name} = {meaning}"),
        });
        parts.collect::<Vec<_>>().join(", ")
    }

    /// Tries the law where names stand for all numbers of `lo..=hi`, failing expressions included. Returns at how many
    /// points the law says something of a value, or the first contradiction.
    pub(crate) fn try_all(&self, lo: i64, hi: i64) -> Result<u64, String> {
        // Literals come first, since most conditions are about them.
        let mut order: Vec<Name> = (0..self.names.len()).collect();
        order.sort_by_key(|&name| match self.names[name].1 {
            Sort::Type => 0,
            Sort::Literal => 1,
            _ => 2,
        });
        let rank = |name: Name| order.iter().position(|&other| other == name).map_or(0, |at| at + 1);
        let known_after = |condition: &Condition| condition.names().into_iter().map(rank).max().unwrap_or(0);
        let ready: Vec<usize> = self.conditions.iter().map(known_after).collect();
        let mut search = Search { law: self, lo, hi, order, ready, point: Vec::new(), tried: 0 };
        search.point = vec![Meaning::Fails; self.names.len()];
        search.run(0)?;
        Ok(search.tried)
    }
}

impl Condition {
    /// The names of a condition.
    pub(crate) fn names(&self) -> Vec<Name> {
        let mut names = match self {
            Condition::InType(_, to) => vec![*to],
            Condition::Within(a, b) | Condition::NoWider(a, b) => vec![*a, *b],
            Condition::Where(_, inner) => inner.names(),
            _ => Vec::new(),
        };
        let mut stack = self.terms();
        while let Some(term) = stack.pop() {
            stack.extend(term.operands());
            if let Term::Name(name) | Term::Cast(name, _) = term {
                names.push(*name);
            }
        }
        names
    }
}

fn machine(name: Name, point: &[Meaning]) -> Machine {
    match point[name] {
        Meaning::Type(machine) => machine,
        other => panic!("a type stands for {other}"),
    }
}

/// A walk over all points, which leaves a part when a condition on what is chosen so far is not satisfied.
struct Search<'a> {
    law: &'a Law,
    lo: i64,
    hi: i64,
    order: Vec<Name>,
    /// After how many choices each condition can be evaluated.
    ready: Vec<usize>,
    point: Vec<Meaning>,
    tried: u64,
}

impl Search<'_> {
    fn run(&mut self, chosen: usize) -> Result<(), String> {
        let law = self.law;
        let due = law.conditions.iter().zip(&self.ready).filter(|(_, ready)| **ready == chosen);
        if !due.into_iter().all(|(condition, _)| law.satisfied(condition, &self.point)) {
            return Ok(());
        }
        let Some(&name) = self.order.get(chosen) else {
            self.tried += u64::from(law.value(&law.left, &self.point).is_ok());
            return match law.contradiction(&self.point) {
                Some(contradiction) => Err(format!("at {}: {contradiction}", law.describe(&self.point))),
                None => Ok(()),
            };
        };
        for meaning in meanings(law.names[name].1, self.lo, self.hi) {
            self.point[name] = meaning;
            self.run(chosen + 1)?;
        }
        Ok(())
    }
}

fn meanings(sort: Sort, lo: i64, hi: i64) -> Vec<Meaning> {
    let mut meanings: Vec<Meaning> = match sort {
        Sort::Type => Machine::TRIED.map(Meaning::Type).to_vec(),
        Sort::Truth => [0, 1].map(Meaning::Value).to_vec(),
        _ => (lo..=hi).map(Meaning::Value).collect(),
    };
    if sort.may_fail() {
        meanings.push(Meaning::Fails);
    }
    meanings
}
