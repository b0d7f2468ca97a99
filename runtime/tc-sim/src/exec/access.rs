//! Loads and stores: bounds, alignment, who wrote what, and in what order.

use super::block::{BlockState, Launch};
use super::group::{Group, first_lane, for_lanes};
use crate::cell::Cell;
use crate::code::{Access, BufDecl, NO_REG, Space};
use crate::finding::FindingKind;
use crate::memory::{Global, Record, Role};
use std::mem;
use std::sync::atomic::Ordering::Relaxed;

/// The cells that the lanes of one component access.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Addr {
    /// All the same.
    One(usize),
    /// Each its own, in `Group::addrs`.
    Each,
}

/// An access in progress: the op, its buffer, the component at hand.
#[derive(Clone, Copy)]
pub(crate) struct At<'a> {
    pub(crate) access: &'a Access,
    pub(crate) decl: &'a BufDecl,
    pub(crate) comp: usize,
    pub(crate) n_comps: usize,
}

impl Group {
    fn at<'a>(&self, access: &'a Access, launch: &Launch<'a>) -> At<'a> {
        let decl = &launch.kernel.buffers[access.buf as usize];
        At { access, decl, comp: 0, n_comps: usize::from(access.index_lanes.max(decl.lanes)) }
    }

    /// The index in dimension `dim` of a lane.
    pub(crate) fn index(&self, at: At<'_>, dim: usize, lane: usize) -> i64 {
        let cells = &self.regs[at.access.indices[dim] as usize];
        let is_vector = at.access.index_lanes > 1 && dim + 1 == at.access.indices.len();
        let start = if is_vector { at.comp * self.n } else { 0 };
        (if cells.len() == 1 { cells[0] } else { cells[start + lane] }) as i64
    }

    /// Finds the cells that one component accesses. Lanes that are out of bounds leave `self.live`.
    fn address(&mut self, at: At<'_>, launch: &Launch<'_>, block: &mut BlockState) -> Addr {
        self.live.copy_from_slice(&self.mask);
        let (mut fixed, mut bad, mut addr) = (0i64, false, Addr::One(0));
        for (dim, (&extent, &stride)) in at.decl.shape.iter().zip(&at.decl.strides).enumerate() {
            let cells = &self.regs[at.access.indices[dim] as usize];
            if cells.len() == 1 {
                bad |= cells[0] >= extent;
                fixed = fixed.wrapping_add((cells[0] as i64).wrapping_mul(stride));
                continue;
            }
            let is_vector = at.access.index_lanes > 1 && dim + 1 == at.access.indices.len();
            let start = if is_vector { at.comp * self.n } else { 0 };
            let is_first = mem::replace(&mut addr, Addr::Each) != Addr::Each;
            for (addr, &cell) in self.addrs.iter_mut().zip(&cells[start..start + self.n]) {
                bad |= cell >= extent;
                let part = (cell as i64).wrapping_mul(stride) as usize;
                *addr = if is_first { part } else { addr.wrapping_add(part) };
            }
        }
        if bad {
            self.leave_out_of_bounds(at, launch, block);
        }
        let lanes = usize::from(at.decl.lanes);
        let comp = if lanes > 1 { at.comp } else { 0 };
        let fixed = fixed as usize;
        match addr {
            Addr::One(_) => Addr::One(fixed.wrapping_mul(lanes).wrapping_add(comp)),
            Addr::Each => {
                for addr in &mut self.addrs {
                    *addr = addr.wrapping_add(fixed).wrapping_mul(lanes).wrapping_add(comp);
                }
                Addr::Each
            }
        }
    }

    fn leave_out_of_bounds(&mut self, at: At<'_>, launch: &Launch<'_>, block: &mut BlockState) {
        let mut out = mem::take(&mut self.live);
        let active = out.clone();
        for_lanes(&active, |lane| {
            let inside =
                at.decl.shape.iter().enumerate().all(|(dim, &extent)| (self.index(at, dim, lane) as u64) < extent);
            if inside {
                return;
            }
            out[lane / 64] &= !(1 << (lane % 64));
            if at.access.poison.is_none() {
                self.report_out_of_bounds(at, lane, launch, block);
            }
        });
        self.live = out;
    }

