//! Accesses to buffers that lie inside one another: the cells hold bits, and an element is made of some of them.

use super::access::{Addr, At};
use super::block::{BlockState, Launch};
use super::group::{Group, for_lanes};
use crate::cell::{Cell, bits_of, decode};
use crate::code::{Site, Space, Window};
use crate::domain::Domain;
use crate::field::{Doubt, Pieces, Range, is_element};
use crate::finding::FindingKind;
use std::mem;

impl Group {
    /// Loads one component of an element, in each lane.
    pub(super) fn load_window(
        &mut self,
        at: At<'_>,
        window: Window,
        addr: Addr,
        (value, mags): (&mut [Cell], &mut [Cell]),
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        let live = mem::take(&mut self.live);
        for_lanes(&live, |lane| {
            let first = self.first_cell(window, addr, lane);
            let (mut bits, mut mag, mut written, mut conflict) = (0u64, 0, true, None);
            let mut pieces = [0; 8];
            for (nth, piece) in pieces.iter_mut().enumerate().take(window.n_cells) {
                let cell = first + nth;
                let (found, found_mag, is_written) = self.window_cell(at, lane, cell, block);
                bits |= found << (8 * window.cell_bytes * nth);
                *piece = found;
                // Magnitudes are not below zero, and such numbers are in the order of their bits.
                mag = found_mag.max(mag);
                written &= is_written;
                if let (Space::Shared(idx), true) = (at.decl.space, launch.kernel.threaded) {
                    let slot = self.slot_of(lane);
                    let who = (self.thread_of(lane), at.access.site, self.warp_epochs[slot]);
                    let (shadow, now, sets) = block.shared_shadow(idx, slot, cell, who);
                    let found = shadow.read(now, found, sets);
                    conflict = worse(conflict, found);
                }
            }
            let elem = at.decl.elem;
            value[lane] = decode(elem, &bits.to_le_bytes()[..elem.bytes() as usize]);
            if launch.domain == Domain::Field {
                self.load_element((at, lane), (&pieces[..window.n_cells], mag), (value, mags), (launch, block));
            } else if !mags.is_empty() {
                // What was written as bits has no magnitude of its own.
                mags[lane] = mag.max(crate::cell::number_of(elem, value[lane]).abs().to_bits());
            }
            if !written {
                self.report_access(FindingKind::Uninitialised, at, lane, launch, block);
            }
            if let Some(copy) = self.window_under_way(at, lane, (first, window), block) {
                self.report_under_way(at, lane, (copy, false), launch, block);
            } else if let Some(conflict) = conflict {
                self.report_conflict(at, lane, conflict, false, launch, block);
            }
        });
        self.live = live;
    }

    /// Stores one component of an element, in each lane.
    pub(super) fn store_window(
        &mut self,
        at: At<'_>,
        window: Window,
        addr: Addr,
        (value, mags): (&[Cell], &[Cell]),
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        let of = |cells: &[Cell], lane: usize| if cells.len() == 1 { cells[0] } else { cells[lane] };
        let live = mem::take(&mut self.live);
        for_lanes(&live, |lane| {
            let first = self.first_cell(window, addr, lane);
            let bits = bits_of(at.decl.elem, of(value, lane));
            let element = (launch.domain == Domain::Field && at.decl.elem.is_float()).then(|| Pieces(of(value, lane)));
            let mag = if mags.is_empty() { 0 } else { of(mags, lane) };
            let (mut conflict, mut duplicate) = (None, None);
            if let Some(copy) = self.window_under_way(at, lane, (first, window), block) {
                self.report_under_way(at, lane, (copy, true), launch, block);
            }
            for nth in 0..window.n_cells {
                let cell = first + nth;
                let mask = u64::MAX >> (64 - 8 * window.cell_bytes);
                let new = bits >> (8 * window.cell_bytes * nth) & mask;
                let new = element.map_or(new, |element| element.cell(nth));
                let (old, _, was_written) = self.window_cell(at, lane, cell, block);
                self.set_window_cell(at, lane, cell, (new, mag), block);
                let Space::Shared(idx) = at.decl.space else { continue };
                let slot = self.slot_of(lane);
                if launch.kernel.threaded {
                    let who = (self.thread_of(lane), at.access.site, self.warp_epochs[slot]);
                    let (shadow, now, sets) = block.shared_shadow(idx, slot, cell, who);
                    let found = shadow.write(now, was_written.then_some(old), new, sets);
                    conflict = worse(conflict, found);
                } else {
                    let key = (slot * block.shared[idx].n + cell) as u64;
                    let other = block.duplicates.get_or_insert(key, lane as u32) as usize;
                    if other != lane {
                        let same = old == new && duplicate.is_none_or(|(_, same)| same);
                        duplicate = Some((other, same));
                    }
                }
            }
            if let Some((other, same)) = duplicate {
                self.report_one_op(at, [other, lane], same, launch, block);
            }
            if let Some(conflict) = conflict {
                self.report_conflict(at, lane, conflict, true, launch, block);
            }
        });
        self.live = live;
    }

