//! Occupancy: how many blocks of a kernel fit on a multiprocessor at once, and what they run out of first.
//!
//! The rules are those that NVIDIA publishes: limits by the tables of the CUDA C++ Programming Guide 12.9, section 17.2;
//! allocation by the comments of `cuda_occupancy.h` of the same toolkit. Registers are given to whole warps, in units of
//! 256, by four partitions, each of which holds a quarter of them; shared memory is given to a block in units of 128
//! bytes (256 before compute capability 8.0), with what the system takes for itself. `scripts/device/occupancy.py` holds
//! them against what the driver of a GPU says.

use crate::target::Target;
use std::fmt;

/// Registers are given to a warp in units of so many.
const REGISTER_UNIT: u64 = 256;
/// A multiprocessor hands out registers and warps by so many partitions.
const PARTITIONS: u64 = 4;

/// What a block of a kernel takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Usage {
    /// Threads.
    pub threads: u64,
    /// Registers of 32 bits of each thread. Only an assembler knows them: ptxas, or NVRTC.
    pub registers: u64,
    /// Bytes of shared memory, declared and dynamic.
    pub shared: u64,
}

/// What a multiprocessor runs out of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Limit {
    /// Threads.
    Threads,
    /// Blocks.
    Blocks,
    /// Shared memory.
    Shared,
    /// Registers.
    Registers,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Limit::Threads => "threads",
            Limit::Blocks => "blocks",
            Limit::Shared => "shared memory",
            Limit::Registers => "registers",
        })
    }
}

/// How many blocks fit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Occupancy {
    /// Blocks at once on a multiprocessor; 0 where not even one fits.
    pub blocks: u64,
    /// Warps of these blocks.
    pub warps: u64,
    /// Warps that a multiprocessor can hold.
    pub max_warps: u64,
    /// What keeps another block from fitting; all that do.
    pub limits: Vec<Limit>,
}

impl Occupancy {
    /// The share of the warps that are in use, from 0 to 1.
    pub fn share(&self) -> f64 {
        self.warps as f64 / self.max_warps as f64
    }
}

/// The occupancy of blocks that take `usage`, on `target`.
pub fn occupancy(target: &Target, usage: &Usage) -> Occupancy {
    let warps = warps_per_block(target, usage);
    let fits = [
        (Limit::Threads, target.threads_per_sm / target.warp_size / warps),
        (Limit::Blocks, target.blocks_per_sm),
        (Limit::Shared, blocks_by_shared(target, usage.shared)),
        (Limit::Registers, blocks_by_registers(target, warps, usage.registers)),
    ];
    let allowed = usage.threads <= target.max_threads_per_block;
    let blocks = fits.iter().map(|&(_, n)| n).min().filter(|_| allowed).unwrap_or(0);
    let limits = match allowed {
        true => fits.iter().filter(|&&(_, n)| n == blocks).map(|&(limit, _)| limit).collect(),
        false => vec![Limit::Threads],
    };
    Occupancy { blocks, warps: blocks * warps, max_warps: target.threads_per_sm / target.warp_size, limits }
}

/// The occupancy by registers: ranges of registers of a thread, smallest first, in each of which it is the same.
pub fn by_registers(target: &Target, threads: u64, shared: u64) -> Vec<(std::ops::RangeInclusive<u64>, Occupancy)> {
    let mut ranges: Vec<(std::ops::RangeInclusive<u64>, Occupancy)> = Vec::new();
    for registers in 1..=target.registers_per_thread {
        let found = occupancy(target, &Usage { threads, registers, shared });
        match ranges.last_mut() {
            Some((range, same)) if same.blocks == found.blocks => {
                *range = *range.start()..=registers;
                // At its upper end a range is held back by registers as well, if by anything.
                *same = found;
            }
            _ => ranges.push((registers..=registers, found)),
        }
    }
    ranges
}

fn warps_per_block(target: &Target, usage: &Usage) -> u64 {
    usage.threads.div_ceil(target.warp_size).max(1)
}

