//! Products of tiles, on dense matrices.
//!
//! Products of floats are exact; each is added to the sum in turn, by rising k, and rounded to f32. With `u = 2^-24` a
//! sum of k terms is off by at most about `k * u * (|c| + sum |a * b|)`, which is also what hardware stays within: it
//! adds in an order of its own, and cuts off where this rounds. A sum in f16 is rounded to that once, at the end. f32
//! factors count as tf32, rounded to nearest, ties away from zero. Integers wrap.

use super::tiles::Matrices;
use crate::cell::{Cell, float_of, of_float};
use crate::domain::Domain;
use crate::field::{Number, convert, fma};
use tc_ir::Elem;

/// Adds the products of `left` and `right` to `sums`, for each warp; m, n, k are the extents.
pub(super) fn add_products(
    sums: &mut Matrices,
    left: &Matrices,
    right: &Matrices,
    [m, n, k]: [usize; 3],
    (factors, total): (Elem, Elem),
    domain: Domain,
) {
    // Integers stay numbers.
    if domain == Domain::Field && total != Elem::I32 {
        return elements(sums, left, right, [m, n, k], (factors, total));
    }
    let warps = sums.cells.chunks_exact_mut(m * n);
    for ((sums, left), right) in warps.zip(left.cells.chunks_exact(m * k)).zip(right.cells.chunks_exact(k * n)) {
        match total {
            Elem::I32 => integers(sums, left, right, [m, n, k]),
            _ => floats(sums, left, right, [m, n, k], (factors, total)),
        }
    }
    let warps = sums.mags.chunks_exact_mut(m * n);
    for ((sums, left), right) in warps.zip(left.mags.chunks_exact(m * k)).zip(right.mags.chunks_exact(k * n)) {
        let of = |cells: &[Cell]| cells.iter().map(|&cell| f64::from_bits(cell)).collect::<Vec<f64>>();
        let mut total = of(sums);
        multiply(&mut total, &of(left), &of(right), [m, n, k], |sum, a, b| sum + a * b);
        sums.iter_mut().zip(total).for_each(|(cell, sum)| *cell = sum.to_bits());
    }
}

fn multiply<S: Copy, F: Copy>(
    sums: &mut [S],
    left: &[F],
    right: &[F],
    [m, n, k]: [usize; 3],
    add: impl Fn(S, F, F) -> S,
) {
    for row in 0..m {
        let sums = &mut sums[row * n..(row + 1) * n];
        for step in 0..k {
            let factor = left[row * k + step];
            for (sum, &other) in sums.iter_mut().zip(&right[step * n..(step + 1) * n]) {
                *sum = add(*sum, factor, other);
            }
        }
    }
}

fn floats(sums: &mut [Cell], left: &[Cell], right: &[Cell], shape: [usize; 3], (factors, total): (Elem, Elem)) {
    let rounded = factors.as_factor().format().filter(|_| factors.bits() == 32);
    let factor = |&cell: &Cell| {
        let value = float_of(factors, cell);
        rounded.map_or(value, |format| format.decode(format.convert(value)))
    };
    let left: Vec<f64> = left.iter().map(factor).collect();
    let right: Vec<f64> = right.iter().map(factor).collect();
    let mut added: Vec<f32> = sums.iter().map(|&cell| f32::from_bits(cell as u32)).collect();
    multiply(&mut added, &left, &right, shape, |sum, a, b| (f64::from(sum) + a * b) as f32);
    for (cell, sum) in sums.iter_mut().zip(added) {
        *cell = of_float(total, f64::from(sum));
    }
}

/// In the field: factors are converted to the type of the sum, and nothing is rounded to tf32.
fn elements(
    sums: &mut Matrices,
    left: &Matrices,
    right: &Matrices,
    [m, n, k]: [usize; 3],
    (factors, total): (Elem, Elem),
) {
    let factor = |(&value, &range): (&Cell, &Cell)| {
        let number = Number::decode(value, range);
        let (value, range) = convert(factors, total, number.value, number.range);
        Number { value, range }
    };
    let all = |matrices: &Matrices| matrices.cells.iter().zip(&matrices.mags).map(factor).collect::<Vec<Number>>();
    let decode = |(&value, &range): (&Cell, &Cell)| Number::decode(value, range);
    let mut added: Vec<Number> = sums.cells.iter().zip(&sums.mags).map(decode).collect();
    let (left, right) = (all(left), all(right));
    let warps = added.chunks_exact_mut(m * n).zip(left.chunks_exact(m * k)).zip(right.chunks_exact(k * n));
    for ((added, left), right) in warps {
        multiply(added, left, right, [m, n, k], |sum, a, b| fma(total, a, b, sum));
    }
    for ((value, range), sum) in sums.cells.iter_mut().zip(&mut sums.mags).zip(added) {
        (*value, *range) = (sum.value.encode(), sum.range.encode());
    }
}

fn integers(sums: &mut [Cell], left: &[Cell], right: &[Cell], shape: [usize; 3]) {
    let of = |cells: &[Cell]| cells.iter().map(|&cell| cell as i32).collect::<Vec<i32>>();
    let mut added = of(sums);
    multiply(&mut added, &of(left), &of(right), shape, |sum, a, b| sum.wrapping_add(a.wrapping_mul(b)));
    sums.iter_mut().zip(added).for_each(|(cell, sum)| *cell = i64::from(sum) as Cell);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrices(elem: Elem, values: &[f64]) -> Matrices {
        let cell = |&value: &f64| if elem.is_float() { of_float(elem, value) } else { value as i64 as Cell };
        Matrices { cells: values.iter().map(cell).collect(), mags: Vec::new() }
    }

    #[test]
    fn sums_of_f16_are_rounded_once() {
        // 2048 + 1 + 1 is 2048 where each step is rounded to f16, and 2050 where only the end is.
        let mut sum = matrices(Elem::F16, &[2048.0]);
        let ones = matrices(Elem::F16, &[1.0, 1.0]);
        add_products(&mut sum, &ones, &ones, [1, 1, 2], (Elem::F16, Elem::F16), Domain::Numbers);
        assert_eq!(f32::from_bits(sum.cells[0] as u32), 2050.0);
    }

    #[test]
    fn products_of_bf16_keep_what_is_small() {
        let tiny = 2f64.powi(-80);
        let mut sum = matrices(Elem::F32, &[0.0]);
        add_products(
            &mut sum,
            &matrices(Elem::BF16, &[tiny]),
            &matrices(Elem::BF16, &[2f64.powi(-65)]),
            [1, 1, 1],
            (Elem::BF16, Elem::F32),
            Domain::Numbers,
        );
        assert_eq!(f32::from_bits(sum.cells[0] as u32), 2f32.powi(-145), "a subnormal is kept");
    }

    #[test]
    fn integers_wrap() {
        let mut sum = matrices(Elem::I32, &[f64::from(i32::MAX)]);
        add_products(
            &mut sum,
            &matrices(Elem::I8, &[1.0]),
            &matrices(Elem::I8, &[1.0]),
            [1, 1, 1],
            (Elem::I8, Elem::I32),
            Domain::Numbers,
        );
        assert_eq!(sum.cells[0] as i64, i64::from(i32::MIN));
    }
}
