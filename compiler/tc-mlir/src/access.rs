//! Loads and stores.
//!
//! Neighbours are touched together as far as their alignment is declared, as the emitter of CUDA does it; other vectors
//! lane by lane, all lanes being read before the first is written.

use crate::arith::{self, Made};
use crate::constants;
use crate::kernel::Kernel;
use crate::memory::Memory;
use crate::types;
use std::rc::Rc;
use tc_dialects::update::UpdateKind;
use tc_ir::{Elem, Op, Scalar, Value};
use tc_kernel::access::{self, Form, alignment};

/// The result of the load `op`.
pub(crate) fn load(k: &mut Kernel<'_>, op: Op) -> Made {
    let func = k.func;
    let memory = k.memory(func.operand(op, 0));
    let scalar = func.result(op).and_then(|value| func.value_scalar(value));
    let (Some(index), Some(scalar)) = (access::index(func, op), scalar) else {
        return Made::Is(k.stray("a load without an index"));
    };
    match access::form(func, op) {
        Form::Element => {
            let index = k.index(index);
            let index = k.number_of(index, memory.elem);
            read(k, &memory, &index, scalar)
        }
        Form::Pieces { base, whole: true, .. } => {
            let index = k.index(base);
            read(k, &memory, &index, scalar)
        }
        Form::Pieces { base, lanes, .. } => {
            let piece = Scalar { elem: scalar.elem, lanes };
            let mut all = Vec::new();
            for first in (0..scalar.lanes).step_by(lanes.into()) {
                let index = further(k, base, first);
                let made = read(k, &memory, &index, piece);
                let part = k.made(made);
                all.extend((0..usize::from(lanes)).map(|lane| k.extract(&part, piece, lane)).collect::<Vec<_>>());
            }
            Made::Is(k.vector_of(scalar, &all))
        }
        Form::Lanes => {
            let all: Vec<Rc<str>> = (0..usize::from(scalar.lanes))
                .map(|lane| {
                    let index = lane_index(k, index, lane);
                    let made = read(k, &memory, &index, Scalar::of(scalar.elem));
                    k.made(made)
                })
                .collect();
            Made::Is(k.vector_of(scalar, &all))
        }
    }
}

/// Writes the atomic update `op`.
pub(crate) fn update(k: &mut Kernel<'_>, op: Op) {
    let func = k.func;
    let (&[place, value], Some(kind)) = (func.operands(op), UpdateKind::of(func, op)) else {
        k.stray("an update without a kind");
        return;
    };
    let Some(elem) = func.value_scalar(value).map(|scalar| scalar.elem) else {
        k.stray("an update by something that is no number");
        return;
    };
    let kind = match (kind, elem.is_float(), arith::is_unsigned(elem)) {
        (UpdateKind::Add, true, _) => "addf",
        (UpdateKind::Add, false, _) => "addi",
        (UpdateKind::Min, _, false) => "mins",
        (UpdateKind::Min, _, true) => "minu",
        (UpdateKind::Max, _, false) => "maxs",
        (UpdateKind::Max, _, true) => "maxu",
        (UpdateKind::And, ..) => "andi",
        (UpdateKind::Or, ..) => "ori",
        (UpdateKind::Xor, ..) => "xori",
    };
    let (memory, index) = k.position(place);
    let value = k.value(value);
    let Memory { name, ty, .. } = &*memory;
    let number = memory.number();
    k.temp(format!("memref.atomic_rmw {kind} {value}, {name}[{index}] : ({number}, {ty}) -> {number}"));
}

/// Writes the store `op`.
pub(crate) fn store(k: &mut Kernel<'_>, op: Op) {
    let func = k.func;
    let memory = k.memory(func.operand(op, 0));
    let (Some(index), Some(&value)) = (access::index(func, op), func.operands(op).last()) else {
        k.stray("a store without an index");
        return;
    };
    let Some(scalar) = func.value_scalar(value) else {
        k.stray("a store of something that is no number");
        return;
    };
    match access::form(func, op) {
        Form::Element => {
            let index = k.index(index);
            let index = k.number_of(index, memory.elem);
            let value = k.value(value);
            write(k, &memory, &index, scalar, value);
        }
        Form::Pieces { base, whole: true, lanes } => {
            let index = k.index(base);
            let vector = k.value(value);
            // One number may stand for all lanes.
            let all = Scalar { elem: scalar.elem, lanes };
            let vector = if scalar.lanes == 1 { k.broadcast(&vector, all) } else { vector };
            write(k, &memory, &index, all, vector);
        }
        Form::Pieces { base, lanes, .. } => {
            let piece = Scalar { elem: scalar.elem, lanes };
            for first in (0..lanes_of(k, index)).step_by(lanes.into()) {
                let parts: Vec<Rc<str>> = (first..first + lanes).map(|lane| k.lane(value, usize::from(lane))).collect();
                let part = k.vector_of(piece, &parts);
                let index = further(k, base, first);
                write(k, &memory, &index, piece, part);
            }
        }
        Form::Lanes => {
            for lane in 0..usize::from(lanes_of(k, index)) {
                let number = k.lane(value, lane);
                let index = lane_index(k, index, lane);
                write(k, &memory, &index, Scalar::of(scalar.elem), number);
            }
        }
    }
}

