//! Makes fused multiply-adds: `a * b + c`, rounded once.
//!
//! No other part of tc contracts, and the CUDA path compiles with `--fmad=false`. So the text of a program shows
//! whether it rounds once or twice.
//!
//! # Input form
//!
//! Any program.
//!
//! # Output form
//!
//! The same program; a float sum with a product that has no other use is an `fma`.
//!
//! # Example
//!
//! ```tir
//! BL[0] = BL[0] + A[i] * WS[r]
//! ->
//! BL[0] = fma(A[i], WS[r], BL[0])
//! ```
//!
//! # Algorithm
//!
//! For each `arith.add` of floats the pass looks for a product among the operands, the right one first, and for each
//! `arith.sub` for a product on the left. The product must be in the same block and have no name and no other use: a
//! name means that the author wants the value itself.
//!
//! # Limits
//!
//! The pass contracts `f32`, `f64` and `f16`, and `bf16` if the target has the instruction, from sm_80 on. A product on
//! the right of a difference stays, since it would need a negation.
//!
//! # Remarks
//!
//! `not-contracted`: a product and a sum of floats that stay two ops, and why.
//!
//! # References
//!
//! IEEE 754-2019, section 5.4.1, `fusedMultiplyAdd`.

use crate::analysis::launch::LaunchNests;
use tc_dialects::{arith, tir};
use tc_ir::rewrite::rewrite_ops;
use tc_ir::walk::all_ops;
use tc_ir::{Elem, Func, Op, Rewriter, Value};
use tc_pass::{FuncPass, PassCx, PassInfo, PassKind, preserved};
use tc_support::Diagnostic;
use tc_target::Target;

tc_pass::options! {
    /// `contract` has no options.
    pub struct Options {}
}

/// The row.
pub const INFO: PassInfo = PassInfo {
    name: "contract",
    page: tc_support::page!("contract.rs"),
    anchor: "tir.func",
    options: Options::INFO,
    requires: &[],
    establishes: &[],
    preserves: &[preserved::<LaunchNests>],
    make: |raw| Options::read(raw).map(|_| PassKind::Func(tir::FUNC, Box::new(Contract))),
};

/// The pass.
pub struct Contract;

/// A product to be taken in, and what is added to it.
struct FusedMultiplyAdd {
    product: Op,
    addend: Value,
    negate: bool,
}

impl FuncPass for Contract {
    fn run(&self, func: &mut Func, cx: &mut PassCx) -> bool {
        let target = cx.get::<Target>().copied();
        let fuses = |elem: Elem| match target {
            Some(target) => target.computes_in(elem),
            None => !elem.is_for_products(),
        };
        let mut n_fused = 0;
        let changed = rewrite_ops(func, |rw, op| {
            if let Some(plan) = find(rw.func(), op, &fuses) {
                fuse(rw, op, &plan);
                n_fused += 1;
            }
        });
        cx.count("products fused", n_fused);
        if cx.wants_missed() {
            all_ops(func).filter_map(|op| left(func, op, &fuses)).for_each(|found| cx.report(found));
        }
        changed
    }
}

/// The sum `op` with a product, of floats that the target `fuses`.
fn find(func: &Func, op: Op, fuses: &impl Fn(Elem) -> bool) -> Option<FusedMultiplyAdd> {
    let opcode = func.opcode(op);
    if opcode != arith::ADD && opcode != arith::SUB {
        return None;
    }
    let result = func.value_scalar(func.result(op)?)?;
    if !result.elem.is_float() || !fuses(result.elem) {
        return None;
    }
    let (lhs, rhs) = (func.operand(op, 0), func.operand(op, 1));
    if opcode == arith::SUB {
        return product(func, op, lhs).map(|product| FusedMultiplyAdd { product, addend: rhs, negate: true });
    }
    if let Some(product) = product(func, op, rhs) {
        return Some(FusedMultiplyAdd { product, addend: lhs, negate: false });
    }
    product(func, op, lhs).map(|product| FusedMultiplyAdd { product, addend: rhs, negate: false })
}

/// What is reported of a sum with a product that stay two ops.
fn left(func: &Func, op: Op, fuses: &impl Fn(Elem) -> bool) -> Option<Diagnostic> {
    let opcode = func.opcode(op);
    let result = func.value_scalar(func.result(op)?).filter(|scalar| scalar.elem.is_float())?;
    let is_sum = opcode == arith::ADD || opcode == arith::SUB;
    let is_product = |&value: &Value| func.def_op(value).is_some_and(|def| func.opcode(def) == arith::MUL);
    let value = func.operands(op).iter().copied().find(is_product).filter(|_| is_sum)?;
    let product = func.def_op(value)?;
    let (reason, help) = if !fuses(result.elem) {
        let reason = format!("the target has no such instruction on `{}`", result.elem.name());
        (reason, "compute in `f32`, or compile for a target that has it")
    } else if func.value_name(value).is_some() {
        (format!("the product has a name, `{}`", func.value_text(value)), "write the product where it is added")
    } else if func.n_uses(value) > 1 {
        (format!("the product is used {} times", func.n_uses(value)), "write it once for each sum")
    } else if func.region_of(product) != func.region_of(op) {
        let help = "write the product where it is added";
        ("the product is computed outside of the loop or branch of the sum".to_string(), help)
    } else {
        ("the product is what is taken away".to_string(), "take `a * b` away by adding `(-a) * b`")
    };
    let text = format!("a product and a sum stay two operations, each rounded: {reason}");
    let found = Diagnostic::remark("not-contracted", func.op_location(op), text).help(help);
    Some(if func.op_location(product) == func.op_location(op) {
        found
    } else {
        found.label(func.op_location(product), "the product")
    })
}

fn product(func: &Func, user: Op, value: Value) -> Option<Op> {
    let op = func.def_op(value)?;
    let fits = func.opcode(op) == arith::MUL
        && func.n_uses(value) == 1
        && func.value_name(value).is_none()
        && func.region_of(op) == func.region_of(user);
    fits.then_some(op)
}

fn fuse(rw: &mut Rewriter<'_>, op: Op, plan: &FusedMultiplyAdd) {
    let (a, b) = (rw.func().operand(plan.product, 0), rw.func().operand(plan.product, 1));
    let mut builder = rw.before(op);
    let addend = if plan.negate { builder.value(arith::NEG, &[plan.addend], &[]) } else { plan.addend };
    let fused = builder.value(arith::FMA, &[a, b, addend], &[]);
    rw.replace_op(op, &[fused]);
    rw.erase(plan.product);
}
