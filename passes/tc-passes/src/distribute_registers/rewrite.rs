//! Carries the decision out.

use super::accesses::Place;
use super::digits::Digits;
use super::find::Buffer;
use crate::analysis::exchange::{WARP, shuffle};
use crate::analysis::tiles::erase_unused;
use tc_dialects::algebra::{Algebra, build_index};
use tc_dialects::distribution::KEY;
use tc_dialects::scope::Scope;
use tc_ir::{Builder, Func, Op, Rewriter, TypeData, Value, keys};

/// Gives each thread its part.
pub(super) fn in_registers(func: &mut Func, algebra: &Algebra, buffer: &Buffer, digits: &Digits, places: &[Place]) {
    let mut old = Vec::new();
    for place in places {
        let operands = func.operands(place.op).to_vec();
        old.extend_from_slice(&operands[1..=buffer.extents.len()]);
        let mut b = Builder::before(func, place.op);
        let register = build_index(&mut b, algebra, place.register);
        let lane = place.lane.map(|lane| build_index(&mut b, algebra, lane));
        let mut new = vec![operands[0], register];
        new.extend_from_slice(&operands[1 + buffer.extents.len()..]);
        Rewriter::new(func).set_operands(place.op, &new);
        if let (Some(lane), Some(loaded)) = (lane, func.result(place.op)) {
            take_from_lane(func, place.op, loaded, lane);
        }
    }
    erase_unused(func, old);
    let distribution = digits.distribution(buffer.threads);
    let attr = distribution.attr(func);
    retype(func, buffer.alloc, Scope::Local, Some(distribution.n_registers()));
    let align = func.int_of(buffer.alloc, keys::ALIGN).unwrap_or(0).max(16);
    let align = func.int_attr(align);
    let key = func.name(KEY);
    let mut rw = Rewriter::new(func);
    rw.set_attr(buffer.alloc, keys::ALIGN, align);
    rw.set_attr(buffer.alloc, key, attr);
}

/// Lets `lane` hand over what `load` has loaded there.
fn take_from_lane(func: &mut Func, load: Op, loaded: Value, lane: Value) {
    let other = shuffle(&mut Builder::after(func, load), loaded, lane, "idx", WARP);
    Rewriter::new(func).replace_value(loaded, other);
    if let Some(exchange) = func.def_op(other) {
        Rewriter::new(func).set_operand(exchange, 0, loaded);
    }
    func.set_value_name(loaded, None);
}

/// Lets the buffer lie in shared memory.
pub(super) fn in_shared_memory(func: &mut Func, alloc: Op) {
    retype(func, alloc, Scope::Shared, None);
}

/// Gives the buffer of `alloc` a scope, and, where its registers are counted, one dimension.
fn retype(func: &mut Func, alloc: Op, scope: Scope, registers: Option<i64>) {
    let Some(value) = func.result(alloc) else { return };
    let Some((elem, shape, _)) = func.as_shaped(func.value_type(value)) else { return };
    let shape = match registers {
        Some(n) => [func.int_attr(n)].into(),
        None => shape.into(),
    };
    let scope = Some(scope.name_in(func));
    let ty = func.ty(TypeData::Shaped { elem, shape, scope });
    let mut attrs = func.op_attrs(alloc);
    if registers.is_some() {
        for key in [keys::STRIDES, keys::OFFSET_FACTOR, keys::SWIZZLE, keys::STAGES] {
            attrs = func.without_entry(attrs, key);
        }
    }
    let mut rw = Rewriter::new(func);
    rw.set_type(value, ty);
    rw.set_attrs(alloc, attrs);
}
