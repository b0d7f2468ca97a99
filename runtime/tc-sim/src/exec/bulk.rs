//! Bulk copies of boxes of tensors to shared memory.
//!
//! The lanes of a group share the elements of a box out, whoever of them began the copy. What is written counts as done by
//! the barrier at which the copy reports, so that whoever accesses it needs to have waited there.

use super::access::{Addr, At};
use super::block::{BlockState, Launch};
use super::group::{Group, first_lane, for_lanes};
use super::mbarrier::InFlight;
use crate::clock::{Moment, SHARED};
use crate::code::{Site, Space};
use crate::tensor::unravel;
use crate::warp::{BarrierPlace, BulkCopy, BulkWay, Region};
use tc_dialects::wgmma::mixed;
use tc_target::maps::GRAIN;

/// Where bulk copies that report at a barrier go in the memory of a block: to a multiple of so many bytes.
const BULK_BYTES: usize = 128;

/// The barrier at which a copy reports: its number, and its current phase.
type Reports = (usize, u32);

impl Group {
    pub(super) fn bulk_copy(&mut self, copy: &BulkCopy, launch: &Launch<'_>, block: &mut BlockState) {
        block.duplicates.clear();
        let barrier = match &copy.way {
            BulkWay::Load(barrier) => barrier,
            BulkWay::Store { background, update } => {
                return self.bulk_store(copy, (*background, *update), launch, block);
            }
        };
        if let Some(place) = barrier {
            let mut lanes = Vec::new();
            for_lanes(&self.mask, |lane| lanes.push(lane));
            for lane in lanes {
                let own = self.own_slot(lane);
                let slots = if copy.multicast { 0..block.blocks.len().max(1) } else { own..own + 1 };
                for slot in slots {
                    self.toward = (slot != own).then_some(slot);
                    self.copy_reporting(copy, place, lane, launch, block);
                }
                self.toward = None;
            }
            return;
        }
        for slot in 0..self.n / self.per_block {
            let lanes = slot * self.per_block..(slot + 1) * self.per_block;
            let is_in = |mask: &[u64], lane: usize| mask[lane / 64] >> (lane % 64) & 1 == 1;
            let Some(first) = lanes.clone().find(|&lane| is_in(&self.mask, lane)) else { continue };
            if let Some(absent) = lanes.clone().find(|&lane| is_in(&self.all, lane) && !is_in(&self.mask, lane)) {
                self.report_partial_block(copy.site, [first, absent], launch, block);
            }
            let regs = || copy.to.access.indices.iter().chain(&copy.from.access.indices);
            let differs = |&lane: &usize| regs().any(|&reg| self.cell(reg, lane) != self.cell(reg, first));
            let other = lanes.filter(|&lane| is_in(&self.mask, lane)).find(differs);
            if let Some(other) = other {
                self.report_copies_differ(copy.site, [first, other], launch, block);
            }
            self.copy_box(copy, first, None, launch, block);
        }
    }

    /// The copy of one lane to one block, which reports at a barrier.
    fn copy_reporting(
        &mut self,
        copy: &BulkCopy,
        place: &BarrierPlace,
        lane: usize,
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        let mut reports = None;
        // A slice of a program has no barriers.
        if launch.kernel.warpgroups.clocked {
            let number = self.barrier_of(place, lane, launch, block);
            let Some(number) = number.filter(|&number| self.may_report(lane, number, copy.site, launch, block)) else {
                return;
            };
            reports = Some((number, block.barriers[number].phase));
        }
        self.copy_box(copy, lane, reports, launch, block);
    }

    /// May a copy report at the barrier?
    fn may_report(&self, lane: usize, number: usize, site: Site, launch: &Launch<'_>, block: &mut BlockState) -> bool {
        if !self.uses((lane, number), ("tma.load", site), launch, block) {
            return false;
        }
        let barrier = &block.barriers[number];
        if let (false, Some(made)) = (barrier.fenced, barrier.made) {
            block.report_not_fenced(number, (site, self.thread_of(lane)), made, launch);
        }
        true
    }

