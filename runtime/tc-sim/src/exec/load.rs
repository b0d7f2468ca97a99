//! Loads: who wrote what is read, and what orders the two.

use super::access::{Addr, At};
use super::block::{BlockState, Launch};
use super::group::{Group, first_lane, for_lanes};
use crate::cell::Cell;
use crate::code::{Access, NO_REG, Space};
use crate::diagnostic::DiagnosticKind;
use crate::memory::{Global, Record, foreign, keep};
use crate::watch::AccessKind;
use std::mem;
use std::sync::atomic::Ordering::Relaxed;

impl Group {
    pub(crate) fn load(&mut self, access: &Access, launch: &Launch<'_>, block: &mut BlockState) {
        let mut at = self.at(access, launch);
        let mut value = mem::take(&mut self.regs[access.value as usize]);
        let mut mag = if access.mag == NO_REG { Vec::new() } else { mem::take(&mut self.regs[access.mag as usize]) };
        let mut first = Vec::new();
        for comp in 0..at.n_comps {
            at.comp = comp;
            let addr = self.address(at, launch, block);
            if access.aligned > 0 {
                self.check_aligned(at, addr, &first, launch, block);
                if comp == 0 {
                    first = self.spelled_out(addr);
                }
            }
            let part = comp * self.n..(comp + 1) * self.n;
            if self.live != self.mask {
                value[part.clone()].fill(0);
            }
            let mags = if mag.is_empty() { &mut [][..] } else { &mut mag[part.clone()] };
            self.load_cells(at, addr, (&mut value[part], mags), launch, block);
        }
        self.regs[access.value as usize] = value;
        if access.mag != NO_REG {
            self.regs[access.mag as usize] = mag;
        }
    }

    /// Loads one component in the lanes of `self.live`.
    pub(super) fn load_cells(
        &mut self,
        at: At<'_>,
        addr: Addr,
        (value, mags): (&mut [Cell], &mut [Cell]),
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        self.check_registers_read(at, addr, launch, block);
        let watched = self.watch(at, addr, AccessKind::Read, launch, block);
        self.load_from(at, addr, (&mut *value, &mut *mags), launch, block);
        self.watch_values(watched, value, launch);
    }

    #[inline(always)]
    fn load_from(
        &mut self,
        at: At<'_>,
        addr: Addr,
        (value, mags): (&mut [Cell], &mut [Cell]),
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        if let Some(window) = at.decl.window {
            return self.load_window(at, window, addr, (value, mags), launch, block);
        }
        match (at.decl.space, addr) {
            (Space::Local(idx), Addr::One(cell)) => self.load_row(at, (idx, cell), (value, mags), launch, block),
            (Space::Warp(idx), Addr::One(cell)) => self.load_element(at, (idx, cell), (value, mags), launch, block),
            (space @ Space::Local(_), _) => self.load_each(at, space, addr, (value, mags), launch, block),
            (space @ Space::Warp(_), _) => self.load_each(at, space, addr, (value, mags), launch, block),
            (space @ Space::Shared(_), _) => self.load_each(at, space, addr, (value, mags), launch, block),
            (Space::Global(idx), _) if launch.cells.is_some() => {
                self.load_tensor(at, &launch.globals[idx], addr, (value, mags));
            }
            (Space::Global(idx), _) => self.load_global(at, idx, addr, (value, mags), launch, block),
        }
    }

    /// One cell of registers, in all lanes at once.
    fn load_row(
        &mut self,
        at: At<'_>,
        (idx, cell): (usize, usize),
        (value, mags): (&mut [Cell], &mut [Cell]),
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        if first_lane(&self.live).is_none() {
            return;
        }
        let (n, words, local) = (self.n, self.words, &self.locals[idx]);
        let written = &local.written[cell * words..(cell + 1) * words];
        let unwritten: Vec<u64> = self.live.iter().zip(written).map(|(live, written)| live & !written).collect();
        value.copy_from_slice(&local.cells[cell * n..(cell + 1) * n]);
        if !mags.is_empty() {
            mags.copy_from_slice(&local.mags[cell * n..(cell + 1) * n]);
        }
        if let Some(lane) = first_lane(&unwritten) {
            self.report_access(DiagnosticKind::Uninitialised, at, lane, launch, block);
        }
    }

