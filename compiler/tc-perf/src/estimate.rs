//! How long a kernel takes: at least, by the units that it keeps busy, and about, with what warps wait for.
//!
//! The bound is a roofline (Williams, Waterman, Patterson 2009): the floating-point operations of lanes that take part, as if
//! all lanes of all multiprocessors shared them, and the bytes between the first and the last cell of each buffer that is
//! accessed, once. What data has a say in does not count. The estimate follows the blocks through the
//! multiprocessors, wave by wave: the warps of a wave wait for their own values, each in a chain of values that wait for values
//! (after Hong and Kim 2009, who weigh the parallelism of memory and of computation), and for each other at units (`queue.rs`).
//! Blocks begin one a cycle, so that many short ones take as long as they take to begin.

use crate::chain;
use crate::counts::{Cost, Counts};
use crate::memory::SECTOR;
use crate::queue;
use crate::touch::{Direction, Touch};
use std::collections::{BTreeMap, BTreeSet};
use tc_dialects::scope::Memory;
use tc_ir::{Func, Value};
use tc_kernel::facts::{Facts, buffer_bytes};
use tc_target::occupancy::{Occupancy, Usage, occupancy};
use tc_target::{Machine, Target, Unit};

/// Microseconds from a launch until the first warp runs, and from the last one's end until the GPU is idle: an H100 takes 0.8 for one
/// block that does nothing and 0.93 for 132 (`scripts/device/launch_cost.py`).
const LAUNCH_US: f64 = 0.9;
/// Blocks that begin in a cycle, on all multiprocessors together (from the same table).
const BLOCKS_PER_CLOCK: f64 = 1.0;

/// What keeps a kernel from being faster.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limiter {
    /// A unit of the multiprocessors.
    Unit(Unit),
    /// Bytes from and to the L2 cache.
    L2,
    /// Bytes from and to the memory of the device.
    Dram,
    /// Warps wait for values, and too few others run meanwhile.
    Latency,
    /// Blocks begin one after another.
    Launch,
}

impl Limiter {
    /// What it is called in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Limiter::Unit(unit) => unit.name(),
            Limiter::L2 => "L2",
            Limiter::Dram => "memory",
            Limiter::Latency => "latency",
            Limiter::Launch => "launch",
        }
    }
}

/// Bytes that a launch moves, at each level.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Traffic {
    /// Between L1 and registers, for global memory.
    pub l1: f64,
    /// Between shared memory and registers.
    pub shared: f64,
    /// Between L2 and L1: what of a block's accesses is not the same sector again.
    pub l2: f64,
    /// Between memory and L2: what each access spans, and of a buffer no more than there is.
    pub dram: f64,
}

/// How long a launch takes, and why.
#[derive(Clone, PartialEq, Debug)]
pub struct Time {
    /// Microseconds that these floating-point operations take at least, however they are shared among lanes, and these
    /// buffers once, however they are accessed.
    pub bound_us: f64,
    /// What sets the bound.
    pub bound_by: Limiter,
    /// Microseconds that it takes, about.
    pub estimate_us: f64,
    /// What sets the estimate.
    pub limiter: Limiter,
    /// Microseconds of each unit, if it alone had to do with the kernel.
    pub units: Vec<(Limiter, f64)>,
    /// Bytes.
    pub traffic: Traffic,
    /// Blocks at once on a multiprocessor, and what keeps more out.
    pub occupancy: Occupancy,
    /// How often all multiprocessors are filled; the last time they may be filled in part.
    pub waves: f64,
    /// Cycles of one warp's chain.
    pub chain: f64,
}

/// How a kernel is launched.
pub(crate) struct Launch {
    pub(crate) blocks: f64,
    pub(crate) warps: f64,
    pub(crate) usage: Usage,
}

