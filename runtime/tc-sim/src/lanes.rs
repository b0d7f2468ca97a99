//! Arithmetic on all lanes of a group at once.
//!
//! A kernel here computes every lane, those that take no part included: their results are never looked at. What
//! can go wrong is collected as one flag, and only where it is set are the lanes looked at one by one.

use crate::cell::{Cell, float_of, int_of, of_float, of_int};
use crate::code::{FloatOp, IntOp, UnaryOp};
use tc_dialects::arith::{self, Predicate, eval};
use tc_ir::Elem;
use tc_ir::attrs::BinOp;
use tc_ir::types::ElemKind;
use tc_support::rounding::int_to_odd;

#[inline(always)]
pub(crate) fn map1(dst: &mut [Cell], a: &[Cell], f: impl Fn(Cell) -> Cell) {
    if a.len() == dst.len() {
        for (d, &a) in dst.iter_mut().zip(a) {
            *d = f(a);
        }
    } else {
        dst.fill(f(a[0]));
    }
}

/// Binary operations, an operand of one cell standing for all lanes.
#[inline(always)]
pub(crate) fn map2(dst: &mut [Cell], a: &[Cell], b: &[Cell], f: impl Fn(Cell, Cell) -> Cell) {
    if a.len() == dst.len() && b.len() == dst.len() {
        for ((d, &a), &b) in dst.iter_mut().zip(a).zip(b) {
            *d = f(a, b);
        }
    } else if a.len() == dst.len() {
        let b = b[0];
        for (d, &a) in dst.iter_mut().zip(a) {
            *d = f(a, b);
        }
    } else if b.len() == dst.len() {
        let a = a[0];
        for (d, &b) in dst.iter_mut().zip(b) {
            *d = f(a, b);
        }
    } else {
        dst.fill(f(a[0], b[0]));
    }
}

/// The same for operations that can fail: the flags of all lanes, joined.
#[inline(always)]
fn map2_checked(dst: &mut [Cell], a: &[Cell], b: &[Cell], f: impl Fn(i64, i64) -> (i64, bool)) -> bool {
    let mut bad = false;
    let mut step = |d: &mut Cell, a: Cell, b: Cell| {
        let (value, fails) = f(a as i64, b as i64);
        *d = value as u64;
        bad |= fails;
    };
    if a.len() == dst.len() && b.len() == dst.len() {
        for ((d, &a), &b) in dst.iter_mut().zip(a).zip(b) {
            step(d, a, b);
        }
    } else if a.len() == dst.len() {
        let b = b[0];
        for (d, &a) in dst.iter_mut().zip(a) {
            step(d, a, b);
        }
    } else if b.len() == dst.len() {
        let a = a[0];
        for (d, &b) in dst.iter_mut().zip(b) {
            step(d, a, b);
        }
    } else {
        for d in dst {
            step(d, a[0], b[0]);
        }
    }
    bad
}

/// An integer operation in all lanes. Tells whether it may have failed in one.
pub(crate) fn int(op: IntOp, elem: Elem, dst: &mut [Cell], a: &[Cell], b: &[Cell]) -> bool {
    match (op, elem) {
        (IntOp::And, _) => map2(dst, a, b, |a, b| a & b),
        (IntOp::Or, _) => map2(dst, a, b, |a, b| a | b),
        (IntOp::Xor, _) => map2(dst, a, b, |a, b| a ^ b),
        (IntOp::Min, Elem::U64) => map2(dst, a, b, Ord::min),
        (IntOp::Max, Elem::U64) => map2(dst, a, b, Ord::max),
        (IntOp::Min, _) => map2(dst, a, b, |a, b| (a as i64).min(b as i64) as u64),
        (IntOp::Max, _) => map2(dst, a, b, |a, b| (a as i64).max(b as i64) as u64),
        (_, Elem::Index | Elem::I64) => return int64(op, dst, a, b),
        (_, Elem::I32) => {
            let narrow = |wide: i64| (i64::from(wide as i32), i64::from(wide as i32) != wide);
            match op {
                IntOp::Add => return map2_checked(dst, a, b, |a, b| narrow(a.wrapping_add(b))),
                IntOp::Sub => return map2_checked(dst, a, b, |a, b| narrow(a.wrapping_sub(b))),
                IntOp::Mul => return map2_checked(dst, a, b, |a, b| narrow(a.wrapping_mul(b))),
                _ => return int_slow(op, elem, dst, a, b),
            }
        }
        _ => return int_slow(op, elem, dst, a, b),
    }
    false
}

