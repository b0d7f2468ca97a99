//! One way of a warp through a kernel: each op once, a loop in one of its iterations.
//!
//! Many such ways, over blocks, warps and iterations that are spread evenly, give the means from which counts follow: an
//! op in loops of n iterations counts n times.

use crate::lanes::{Lanes, WARP, evaluate};
use crate::unroll::Unrolled;
use tc_dialects::tir::{self, Coordinate, LoopKind, loop_kind};
use tc_ir::opdef::Role;
use tc_ir::{Func, Op, Region, Value};
use tc_kernel::facts::Facts;

/// How often what a way comes to once is done.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Times {
    /// In all iterations of the loops around it.
    pub(crate) all: f64,
    /// Iterations that are unrolled together counted once.
    pub(crate) rounds: f64,
    /// In all iterations, where data has no say in whether it is done: never, where it has.
    pub(crate) sure: f64,
}

/// What is done at each op of a way.
pub(crate) trait Visit {
    /// The warp comes to `op` in the lanes `mask`.
    fn op(&mut self, way: &Way<'_>, op: Op, mask: u32, times: Times);
    /// The warp comes to the loop `op`, whose body it does so often.
    fn trips(&mut self, op: Op, trips: f64, times: Times);
}

/// Where a way leads: which block, which warp of it, which iterations.
pub(crate) struct Way<'f> {
    pub(crate) func: &'f Func,
    extents: [u64; 6],
    threads: u64,
    unrolled: &'f Unrolled,
    values: Vec<Lanes>,
    /// How often each value is computed.
    computed: Vec<f64>,
    in_one_block: bool,
    /// Ways go to each warp of each block in turn.
    in_turn: bool,
    /// The number of the way, which chooses.
    nth: u64,
    /// Choices so far.
    chosen: u64,
    coordinates: [Lanes; 6],
}

/// Multiples of their roots, without the whole parts, are spread evenly over 0 to 1, in each dimension (Niederreiter 1992,
/// Kronecker sequences).
const PRIMES: [u8; 32] = [
    2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101, 103, 107, 109,
    113, 127, 131,
];

/// How often something is done, at most: sums and products of it stay numbers.
const MOST: f64 = 1e30;

/// How often a literal is computed.
const NEVER: Times = Times { all: 0.0, rounds: 0.0, sure: 0.0 };

