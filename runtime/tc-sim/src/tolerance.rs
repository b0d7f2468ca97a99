//! How far two results may be apart.
//!
//! Two programs that do the same sums in different orders differ by rounding. With `m` the magnitude of a cell (see
//! the module `magnitude`; for a sum of products it is `sum |a * b|`), `u` the unit roundoff of the coarsest float
//! type that the first has numbers in, `s` that of the coarsest one that it computes in, and `n` the terms that a cell is summed
//! from, they may differ by
//!
//! ```text
//! 8 * (u + sqrt(n) * s) * m
//! ```
//!
//! The worst case grows with `n`, rounding errors as they come with `sqrt(n)` (Higham and Mary 2019, "A new approach to
//! probabilistic rounding error analysis"). A number that an operator only converts is rounded once, whatever `n` is; in a program
//! a conversion may be how a sum is kept. Where only integers come in and the program only adds, multiplies and
//! compares, every order gives the same as long as `m` is an integer that the type holds: then nothing is allowed.
//!
//! Where numbers differ by design, because factors are rounded to tf32 in either of the two, each factor is off by
//! `2^-11` of itself at most, whatever `n` is: `4 * 2^-11 * m` comes on top, enough for two such products in a row, or for
//! one of `wgmma`, which cuts off where the others round.
//! Integers up to 2^11 are not rounded, and if one above that comes in then `m` is above it as well.

use crate::cell::{self, Cell};
use crate::inputs::mantissa;
use tc_dialects::arith::functions::{self, Exact};
use tc_dialects::fragment::Fragment;
use tc_dialects::{arith, mma, te, tir, update, wgmma, wmma};
use tc_ir::walk::all_ops;
use tc_ir::{AttrData, Elem, Func, Module, Opcode, keys};

/// What is allowed between two functions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tolerance {
    /// The significand bits of the coarsest float type that there are numbers in.
    pub(crate) bits: u32,
    /// Those of the coarsest one computed in.
    computed_bits: u32,
    /// Sums, products and comparisons only.
    pub(crate) is_integral: bool,
    /// The terms that a cell is summed from.
    pub(crate) n_terms: u64,
    /// Factors are rounded to tf32.
    pub(crate) in_tf32: bool,
}

impl Tolerance {
    /// Between what is expected and what is found. Only what is expected says how coarse rounding may be.
    pub(crate) fn of(expected: &[&Func], found: &[&Func], n_terms: u64) -> Tolerance {
        let mut tolerance = Tolerance { bits: 53, computed_bits: 53, is_integral: true, n_terms, in_tf32: false };
        for (func, counts) in expected.iter().map(|func| (func, true)).chain(found.iter().map(|func| (func, false))) {
            let is_operator = func.header.opcode == te::FUNC;
            for op in all_ops(func) {
                let computes = func.opcode(op).dialect() == arith::ADD.dialect() && func.opcode(op) != arith::CONSTANT;
                if let Some([sum, factor]) = product_of(func, op) {
                    tolerance.in_tf32 |= !factor.as_factor().is_stored();
                    if counts && sum.is_float() {
                        tolerance.has_numbers_in(sum, true);
                    }
                }
                // What an update sums is in no result.
                let updated = update::class(func, op).map(|(_, elem)| elem);
                if let Some(elem) = updated.filter(|elem| counts && elem.is_float()) {
                    tolerance.has_numbers_in(elem, true);
                }
                for value in func.results(op) {
                    let float = func.value_scalar(value).map(|scalar| scalar.elem).filter(|elem| elem.is_float());
                    if float.is_some_and(|elem| !elem.is_stored()) {
                        tolerance.in_tf32 |= computes;
                    } else if let (Some(elem), true) = (float, counts && (computes || func.opcode(op) == te::REDUCE)) {
                        tolerance.has_numbers_in(elem, !is_operator || func.opcode(op) != arith::CAST);
                    }
                    tolerance.is_integral &= float.is_none() || keeps_integers(func, op, func.opcode(op));
                }
            }
        }
        tolerance
    }

    fn has_numbers_in(&mut self, elem: Elem, computes: bool) {
        self.bits = self.bits.min(mantissa(elem));
        if computes {
            self.computed_bits = self.computed_bits.min(mantissa(elem));
        }
    }