fn int64(op: IntOp, dst: &mut [Cell], a: &[Cell], b: &[Cell]) -> bool {
    match op {
        IntOp::Add => map2_checked(dst, a, b, |a, b| {
            let sum = a.wrapping_add(b);
            (sum, ((a ^ sum) & (b ^ sum)) < 0)
        }),
        IntOp::Sub => map2_checked(dst, a, b, |a, b| {
            let difference = a.wrapping_sub(b);
            (difference, ((a ^ b) & (a ^ difference)) < 0)
        }),
        IntOp::Mul => map2_checked(dst, a, b, i64::overflowing_mul),
        IntOp::Div if b.len() == 1 && (b[0] as i64) > 0 => {
            let by = b[0] as i64;
            map1(dst, a, |a| (a as i64).div_euclid(by) as u64);
            false
        }
        IntOp::Mod if b.len() == 1 && (b[0] as i64) > 0 => {
            let by = b[0] as i64;
            map1(dst, a, |a| (a as i64).rem_euclid(by) as u64);
            false
        }
        _ => int_slow(op, Elem::Index, dst, a, b),
    }
}

fn int_slow(op: IntOp, elem: Elem, dst: &mut [Cell], a: &[Cell], b: &[Cell]) -> bool {
    let cell = |operand: &[Cell], lane: usize| if operand.len() == 1 { operand[0] } else { operand[lane] };
    let mut bad = false;
    for (lane, d) in dst.iter_mut().enumerate() {
        match int_one(op, elem, cell(a, lane), cell(b, lane)) {
            Some(value) => *d = value,
            None => (*d, bad) = (0, true),
        }
    }
    bad
}

/// An integer operation in one lane; `None` where it fails.
pub(crate) fn int_one(op: IntOp, elem: Elem, a: Cell, b: Cell) -> Option<Cell> {
    let (lhs, rhs) = (int_of(elem, a), int_of(elem, b));
    let binary = |op| eval::int_binary(op, lhs, rhs, elem);
    let value = match op {
        IntOp::Add => binary(BinOp::Add),
        IntOp::Sub => binary(BinOp::Sub),
        IntOp::Mul => binary(BinOp::Mul),
        IntOp::Div => binary(BinOp::Div),
        IntOp::Mod => binary(BinOp::Mod),
        IntOp::And => binary(BinOp::BitAnd),
        IntOp::Or => binary(BinOp::BitOr),
        IntOp::Xor => binary(BinOp::BitXor),
        IntOp::Shl => binary(BinOp::Shl),
        IntOp::Shr => binary(BinOp::Shr),
        IntOp::TruncDiv => eval::int_trunc(arith::TDIV, lhs, rhs, elem),
        IntOp::TruncMod => eval::int_trunc(arith::TMOD, lhs, rhs, elem),
        IntOp::Min => Some(lhs.min(rhs)),
        IntOp::Max => Some(lhs.max(rhs)),
    };
    value.map(of_int)
}

/// Component `comp` of `ramp(base, stride, …)`; `None` where it overflows.
pub(crate) fn ramp_one(elem: Elem, base: Cell, stride: Cell, comp: usize) -> Option<Cell> {
    let offset = int_one(IntOp::Mul, elem, stride, comp as u64)?;
    int_one(IntOp::Add, elem, base, offset)
}

#[inline(always)]
fn f32s(dst: &mut [Cell], a: &[Cell], b: &[Cell], f: impl Fn(f32, f32) -> f32) {
    map2(dst, a, b, |a, b| u64::from(f(f32::from_bits(a as u32), f32::from_bits(b as u32)).to_bits()));
}

#[inline(always)]
fn f64s(dst: &mut [Cell], a: &[Cell], b: &[Cell], f: impl Fn(f64, f64) -> f64) {
    map2(dst, a, b, |a, b| f(f64::from_bits(a), f64::from_bits(b)).to_bits());
}

