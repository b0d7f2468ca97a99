//! What a launch of a kernel does in all: instructions by unit, and what each access costs in memory.

use crate::fresh::{Fresh, fresh};
use crate::memory::{Addresses, SECTOR, lines, sectors, wavefronts};
use crate::touch::{Direction, Touch};
use crate::units::{Work, work};
use crate::unroll::Unrolled;
use crate::walk::{Times, Visit, Way};
use tc_dialects::scope::Memory;
use tc_ir::{Func, Op};
use tc_kernel::facts::Facts;
use tc_target::Unit;

/// Ops that are done on all ways, at most: a kernel of few ops is seen on more ways than a large one.
const MOST_OPS: usize = 1 << 16;
/// Ways of a kernel, at least and at most.
const WAYS: (usize, usize) = (8, 64);

/// Ways in one block, which tell how much of a buffer it accesses.
const BLOCK_WAYS: u64 = 16;

/// What one access costs, as means over the warps that do it.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Cost {
    /// Requests of a warp in the mean: one a lane's access, however many lanes take part.
    pub(crate) requests: f64,
    /// Lanes that take part, of all requests.
    pub(crate) lanes: f64,
    /// Bytes that the lanes access, of all requests.
    pub(crate) bytes: f64,
    /// Sectors of global memory, of all requests.
    pub(crate) sectors: f64,
    /// Sectors that the bytes would fill.
    pub(crate) least_sectors: f64,
    /// Passes through L1 and shared memory, of all requests.
    pub(crate) wavefronts: f64,
    /// Passes that the bytes would take.
    pub(crate) least_wavefronts: f64,
    /// Requests whose addresses depend on data.
    pub(crate) unknown: f64,
    /// Sectors of the requests that data has no say in, and the lowest and the highest address of them.
    pub(crate) sure_sectors: f64,
    pub(crate) sure_span: Option<(i64, i64)>,
    /// How often a warp does it, and how often its address is another one, at most.
    pub(crate) executions: f64,
    pub(crate) moves: f64,
    /// The lowest and the highest address, in bytes, that was seen, and those in one block.
    pub(crate) span: Option<(i64, i64)>,
    pub(crate) block_span: Option<(i64, i64)>,
}

/// What a warp does in the mean.
pub(crate) struct Counts {
    pub(crate) touches: Vec<Touch>,
    /// For each of them.
    pub(crate) costs: Vec<Cost>,
    /// Of each load from global memory, the loops around it; none where its addresses depend on data.
    pub(crate) fresh: Vec<Option<Vec<Fresh>>>,
    /// Cycles of a multiprocessor that each unit takes for a warp, in the order of [`Unit::ALL`], as instructions of a warp
    /// for [`Unit::Issue`] and results of a thread for others.
    pub(crate) units: [f64; Unit::ALL.len()],
    /// What each unit has to do at least: results of lanes that take part, where data has no say in it.
    pub(crate) least: [f64; Unit::ALL.len()],
    /// Floating-point operations of a warp.
    pub(crate) flops: f64,
    /// Barriers that a warp comes to.
    pub(crate) barriers: f64,
    /// Of each loop, by the number of its op, how often its body is done where it is come to.
    pub(crate) trips: Vec<f64>,
    /// How far loops are unrolled.
    pub(crate) unrolled: Unrolled,
}

/// Counts what a warp of `func` does in the mean.
pub(crate) fn count(func: &Func, facts: &Facts, ops: &[Op]) -> Counts {
    let unrolled = Unrolled::of(func);
    let touches: Vec<Touch> = ops.iter().flat_map(|&op| Touch::all(func, op, &unrolled)).collect();
    let mut first = vec![u32::MAX; func.n_op_ids()];
    for (nth, touch) in touches.iter().enumerate().rev() {
        first[touch.op.as_u32() as usize] = nth as u32;
    }
    let mut counter = Counter {
        costs: vec![Cost::default(); touches.len()],
        fresh: vec![None; touches.len()],
        touches,
        first,
        work: {
            let mut all = vec![Work::default(); func.n_op_ids()];
            ops.iter().for_each(|&op| all[op.as_u32() as usize] = work(func, op));
            all
        },
        units: [0.0; Unit::ALL.len()],
        least: [0.0; Unit::ALL.len()],
        flops: 0.0,
        barriers: 0.0,
        trips: vec![(0.0, 0.0); func.n_op_ids()],
        unrolled: unrolled.clone(),
    };
    let ways = (MOST_OPS / ops.len().max(1)).clamp(WAYS.0, WAYS.1);
    let mut way = Way::new(func, facts, &unrolled);
    let ways = way.in_turn(ways as u64).unwrap_or(ways as u64);
    (0..ways).for_each(|nth| way.go(nth, &mut counter));
    way.stay_in_one_block();
    (0..BLOCK_WAYS).for_each(|nth| way.go(nth, &mut Reach(&mut counter)));
    counter.means(ways as f64)
}

