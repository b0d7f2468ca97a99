//! May integer arithmetic run where the program would not have run it without overflowing?
//!
//! `index` and signed integers of 32 and 64 bits do not overflow in a program that is right, and a program is right if
//! what it runs is. So an op that may overflow, by the ranges of its operands, is not *speculatable*: it may be done
//! earlier only where it is certain to be done anyway. Ranges are those at the place where it would be done: of loops,
//! launches, sizes and conditions around there, and of the types of values that come from memory.
//!
//! A size, another `index` that the function is given, or a loop up to one, that has no greatest value is taken to be below
//! 2^31 here, so that positions in tensors of open sizes may be moved: the tensors themselves would not fit otherwise.

use tc_arith::{Mark, Var};
use tc_dialects::algebra::{Algebra, const_extent, is_launch};
use tc_dialects::{arith, tir};
use tc_ir::types::ElemKind;
use tc_ir::walk::ancestors;
use tc_ir::{Def, Elem, Func, Op, Opcode, Region, Value};

/// What a size or a position is taken to stay below where nothing bounds it.
const OPEN: i128 = 1 << 31;

/// How many casts one inside the other are looked through.
const MAX_CASTS: u32 = 4;

/// The ranges of values at places. Who asks in the order of the text enters each region once. Ops may be made, moved and
/// erased between two questions, but the regions stay where they are.
#[derive(Default)]
pub(crate) struct Ranges {
    algebra: Option<Algebra>,
    /// The regions around the place that was asked about last, from the outside in, with what was known before each.
    path: Vec<(Region, Mark)>,
}

impl Ranges {
    /// Is it known that `op` does not overflow where `place` stands? Of ops that cannot, it is.
    pub(crate) fn fits(&mut self, func: &Func, op: Op, place: Op) -> bool {
        let Some(result) = func.result(op) else { return true };
        let Some(limits) = func.value_scalar(result).and_then(|scalar| limits(scalar.elem)) else { return true };
        // Most operands are small by the ranges of loops alone.
        [Ranges::at_first_sight, Ranges::of].into_iter().any(|range_of| {
            let operand = |nth: usize| range_of(self, func, func.operand(op, nth), place);
            result_range(func.opcode(op), operand).is_some_and(|range| is_within(range, limits))
        })
    }

    /// Is it known that no part of the sum of `terms`, each a value times a number, overflows where `place` stands,
    /// in whichever order they are added?
    pub(crate) fn sums_fit(
        &mut self,
        func: &Func,
        terms: impl Iterator<Item = (Value, i64)> + Clone,
        place: Op,
    ) -> bool {
        [Ranges::at_first_sight, Ranges::of].into_iter().any(|range_of| {
            let mut sum = (0i128, 0i128);
            terms.clone().all(|(value, factor)| {
                let factor = i128::from(factor);
                let range = range_of(self, func, value, place).and_then(|range| product(range, (factor, factor)));
                let Some((a, b)) = range else { return false };
                sum = (sum.0 + a.min(0), sum.1 + b.max(0));
                is_within(sum, INDEX)
            })
        })
    }

    /// What is known where `place` stands.
    fn enter(&mut self, func: &Func, place: Op) -> &mut Algebra {
        let algebra = self.algebra.get_or_insert_with(|| Algebra::of_func(func));
        if self.path.last().map(|&(region, _)| region) == func.region_of(place) {
            return algebra;
        }
        let outer = |region: &Region| func.region_parent(*region).and_then(|parent| func.region_of(parent));
        let mut around: Vec<Region> = std::iter::successors(func.region_of(place), outer).collect();
        around.reverse();
        let n_kept = self.path.iter().zip(&around).take_while(|((known, _), region)| known == *region).count();
        if let Some(&(_, mark)) = self.path.get(n_kept) {
            algebra.analyzer.rollback(mark);
            self.path.truncate(n_kept);
        }
        for &region in &around[n_kept..] {
            self.path.push((region, algebra.analyzer.mark()));
            algebra.enter_region(func, region);
        }
        algebra
    }

    /// The range of `value` by those of what it is computed from, each by itself; `None` where they leave it open.
    fn at_first_sight(&mut self, func: &Func, value: Value, place: Op) -> Option<(i128, i128)> {
        let algebra = self.enter(func, place);
        let expr = algebra.expr(func, value);
        let range = algebra.analyzer.quick_bounds(expr);
        Some((i128::from(range.min()?), i128::from(range.max()?)))
    }

    /// The range of `value`, an integer; `None` where it may be anything of 64 bits.
    fn of(&mut self, func: &Func, value: Value, place: Op) -> Option<(i128, i128)> {
        self.through(func, value, place, MAX_CASTS)
    }