/// How long `func` takes on `machine`.
pub(crate) fn time(func: &Func, counts: &Counts, launch: &Launch, target: &Target, machine: &Machine) -> Time {
    let fits = occupancy(target, &launch.usage);
    let spilled = spilled(func, counts, fits.blocks.max(1) * launch.usage.threads, target, &launch.usage);
    let moved = traffic(func, counts, launch, spilled);
    let cycles_us = machine.cycles_per_us();
    let sms = machine.sms as f64;
    let per_warp = |unit: Unit| counts.units[unit as usize] / machine.per_clock(unit);
    let per_block = |unit: Unit| per_warp(unit) * launch.warps;
    // No multiprocessor does less than its share.
    let share = launch.blocks / sms;
    let fullest = (launch.blocks / sms).ceil();
    let rates = Unit::ALL.into_iter().map(|unit| (Limiter::Unit(unit), per_block(unit) * share / cycles_us));
    let l2_rate = machine.l2_per_clock * sms;
    let is_in_l2 = moved.dram <= machine.l2_bytes as f64;
    let dram_us = moved.dram / dram_rate(moved.dram, machine) / cycles_us;
    let bytes = [(Limiter::L2, moved.l2 / l2_rate / cycles_us), (Limiter::Dram, dram_us)];
    let units: Vec<(Limiter, f64)> = rates.chain(bytes).collect();
    let (bound_by, bound) = bound(func, counts, launch, machine);

    let at_once = (fits.blocks.max(1) as f64).min(fullest);
    let chain = chain::cycles(func, counts, machine.latency, below_l1(machine, moved));
    let busy = Unit::ALL.into_iter().map(|unit| (Limiter::Unit(unit), per_block(unit)));
    let l2 = (Limiter::L2, moved.l2 / launch.blocks.max(1.0) / machine.l2_per_clock);
    let (busiest, busy) = greatest(busy.chain([l2]));
    let waves = (fullest / at_once).ceil();
    let demands: Vec<f64> = Unit::ALL.into_iter().map(per_warp).collect();
    let of_wave = |blocks: f64| queue::cycles(&demands, chain, blocks * launch.warps).max(blocks * l2.1);
    let last = fullest - (waves - 1.0) * at_once;
    let on_sm = of_wave(at_once) * (waves - 1.0) + of_wave(last);
    let begins = launch.blocks / BLOCKS_PER_CLOCK;
    let is_launched = begins > on_sm;
    let on_sm = on_sm.max(begins) / cycles_us;
    let dram = if is_in_l2 { 0.0 } else { moved.dram / machine.dram_per_clock() / cycles_us };
    let limiter = match () {
        () if dram > on_sm => Limiter::Dram,
        () if is_launched => Limiter::Launch,
        () if at_once * busy < chain => Limiter::Latency,
        () => busiest,
    };
    Time {
        bound_us: bound,
        bound_by,
        estimate_us: LAUNCH_US + on_sm.max(dram),
        limiter,
        units,
        traffic: moved,
        occupancy: fits.clone(),
        waves: share / fits.blocks.max(1) as f64,
        chain,
    }
}

/// The microseconds that a launch takes at least, and what sets them.
fn bound(func: &Func, counts: &Counts, launch: &Launch, machine: &Machine) -> (Limiter, f64) {
    let cycles_us = machine.cycles_per_us();
    let all = launch.blocks * launch.warps / machine.sms as f64;
    // How positions are computed, how often a value is fetched again and what of it is kept in registers is for compilers
    // to say.
    let is_certain = |unit: &Unit| !matches!(unit, Unit::Issue | Unit::Int | Unit::L1);
    let units = Unit::ALL.into_iter().filter(is_certain);
    let of =
        |unit: Unit| (Limiter::Unit(unit), counts.least[unit as usize] * all / machine.per_clock(unit) / cycles_us);
    let bytes = least_bytes(func, counts, launch);
    let bytes = (Limiter::Dram, bytes / dram_rate(bytes, machine) / cycles_us);
    greatest(units.map(of).chain([bytes]))
}

/// Bytes in a cycle of the clock from where buffers of so many bytes lie: what fits is in L2, as after an earlier kernel.
fn dram_rate(bytes: f64, machine: &Machine) -> f64 {
    if bytes <= machine.l2_bytes as f64 { machine.l2_per_clock * machine.sms as f64 } else { machine.dram_per_clock() }
}

fn greatest(all: impl Iterator<Item = (Limiter, f64)>) -> (Limiter, f64) {
    all.fold((Limiter::Latency, 0.0), |most, one| if one.1 > most.1 { one } else { most })
}

/// The bytes of the sectors from `low` to `high`.
fn length((low, high): (i64, i64)) -> f64 {
    let sector = |at: i64| at.div_euclid(SECTOR) as f64;
    (sector(high.saturating_sub(1)) - sector(low) + 1.0) * SECTOR as f64
}

/// Bytes that a block fetches of what `touch` accesses, those once that it accesses again.
fn fetched(touch: &Touch, cost: &Cost, launch: &Launch) -> f64 {
    let asked = cost.sectors * launch.warps * SECTOR as f64;
    // Stores go through to L2, every time.
    let span = cost.block_span.map_or(f64::MAX, length);
    if touch.direction == Direction::Store { asked } else { asked.min(span) }
}

