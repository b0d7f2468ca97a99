//! Elements of tiles, loaded and stored one by one, as plain loops do while tiles hold numbers.
//!
//! Each thread of a warp that comes to such a loop does all of it, so mostly the whole warp accesses one cell: that is
//! done once a warp.

use super::access::{Addr, At};
use super::block::{BlockState, Launch, WARP};
use super::group::{Group, for_lanes};
use crate::cell::Cell;
use crate::finding::FindingKind;
use std::mem;
use std::ops::Range;

fn of(cells: &[Cell], lane: usize) -> Cell {
    if cells.len() == 1 { cells[0] } else { cells[lane] }
}

impl Group {
    /// The lanes of the warp number `warp` of this group.
    fn lanes_of_warp(&self, warp: usize) -> Range<usize> {
        let per_block = self.per_block.div_ceil(WARP);
        let slot = warp / per_block * self.per_block;
        let first = slot + warp % per_block * WARP;
        first..(first + WARP).min(slot + self.per_block)
    }

    fn first_live(&self, mut lanes: Range<usize>) -> Option<usize> {
        lanes.find(|lane| self.live[lane / 64] >> (lane % 64) & 1 == 1)
    }

    pub(super) fn load_tiles(
        &mut self,
        at: At<'_>,
        idx: usize,
        addr: Addr,
        (value, mags): (&mut [Cell], &mut [Cell]),
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        if let Addr::One(cell) = addr {
            for warp in 0..self.n_warps() {
                let lanes = self.lanes_of_warp(warp);
                let Some(lane) = self.first_live(lanes.clone()) else { continue };
                let tiles = &self.tiles[idx];
                let place = warp * tiles.n + cell;
                value[lanes.clone()].fill(tiles.cells[place]);
                if !mags.is_empty() {
                    mags[lanes].fill(tiles.mags[place]);
                }
                if !tiles.written[place] {
                    self.report_access(FindingKind::Uninitialised, at, lane, launch, block);
                }
            }
            return;
        }
        let live = mem::take(&mut self.live);
        for_lanes(&live, |lane| {
            let tiles = &self.tiles[idx];
            let place = self.warp_of(lane) * tiles.n + self.addrs[lane];
            value[lane] = tiles.cells[place];
            if !mags.is_empty() {
                mags[lane] = tiles.mags[place];
            }
            if !tiles.written[place] {
                self.report_access(FindingKind::Uninitialised, at, lane, launch, block);
            }
        });
        self.live = live;
    }

    /// All lanes of a warp that store one element by one op must agree on it; where they do, nothing is wrong.
    pub(super) fn store_tiles(
        &mut self,
        at: At<'_>,
        idx: usize,
        addr: Addr,
        (value, mags): (&[Cell], &[Cell]),
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        if let Addr::One(cell) = addr {
            for warp in 0..self.n_warps() {
                let lanes = self.lanes_of_warp(warp);
                let Some(lane) = self.first_live(lanes.clone()) else { continue };
                let new = of(value, lane);
                let differs = |&other: &usize| of(value, other) != new && self.first_live(other..other + 1).is_some();
                let other = if value.len() == 1 { None } else { (lane..lanes.end).find(differs) };
                self.set_element((idx, warp), cell, (new, mags, lane));
                if let Some(other) = other {
                    self.report_one_op(at, [lane, other], false, launch, block);
                }
            }
            return;
        }
        let live = mem::take(&mut self.live);
        for_lanes(&live, |lane| {
            let (warp, cell, new) = (self.warp_of(lane), self.addrs[lane], of(value, lane));
            let old = self.set_element((idx, warp), cell, (new, mags, lane));
            if value.len() > 1 {
                let place = warp * self.tiles[idx].n + cell;
                let other = block.duplicates.get_or_insert(place as u64, lane as u32) as usize;
                if other != lane && old != new {
                    self.report_one_op(at, [other, lane], false, launch, block);
                }
            }
        });
        self.live = live;
    }

    /// Sets an element of a warp's tiles; what it was.
    fn set_element(
        &mut self,
        (idx, warp): (usize, usize),
        cell: usize,
        (new, mags, lane): (Cell, &[Cell], usize),
    ) -> Cell {
        let tiles = &mut self.tiles[idx];
        let place = warp * tiles.n + cell;
        tiles.written[place] = true;
        if !mags.is_empty() {
            tiles.mags[place] = of(mags, lane);
        }
        mem::replace(&mut tiles.cells[place], new)
    }
}