struct Counter {
    touches: Vec<Touch>,
    costs: Vec<Cost>,
    fresh: Vec<Option<Vec<Fresh>>>,
    /// Of each op, its first access.
    first: Vec<u32>,
    work: Vec<Work>,
    units: [f64; Unit::ALL.len()],
    least: [f64; Unit::ALL.len()],
    flops: f64,
    barriers: f64,
    trips: Vec<(f64, f64)>,
    unrolled: Unrolled,
}

/// Instructions that count a loop: the variable goes on, is compared, and the warp jumps.
const LOOP: f64 = 2.0;

impl Visit for Counter {
    fn op(&mut self, way: &Way<'_>, op: Op, mask: u32, times: Times) {
        let idx = op.as_u32() as usize;
        let Work { instructions, unit, least, flops, is_position } = self.work[idx];
        let Times { all, rounds, sure } = times;
        let times = if is_position { rounds } else { all };
        let mut nth = self.first[idx] as usize;
        let share = self.touches.get(nth).map_or(1.0, |touch| touch.share);
        self.units[Unit::Issue as usize] += instructions * times * share;
        let active = f64::from(mask.count_ones());
        if let Some((unit, n)) = unit {
            // The lanes that sit out take their turn, too; at least, others could do their work. Tensor cores are
            // counted by the warp.
            let (lanes, active) = if unit == Unit::Tensor { (1.0, 1.0) } else { (32.0, active) };
            self.units[unit as usize] += n * lanes * times;
            self.least[unit as usize] += least * active * sure;
            self.flops += flops * active * times;
        }
        if tc_dialects::threads::is_barrier(way.func, op) {
            self.barriers += times;
        }
        while let Some(touch) = self.touches.get(nth).filter(|touch| touch.op == op) {
            let own = all * touch.share;
            self.costs[nth].executions += own;
            self.costs[nth].moves = self.costs[nth].moves.max(touch.moves(way));
            let joined = touch.joined(way, mask) as f64;
            self.units[Unit::Issue as usize] -= own * (1.0 - 1.0 / joined);
            let done = Done { times: own / joined, sure: sure * touch.share / joined, joined: joined as i64 };
            self.costs[nth].add(touch, way, mask, done, &mut self.units);
            if self.fresh[nth].is_none() && touch.memory == Memory::Global && touch.direction == Direction::Load {
                let all = touch.addresses(way.func, mask, |value| way.value(value));
                self.fresh[nth] = all.and_then(|all| Some(fresh(way.func, touch, all.first()?)));
            }
            nth += 1;
        }
    }

    fn trips(&mut self, op: Op, trips: f64, times: Times) {
        let (sum, n) = &mut self.trips[op.as_u32() as usize];
        (*sum, *n) = (*sum + trips, *n + 1.0);
        let together = self.unrolled.copies(op) as f64;
        if trips > together {
            let jumps = times.rounds * trips / together;
            self.units[Unit::Issue as usize] += LOOP * jumps;
            self.units[Unit::Int as usize] += LOOP * jumps * 32.0;
        }
    }
}

/// How often an access is done, how often data has no say in that, and how many neighbours are one.
#[derive(Clone, Copy)]
struct Done {
    times: f64,
    sure: f64,
    joined: i64,
}

impl Cost {
    fn add(&mut self, touch: &Touch, way: &Way<'_>, mask: u32, done: Done, units: &mut [f64]) {
        let Done { times, sure, joined } = done;
        let (bytes, count) = touch.width();
        let bytes = bytes * joined;
        units[Unit::Issue as usize] += (count - 1).max(0) as f64 * times;
        let n = f64::from(mask.count_ones());
        let Some(all) = touch.addresses(way.func, mask, |value| way.value(value)) else {
            // The worst that can be.
            let requests = count as f64 * times;
            self.requests += requests;
            self.unknown += requests;
            self.lanes += n * requests;
            self.bytes += n * bytes as f64 * requests;
            self.sectors += n * requests;
            self.least_sectors += n * requests;
            self.wavefronts += n * requests;
            self.least_wavefronts += requests;
            return;
        };
        for mut addresses in all {
            if joined > 1 {
                addresses.iter_mut().flatten().for_each(|address| *address -= address.rem_euclid(bytes));
            }
            if touch.memory == Memory::Registers {
                // Each lane has its own, and those of the same position lie side by side.
                addresses = std::array::from_fn(|lane| addresses[lane].map(|_| lane as i64 * bytes));
            }
            let n = addresses.iter().flatten().count() as f64;
            if n == 0.0 {
                continue;
            }
            self.requests += times;
            self.lanes += n * times;
            self.bytes += n * bytes as f64 * times;
            let (wavefronts, least) = match touch.memory {
                Memory::Shared => wavefronts(&addresses, bytes),
                _ => {
                    let sectors = sectors(&addresses, bytes);
                    self.sectors += sectors.len() as f64 * times;
                    if sure > 0.0 {
                        self.sure_sectors += sectors.len() as f64 * sure;
                        self.sure_span = joined_span(self.sure_span, &addresses, bytes);
                    }
                    let least = distinct_bytes(&addresses, bytes).div_ceil(SECTOR as u64);
                    self.least_sectors += least as f64 * times;
                    (lines(&sectors), (least as f64 / 4.0).ceil() as u64)
                }
            };
            self.wavefronts += wavefronts as f64 * times;
            self.least_wavefronts += least as f64 * times;
            self.span = joined_span(self.span, &addresses, bytes);
        }
    }

