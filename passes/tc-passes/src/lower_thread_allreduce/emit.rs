//! What a reduction becomes.

use super::find::{AllReduce, Digit, Path};
use super::warp;
use crate::analysis::exchange::WARP;
use tc_dialects::arith;
use tc_dialects::scope::Scope;
use tc_dialects::tir;
use tc_ir::builder::OpSpec;
use tc_ir::clone::{ValueMap, clone_body};
use tc_ir::{Builder, Elem, Func, Op, Opcode, Region, Rewriter, Type, TypeData, Value, keys};

/// Writes out what `plan` says.
pub(super) fn emit(func: &mut Func, plan: &AllReduce) {
    let values = func.operands(plan.op).to_vec();
    let buffers = allocate(func, plan, &values);
    let mut rw = Rewriter::new(func);
    let b = &mut rw.before(plan.op);
    let totals = match plan.path {
        Path::Copy => values,
        Path::Warp => warp::within(b, plan, values),
        Path::Warps => warp::across(b, plan, values, &buffers[0]),
        Path::Shared => through_shared(b, plan, values, &buffers),
    };
    rw.replace_op(plan.op, &totals);
}

/// The buffers of the path, at the head of the nest; each has one for each value.
fn allocate(func: &mut Func, plan: &AllReduce, values: &[Value]) -> Vec<Vec<Value>> {
    let (n_buffers, cells) = match plan.path {
        Path::Copy | Path::Warp => return Vec::new(),
        Path::Warps => (1, plan.total / plan.n * n_warps(plan)),
        // Of two values in all, none is stored a second time.
        Path::Shared => (if plan.n > 2 { 2 } else { 1 }, plan.total),
    };
    let Some(home) = plan.home else { return Vec::new() };
    let locs = func.op_locs(plan.op);
    let mut b = Builder::at_start(func, home);
    b.locs = locs;
    (0..n_buffers).map(|_| values.iter().map(|&value| buffer(&mut b, value, cells)).collect()).collect()
}

/// A shared buffer of so many cells for numbers like `value`.
fn buffer(b: &mut Builder<'_>, value: Value, cells: i64) -> Value {
    let elem = b.func.elem_ty(stored(b.func, value));
    let (size, scope) = (b.func.int_attr(cells), Scope::Shared.name_in(b.func));
    let ty = b.func.ty(TypeData::Shaped { elem, shape: [size].into(), scope: Some(scope) });
    let op = tir::Alloc::build(b, &[], &[ty]);
    let buffer = b.func.results(op).next().expect("the row has one result");
    b.name(buffer, "staged")
}

/// The type in which `value` is stored: `index` has no width.
fn stored(func: &Func, value: Value) -> Elem {
    match func.value_scalar(value).map(|scalar| scalar.elem) {
        Some(Elem::Index) => Elem::I64,
        Some(elem) => elem,
        None => Elem::F32,
    }
}

/// The warps of a group.
pub(super) fn n_warps(plan: &AllReduce) -> i64 {
    (plan.n - 1) / WARP + 1
}

/// Halves the number of values until every thread can combine the last two.
fn through_shared(b: &mut Builder<'_>, plan: &AllReduce, mut values: Vec<Value>, buffers: &[Vec<Value>]) -> Vec<Value> {
    let combine = combiner(b.func, plan.op);
    let rank = rank(b, plan);
    let (base, step) = layout(b, plan);
    let offset = scale(b, rank, step);
    let own = add(b, base, offset);
    let (mut left, mut at) = (plan.n, 0);
    store(b, &buffers[at], own, &values);
    while left > 2 {
        let from = &buffers[at];
        let half = left / 2 + left % 2;
        values = if plan.commutes {
            // The upper half comes to the lower one; the one in the middle stays as it is.
            let is_met = less(b, rank, left - half);
            let types = types(b.func, &values);
            branch(
                b,
                is_met,
                &types,
                |b| {
                    let further = b.index(half * step);
                    let other = add(b, own, further);
                    let others = load(b, from, other, &types);
                    join(b, combine, &values, &others)
                },
                |_| values.clone(),
            )
        } else {
            neighbours(b, plan, &values, from, (rank, base, step), left)
        };
        (left, at) = (half, 1 - at);
        store(b, &buffers[at], own, &values);
    }
    let types = types(b.func, &values);
    let step = b.index(step);
    let second = add(b, base, step);
    let lower = load(b, &buffers[at], base, &types);
    let upper = load(b, &buffers[at], second, &types);
    join(b, combine, &lower, &upper)
}

