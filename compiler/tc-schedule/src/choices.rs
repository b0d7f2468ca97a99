//! What a parameter may be, without a list of it where there are many: `[8, 16]`, `divisors(n)`, `range(low, high, step)`.

use crate::value::{Names, NoValue, eval_or_why};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;
use tc_arith::Interval;
use tc_ir::attrs::AttrData;
use tc_ir::{Attr, Func};

/// The greatest number whose divisors are listed.
const MAX_DIVIDED: i64 = 1 << 40;

/// The values that a parameter may have, in the order in which they are tried.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Choices {
    /// These, each once.
    List(Arc<[i64]>),
    /// `low`, `low + step`, …
    Range {
        /// The first.
        low: i64,
        /// From one to the next.
        step: i64,
        /// How many.
        n: u64,
    },
}

/// Why there are none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum NoChoices {
    /// An expression has no value.
    Value(NoValue),
    /// The list cannot be.
    List(String),
}

impl Choices {
    pub(crate) fn only(value: i64) -> Choices {
        Choices::Range { low: value, step: 1, n: 1 }
    }

    pub(crate) fn len(&self) -> u64 {
        match self {
            Choices::List(list) => list.len() as u64,
            Choices::Range { n, .. } => *n,
        }
    }

    pub(crate) fn get(&self, at: u64) -> Option<i64> {
        match self {
            Choices::List(list) => list.get(usize::try_from(at).ok()?).copied(),
            Choices::Range { low, step, n } => {
                (at < *n).then(|| (i128::from(*low) + i128::from(*step) * i128::from(at)) as i64)
            }
        }
    }

    /// The range of the choices from number `at` on, so many or as many as there are, and the steps that finding it took.
    /// `None` where there are none.
    pub(crate) fn range(&self, at: u64, width: u64) -> Option<(Interval, u64)> {
        let width = width.min(self.len().checked_sub(at)?);
        match self {
            Choices::List(list) => {
                let from = usize::try_from(at).ok()?;
                let block = list.get(from..from + width as usize)?;
                let range = Interval::new(*block.iter().min()?, *block.iter().max()?);
                Some((range, 1 + width / 64))
            }
            Choices::Range { .. } => {
                let last = self.get(at + width.checked_sub(1)?)?;
                Some((Interval::new(self.get(at)?, last), 1))
            }
        }
    }

    pub(crate) fn contains(&self, value: i64) -> bool {
        match self {
            Choices::List(list) => list.contains(&value),
            Choices::Range { low, step, n } => {
                let from_low = i128::from(value) - i128::from(*low);
                let step = i128::from(*step);
                from_low >= 0 && from_low % step == 0 && from_low / step < i128::from(*n)
            }
        }
    }

    /// `1, 2, 4 and 8`; of many the first.
    pub(crate) fn show(&self, show: &dyn Fn(i64) -> String) -> String {
        const MAX: u64 = 24;
        let listed: Vec<String> = (0..self.len().min(MAX)).filter_map(|at| self.get(at)).map(show).collect();
        match self.len().checked_sub(MAX) {
            Some(more) if more > 0 => format!("{} and {more} more", listed.join(", ")),
            _ => match listed.split_last() {
                Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
                Some((last, _)) => last.clone(),
                None => "none".to_string(),
            },
        }
    }
}

/// Lists of divisors that were found before.
#[derive(Clone, Default, Debug)]
pub(crate) struct Divisors {
    known: FxHashMap<i64, Arc<[i64]>>,
}

impl Divisors {
    /// The divisors of `n`, ascending, and the steps that finding them took.
    fn of(&mut self, n: i64) -> (Arc<[i64]>, u64) {
        if let Some(known) = self.known.get(&n) {
            return (known.clone(), 1);
        }
        let small: Vec<i64> = (1..).take_while(|d| d * d <= n).filter(|d| n % d == 0).collect();
        let large = small.iter().rev().map(|d| n / d).filter(|d| d * d > n);
        let all: Arc<[i64]> = small.iter().copied().chain(large).collect();
        self.known.insert(n, all.clone());
        (all, n.isqrt() as u64 / 64 + 1)
    }
}

/// The values that `attr` lists, and the steps that finding them took.
pub(crate) fn choices(
    sched: &Func,
    attr: Attr,
    names: Names<'_>,
    divisors: &mut Divisors,
) -> Result<(Choices, u64), NoChoices> {
    let eval = |attr: Attr| eval_or_why(sched, attr, names).map_err(NoChoices::Value);
    match sched.attr_data(attr) {
        AttrData::List(list) => {
            let all: Result<Vec<i64>, NoChoices> = list.iter().map(|&choice| eval(choice)).collect();
            let (mut all, mut seen) = (all?, FxHashSet::default());
            // Of `[p, 8]` one is left where `p` is 8.
            all.retain(|&value| seen.insert(value));
            let steps = all.len() as u64;
            Ok((Choices::List(all.into()), steps))
        }
        AttrData::Call(name, args) => {
            let args: Result<Vec<i64>, NoChoices> = args.iter().map(|&arg| eval(arg)).collect();
            match (sched.text(*name), &args?[..]) {
                ("divisors", &[n]) if (1..=MAX_DIVIDED).contains(&n) => {
                    let (list, steps) = divisors.of(n);
                    Ok((Choices::List(list), steps))
                }
                ("divisors", &[n]) => {
                    Err(NoChoices::List(format!("the divisors of {n} are not listed: there is 1 to {MAX_DIVIDED}")))
                }
                ("range", &[low, high]) => Ok((range(low, high, 1), 1)),
                ("range", &[low, high, step]) if step >= 1 => Ok((range(low, high, step), 1)),
                ("range", &[_, _, step]) => {
                    Err(NoChoices::List(format!("the step of `range` must be at least 1, not {step}")))
                }
                _ => Err(no_list(sched, attr)),
            }
        }
        _ => Err(no_list(sched, attr)),
    }
}

fn range(low: i64, high: i64, step: i64) -> Choices {
    let length = (i128::from(high) - i128::from(low)).max(0);
    let step = i128::from(step);
    let n = (length + step - 1) / step;
    Choices::Range { low, step: step as i64, n: n as u64 }
}

fn no_list(sched: &Func, attr: Attr) -> NoChoices {
    NoChoices::List(format!(
        "`{}` lists no choices: there is `[8, 16]`, `divisors(n)` and `range(low, high, step)`",
        sched.show_attr(attr)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn divisors_ascend_and_are_all_there() {
        let divisors = |n| Divisors::default().of(n).0.to_vec();
        assert_eq!(divisors(1), [1]);
        assert_eq!(divisors(12), [1, 2, 3, 4, 6, 12]);
        assert_eq!(divisors(36), [1, 2, 3, 4, 6, 9, 12, 18, 36]);
        assert_eq!(divisors(97), [1, 97]);
    }

    #[test]
    fn a_range_is_never_written_out() {
        let whole = range(i64::MIN, i64::MAX, 1);
        assert_eq!(
            (whole.len(), whole.get(0), whole.get(u64::MAX - 1)),
            (u64::MAX, Some(i64::MIN), Some(i64::MAX - 1))
        );
        assert!(whole.contains(0) && !whole.contains(i64::MAX));
        let stepped = range(1, 8, 3);
        let all: Vec<i64> = (0..stepped.len()).filter_map(|at| stepped.get(at)).collect();
        assert_eq!((all, stepped.contains(7), stepped.contains(6)), (vec![1, 4, 7], true, false));
        assert_eq!(range(3, 3, 1).len(), 0);
        assert_eq!(range(1, 3, i64::MAX).len(), 1);
    }
}
