//! Proves that every access lies within its buffer, and refuses those that certainly do not.
//!
//! # Input form
//!
//! `scheduled`. Flat and multi-dimensional buffers both do.
//!
//! # Output form
//!
//! The same program.
//!
//! # Example
//!
//! ```tir
//! tir.func @f(A: f32[16]) {
//!   for i in 0..17 {
//!     A[i] = 0.0
//!   }
//! }
//! ->
//! error: `A` has 16 elements, and index `i` reaches 16, where `i` = 16
//! ```
//!
//! # Algorithm
//!
//! For each index of each access, under the loop ranges, launch extents and conditions around it:
//!
//! 1. prove that its least value is not negative and its greatest, lanes and region lengths included, is below the
//!    extent;
//! 2. where that fails, look for a point of the loops around, at the corners of their ranges as conditions draw them in, at
//!    which all conditions hold and the index is out: that is an error, and the message has the point;
//! 3. what is neither is told as a remark, with the inequality that was not proved.
//!
//! # Limits
//!
//! Only corners are tried in step 2, and only where bounds are constant and conditions are made of loop variables; what it
//! misses the simulator finds. An access through a view is held against the view; that the view lies inside its base is
//! for the verifier to see.
//!
//! # References
//!
//! None.

use crate::analysis::places::{Places, walk_places};
use tc_arith::{Expr, Var};
use tc_dialects::algebra::{Algebra, const_extent};
use tc_dialects::{arith, forms, tir};
use tc_ir::attrs::AttrData;
use tc_ir::walk::ancestors;
use tc_ir::{Attr, Func, Op, TypeData, Value};
use tc_pass::{FuncPass, PassCx, PassInfo, PassKind};
use tc_support::Diagnostic;

tc_pass::options! {
    /// What `check-bounds` can be told.
    pub struct Options {
        /// Take what is not proved for an error.
        strict: bool = false,
    }
}

/// The row.
pub const INFO: PassInfo = PassInfo {
    name: "check-bounds",
    source: include_str!("check_bounds.rs"),
    anchor: "tir.func",
    options: Options::INFO,
    requires: &[&forms::SCHEDULED],
    establishes: &[],
    make: |raw| Options::read(raw).map(|options| PassKind::Func(tir::FUNC, Box::new(CheckBounds { options }))),
};

/// Of the loops around an access, the corners of at most this many are tried.
const MAX_CORNER_LOOPS: usize = 10;

/// The pass.
pub struct CheckBounds {
    /// What it was told.
    pub options: Options,
}

impl FuncPass for CheckBounds {
    fn run(&self, func: &mut Func, cx: &mut PassCx) -> bool {
        let (func, strict) = (&*func, self.options.strict);
        walk_places(func, |places, op| {
            for index in indices(func, op) {
                let verdict = match is_plainly_within(func, places, &index) {
                    true => Verdict::Within,
                    false => check(func, places.algebra(), op, &index),
                };
                match verdict {
                    Verdict::Within => cx.count("indices proved in range", 1),
                    Verdict::Out(diagnostic) => cx.report(diagnostic),
                    Verdict::Unknown(text) => {
                        cx.count("indices not proved in range", 1);
                        let message = format!("cannot prove `{text}`");
                        let location = func.op_location(op);
                        cx.report(match strict {
                            true => Diagnostic::error("bounds-unproved", location, message),
                            false => Diagnostic::remark("bounds-unproved", location, message),
                        });
                    }
                }
            }
        });
        false
    }
}

/// One index of an access, and what it must stay within.
struct Index {
    buffer: Value,
    dim: usize,
    value: Value,
    /// The elements from the index on that are touched.
    length: Option<Attr>,
    extent: Attr,
}

enum Verdict {
    Within,
    Out(Diagnostic),
    Unknown(String),
}

fn indices(func: &Func, op: Op) -> Vec<Index> {
    let operands = func.operands(op);
    let values = match func.opcode(op) {
        tir::LOAD | tir::REF | tir::REGION => &operands[1..],
        tir::STORE => &operands[1..operands.len() - 1],
        _ => return Vec::new(),
    };
    let buffer = operands[0];
    let (TypeData::Shaped { shape, .. } | TypeData::Ref { shape, .. }) = func.type_data(func.value_type(buffer)) else {
        return Vec::new();
    };
    let lengths = match func.attr_named(op, "lengths").map(|attr| func.attr_data(attr)) {
        Some(AttrData::List(list)) => list.to_vec(),
        _ => Vec::new(),
    };
    let dims = values.iter().zip(shape.iter()).enumerate();
    dims.map(|(dim, (&value, &extent))| Index { buffer, dim, value, length: lengths.get(dim).copied(), extent })
        .collect()
}

/// Do the ranges of the loops alone keep the index within a constant extent?
fn is_plainly_within(func: &Func, places: &mut Places<'_>, index: &Index) -> bool {
    let is_number = func.value_scalar(index.value).is_some_and(|scalar| scalar.lanes == 1);
    match func.as_int(index.extent) {
        Some(extent) if is_number && index.length.is_none() => {
            let interval = places.quick_bounds(index.value);
            interval.all_at_least(0) && interval.all_at_most(extent.saturating_sub(1))
        }
        _ => false,
    }
}

fn check(func: &Func, algebra: &mut Algebra, op: Op, index: &Index) -> Verdict {
    let Some(extent) = algebra.attr(func, index.extent) else { return Verdict::Within };
    let Some((least, greatest)) = ends(func, algebra, index) else {
        return Verdict::Unknown(format!("{} < {}", func.value_text(index.value), algebra.text(extent)));
    };
    let zero = algebra.analyzer.pool.int(0);
    let low = algebra.analyzer.pool.le(zero, least);
    let high = algebra.analyzer.pool.lt(greatest, extent);
    let open = [low, high].into_iter().find(|&condition| !algebra.analyzer.can_prove(condition));
    let Some(open) = open else { return Verdict::Within };
    if let Some(point) = counterexample(func, algebra, op, low, high) {
        return Verdict::Out(out_of_range(func, algebra, op, index, (least, greatest), extent, &point));
    }
    let simple = algebra.analyzer.simplify(open);
    Verdict::Unknown(algebra.text(simple))
}

