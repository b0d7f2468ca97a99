//! Gives every `index` a width: 32 bits if they provably suffice, else 64.
//!
//! # Input form
//!
//! A program whose buffers hold no `index`: the operator determines the width of elements in memory.
//!
//! # Output form
//!
//! Only the function's sizes have type `index`; used ones are converted at the head. An op with a wide operand or
//! result computes in 64 bits, any other in 32, with casts between the two, so that an open size widens only what
//! depends on it.
//!
//! # Example
//!
//! ```tir
//! for i in 0..513 bind(blockIdx.x) {
//!   A[i * 32] = 0.0
//! }
//! ->
//! for i in 0..513i32 bind(blockIdx.x) {
//!   A[i * 32] = 0.0
//! }
//! ```
//!
//! # Algorithm
//!
//! 1. Convert the used sizes, and use the results.
//! 2. Bound every value at its definition, by the ranges of sizes and of the surrounding loops, and by the limits of a
//!    launch. A value that does not provably fit 32 bits is wide.
//! 3. If the operands and results of an op must have one type and one of them is wide, all have 64 bits. The same holds
//!    for the results of a loop or a conditional and the corresponding arguments.
//! 4. Set the types, and cast operands of the other width. Fold casts between equal types.
//!
//! # Limits
//!
//! A size without an upper bound, and every value computed from it, has 64 bits, except values with a bound of their
//! own: a remainder, a minimum, a launch coordinate. The pass takes no bounds from conditions.
//!
//! # Remarks
//!
//! `wide-index`: each value that does not provably fit 32 bits although its operands do, with its range.
//!
//! # References
//!
//! TVM 0.16, `src/tir/transforms/narrow_datatype.cc`, without its rule that an index inherits the width of a loaded
//! value.

mod bound;
mod missed;

use crate::analysis::fold::fold_op;
use crate::analysis::launch::LaunchNests;
use crate::analysis::target;
use bound::Wide;
use tc_dialects::threads::is_reduction;
use tc_dialects::{arith, tir};
use tc_ir::opdef::{Infer, Role};
use tc_ir::rewrite::rewrite_ops;
use tc_ir::walk::all_ops;
use tc_ir::{Builder, Elem, Func, Op, Rewriter, Scalar, Type, Value, keys};
use tc_pass::{FuncPass, PassCx, PassInfo, PassKind, preserved};
use tc_support::Diagnostic;

tc_pass::options! {
    /// `narrow-index` has no options.
    pub struct Options {}
}

/// The row.
pub const INFO: PassInfo = PassInfo {
    name: "narrow-index",
    page: tc_support::page!("mod.rs"),
    anchor: "tir.func",
    options: Options::INFO,
    requires: &[],
    establishes: &[],
    preserves: &[preserved::<LaunchNests>],
    make: |raw| Options::read(raw).map(|_| PassKind::Func(tir::FUNC, Box::new(NarrowIndex))),
};

/// The pass.
pub struct NarrowIndex;

impl FuncPass for NarrowIndex {
    fn run(&self, func: &mut Func, cx: &mut PassCx) -> bool {
        if refuse_buffers(func, cx) || !has_index(func) {
            return false;
        }
        convert_sizes(func);
        divide_literals(func);
        let mut wide = bound::wide_values(func, &target::of_run(cx));
        if cx.wants_missed() {
            missed::tell(func, &wide, cx);
        }
        share_widths(func, &mut wide);
        set_types(func, &wide, cx);
        rewrite_ops(func, |rw, op| {
            if rw.func().opcode(op) == arith::CAST {
                let given = rw.func().operand(op, 0);
                fold_op(rw, op);
                erase_literal(rw, given);
            }
        });
        true
    }
}

/// Takes out the literal `value` if nothing uses it any more: text does not show it.
fn erase_literal(rw: &mut Rewriter<'_>, value: Value) {
    let func = rw.func();
    let is_left = func.n_uses(value) == 0 && func.value_name(value).is_none();
    if let Some(op) = func.def_op(value).filter(|&op| is_left && func.role(op) == Role::Constant) {
        rw.erase(op);
    }
}

/// What lies in memory has a width that everybody who reads it knows: a buffer of `index` has none.
fn refuse_buffers(func: &Func, cx: &mut PassCx) -> bool {
    let of_ops = all_ops(func).flat_map(|op| func.results(op).map(move |value| (value, func.op_location(op))));
    let of_params = func.params().iter().map(|&param| (param, func.location(func.header.loc)));
    let mut refused = false;
    for (buffer, at) in of_params.chain(of_ops) {
        let elem = func.as_shaped(func.value_type(buffer)).and_then(|(elem, _, _)| func.as_scalar(elem));
        if elem.is_some_and(|elem| elem.elem == Elem::Index) {
            let text =
                format!("`{}` holds elements of `index`, which have no width in memory", func.value_text(buffer));
            let help = "compute elements of `i32` or `i64`: `cast<i32>(…)`";
            cx.report(Diagnostic::error("index-in-memory", at, text).help(help));
            refused = true;
        }
    }
    refused
}

