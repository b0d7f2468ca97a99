//! Splits a loop into two nested loops: the inner runs over a block of iterations, the outer over the blocks.
//!
//! `outer, inner = split(LOOP, factor = e)` or `split(LOOP, nparts = e)`, as for operators.
//!
//! # Legality
//!
//! - The loop carries no values, and no directive said how it runs.
//! - `e` is 1 to 2^31.
//! - The loop runs over `index`; over another integer type its bounds are constant, and the type holds the rounded-up end.
//!
//! If `e` is not proved to divide the extent, `if likely(…)` guards the body. The inner extent stays `e` where it is above
//! the loop's.

use super::super::Item;
use super::super::cx::{Cx, Done};
use super::super::nest::{body, var};
use super::Primitive;
use tc_arith::BinaryOp;
use tc_dialects::algebra::{Algebra, const_extent};
use tc_dialects::{arith, sched, tir};
use tc_ir::builder::OpSpec;
use tc_ir::{Attrs, Builder, Func, Op, Rewriter, Value, keys};

/// The extent of a part of a split is at most this.
pub(super) const MAX_FACTOR: i64 = 1 << 31;

/// A loop, and the extents of its parts.
pub(super) struct Parts {
    op: Op,
    factor: i64,
    nparts: bool,
}

impl Parts {
    pub(super) fn new(op: Op, factor: i64) -> Parts {
        Parts { op, factor, nparts: false }
    }
}

/// Does the loop run over `index`, or are its bounds constant, and `more` iterations from its start on within its type?
pub(super) fn fits_loop(func: &Func, op: Op, more: i64) -> bool {
    let Some(elem) = func.value_scalar(var(func, op)).map(|scalar| scalar.elem) else { return false };
    if elem == tc_ir::Elem::Index {
        return true;
    }
    let (Some(lo), Some(hi)) = (func.const_int(func.operand(op, 0)), func.const_int(func.operand(op, 1))) else {
        return false;
    };
    let fits = |value: i128| elem.wrap(value) == value;
    let last = i128::from(lo) + i128::from(more);
    [i128::from(lo), i128::from(hi), i128::from(hi) - i128::from(lo), last, i128::from(more)].into_iter().all(fits)
}

impl Cx<'_> {
    /// A loop over an integer type that its parts would not fit.
    pub(super) fn narrow_loop(&self, op: Op) -> tc_support::Diagnostic {
        let text =
            format!("the loop `{}` runs over a type that may be too narrow for what it becomes", self.loop_name(op));
        let error = self.error("loop-type", text).label(self.place(op), "this loop");
        error.help("let it run over `index`, with constant bounds or not, and cast its variable where it is used")
    }

    /// Refuses a loop whose type the rounded-up number of iterations may not fit.
    pub(super) fn check_parts(&self, parts: &Parts) -> Done<()> {
        let extent = const_extent(self.func(), parts.op).unwrap_or(0);
        let rounded = extent.checked_add(parts.factor).unwrap_or(i64::MAX).saturating_add(parts.factor);
        match fits_loop(self.func(), parts.op, rounded) {
            true => Ok(()),
            false => Err(self.narrow_loop(parts.op).into()),
        }
    }
}

impl Primitive for sched::Split {
    type Legal = Parts;

    fn legality(cx: &Cx<'_>) -> Done<Parts> {
        let op = cx.plain_loop(cx.operand(0))?;
        let parts = match (cx.param(1), cx.param(2)) {
            (Some(factor), None) => Parts { op, factor: cx.number(factor, "factor", MAX_FACTOR)?, nparts: false },
            (None, Some(nparts)) => {
                Parts { op, factor: cx.number(nparts, "number of parts", MAX_FACTOR)?, nparts: true }
            }
            _ => return Err(cx.mistyped("`split` takes one of `factor = …` and `nparts = …`").into()),
        };
        cx.check_parts(&parts)?;
        Ok(parts)
    }

    fn edit(cx: &mut Cx<'_>, parts: Parts) -> Vec<Item> {
        let [outer, inner] = split(cx, &parts, [0, 1]);
        vec![Item::Loop(outer), Item::Loop(inner)]
    }
}