/// The least and the greatest element that the index touches, as expressions.
fn ends(func: &Func, algebra: &mut Algebra, index: &Index) -> Option<(Expr, Expr)> {
    let lanes = i64::from(func.value_scalar(index.value)?.lanes);
    if lanes > 1 {
        let op = func.def_op(index.value)?;
        let (base, last) = match func.opcode(op) {
            arith::RAMP => (func.operand(op, 0), func.const_int(func.operand(op, 1))?.checked_mul(lanes - 1)?),
            arith::BROADCAST => (func.operand(op, 0), 0),
            _ => return None,
        };
        let base = algebra.expr(func, base);
        let last = algebra.analyzer.pool.int(last);
        let end = algebra.analyzer.pool.add(base, last);
        let descending = algebra.analyzer.pool.as_const(last).is_some_and(|last| last < 0);
        return Some(if descending { (end, base) } else { (base, end) });
    }
    let start = algebra.expr(func, index.value);
    let Some(length) = index.length else { return Some((start, start)) };
    let length = algebra.attr(func, length)?;
    let one = algebra.analyzer.pool.int(1);
    let end = algebra.analyzer.pool.add(start, length);
    Some((start, algebra.analyzer.pool.sub(end, one)))
}

/// A point of the loops around `op`, at the corners of their ranges, that is reached and where one of the conditions
/// does not hold.
fn counterexample(func: &Func, algebra: &mut Algebra, op: Op, low: Expr, high: Expr) -> Option<Vec<(Var, i64)>> {
    let mut loops = Vec::new();
    let mut conditions = Vec::new();
    let mut inner = func.region_of(op);
    for outer in ancestors(func, op) {
        match func.opcode(outer) {
            tir::FOR => {
                func.const_int(func.operand(outer, 0))?;
                const_extent(func, outer).filter(|&extent| extent > 0)?;
                let value = func.region_args(func.op_regions(outer)[0])[0];
                // The range as the conditions of the place draw it in.
                let var = algebra.var_expr(value);
                let range = algebra.analyzer.bounds(var);
                loops.push((Algebra::var(value), range.min()?, range.max()?));
            }
            tir::IF => {
                let condition = algebra.expr(func, func.operand(outer, 0));
                let holds = func.op_regions(outer).first() == inner.as_ref();
                conditions.push(if holds { condition } else { algebra.analyzer.pool.not(condition) });
            }
            _ => return None,
        }
        inner = func.region_of(outer);
    }
    let pool = &mut algebra.analyzer.pool;
    let goal = pool.and(low, high);
    let used: Vec<Var> = conditions.iter().chain([&goal]).flat_map(|&expr| pool.vars(expr)).collect();
    if !used.iter().all(|var| loops.iter().any(|(other, ..)| other == var)) || !header_is_free(func) {
        return None;
    }
    loops.retain(|(var, ..)| used.contains(var));
    loops.reverse();
    if loops.len() > MAX_CORNER_LOOPS {
        return None;
    }
    (0..1u32 << loops.len()).find_map(|corner| {
        let point: Vec<(Var, i64)> = loops
            .iter()
            .enumerate()
            .map(|(nth, &(var, lo, hi))| (var, if corner >> nth & 1 == 1 { hi } else { lo }))
            .collect();
        let value_of = |var: Var| point.iter().find(|(other, _)| *other == var).map_or(0, |&(_, value)| value);
        let reached = conditions.iter().all(|&condition| pool.eval(condition, &value_of) == Some(1));
        (reached && pool.eval(goal, &value_of) == Some(0)).then_some(point)
    })
}

/// Facts of the header may rule a point out.
fn header_is_free(func: &Func) -> bool {
    func.header.facts.is_empty()
}

fn out_of_range(
    func: &Func,
    algebra: &mut Algebra,
    op: Op,
    index: &Index,
    (least, greatest): (Expr, Expr),
    extent: Expr,
    point: &[(Var, i64)],
) -> Diagnostic {
    let name = func.value_text(index.buffer);
    let pool = &algebra.analyzer.pool;
    let value_of = |var: Var| point.iter().find(|(other, _)| *other == var).map_or(0, |&(_, value)| value);
    let at = |expr: Expr| pool.eval(expr, &value_of).unwrap_or_default();
    let reached = if at(least) < 0 { at(least) } else { at(greatest) };
    let shown = algebra.text(if at(least) < 0 { least } else { greatest });
    let place = if reached < 0 { "falls to" } else { "reaches" };
    let (size, extent) = (at(extent), algebra.text(extent));
    let what = match func.type_data(func.value_type(index.buffer)) {
        TypeData::Shaped { shape, .. } if shape.len() > 1 => format!("dimension {} of `{name}` has {size}", index.dim),
        _ => format!("`{name}` has {size}"),
    };
    let text = format!("{what} elements, and the index `{shown}` {place} {reached}");
    let mut diagnostic = Diagnostic::error("out-of-bounds", func.op_location(op), text);
    if !point.is_empty() {
        let parts = point.iter().map(|&(var, value)| format!("`{}` = {value}", algebra.text_of_var(var)));
        diagnostic = diagnostic.note(format!("where {}", parts.collect::<Vec<_>>().join(", ")));
    }
    diagnostic.help(format!("guard the access by a condition, or run the loops so that the index stays in 0..{extent}"))
}
