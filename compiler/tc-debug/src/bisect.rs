//! The first pass after which an answer changes, by binary search.
//!
//! The search trusts that the answer changes once. Where it changes several times it still finds a pass around which
//! it differs, only perhaps not the first.

/// A pass around which the answer differs, or why there is none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Bisected<A> {
    /// The answer is `before` up to the pass with this number, from 1, and `after` behind it.
    At {
        /// The number of the pass.
        number: usize,
        /// The answer before it.
        before: A,
        /// The answer after it.
        after: A,
    },
    /// The answer is the same before the first pass and after the last.
    Same(A),
}

/// Asks about the program after `k` of `n` passes, for several `k`, until the pass is found. The two ends are asked
/// first. An error of `ask` ends the search.
pub fn bisect<A: PartialEq, E>(n: usize, mut ask: impl FnMut(usize) -> Result<A, E>) -> Result<Bisected<A>, E> {
    let before = ask(0)?;
    if n == 0 {
        return Ok(Bisected::Same(before));
    }
    let mut after = ask(n)?;
    if before == after {
        return Ok(Bisected::Same(before));
    }
    // After `low` passes the answer is `before`, after `high` it is another one.
    let (mut low, mut high) = (0, n);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        let answer = ask(middle)?;
        if answer == before {
            low = middle;
        } else {
            (high, after) = (middle, answer);
        }
    }
    Ok(Bisected::At { number: high, before, after })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pass_is_found_in_few_steps() {
        for n in 1..40_usize {
            for bad in 1..=n {
                let mut asked = 0;
                let found = bisect(n, |k| {
                    asked += 1;
                    Ok::<_, ()>(k < bad)
                });
                assert_eq!(found, Ok(Bisected::At { number: bad, before: true, after: false }));
                assert!(asked <= 2 + n.ilog2() + 1, "{n} {asked}");
            }
        }
    }

    #[test]
    fn ends_that_agree_are_told() {
        assert_eq!(bisect(9, |_| Ok::<_, ()>(true)), Ok(Bisected::Same(true)));
        assert_eq!(bisect(0, |_| Ok::<_, ()>(7)), Ok(Bisected::Same(7)));
        assert_eq!(bisect(9, |k| if k == 9 { Err("no") } else { Ok(1) }), Err("no"));
    }
}
