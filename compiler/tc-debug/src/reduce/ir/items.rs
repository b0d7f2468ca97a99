//! Items.

use crate::reduce::{Reduction, State};
use std::ops::Range;

/// Functions, operators, schedules and all other items.
pub(crate) struct Items;

impl Reduction for Items {
    fn n_sites(&self, state: &State) -> usize {
        state.module.as_ref().map_or(0, |module| module.items.len())
    }

    fn without(&self, state: &State, sites: Range<usize>) -> Option<State> {
        state.edited(|items| items.drain(sites).count() > 0)
    }
}
