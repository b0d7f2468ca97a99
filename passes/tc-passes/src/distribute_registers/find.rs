//! The buffers in the storage scope `registers`, and what is done with them.

use super::Obstacle;
use crate::analysis::launch::{LaunchNests, Nest, nest_of};
use tc_dialects::scope::Scope;
use tc_dialects::tir::{self, Coordinate};
use tc_ir::walk::all_ops;
use tc_ir::{Func, Op, Value, keys};

/// A buffer that a block holds together.
pub(super) struct Buffer {
    pub(super) alloc: Op,
    pub(super) value: Value,
    pub(super) extents: Vec<i64>,
    /// Bytes of an element.
    pub(super) bytes: i64,
    /// Lanes of a warp can exchange its elements.
    pub(super) is_exchanged: bool,
    /// Loads and stores of its elements, in the order of the text.
    pub(super) accesses: Vec<Op>,
    /// The extents of the block.
    pub(super) threads: [i64; 3],
}

impl Buffer {
    /// How many elements it has.
    pub(super) fn n_elements(&self) -> i64 {
        self.extents.iter().product()
    }
}

/// The allocs of buffers in registers, in the order of the text.
pub(super) fn allocs(func: &Func) -> Vec<Op> {
    let is_it = |&op: &Op| {
        func.opcode(op) == tir::ALLOC
            && func.result(op).is_some_and(|buffer| Scope::of(func, buffer) == Some(Scope::Registers))
    };
    all_ops(func).filter(is_it).collect()
}

/// The buffer of `alloc`, if its elements alone are accessed.
pub(super) fn buffer(func: &Func, nests: &LaunchNests, alloc: Op) -> Result<Buffer, Obstacle> {
    let refuse = |op: Op, text: &str| Err(Obstacle { op, text: text.to_string() });
    let shaped = func.result(alloc).and_then(|value| Some((value, func.as_shaped(func.value_type(value))?)));
    let Some((value, (elem, shape, _))) = shaped else { return refuse(alloc, "it is no buffer") };
    let Some(scalar) = func.as_scalar(elem).filter(|scalar| scalar.lanes == 1) else {
        return refuse(alloc, "its elements are vectors");
    };
    let extents: Option<Vec<i64>> = shape.iter().map(|&dim| func.as_int(dim)).collect();
    let Some(extents) = extents else { return refuse(alloc, "its size is not constant") };
    if extents.contains(&0) {
        return refuse(alloc, "it has no elements");
    }
    if func.int_of(alloc, keys::STAGES).is_some_and(|stages| stages > 1) {
        return refuse(alloc, "it is kept for several iterations");
    }
    let Some(nest) = nest_of(func, alloc).and_then(|op| nests.iter().find(|nest| nest.op == op)) else {
        return refuse(alloc, "it is made outside of a launch");
    };
    let Some(threads) = extents_of_block(nest) else {
        return refuse(alloc, "the extents of the block are not constant");
    };
    let mut accesses = Vec::new();
    for op in all_ops(func) {
        match func.opcode(op) {
            _ if !func.operands(op).contains(&value) => {}
            tir::LOAD | tir::STORE if func.operands(op)[0] == value => accesses.push(op),
            _ => return refuse(op, "its address is taken"),
        }
    }
    // Of the floats of 8 bits there is no shuffle.
    let is_exchanged = !(scalar.elem.is_float() && scalar.bytes() == 1);
    Ok(Buffer { alloc, value, extents, bytes: i64::from(scalar.bytes()), is_exchanged, accesses, threads })
}

fn extents_of_block(nest: &Nest) -> Option<[i64; 3]> {
    let mut extents = [1; 3];
    for coordinate in Coordinate::ALL.into_iter().filter(|coordinate| coordinate.is_thread()) {
        extents[coordinate.dim()] = nest.extent(coordinate)?;
    }
    Some(extents)
}
