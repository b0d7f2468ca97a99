//! Barriers are elements of buffers of barriers, counts are in range.

use super::{ARRIVE, MAX_COUNT, TYPE_NAME};
use crate::scope::{Scope, scope_text};
use crate::tir::{MAX_CLUSTER, place_type};
use tc_ir::{Func, Name, Op, Type, TypeData, Value, keys};
use tc_support::{Diagnostic, Diagnostics};

/// Is `ty` the type of a barrier?
pub fn is_barrier_type(func: &Func, ty: Type) -> bool {
    matches!(func.type_data(ty), TypeData::Opaque { path, params } if params.is_empty() && func.text(*path) == TYPE_NAME)
}

fn error(func: &Func, op: Op, code: &'static str, message: String) -> Diagnostic {
    Diagnostic::error(code, func.op_location(op), message)
}

/// Is `place` one barrier in shared memory?
pub(crate) fn is_barrier(func: &Func, place: Value) -> Result<(), (&'static str, String)> {
    let ty = func.value_type(place);
    let Some((_, shape, scope)) = place_type(func, place).filter(|&(elem, ..)| is_barrier_type(func, elem)) else {
        return Err(("type", format!("a barrier is a `{TYPE_NAME}` in shared memory, not `{}`", func.show_type(ty))));
    };
    if shape.iter().any(|&length| func.as_int(length) != Some(1)) {
        return Err(("extent", format!("one barrier is meant, not `{}`", func.show_type(ty))));
    }
    if Scope::of_name(func, scope) != Some(Scope::Shared) {
        return Err(("scope", format!("a barrier lies in `shared`, not in `{}`", scope_text(func, scope))));
    }
    Ok(())
}

fn check_place(func: &Func, op: Op, found: &mut Diagnostics) {
    if let Err((code, text)) = is_barrier(func, func.operand(op, 0)) {
        let help = format!("`alloc full: {TYPE_NAME}[4] in shared` makes four; name one of them: `&full[i]`");
        found.push(error(func, op, code, text).help(help));
    }
}

/// The number in the cluster of the block at whose barrier `op` arrives; `None` for its own.
pub fn block_of(func: &Func, op: Op) -> Option<Value> {
    if func.opcode(op) == ARRIVE { func.operands(op).get(1).copied() } else { None }
}

pub(super) fn arrive(func: &Func, op: Op, found: &mut Diagnostics) {
    check_place(func, op, found);
    let Some(block) = block_of(func, op) else { return };
    if func.value_scalar(block).is_none_or(|scalar| !scalar.elem.is_int() || scalar.lanes != 1) {
        let text = format!("a block of the cluster is a number, not `{}`", func.show_type(func.value_type(block)));
        found.push(error(func, op, "type", text));
    } else if let Some(number) = func.const_int(block).filter(|number| !(0..MAX_CLUSTER).contains(number)) {
        let text = format!("a cluster has blocks 0 to {}, and not {number}", MAX_CLUSTER - 1);
        found.push(error(func, op, "cluster", text));
    }
}

fn check_count(func: &Func, op: Op, key: Name, least: i64, what: &str, found: &mut Diagnostics) {
    let count = func.int_of(op, key);
    if !count.is_some_and(|count| (least..=MAX_COUNT).contains(&count)) {
        let have = count.map_or("no integer".to_string(), |count| count.to_string());
        let text = format!("{what} is {least} to {MAX_COUNT}, not {have}");
        found.push(error(func, op, "count", text));
    }
}

pub(super) fn init(func: &Func, op: Op, found: &mut Diagnostics) {
    check_place(func, op, found);
    check_count(func, op, keys::COUNT, 1, "the number of arrivals of a phase", found);
}

pub(super) fn arrive_expect_tx(func: &Func, op: Op, found: &mut Diagnostics) {
    check_place(func, op, found);
    check_count(func, op, keys::BYTES, 0, "the number of bytes of a phase", found);
}

pub(super) fn wait(func: &Func, op: Op, found: &mut Diagnostics) {
    check_place(func, op, found);
    let parity = func.operand(op, 1);
    if func.value_scalar(parity).is_none_or(|scalar| !scalar.elem.is_int() || scalar.lanes != 1) {
        let text = format!("a parity is an integer, not `{}`", func.show_type(func.value_type(parity)));
        found.push(error(func, op, "type", text));
    } else if let Some(number) = func.const_int(parity).filter(|number| !(0..=1).contains(number)) {
        let text = format!("a parity is 0 or 1, not {number}");
        found.push(error(func, op, "parity", text).help("take the phase modulo 2"));
    }
}
