//! What threads do with barriers in shared memory, and how bulk copies come there.
//!
//! Bulk copies write where they are begun, and come to their barrier when the group of their thread stops. Whoever reads
//! what they bring must have waited for that phase, so it does not matter when in between they write.

use super::block::{BlockState, Launch};
use super::group::{Event, Group, first_lane, for_lanes};
use crate::clock::SHARED;
use crate::code::{Reg, Site};
use crate::mbarrier::{Doing, Progress};
use crate::race::Conflict;
use crate::warp::{BarrierInstr, BarrierOp, BarrierPlace};

/// A wait that does not go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Waiting {
    /// The number of the barrier.
    pub(super) barrier: usize,
    pub(super) parity: u32,
    pub(super) site: Site,
    /// The first thread that waits, and how many do.
    pub(super) thread: u32,
    pub(super) n: usize,
}

/// A bulk copy that has not come to its barrier.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InFlight {
    pub(super) barrier: usize,
    pub(super) bytes: u64,
    pub(super) by: Doing,
}

impl Group {
    pub(super) fn mbarrier(
        &mut self,
        instr: &BarrierInstr,
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) -> Option<Event> {
        let Some(place) = &instr.place else {
            self.fence_init(block);
            return None;
        };
        let mut named = self.barriers_at(place, launch, block);
        if let Some(of) = instr.block {
            self.toward_blocks(&mut named, of, instr, launch, block);
        }
        match instr.op {
            BarrierOp::Init(count) => {
                named.into_iter().for_each(|(lane, number)| self.init((lane, number), count, instr, launch, block));
            }
            BarrierOp::FenceInit => self.fence_init(block),
            BarrierOp::Arrive(bytes) => {
                for (lane, number) in named {
                    if self.uses((lane, number), (instr.name, instr.site), launch, block) {
                        let by = (instr.site, self.thread_of(lane));
                        if instr.block.is_some() {
                            block.reach(number, by, launch);
                        }
                        block.arrive((number, instr.block.is_some()), bytes, by, launch);
                    }
                }
            }
            BarrierOp::Wait(parity) => {
                let &(lane, number) = named.first()?;
                let parities: Vec<u64> = named.iter().map(|&(lane, _)| self.cell(parity, lane)).collect();
                if let Some(nth) = (0..named.len()).find(|&nth| (named[nth].1, parities[nth]) != (number, parities[0]))
                {
                    self.report_waits_apart(instr, [lane, named[nth].0], launch, block);
                }
                if parities[0] > 1 {
                    block.report_parity(instr, (self.thread_of(lane), parities[0] as i64), launch);
                }
                return self.wait(&named, (number, parities[0] as u32 & 1), instr, launch, block);
            }
        }
        None
    }

    /// The barriers that the lanes name, each with its lane.
    fn barriers_at(
        &mut self,
        place: &BarrierPlace,
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) -> Vec<(usize, usize)> {
        let lanes = self.mask.clone();
        let starts = self.starts(&place.region, &lanes, launch, block);
        let mut named = Vec::new();
        let n = launch.kernel.n_barriers();
        for_lanes(&starts.inside, |lane| {
            named.push((lane, self.slot_of(lane) * n + place.first + starts.at[lane]));
        });
        named.retain(|&(_, number)| number < block.barriers.len());
        named
    }

    /// Those of other blocks of the cluster in their place, whose numbers are in `of`.
    fn toward_blocks(
        &self,
        named: &mut Vec<(usize, usize)>,
        of: Reg,
        instr: &BarrierInstr,
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        let (n, n_blocks) = (launch.kernel.n_barriers(), block.blocks.len());
        named.retain_mut(|(lane, number)| {
            let rank = self.cell(of, *lane) as i64;
            let known = usize::try_from(rank).ok().filter(|&rank| rank < n_blocks);
            match known {
                Some(rank) => *number = rank * n + *number % n,
                None => block.report_block_of_cluster(instr, (self.thread_of(*lane), rank), launch),
            }
            known.is_some()
        });
    }

    /// The barrier that one lane names.
    pub(super) fn barrier_of(
        &mut self,
        place: &BarrierPlace,
        lane: usize,
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) -> Option<usize> {
        let named = self.barriers_at(place, launch, block);
        named.into_iter().find(|&(other, _)| other == lane).map(|(_, number)| number)
    }

    fn init(
        &self,
        (lane, number): (usize, usize),
        count: u32,
        instr: &BarrierInstr,
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        let (thread, site) = (self.thread_of(lane), instr.site);
        let Some(clocks) = &block.clocks else { return };
        let barrier = &mut block.barriers[number];
        let conflict = barrier.history.write(clocks.moment(SHARED, thread, site), None, 0);
        let before = barrier.made.filter(|_| barrier.used);
        barrier.init(count, (site, thread), clocks);
        if let Some(Conflict { other, .. }) = conflict {
            block.report_unordered_use((number, instr.name), (site, thread), (other.site, other.thread), launch);
        } else if let Some(before) = before {
            block.report_init_again(number, (site, thread), before, launch);
        }
    }

    fn fence_init(&self, block: &mut BlockState) {
        for_lanes(&self.mask, |lane| {
            let thread = self.thread_of(lane);
            for barrier in &mut block.barriers {
                barrier.fenced |= barrier.made.is_some_and(|(_, by)| by == thread);
            }
        });
    }

