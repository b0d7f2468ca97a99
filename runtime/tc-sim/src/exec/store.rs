//! Stores: who else wrote or read the cell, and what orders them.

use super::access::{Addr, At, of_lane};
use super::block::{BlockState, Launch};
use super::group::{Group, for_lanes};
use crate::cell::Cell;
use crate::code::{Access, NO_REG, Space};
use crate::memory::{Global, Record, Role, foreign, forget};
use crate::watch::AccessKind;
use std::mem;
use std::sync::atomic::Ordering::Relaxed;

impl Group {
    pub(crate) fn store(&mut self, access: &Access, launch: &Launch<'_>, block: &mut BlockState) {
        let mut at = self.at(access, launch);
        // What is stored may be an index as well.
        let is_index = access.indices.contains(&access.value);
        let place = &mut self.regs[access.value as usize];
        let value = if is_index { place.clone() } else { mem::take(place) };
        // A literal 0 is its own magnitude, and may be an index too.
        let mag = match access.mag {
            NO_REG => Vec::new(),
            reg if reg == access.value => value.clone(),
            reg if access.indices.contains(&reg) => self.regs[reg as usize].clone(),
            reg => mem::take(&mut self.regs[reg as usize]),
        };
        let mut first = Vec::new();
        block.duplicates.clear();
        for comp in 0..at.n_comps {
            at.comp = comp;
            let addr = self.address(at, launch, block);
            if access.aligned > 0 {
                self.check_aligned(at, addr, &first, launch, block);
                if comp == 0 {
                    first = self.spelled_out(addr);
                }
            }
            let part = |cells: &'_ [Cell]| -> (usize, usize) {
                if cells.len() == 1 { (0, cells.len()) } else { (comp * self.n, (comp + 1) * self.n) }
            };
            let (from, to) = part(&value);
            let value = &value[from..to];
            let (from, to) = part(&mag);
            let mags = if mag.is_empty() { &mag[..] } else { &mag[from..to] };
            self.store_cells(at, addr, (value, mags), launch, block);
        }
        self.regs[access.value as usize] = value;
        if access.mag != NO_REG {
            self.regs[access.mag as usize] = mag;
        }
    }

    /// Stores one component in the lanes of `self.live`.
    pub(super) fn store_cells(
        &mut self,
        at: At<'_>,
        addr: Addr,
        (value, mags): (&[Cell], &[Cell]),
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        self.note_registers_written(at, addr, launch, block);
        let watched = self.watch(at, addr, AccessKind::Write, launch, block);
        self.watch_values(watched, value, launch);
        if let Some(window) = at.decl.window {
            return self.store_window(at, window, addr, (value, mags), launch, block);
        }
        match (at.decl.space, addr) {
            (Space::Local(idx), Addr::One(cell)) if self.live == self.all && value.len() == self.n => {
                self.store_row((idx, cell), (value, mags));
            }
            (Space::Warp(idx), Addr::One(cell)) => self.store_element(at, (idx, cell), (value, mags), launch, block),
            (space @ Space::Local(_), _) => self.store_each(at, space, addr, (value, mags), launch, block),
            (space @ Space::Warp(_), _) => self.store_each(at, space, addr, (value, mags), launch, block),
            (space @ Space::Shared(_), _) => self.store_each(at, space, addr, (value, mags), launch, block),
            (Space::Global(idx), _) if launch.cells.is_some() => {
                self.store_tensor(at, &launch.globals[idx], addr, (value, mags), launch, block)
            }
            (Space::Global(idx), _) => self.store_global(at, idx, addr, (value, mags), launch, block),
        }
    }

    /// One cell of registers, in all lanes at once.
    fn store_row(&mut self, (idx, cell): (usize, usize), (value, mags): (&[Cell], &[Cell])) {
        let (n, words, local) = (self.n, self.words, &mut self.locals[idx]);
        local.cells[cell * n..(cell + 1) * n].copy_from_slice(value);
        if !mags.is_empty() {
            let place = &mut local.mags[cell * n..(cell + 1) * n];
            place.iter_mut().enumerate().for_each(|(lane, place)| *place = of_lane(mags, lane));
        }
        local.written[cell * words..(cell + 1) * words].copy_from_slice(&self.all);
    }

    /// A cell on the chip in each lane; inlined, so that the kind of memory is asked for once.
    #[inline(always)]
    fn store_each(
        &mut self,
        at: At<'_>,
        space: Space,
        addr: Addr,
        (value, mags): (&[Cell], &[Cell]),
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        let live = mem::take(&mut self.live);
        let is_shared = matches!(space, Space::Shared(_));
        let look_for_duplicates = is_shared && !launch.kernel.threaded && self.may_repeat(at, addr);
        for_lanes(&live, |lane| {
            let (cell, new) = (self.cell_at(addr, lane), of_lane(value, lane));
            let mag = (!mags.is_empty()).then(|| of_lane(mags, lane));
            let (old, was_written) = self.put(space, lane, cell, (new, mag), block);
            let idx = match space {
                Space::Shared(idx) => idx,
                // All lanes of a warp that store one element by one op must agree on it; where they do, nothing is wrong.
                Space::Warp(idx) if value.len() > 1 => {
                    let place = self.crew_of(lane, self.tiles[idx].threads) * self.tiles[idx].n + cell;
                    let other = block.duplicates.get_or_insert(place as u64, lane as u32) as usize;
                    if other != lane && old != new {
                        self.report_one_op(at, [other, lane], false, launch, block);
                    }
                    return;
                }
                _ => return,
            };
            // Two copies of one value may be outstanding at once, in whichever order they arrive.
            if let Some(copy) =
                self.outstanding_copy(space, lane, (cell, 1), block).filter(|_| !(at.copies && old == new))
            {
                return self.report_outstanding(at, lane, (copy, true), launch, block);
            }
            if look_for_duplicates {
                let place = self.slot_of(lane) * block.shared[idx].n + cell;
                self.check_duplicate(at, lane, place as u64, (old, new), launch, block);
            }
            self.note_writer_of(at, lane, (idx, cell, 1), launch, block);
            if launch.kernel.threaded
                && !at.background
                && let Some(conflict) = self.write_race(at, lane, (idx, cell), (was_written.then_some(old), new), block)
            {
                self.report_conflict(at, lane, conflict, true, launch, block);
            }
        });
        self.live = live;
    }

    /// Can two lanes write one cell? Cells in rising order are all different.
    fn may_repeat(&self, at: At<'_>, addr: Addr) -> bool {
        if addr != Addr::Each || at.n_comps > 1 {
            return true;
        }
        let mut last = None;
        let mut rises = true;
        for_lanes(&self.mask, |lane| {
            let place = (self.slot_of(lane), self.addrs[lane]);
            rises &= last.is_none_or(|last| last < place);
            last = Some(place);
        });
        !rises
    }

    /// In a phased program, two threads that write one cell by one op race if they write different values.
    fn check_duplicate(
        &self,
        at: At<'_>,
        lane: usize,
        key: u64,
        (old, new): (Cell, Cell),
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        let other = block.duplicates.get_or_insert(key, lane as u32) as usize;
        if other != lane {
            self.report_one_op(at, [other, lane], old == new, launch, block);
        }
    }

    /// A cell of an operator's tensor: no other thread writes it.
    fn store_tensor(
        &mut self,
        at: At<'_>,
        tensor: &Global,
        addr: Addr,
        (value, mags): (&[Cell], &[Cell]),
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        if at.access.poison.is_some() {
            self.poison_use(at.access.value, at.access.site, launch, block);
        }
        let poison = &self.poison[at.access.value as usize];
        for_lanes(&self.live, |lane| {
            let cell = self.cell_at(addr, lane);
            let Some(cell) = tensor.find(cell) else { return };
            tensor.cells[cell].store(of_lane(value, lane), Relaxed);
            if let (Some(plane), false) = (&tensor.mags, mags.is_empty()) {
                plane[cell].store(of_lane(mags, lane), Relaxed);
            }
            if let Some(marks) = &tensor.poison {
                let is_poison = poison.get(lane / 64).is_some_and(|bits| bits >> (lane % 64) & 1 == 1);
                marks[cell].store(u8::from(is_poison), Relaxed);
            }
        });
    }

    fn store_global(
        &mut self,
        at: At<'_>,
        idx: usize,
        addr: Addr,
        (value, mags): (&[Cell], &[Cell]),
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        let global = &launch.globals[idx];
        let live = mem::take(&mut self.live);
        let threads = self.per_block * block.warps;
        let look_for_duplicates = !launch.kernel.threaded && threads > 1 && self.may_repeat(at, addr);
        let local_site = at.access.site - launch.kernel.site_base;
        for_lanes(&live, |lane| {
            let cell = self.cell_at(addr, lane);
            let slot = self.slot_of(lane);
            let new = of_lane(value, lane);
            if let Some(trace) = &global.trace {
                return trace.note(cell, block.blocks[slot]);
            }
            let Some(notes) = &global.notes else { return };
            if let Some(copy) = block.copied_from(idx, slot, cell) {
                self.report_source_changed(at, lane, copy, launch, block);
            }
            let was_written = notes.is_written(cell);
            let old = global.cells[cell].load(Relaxed);
            global.cells[cell].store(new, Relaxed);
            if let (Some(plane), false) = (&global.mags, mags.is_empty()) {
                plane[cell].store(of_lane(mags, lane), Relaxed);
            }
            let (own, thread) = (block.blocks[slot], self.thread_in_block(lane, launch));
            let before = Record(notes.writer[cell].swap(Record::new(local_site, thread, own).0, Relaxed));
            let others = [foreign(&notes.readers, cell, own).next(), foreign(&notes.updaters, cell, own).next()];
            let was_read = forget(&notes.readers, cell);
            forget(&notes.updaters, cell);
            if before.is_somebody() && before.block() != own {
                return self.report_blocks(at, lane, before, (true, old == new), launch, block);
            }
            match others {
                [_, Some(updater)] => return self.report_blocks(at, lane, updater, (true, false), launch, block),
                [Some(reader), _] => return self.report_blocks(at, lane, reader, (false, old == new), launch, block),
                [None, None] => {}
            }
            if look_for_duplicates {
                let key = (slot as u64) << 48 | cell as u64;
                let other = block.duplicates.get_or_insert(key, lane as u32) as usize;
                if other != lane {
                    return self.report_one_op(at, [other, lane], old == new, launch, block);
                }
            }
            if launch.kernel.threaded && threads > 1 {
                let who = self.accessor(at, lane);
                let old = was_written.then_some(old);
                if let Some(conflict) = block.global_write((idx, slot, cell), who, (old, new), launch) {
                    return self.report_conflict(at, lane, conflict, true, launch, block);
                }
            }
            let overwrites = before.is_somebody() && before.thread() != thread && old != new;
            if overwrites && !was_read && global.role == Role::Output {
                self.report_overwrite(at, lane, before, launch, block);
            }
        });
        self.live = live;
    }
}