    /// A cell on the chip in each lane; inlined, so that the kind of memory is asked for once.
    #[inline(always)]
    fn load_each(
        &mut self,
        at: At<'_>,
        space: Space,
        addr: Addr,
        (value, mags): (&mut [Cell], &mut [Cell]),
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        let live = mem::take(&mut self.live);
        let mut was_reported = false;
        for_lanes(&live, |lane| {
            let cell = self.cell_at(addr, lane);
            let found = self.find(space, lane, cell, block);
            value[lane] = found.cell;
            if !mags.is_empty() {
                mags[lane] = found.mag;
            }
            // Of the registers of all threads the first is reported.
            if !(found.is_written || was_reported && matches!(space, Space::Local(_))) {
                was_reported = true;
                self.report_access(DiagnosticKind::Uninitialised, at, lane, launch, block);
            }
            let Space::Shared(idx) = space else { return };
            if let Some(copy) = self.outstanding_copy(space, lane, (cell, 1), block) {
                return self.report_outstanding(at, lane, (copy, false), launch, block);
            }
            if launch.kernel.threaded
                && !at.background
                && let Some(conflict) = self.read_race(at, lane, (idx, cell), found.cell, block)
            {
                self.report_conflict(at, lane, conflict, false, launch, block);
            }
        });
        self.live = live;
    }

    /// A read of a tensor of an operator: out of range is poison.
    fn load_tensor(&mut self, at: At<'_>, tensor: &Global, addr: Addr, (value, mags): (&mut [Cell], &mut [Cell])) {
        let access = at.access;
        let mut poison = mem::take(&mut self.poison[access.value as usize]);
        for (word, bits) in poison.iter_mut().enumerate() {
            *bits = self.mask[word] & !self.live[word];
        }
        for &index in access.poison.iter().flatten() {
            poison.iter_mut().zip(&self.poison[index as usize]).for_each(|(bits, of_index)| *bits |= of_index);
        }
        let mask = mem::take(&mut self.mask);
        for_lanes(&mask, |lane| {
            let bit = 1 << (lane % 64);
            if self.live[lane / 64] & bit == 0 {
                value[lane] = 0;
                self.culprits[lane] = access.site;
                return;
            }
            let cell = self.cell_at(addr, lane);
            let Some(cell) = tensor.find(cell) else {
                value[lane] = 0;
                return;
            };
            value[lane] = tensor.cells[cell].load(Relaxed);
            if let (Some(plane), false) = (&tensor.mags, mags.is_empty()) {
                mags[lane] = plane[cell].load(Relaxed);
            }
            if tensor.poison.as_ref().is_some_and(|marks| marks[cell].load(Relaxed) != 0) {
                poison[lane / 64] |= bit;
                self.culprits[lane] = access.site;
            }
        });
        self.mask = mask;
        self.poison[access.value as usize] = poison;
    }

    fn load_global(
        &mut self,
        at: At<'_>,
        idx: usize,
        addr: Addr,
        (value, mags): (&mut [Cell], &mut [Cell]),
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        let global = &launch.globals[idx];
        let live = mem::take(&mut self.live);
        let written_here = launch.kernel.writes[idx];
        let local_site = at.access.site - launch.kernel.site_base;
        for_lanes(&live, |lane| {
            let cell = self.cell_at(addr, lane);
            if let Some(trace) = &global.trace {
                value[lane] = 0;
                return trace.note(cell, block.blocks[self.slot_of(lane)]);
            }
            let found = global.cells[cell].load(Relaxed);
            value[lane] = found;
            if let (Some(plane), false) = (&global.mags, mags.is_empty()) {
                mags[lane] = plane[cell].load(Relaxed);
            }
            let Some(notes) = &global.notes else { return };
            if !notes.is_written(cell) {
                self.report_access(DiagnosticKind::Uninitialised, at, lane, launch, block);
            }
            if !written_here {
                return;
            }
            let slot = self.slot_of(lane);
            let own = block.blocks[slot];
            let writer = Record(notes.writer[cell].load(Relaxed));
            if writer.is_somebody() && writer.block() != own {
                self.report_blocks(at, lane, writer, (true, false), launch, block);
            }
            if let Some(updater) = foreign(&notes.updaters, cell, own).next() {
                self.report_blocks(at, lane, updater, (true, false), launch, block);
            }
            if let Some(readers) = &notes.readers {
                keep(readers, cell, Record::new(local_site, self.thread_in_block(lane, launch), own));
            }
            if launch.kernel.threaded && self.per_block * block.warps > 1 {
                let who = self.accessor(at, lane);
                if let Some(conflict) = block.global_read((idx, slot, cell), who, found, launch) {
                    self.report_conflict(at, lane, conflict, false, launch, block);
                }
            }
        });
        self.live = live;
    }
}