/// An operation on floats in all lanes.
pub(crate) fn float(op: FloatOp, elem: Elem, dst: &mut [Cell], a: &[Cell], b: &[Cell]) {
    match (elem, op) {
        (Elem::F32, FloatOp::Add) => f32s(dst, a, b, |a, b| a + b),
        (Elem::F32, FloatOp::Sub) => f32s(dst, a, b, |a, b| a - b),
        (Elem::F32, FloatOp::Mul) => f32s(dst, a, b, |a, b| a * b),
        (Elem::F32, FloatOp::Div) => f32s(dst, a, b, |a, b| a / b),
        (Elem::F32, FloatOp::Min) => f32s(dst, a, b, f32::min),
        (Elem::F32, FloatOp::Max) => f32s(dst, a, b, f32::max),
        (Elem::F64, FloatOp::Add) => f64s(dst, a, b, |a, b| a + b),
        (Elem::F64, FloatOp::Sub) => f64s(dst, a, b, |a, b| a - b),
        (Elem::F64, FloatOp::Mul) => f64s(dst, a, b, |a, b| a * b),
        (Elem::F64, FloatOp::Div) => f64s(dst, a, b, |a, b| a / b),
        _ => map2(dst, a, b, |a, b| of_float(elem, float_one(op, float_of(elem, a), float_of(elem, b)))),
    }
}

/// An operation on floats, not yet rounded to their type.
pub(crate) fn float_one(op: FloatOp, a: f64, b: f64) -> f64 {
    match op {
        FloatOp::Add => a + b,
        FloatOp::Sub => a - b,
        FloatOp::Mul => a * b,
        FloatOp::Div => a / b,
        FloatOp::Mod => a - (a / b).floor() * b,
        FloatOp::Min => a.min(b),
        FloatOp::Max => a.max(b),
        FloatOp::Pow => a.powf(b),
    }
}

/// `a + b`; where it lies between two numbers, the one whose last bit is set (Boldo and Melquiond 2008, "Emulation
/// of FMA and correctly rounded sums: proved algorithms using rounding to odd").
fn sum_to_odd(a: f64, b: f64) -> f64 {
    let sum = a + b;
    // What was rounded away (Knuth's TwoSum); NaN where the sum is no number.
    let b_seen = sum - a;
    let error = (a - (sum - b_seen)) + (b - b_seen);
    match error {
        _ if sum.to_bits() & 1 == 1 => sum,
        error if error > 0.0 => sum.next_up(),
        error if error < 0.0 => sum.next_down(),
        _ => sum,
    }
}

/// `a * b + c`, rounded once.
pub(crate) fn fma_one(elem: Elem, a: Cell, b: Cell, c: Cell) -> Cell {
    if elem == Elem::F32 {
        let f = |cell: Cell| f32::from_bits(cell as u32);
        return u64::from(f(a).mul_add(f(b), f(c)).to_bits());
    }
    if elem == Elem::F64 {
        return float_of(elem, a).mul_add(float_of(elem, b), float_of(elem, c)).to_bits();
    }
    // Of the narrower types the product is exact in f64, and the sum, rounded to odd, is as good as exact.
    of_float(elem, sum_to_odd(float_of(elem, a) * float_of(elem, b), float_of(elem, c)))
}

/// A function of one number in all lanes. Tells whether it may have failed in one.
pub(crate) fn unary(op: UnaryOp, elem: Elem, dst: &mut [Cell], a: &[Cell]) -> bool {
    if elem.is_float() {
        match (op, elem) {
            (UnaryOp::Neg, Elem::F64) => map1(dst, a, |a| a ^ 1 << 63),
            (UnaryOp::Neg, _) => map1(dst, a, |a| a ^ 1 << 31),
            (UnaryOp::Abs, Elem::F64) => map1(dst, a, |a| a & !(1 << 63)),
            (UnaryOp::Abs, _) => map1(dst, a, |a| a & !(1 << 31)),
            _ => map1(dst, a, |a| of_float(elem, unary_one(op, float_of(elem, a)))),
        }
        return false;
    }
    let mut bad = false;
    for (lane, d) in dst.iter_mut().enumerate() {
        match unary_int(op, elem, if a.len() == 1 { a[0] } else { a[lane] }) {
            Some(value) => *d = value,
            None => (*d, bad) = (0, true),
        }
    }
    bad
}

/// A function of one integer; `None` where it fails.
pub(crate) fn unary_int(op: UnaryOp, elem: Elem, a: Cell) -> Option<Cell> {
    let value = int_of(elem, a);
    let result = match op {
        UnaryOp::Neg => elem.fit(-value)?,
        UnaryOp::Abs => elem.fit(value.abs())?,
        UnaryOp::Popcount => i128::from((value & ((1i128 << elem.bits()) - 1)).count_ones()),
        _ => return None,
    };
    Some(of_int(result))
}

