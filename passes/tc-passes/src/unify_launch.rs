//! Replaces the launch loops inside a launch nest by one loop around it for each launch coordinate.
//!
//! A launch loop does not iterate: its variable is a launch coordinate. So its position does not matter, and all loops
//! of one coordinate have the same value. Around the nest, the coordinate is defined everywhere in it, and values
//! computed from it need not be recomputed in each iteration of a serial loop.
//!
//! # Input form
//!
//! Any program.
//!
//! # Output form
//!
//! The same program. Between the outermost launch loop of a nest and the others are only allocs and further launch
//! loops, one for each launch coordinate.
//!
//! # Example
//!
//! ```tir
//! for bx in 0..64 bind(blockIdx.x) {
//!   alloc S: f32[32] in shared
//!   for k in 0..4 {
//!     for tx in 0..32 bind(threadIdx.x) {
//!       S[tx] = A[k * 32 + tx]
//!     }
//!     for ty in 0..32 bind(threadIdx.x) {
//!       B[k * 32 + ty] = S[31 - ty]
//!     }
//!   }
//! }
//! ->
//! for bx in 0..64 bind(blockIdx.x) {
//!   for tx in 0..32 bind(threadIdx.x) {
//!     alloc S: f32[32] in shared
//!     for k in 0..4 {
//!       S[tx] = A[k * 32 + tx]
//!       B[k * 32 + tx] = S[31 - tx]
//!     }
//!   }
//! }
//! ```
//!
//! # Algorithm
//!
//! For each nest whose launch loops are not outermost already: make a loop for each coordinate, in the order of the
//! text, and move the nest inside. Then replace each old loop by its body, with the new variable for its own.
//!
//! # Limits
//!
//! A nest stays unchanged if two loops of one coordinate differ in extent or in the type of their variables, or if an
//! extent is computed inside the nest.
//!
//! # Remarks
//!
//! `not-unified`: a nest that stays unchanged, at the loop that prevents unification.
//!
//! # References
//!
//! TVM 0.16, `src/tir/transforms/unify_thread_binding.cc`.

use crate::analysis::launch::{LaunchNests, Nest, loop_var};
use crate::analysis::structure::run_once;
use tc_dialects::algebra::{const_extent, is_launch};
use tc_dialects::tir::{self, Coordinate};
use tc_ir::walk::{ancestors, is_inside};
use tc_ir::{Func, Op, Rewriter, Value};
use tc_pass::{FuncPass, PassCx, PassInfo, PassKind};
use tc_support::Diagnostic;

tc_pass::options! {
    /// `unify-launch` has no options.
    pub struct Options {}
}

/// The row.
pub const INFO: PassInfo = PassInfo {
    name: "unify-launch",
    page: tc_support::page!("unify_launch.rs"),
    anchor: "tir.func",
    options: Options::INFO,
    requires: &[],
    establishes: &[],
    preserves: &[],
    make: |raw| Options::read(raw).map(|_| PassKind::Func(tir::FUNC, Box::new(UnifyLaunch))),
};

/// The pass.
pub struct UnifyLaunch;

impl FuncPass for UnifyLaunch {
    fn run(&self, func: &mut Func, cx: &mut PassCx) -> bool {
        let mut changed = false;
        for nest in cx.analysis::<LaunchNests>(func).iter() {
            let first = match first_of_each(func, nest) {
                Ok(first) => first,
                Err((at, reason)) => {
                    cx.missed(|| not_unified(func, at, &reason));
                    continue;
                }
            };
            if stands_outermost(func, nest, first.len()) {
                continue;
            }
            cx.count("launch loops unified", nest.loops.len() as u64);
            unify(func, nest, &first);
            changed = true;
        }
        changed
    }
}

/// What is reported of a nest that stays as it is, for what the loop `at` is.
fn not_unified(func: &Func, at: Op, reason: &str) -> Diagnostic {
    let text = format!("the launch loops of this kernel stay where they are: {reason}");
    Diagnostic::remark("not-unified", func.asked_location(at), text).help(
        "bind loops of one extent and one type, counted from 0, to a coordinate, the smaller ones under a condition",
    )
}

