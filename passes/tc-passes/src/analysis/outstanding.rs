//! Which asynchronous copies a wait may be for.
//!
//! A copy is outstanding from where it is begun to the first wait that is sure to cover its group. Going through the ops in
//! order, each copy that may be outstanding has an age: how many groups the thread has made since at least, its own
//! included. A wait that leaves `n` groups outstanding covers the copies whose age is above `n`. What a loop begins may be
//! outstanding, of any age, when its next iteration starts.

use super::launch::coordinate;
use indexmap::IndexMap;
use rustc_hash::FxHashMap;
use tc_dialects::algebra::const_extent;
use tc_dialects::threads::{CopyStep, begins_copy, copy_step};
use tc_dialects::tir;
use tc_ir::walk::ops_under;
use tc_ir::{Func, Op, Region};

/// The copies that each wait of a launch nest may be for.
#[derive(Default)]
pub(crate) struct OutstandingCopies {
    at: FxHashMap<Op, Vec<Op>>,
}

/// The copies that may be outstanding, with their ages.
type State = IndexMap<Op, i64>;

impl OutstandingCopies {
    /// Looks at everything in `nest`.
    pub(crate) fn of(func: &Func, nest: Op) -> OutstandingCopies {
        let mut outstanding = OutstandingCopies::default();
        let body = func.op_regions(nest)[0];
        if copies(func, body).next().is_some() {
            outstanding.region(func, body, State::default());
        }
        outstanding
    }

    /// The copies that may be there once `wait` is over.
    pub(crate) fn at(&self, wait: Op) -> &[Op] {
        self.at.get(&wait).map_or(&[], Vec::as_slice)
    }

    fn region(&mut self, func: &Func, region: Region, mut state: State) -> State {
        for op in func.ops(region) {
            match copy_step(func, op) {
                Some(CopyStep::Begin) => drop(state.insert(op, 0)),
                Some(CopyStep::Commit) => state.values_mut().for_each(|age| *age += 1),
                Some(CopyStep::Wait { pending }) => {
                    self.at.insert(op, state.keys().copied().collect());
                    state.retain(|_, age| *age <= pending);
                }
                None => {}
            }
            match func.opcode(op) {
                tir::FOR if coordinate(func, op).is_some() => {
                    state = self.region(func, func.op_regions(op)[0], state);
                }
                tir::FOR => {
                    let body = func.op_regions(op)[0];
                    let mut start = state.clone();
                    start.extend(copies(func, body).map(|copy| (copy, 0)));
                    let end = self.region(func, body, start);
                    let runs = const_extent(func, op).is_some_and(|extent| extent > 0);
                    state = if runs { end } else { either(state, end) };
                }
                _ if func.op_regions(op).is_empty() => {}
                opcode => {
                    let regions = func.op_regions(op);
                    let ends: Vec<State> =
                        regions.iter().map(|&region| self.region(func, region, state.clone())).collect();
                    let may_skip = opcode != tir::IF || regions.len() < 2;
                    let start = may_skip.then_some(state);
                    state = start.into_iter().chain(ends).reduce(either).unwrap_or_default();
                }
            }
        }
        state
    }
}

fn copies(func: &Func, region: Region) -> impl Iterator<Item = Op> + '_ {
    ops_under(func, region).filter(|&op| begins_copy(func, op))
}

/// What may be outstanding after one of two.
fn either(mut a: State, b: State) -> State {
    for (copy, age) in b {
        let known = a.entry(copy).or_insert(age);
        *known = age.min(*known);
    }
    a
}
