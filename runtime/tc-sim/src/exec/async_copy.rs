//! Asynchronous copies: begun, put into groups, waited for.
//!
//! A copy reads and writes where it stands, so accesses that nothing orders with it are races there already. What it
//! wrote counts as outstanding until its thread has waited for its group; in a threaded program the cells are then written
//! once more, so that whoever else reads them needs a barrier after the wait. Writes to what is copied from are looked
//! for in the block of the copy; those of other blocks race with its read in any case.

use super::access::{Addr, At};
use super::block::{BlockState, Launch, WARP};
use super::group::{Group, for_lanes};
use crate::code::{NO_REG, Site, Space};
use crate::warp::{AsyncCopy, Region};
use std::mem;

/// The copy of one thread.
#[derive(Clone, Copy, Debug)]
struct OutstandingCopy {
    site: Site,
    lane: usize,
    /// The number of its group among those of its thread.
    group: u32,
    /// The shared buffer, and the cells, those of all blocks counted.
    shared: usize,
    first: usize,
    n_cells: usize,
    /// The buffer and the cells that it reads, if the kernel writes that buffer.
    from: Option<(usize, usize, usize)>,
}

/// The outstanding copies of the threads of a group.
#[derive(Clone, Default, Debug)]
pub(super) struct Copies {
    /// Groups that each lane has made.
    groups: Vec<u32>,
    outstanding: Vec<OutstandingCopy>,
}

impl Copies {
    pub(super) fn new(n: usize) -> Copies {
        Copies { groups: vec![0; n], outstanding: Vec::new() }
    }

    pub(super) fn reset(&mut self) {
        self.groups.fill(0);
        self.outstanding.clear();
    }
}

impl Group {
    pub(super) fn async_copy(&mut self, copy: &AsyncCopy, launch: &Launch<'_>, block: &mut BlockState) {
        block.duplicates.clear();
        let lanes = self.mask.clone();
        let to = self.starts(&copy.to, &lanes, launch, block);
        let mut reading = lanes;
        if copy.when != NO_REG {
            for_lanes(&self.mask, |lane| {
                if self.cell(copy.when, lane) == 0 {
                    reading[lane / 64] &= !(1 << (lane % 64));
                }
            });
        }
        let from = self.starts(&copy.from, &reading, launch, block);
        for (region, starts) in [(&copy.to, &to), (&copy.from, &from)] {
            self.check_copy_aligned(region, (starts, copy.bytes), launch, block);
        }
        let of_to = At { copies: true, ..self.at_region(&copy.to, launch) };
        let of_from = self.at_region(&copy.from, launch);
        let has_mags = launch.domain.has_companions() && of_to.decl.elem.is_float();
        let (mut value, mut mags) = (vec![0; self.n], vec![0; if has_mags { self.n } else { 0 }]);
        for nth in 0..copy.n {
            value.fill(0);
            mags.fill(0);
            self.live.copy_from_slice(&from.inside);
            for_lanes(&from.inside, |lane| self.addrs[lane] = from.at[lane] + nth);
            self.load_cells(of_from, Addr::Each, (&mut value, &mut mags), launch, block);
            self.live.copy_from_slice(&to.inside);
            for_lanes(&to.inside, |lane| self.addrs[lane] = to.at[lane] + nth);
            self.store_cells(of_to, Addr::Each, (&value, &mags), launch, block);
        }
        let (Space::Shared(shared), Space::Global(global)) = (of_to.decl.space, of_from.decl.space) else { return };
        let is_written = launch.kernel.writes.get(global).is_some_and(|&is_written| is_written);
        for_lanes(&to.inside, |lane| {
            let (first, n_cells) = match of_to.decl.window {
                Some(window) => (window.start + to.at[lane] * window.n_cells, copy.n * window.n_cells),
                None => (to.at[lane], copy.n),
            };
            let source = from.of(lane).filter(|_| is_written).map(|start| (global, start, copy.n));
            let copy = OutstandingCopy {
                site: copy.to.access.site,
                lane,
                group: self.copies.groups[lane],
                shared,
                first: self.slot_of(lane) * block.shared[shared].n + first,
                n_cells,
                from: source,
            };
            self.begin(copy, block);
        });
    }

    fn check_copy_aligned(
        &mut self,
        region: &Region,
        (starts, bytes): (&super::warp::Starts, usize),
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        let at = self.at_region(region, launch);
        let base = at.decl.window.map_or(0, |window| window.start_byte);
        for_lanes(&starts.inside, |lane| {
            let byte = base + starts.at[lane] * at.decl.elem.bytes() as usize;
            if !byte.is_multiple_of(bytes) {
                self.addrs[lane] = starts.at[lane];
                let what = format!("both ends of an asynchronous copy of {bytes} bytes start at a multiple of {bytes}");
                self.report_unaligned(at, lane, (byte, bytes), &what, launch, block);
            }
        });
    }

    fn begin(&mut self, copy: OutstandingCopy, block: &mut BlockState) {
        let shared = &mut block.shared[copy.shared];
        shared.copies.resize(shared.cells.len(), 0);
        shared.copies[copy.first..copy.first + copy.n_cells].fill(copy.site + 1);
        if let Some((global, start, n)) = copy.from {
            let slot = self.slot_of(copy.lane);
            (start..start + n).for_each(|cell| block.begin_reading((global, slot, cell), copy.site));
        }
        self.copies.outstanding.push(copy);
    }

    pub(super) fn commit_group(&mut self) {
        for_lanes(&self.mask, |lane| self.copies.groups[lane] += 1);
    }

    /// What the groups copied that are older than the youngest `pending` is there.
    pub(super) fn wait_group(&mut self, pending: u32, launch: &Launch<'_>, block: &mut BlockState) {
        let mut outstanding = mem::take(&mut self.copies.outstanding);
        outstanding.retain(|copy| {
            let waits = self.mask[copy.lane / 64] >> (copy.lane % 64) & 1 == 1;
            let is_outstanding = copy.group >= self.copies.groups[copy.lane].saturating_sub(pending);
            if waits && !is_outstanding {
                self.land(copy, launch, block);
            }
            !waits || is_outstanding
        });
        self.copies.outstanding = outstanding;
    }

    fn land(&self, copy: &OutstandingCopy, launch: &Launch<'_>, block: &mut BlockState) {
        let slot = self.slot_of(copy.lane);
        for place in copy.first..copy.first + copy.n_cells {
            let shared = &mut block.shared[copy.shared];
            shared.copies[place] = 0;
            if launch.kernel.threaded {
                let (value, cell) = (shared.cells[place], place - slot * shared.n);
                let who = (self.thread_of(copy.lane), copy.site, self.warp_epochs[self.crew_of(copy.lane, WARP)]);
                block.shared_land((copy.shared, slot, cell), who, value);
            }
        }
        if let Some((global, start, n)) = copy.from {
            (start..start + n).for_each(|cell| block.end_reading((global, slot, cell)));
        }
    }

    /// The program is over: copies that no thread has waited for are reported.
    pub(super) fn report_unawaited(&self, launch: &Launch<'_>, block: &mut BlockState) {
        for copy in &self.copies.outstanding {
            self.report_not_awaited((copy.site, copy.lane), launch, block);
        }
    }
}
