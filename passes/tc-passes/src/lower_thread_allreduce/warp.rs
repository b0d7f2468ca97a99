//! The paths by shuffles: within a warp, and across the warps of a group.

use super::emit::{
    add, base, branch, combiner, compare, join, less, load, n_warps, only_if, quotient, rank, remainder, store, types,
};
use super::find::AllReduce;
use crate::analysis::exchange::{WARP, shuffle};
use tc_dialects::{arith, tir};
use tc_ir::{Builder, Value};

/// Groups that lie within a warp.
pub(super) fn within(b: &mut Builder<'_>, plan: &AllReduce, values: Vec<Value>) -> Vec<Value> {
    if plan.is_butterfly(plan.n) {
        return butterfly(b, plan, values, plan.n);
    }
    let rank = rank(b, plan);
    if WARP % plan.n == 0 {
        return handed_out(b, plan, values, rank, plan.n);
    }
    // The one warp of the block: a group may start anywhere in it.
    let end = b.index(plan.n);
    let values = taken_over(b, plan, values, (rank, end), plan.n, WARP);
    let first = base(b, plan, plan.n);
    exchange(b, &values, first, "idx", WARP)
}

/// Groups of several warps.
pub(super) fn across(b: &mut Builder<'_>, plan: &AllReduce, values: Vec<Value>, staged: &[Value]) -> Vec<Value> {
    let types = types(b.func, &values);
    let combine = combiner(b.func, plan.op);
    let n_warps = n_warps(plan);
    let (rank, base) = (rank(b, plan), base(b, plan, n_warps));
    let (lane, warp) = (remainder(b, rank, WARP), quotient(b, rank, WARP));
    let whole = plan.n % WARP == 0;
    let values = if whole && plan.commutes {
        butterfly(b, plan, values, WARP)
    } else {
        let mut end = b.index(WARP);
        if !whole {
            // The last warp may have fewer lanes.
            let start = b.index(WARP);
            let start = b.value(arith::MUL, &[warp, start], &[]);
            let n = b.index(plan.n);
            let left = b.value(arith::SUB, &[n, start], &[]);
            end = b.value(arith::MIN, &[end, left], &[]);
        }
        taken_over(b, plan, values, (lane, end), WARP, WARP)
    };
    let zero = b.index(0);
    let is_first = compare(b, "eq", lane, zero);
    let at = add(b, base, warp);
    only_if(b, is_first, |b| store(b, staged, at, &values));
    if whole && n_warps & (n_warps - 1) == 0 && n_warps <= WARP {
        let place = remainder(b, rank, n_warps);
        let at = add(b, base, place);
        let parts = load(b, staged, at, &types);
        return if plan.commutes {
            butterfly(b, plan, parts, n_warps)
        } else {
            handed_out(b, plan, parts, place, n_warps)
        };
    }
    // One after another; all threads read the same cell.
    let first = load(b, staged, base, &types);
    let (lo, hi) = (b.index(1), b.index(n_warps));
    let op = tir::For::build(b, lo, hi, &first, &[], &types);
    let body = b.func.op_regions(op)[0];
    let index = b.func.index_ty();
    let nth = b.arg(body, index, Some("w"));
    let sums: Vec<Value> = types.iter().map(|&ty| b.arg(body, ty, None)).collect();
    b.within(body, |b| {
        let at = add(b, base, nth);
        let parts = load(b, staged, at, &types);
        let sums = join(b, combine, &sums, &parts);
        tir::Yield::build(b, &sums, &[], &[]);
    });
    b.func.results(op).collect()
}

/// Each lane combines with the one whose number differs in one bit, for all bits below `n`.
fn butterfly(b: &mut Builder<'_>, plan: &AllReduce, mut values: Vec<Value>, n: i64) -> Vec<Value> {
    let combine = combiner(b.func, plan.op);
    let mut bit = n / 2;
    while bit > 0 {
        let lane = b.index(bit);
        let others = exchange(b, &values, lane, "xor", WARP);
        values = join(b, combine, &values, &others);
        bit /= 2;
    }
    values
}

/// Groups of `n` lanes, where `n` divides the warp: the first lane gathers, and hands out.
fn handed_out(b: &mut Builder<'_>, plan: &AllReduce, values: Vec<Value>, place: Value, n: i64) -> Vec<Value> {
    let end = b.index(n);
    let values = taken_over(b, plan, values, (place, end), n, n);
    let first = b.index(0);
    exchange(b, &values, first, "idx", n)
}

/// Each lane takes over from those further on, as far as there are some: afterwards the one at place 0 holds all, in
/// order. Lanes at places beyond hold something too, which nothing uses.
fn taken_over(
    b: &mut Builder<'_>,
    plan: &AllReduce,
    mut values: Vec<Value>,
    (place, end): (Value, Value),
    n: i64,
    width: i64,
) -> Vec<Value> {
    let combine = combiner(b.func, plan.op);
    let types = types(b.func, &values);
    let mut step = 1;
    while step < n {
        let by = b.index(step);
        let others = exchange(b, &values, by, "down", width);
        let there = match b.func.const_int(end) {
            Some(end) => less(b, place, end - step),
            None => {
                let further = add(b, place, by);
                compare(b, "lt", further, end)
            }
        };
        values = branch(b, there, &types, |b| join(b, combine, &values, &others), |_| values.clone());
        step *= 2;
    }
    values
}

/// What other lanes hold.
fn exchange(b: &mut Builder<'_>, values: &[Value], lane: Value, mode: &str, width: i64) -> Vec<Value> {
    values.iter().map(|&value| shuffle(b, value, lane, mode, width)).collect()
}
