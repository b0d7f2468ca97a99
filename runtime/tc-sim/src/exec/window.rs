//! Accesses to buffers that lie inside one another: the cells hold bits, and an element is made of some of them.

use super::access::{Addr, At, of_lane};
use super::block::{BlockState, Launch};
use super::group::{Group, for_lanes};
use crate::cell::{Cell, bits_of, decode};
use crate::code::{Space, Window};
use crate::diagnostic::DiagnosticKind;
use crate::domain::Domain;
use crate::field::{Doubt, Pieces, Range, is_element};
use crate::race::Conflict;
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
                let found = self.find(at.decl.space, lane, cell, block);
                bits |= found.cell << (8 * window.cell_bytes * nth);
                *piece = found.cell;
                // Magnitudes are not below zero, and such numbers are in the order of their bits.
                mag = found.mag.max(mag);
                written &= found.is_written;
                if let (Space::Shared(idx), true) = (at.decl.space, launch.kernel.threaded && !at.background) {
                    conflict = worse(conflict, self.read_race(at, lane, (idx, cell), found.cell, block));
                }
            }
            let elem = at.decl.elem;
            value[lane] = decode(elem, &bits.to_le_bytes()[..elem.bytes() as usize]);
            if launch.domain == Domain::Field {
                self.load_pieces((at, lane), (&pieces[..window.n_cells], mag), (value, mags), (launch, block));
            } else if !mags.is_empty() {
                // What was written as bits has no magnitude of its own.
                mags[lane] = mag.max(crate::cell::number_of(elem, value[lane]).abs().to_bits());
            }
            if !written {
                self.report_access(DiagnosticKind::Uninitialised, at, lane, launch, block);
            }
            if let Some(copy) = self.outstanding_copy(at.decl.space, lane, (first, window.n_cells), block) {
                self.report_outstanding(at, lane, (copy, false), launch, block);
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
        let live = mem::take(&mut self.live);
        for_lanes(&live, |lane| {
            let first = self.first_cell(window, addr, lane);
            let bits = bits_of(at.decl.elem, of_lane(value, lane));
            let element =
                (launch.domain == Domain::Field && at.decl.elem.is_float()).then(|| Pieces(of_lane(value, lane)));
            let mag = if mags.is_empty() { 0 } else { of_lane(mags, lane) };
            let (mut conflict, mut duplicate) = (None, None);
            if let Some(copy) = self.outstanding_copy(at.decl.space, lane, (first, window.n_cells), block) {
                self.report_outstanding(at, lane, (copy, true), launch, block);
            }
            for nth in 0..window.n_cells {
                let cell = first + nth;
                let mask = u64::MAX >> (64 - 8 * window.cell_bytes);
                let new = bits >> (8 * window.cell_bytes * nth) & mask;
                let new = element.map_or(new, |element| element.cell(nth));
                let (old, was_written) = self.put(at.decl.space, lane, cell, (new, Some(mag)), block);
                let Space::Shared(idx) = at.decl.space else { continue };
                if nth == 0 {
                    self.note_writer_of(at, lane, (idx, first, window.n_cells), launch, block);
                }
                if at.background {
                    continue;
                }
                if launch.kernel.threaded {
                    let old = was_written.then_some(old);
                    conflict = worse(conflict, self.write_race(at, lane, (idx, cell), (old, new), block));
                } else {
                    let key = (self.slot_of(lane) * block.shared[idx].n + cell) as u64;
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
    fn load_pieces(
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

    pub(super) fn first_cell(&self, window: Window, addr: Addr, lane: usize) -> usize {
        window.start + self.cell_at(addr, lane) * window.n_cells
    }
}

/// Of two conflicts the one that changes values.
fn worse(a: Option<Conflict>, b: Option<Conflict>) -> Option<Conflict> {
    match (a, b) {
        (Some(a), Some(b)) if a.benign && !b.benign => Some(b),
        (a, b) => a.or(b),
    }
}