/// Puts a conversion at the head for each size that is computed with, so that only that has a width: the size itself
/// stays what the types of buffers speak of.
fn convert_sizes(func: &mut Func) {
    let body = func.body();
    let sizes: Vec<Value> = func.region_args(body)[..func.header.symbols.len()].to_vec();
    let ops: Vec<Op> = all_ops(func).collect();
    for size in sizes.into_iter().rev().filter(|&size| func.n_uses(size) > 0).collect::<Vec<_>>() {
        let (index, name) = (func.index_ty(), func.value_name(size));
        let mut b = Builder::at_start(func, body);
        let cast = arith::Cast::build(&mut b, size, &[], &[index]);
        let Some(width) = b.func.result(cast) else { continue };
        b.func.set_value_name(width, name);
        let mut rw = Rewriter::new(func);
        for &op in &ops {
            for idx in 0..rw.func().operands(op).len() {
                if rw.func().operand(op, idx) == size {
                    rw.set_operand(op, idx, width);
                }
            }
        }
    }
}

/// Gives every use of a literal a literal of its own, as it has in text: one that several share would tie them.
fn divide_literals(func: &mut Func) {
    let ops: Vec<Op> = all_ops(func).collect();
    for op in ops {
        for idx in 0..func.operands(op).len() {
            let value = func.operand(op, idx);
            let literal = func.constant(value).filter(|_| {
                func.n_uses(value) > 1 && func.value_name(value).is_none() && index_lanes(func, value).is_some()
            });
            let Some(literal) = literal else { continue };
            let ty = func.value_type(value);
            let own = arith::Constant::build(&mut Builder::before(func, op), &[(keys::VALUE, literal)], &[ty]);
            if let Some(own) = func.result(own) {
                Rewriter::new(func).set_operand(op, idx, own);
            }
        }
    }
}

fn index_lanes(func: &Func, value: Value) -> Option<u16> {
    func.value_scalar(value).filter(|scalar| scalar.elem == Elem::Index).map(|scalar| scalar.lanes)
}

fn values_of(func: &Func, op: Op) -> impl Iterator<Item = Value> + '_ {
    let args = func.op_regions(op).iter().flat_map(|&region| func.region_args(region).iter().copied());
    func.results(op).chain(args)
}

fn has_index(func: &Func) -> bool {
    let params = func.params().iter().any(|&value| index_lanes(func, value).is_some());
    params || all_ops(func).any(|op| values_of(func, op).any(|value| index_lanes(func, value).is_some()))
}

/// Values that have one width because one stands for the other: what a loop carries, what a conditional or a reduction gives.
fn same_widths(func: &Func, op: Op) -> Vec<Vec<Value>> {
    let results = || func.results(op).enumerate();
    match func.role(op) {
        Role::For => {
            let args = func.region_args(func.op_regions(op)[0]);
            results().map(|(nth, result)| vec![result, args[nth + 1]]).collect()
        }
        // Of a reduction, each value has its own two arguments of the combiner.
        _ if is_reduction(func, op) => {
            let args = func.region_args(func.op_regions(op)[0]);
            results().map(|(nth, result)| vec![result, args[nth], args[nth + args.len() / 2]]).collect()
        }
        _ => Vec::new(),
    }
}

/// Makes all of [`same_widths`] wide where one is.
fn share_widths(func: &Func, wide: &mut Wide) {
    for same in all_ops(func).flat_map(|op| same_widths(func, op)) {
        if same.iter().any(|&value| wide.contains(value)) {
            same.iter().for_each(|&value| wide.insert(value));
        }
    }
}

/// What the operand `idx` of an op has to be as wide as.
enum Needs {
    /// Any width will do.
    Nothing,
    /// What the op computes in.
    Op,
    /// This value.
    Value(Value),
}