    /// The same, with at most so many casts on the way.
    fn through(&mut self, func: &Func, value: Value, place: Op, n_casts: u32) -> Option<(i128, i128)> {
        let elem = func.value_scalar(value)?.elem;
        let algebra = self.enter(func, place);
        let expr = algebra.expr(func, value);
        let vars = algebra.analyzer.pool.vars(expr);
        // What a cast keeps as it is has the range that it had.
        let mut kept: Vec<(Var, (i128, i128))> = Vec::new();
        for &var in vars.iter().filter(|_| n_casts > 0) {
            let cast = func.def_op(Algebra::value(var)).filter(|&op| func.opcode(op) == arith::CAST);
            let Some(cast) = cast else { continue };
            let limits = func.value_scalar(Algebra::value(var)).and_then(|scalar| scalar.elem.int_range());
            let source = self.through(func, func.operand(cast, 0), place, n_casts - 1);
            kept.extend(
                source.zip(limits).filter(|&(source, limits)| is_within(source, limits)).map(|(range, _)| (var, range)),
            );
        }
        let algebra = self.enter(func, place);
        for (var, (lo, hi)) in kept {
            algebra.analyzer.bind_range(var, i64::try_from(lo).ok(), i64::try_from(hi).ok());
        }
        // Are the variables without bounds sizes and positions, and is there one?
        let (mut is_open, mut has_open) = (true, false);
        for var in vars {
            let of = Algebra::value(var);
            let known = algebra.analyzer.range(var);
            if known.is_finite() {
                continue;
            }
            if is_extent(func, of) {
                has_open = true;
                continue;
            }
            match func.value_scalar(of).and_then(|scalar| limits(scalar.elem)) {
                Some((lo, hi)) if (lo, hi) != INDEX => {
                    let min = known.min().or(i64::try_from(lo).ok());
                    algebra.analyzer.bind_range(var, min, known.max().or(i64::try_from(hi).ok()));
                }
                _ => is_open = false,
            }
        }
        let range = algebra.analyzer.bounds(expr);
        let (min, max) = (range.min().map(i128::from), range.max().map(i128::from));
        let (lo, hi) = match (min.zip(max), limits(elem)) {
            (Some(range), _) => range,
            (None, _) if elem == Elem::Index && is_open && has_open => (min.unwrap_or(-OPEN), max.unwrap_or(OPEN)),
            (None, Some(limits)) if elem != Elem::Index => limits,
            (None, _) => return None,
        };
        // A value of fewer bits is one of its type, whatever the algebra knows.
        Some(match limits(elem) {
            Some((least, greatest)) => (lo.max(least), hi.min(greatest)),
            None => (lo, hi),
        })
    }
}

/// What arithmetic by `opcode` makes of the ranges of its operands; 0, which every type holds, where it cannot overflow.
fn result_range(opcode: Opcode, mut operand: impl FnMut(usize) -> Option<(i128, i128)>) -> Option<(i128, i128)> {
    match opcode {
        arith::ADD => operand(0).zip(operand(1)).map(|((a, b), (c, d))| (a + c, b + d)),
        arith::SUB => operand(0).zip(operand(1)).map(|((a, b), (c, d))| (a - d, b - c)),
        arith::MUL => operand(0).zip(operand(1)).and_then(|(a, b)| product(a, b)),
        arith::NEG => operand(0).map(|(a, b)| (-b, -a)),
        arith::ABS => operand(0).map(|(a, b)| (0, a.abs().max(b.abs()))),
        _ => Some((0, 0)),
    }
}

/// The least and the greatest `index`.
const INDEX: (i128, i128) = (i64::MIN as i128, i64::MAX as i128);

/// The least and the greatest number of a type whose arithmetic must not overflow; `None` where it wraps.
fn limits(elem: Elem) -> Option<(i128, i128)> {
    match (elem, elem.kind()) {
        (Elem::Index, _) => Some(INDEX),
        (_, ElemKind::Signed) if elem.bytes() >= 4 => {
            let half = 1i128 << (elem.bytes() * 8 - 1);
            Some((-half, half - 1))
        }
        _ => None,
    }
}

fn is_within((lo, hi): (i128, i128), (least, greatest): (i128, i128)) -> bool {
    least <= lo && hi <= greatest
}

fn product((a, b): (i128, i128), (c, d): (i128, i128)) -> Option<(i128, i128)> {
    let corners = [a.checked_mul(c)?, a.checked_mul(d)?, b.checked_mul(c)?, b.checked_mul(d)?];
    Some((corners.into_iter().min()?, corners.into_iter().max()?))
}

/// Is `value` a size or another `index` that the function is given, or the variable of a loop?
fn is_extent(func: &Func, value: Value) -> bool {
    match func.def(value) {
        Def::Arg(region, _) if region == func.body() => func.value_type(value) == func.index_ty(),
        Def::Arg(region, idx) => idx == 0 && func.region_parent(region).is_some_and(|op| func.opcode(op) == tir::FOR),
        Def::Result(..) => false,
    }
}

/// Is `op` certain to run where `outer`, a loop around it, is reached?
pub(crate) fn runs_with(func: &Func, op: Op, outer: Op) -> bool {
    for around in ancestors(func, op) {
        let runs = func.opcode(around) == tir::FOR
            && (is_launch(func, around) || const_extent(func, around).is_some_and(|extent| extent > 0));
        if !runs {
            return false;
        }
        if around == outer {
            return true;
        }
    }
    false
}