    /// A thread uses a barrier, by the op called `name`. Is it ready?
    pub(super) fn uses(
        &self,
        (lane, number): (usize, usize),
        (name, site): (&'static str, Site),
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) -> bool {
        let thread = self.thread_of(lane);
        let Some(clocks) = &block.clocks else { return false };
        let barrier = &mut block.barriers[number];
        if barrier.made.is_none() {
            block.report_not_ready((number, name), (site, thread), launch);
            return false;
        }
        barrier.used = true;
        if let Some(Conflict { other, .. }) = barrier.history.read(clocks.moment(SHARED, thread, site), 0) {
            block.report_unordered_use((number, name), (site, thread), (other.site, other.thread), launch);
        }
        true
    }

    fn wait(
        &mut self,
        named: &[(usize, usize)],
        (number, parity): (usize, u32),
        instr: &BarrierInstr,
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) -> Option<Event> {
        for &(lane, _) in named {
            if !self.uses((lane, number), (instr.name, instr.site), launch, block) {
                return None;
            }
        }
        if !block.barriers[number].is_past(parity) {
            self.pc -= 1;
            let thread = first_lane(&self.mask).map_or(0, |lane| self.thread_of(lane));
            return Some(Event::Wait(Waiting { barrier: number, parity, site: instr.site, thread, n: named.len() }));
        }
        if let Some(clocks) = &mut block.clocks {
            let barrier = &mut block.barriers[number];
            named.iter().for_each(|&(lane, _)| barrier.pass(number, self.thread_of(lane), clocks));
        }
        None
    }
}

impl BlockState {
    /// A thread uses a barrier of another block of its cluster, which then may not have ended.
    pub(super) fn reach(&mut self, number: usize, by: Doing, launch: &Launch<'_>) {
        let Some(clocks) = &self.clocks else { return };
        let slot = number / launch.kernel.n_barriers().max(1);
        let moment = clocks.moment(SHARED, by.1, by.0);
        self.reached.insert((slot, by.1), (moment.clock, by.0));
    }

    /// Arrives at a barrier, which may be that of another block. Then what the thread itself has done is not handed on, but
    /// what it knows of copies and products.
    fn arrive(&mut self, (number, remote): (usize, bool), bytes: Option<u64>, by: Doing, launch: &Launch<'_>) {
        let Some(clocks) = &mut self.clocks else { return };
        let barrier = &mut self.barriers[number];
        // An arrival too many announces nothing that the phase could still wait for.
        if barrier.arrived < barrier.count {
            barrier.announced += bytes.unwrap_or(0);
        }
        match barrier.arrive(by.1, remote, clocks) {
            Some(progress) => self.report_progress(number, progress, by, launch),
            None => self.report_arrival(number, by, launch),
        }
    }

    /// Bulk copies that were begun come to their barriers.
    pub(super) fn land(&mut self, launch: &Launch<'_>) {
        if self.in_flight.is_empty() {
            return;
        }
        let copies = std::mem::take(&mut self.in_flight);
        for copy in &copies {
            let barrier = &mut self.barriers[copy.barrier];
            barrier.delivered += copy.bytes;
            barrier.copy = Some(copy.by);
        }
        for copy in &copies {
            // The phase of several copies ends with the first that is looked at.
            let progress = self.barriers[copy.barrier].advance_by_copies();
            self.report_progress(copy.barrier, progress, copy.by, launch);
        }
    }

    fn report_progress(&mut self, number: usize, progress: Progress, by: Doing, launch: &Launch<'_>) {
        let Progress::Complete { unseen, surplus } = progress else { return };
        if surplus > 0 {
            self.report_surplus(number, surplus, by, launch);
        }
        if unseen {
            self.report_ahead(number, by, launch);
        }
    }

    /// Blocks of the cluster that may have ended while another still used their barriers: none of their threads knew.
    fn end_of_cluster(&mut self, launch: &Launch<'_>) {
        let Some(clocks) = &self.clocks else { return };
        let n = clocks.n_threads() / self.blocks.len().max(1);
        let early = self.reached.iter().find(|&(&(slot, thread), &(clock, _))| {
            let of_block = (slot * n..(slot + 1) * n).map(|other| other as u32);
            !of_block.into_iter().any(|other| clocks.knows(other, thread) >= clock)
        });
        if let Some((&(slot, thread), &(_, site))) = early {
            self.report_block_ended(slot, (site, thread), launch);
        }
    }

    /// All threads of the block are through: phases that lack something, and copies that no thread waited for.
    pub(super) fn end_of_barriers(&mut self, launch: &Launch<'_>) {
        self.end_of_cluster(launch);
        for thread in 0..self.bulk_stores.len() {
            if let Some(site) = self.bulk_stores[thread].outstanding() {
                self.report_store_not_awaited(site, thread as u32, launch);
            }
        }
        for number in 0..self.barriers.len() {
            let barrier = &self.barriers[number];
            let (announced, delivered) = (barrier.announced, barrier.delivered);
            let copies = [barrier.unseen, barrier.copy];
            if announced != delivered {
                let by = barrier.copy.or(barrier.made).unwrap_or((crate::code::NO_SITE, 0));
                self.report_bytes_at_end(number, (announced, delivered), by, launch);
            }
            for by in copies.into_iter().flatten() {
                self.report_copy_not_awaited(number, by, launch);
            }
        }
    }
}