fn lanes_of(k: &Kernel<'_>, index: Value) -> u16 {
    k.func.value_scalar(index).map_or(1, |scalar| scalar.lanes)
}

/// Do sums of the integers `elem` wrap, so that they have to be made in that type?
fn wraps(elem: Elem) -> bool {
    !matches!(elem, Elem::I32 | Elem::I64 | Elem::Index)
}

/// `base + by` as an index.
fn further(k: &mut Kernel<'_>, base: Value, by: u16) -> Rc<str> {
    let elem = k.func.value_scalar(base).map_or(Elem::I32, |scalar| scalar.elem);
    if by > 0 && wraps(elem) {
        let ty = types::number(elem);
        let (start, by) = (k.value(base), k.int(constants::signless(by.into(), elem), ty));
        let sum = k.temp(format!("arith.addi {start}, {by} : {ty}"));
        return k.index_of(&sum, elem);
    }
    if let Some(base) = k.func.const_int(base) {
        return k.int(i128::from(base) + i128::from(by), "index");
    }
    let base = k.index(base);
    if by == 0 {
        return base;
    }
    let by = k.int(by.into(), "index");
    k.temp(format!("arith.addi {base}, {by} overflow<nsw> : index"))
}

/// Lane `lane` of the vector `value` as an index.
fn lane_index(k: &mut Kernel<'_>, value: Value, lane: usize) -> Rc<str> {
    let func = k.func;
    let elem = func.value_scalar(value).map_or(Elem::I32, |scalar| scalar.elem);
    if !wraps(elem)
        && let Some(op) = func.def_op(value).filter(|&op| func.opcode(op) == tc_dialects::arith::RAMP)
        && let Some(stride) = func.const_int(func.operand(op, 1))
    {
        let by = i128::from(stride) * lane as i128;
        let base = func.operand(op, 0);
        if let Some(base) = func.const_int(base) {
            return k.int(i128::from(base) + by, "index");
        }
        let base = k.index(base);
        if by == 0 {
            return base;
        }
        let by = k.int(by, "index");
        return k.temp(format!("arith.addi {base}, {by} overflow<nsw> : index"));
    }
    let number = k.lane(value, lane);
    k.index_of(&number, elem)
}

/// Reads `scalar` from the number `index` of `memory` on.
fn read(k: &mut Kernel<'_>, memory: &Memory, index: &str, scalar: Scalar) -> Made {
    let Memory { name, ty, .. } = memory;
    let stored = types::lanes_of(types::stored(scalar.elem), scalar.lanes);
    let text = if scalar.lanes == 1 {
        format!("memref.load {name}[{index}] : {ty}")
    } else {
        let align = alignment(scalar);
        format!("vector.load {name}[{index}] {{alignment = {align} : i64}} : {ty}, {stored}")
    };
    if scalar.elem != Elem::Bool {
        return Made::Op(text);
    }
    let byte = k.temp(text);
    Made::Op(format!("arith.trunci {byte} : {stored} to {}", types::value(scalar)))
}

/// Writes `value` from the number `index` of `memory` on.
fn write(k: &mut Kernel<'_>, memory: &Memory, index: &str, scalar: Scalar, value: Rc<str>) {
    let Memory { name, ty, .. } = memory;
    let stored = types::lanes_of(types::stored(scalar.elem), scalar.lanes);
    let value = match scalar.elem {
        Elem::Bool => k.temp(format!("arith.extui {value} : {} to {stored}", types::value(scalar))),
        _ => value,
    };
    if scalar.lanes == 1 {
        k.line(format!("memref.store {value}, {name}[{index}] : {ty}"));
    } else {
        let align = alignment(scalar);
        k.line(format!("vector.store {value}, {name}[{index}] {{alignment = {align} : i64}} : {ty}, {stored}"));
    }
}