    /// Does an access that says so start at a multiple of its alignment, without gaps?
    fn check_aligned(&self, at: At<'_>, addr: Addr, first: &[usize], launch: &Launch<'_>, block: &mut BlockState) {
        let bytes = at.decl.elem.bytes() as usize;
        let aligned = at.access.aligned as usize;
        let addr_of = |lane: usize| match addr {
            Addr::One(addr) => addr,
            Addr::Each => self.addrs[lane],
        };
        for_lanes(&self.live, |lane| {
            let addr = addr_of(lane);
            if at.comp == 0 && !(addr * bytes).is_multiple_of(aligned) {
                self.report_misaligned(at, lane, addr * bytes, launch, block);
            } else if at.comp > 0 && addr != first[lane] + at.comp {
                self.report_gap(at, lane, launch, block);
            }
        });
    }

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
            match at.decl.space {
                Space::Local(idx) => self.load_local(at, idx, addr, &mut value[part], mags, launch, block),
                Space::Shared(idx) => self.load_shared(at, idx, addr, &mut value[part], mags, launch, block),
                Space::Global(idx) if launch.cells.is_some() => {
                    self.load_tensor(at, &launch.globals[idx], addr, &mut value[part], mags);
                }
                Space::Global(idx) => self.load_global(at, idx, addr, &mut value[part], mags, launch, block),
            }
        }
        self.regs[access.value as usize] = value;
        if access.mag != NO_REG {
            self.regs[access.mag as usize] = mag;
        }
    }

    fn spelled_out(&self, addr: Addr) -> Vec<usize> {
        match addr {
            Addr::One(addr) => vec![addr; self.n],
            Addr::Each => self.addrs.clone(),
        }
    }

    #[allow(clippy::too_many_arguments, reason = "the two planes of a register and the state of the run")]
    fn load_local(
        &mut self,
        at: At<'_>,
        idx: usize,
        addr: Addr,
        value: &mut [Cell],
        mags: &mut [Cell],
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        let (n, words) = (self.n, self.words);
        let local = &self.locals[idx];
        let mut missing = None;
        if first_lane(&self.live).is_none() {
            return;
        }
        match addr {
            Addr::One(cell) => {
                let written = &local.written[cell * words..(cell + 1) * words];
                let unwritten: Vec<u64> =
                    self.live.iter().zip(written).map(|(live, written)| live & !written).collect();
                missing = first_lane(&unwritten);
                value.copy_from_slice(&local.cells[cell * n..(cell + 1) * n]);
                if !mags.is_empty() {
                    mags.copy_from_slice(&local.mags[cell * n..(cell + 1) * n]);
                }
            }
            Addr::Each => for_lanes(&self.live, |lane| {
                let cell = self.addrs[lane];
                if local.written[cell * words + lane / 64] >> (lane % 64) & 1 == 0 {
                    missing.get_or_insert(lane);
                }
                value[lane] = local.cells[cell * n + lane];
                if !mags.is_empty() {
                    mags[lane] = local.mags[cell * n + lane];
                }
            }),
        }
        if let Some(lane) = missing {
            self.report_access(FindingKind::Uninitialised, at, lane, launch, block);
        }
    }

    #[allow(clippy::too_many_arguments, reason = "the two planes of a register and the state of the run")]
    fn load_shared(
        &mut self,
        at: At<'_>,
        idx: usize,
        addr: Addr,
        value: &mut [Cell],
        mags: &mut [Cell],
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        let live = mem::take(&mut self.live);
        for_lanes(&live, |lane| {
            let slot = self.slot_of(lane);
            let shared = &block.shared[idx];
            let cell = match addr {
                Addr::One(cell) => cell,
                Addr::Each => self.addrs[lane],
            };
            let place = slot * shared.n + cell;
            let found = shared.cells[place];
            value[lane] = found;
            if !mags.is_empty() {
                mags[lane] = shared.mags[place];
            }
            if !shared.written[place] {
                self.report_access(FindingKind::Uninitialised, at, lane, launch, block);
            }
            if launch.kernel.threaded {
                let who = (self.thread_of(lane), at.access.site, self.warp_epochs[slot]);
                let (shadow, now, sets) = block.shared_shadow(idx, slot, cell, who);
                if let Some(conflict) = shadow.read(now, found, sets) {
                    self.report_conflict(at, lane, conflict, false, launch, block);
                }
            }
        });
        self.live = live;
    }

    /// A read of a tensor of an operator: out of range is poison.
    fn load_tensor(&mut self, at: At<'_>, tensor: &Global, addr: Addr, value: &mut [Cell], mags: &mut [Cell]) {
        let access = at.access;
        let mut poison = mem::take(&mut self.poison[access.value as usize]);
        for (word, bits) in poison.iter_mut().enumerate() {
            *bits = self.mask[word] & !self.live[word];
        }
        for &index in access.poison.iter().flatten() {
            poison.iter_mut().zip(&self.poison[index as usize]).for_each(|(bits, of_index)| *bits |= of_index);
        }
        for_lanes(&self.mask, |lane| {
            let bit = 1 << (lane % 64);
            if self.live[lane / 64] & bit == 0 {
                value[lane] = 0;
                self.culprits[lane] = access.site;
                return;
            }
            let cell = match addr {
                Addr::One(cell) => cell,
                Addr::Each => self.addrs[lane],
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
        self.poison[access.value as usize] = poison;
    }

    #[allow(clippy::too_many_arguments, reason = "the two planes of a register and the state of the run")]
    fn load_global(
        &mut self,
        at: At<'_>,
        idx: usize,
        addr: Addr,
        value: &mut [Cell],
        mags: &mut [Cell],
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        let global = &launch.globals[idx];
        let live = mem::take(&mut self.live);
        let written_here = launch.kernel.writes[idx];
        let local_site = at.access.site - launch.kernel.site_base;
        for_lanes(&live, |lane| {
            let cell = match addr {
                Addr::One(cell) => cell,
                Addr::Each => self.addrs[lane],
            };
            let found = global.cells[cell].load(Relaxed);
            value[lane] = found;
            if let (Some(plane), false) = (&global.mags, mags.is_empty()) {
                mags[lane] = plane[cell].load(Relaxed);
            }
            let Some(notes) = &global.notes else { return };
            if !notes.is_written(cell) {
                self.report_access(FindingKind::Uninitialised, at, lane, launch, block);
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
            if let Some([first, second]) = &notes.readers {
                let record = Record::new(local_site, self.thread_of(lane), own);
                let seen = Record(first[cell].load(Relaxed));
                if !seen.is_somebody() {
                    first[cell].store(record.0, Relaxed);
                } else if seen.block() != own {
                    second[cell].store(record.0, Relaxed);
                }
            }
            if launch.kernel.threaded && self.per_block * block.warps > 1 {
                let who = (self.thread_of(lane), at.access.site, self.warp_epochs[slot]);
                let shadow = block.global_shadow((idx, slot, cell), who, launch);
                if let Some(conflict) = shadow.and_then(|(shadow, now, sets)| shadow.read(now, found, sets)) {
                    self.report_conflict(at, lane, conflict, false, launch, block);
                }
            }
        });
        self.live = live;
    }

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
            match at.decl.space {
                Space::Local(idx) => self.store_local(idx, addr, value, mags),
                Space::Shared(idx) => self.store_shared(at, idx, addr, value, mags, launch, block),
                Space::Global(idx) if launch.cells.is_some() => {
                    self.store_tensor(at, &launch.globals[idx], addr, value, mags, launch, block)
                }
                Space::Global(idx) => self.store_global(at, idx, addr, value, mags, launch, block),
            }
        }
        self.regs[access.value as usize] = value;
        if access.mag != NO_REG {
            self.regs[access.mag as usize] = mag;
        }
    }

    fn store_local(&mut self, idx: usize, addr: Addr, value: &[Cell], mags: &[Cell]) {
        let (n, words) = (self.n, self.words);
        let local = &mut self.locals[idx];
        let of = |cells: &[Cell], lane: usize| if cells.len() == 1 { cells[0] } else { cells[lane] };
        if let (Addr::One(cell), true, true) = (addr, self.live == self.all, value.len() == n) {
            local.cells[cell * n..(cell + 1) * n].copy_from_slice(value);
            if !mags.is_empty() {
                let place = &mut local.mags[cell * n..(cell + 1) * n];
                place.iter_mut().enumerate().for_each(|(lane, place)| *place = of(mags, lane));
            }
            local.written[cell * words..(cell + 1) * words].copy_from_slice(&self.all);
            return;
        }
        for_lanes(&self.live, |lane| {
            let cell = match addr {
                Addr::One(cell) => cell,
                Addr::Each => self.addrs[lane],
            };
            local.cells[cell * n + lane] = of(value, lane);
            if !mags.is_empty() {
                local.mags[cell * n + lane] = of(mags, lane);
            }
            local.written[cell * words + lane / 64] |= 1 << (lane % 64);
        });
    }

    #[allow(clippy::too_many_arguments, reason = "the two planes of a register and the state of the run")]
    fn store_shared(
        &mut self,
        at: At<'_>,
        idx: usize,
        addr: Addr,
        value: &[Cell],
        mags: &[Cell],
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        let live = mem::take(&mut self.live);
        let look_for_duplicates = !launch.kernel.threaded && self.may_repeat(at, addr);
        for_lanes(&live, |lane| {
            let slot = self.slot_of(lane);
            let cell = match addr {
                Addr::One(cell) => cell,
                Addr::Each => self.addrs[lane],
            };
            let new = if value.len() == 1 { value[0] } else { value[lane] };
            let shared = &mut block.shared[idx];
            let place = slot * shared.n + cell;
            let old = shared.cells[place];
            let was_written = mem::replace(&mut shared.written[place], true);
            shared.cells[place] = new;
            if !mags.is_empty() {
                shared.mags[place] = if mags.len() == 1 { mags[0] } else { mags[lane] };
            }
            if look_for_duplicates {
                self.check_duplicate(at, lane, place as u64, (old, new), launch, block);
            }
            if launch.kernel.threaded {
                let who = (self.thread_of(lane), at.access.site, self.warp_epochs[slot]);
                let (shadow, now, sets) = block.shared_shadow(idx, slot, cell, who);
                if let Some(conflict) = shadow.write(now, was_written.then_some(old), new, sets) {
                    self.report_conflict(at, lane, conflict, true, launch, block);
                }
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

    /// A cell of an operator's tensor: nobody else writes it.
    #[allow(clippy::too_many_arguments, reason = "the two planes of a register and the state of the run")]
    fn store_tensor(
        &mut self,
        at: At<'_>,
        tensor: &Global,
        addr: Addr,
        value: &[Cell],
        mags: &[Cell],
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        if at.access.poison.is_some() {
            self.poison_use(at.access.value, at.access.site, launch, block);
        }
        let of = |cells: &[Cell], lane: usize| if cells.len() == 1 { cells[0] } else { cells[lane] };
        let poison = &self.poison[at.access.value as usize];
        for_lanes(&self.live, |lane| {
            let cell = match addr {
                Addr::One(cell) => cell,
                Addr::Each => self.addrs[lane],
            };
            tensor.cells[cell].store(of(value, lane), Relaxed);
            if let (Some(plane), false) = (&tensor.mags, mags.is_empty()) {
                plane[cell].store(of(mags, lane), Relaxed);
            }
            if let Some(marks) = &tensor.poison {
                let is_poison = poison.get(lane / 64).is_some_and(|bits| bits >> (lane % 64) & 1 == 1);
                marks[cell].store(u8::from(is_poison), Relaxed);
            }
        });
    }

    #[allow(clippy::too_many_arguments, reason = "the two planes of a register and the state of the run")]
    fn store_global(
        &mut self,
        at: At<'_>,
        idx: usize,
        addr: Addr,
        value: &[Cell],
        mags: &[Cell],
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        let global = &launch.globals[idx];
        let live = mem::take(&mut self.live);
        let threads = self.per_block * block.warps;
        let look_for_duplicates = !launch.kernel.threaded && threads > 1 && self.may_repeat(at, addr);
        let local_site = at.access.site - launch.kernel.site_base;
        for_lanes(&live, |lane| {
            let cell = match addr {
                Addr::One(cell) => cell,
                Addr::Each => self.addrs[lane],
            };
            let slot = self.slot_of(lane);
            let new = if value.len() == 1 { value[0] } else { value[lane] };
            let Some(notes) = &global.notes else { return };
            let was_written = notes.is_written(cell);
            let old = global.cells[cell].load(Relaxed);
            global.cells[cell].store(new, Relaxed);
            if let (Some(plane), false) = (&global.mags, mags.is_empty()) {
                plane[cell].store(if mags.len() == 1 { mags[0] } else { mags[lane] }, Relaxed);
            }
            let (own, thread) = (block.blocks[slot], self.thread_of(lane));
            let before = Record(notes.writer[cell].swap(Record::new(local_site, thread, own).0, Relaxed));
            let readers =
                notes.readers.as_ref().map(|readers| [0, 1].map(|nth| Record(readers[nth][cell].swap(0, Relaxed))));
            let foreign = |record: &Record| record.is_somebody() && record.block() != own;
            if foreign(&before) {
                return self.report_blocks(at, lane, before, (true, old == new), launch, block);
            }
            if let Some(&reader) = readers.iter().flatten().find(|record| foreign(record)) {
                return self.report_blocks(at, lane, reader, (false, old == new), launch, block);
            }
            if look_for_duplicates {
                let key = (slot as u64) << 48 | cell as u64;
                let other = block.duplicates.get_or_insert(key, lane as u32) as usize;
                if other != lane {
                    return self.report_one_op(at, [other, lane], old == new, launch, block);
                }
            }
            if launch.kernel.threaded && threads > 1 {
                let who = (thread, at.access.site, self.warp_epochs[slot]);
                let shadow = block.global_shadow((idx, slot, cell), who, launch);
                let old = was_written.then_some(old);
                if let Some(conflict) = shadow.and_then(|(shadow, now, sets)| shadow.write(now, old, new, sets)) {
                    return self.report_conflict(at, lane, conflict, true, launch, block);
                }
            }
            let was_read = readers.iter().flatten().any(|record| record.is_somebody());
            let overwrites = before.is_somebody() && before.thread() != thread && old != new;
            if overwrites && !was_read && global.role == Role::Output {
                self.report_overwrite(at, lane, before, launch, block);
            }
        });
        self.live = live;
    }
}