/// The first loop of each coordinate; otherwise the loop that differs from another of its coordinate or has an extent that
/// is computed inside, and what is wrong with it.
fn first_of_each(func: &Func, nest: &Nest) -> Result<Vec<(Op, Coordinate)>, (Op, String)> {
    let mut first: Vec<(Op, Coordinate)> = Vec::new();
    for &(op, coordinate) in &nest.loops {
        let bounds = &func.operands(op)[..2];
        if func.const_int(bounds[0]) != Some(0) {
            return Err((op, format!("this one of `{}` does not begin at 0", coordinate.name())));
        }
        match first.iter().find(|(_, known)| *known == coordinate) {
            Some((earlier, _)) if !is_same(func, func.operand(*earlier, 1), bounds[1]) => {
                let one =
                    |op: Op| const_extent(func, op).map_or("no constant".to_string(), |extent| extent.to_string());
                let (name, one, other) = (coordinate.name(), one(*earlier), one(op));
                return Err((op, format!("`{name}` has an extent of {other} here, and of {one} elsewhere")));
            }
            // One variable has one type.
            Some((earlier, _)) if type_of_var(func, *earlier) != type_of_var(func, op) => {
                return Err((
                    op,
                    format!("the variables of two loops of `{}` have different types", coordinate.name()),
                ));
            }
            Some(_) => {}
            None if func.const_int(bounds[1]).is_none() && is_made_inside(func, bounds[1], nest.op) => {
                return Err((op, format!("the extent of `{}` is computed inside of it", coordinate.name())));
            }
            None => first.push((op, coordinate)),
        }
    }
    Ok(first)
}

fn type_of_var(func: &Func, loop_op: Op) -> tc_ir::Type {
    func.value_type(loop_var(func, loop_op))
}

fn is_same(func: &Func, a: Value, b: Value) -> bool {
    a == b || func.const_int(a).is_some_and(|a| func.const_int(b) == Some(a))
}

fn is_made_inside(func: &Func, value: Value, nest: Op) -> bool {
    match func.def(value) {
        tc_ir::Def::Result(op, _) => is_inside(func, op, nest),
        tc_ir::Def::Arg(region, _) => {
            func.region_parent(region).is_some_and(|op| op == nest || is_inside(func, op, nest))
        }
    }
}

/// Is there one loop a coordinate, and nothing but launch loops around each?
fn stands_outermost(func: &Func, nest: &Nest, n_coordinates: usize) -> bool {
    nest.loops.len() == n_coordinates
        && nest.loops.iter().all(|&(op, _)| {
            ancestors(func, op)
                .take_while(|&outer| outer == nest.op || is_inside(func, outer, nest.op))
                .all(|outer| is_launch(func, outer))
        })
}

fn unify(func: &mut Func, nest: &Nest, first: &[(Op, Coordinate)]) {
    let mut rw = Rewriter::new(func);
    let mut vars: Vec<(Coordinate, Value)> = Vec::new();
    let mut innermost = None;
    for &(op, coordinate) in first {
        let old = rw.func();
        let (hi, attrs) = (old.operand(op, 1), old.entries(old.op_attrs(op)).to_vec());
        let ty = old.value_type(loop_var(old, op));
        let (name, locs, extent) = (old.value_name(loop_var(old, op)), old.op_locs(op), old.const_int(hi));
        let mut b = match innermost {
            None => rw.before(nest.op),
            Some(region) => rw.at_start(region),
        };
        let hi = match extent {
            Some(extent) => int_like(&mut b, extent, ty),
            None => hi,
        };
        let lo = int_like(&mut b, 0, ty);
        let made = tir::For::build(&mut b, lo, hi, &[], &attrs, &[]);
        let region = b.func.op_regions(made)[0];
        let var = b.arg(region, ty, None);
        b.func.set_value_name(var, name);
        rw.set_locs(made, locs);
        vars.push((coordinate, var));
        innermost = Some(region);
    }
    let Some(region) = innermost else { return };
    rw.move_to_end(nest.op, region);
    for &(op, coordinate) in &nest.loops {
        if let Some(&(_, var)) = vars.iter().find(|(known, _)| *known == coordinate) {
            run_once(&mut rw, op, var);
        }
    }
}

/// A literal of the integer type `ty`.
fn int_like(b: &mut tc_ir::Builder<'_>, value: i64, ty: tc_ir::Type) -> Value {
    let value = b.func.int_attr(value);
    b.constant(value, ty)
}
