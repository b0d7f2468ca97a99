//! Making the copies.

use super::decide::{Action, UnrolledLoop};
use tc_dialects::algebra::const_extent;
use tc_dialects::{arith, tir};
use tc_ir::clone::{ValueMap, clone_body};
use tc_ir::{Builder, Func, Op, Rewriter, Value, keys};

/// The variable of the loop `op`.
pub(super) fn var(func: &Func, op: Op) -> Value {
    func.region_args(func.op_regions(op)[0])[0]
}

/// Carries out one step.
pub(super) fn carry_out(func: &mut Func, step: &UnrolledLoop) {
    match step.action {
        Action::Clean => clean(func, step.op),
        Action::Serial => {
            for key in [keys::KIND, keys::FACTOR] {
                let attrs = func.op_attrs(step.op);
                let attrs = func.without_entry(attrs, key);
                Rewriter::new(func).set_attrs(step.op, attrs);
            }
            clean(func, step.op);
        }
        Action::Mark => {
            let unroll = func.word_attr("unroll");
            Rewriter::new(func).set_attr(step.op, keys::KIND, unroll);
            clean(func, step.op);
        }
        Action::Copy(None) => {
            let lo = func.const_int(func.operand(step.op, 0)).unwrap_or(0);
            let extent = const_extent(func, step.op).unwrap_or(0);
            let inits = func.operands(step.op)[2..].to_vec();
            let results = copies(func, step.op, lo..lo.saturating_add(extent), inits);
            Rewriter::new(func).replace_op(step.op, &results);
        }
        Action::Copy(Some(factor)) => by_factor(func, step.op, factor),
    }
}

fn clean(func: &mut Func, op: Op) {
    for key in ["auto_unroll_max_step", "unroll_explicit"] {
        if let Some(key) = func.find_name(key) {
            let attrs = func.op_attrs(op);
            let attrs = func.without_entry(attrs, key);
            Rewriter::new(func).set_attrs(op, attrs);
        }
    }
}

/// Copies the body before the loop once for each value of `values`; gives what the last copy carries on.
fn copies(func: &mut Func, op: Op, values: std::ops::Range<i64>, mut carried: Vec<Value>) -> Vec<Value> {
    let body = func.op_regions(op)[0];
    let elem = func.value_scalar(var(func, op)).expect("a loop variable is an integer").elem;
    for value in values {
        let mut b = Builder::before(func, op);
        let value = b.int(value, elem);
        carried = one_copy(&mut b, body, value, &carried);
    }
    carried
}

fn one_copy(b: &mut Builder<'_>, body: tc_ir::Region, value: Value, carried: &[Value]) -> Vec<Value> {
    let mut map = ValueMap::default();
    let args = b.func.region_args(body).to_vec();
    map.insert(args[0], value);
    map.extend(args[1..].iter().copied().zip(carried.iter().copied()));
    clone_body(b, body, &mut map)
}

/// `for i in lo..hi unroll(factor = f) { … }` as `for t in 0..(hi - lo) / f { … f copies … }` and what is left over.
fn by_factor(func: &mut Func, op: Op, factor: i64) {
    let (lo, hi) = (func.operand(op, 0), func.operand(op, 1));
    let inits = func.operands(op)[2..].to_vec();
    let elem = func.value_scalar(lo).expect("a bound is an integer").elem;
    let bounds = func.const_int(lo).zip(const_extent(func, op));
    let extent = bounds.map(|(_, extent)| extent);
    let mut carried = inits;
    if extent.is_none_or(|extent| extent >= factor) {
        carried = main_loop(func, op, factor, &carried);
    }
    let results = match bounds {
        Some((lo, extent)) => {
            let done = extent - extent % factor;
            copies(func, op, lo.saturating_add(done)..lo.saturating_add(extent), carried)
        }
        None => {
            let mut b = Builder::before(func, op);
            let distance = b.value(arith::SUB, &[hi, lo], &[]);
            let factor = b.int(factor, elem);
            let rest = b.value(arith::MOD, &[distance, factor], &[]);
            let start = b.value(arith::SUB, &[hi, rest], &[]);
            // A loop that runs backwards does not run at all.
            let start = b.value(arith::MAX, &[start, lo], &[]);
            serial_loop(&mut b, op, start, hi, &carried, |b, region| {
                let args = b.func.region_args(region).to_vec();
                let body = b.func.op_regions(op)[0];
                one_copy(b, body, args[0], &args[1..])
            })
        }
    };
    Rewriter::new(func).replace_op(op, &results);
}

fn main_loop(func: &mut Func, op: Op, factor: i64, carried: &[Value]) -> Vec<Value> {
    let (lo, hi) = (func.operand(op, 0), func.operand(op, 1));
    let elem = func.value_scalar(lo).expect("a bound is an integer").elem;
    let body = func.op_regions(op)[0];
    let mut b = Builder::before(func, op);
    let (zero, width) = (b.int(0, elem), b.int(factor, elem));
    let distance = b.value(arith::SUB, &[hi, lo], &[]);
    let trips = b.value(arith::DIV, &[distance, width], &[]);
    serial_loop(&mut b, op, zero, trips, carried, |b, region| {
        let args = b.func.region_args(region).to_vec();
        let mut values = args[1..].to_vec();
        for nth in 0..factor {
            // Written out in each copy: what copies share is for `cse` to find.
            let (width, offset) = (b.int(factor, elem), b.int(nth, elem));
            let scaled = b.value(arith::MUL, &[args[0], width], &[]);
            let base = b.value(arith::ADD, &[scaled, lo], &[]);
            let value = b.value(arith::ADD, &[base, offset], &[]);
            values = one_copy(b, body, value, &values);
        }
        values
    })
}

/// Builds a serial loop with the carried values and the name of the loop `like`.
fn serial_loop(
    b: &mut Builder<'_>,
    like: Op,
    lo: Value,
    hi: Value,
    carried: &[Value],
    fill: impl FnOnce(&mut Builder<'_>, tc_ir::Region) -> Vec<Value>,
) -> Vec<Value> {
    let types: Vec<_> = carried.iter().map(|&value| b.func.value_type(value)).collect();
    let op = tir::For::build(b, lo, hi, carried, &[], &types);
    let region = b.func.op_regions(op)[0];
    for old in b.func.region_args(b.func.op_regions(like)[0]).to_vec() {
        let (ty, name) = (b.func.value_type(old), b.func.value_name(old));
        let new = b.arg(region, ty, None);
        b.func.set_value_name(new, name);
    }
    b.within(region, |b| {
        let values = fill(b, region);
        if !values.is_empty() {
            tir::Yield::build(b, &values, &[], &[]);
        }
    });
    b.func.results(op).collect()
}
