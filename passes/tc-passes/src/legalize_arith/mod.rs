//! Rewrites arithmetic to the ops, types and conversions that every emitter supports.
//!
//! C++ and MLIR share only a part of the language's arithmetic. This pass rewrites what only one of them has, or what
//! both leave undefined, to ops that both have, so that an emitter is a table from ops to spellings.
//!
//! # Input form
//!
//! Any program.
//!
//! # Output form
//!
//! No `sigmoid`, no remainder of floats, no `tdiv` or `tmod` of `i8` or `i16`, no `tmod` that may compute the remainder
//! of the least number by -1, no negation or absolute value of unsigned numbers, no comparison of an unsigned number
//! with 0 that has a constant result, no cast to `bool`. A cast to or from a float that f32 holds has `f32` on its
//! other side; further casts to such a float are from `f64`, and to `bf16` from integers of 32 and 64 bits.
//!
//! # Example
//!
//! ```tir
//! C[i] = tmod(A[i], B[i])
//! D[i] = cast<bool>(H[i])
//! ->
//! let b = B[i]
//! C[i] = tmod(A[i], select(b == -1, 1, b))
//! D[i] = cast<f32>(H[i]) != 0.0
//! ```
//!
//! # Algorithm
//!
//! 1. Find the ops that match a rule. Each rule looks at one op and its operands; `least-by-minus-one` checks under the
//!    loop ranges and conditions of the program point whether the dividend may be the least number and the divisor -1.
//! 2. Replace each by the result of its rule. No rule makes an op that matches a rule.
//!    - `sigmoid`: `1 / (1 + exp(-x))`, in f32 for floats that f32 holds.
//!    - `float-remainder`: `a - floor(a / b) * b` in f64, rounded once.
//!    - `narrow-division`: in `i32`, where the least number by -1 does not overflow; the cast back wraps.
//!    - `least-by-minus-one`: the divisor -1 becomes 1, whose remainders are 0 too.
//!    - `unsigned-negation`: `0 - x`; `unsigned-absolute`: `x`; `unsigned-comparison`: the truth value.
//!    - `cast-to-truth`: `x != 0`.
//!    - `cast-in-steps`: by way of f32, which holds the narrow float exactly; an integer of 32 bits or more becomes a `tf32`
//!      by way of f64.
//!
//! # Limits
//!
//! A 64-bit integer that becomes a `tf32` is rounded to f64 first. `fma` of `bf16` is left to emitters, since no wider
//! type holds its product and sum exactly. So is an op that one emitter writes as one op and the other as several, such
//! as the cast of f32 to `tf32`.
//!
//! # Remarks
//!
//! None: no rule is a missed optimisation.
//!
//! # References
//!
//! LLVM's `LegalizeDAG` and `LegalizeTypes` do this for machine code; TVM 0.16, `src/target/source/intrin_rule_cuda.cc`
//! and `src/tir/transforms/lower_intrin.cc`.

mod casts;
mod floats;
mod integers;

use crate::analysis::launch::LaunchNests;
use indexmap::IndexMap;
use tc_dialects::algebra::remainder;
use tc_dialects::{arith, tir};
use tc_ir::rewrite::rewrite_ops;
use tc_ir::verify::verify;
use tc_ir::walk::all_ops;
use tc_ir::{Builder, Func, Op, Scalar, Value};
use tc_pass::{FuncPass, PassCx, PassInfo, PassKind, preserved};

tc_pass::options! {
    /// `legalize-arith` has no options.
    pub struct Options {}
}

/// The row.
pub const INFO: PassInfo = PassInfo {
    name: "legalize-arith",
    page: tc_support::page!("mod.rs"),
    anchor: "tir.func",
    options: Options::INFO,
    requires: &[],
    establishes: &[],
    preserves: &[preserved::<LaunchNests>],
    make: |raw| Options::read(raw).map(|_| PassKind::Func(tir::FUNC, Box::new(LegalizeArith))),
};

/// The pass.
pub struct LegalizeArith;

impl FuncPass for LegalizeArith {
    fn run(&self, func: &mut Func, cx: &mut PassCx) -> bool {
        let found: IndexMap<Op, &Rule> = all_ops(func).filter_map(|op| Some((op, rule_for(func, op)?))).collect();
        for rule in found.values() {
            cx.count(rule.name, 1);
        }
        rewrite_ops(func, |rw, op| {
            if let Some(rule) = found.get(&op) {
                let value = (rule.write)(&mut rw.before(op), op);
                rw.replace_op(op, &[value]);
            }
        })
    }
}

/// Is there nothing in `func` that the pass would write otherwise? A function that is not verified counts as legal.
pub fn is_legal(func: &Func) -> bool {
    let is_asked = |op| func.opcode(op) == arith::TMOD;
    (all_ops(func).any(is_asked) && verify(func).has_errors()) || all_ops(func).all(|op| rule_for(func, op).is_none())
}

/// A way to write an op otherwise.
struct Rule {
    name: &'static str,
    /// Does it fit this op?
    fits: fn(&Func, Op) -> bool,
    /// Makes what takes the place of an op that it fits.
    write: fn(&mut Builder<'_>, Op) -> Value,
}

/// The rules. No two fit one op.
static RULES: &[Rule] = &[
    Rule { name: "sigmoid", fits: floats::is_sigmoid, write: floats::sigmoid },
    Rule { name: "float-remainder", fits: floats::is_remainder, write: floats::remainder },
    Rule { name: "narrow-division", fits: integers::is_narrow_division, write: integers::narrow_division },
    Rule { name: "least-by-minus-one", fits: remainder::may_overflow, write: integers::remainder_by_another },
    Rule { name: "unsigned-negation", fits: integers::is_unsigned_negation, write: integers::unsigned_negation },
    Rule { name: "unsigned-absolute", fits: integers::is_unsigned_absolute, write: integers::unsigned_absolute },
    Rule { name: "unsigned-comparison", fits: integers::is_settled, write: integers::settled },
    Rule { name: "cast-to-truth", fits: casts::is_to_truth, write: casts::to_truth },
    Rule { name: "cast-in-steps", fits: casts::is_in_steps, write: casts::in_steps },
];

fn rule_for(func: &Func, op: Op) -> Option<&'static Rule> {
    RULES.iter().find(|rule| (rule.fits)(func, op))
}

/// The type of operand number `nth` of `op`, where it is a number.
fn operand_type(func: &Func, op: Op, nth: usize) -> Option<Scalar> {
    func.value_scalar(*func.operands(op).get(nth)?)
}

/// Operand number `nth` of the op that is written otherwise, and its type.
fn operand(b: &Builder<'_>, op: Op, nth: usize) -> (Value, Scalar) {
    let value = b.func.operand(op, nth);
    (value, b.func.value_scalar(value).expect("a rule fits ops on numbers"))
}