/// A function of a float, not yet rounded to its type.
pub(crate) fn unary_one(op: UnaryOp, x: f64) -> f64 {
    match op {
        UnaryOp::Neg => -x,
        UnaryOp::Abs => x.abs(),
        UnaryOp::Popcount => f64::NAN,
        UnaryOp::Function(function) => (function.value)(x),
    }
}

/// A comparison in all lanes.
pub(crate) fn cmp(predicate: Predicate, elem: Elem, dst: &mut [Cell], a: &[Cell], b: &[Cell]) {
    match elem {
        _ if elem.is_float() && elem != Elem::F64 => {
            let f = |cell: Cell| f32::from_bits(cell as u32);
            compare(predicate, dst, a, b, |a, b| f(a) == f(b), |a, b| f(a) < f(b), |a, b| f(a) <= f(b));
        }
        Elem::F64 => {
            let f = f64::from_bits;
            compare(predicate, dst, a, b, |a, b| f(a) == f(b), |a, b| f(a) < f(b), |a, b| f(a) <= f(b));
        }
        Elem::U64 => compare(predicate, dst, a, b, |a, b| a == b, |a, b| a < b, |a, b| a <= b),
        _ => {
            let i = |cell: Cell| cell as i64;
            compare(predicate, dst, a, b, |a, b| a == b, |a, b| i(a) < i(b), |a, b| i(a) <= i(b));
        }
    }
}

#[inline(always)]
fn compare(
    predicate: Predicate,
    dst: &mut [Cell],
    a: &[Cell],
    b: &[Cell],
    eq: impl Fn(Cell, Cell) -> bool,
    lt: impl Fn(Cell, Cell) -> bool,
    le: impl Fn(Cell, Cell) -> bool,
) {
    match predicate {
        Predicate::Eq => map2(dst, a, b, |a, b| u64::from(eq(a, b))),
        Predicate::Ne => map2(dst, a, b, |a, b| u64::from(!eq(a, b))),
        Predicate::Lt => map2(dst, a, b, |a, b| u64::from(lt(a, b))),
        Predicate::Le => map2(dst, a, b, |a, b| u64::from(le(a, b))),
        Predicate::Gt => map2(dst, a, b, |a, b| u64::from(lt(b, a))),
        Predicate::Ge => map2(dst, a, b, |a, b| u64::from(le(b, a))),
    }
}

/// A conversion in all lanes. Tells whether it may have failed in one.
pub(crate) fn cast(from: Elem, to: Elem, dst: &mut [Cell], a: &[Cell]) -> bool {
    match (from.kind(), to.kind()) {
        _ if from == to => map1(dst, a, |a| a),
        (ElemKind::Float, ElemKind::Float) => map1(dst, a, |a| of_float(to, float_of(from, a))),
        (ElemKind::Signed, ElemKind::Signed) if to.bits() == 64 => map1(dst, a, |a| a),
        (ElemKind::Bool, ElemKind::Signed | ElemKind::Unsigned) => map1(dst, a, |a| a),
        (ElemKind::Signed, ElemKind::Float) if to == Elem::F32 => {
            map1(dst, a, |a| u64::from((a as i64 as f32).to_bits()));
        }
        _ => {
            let mut bad = false;
            for (lane, d) in dst.iter_mut().enumerate() {
                match cast_one(from, to, if a.len() == 1 { a[0] } else { a[lane] }) {
                    Some(value) => *d = value,
                    None => (*d, bad) = (0, true),
                }
            }
            return bad;
        }
    }
    false
}