fn needs(func: &Func, op: Op, idx: usize) -> Needs {
    match func.role(op) {
        Role::For if idx < 2 => Needs::Op,
        Role::For => func.results(op).nth(idx - 2).map_or(Needs::Nothing, Needs::Value),
        Role::Yield => {
            let parent = func.region_of(op).and_then(|region| func.region_parent(region));
            parent.and_then(|parent| func.results(parent).nth(idx)).map_or(Needs::Nothing, Needs::Value)
        }
        _ if is_reduction(func, op) => func.results(op).nth(idx).map_or(Needs::Nothing, Needs::Value),
        // A cast is where widths meet; accesses take any.
        Role::Cast | Role::Load | Role::Store | Role::RefElement | Role::RefRegion | Role::Constant | Role::If => {
            Needs::Nothing
        }
        _ => match func.row(op).infer {
            Infer::Same(from) if idx < from => Needs::Nothing,
            _ => Needs::Op,
        },
    }
}

/// Is one of the values wide that `op` wants to be of one type? Callers and callees agree on 64 bits.
fn is_wide(func: &Func, op: Op, wide: &Wide) -> bool {
    let role = func.role(op);
    if role == Role::Call {
        return true;
    }
    let operands = func.operands(op).iter().enumerate();
    let tied = operands.filter(|&(idx, _)| matches!(needs(func, op, idx), Needs::Op)).map(|(_, &value)| value);
    let own = match role {
        Role::For => Some(func.region_args(func.op_regions(op)[0])[0]),
        _ => func.result(op),
    };
    tied.chain(own).any(|value| wide.contains(value))
}

/// Gives every `index` its type, and casts operands that come in another.
fn set_types(func: &mut Func, wide: &Wide, cx: &mut PassCx) {
    let ops: Vec<Op> = all_ops(func).collect();
    let mut elems: Vec<Option<Elem>> = vec![None; func.n_value_ids()];
    let mut set = |func: &Func, value: Value, is_wide: bool| {
        if index_lanes(func, value).is_some() {
            elems[value.as_u32() as usize] = Some(if is_wide { Elem::I64 } else { Elem::I32 });
        }
    };
    for &param in func.params() {
        set(func, param, true);
    }
    let is_wide: Vec<bool> = ops.iter().map(|&op| is_wide(func, op, wide)).collect();
    for (&op, &is_wide) in ops.iter().zip(&is_wide) {
        for value in values_of(func, op) {
            set(func, value, wide.contains(value));
        }
        match func.role(op) {
            Role::For => set(func, func.region_args(func.op_regions(op)[0])[0], is_wide),
            Role::If | Role::Cast | Role::Constant => {}
            _ if is_reduction(func, op) => {}
            _ => func.results(op).for_each(|value| set(func, value, is_wide)),
        }
    }
    let elem_of = |value: Value| elems.get(value.as_u32() as usize).copied().flatten();
    let mut casts: Vec<(Op, usize, Elem)> = Vec::new();
    let mut literals: Vec<(Value, Elem)> = Vec::new();
    for (&op, &is_wide) in ops.iter().zip(&is_wide) {
        for (idx, &operand) in func.operands(op).iter().enumerate() {
            let needed = match needs(func, op, idx) {
                Needs::Nothing => None,
                Needs::Op => Some(if is_wide { Elem::I64 } else { Elem::I32 }),
                Needs::Value(value) => elem_of(value),
            };
            let Some(needed) = needed.filter(|&needed| elem_of(operand).is_some_and(|own| own != needed)) else {
                continue;
            };
            // In an arm that is never taken a literal may be wider than what comes of the conditional.
            let is_literal = func.value_name(operand).is_none()
                && func.const_int(operand).is_some_and(|value| needed == Elem::I64 || i32::try_from(value).is_ok());
            match is_literal {
                true => literals.push((operand, needed)),
                false => casts.push((op, idx, needed)),
            }
        }
    }
    for (literal, elem) in literals {
        elems[literal.as_u32() as usize] = Some(elem);
    }
    let mut rw = Rewriter::new(func);
    for (nth, elem) in elems.iter().enumerate() {
        let (Some(elem), value) = (*elem, Value::from_u32(nth as u32)) else { continue };
        cx.count(if elem == Elem::I32 { "values of 32 bits" } else { "values of 64 bits" }, 1);
        let Some(lanes) = index_lanes(rw.func(), value) else { continue };
        let ty: Type = rw.func_mut().scalar_ty(Scalar { elem, lanes });
        rw.set_type(value, ty);
    }
    for (op, idx, elem) in casts {
        let value = rw.func().operand(op, idx);
        let Some(lanes) = rw.func().value_scalar(value).map(|scalar| scalar.lanes) else { continue };
        let mut b = rw.before(op);
        let ty: Type = b.func.scalar_ty(Scalar { elem, lanes });
        let cast = arith::Cast::build(&mut b, value, &[], &[ty]);
        if let Some(cast) = b.func.result(cast) {
            rw.set_operand(op, idx, cast);
        }
    }
}
