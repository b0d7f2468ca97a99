//! Tensor maps of a kernel: parameters that the launcher makes.
//!
//! A kernel takes its parameters, then the sizes that it needs, then its maps in the order of the text. What a map is of
//! stays a parameter of its own, though only maps may use it.

use crate::sizes;
use tc_dialects::tma;
use tc_ir::func::Def;
use tc_ir::walk::all_ops;
use tc_ir::{AttrData, Func, Op, Value};
use tc_support::{Diagnostic, Diagnostics};
use tc_target::Formula;
use tc_target::maps::MAX_EXTENT;

/// The ops that make the maps of `func`, in the order of the text.
pub fn maps(func: &Func) -> impl Iterator<Item = Op> {
    all_ops(func).filter(|&op| func.opcode(op) == tma::MAP)
}

/// The number of the parameter that the map of `op` is of.
pub fn param(func: &Func, op: Op) -> Option<usize> {
    let Def::Arg(..) = func.def(func.operand(op, 0)) else { return None };
    func.params().iter().position(|&param| param == func.operand(op, 0))
}

/// The extents of the tensor that the map of `op` is of; `None` where one follows from no sizes.
pub fn extents(func: &Func, op: Op) -> Option<Vec<Formula>> {
    let (_, shape, _) = func.as_shaped(func.value_type(func.result(op)?))?;
    shape
        .iter()
        .map(|&extent| match func.attr_data(extent) {
            AttrData::Int(extent, _) => i64::try_from(*extent).ok().filter(|&extent| extent >= 0).map(Formula::Int),
            _ => sizes::of_attr(func, extent),
        })
        .collect()
}

/// Finds what keeps `op` from being a map that a launcher can make, or is done with a map but by bulk copies.
pub fn check(func: &Func, op: Op, found: &mut Diagnostics) {
    if func.opcode(op) == tma::MAP {
        return made(func, op, found);
    }
    let goes_on = matches!(func.opcode(op), tc_dialects::tir::REF | tc_dialects::tir::REGION);
    let is_box = |nth: usize| tma::is_copy(func, op) && func.operand(op, nth) == tma::sides(func, op)[1];
    let is_map = |value: Value| tma::map_of(func, value).is_some();
    let stray = func.operands(op).iter().enumerate().find(|&(nth, &value)| is_map(value) && !is_box(nth));
    if let Some((_, &value)) = stray.filter(|_| !goes_on) {
        let name = func.value_text(crate::place::buffer_of(func, value));
        let text = format!("`{}` takes the tensor map `{name}`, which is no memory", func.op_name(op));
        let help = "bulk copies go by a map: name the buffer that the map is of";
        found.push(Diagnostic::error("no-emitter", func.op_location(op), text).help(help));
    }
}

fn made(func: &Func, op: Op, found: &mut Diagnostics) {
    let name = func.result(op).map_or("", |map| func.value_text(map));
    if param(func, op).is_none() {
        let text = format!("the tensor map `{name}` is of `{}`, and the launcher makes maps of parameters", {
            func.value_text(func.operand(op, 0))
        });
        let help = "run `split-host-device`: it hands buffers to kernels";
        found.push(Diagnostic::assumption("no-emitter", func.op_location(op), text).help(help));
    }
    let too_long = |extent: &Formula| matches!(extent, &Formula::Int(extent) if extent as u64 > MAX_EXTENT);
    if let Some(Formula::Int(extent)) = extents(func, op).and_then(|extents| extents.into_iter().find(too_long)) {
        let text =
            format!("the tensor map `{name}` has an extent of {extent}, and bulk copies count up to {MAX_EXTENT}");
        let help = "divide the dimension in two";
        found.push(Diagnostic::error("no-emitter", func.op_location(op), text).help(help));
    }
    if extents(func, op).is_none() {
        let text = format!("an extent of the tensor map `{name}` is no formula of sizes");
        let help = "say it by `+ - * / %`, `min`, `max` and comparisons of sizes";
        found.push(Diagnostic::error("no-emitter", func.op_location(op), text).help(help));
    }
}
