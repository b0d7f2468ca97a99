//! Proves that every access is within its buffer, and refuses those that certainly are not.
//!
//! # Input form
//!
//! `scheduled`. Buffers may be flat or multi-dimensional.
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
//! For each index of each access and of each reference, under the loop ranges, launch extents and conditions around it:
//!
//! 1. prove that its least value is not negative and its greatest, lanes and region lengths included, is below the
//!    extent. The read of an asynchronous copy is checked under its `when`; a tile of `wmma.load` or `wmma.store` that
//!    its first element names extends to the last element of its last row, `stride` times the rows further;
//! 2. if that fails, search the corners of the surrounding loop ranges, narrowed by the conditions, for a point at
//!    which all conditions hold and the index is out of bounds: that is an error, and the message has the point;
//! 3. otherwise report a remark with the unproved inequality.
//!
//! # Limits
//!
//! Step 2 tries only corners, and only if bounds are constant and conditions contain only loop variables; the simulator
//! finds what it misses. An access through a view is compared with the extent of the view; the verifier checks that the
//! view is inside its base.
//!
//! # Remarks
//!
//! `bounds-unproved`, always printed: an inequality that is neither proved nor refuted; with `strict`, an error.
//!
//! # References
//!
//! None.

mod corners;
mod footprint;

use crate::analysis::places::{Places, walk_places};
use footprint::{At, Index};
use rustc_hash::FxHashSet;
use tc_arith::{Expr, Var};
use tc_dialects::algebra::Algebra;
use tc_dialects::{forms, tir};
use tc_ir::uses::Uses;
use tc_ir::{Func, Op, TypeData, Value};
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
    page: tc_support::page!("mod.rs"),
    anchor: "tir.func",
    options: Options::INFO,
    requires: &[&forms::SCHEDULED],
    establishes: &[],
    preserves: &[],
    make: |raw| Options::read(raw).map(|options| PassKind::Func(tir::FUNC, Box::new(CheckBounds { options }))),
};

/// The pass.
pub struct CheckBounds {
    /// What it was given.
    pub options: Options,
}

impl FuncPass for CheckBounds {
    fn run(&self, func: &mut Func, cx: &mut PassCx) -> bool {
        let (func, strict) = (&*func, self.options.strict);
        let uses = cx.analysis::<Uses>(func);
        walk_places(func, |places, op| {
            let under = footprint::condition(func, &uses, op);
            for index in footprint::indices(func, &uses, op) {
                let verdict = match is_plainly_within(func, places, &index) {
                    true => Verdict::Within,
                    false => check(func, places.algebra(), op, &index, under),
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

/// The accesses of `buffers`, and the references to parts of them, that certainly do not lie within: what a pass asks that
/// gives these buffers other dimensions, in which that would no longer be seen.
pub(crate) fn certainly_out(func: &Func, buffers: &FxHashSet<Value>) -> Vec<Diagnostic> {
    let uses = Uses::of(func);
    let mut found = Vec::new();
    walk_places(func, |places, op| {
        if !func.operands(op).first().is_some_and(|place| buffers.contains(place)) {
            return;
        }
        for index in footprint::indices(func, &uses, op) {
            if !is_plainly_within(func, places, &index)
                && let Verdict::Out(diagnostic) = check(func, places.algebra(), op, &index, None)
            {
                found.push(diagnostic);
            }
        }
    });
    found
}

enum Verdict {
    Within,
    Out(Diagnostic),
    Unknown(String),
}

/// Do the ranges of the loops alone keep the index within a constant extent?
fn is_plainly_within(func: &Func, places: &mut Places<'_>, index: &Index) -> bool {
    let is_number = |value: Value| func.value_scalar(value).is_some_and(|scalar| scalar.lanes == 1);
    let (At::Element(value), Some(extent)) = (index.at, func.as_int(index.extent)) else { return false };
    let length = index.length.map_or(Some(1), |length| func.as_int(length));
    match length {
        Some(length) if is_number(value) && length >= 1 => {
            let interval = places.quick_bounds(value);
            interval.all_at_least(0) && interval.all_at_most(extent.saturating_sub(length))
        }
        _ => false,
    }
}

fn check(func: &Func, algebra: &mut Algebra, op: Op, index: &Index, under: Option<Value>) -> Verdict {
    let mark = algebra.analyzer.mark();
    if let Some(condition) = under {
        algebra.assume(func, condition, true);
    }
    let verdict = judge(func, algebra, op, index, under);
    algebra.analyzer.rollback(mark);
    verdict
}

fn judge(func: &Func, algebra: &mut Algebra, op: Op, index: &Index, under: Option<Value>) -> Verdict {
    let Some(extent) = algebra.attr(func, index.extent) else { return Verdict::Within };
    let Some((least, greatest)) = footprint::ends(func, algebra, index) else {
        let shown = match index.at {
            At::Element(value) => func.value_text(value),
            At::Tile { .. } => "",
        };
        return Verdict::Unknown(format!("{shown} < {}", algebra.text(extent)));
    };
    let zero = algebra.analyzer.pool.int(0);
    let low = algebra.analyzer.pool.le(zero, least);
    let high = algebra.analyzer.pool.lt(greatest, extent);
    let open = [low, high].into_iter().find(|&condition| !algebra.analyzer.can_prove(condition));
    let Some(open) = open else { return Verdict::Within };
    if let Some(point) = corners::counterexample(func, algebra, op, under, (low, high)) {
        return Verdict::Out(out_of_range(func, algebra, op, index, (least, greatest), extent, &point));
    }
    let simple = algebra.analyzer.simplify(open);
    Verdict::Unknown(algebra.text(simple))
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
        TypeData::Shaped { shape, .. } if shape.len() > 1 && matches!(index.at, At::Element(_)) => {
            format!("dimension {} of `{name}` has {size}", index.dim)
        }
        _ => format!("`{name}` has {size}"),
    };
    let text = format!("{what} elements, and the index `{shown}` {place} {reached}");
    let mut diagnostic = Diagnostic::error("out-of-bounds", func.op_location(op), text);
    if let At::Tile { rows, cols, .. } = index.at {
        diagnostic = diagnostic.note(format!("it is the last of a tile of {rows} x {cols}"));
    }
    if !point.is_empty() {
        let parts = point.iter().map(|&(var, value)| format!("`{}` = {value}", algebra.text_of_var(var)));
        diagnostic = diagnostic.note(format!("where {}", parts.collect::<Vec<_>>().join(", ")));
    }
    diagnostic.help(format!("guard the access by a condition, or run the loops so that the index stays in 0..{extent}"))
}
