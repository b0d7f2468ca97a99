//! Loops whose lanes do not all meet the same conditions, as the columns of a window that reaches beyond a row: neighbours that do
//! are vectors of their own.

use super::lanes::is_choice;
use crate::analysis::launch::loop_var;
use crate::analysis::variance::Variance;
use tc_arith::{Expr, Var};
use tc_dialects::algebra::{Algebra, const_extent};
use tc_dialects::scope::Scope;
use tc_dialects::tir;
use tc_ir::clone::{ValueMap, clone_ops};
use tc_ir::walk::ops_under;
use tc_ir::{Builder, Elem, Func, Op, Rewriter, Value, keys};

/// Loops of more iterations are not divided.
const MOST: i64 = 32;

/// Divides the loop `op` into loops of neighbours that meet the same conditions, of at most `room` iterations each; gives them in their
/// order. `None` where all iterations do, or no two.
pub(super) fn divide(func: &mut Func, op: Op, room: i64) -> Option<Vec<Op>> {
    let extent = const_extent(func, op).filter(|extent| (2..=MOST).contains(extent))?;
    let lo = func.const_int(func.operand(op, 0))?;
    let body = func.op_regions(op)[0];
    let var = loop_var(func, op);
    let variance = Variance::by(func, op);
    let differs = |&inner: &Op| {
        func.opcode(inner) == tir::IF && variance.value(func.operand(inner, 0)) && !is_choice(func, inner)
    };
    let conditions: Vec<Value> = ops_under(func, body).filter(differs).map(|inner| func.operand(inner, 0)).collect();
    if conditions.is_empty() {
        return None;
    }
    let mut algebra = Algebra::of_func(func);
    algebra.enter_place(func, op);
    algebra.enter_region(func, body);
    let places: Vec<Expr> = places(func, &variance, op).into_iter().map(|index| algebra.expr(func, index)).collect();
    let conditions: Vec<Expr> = conditions.into_iter().map(|condition| algebra.expr(func, condition)).collect();
    let var = Algebra::var(var);
    let met: Vec<Vec<Expr>> = (lo..lo + extent).map(|lane| at(&mut algebra, &conditions, var, lane)).collect();
    let mut lengths = Vec::new();
    let mut first = 0;
    while first < extent {
        let is_like = |nth: &i64| met[*nth as usize] == met[first as usize];
        let run = (first..extent).take_while(is_like).count() as i64;
        let starts = at(&mut algebra, &places, var, lo + first);
        let fits = |algebra: &mut Algebra, lanes: i64| {
            starts.iter().all(|&start| algebra.analyzer.modular(start).residue(lanes) == Some(0))
        };
        let mut lanes = 1 << run.min(room).ilog2();
        while lanes > 1 && !fits(&mut algebra, lanes) {
            lanes /= 2;
        }
        lengths.push(lanes);
        first += lanes;
    }
    // What is one lane or all of them at once is as well as it was.
    if lengths.iter().all(|&lanes| lanes == 1) || lengths.len() == 1 {
        return None;
    }
    Some(pieces(func, op, lo, &lengths))
}

/// The last indices of the accesses of memory that threads share, as far as they follow the variable of the loop `op`: where vectors have
/// to start at a multiple of their lanes.
fn places(func: &Func, variance: &Variance, op: Op) -> Vec<Value> {
    let is_own = |buffer: Value| Scope::of(func, buffer) == Some(Scope::Local);
    let accesses = ops_under(func, func.op_regions(op)[0])
        .filter(|&inner| matches!(func.opcode(inner), tir::LOAD | tir::STORE) && !is_own(func.operand(inner, 0)));
    let last = |inner: Op| {
        let indices =
            &func.operands(inner)[1..func.operands(inner).len() - usize::from(func.opcode(inner) == tir::STORE)];
        indices.last().copied().filter(|&index| variance.value(index))
    };
    accesses.filter_map(last).collect()
}

/// `exprs` in the iteration `lane`.
fn at(algebra: &mut Algebra, exprs: &[Expr], var: Var, lane: i64) -> Vec<Expr> {
    let lane = algebra.analyzer.pool.int(lane);
    let mut of = |&expr: &Expr| {
        let expr = algebra.analyzer.pool.subst(expr, &[(var, lane)]);
        algebra.analyzer.simplify(expr)
    };
    exprs.iter().map(&mut of).collect()
}

/// Loops of `lengths` iterations in the place of the loop `op`, which starts at `lo`.
fn pieces(func: &mut Func, op: Op, lo: i64, lengths: &[i64]) -> Vec<Op> {
    let (body, var) = (func.op_regions(op)[0], loop_var(func, op));
    let elem = func.value_scalar(var).map_or(Elem::Index, |scalar| scalar.elem);
    let (ty, name) = (func.value_type(var), func.value_name(var));
    let mut made = Vec::new();
    let mut first = lo;
    for &lanes in lengths {
        let mut b = Builder::before(func, op);
        let (start, end) = (b.int(first, elem), b.int(first + lanes, elem));
        let vectorize = b.func.word_attr("vectorize");
        let piece = tir::For::build(&mut b, start, end, &[], &[(keys::KIND, vectorize)], &[]);
        let region = b.func.op_regions(piece)[0];
        let own = b.arg(region, ty, None);
        b.func.set_value_name(own, name);
        b.within(region, |b| {
            let mut map = ValueMap::default();
            map.insert(var, own);
            clone_ops(b, body, &mut map);
        });
        made.push(piece);
        first += lanes;
    }
    Rewriter::new(func).erase(op);
    made
}