fn blocks_by_shared(target: &Target, shared: u64) -> u64 {
    if shared > target.max_shared_per_block {
        return 0;
    }
    let unit = if target.capability.0 >= 8 { 128 } else { 256 };
    let taken = (shared + target.reserved_shared_per_block).next_multiple_of(unit);
    target.shared_per_sm.checked_div(taken).unwrap_or(u64::MAX)
}

fn blocks_by_registers(target: &Target, warps: u64, registers: u64) -> u64 {
    if registers > target.registers_per_thread {
        return 0;
    }
    let per_warp = (registers * target.warp_size).next_multiple_of(REGISTER_UNIT);
    // A block whose warps do not fill the partitions evenly is launched only if it would fit if they did.
    if per_warp * warps.next_multiple_of(PARTITIONS) > target.registers_per_block {
        return 0;
    }
    let warps_per_partition = (target.registers_per_block / PARTITIONS).checked_div(per_warp);
    warps_per_partition.map_or(u64::MAX, |n| n * PARTITIONS / warps)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(target: &str, threads: u64, registers: u64, shared: u64) -> (u64, Vec<Limit>) {
        let target = Target::parse(target).expect("known");
        let found = occupancy(&target, &Usage { threads, registers, shared });
        assert_eq!(found.warps, found.blocks * threads.div_ceil(32));
        (found.blocks, found.limits)
    }

    #[test]
    fn each_resource_can_be_the_one_that_runs_out() {
        assert_eq!(of("sm_80", 1024, 32, 0), (2, vec![Limit::Threads, Limit::Registers]));
        assert_eq!(of("sm_80", 32, 32, 0), (32, vec![Limit::Blocks]));
        assert_eq!(of("sm_80", 256, 64, 0), (4, vec![Limit::Registers]));
        assert_eq!(of("sm_80", 256, 32, 48 << 10), (3, vec![Limit::Shared]));
        assert_eq!(of("sm_90", 128, 168, 0), (3, vec![Limit::Registers]));
        assert_eq!(of("sm_86", 512, 32, 0), (3, vec![Limit::Threads]));
        assert_eq!(of("sm_89", 32, 32, 0), (24, vec![Limit::Blocks]));
        assert_eq!(of("sm_75", 64, 32, 0), (16, vec![Limit::Threads, Limit::Blocks]));
        // Without the kilobyte that newer systems keep to themselves, two blocks fit where else one does.
        assert_eq!(of("sm_70", 128, 32, 48 << 10), (2, vec![Limit::Shared]));
        assert_eq!(of("sm_86", 128, 32, 50 << 10), (1, vec![Limit::Shared]));
    }

    #[test]
    fn what_cannot_be_launched_fits_not_once() {
        assert_eq!(of("sm_80", 1024, 80, 0), (0, vec![Limit::Registers]));
        assert_eq!(of("sm_80", 32, 256, 0).0, 0);
        assert_eq!(of("sm_80", 32, 32, (163 << 10) + 1), (0, vec![Limit::Shared]));
        let target = Target::parse("sm_80").expect("known");
        let found = occupancy(&target, &Usage { threads: 2048, registers: 16, shared: 0 });
        assert_eq!((found.blocks, found.limits), (0, vec![Limit::Threads]));
    }

    #[test]
    fn registers_cut_the_curve_into_ranges() {
        let target = Target::parse("sm_90").expect("known");
        let ranges = by_registers(&target, 256, 0);
        let shown: Vec<_> = ranges.iter().map(|(range, found)| (*range.start(), *range.end(), found.blocks)).collect();
        assert_eq!(
            shown,
            [(1, 32, 8), (33, 40, 6), (41, 48, 5), (49, 64, 4), (65, 80, 3), (81, 128, 2), (129, 255, 1)]
        );
        for (threads, shared) in [(1, 0), (96, 1000), (1024, 200 << 10)] {
            let ranges = by_registers(&target, threads, shared);
            assert_eq!((*ranges[0].0.start(), *ranges[ranges.len() - 1].0.end()), (1, 255));
            assert!(ranges.windows(2).all(|pair| pair[0].1.blocks > pair[1].1.blocks));
        }
    }
}
