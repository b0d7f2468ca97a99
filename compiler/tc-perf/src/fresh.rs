//! In how many iterations of a loop a load comes to sectors that its warp did not load before.
//!
//! Such an iteration waits for L2 or memory, and others find their lines in L1. What loads of one iteration wait for they wait for
//! together, so a mean over all of them would tell too little of it.

use crate::memory::{Addresses, SECTOR, sectors};
use crate::repeat::factor;
use crate::touch::Touch;
use crate::unroll::trips;
use std::collections::BTreeSet;
use tc_dialects::tir::{self, LoopKind, loop_kind};
use tc_ir::walk::ancestors;
use tc_ir::{Func, Op};

/// Iterations that are looked at, at most, and how many where their number is open.
const MOST: u64 = 64;
const OPEN: u64 = 16;

/// What a warp reaches in one iteration of a loop stays in L1 until the next up to so many bytes: so much is there for each of 16 warps.
const KEPT: f64 = 16384.0;

/// The share of the iterations of a loop, after its first, that come to new sectors; none where the position is no sum of multiples
/// of loop variables.
pub(crate) type Fresh = (Op, Option<f64>);

/// The loops around the access, from the inside, each with its share. `first` are the addresses of the lanes in one iteration.
pub(crate) fn fresh(func: &Func, touch: &Touch, first: &Addresses) -> Vec<Fresh> {
    let is_loop =
        |&op: &Op| func.opcode(op) == tir::FOR && !matches!(loop_kind(func, op), Some(LoopKind::Launch(_)) | None);
    let mut reach = (sectors(first, touch.width().0).len() as i64 * SECTOR) as f64;
    let of = |around: Op| {
        let share = share(func, touch, first, around).map(|share| if reach > KEPT { 1.0 } else { share });
        reach *= 1.0 + share.unwrap_or(1.0) * (trips(func, around).unwrap_or(OPEN) as f64 - 1.0).max(0.0);
        (around, share)
    };
    ancestors(func, touch.op).filter(is_loop).map(of).collect()
}

fn share(func: &Func, touch: &Touch, first: &Addresses, around: Op) -> Option<f64> {
    let var = func.region_args(func.op_regions(around)[0]).first();
    let n = trips(func, around).unwrap_or(OPEN).min(MOST) as i64;
    let step = touch.element().zip(var).and_then(|((index, bytes), &var)| factor(func, index, var)?.checked_mul(bytes));
    if n <= 1 {
        return Some(1.0);
    }
    let step = step?;
    let mut seen = BTreeSet::new();
    let mut is_new = |nth: i64| {
        let at = first.map(|address| address.and_then(|address| address.checked_add(step.checked_mul(nth)?)));
        let all = sectors(&at, touch.width().0);
        all.into_iter().fold(false, |is_new, sector| seen.insert(sector) | is_new)
    };
    let new = (0..n).filter(|&nth| is_new(nth)).count();
    Some(new.saturating_sub(1) as f64 / (n - 1) as f64)
}
