//! Which loops the compiler of CUDA will unroll, and how far: those that a program asks for, and short ones of a known
//! number of iterations, from the inside. Where loads stand under conditions, which become branches, it holds to the limits that
//! LLVM has for all loops (`UnrollThreshold` and `UnrollPartialThreshold` of its `LoopUnrollPass`).

use crate::units::work;
use tc_dialects::scope::{Memory, Scope};
use tc_dialects::threads::is_barrier;
use tc_dialects::tir::{self, LoopKind, loop_kind};
use tc_ir::attrs::BinOp;
use tc_ir::effects::accesses;
use tc_ir::opdef::Role;
use tc_ir::walk::{all_ops, ancestors, ops_under};
use tc_ir::{Func, Op, Region, Value};
use tc_kernel::access;

/// Instructions up to which a loop is unrolled wholly, and up to which iterations of another are put together.
const WHOLE: f64 = 3000.0;
const PART: f64 = 100.0;
/// The same where its body has branches, the instructions of a branch, and those that count a loop.
const WHOLE_OF_BRANCHES: f64 = 300.0;
const PART_OF_BRANCHES: f64 = 150.0;
const BRANCH: f64 = 4.0;
const COUNT: f64 = 3.0;
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
pub(crate) fn trips(func: &Func, op: Op) -> Option<u64> {
    let bound = |nth| func.const_int(func.operand(op, nth));
    bound(0).zip(bound(1)).map(|(lo, hi)| hi.saturating_sub(lo).max(0) as u64)
}

/// What stands in a region: its instructions, unrolled, loops that are left, loops that were unrolled wholly, branches.
#[derive(Clone, Copy, Default)]
struct Body {
    size: f64,
    has_loop: bool,
    had_loop: bool,
    has_branch: bool,
}

impl Body {
    fn add(&mut self, other: Body) {
        self.size += other.size;
        self.has_loop |= other.has_loop;
        self.had_loop |= other.had_loop;
        self.has_branch |= other.has_branch;
    }

    /// How many iterations of a loop with this body are put together, where the program does not say.
    fn copies(&self, trips: Option<u64>) -> u64 {
        // The more the whole loop gains, the larger it may be.
        let whole = if self.has_branch { WHOLE_OF_BRANCHES * (self.size + COUNT) / self.size } else { WHOLE };
        match trips {
            _ if self.has_loop => 1,
            Some(trips) if trips as f64 * self.size <= whole => trips,
            // It comes to the loop around another one before that one is unrolled.
            _ if self.has_branch && self.had_loop => 1,
            _ if self.has_branch => (PART_OF_BRANCHES / self.size) as u64,
            _ if self.size <= PART => TOGETHER,
            _ => 1,
        }
    }
}

fn region(func: &Func, of: Region, copies: &mut [u64]) -> Body {
    let mut body = Body::default();
    func.ops(of).for_each(|op| body.add(one(func, op, copies)));
    body
}

/// The instructions of `op` as that compiler counts them: positions become literals, an array of a thread is in memory until
/// they are.
fn own_size(func: &Func, op: Op) -> f64 {
    let work = work(func, op);
    match func.opcode(op) {
        tir::LOAD | tir::STORE if is_in_register(func, op) => 0.0,
        tir::LOAD | tir::STORE => work.instructions.max(1.0),
        _ if work.is_position => 0.0,
        // A range needs one comparison.
        _ if is_range(func, op) => work.instructions - 2.0,
        _ => work.instructions,
    }
}

/// Does `op` join two comparisons? They are taken to be of one value, as guards of a padded load are.
fn is_range(func: &Func, op: Op) -> bool {
    let is_compared = |&value: &Value| func.def_op(value).is_some_and(|op| func.role(op) == Role::Compare);
    func.role(op) == Role::Binary(BinOp::AndAnd) && func.operands(op).iter().all(is_compared)
}

/// Does `op` access an array of a thread at a literal?
fn is_in_register(func: &Func, op: Op) -> bool {
    let is_literal = access::index(func, op).is_none_or(|index| func.const_int(index).is_some());
    let of_thread = |(place, _)| Scope::of(func, place).is_some_and(|scope| scope.memory() == Memory::Registers);
    is_literal && accesses(func, op).into_iter().all(of_thread)
}

fn one(func: &Func, op: Op, copies: &mut [u64]) -> Body {
    let mut body = Body { size: own_size(func, op), ..Body::default() };
    func.op_regions(op).iter().for_each(|&inner| body.add(region(func, inner, copies)));
    let has_load = |&inner: &Region| ops_under(func, inner).any(|op| func.opcode(op) == tir::LOAD);
    if func.opcode(op) == tir::IF && func.op_regions(op).iter().any(has_load) {
        body.size += BRANCH;
        body.has_branch = true;
    }
    if func.opcode(op) != tir::FOR {
        return body;
    }
    let trips = trips(func, op);
    let n = match loop_kind(func, op) {
        Some(LoopKind::Launch(_)) => return body,
        Some(LoopKind::Unroll(factor)) => factor.map_or(trips.unwrap_or(1), |factor| factor.max(1) as u64),
        _ => body.copies(trips),
    };
    let n = n.clamp(1, trips.unwrap_or(MOST).clamp(1, MOST));
    copies[op.as_u32() as usize] = n;
    let is_left = trips.is_none_or(|trips| trips > n);
    Body { size: body.size * n as f64, has_loop: body.has_loop || is_left, had_loop: true, ..body }
}