    /// The bytes that the warps of a block come to, of those that they ask for: in the mean, what misses L1.
    pub(crate) fn reach(&self) -> f64 {
        let asked = self.sectors * SECTOR as f64;
        let of = |(low, high): (i64, i64)| (high.saturating_sub(low) as f64 / asked).clamp(0.0, 1.0);
        self.block_span.filter(|_| asked > 0.0).map_or(1.0, of)
    }

    fn scaled(self, by: f64) -> Cost {
        Cost {
            requests: self.requests * by,
            lanes: self.lanes * by,
            bytes: self.bytes * by,
            sectors: self.sectors * by,
            least_sectors: self.least_sectors * by,
            wavefronts: self.wavefronts * by,
            least_wavefronts: self.least_wavefronts * by,
            unknown: self.unknown * by,
            sure_sectors: self.sure_sectors * by,
            executions: self.executions * by,
            ..self
        }
    }
}

/// `span` with what lies between the lowest and the highest of `addresses`, of `bytes` each.
fn joined_span(span: Option<(i64, i64)>, addresses: &Addresses, bytes: i64) -> Option<(i64, i64)> {
    let low = addresses.iter().flatten().min().copied()?;
    let high = addresses.iter().flatten().max()?.saturating_add(bytes);
    let (lo, hi) = span.unwrap_or((low, high));
    Some((lo.min(low), hi.max(high)))
}

/// Notes what a block accesses, and counts nothing.
struct Reach<'c>(&'c mut Counter);

impl Visit for Reach<'_> {
    fn op(&mut self, way: &Way<'_>, op: Op, mask: u32, _: Times) {
        let Reach(Counter { touches, costs, first, .. }) = self;
        // By number: an iterator over both would go through all accesses before these.
        let mut nth = first[op.as_u32() as usize] as usize;
        while let Some(touch) = touches.get(nth).filter(|touch| touch.op == op) {
            let cost = &mut costs[nth];
            nth += 1;
            let all = touch.addresses(way.func, mask, |value| way.value(value)).unwrap_or_default();
            for addresses in &all {
                cost.block_span = joined_span(cost.block_span, addresses, touch.width().0);
            }
        }
    }

    fn trips(&mut self, _: Op, _: f64, _: Times) {}
}

fn distinct_bytes(addresses: &Addresses, bytes: i64) -> u64 {
    let mut starts: Vec<i64> = addresses.iter().flatten().copied().collect();
    starts.sort_unstable();
    starts.dedup();
    starts.len() as u64 * bytes as u64
}

impl Counter {
    fn means(self, ways: f64) -> Counts {
        let by = 1.0 / ways;
        // What does not move is done once, and its value stays in a register.
        let hoisted = |(touch, cost): (&Touch, Cost)| {
            let is_hoisted = touch.memory == Memory::Global && cost.executions > cost.moves;
            if is_hoisted { cost.scaled(cost.moves / cost.executions) } else { cost }
        };
        let means = self.costs.into_iter().map(|cost| cost.scaled(by));
        let costs: Vec<Cost> = self.touches.iter().zip(means).map(hoisted).collect();
        let mut units = self.units.map(|n| n * by);
        let least = self.least.map(|n| n * by);
        units[Unit::L1 as usize] = costs.iter().map(|cost| cost.wavefronts).sum();
        Counts {
            touches: self.touches,
            costs,
            fresh: self.fresh,
            units,
            least,
            flops: self.flops * by,
            barriers: self.barriers * by,
            unrolled: self.unrolled,
            trips: self.trips.into_iter().map(|(sum, n)| if n > 0.0 { sum / n } else { 1.0 }).collect(),
        }
    }
}