    /// In the field: a float as a whole; what was written as something else is not decided.
    fn load_element(
        &self,
        (at, lane): (At<'_>, usize),
        (pieces, range): (&[Cell], Cell),
        (value, mags): (&mut [Cell], &mut [Cell]),
        (launch, block): (&Launch<'_>, &mut BlockState),
    ) {
        let what = "what was written as another type";
        if !at.decl.elem.is_float() {
            if at.decl.elem.bytes() < 8 && pieces.iter().any(|&cell| is_element(cell)) {
                self.report_doubt(Doubt::Choice, what, at.access.site, launch, block);
            }
            return;
        }
        let joined = Pieces::joined(pieces);
        value[lane] = joined;
        let is_whole = pieces.first() == Some(&joined);
        if let Some(place) = mags.get_mut(lane) {
            *place = if is_whole { range } else { Range::ALL.encode() };
        }
        if !is_whole {
            self.report_doubt(Doubt::Value, what, at.access.site, launch, block);
        }
    }

    /// The copy that is under way to one of the cells of a component.
    fn window_under_way(
        &self,
        at: At<'_>,
        lane: usize,
        (first, window): (usize, Window),
        block: &BlockState,
    ) -> Option<Site> {
        let Space::Shared(idx) = at.decl.space else { return None };
        let shared = &block.shared[idx];
        let place = self.slot_of(lane) * shared.n + first;
        (place..place + window.n_cells).find_map(|place| shared.under_way(place))
    }

    pub(super) fn first_cell(&self, window: Window, addr: Addr, lane: usize) -> usize {
        let component = match addr {
            Addr::One(component) => component,
            Addr::Each => self.addrs[lane],
        };
        window.start + component * window.n_cells
    }

    /// What a cell holds, its magnitude, and whether anybody wrote it.
    fn window_cell(&self, at: At<'_>, lane: usize, cell: usize, block: &BlockState) -> (Cell, Cell, bool) {
        match at.decl.space {
            Space::Shared(idx) => {
                let shared = &block.shared[idx];
                let place = self.slot_of(lane) * shared.n + cell;
                let is_written = shared.written[place] >= shared.stamp(self.n_made[idx]);
                (shared.cells[place], shared.mags.get(place).copied().unwrap_or(0), is_written)
            }
            Space::Local(idx) => {
                let local = &self.locals[idx];
                let place = cell * self.n + lane;
                let written = local.written[cell * self.words + lane / 64] >> (lane % 64) & 1 == 1;
                (local.cells[place], local.mags.get(place).copied().unwrap_or(0), written)
            }
            Space::Global(_) | Space::Warp(_) => (0, 0, true),
        }
    }

    fn set_window_cell(
        &mut self,
        at: At<'_>,
        lane: usize,
        cell: usize,
        (new, mag): (Cell, Cell),
        block: &mut BlockState,
    ) {
        let (slot, n, words) = (self.slot_of(lane), self.n, self.words);
        let (place, mags, place_of_mag) = match at.decl.space {
            Space::Shared(idx) => {
                let shared = &mut block.shared[idx];
                let place = slot * shared.n + cell;
                shared.written[place] = shared.stamp(self.n_made[idx]);
                (&mut shared.cells[place], &mut shared.mags, place)
            }
            Space::Local(idx) => {
                let local = &mut self.locals[idx];
                local.written[cell * words + lane / 64] |= 1 << (lane % 64);
                (&mut local.cells[cell * n + lane], &mut local.mags, cell * n + lane)
            }
            Space::Global(_) | Space::Warp(_) => return,
        };
        *place = new;
        if let Some(place) = mags.get_mut(place_of_mag) {
            *place = mag;
        }
    }
}

/// Of two conflicts the one that changes values.
fn worse(a: Option<crate::race::Conflict>, b: Option<crate::race::Conflict>) -> Option<crate::race::Conflict> {
    match (a, b) {
        (Some(a), Some(b)) if a.benign && !b.benign => Some(b),
        (a, b) => a.or(b),
    }
}
