//! Cells on the chip, as one lane finds and leaves them: shared memory, registers of a thread, tiles of a warp.

use super::access::At;
use super::block::{BlockState, WARP};
use super::group::Group;
use crate::cell::Cell;
use crate::code::{Site, Space};
use crate::race::Conflict;
use std::mem;

/// What a lane finds in a cell.
pub(super) struct Found {
    pub(super) cell: Cell,
    /// The magnitude of the cell; 0 where none is kept.
    pub(super) mag: Cell,
    /// Somebody wrote it.
    pub(super) is_written: bool,
}

impl Group {
    #[inline(always)]
    pub(super) fn find(&self, space: Space, lane: usize, cell: usize, block: &BlockState) -> Found {
        let found = |cells: &[Cell], mags: &[Cell], place: usize, is_written: bool| Found {
            cell: cells[place],
            mag: mags.get(place).copied().unwrap_or(0),
            is_written,
        };
        match space {
            Space::Shared(idx) => {
                let shared = &block.shared[idx];
                let place = self.slot_of(lane) * shared.n + cell;
                let is_written = shared.written[place] >= shared.stamp(self.n_made[idx]);
                found(&shared.cells, &shared.mags, place, is_written)
            }
            Space::Local(idx) => {
                let local = &self.locals[idx];
                let is_written = local.written[cell * self.words + lane / 64] >> (lane % 64) & 1 == 1;
                found(&local.cells, &local.mags, cell * self.n + lane, is_written)
            }
            Space::Warp(idx) => {
                let tiles = &self.tiles[idx];
                let place = self.crew_of(lane, tiles.threads) * tiles.n + cell;
                found(&tiles.cells, &tiles.mags, place, tiles.written[place])
            }
            Space::Global(_) => Found { cell: 0, mag: 0, is_written: true },
        }
    }

    /// Writes a cell, and its magnitude where there is one; what it held, and whether somebody had written it.
    #[inline(always)]
    pub(super) fn put(
        &mut self,
        space: Space,
        lane: usize,
        cell: usize,
        (new, mag): (Cell, Option<Cell>),
        block: &mut BlockState,
    ) -> (Cell, bool) {
        let (slot, n, words) = (self.slot_of(lane), self.n, self.words);
        let (cells, mags, place, was_written) = match space {
            Space::Shared(idx) => {
                let shared = &mut block.shared[idx];
                let place = slot * shared.n + cell;
                let stamp = shared.stamp(self.n_made[idx]);
                let was_written = mem::replace(&mut shared.written[place], stamp) >= stamp;
                (&mut shared.cells, &mut shared.mags, place, was_written)
            }
            Space::Local(idx) => {
                let local = &mut self.locals[idx];
                let (word, bit) = (&mut local.written[cell * words + lane / 64], 1 << (lane % 64));
                let was_written = *word & bit != 0;
                *word |= bit;
                (&mut local.cells, &mut local.mags, cell * n + lane, was_written)
            }
            Space::Warp(idx) => {
                let warp = self.crew_of(lane, self.tiles[idx].threads);
                let tiles = &mut self.tiles[idx];
                let place = warp * tiles.n + cell;
                let was_written = mem::replace(&mut tiles.written[place], true);
                (&mut tiles.cells, &mut tiles.mags, place, was_written)
            }
            Space::Global(_) => return (0, true),
        };
        if let (Some(mag), Some(place)) = (mag, mags.get_mut(place)) {
            *place = mag;
        }
        (mem::replace(&mut cells[place], new), was_written)
    }

    /// The outstanding copy to one of the cells from `first` on.
    #[inline(always)]
    pub(super) fn outstanding_copy(
        &self,
        space: Space,
        lane: usize,
        (first, n_cells): (usize, usize),
        block: &BlockState,
    ) -> Option<Site> {
        let Space::Shared(idx) = space else { return None };
        let shared = &block.shared[idx];
        let place = self.slot_of(lane) * shared.n + first;
        (place..place + n_cells).find_map(|place| shared.outstanding_copy(place))
    }

    /// What a read of `found` in a cell of the shared buffer `idx` conflicts with.
    #[inline(always)]
    pub(super) fn read_race(
        &self,
        at: At<'_>,
        lane: usize,
        (idx, cell): (usize, usize),
        found: Cell,
        block: &mut BlockState,
    ) -> Option<Conflict> {
        block.shared_read((idx, self.slot_of(lane), cell), self.accessor(at, lane), found)
    }

    /// What a write of `new` in place of `old` conflicts with; `old` is `None` where no thread wrote it.
    #[inline(always)]
    pub(super) fn write_race(
        &self,
        at: At<'_>,
        lane: usize,
        (idx, cell): (usize, usize),
        (old, new): (Option<Cell>, Cell),
        block: &mut BlockState,
    ) -> Option<Conflict> {
        block.shared_write((idx, self.slot_of(lane), cell), self.accessor(at, lane), (old, new))
    }

    /// Thread, op and time of an access, for the shadow of a cell.
    #[inline(always)]
    pub(super) fn accessor(&self, at: At<'_>, lane: usize) -> (u32, Site, u32) {
        (self.thread_of(self.speaker.unwrap_or(lane)), at.access.site, self.warp_epochs[self.crew_of(lane, WARP)])
    }
}
