//! Which loops the compiler of CUDA will unroll, and how far: those that a program asks for, and short ones of a known
//! number of iterations, from the inside.

use crate::units::work;
use tc_dialects::threads::is_barrier;
use tc_dialects::tir::{self, LoopKind, loop_kind};
use tc_ir::walk::{all_ops, ancestors};
use tc_ir::{Func, Op, Region};

/// Instructions up to which a loop is unrolled wholly, and up to which iterations of another are put together.
const WHOLE: f64 = 3000.0;
const PART: f64 = 100.0;
/// Iterations that are put together.
const TOGETHER: u64 = 4;
/// Iterations of a loop that are copied at most.
const MOST: u64 = 256;

/// How far the loops of a kernel are unrolled.
#[derive(Clone, Debug)]
pub(crate) struct Unrolled {
    copies: Vec<u64>,
    has_barrier: Vec<bool>,
}

impl Unrolled {
    pub(crate) fn of(func: &Func) -> Unrolled {
        let mut copies = vec![1; func.n_op_ids()];
        region(func, func.body(), &mut copies);
        let mut has_barrier = vec![false; func.n_op_ids()];
        for op in all_ops(func).filter(|&op| is_barrier(func, op)) {
            ancestors(func, op).for_each(|around| has_barrier[around.as_u32() as usize] = true);
        }
        Unrolled { copies, has_barrier }
    }

    /// How many iterations of the loop `op` run without a jump in between.
    pub(crate) fn copies(&self, op: Op) -> u64 {
        self.copies[op.as_u32() as usize]
    }

    /// Is there a barrier in the loop `op`, beyond which what was loaded may be something else?
    pub(crate) fn has_barrier(&self, op: Op) -> bool {
        self.has_barrier[op.as_u32() as usize]
    }

    /// Are all iterations of the loop `op` unrolled?
    pub(crate) fn is_whole(&self, func: &Func, op: Op) -> bool {
        trips(func, op).is_some_and(|trips| trips <= self.copies(op))
    }
}

/// The iterations of the loop `op`, where they are known.
fn trips(func: &Func, op: Op) -> Option<u64> {
    let bound = |nth| func.const_int(func.operand(op, nth));
    bound(0).zip(bound(1)).map(|(lo, hi)| hi.saturating_sub(lo).max(0) as u64)
}

/// The instructions of a region, unrolled, and whether a loop is left in it.
fn region(func: &Func, of: Region, copies: &mut [u64]) -> (f64, bool) {
    let (mut size, mut has_loop) = (0.0, false);
    for op in func.ops(of) {
        let (more, inner) = one(func, op, copies);
        size += more;
        has_loop |= inner;
    }
    (size, has_loop)
}

/// The instructions of `op` as that compiler counts them: positions become literals, and what lies in an array of a thread
/// still is in memory.
fn own_size(func: &Func, op: Op) -> f64 {
    let work = work(func, op);
    match func.opcode(op) {
        tir::LOAD | tir::STORE => work.instructions.max(1.0),
        _ if work.is_position => 0.0,
        _ => work.instructions,
    }
}

fn one(func: &Func, op: Op, copies: &mut [u64]) -> (f64, bool) {
    let (mut size, mut has_loop) = (own_size(func, op), false);
    for &body in func.op_regions(op) {
        let (more, inner) = region(func, body, copies);
        size += more;
        has_loop |= inner;
    }
    if func.opcode(op) != tir::FOR {
        return (size, has_loop);
    }
    let trips = trips(func, op);
    let n = match loop_kind(func, op) {
        Some(LoopKind::Launch(_)) => return (size, has_loop),
        Some(LoopKind::Unroll(factor)) => factor.map_or(trips.unwrap_or(1), |factor| factor.max(1) as u64),
        _ if has_loop => 1,
        _ => match trips {
            Some(trips) if trips as f64 * size <= WHOLE => trips,
            _ if size <= PART => TOGETHER,
            _ => 1,
        },
    };
    let n = n.clamp(1, trips.unwrap_or(MOST).clamp(1, MOST));
    copies[op.as_u32() as usize] = n;
    (size * n as f64, has_loop || trips.is_none_or(|trips| trips > n))
}
