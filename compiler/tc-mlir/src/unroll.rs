//! Which loops LLVM is asked to unroll.
//!
//! The program's wishes, and loops whose variables pick registers. LLVM takes time that grows with the square of what it
//! unrolls, so that a kernel is let grow to so many ops and not further: inner loops first, and later ones before earlier
//! ones. What is left as it is, is right all the same.

use tc_dialects::tir::{self, LoopKind};
use tc_ir::{Func, Op};
use tc_kernel::facts::Facts;

/// The most copies of a loop's body that LLVM is asked for.
const MAX_COPIES: u64 = 1024;

/// How many ops the unrolled loops of a kernel may become in all: a thousand copies of 11 ops that read and write one
/// buffer take LLVM less than two seconds, and four thousand thirteen.
const MAX_OPS: u64 = 1 << 14;

/// How loops are unrolled: whole, or by a factor.
pub(crate) struct Unrolled {
    asked: Vec<Option<Option<i64>>>,
}

impl Unrolled {
    /// `ops` are all ops of `func`, in order.
    pub(crate) fn of(func: &Func, ops: &[Op], facts: &Facts) -> Unrolled {
        let mut asked = vec![None; func.n_op_ids()];
        // What the ops in each op's regions become.
        let mut inside = vec![0u64; func.n_op_ids()];
        let mut left = MAX_OPS;
        for &op in ops.iter().rev() {
            let idx = op.as_u32() as usize;
            let wish = wish(func, op, facts);
            let copies = wish.and_then(|factor| copies(func, op, factor)).unwrap_or(1);
            let more = inside[idx].saturating_mul(copies.saturating_sub(1));
            let mut ops = 1u64.saturating_add(inside[idx]);
            if more <= left && copies <= MAX_COPIES {
                asked[idx] = wish;
                left -= more;
                ops = ops.saturating_add(more);
            }
            if let Some(parent) = func.parent_op(op) {
                let inside = &mut inside[parent.as_u32() as usize];
                *inside = inside.saturating_add(ops);
            }
        }
        Unrolled { asked }
    }

    /// How LLVM is asked to unroll the loop `op`, if it is.
    pub(crate) fn how(&self, op: Op) -> Option<Option<i64>> {
        self.asked[op.as_u32() as usize]
    }
}

/// How the loop `op` would be unrolled.
fn wish(func: &Func, op: Op, facts: &Facts) -> Option<Option<i64>> {
    if func.opcode(op) != tir::FOR {
        return None;
    }
    match tir::loop_kind(func, op) {
        Some(LoopKind::Unroll(factor)) => Some(factor.map(|factor| factor.clamp(1, MAX_COPIES as i64))),
        _ if facts.picks_registers(op) => Some(None),
        _ => None,
    }
}

/// How many copies of the body of the loop `op` there would be. LLVM does not unroll one whole whose trips it cannot tell.
fn copies(func: &Func, op: Op, factor: Option<i64>) -> Option<u64> {
    let bound = |idx| func.const_int(func.operand(op, idx)).map(i128::from);
    let trips = match (bound(0), bound(1)) {
        (Some(lo), Some(hi)) => Some(u64::try_from((hi - lo).max(0)).unwrap_or(u64::MAX)),
        _ => None,
    };
    match (factor.and_then(|factor| u64::try_from(factor).ok()), trips) {
        (Some(factor), Some(trips)) => Some(factor.min(trips)),
        (factor, trips) => factor.or(trips),
    }
}