    /// The difference that is allowed of the cell `expected`, of type `elem` and magnitude `mag`; integers came in if `integers`
    /// says so. Nothing rounds to infinity from afar, or back.
    pub(crate) fn allowed(&self, elem: Elem, expected: Cell, mag: f64, integers: bool) -> f64 {
        if !elem.is_float() {
            return 0.0;
        }
        let is_finite = cell::float_of(elem, expected).is_finite();
        let bound = self.bound(mag, integers);
        if bound.is_finite() || is_finite { bound.min(f64::MAX) } else { 0.0 }
    }

    /// The allowed difference for a cell of magnitude `mag`; integers came in if `integers` says so.
    fn bound(&self, mag: f64, integers: bool) -> f64 {
        let [u, s] = [self.bits, self.computed_bits].map(|bits| 0.5f64.powi(bits as i32));
        let of_factor = mantissa(Elem::F32.as_factor());
        let exact = if self.in_tf32 { self.bits.min(of_factor) } else { self.bits };
        if integers && self.is_integral && mag <= 2f64.powi(exact as i32) {
            return 0.0;
        }
        let of_factors = if self.in_tf32 { 4.0 * 0.5f64.powi(of_factor as i32) } else { 0.0 };
        let bound = (8.0 * (u + (self.n_terms as f64).sqrt() * s) + of_factors) * mag;
        if bound.is_nan() { f64::INFINITY } else { bound }
    }
}

/// The types of the sum and of the factors, if `op` multiplies tiles.
fn product_of(func: &Func, op: tc_ir::Op) -> Option<[Elem; 2]> {
    let &[sum, factor, ..] = func.operands(op) else { return None };
    let is_product = matches!(func.opcode(op), wmma::MMA | mma::SYNC | wgmma::MMA);
    let elem = |place| {
        let (elem, _, _) = tir::place_type(func, place)?;
        func.as_scalar(elem).map(|scalar| scalar.elem).or_else(|| Some(Fragment::of(func, elem)?.elem))
    };
    is_product.then(|| Some([elem(sum)?, elem(factor)?]))?
}

/// Is the result an integer wherever the operands are?
fn keeps_integers(func: &Func, op: tc_ir::Op, opcode: Opcode) -> bool {
    match opcode {
        arith::CONSTANT => match func.attr_of(op, keys::VALUE).map(|attr| func.attr_data(attr)) {
            Some(AttrData::Float(bits, _)) => {
                let value = f64::from_bits(*bits);
                value.is_infinite() || value.fract() == 0.0
            }
            _ => true,
        },
        arith::ADD | arith::SUB | arith::MUL | arith::FMA | arith::NEG | arith::ABS | arith::MIN | arith::MAX => true,
        arith::SELECT | arith::CAST | arith::BROADCAST => true,
        opcode => match functions::of(opcode) {
            Some(function) => function.exact == Exact::Whole,
            None => opcode.dialect() != arith::ADD.dialect(),
        },
    }
}

/// `func` and all functions of `module` that it may call.
pub(crate) fn with_callees<'m>(module: &'m Module, func: &'m Func) -> Vec<&'m Func> {
    let mut list = vec![func];
    let mut at = 0;
    while at < list.len() {
        for op in all_ops(list[at]) {
            let callee = match list[at].opcode(op) {
                tir::CALL => list[at].attr_of(op, keys::CALLEE).and_then(|attr| match list[at].attr_data(attr) {
                    AttrData::Symbol(name) => module.function(name),
                    _ => None,
                }),
                te::REDUCE => list[at].word_of(op, keys::COMBINER).and_then(|name| module.function(name)),
                _ => None,
            };
            if let Some(callee) = callee
                && !list.iter().any(|&known| std::ptr::eq(known, callee))
            {
                list.push(callee);
            }
        }
        at += 1;
    }
    list
}

/// Are the two the same number? Zeros of either sign are, and NaNs.
pub(crate) fn same(elem: Elem, a: Cell, b: Cell) -> bool {
    if a == b || !elem.is_float() {
        return a == b;
    }
    let (a, b) = (cell::float_of(elem, a), cell::float_of(elem, b));
    a == b || (a.is_nan() && b.is_nan())
}

/// How far apart two numbers are; infinitely far where one of them is none.
pub(crate) fn distance(elem: Elem, a: Cell, b: Cell) -> f64 {
    if same(elem, a, b) {
        return 0.0;
    }
    let error = (cell::number_of(elem, a) - cell::number_of(elem, b)).abs();
    match error {
        error if error.is_nan() => f64::INFINITY,
        // Integers of 64 bits may differ where their nearest floats do not.
        0.0 => 1.0,
        error => error,
    }
}