/// Splits; the parts are named by these results of the directive.
pub(super) fn split(cx: &mut Cx<'_>, parts: &Parts, names: [usize; 2]) -> [Op; 2] {
    let op = parts.op;
    let base = cx.loop_name(op);
    let name = |nth: usize, suffix: &str| cx.result_name(names[nth]).unwrap_or_else(|| format!("{base}_{suffix}"));
    let (outer_name, inner_name) = (name(0, "outer"), name(1, "inner"));
    let locs = cx.locs_like(op);
    let func = &mut cx.program.func;
    let divides = divides(func, parts);
    let (lo, hi, old) = (func.operand(op, 0), func.operand(op, 1), var(func, op));
    let ty = func.value_type(old);
    let elem = func.value_scalar(old).map_or(tc_ir::Elem::Index, |scalar| scalar.elem);
    let extent = const_extent(func, op);
    let mut b = Builder::before(func, op);
    b.locs = locs;
    let zero = b.int(0, elem);
    let factor = b.int(parts.factor, elem);
    let rounded_up = match extent {
        Some(extent) => b.int(extent.max(0).checked_add(parts.factor - 1).map_or(0, |sum| sum / parts.factor), elem),
        None => {
            let is_zero = b.func.const_int(lo) == Some(0);
            let distance = if is_zero { hi } else { b.value(arith::SUB, &[hi, lo], &[]) };
            let more = b.int(parts.factor - 1, elem);
            let sum = b.value(arith::ADD, &[distance, more], &[]);
            b.value(arith::DIV, &[sum, factor], &[])
        }
    };
    let (n_outer, n_inner) = if parts.nparts { (factor, rounded_up) } else { (rounded_up, factor) };
    let (outer, outer_var) = build_loop(&mut b, (zero, n_outer), ty, &outer_name);
    let region = b.func.op_regions(outer)[0];
    let (inner, inner_var) = b.within(region, |b| build_loop(b, (zero, n_inner), ty, &inner_name));
    let region = b.func.op_regions(inner)[0];
    let (guard, value) = b.within(region, |b| {
        let scaled = b.value(arith::MUL, &[outer_var, n_inner], &[]);
        let sum = b.value(arith::ADD, &[scaled, inner_var], &[]);
        let value = if b.func.const_int(lo) == Some(0) { sum } else { b.value(arith::ADD, &[sum, lo], &[]) };
        ((!divides).then(|| guarded(b, "lt", value, hi)), value)
    });
    let into = guard.unwrap_or(region);
    let mut rw = Rewriter::new(&mut cx.program.func);
    rw.replace_value(old, value);
    let ops: Vec<Op> = rw.func().ops(body(rw.func(), op)).collect();
    ops.into_iter().for_each(|inner| rw.move_to_end(inner, into));
    rw.erase(op);
    drop(rw);
    cx.consume(op, vec![outer, inner]);
    [outer, inner]
}

/// A plain loop over `range`; gives it and its variable.
pub(super) fn build_loop(b: &mut Builder<'_>, range: (Value, Value), ty: tc_ir::Type, name: &str) -> (Op, Value) {
    let op = tir::For::build(b, range.0, range.1, &[], &[], &[]);
    let region = b.func.op_regions(op)[0];
    let value = b.arg(region, ty, Some(name));
    (op, value)
}

/// Opens `if likely(lhs predicate rhs)`; gives its region.
pub(super) fn guarded(b: &mut Builder<'_>, predicate: &str, lhs: Value, rhs: Value) -> tc_ir::Region {
    let word = b.func.word_attr(predicate);
    let condition = b.value(arith::CMP, &[lhs, rhs], &[(keys::PREDICATE, word)]);
    let likely = b.value(arith::LIKELY, &[condition], &[]);
    open_if(b, likely)
}

/// Opens a conditional without another branch; gives its region.
pub(super) fn open_if(b: &mut Builder<'_>, condition: Value) -> tc_ir::Region {
    let spec = OpSpec {
        opcode: tir::If::OPCODE,
        operands: &[condition],
        keyed: 0,
        attrs: Attrs::EMPTY,
        results: &[],
        n_regions: 1,
    };
    let op = b.op(spec);
    b.func.op_regions(op)[0]
}

/// Is the extent proved to be a multiple of the factor?
fn divides(func: &Func, parts: &Parts) -> bool {
    if let Some(extent) = const_extent(func, parts.op) {
        return extent % parts.factor == 0;
    }
    let mut algebra = Algebra::of_func(func);
    algebra.enter_place(func, parts.op);
    let (lo, hi) = (func.operand(parts.op, 0), func.operand(parts.op, 1));
    let (lo, hi) = (algebra.expr(func, lo), algebra.expr(func, hi));
    let pool = &mut algebra.analyzer.pool;
    let extent = pool.sub(hi, lo);
    let factor = pool.int(parts.factor);
    let rest = pool.binary(BinaryOp::FloorMod, extent, factor);
    let rest = algebra.analyzer.simplify(rest);
    algebra.analyzer.pool.as_const(rest) == Some(0)
}
