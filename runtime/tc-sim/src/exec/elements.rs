//! An element of tiles that whole warps load and store, as plain loops do while tiles hold numbers.
//!
//! Each thread of a warp that comes to such a loop does all of it, so mostly the whole warp accesses one cell: that is
//! done once a warp.

use super::access::{At, of_lane};
use super::block::{BlockState, Launch};
use super::group::Group;
use crate::cell::Cell;
use crate::code::Space;
use crate::diagnostic::DiagnosticKind;
use std::ops::Range;

impl Group {
    /// The lanes of the warp, or warpgroup, of `width` threads number `crew` of this group.
    pub(super) fn lanes_of_crew(&self, crew: usize, width: usize) -> Range<usize> {
        let per_block = self.per_block.div_ceil(width);
        let slot = crew / per_block * self.per_block;
        let first = slot + crew % per_block * width;
        first..(first + width).min(slot + self.per_block)
    }

    fn first_live(&self, mut lanes: Range<usize>) -> Option<usize> {
        lanes.find(|lane| self.live[lane / 64] >> (lane % 64) & 1 == 1)
    }

    pub(super) fn load_element(
        &mut self,
        at: At<'_>,
        (idx, cell): (usize, usize),
        (value, mags): (&mut [Cell], &mut [Cell]),
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        let width = self.tiles[idx].threads;
        for crew in 0..self.n_crews(width) {
            let lanes = self.lanes_of_crew(crew, width);
            let Some(lane) = self.first_live(lanes.clone()) else { continue };
            let found = self.find(Space::Warp(idx), lane, cell, block);
            value[lanes.clone()].fill(found.cell);
            if !mags.is_empty() {
                mags[lanes].fill(found.mag);
            }
            if !found.is_written {
                self.report_access(DiagnosticKind::Uninitialised, at, lane, launch, block);
            }
        }
    }

    /// All lanes of a warp must agree on what they store; where they do, nothing is wrong.
    pub(super) fn store_element(
        &mut self,
        at: At<'_>,
        (idx, cell): (usize, usize),
        (value, mags): (&[Cell], &[Cell]),
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        let width = self.tiles[idx].threads;
        for crew in 0..self.n_crews(width) {
            let lanes = self.lanes_of_crew(crew, width);
            let Some(lane) = self.first_live(lanes.clone()) else { continue };
            let new = of_lane(value, lane);
            let differs = |&other: &usize| of_lane(value, other) != new && self.first_live(other..other + 1).is_some();
            let other = if value.len() == 1 { None } else { (lane..lanes.end).find(differs) };
            let mag = (!mags.is_empty()).then(|| of_lane(mags, lane));
            self.put(Space::Warp(idx), lane, cell, (new, mag), block);
            if let Some(other) = other {
                self.report_one_op(at, [lane, other], false, launch, block);
            }
        }
    }
}