impl<'f> Way<'f> {
    pub(crate) fn new(func: &'f Func, facts: &Facts, unrolled: &'f Unrolled) -> Way<'f> {
        let mut extents = [1; 6];
        for coordinate in Coordinate::ALL {
            let of = if coordinate.is_thread() { &facts.block } else { &facts.grid };
            extents[coordinate.index()] = of[coordinate.dim()].max(1);
        }
        Way {
            func,
            extents,
            threads: facts.n_threads(),
            unrolled,
            values: vec![Lanes::Unknown; func.n_value_ids()],
            computed: vec![0.0; func.n_value_ids()],
            in_one_block: false,
            in_turn: false,
            nth: 0,
            chosen: 0,
            coordinates: std::array::from_fn(|_| Lanes::Same(0)),
        }
    }

    /// What is known of `value`.
    pub(crate) fn value(&self, value: Value) -> Lanes {
        self.values[value.as_u32() as usize].clone()
    }

    /// How often `value` is computed anew; a literal never is.
    pub(crate) fn computed(&self, value: Value) -> f64 {
        self.computed[value.as_u32() as usize]
    }

    fn set(&mut self, value: Value, to: Lanes, times: Times) {
        self.values[value.as_u32() as usize] = to;
        self.computed[value.as_u32() as usize] = times.all;
    }

    /// From now on, all ways are in the block in the middle.
    pub(crate) fn stay_in_one_block(&mut self) {
        self.in_one_block = true;
        self.in_turn = false;
    }

    /// If there are at most `most` warps, each of them gets as many ways as another; gives how many ways that are.
    pub(crate) fn in_turn(&mut self, most: u64) -> Option<u64> {
        let blocks = self.extents[..].iter().zip(Coordinate::ALL).filter(|(_, at)| !at.is_thread());
        let all = blocks.fold(self.n_warps(), |product, (&extent, _)| product.saturating_mul(extent));
        self.in_turn = all <= most;
        self.in_turn.then(|| most / all * all)
    }

    fn n_warps(&self) -> u64 {
        self.threads.div_ceil(WARP as u64).max(1)
    }

    /// Goes the way number `nth`.
    pub(crate) fn go(&mut self, nth: u64, visit: &mut impl Visit) {
        (self.nth, self.chosen) = (nth, 0);
        let mask = self.place();
        self.region(self.func.body(), mask, Times { all: 1.0, rounds: 1.0, sure: 1.0 }, visit);
    }

    /// A number of `0..n`, spread evenly over ways.
    fn choose(&mut self, n: u64) -> u64 {
        let prime = f64::from(PRIMES[self.chosen as usize % PRIMES.len()]);
        self.chosen += 1;
        let at = (self.nth as f64 + 0.5) * prime.sqrt();
        ((at - at.floor()) * n as f64) as u64
    }

    /// Chooses a block and a warp; gives the lanes that there are.
    fn place(&mut self) -> u32 {
        let warps = self.n_warps();
        let mut turn = self.nth;
        let mut next = |way: &mut Way<'_>, n: u64| {
            let chosen = way.choose(n);
            let in_turn = turn % n;
            turn /= n;
            if way.in_turn { in_turn } else { chosen }
        };
        let first = next(self, warps) * WARP as u64;
        for coordinate in Coordinate::ALL {
            let extent = self.extents[coordinate.index()];
            self.coordinates[coordinate.index()] = if coordinate.is_thread() {
                let below: u64 = Coordinate::ALL
                    .into_iter()
                    .filter(|other| other.is_thread() && other.dim() < coordinate.dim())
                    .fold(1u64, |product, other| product.saturating_mul(self.extents[other.index()]));
                let of = |lane: usize| ((first + lane as u64) / below.max(1) % extent) as i64;
                Lanes::Each(Box::new(std::array::from_fn(of)))
            } else {
                let chosen = next(self, extent);
                Lanes::Same(if self.in_one_block { extent / 2 } else { chosen } as i64)
            };
        }
        let active = (0..WARP as u64).filter(|lane| first + lane < self.threads);
        active.fold(0, |mask, lane| mask | 1 << lane)
    }

    fn region(&mut self, region: Region, mask: u32, times: Times, visit: &mut impl Visit) {
        let func = self.func;
        for op in func.ops(region) {
            match func.opcode(op) {
                tir::FOR => self.for_loop(op, mask, times, visit),
                tir::IF => self.branch(op, mask, times, visit),
                _ => {
                    let is_literal = func.role(op) == Role::Constant;
                    for result in func.results(op) {
                        let value = evaluate(func, op, |value| self.value(value));
                        self.set(result, value, if is_literal { NEVER } else { times });
                    }
                    visit.op(self, op, mask, times);
                }
            }
        }
    }

    fn for_loop(&mut self, op: Op, mask: u32, times: Times, visit: &mut impl Visit) {
        let func = self.func;
        let body = func.op_regions(op)[0];
        let (lo, hi) = (self.value(func.operand(op, 0)), self.value(func.operand(op, 1)));
        let Some(&var) = func.region_args(body).first() else { return };
        if let Some(LoopKind::Launch(coordinate)) = loop_kind(func, op) {
            self.set(var, self.coordinates[coordinate.index()].clone(), times);
            return self.region(body, mask, times, visit);
        }
        // Data that says how often is taken to say once.
        let known = |lane: usize| Some((lo.at(lane)?, hi.at(lane)?));
        let active = (0..WARP).filter(|&lane| mask >> lane & 1 != 0);
        let most = active.filter_map(known).map(|(lo, hi)| hi.saturating_sub(lo)).max();
        let trips = most.map_or(1, |trips| trips.max(0) as u64);
        visit.trips(op, trips as f64, times);
        if trips == 0 {
            return;
        }
        let at = self.choose(trips) as i64;
        let at_lane = |lane: usize| lo.at(lane).map_or(0, |lo| lo.saturating_add(at));
        let is_in =
            |&lane: &usize| mask >> lane & 1 != 0 && known(lane).is_none_or(|(lo, hi)| lo.saturating_add(at) < hi);
        let inside = (0..WARP).filter(is_in).fold(0, |mask, lane| mask | 1 << lane);
        let together = self.unrolled.copies(op).clamp(1, trips) as f64;
        let times = Times {
            all: (times.all * trips as f64).min(MOST),
            rounds: (times.rounds * trips as f64 / together).min(MOST),
            sure: most.map_or(0.0, |_| (times.sure * trips as f64).min(MOST)),
        };
        for &arg in &func.region_args(body)[1..] {
            self.set(arg, Lanes::Unknown, times);
        }
        let here = match (&lo, &hi) {
            (Lanes::Unknown, _) | (_, Lanes::Unknown) => Lanes::Unknown,
            (Lanes::Same(lo), _) => Lanes::Same(lo.saturating_add(at)),
            _ => Lanes::Each(Box::new(std::array::from_fn(at_lane))),
        };
        self.set(var, here, times);
        if inside != 0 {
            self.region(body, inside, times, visit);
        }
        for result in func.results(op) {
            self.set(result, Lanes::Unknown, times);
        }
    }

    fn branch(&mut self, op: Op, mask: u32, times: Times, visit: &mut impl Visit) {
        let func = self.func;
        // A condition on data is taken to hold.
        let known = self.value(func.operand(op, 0)).truths(mask);
        let then = known.unwrap_or(mask);
        visit.op(self, op, mask, times);
        let times = Times { sure: if known.is_some() { times.sure } else { 0.0 }, ..times };
        let regions: Vec<Region> = func.op_regions(op).to_vec();
        let mut handed: Vec<Vec<Lanes>> = Vec::new();
        for (&region, mask) in regions.iter().zip([then, mask & !then]) {
            if mask != 0 {
                self.region(region, mask, times, visit);
            }
            let yielded = func.terminator(region).filter(|&op| func.role(op) == Role::Yield);
            handed
                .push(yielded.map_or(&[][..], |op| func.operands(op)).iter().map(|&value| self.value(value)).collect());
        }
        for (nth, result) in func.results(op).enumerate() {
            let of = |branch: usize| handed.get(branch).and_then(|all| all.get(nth)).cloned().unwrap_or(Lanes::Unknown);
            let value = Lanes::merged(then, &of(0), &of(1));
            self.set(result, value, times);
        }
    }
}
