//! Sums of differences: can one be zero, and what must vanish where it is?

use rustc_hash::FxHashSet;
use tc_arith::Expr;
use tc_support::gcd;

/// The ends of an interval; an end that is missing is not known.
pub(super) type Ends = (Option<i128>, Option<i128>);

/// One coefficient of the difference, with all terms that have it.
pub(super) struct Group {
    pub(super) coef: i128,
    /// What the terms' sum runs over.
    ends: Ends,
    /// The only term, if there is just one and both sides have it.
    pair: Option<Expr>,
    n_terms: usize,
}

/// The difference of two indices.
#[derive(Default)]
pub(super) struct Sum {
    pub(super) constant: i128,
    pub(super) groups: Vec<Group>,
    /// What the terms whose coefficient is below a limit come to together, as far as guards tell.
    pub(super) bounds: Vec<(i128, Ends)>,
}

impl Sum {
    pub(super) fn term(&mut self, coef: i128, (lo, hi): Ends, pair: Option<Expr>) {
        if coef == 0 || (lo, hi) == (Some(0), Some(0)) {
            return;
        }
        let minus = |end: Option<i128>| end.and_then(i128::checked_neg);
        let (lo, hi) = if coef > 0 { (lo, hi) } else { (minus(hi), minus(lo)) };
        debug_assert!(self.bounds.is_empty(), "bounds are taken of all terms");
        match self.groups.iter_mut().find(|group| group.coef == coef.abs()) {
            Some(group) => {
                group.ends = add(group.ends, (lo, hi), 1);
                group.pair = None;
                group.n_terms += 1;
            }
            None => self.groups.push(Group { coef: coef.abs(), ends: (lo, hi), pair, n_terms: 1 }),
        }
    }

    /// Sorts the groups by their coefficients; gives what the constant and those below each come to, and all of them.
    fn sorted(&mut self) -> Vec<Ends> {
        self.groups.sort_by_key(|group| group.coef);
        let constant = (Some(self.constant), Some(self.constant));
        let mut sums = vec![constant];
        for (nth, group) in self.groups.iter().enumerate() {
            let below = sums[nth];
            let plain = add(below, group.ends, group.coef);
            let limit = self.groups.get(nth + 1).map_or(i128::MAX, |next| next.coef);
            let bounded = self.bounds.iter().find(|bound| bound.0 == limit).map(|bound| add(constant, bound.1, 1));
            sums.push(bounded.map_or(plain, |bounded| narrower(plain, bounded)));
        }
        sums
    }

    /// The groups that must vanish on their own where the sum is zero: what is below is less than their coefficient.
    fn n_separate(&self, sums: &[Ends]) -> usize {
        let small = |&(group, below): &(&Group, &Ends)| reach(*below).is_some_and(|reach| reach < group.coef);
        self.groups.iter().zip(sums).rev().take_while(small).count()
    }

    /// Is the sum different from zero in any case?
    pub(super) fn cannot_vanish(&mut self) -> bool {
        let sums = self.sorted();
        let n_rest = self.groups.len() - self.n_separate(&sums);
        let is_off = |(lo, hi): Ends| lo.is_some_and(|lo| lo > 0) || hi.is_some_and(|hi| hi < 0);
        let (rest, apart) = self.groups.split_at(n_rest);
        let divisor = rest.iter().fold(0, |g, group| gcd(g, group.coef.abs()));
        let has_remainder = if divisor == 0 { self.constant != 0 } else { self.constant % divisor != 0 };
        has_remainder
            || is_off(sums[n_rest])
            || sums.last().is_some_and(|&all| is_off(all))
            || apart.iter().any(|group| is_off(group.ends))
    }

    /// Adds to `equal` the pairs whose difference must be zero where the sum is.
    pub(super) fn separate(mut self, equal: &mut FxHashSet<Expr>) {
        let sums = self.sorted();
        let n_separate = self.n_separate(&sums);
        for group in self.groups.iter().rev().take(n_separate) {
            if let (Some(atom), 1) = (group.pair, group.n_terms) {
                equal.insert(atom);
            }
        }
    }
}

/// `sum + coef * ends`, for a coefficient that is not negative.
pub(super) fn add(sum: Ends, ends: Ends, coef: i128) -> Ends {
    let end = |sum: Option<i128>, end: Option<i128>| {
        sum.zip(end).and_then(|(sum, end)| sum.checked_add(end.checked_mul(coef)?))
    };
    (end(sum.0, ends.0), end(sum.1, ends.1))
}

/// What lies in both.
fn narrower(a: Ends, b: Ends) -> Ends {
    let lo = match (a.0, b.0) {
        (Some(a), Some(b)) => Some(a.max(b)),
        (a, b) => a.or(b),
    };
    let hi = match (a.1, b.1) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    };
    (lo, hi)
}

/// The greatest magnitude between two ends.
fn reach((lo, hi): Ends) -> Option<i128> {
    lo.zip(hi).map(|(lo, hi)| lo.abs().max(hi.abs()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tc_arith::{Pool, Var};

    /// Is every difference in `terms`, given as coefficient and extent, zero wherever the sum is?
    fn separated(constant: i128, terms: &[(i128, i128)]) -> Vec<bool> {
        let mut pool = Pool::new();
        let mut sum = Sum { constant, ..Sum::default() };
        let atoms: Vec<Expr> = (0..terms.len()).map(|nth| pool.var(Var(nth as u32))).collect();
        for (&(coef, extent), &atom) in terms.iter().zip(&atoms) {
            sum.term(coef, (Some(1 - extent), Some(extent - 1)), Some(atom));
        }
        let mut equal = FxHashSet::default();
        sum.separate(&mut equal);
        atoms.iter().map(|atom| equal.contains(atom)).collect()
    }

    #[test]
    fn mixed_radix_is_injective_and_its_neighbours_are_not() {
        assert_eq!(separated(0, &[(32, 8), (1, 32)]), [true, true]);
        assert_eq!(separated(0, &[(31, 8), (1, 32)]), [false, false]);
        assert_eq!(separated(1, &[(1, 32)]), [false]);
        assert_eq!(separated(0, &[(3072, 4), (1536, 2), (512, 3), (256, 2), (32, 8), (1, 32)]), [true; 6]);
    }

    /// The proof agrees with counting on every small sum.
    #[test]
    fn what_is_separated_vanishes_on_every_small_sum() {
        for (a, b, k) in (1..7).flat_map(|a| (1..7).flat_map(move |b| (-3..4).map(move |k| (a, b, k)))) {
            for (n, m) in (1..5).flat_map(|n| (1..5).map(move |m| (n, m))) {
                let claim = separated(k, &[(a, n), (b, m)]);
                let mut sum = Sum { constant: k, ..Sum::default() };
                sum.term(a, (Some(1 - n), Some(n - 1)), None);
                sum.term(b, (Some(1 - m), Some(m - 1)), None);
                for (x, y) in (1 - n..n).flat_map(|x| (1 - m..m).map(move |y| (x, y))) {
                    if a * x + b * y + k == 0 {
                        assert!(!sum.cannot_vanish(), "{a}*{x} + {b}*{y} + {k}");
                        assert!((!claim[0] || x == 0) && (!claim[1] || y == 0), "{a}*{x} + {b}*{y} + {k}");
                    }
                }
            }
        }
    }
}
