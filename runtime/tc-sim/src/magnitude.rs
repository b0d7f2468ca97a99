//! Magnitudes: how large the terms were that a value came from.
//!
//! Beside each float `v` runs a magnitude `m >= |v|`: of a literal or an input it is `|v|`, of a sum the sum of the
//! magnitudes, of a product their product. Of `sum(a * b)` it is therefore `sum(|a| * |b|)`, which bounds the
//! rounding error of every order of evaluation up to a factor (Higham 2002, "Accuracy and Stability of Numerical
//! Algorithms", 3.1); of other functions it follows their condition number.

use crate::cell::{Cell, float_of, number_of};
use crate::code::{FloatOp, MagRule, UnaryOp};
use tc_dialects::arith::functions::Through;
use tc_ir::Elem;

/// Magnitudes in all lanes: `value` is the result whose magnitude is asked for, `args` and `mags` are the operands.
pub(crate) fn apply(
    rule: MagRule,
    elem: Elem,
    dst: &mut [Cell],
    value: &[Cell],
    args: [&[Cell]; 3],
    mags: [&[Cell]; 3],
) {
    for (lane, d) in dst.iter_mut().enumerate() {
        let at = |cells: &[Cell]| match cells {
            [] => 0,
            [one] => *one,
            cells => cells[lane],
        };
        let result = if rule == MagRule::Own { number_of(elem, at(value)) } else { float_of(elem, at(value)) };
        let [x, y, _] = args.map(|arg| float_of(elem, at(arg)));
        let m = mags.map(|mag| f64::from_bits(at(mag)));
        *d = one(rule, result, [x, y], m).to_bits();
    }
}

fn one(rule: MagRule, result: f64, [x, y]: [f64; 2], [mx, my, mz]: [f64; 3]) -> f64 {
    let own = result.abs();
    // An infinity does not come of rounding: what leaves it behind has no error from it, be it the start of a maximum, a mask
    // under an exponential or a divisor.
    let [mx, my] = [(x, mx), (y, my)].map(|(of, m)| if of.is_infinite() && own.is_finite() { 0.0 } else { m });
    match rule {
        MagRule::Own => own,
        MagRule::Fma => mx * my + mz,
        MagRule::Binary(op) => match op {
            FloatOp::Add | FloatOp::Sub => mx + my,
            FloatOp::Mul => mx * my,
            FloatOp::Div if y.is_infinite() => own,
            FloatOp::Div => mx * my / (y * y),
            FloatOp::Mod => mx + my,
            FloatOp::Min | FloatOp::Max => mx.max(my),
            FloatOp::Pow => own * (1.0 + y.abs() * mx / x.abs() + my * x.abs().ln().abs()),
        },
        MagRule::Unary(op) => match op {
            UnaryOp::Neg | UnaryOp::Abs => mx,
            UnaryOp::Popcount => own,
            UnaryOp::Function(function) => (function.magnitude)(Through { x, m: mx, y: own }),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cancellation_shows_in_the_magnitude() {
        let (a, b) = ([1.0f64.to_bits()], [(-1.0f64).to_bits()]);
        let mags = [1.0f64.to_bits()];
        let mut dst = [0];
        apply(MagRule::Binary(FloatOp::Add), Elem::F64, &mut dst, &[0], [&a, &b, &[]], [&mags, &mags, &[]]);
        assert_eq!(f64::from_bits(dst[0]), 2.0);
        apply(MagRule::Own, Elem::I32, &mut dst, &[-3i64 as u64], [&[], &[], &[]], [&[], &[], &[]]);
        assert_eq!(f64::from_bits(dst[0]), 3.0);
    }

    #[test]
    fn an_infinity_that_is_left_behind_rounds_nothing() {
        let (inf, one) = ([f64::NEG_INFINITY.to_bits()], [1.0f64.to_bits()]);
        let mags = [f64::INFINITY.to_bits()];
        let exp = tc_dialects::arith::functions::of(tc_dialects::arith::EXP).expect("it is one");
        let mut dst = [0];
        apply(MagRule::Binary(FloatOp::Max), Elem::F64, &mut dst, &one, [&inf, &one, &[]], [&mags, &one, &[]]);
        assert_eq!(f64::from_bits(dst[0]), 1.0);
        apply(MagRule::Unary(UnaryOp::Function(exp)), Elem::F64, &mut dst, &[0], [&inf, &[], &[]], [&mags, &[], &[]]);
        assert_eq!(f64::from_bits(dst[0]), 0.0);
    }
}
