//! What a run tells of the block that is watched.

use super::access::{Addr, At, of_lane};
use super::block::{BlockState, Launch};
use super::group::{Group, for_lanes};
use crate::cell::Cell;
use crate::code::Site;
use crate::watch::{AccessKind, Entry, Log};

/// Where the accesses of one op begin in the log, and the lane of each.
pub(super) struct Noted {
    first: usize,
    lanes: Vec<usize>,
}

impl Group {
    /// Writes down what the lanes of `self.live` access, where their block and their buffer are watched.
    #[inline(always)]
    pub(super) fn watch(
        &self,
        at: At<'_>,
        addr: Addr,
        kind: AccessKind,
        launch: &Launch<'_>,
        block: &BlockState,
    ) -> Option<Noted> {
        let log = launch.watch.filter(|log| log.is_of(at.access.buf as usize))?;
        Some(self.note(log, (at, addr), kind, launch, block))
    }

    #[cold]
    fn note(
        &self,
        log: &Log,
        (at, addr): (At<'_>, Addr),
        kind: AccessKind,
        launch: &Launch<'_>,
        block: &BlockState,
    ) -> Noted {
        let (first, mut lanes) = (log.len(), Vec::new());
        for_lanes(&self.live, |lane| {
            let who = self.speaker.unwrap_or(lane);
            let slot = self.own_slot(who);
            if block.blocks.get(slot) != Some(&log.block) {
                return;
            }
            let by = (self.thread_in_block(who, launch), at.access.site);
            log.add(Entry::new(by, block.barriers_passed(slot), kind, self.cell_at(addr, lane)));
            lanes.push(lane);
        });
        Noted { first, lanes }
    }

    /// Tells the values that these accesses read or wrote.
    #[inline(always)]
    pub(super) fn watch_values(&self, noted: Option<Noted>, value: &[Cell], launch: &Launch<'_>) {
        if let (Some(noted), Some(log)) = (noted, launch.watch) {
            let mut lanes = noted.lanes.iter();
            log.fill(noted.first, |_| lanes.next().map_or(0, |&lane| of_lane(value, lane)));
        }
    }

    /// The access at hand races with one of another thread.
    pub(super) fn watch_race(
        &self,
        at: At<'_>,
        lane: usize,
        (other_block, other, other_site, same): (u64, u32, Site, bool),
        launch: &Launch<'_>,
        block: &BlockState,
    ) {
        let Some(log) = launch.watch.filter(|log| log.is_of(at.access.buf as usize)) else { return };
        let who = self.speaker.unwrap_or(lane);
        if other_block == log.block && block.blocks.get(self.own_slot(who)) == Some(&log.block) {
            // The threads of a cluster are counted through its blocks.
            let other = other % launch.kernel.threads().max(1) as u32;
            log.race((self.thread_in_block(who, launch), at.access.site), (other, other_site), same);
        }
    }
}