    /// The copy of one lane.
    fn copy_box(
        &mut self,
        copy: &BulkCopy,
        lane: usize,
        reports: Option<Reports>,
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        block.steps += (copy.n / 32) as u64;
        self.speaker = Some(lane);
        let mut only = vec![0; self.words];
        only[lane / 64] |= 1 << (lane % 64);
        if let Some(start) = self.starts(&copy.to, &only, launch, block).of(lane) {
            self.copy_to(copy, (lane, start), reports, launch, block);
        }
        self.speaker = None;
        if let Some((barrier, _)) = reports {
            let by = (copy.site, self.thread_of(lane));
            block.in_flight.push(InFlight { barrier, bytes: copy.bytes as u64, by });
        }
    }

    fn copy_to(
        &mut self,
        copy: &BulkCopy,
        (lane, start): (usize, usize),
        reports: Option<Reports>,
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        let to = At { background: true, ..self.at_region(&copy.to, launch) };
        let from = self.at_region(&copy.from, launch);
        let sources = self.box_elements(copy, &copy.from, from, lane);
        self.check_box_start((copy, &copy.from), from, (lane, reports.is_some()), launch, block);
        let targets = self.shared_elements(copy, &copy.to, to, (lane, start), reports.is_some(), launch, block);
        let zero = launch.domain.literal(to.decl.elem, 0);
        let has_mags = launch.domain.has_companions() && to.decl.elem.is_float();
        let (mut value, mut mags) = (vec![0; self.n], vec![0; if has_mags { self.n } else { 0 }]);
        let workers = self.workers(lane);
        for (sources, targets) in sources.chunks(workers.len()).zip(targets.chunks(workers.len())) {
            value.fill(zero.0);
            mags.fill(zero.1);
            self.live.fill(0);
            for (&source, &lane) in sources.iter().zip(&workers) {
                let Some(source) = source else { continue };
                self.addrs[lane] = source;
                self.live[lane / 64] |= 1 << (lane % 64);
            }
            if first_lane(&self.live).is_some() {
                self.load_cells(from, Addr::Each, (&mut value, &mut mags), launch, block);
            }
            self.live.fill(0);
            for (&target, &lane) in targets.iter().zip(&workers) {
                self.addrs[lane] = target;
                self.live[lane / 64] |= 1 << (lane % 64);
            }
            self.store_cells(to, Addr::Each, (&value, &mags), launch, block);
        }
        self.note_bulk_writes((to, lane), &targets, reports, launch, block);
    }

    /// The lanes that share out what a copy of `lane` moves: all of its block.
    pub(super) fn workers(&self, lane: usize) -> Vec<usize> {
        let first = lane / self.per_block * self.per_block;
        let lanes = first..first + self.per_block;
        lanes.filter(|&lane| self.all[lane / 64] >> (lane % 64) & 1 == 1).collect()
    }

    /// A box of the hardware starts at a multiple of so many bytes of a row, inside of the tensor or not.
    pub(super) fn check_box_start(
        &self,
        (copy, region): (&BulkCopy, &Region),
        at: At<'_>,
        (lane, background): (usize, bool),
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        let Some(&column) = region.access.indices.last().filter(|_| background) else { return };
        let column = self.cell(column, lane) as i64;
        let byte = i128::from(column) * i128::from(at.decl.elem.bytes());
        if byte % i128::from(GRAIN) != 0 {
            self.report_box_start((at, lane), (copy.site, column), launch, block);
        }
    }

