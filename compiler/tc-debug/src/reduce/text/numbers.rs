//! Extents, factors, literals: smaller numbers.
//!
//! One extent stands in many places: in shapes, loops and indices. So a number is made smaller at all its places at
//! once, and then at each alone.

use super::scan::{Kind, Token, scan};
use crate::reduce::{Reduction, State};
use std::collections::BTreeSet;
use std::ops::Range;

/// What a number becomes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum To {
    /// This one.
    Fixed(u128),
    /// Half of it.
    Half,
    /// One less.
    Less,
}

impl To {
    fn of(self, value: u128) -> u128 {
        match self {
            To::Fixed(to) => to,
            To::Half => value / 2,
            To::Less => value - 1,
        }
    }
}

/// Smaller integers.
pub(crate) struct Numbers {
    pub(crate) to: To,
}

impl Numbers {
    fn tokens<'t>(&self, text: &'t str) -> Vec<(Token<'t>, u128)> {
        let ints = scan(text).filter(|token| token.kind == Kind::Int);
        let ints = ints.filter_map(|token| Some((token, token.int()?)));
        ints.filter(|&(_, value)| value >= 2 && self.to.of(value) < value).collect()
    }
}

impl Reduction for Numbers {
    fn n_sites(&self, state: &State) -> usize {
        let tokens = self.tokens(&state.text);
        tokens.len() + tokens.iter().map(|&(_, value)| value).collect::<BTreeSet<_>>().len()
    }

    fn without(&self, state: &State, sites: Range<usize>) -> Option<State> {
        let tokens = self.tokens(&state.text);
        let values: BTreeSet<u128> = tokens.iter().map(|&(_, value)| value).collect();
        // First the places, then the values: the last sites are tried first.
        let of_place = |nth: usize| sites.contains(&nth);
        let of_value = |value: u128| {
            values.iter().position(|&other| other == value).is_some_and(|nth| sites.contains(&(tokens.len() + nth)))
        };
        let chosen = tokens.iter().enumerate().filter(|&(nth, &(_, value))| of_place(nth) || of_value(value));
        let edits = chosen.map(|(_, &(token, value))| {
            let (_, suffix) = token.digits();
            (token.start..token.end(), format!("{}{suffix}", self.to.of(value)))
        });
        super::edited(state, edits.collect())
    }

    fn wants(&self, state: &State) -> bool {
        state.text.len() < 200_000
    }
}