/// Where the values of a group lie: the first one, and how far it is from one to the next. They lie in the order of the
/// threads, so that those of a warp have neighbours, unless a coordinate between the reduced ones keeps them apart.
fn layout(b: &mut Builder<'_>, plan: &AllReduce) -> (Value, i64) {
    let is_reduced = |digit: &&Digit| digit.reduced;
    let below = plan.digits.iter().take_while(|digit| !digit.reduced).count();
    let n_reduced = plan.digits.iter().filter(is_reduced).count();
    let together = plan.digits[below..].iter().take_while(is_reduced).count() == n_reduced;
    if !together {
        return (base(b, plan, plan.n), 1);
    }
    let step: i64 = plan.digits[..below].iter().map(|digit| digit.extent).product();
    let (low, high) = plan.digits.split_at(below);
    let low = number(b, low, |digit| !digit.reduced, 1);
    let high = number(b, high, |digit| !digit.reduced, step * plan.n);
    (add(b, low, high), step)
}

/// One round in order: thread `r` combines the values number `2 * r` and `2 * r + 1` of the `left` there are.
fn neighbours(
    b: &mut Builder<'_>,
    plan: &AllReduce,
    values: &[Value],
    from: &[Value],
    (rank, base, step): (Value, Value, i64),
    left: i64,
) -> Vec<Value> {
    let combine = combiner(b.func, plan.op);
    let types = types(b.func, values);
    let twice = scale(b, rank, 2 * step);
    let first = add(b, base, twice);
    let has_two = less(b, rank, left / 2);
    branch(
        b,
        has_two,
        &types,
        |b| {
            let step = b.index(step);
            let second = add(b, first, step);
            let lower = load(b, from, first, &types);
            let upper = load(b, from, second, &types);
            join(b, combine, &lower, &upper)
        },
        |b| {
            if left % 2 == 0 {
                return values.to_vec();
            }
            let is_odd_one = less(b, rank, left / 2 + 1);
            branch(b, is_odd_one, &types, |b| load(b, from, first, &types), |_| values.to_vec())
        },
    )
}

/// The body of the reduction `op`.
pub(super) fn combiner(func: &Func, op: Op) -> Region {
    func.op_regions(op)[0]
}

/// Combines two sets of values.
pub(super) fn join(b: &mut Builder<'_>, combine: Region, lower: &[Value], upper: &[Value]) -> Vec<Value> {
    let args = b.func.region_args(combine).to_vec();
    let mut map: ValueMap = args.into_iter().zip(lower.iter().chain(upper).copied()).collect();
    clone_body(b, combine, &mut map)
}

pub(super) fn types(func: &Func, values: &[Value]) -> Vec<Type> {
    values.iter().map(|&value| func.value_type(value)).collect()
}