/// The share of the arrays of threads in local memory for which a multiprocessor's L1 cache has no room, where so many
/// threads run at once.
fn spilled(func: &Func, counts: &Counts, threads: u64, target: &Target, usage: &Usage) -> f64 {
    let local = counts.touches.iter().filter(|touch| touch.memory == Memory::Registers);
    let arrays: BTreeSet<Value> = local.map(|touch| touch.root).collect();
    let bytes: u64 = arrays.iter().filter_map(|&array| buffer_bytes(func, array)).fold(0, u64::saturating_add);
    let all = bytes as f64 * threads as f64;
    let room = target.shared_per_sm.saturating_sub(usage.shared) as f64;
    if all > room { 1.0 - room / all } else { 0.0 }
}

fn traffic(func: &Func, counts: &Counts, launch: &Launch, spilled: f64) -> Traffic {
    let mut moved = Traffic::default();
    let mut buffers: BTreeMap<(Value, Direction), f64> = BTreeMap::new();
    for (touch, cost) in counts.touches.iter().zip(&counts.costs) {
        let all = launch.blocks * launch.warps;
        match touch.memory {
            Memory::Shared => moved.shared += cost.bytes * all,
            Memory::Registers => {
                moved.l1 += cost.bytes * all;
                moved.l2 += spilled * cost.bytes * all;
            }
            Memory::Global => {
                moved.l1 += cost.bytes * all;
                moved.l2 += fetched(touch, cost, launch) * launch.blocks;
                let asked = cost.sectors * SECTOR as f64 * all;
                *buffers.entry((touch.root, touch.direction)).or_default() +=
                    asked.min(cost.span.map_or(asked, length));
            }
        }
    }
    for ((root, _), asked) in buffers {
        moved.dram += buffer_bytes(func, root).map_or(asked, |bytes| asked.min(bytes as f64));
    }
    moved
}

/// The bytes of each buffer of global memory once, read and written, as far as it is accessed and data has no say in that.
/// The bytes between the first and the last that an access is seen at are taken to be accessed, if so many are.
fn least_bytes(func: &Func, counts: &Counts, launch: &Launch) -> f64 {
    let mut buffers: BTreeMap<(Value, Direction), BTreeMap<Span, f64>> = BTreeMap::new();
    for (touch, cost) in counts.touches.iter().zip(&counts.costs).filter(|(touch, _)| touch.memory == Memory::Global) {
        let Some(span) = cost.sure_span else { continue };
        let asked = cost.sure_sectors * SECTOR as f64 * launch.blocks * launch.warps;
        // What is accessed at the same addresses is the same.
        let of_span = buffers.entry((touch.root, touch.direction)).or_default().entry(span).or_default();
        *of_span = asked.min(length(span)).max(*of_span);
    }
    let once = |((root, _), spans): ((Value, Direction), BTreeMap<Span, f64>)| {
        let asked = spans.values().sum::<f64>().min(covered(spans.keys()));
        buffer_bytes(func, root).map_or(asked, |bytes| asked.min(bytes as f64))
    };
    buffers.into_iter().map(once).sum()
}

/// The lowest and the highest of some addresses.
type Span = (i64, i64);

/// The bytes of the sectors in any of `spans`, which are sorted.
fn covered<'s>(spans: impl Iterator<Item = &'s Span>) -> f64 {
    let mut joined: Vec<Span> = Vec::new();
    for &(low, high) in spans {
        match joined.last_mut() {
            Some(last) if low <= last.1 => last.1 = last.1.max(high),
            _ => joined.push((low, high)),
        }
    }
    joined.into_iter().map(length).sum()
}

/// The cycles that a load from global memory takes whose values L1 does not hold.
fn below_l1(machine: &Machine, moved: Traffic) -> f64 {
    // What fits is in L2, as after an earlier kernel.
    if moved.dram > machine.l2_bytes as f64 { machine.latency.dram } else { machine.latency.l2 }
}

/// The launch of a kernel with these facts.
pub(crate) fn launch(facts: &Facts, registers: u64) -> Launch {
    let threads = facts.n_threads();
    Launch {
        blocks: facts.grid.iter().map(|&extent| extent as f64).product(),
        warps: threads.div_ceil(32) as f64,
        usage: Usage { threads, registers, shared: facts.static_shared.saturating_add(facts.dynamic_shared) },
    }
}
