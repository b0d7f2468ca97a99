//! Values that threads hand one another: shuffles within a warp, and what a block lays out to be reduced.
//!
//! Both modes do the same: the values of a reduction are laid out, all threads of the block meet, and each of them takes
//! those of its group one after another. So the order in which they are combined is the same phased and threaded.

use super::block::{BlockState, Launch, WARP};
use super::group::{Group, for_lanes};
use crate::cell::Cell;
use crate::code::{NO_REG, Reg, Shuffle, ShuffleMode};
use std::mem;

impl Group {
    fn is_in(mask: &[u64], lane: usize) -> bool {
        mask[lane / 64] >> (lane % 64) & 1 == 1
    }

    pub(super) fn cell(&self, reg: Reg, lane: usize) -> Cell {
        let cells = &self.regs[reg as usize];
        if cells.len() == 1 { cells[0] } else { cells[lane] }
    }

    /// Reads the values of other lanes of the warp.
    pub(super) fn shuffle(&mut self, shuffle: &Shuffle, launch: &Launch<'_>, block: &mut BlockState) {
        self.check_converged(shuffle, launch, block);
        let mut sources = mem::take(&mut self.addrs);
        for_lanes(&self.mask, |lane| sources[lane] = self.source(shuffle, lane, launch, block));
        for (dst, src) in [(shuffle.dst, shuffle.value), (shuffle.mag_dst, shuffle.mag)] {
            if dst == NO_REG || src == NO_REG {
                continue;
            }
            let mut cells = mem::take(&mut self.regs[dst as usize]);
            if cells.len() == 1 {
                cells[0] = self.cell(src, 0);
            } else {
                for_lanes(&self.mask, |lane| cells[lane] = self.cell(src, sources[lane]));
            }
            self.regs[dst as usize] = cells;
        }
        self.addrs = sources;
    }

    /// The lane of this group of threads that `lane` reads from.
    fn source(&self, shuffle: &Shuffle, lane: usize, launch: &Launch<'_>, block: &mut BlockState) -> usize {
        let asked = self.cell(shuffle.lane, lane) as i64;
        let width = i64::from(shuffle.width);
        if !(0..width).contains(&asked) {
            self.report_lane(shuffle.site, lane, (asked, shuffle.width), launch, block);
            return lane;
        }
        let own = i64::from(self.thread_of(lane)) % width;
        let from = match shuffle.mode {
            ShuffleMode::Down => own + asked,
            ShuffleMode::Up => own - asked,
            ShuffleMode::Xor => own ^ asked,
            ShuffleMode::Idx => asked,
        };
        // Groups of lanes do not straddle blocks or warps, so the way to the other lane is the same in this group.
        let there = lane as i64 + from - own;
        let exists = (0..width).contains(&from)
            && usize::try_from(there).is_ok_and(|there| {
                there < self.n && self.slot_of(there) == self.slot_of(lane) && Group::is_in(&self.all, there)
            });
        if exists { there as usize } else { lane }
    }

    /// Each warp that has a lane here must be here as a whole.
    fn check_converged(&self, shuffle: &Shuffle, launch: &Launch<'_>, block: &mut BlockState) {
        if self.mask == self.all {
            return;
        }
        for slot in (0..self.n).step_by(self.per_block) {
            for first in (slot..slot + self.per_block).step_by(WARP) {
                let warp = first..(first + WARP).min(slot + self.per_block);
                let there = warp.clone().find(|&lane| Group::is_in(&self.mask, lane));
                let mut warp = warp;
                let absent = warp.find(|&lane| Group::is_in(&self.all, lane) && !Group::is_in(&self.mask, lane));
                if let (Some(there), Some(absent)) = (there, absent) {
                    self.report_shuffle(shuffle.site, there, absent, launch, block);
                }
            }
        }
    }

    /// Where the values number `nth` lie that the threads of the block in `slot` lay out.
    fn row(&self, nth: usize, slot: usize, launch: &Launch<'_>) -> usize {
        let threads = launch.kernel.threads() as usize;
        (nth * launch.kernel.batch as usize + slot) * threads
    }

    /// Lays out `values` for the other threads of the block.
    pub(super) fn offer(&mut self, values: &[Reg], launch: &Launch<'_>, block: &mut BlockState) {
        self.n_met += 1;
        let table = &mut block.offers[self.n_met % 2];
        for (nth, &reg) in values.iter().enumerate() {
            for_lanes(&self.mask, |lane| {
                let at = self.row(nth, self.slot_of(lane), launch) + self.thread_in_block(lane, launch) as usize;
                if let Some(cell) = table.get_mut(at) {
                    *cell = self.cell(reg, lane);
                }
            });
        }
    }

    /// Takes what member number `nth` of the own group laid out.
    pub(super) fn take(
        &mut self,
        values: &[Reg],
        nth: Reg,
        axes: [bool; 3],
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        let table = &block.offers[self.n_met % 2];
        let nth = self.cell(nth, 0);
        for (value, &reg) in values.iter().enumerate() {
            let mut cells = mem::take(&mut self.regs[reg as usize]);
            for_lanes(&self.mask, |lane| {
                let member = member(u64::from(self.thread_in_block(lane, launch)), nth, axes, launch.kernel.block);
                let at = self.row(value, self.slot_of(lane), launch) + member as usize;
                cells[lane] = table.get(at).copied().unwrap_or(0);
            });
            self.regs[reg as usize] = cells;
        }
    }
}

/// The thread whose coordinates along `axes` spell `nth`, and whose others are those of `thread`.
fn member(thread: u64, nth: u64, axes: [bool; 3], dims: [u64; 3]) -> u64 {
    let (mut thread, mut nth, mut below, mut number) = (thread, nth, 1, 0);
    for (&extent, is_reduced) in dims.iter().zip(axes) {
        let digit = if is_reduced { nth % extent } else { thread % extent };
        if is_reduced {
            nth /= extent;
        }
        number += digit * below;
        (thread, below) = (thread / extent, below * extent);
    }
    number
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_of_a_group_differ_in_the_reduced_coordinates_alone() {
        let members =
            |thread, axes, n: u64| (0..n).map(|nth| member(thread, nth, axes, [4, 3, 2])).collect::<Vec<u64>>();
        assert_eq!(members(6, [true, false, false], 4), [4, 5, 6, 7]);
        assert_eq!(members(6, [false, true, false], 3), [2, 6, 10]);
        assert_eq!(members(14, [true, false, true], 8), [0, 1, 2, 3, 12, 13, 14, 15]);
        assert_eq!(members(23, [true, true, true], 24), (0..24).collect::<Vec<u64>>());
    }
}