    /// The elements of the tensor that the box has, row by row; `None` for those outside.
    pub(super) fn box_elements(&self, copy: &BulkCopy, region: &Region, at: At<'_>, lane: usize) -> Vec<Option<usize>> {
        let corner: Vec<i64> = region.access.indices.iter().map(|&reg| self.cell(reg, lane) as i64).collect();
        let decl = at.decl;
        let element = |nth: usize| {
            let mut flat = 0usize;
            let index = unravel(nth as u64, &region.lengths);
            for (dim, (&nth, &extent)) in index.iter().zip(&decl.shape).enumerate() {
                let offset = (nth as i64).checked_mul(copy.steps[dim]);
                let at = offset.and_then(|offset| corner[dim].checked_add(offset));
                let at = at.and_then(|at| u64::try_from(at).ok());
                let at = at.filter(|&at| at < extent)?;
                flat += at as usize * decl.strides[dim] as usize;
            }
            Some(flat)
        };
        (0..copy.n).map(element).collect()
    }

    /// The elements of the shared buffer that are copied to or from, in the order of the box. In the background a copy is
    /// done by the hardware, which wants them aligned.
    #[expect(clippy::too_many_arguments, reason = "the place, who asks, and where things are noted")]
    pub(super) fn shared_elements(
        &mut self,
        copy: &BulkCopy,
        region: &Region,
        at: At<'_>,
        (lane, start): (usize, usize),
        background: bool,
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) -> Vec<usize> {
        let bytes = at.decl.elem.bytes() as usize;
        let base = at.decl.window.map_or(0, |window| window.start_byte);
        let first = base + start * bytes;
        let multiple = match (copy.swizzle, background) {
            (0, true) => BULK_BYTES,
            (0, false) => 1,
            (swizzle, _) => 8 * swizzle,
        };
        if !first.is_multiple_of(multiple) {
            self.addrs[lane] = start;
            let goes = if matches!(copy.way, BulkWay::Load(_)) { "goes to" } else { "begins at" };
            let what = match copy.swizzle {
                0 => format!("a bulk copy {goes} a multiple of {multiple} bytes"),
                swizzle => format!("a bulk copy with `swizzle = {swizzle}` {goes} a multiple of {multiple} bytes"),
            };
            self.report_unaligned(at, lane, (first, multiple), &what, launch, block);
        }
        let element = |nth: usize| {
            let index = unravel(nth as u64, &region.lengths);
            let steps = index.iter().zip(&at.decl.strides).map(|(&step, &stride)| step as usize * stride as usize);
            let plain = start + steps.sum::<usize>();
            let address = mixed((base + plain * bytes) as i64, copy.swizzle as i64);
            let element =
                usize::try_from(address).ok().and_then(|byte| byte.checked_sub(base)).map(|byte| byte / bytes);
            // Where it starts at an odd place, which is reported, pieces would leave the buffer.
            element.filter(|&element| element < at.decl.elements()).unwrap_or(plain)
        };
        (0..copy.n).map(element).collect()
    }

    /// Who wrote the cells of a bulk copy, and what that conflicts with.
    fn note_bulk_writes(
        &mut self,
        (to, lane): (At<'_>, usize),
        targets: &[usize],
        reports: Option<Reports>,
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        let Space::Shared(idx) = to.decl.space else { return };
        let BlockState { shared, clocks, .. } = block;
        let shared = &mut shared[idx];
        shared.by_bulk.resize(shared.cells.len(), false);
        let first = self.slot_of(lane) * shared.n;
        let mut found = None;
        for &element in targets {
            for cell in to.cells(element) {
                shared.by_bulk[first + cell] = true;
                let (Some(clocks), Some((number, phase))) = (clocks.as_ref(), reports) else { continue };
                let issuer = clocks.moment(SHARED, self.thread_of(lane), to.access.site);
                let now = Moment { actor: clocks.copies(number), clock: phase + 1, ..issuer };
                let conflict = shared.history[first + cell].write(now, None, shared.cells[first + cell]);
                found = found.or(conflict.map(|conflict| (element, conflict)));
            }
        }
        if let Some((element, conflict)) = found {
            self.addrs[lane] = element;
            self.report_background((to, lane), conflict, true, launch, block);
        }
    }
}