/// A conversion in one lane; `None` where the new type does not hold the value.
pub(crate) fn cast_one(from: Elem, to: Elem, a: Cell) -> Option<Cell> {
    Some(match (from.kind(), to.kind()) {
        (ElemKind::Float, ElemKind::Float) => of_float(to, float_of(from, a)),
        (ElemKind::Float, ElemKind::Bool) => u64::from(float_of(from, a) != 0.0),
        (ElemKind::Float, _) => of_int(eval::float_to_int(float_of(from, a), to)?),
        // Through f64 an integer of 64 bits would be rounded twice; `as` rounds once.
        (_, ElemKind::Float) if to == Elem::F32 => u64::from((int_of(from, a) as f32).to_bits()),
        (_, ElemKind::Float) if to == Elem::F64 => (int_of(from, a) as f64).to_bits(),
        (_, ElemKind::Float) => of_float(to, int_to_odd(int_of(from, a))),
        (_, ElemKind::Bool) => u64::from(a != 0),
        // Integers to narrower ones wrap, as the row says.
        _ => of_int(to.wrap(int_of(from, a))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fused_product_and_sum_is_rounded_once() {
        // The product is halfway between two bf16s, and the sum lies just beyond it; f64 does not tell.
        let cell = |value: f64| of_float(Elem::BF16, value);
        let fused = |c: f64| float_of(Elem::BF16, fma_one(Elem::BF16, cell(14.5), cell(2.25), cell(c)));
        assert_eq!(fused(0.0), 32.5);
        assert_eq!(fused(2f64.powi(-100)), 32.75);
        assert_eq!(fused(-2f64.powi(-100)), 32.5);
        assert!(fused(f64::NAN).is_nan() && fused(f64::INFINITY) == f64::INFINITY);
    }

    #[test]
    fn fast_integer_lanes_agree_with_the_definition() {
        let values: Vec<i64> = vec![0, 1, -1, 7, -7, 2, i64::MAX, i64::MIN, i32::MAX.into(), i32::MIN.into(), 1 << 40];
        let ops = [IntOp::Add, IntOp::Sub, IntOp::Mul, IntOp::Div, IntOp::Mod, IntOp::Min, IntOp::Max];
        for op in ops {
            for elem in [Elem::Index, Elem::I32] {
                for &a in &values {
                    for &b in &values {
                        let fits = |v: i64| elem == Elem::Index || i32::try_from(v).is_ok();
                        if !fits(a) || !fits(b) {
                            continue;
                        }
                        let mut dst = [0; 2];
                        let bad = int(op, elem, &mut dst, &[a as u64; 2], &[b as u64]);
                        let want = int_one(op, elem, a as u64, b as u64);
                        assert_eq!(bad, want.is_none(), "{op:?} {a} {b}");
                        if let Some(want) = want {
                            assert_eq!(dst, [want; 2], "{op:?} {a} {b}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn half_precision_rounds_after_each_op() {
        let f = |x: f64| of_float(Elem::F16, x);
        let mut dst = [0];
        float(FloatOp::Add, Elem::F16, &mut dst, &[f(2048.0)], &[f(1.0)]);
        assert_eq!(float_of(Elem::F16, dst[0]), 2048.0);
        float(FloatOp::Mul, Elem::BF16, &mut dst, &[f(1.0078125)], &[f(1.0078125)]);
        assert_eq!(float_of(Elem::BF16, dst[0]), 1.015625);
    }

    #[test]
    fn the_number_wins_over_what_is_none() {
        let mut dst = [0];
        let (nan, one) = (of_float(Elem::F32, f64::NAN), of_float(Elem::F32, 1.0));
        for op in [FloatOp::Min, FloatOp::Max] {
            for (a, b) in [(nan, one), (one, nan)] {
                float(op, Elem::F32, &mut dst, &[a], &[b]);
                assert_eq!(dst[0], one);
            }
        }
    }

    #[test]
    fn casts_wrap_between_integers_and_fail_from_floats() {
        assert_eq!(cast_one(Elem::I32, Elem::I8, 300), Some(44));
        assert_eq!(cast_one(Elem::I64, Elem::U8, u64::MAX), Some(255));
        assert_eq!(cast_one(Elem::F32, Elem::I8, of_float(Elem::F32, 300.0)), None);
        assert_eq!(cast_one(Elem::F32, Elem::I8, of_float(Elem::F32, -2.7)), Some(-2i64 as u64));
        assert_eq!(cast_one(Elem::F32, Elem::I32, of_float(Elem::F32, f64::NAN)), None);
        // Just beyond a tie of bf16, where f64 has it on the tie.
        let beyond = (1i64 << 62) + (1 << 54) + 1;
        let want = 2f64.powi(62) + 2f64.powi(55);
        assert_eq!(cast_one(Elem::I64, Elem::BF16, beyond as u64), Some(of_float(Elem::BF16, want)));
    }
}
