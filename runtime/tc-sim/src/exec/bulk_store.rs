//! Bulk copies of shared memory to boxes of tensors, and the groups that threads wait for.
//!
//! A copy moves its elements where it is begun. Until its group is waited for, whoever writes what it reads, or accesses
//! what it writes, is not ordered with it; and it sees what threads wrote only if a fence stands between.

use super::access::{Addr, At};
use super::block::{BlockState, Launch};
use super::group::{Group, for_lanes};
use crate::clock::{LEVELS, Moment, OF_SHARED, SHARED};
use crate::code::{Site, Space};
use crate::warp::{BulkCopy, StoreStep};
use tc_dialects::update::UpdateKind;

/// The bulk copies to tensors of one thread, which are numbered from 1.
#[derive(Clone, Default, Debug)]
pub(crate) struct StoreGroups {
    /// The number of the last one, and where it was begun.
    last: Option<(u32, Site)>,
    /// The number of the last one that is waited for.
    done: u32,
    /// The number of the last one of each group that is not waited for.
    groups: Vec<u32>,
}

impl StoreGroups {
    fn begin(&mut self, site: Site) -> u32 {
        let number = self.last.map_or(1, |(number, _)| number + 1);
        self.last = Some((number, site));
        number
    }

    fn commit(&mut self) {
        self.groups.push(self.last.map_or(0, |(number, _)| number));
    }

    /// All but the youngest `pending` groups; gives the number of the last copy of them.
    fn wait(&mut self, pending: usize) -> u32 {
        let n = self.groups.len().saturating_sub(pending);
        self.done = self.groups.drain(..n).next_back().unwrap_or(0).max(self.done);
        self.done
    }

    /// Where a copy was begun that may not have read all that it copies.
    pub(super) fn outstanding(&self) -> Option<Site> {
        self.last.filter(|&(number, _)| number > self.done).map(|(_, site)| site)
    }
}

impl Group {
    pub(super) fn bulk_step(&mut self, step: StoreStep, block: &mut BlockState) {
        let BlockState { clocks: Some(clocks), bulk_stores, .. } = block else { return };
        for_lanes(&self.mask, |lane| {
            let thread = self.thread_of(lane);
            match (step, bulk_stores.get_mut(thread as usize)) {
                (StoreStep::Fence, _) => clocks.fence(thread),
                (StoreStep::Commit, Some(stores)) => stores.commit(),
                (StoreStep::Wait { pending, read }, Some(stores)) => {
                    let levels = if read { OF_SHARED } else { LEVELS };
                    clocks.learn_of(levels, thread, clocks.stores(thread), stores.wait(pending));
                }
                (_, None) => {}
            }
        });
    }

    /// Each lane begins a copy; those that do it together, in the place of a warpgroup, one for all.
    pub(super) fn bulk_store(
        &mut self,
        copy: &BulkCopy,
        (background, update): (bool, Option<UpdateKind>),
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        let mut lanes = Vec::new();
        for_lanes(&self.mask, |lane| lanes.push(lane));
        let mut begun: Vec<(usize, u32)> = Vec::new();
        for lane in lanes {
            if !background {
                // Threads that differ in threadIdx.x alone come together.
                let row = (self.slot_of(lane), self.thread_of(lane) / launch.kernel.block[0].max(1) as u32);
                if begun.contains(&row) {
                    continue;
                }
                begun.push(row);
            }
            self.speaker = Some(lane);
            let mut only = vec![0; self.words];
            only[lane / 64] |= 1 << (lane % 64);
            block.steps += (copy.n / 32) as u64;
            if let Some(start) = self.starts(&copy.from, &only, launch, block).of(lane) {
                self.copy_out(copy, (lane, start), (background, update), launch, block);
            }
            self.speaker = None;
        }
    }

    fn copy_out(
        &mut self,
        copy: &BulkCopy,
        (lane, start): (usize, usize),
        (background, update): (bool, Option<UpdateKind>),
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        let from = At { background: true, ..self.at_region(&copy.from, launch) };
        let to = self.at_region(&copy.to, launch);
        let targets = self.box_elements(copy, &copy.to, to, lane);
        self.check_box_start((copy, &copy.to), to, (lane, background), launch, block);
        let sources = self.shared_elements(copy, &copy.from, from, (lane, start), background, launch, block);
        // What lies outside of the tensor is not written, and so need not be there.
        let pairs: Vec<(usize, usize)> =
            sources.into_iter().zip(targets).filter_map(|(source, target)| Some((source, target?))).collect();
        let thread = self.thread_of(lane);
        if background && !block.bulk_stores.is_empty() {
            let number = block.bulk_stores[thread as usize].begin(copy.site);
            self.note_bulk_reads((from, lane), (&pairs, number), launch, block);
            block.engine = block.clocks.as_ref().map(|clocks| (clocks.stores(thread), number));
        }
        let has_mags = launch.domain.has_companions() && to.decl.elem.is_float();
        let (mut value, mut mags) = (vec![0; self.n], vec![0; if has_mags { self.n } else { 0 }]);
        let workers = self.workers(lane);
        for pairs in pairs.chunks(workers.len()) {
            self.live.fill(0);
            for (&(source, _), &lane) in pairs.iter().zip(&workers) {
                self.addrs[lane] = source;
                self.live[lane / 64] |= 1 << (lane % 64);
            }
            self.load_cells(from, Addr::Each, (&mut value, &mut mags), launch, block);
            for (&(_, target), &lane) in pairs.iter().zip(&workers) {
                self.addrs[lane] = target;
            }
            match update {
                Some(kind) => self.update_cells((to, kind), Addr::Each, (&value, &mags), launch, block),
                None => self.store_cells(to, Addr::Each, (&value, &mags), launch, block),
            }
        }
        block.engine = None;
    }

    /// What a copy reads in shared memory, and what that conflicts with.
    fn note_bulk_reads(
        &mut self,
        (from, lane): (At<'_>, usize),
        (pairs, number): (&[(usize, usize)], u32),
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        let (Space::Shared(idx), Some(clocks)) = (from.decl.space, &block.clocks) else { return };
        let (thread, site) = (self.thread_of(lane), from.access.site);
        let engine = Moment { actor: clocks.stores(thread), clock: number, site, known: clocks.seen_by_engine(thread) };
        let by_thread = clocks.moment(SHARED, thread, site);
        let shared = &mut block.shared[idx];
        let start = self.slot_of(lane) * shared.n;
        let mut first = None;
        for &(element, _) in pairs {
            for cell in from.cells(element).map(|cell| start + cell) {
                let value = shared.cells[cell];
                let Some(conflict) = shared.history[cell].read(engine, value) else { continue };
                if first.is_none() {
                    // The thread has seen it, and the copy has not.
                    let is_fence = shared.history[cell].clone().read(by_thread, value).is_none();
                    first = Some((element, conflict, is_fence));
                }
            }
        }
        if let Some((element, conflict, is_fence)) = first {
            self.addrs[lane] = element;
            self.report_store_source((from, lane), conflict, is_fence, launch, block);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_waited_for_oldest_first() {
        let mut stores = StoreGroups::default();
        assert_eq!(stores.outstanding(), None);
        stores.begin(4);
        stores.begin(5);
        assert_eq!(stores.wait(0), 0, "nothing is in a group");
        stores.commit();
        stores.begin(6);
        stores.commit();
        assert_eq!(stores.wait(1), 2);
        assert_eq!(stores.outstanding(), Some(6));
        assert_eq!(stores.wait(0), 3);
        assert_eq!(stores.outstanding(), None);
        stores.commit();
        assert_eq!(stores.wait(0), 3, "an empty group");
    }
}