/// A conditional with values.
pub(super) fn branch(
    b: &mut Builder<'_>,
    condition: Value,
    types: &[Type],
    then: impl FnOnce(&mut Builder<'_>) -> Vec<Value>,
    otherwise: impl FnOnce(&mut Builder<'_>) -> Vec<Value>,
) -> Vec<Value> {
    let op = tir::If::build(b, condition, &[], types);
    let [on_true, on_false] = [0, 1].map(|nth| b.func.op_regions(op)[nth]);
    b.within(on_true, |b| {
        let values = then(b);
        tir::Yield::build(b, &values, &[], &[]);
    });
    b.within(on_false, |b| {
        let values = otherwise(b);
        tir::Yield::build(b, &values, &[], &[]);
    });
    b.func.results(op).collect()
}

/// A conditional without values and without another branch.
pub(super) fn only_if(b: &mut Builder<'_>, condition: Value, then: impl FnOnce(&mut Builder<'_>)) {
    let attrs = b.func.dict(&[]);
    let spec = OpSpec { opcode: tir::IF, operands: &[condition], keyed: 0, attrs, results: &[], n_regions: 1 };
    let op = b.op(spec);
    let region = b.func.op_regions(op)[0];
    b.within(region, then);
}

pub(super) fn store(b: &mut Builder<'_>, buffers: &[Value], at: Value, values: &[Value]) {
    for (&buffer, &value) in buffers.iter().zip(values) {
        let value = cast(b, value, stored(b.func, value));
        tir::Store::build(b, buffer, &[at], value, &[], &[]);
    }
}

/// The values of the buffers at `at`, of these types.
pub(super) fn load(b: &mut Builder<'_>, buffers: &[Value], at: Value, types: &[Type]) -> Vec<Value> {
    let read = |(&buffer, &ty): (&Value, &Type)| {
        let value = b.value(tir::LOAD, &[buffer, at], &[]);
        let elem = b.func.as_scalar(ty).map_or(Elem::F32, |scalar| scalar.elem);
        cast(b, value, elem)
    };
    buffers.iter().zip(types).map(read).collect()
}

fn cast(b: &mut Builder<'_>, value: Value, elem: Elem) -> Value {
    if b.func.value_scalar(value).is_some_and(|scalar| scalar.elem == elem) {
        return value;
    }
    let ty = b.func.elem_ty(elem);
    let op = arith::Cast::build(b, value, &[], &[ty]);
    b.func.results(op).next().expect("the row has one result")
}

/// The place of a thread within its group: of the reduced coordinates, `x` counted first.
pub(super) fn rank(b: &mut Builder<'_>, plan: &AllReduce) -> Value {
    number(b, &plan.digits, |digit| digit.reduced, 1)
}

/// The number of a group, times `cells`.
pub(super) fn base(b: &mut Builder<'_>, plan: &AllReduce, cells: i64) -> Value {
    number(b, &plan.digits, |digit| !digit.reduced, cells)
}

/// The number that the digits which count spell, times `unit`.
fn number(b: &mut Builder<'_>, digits: &[Digit], counts: impl Fn(&Digit) -> bool, unit: i64) -> Value {
    let (mut sum, mut below) = (None, unit);
    for digit in digits.iter().filter(|digit| counts(digit)) {
        // A coordinate without a variable was refused.
        if let Some((var, start)) = digit.var {
            let mut value = cast(b, var, Elem::Index);
            if start != 0 {
                let start = b.index(start);
                value = b.value(arith::SUB, &[value, start], &[]);
            }
            let term = scale(b, value, below);
            sum = Some(sum.map_or(term, |sum| add(b, sum, term)));
        }
        below *= digit.extent;
    }
    sum.unwrap_or_else(|| b.index(0))
}

pub(super) fn add(b: &mut Builder<'_>, lhs: Value, rhs: Value) -> Value {
    if b.func.const_int(lhs) == Some(0) {
        return rhs;
    }
    if b.func.const_int(rhs) == Some(0) {
        return lhs;
    }
    b.value(arith::ADD, &[lhs, rhs], &[])
}

fn scale(b: &mut Builder<'_>, value: Value, by: i64) -> Value {
    with_literal(b, arith::MUL, value, by, 1)
}

pub(super) fn quotient(b: &mut Builder<'_>, value: Value, by: i64) -> Value {
    with_literal(b, arith::DIV, value, by, 1)
}

pub(super) fn remainder(b: &mut Builder<'_>, value: Value, by: i64) -> Value {
    let by = b.index(by);
    b.value(arith::MOD, &[value, by], &[])
}

/// `value op literal`, or `value` where the literal changes nothing.
fn with_literal(b: &mut Builder<'_>, op: Opcode, value: Value, literal: i64, neutral: i64) -> Value {
    if literal == neutral {
        return value;
    }
    let literal = b.index(literal);
    b.value(op, &[value, literal], &[])
}

pub(super) fn less(b: &mut Builder<'_>, value: Value, than: i64) -> Value {
    let than = b.index(than);
    compare(b, "lt", value, than)
}

pub(super) fn compare(b: &mut Builder<'_>, predicate: &str, lhs: Value, rhs: Value) -> Value {
    let word = b.func.word_attr(predicate);
    b.value(arith::CMP, &[lhs, rhs], &[(keys::PREDICATE, word)])
}
