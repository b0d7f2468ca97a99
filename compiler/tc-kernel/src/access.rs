//! How a load or store touches memory.

use tc_dialects::{arith, tir};
use tc_ir::{Func, Op, Scalar, Type, TypeData, Value, keys};

/// Takes numbers that are added out of `indices`, whose sum is a position, and gives their sum: 16 of `i + 16`. Places that
/// differ by such a number alone are told by the same indices. `number` gives that of a literal, and `is_known` tells which
/// values the text can name.
pub fn numbers_apart(
    func: &Func,
    indices: &mut Vec<Value>,
    is_known: impl Fn(Value) -> bool,
    number: impl Fn(Value) -> Option<i64>,
) -> i64 {
    let added = |index: Value| {
        let op = func.def_op(index).filter(|&op| func.opcode(op) == arith::ADD)?;
        let &[left, right] = func.operands(op) else { return None };
        let [number, base] = if func.const_int(left).is_some() { [left, right] } else { [right, left] };
        let number = func.const_int(number)?;
        (number >= 0 && is_known(base)).then_some((base, number))
    };
    let mut ahead = 0;
    for index in indices.iter_mut() {
        while let Some((base, number)) = added(*index) {
            ahead += number;
            *index = base;
        }
    }
    indices.retain(|&index| number(index).map(|number| ahead += number).is_none());
    ahead
}

/// The form of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// One element, which may be a vector.
    Element,
    /// Neighbours, from `base` on, in accesses of `lanes` each.
    Pieces {
        /// The first index.
        base: Value,
        /// The lanes of a piece; at least 2.
        lanes: u16,
        /// Is there just one piece?
        whole: bool,
    },
    /// One element a lane.
    Lanes,
}

impl Form {
    /// Is it one access?
    pub fn is_whole(self) -> bool {
        match self {
            Form::Element => true,
            Form::Pieces { whole, .. } => whole,
            Form::Lanes => false,
        }
    }
}

/// The index of the load or store `op`.
pub fn index(func: &Func, op: Op) -> Option<Value> {
    func.operands(op).get(1).copied()
}

/// The type of an element of the buffer that `ty` is.
pub fn element(func: &Func, ty: Type) -> Option<Scalar> {
    match func.type_data(ty) {
        TypeData::Shaped { elem, .. } => func.as_scalar(*elem),
        _ => None,
    }
}

/// The form of the load or store `op`. Neighbours are touched together as far as their alignment is declared.
pub fn form(func: &Func, op: Op) -> Form {
    debug_assert!(matches!(func.opcode(op), tir::LOAD | tir::STORE));
    let Some(index) = index(func, op) else { return Form::Element };
    let lanes = func.value_scalar(index).map_or(1, |scalar| scalar.lanes);
    if lanes == 1 {
        return Form::Element;
    }
    let Some(elem) = element(func, func.value_type(func.operand(op, 0))) else { return Form::Lanes };
    let Some(base) = neighbours(func, index) else { return Form::Lanes };
    let declared = func.int_of(op, keys::ALIGNED).and_then(|bytes| u32::try_from(bytes).ok()).unwrap_or(0);
    // A multiple of 24 is one of 8.
    let aligned = declared & declared.wrapping_neg();
    let all = Scalar { elem: elem.elem, lanes };
    if aligned >= alignment(all) && alignment(all) > elem.elem.bytes() {
        return Form::Pieces { base, lanes, whole: true };
    }
    let piece = aligned.min(alignment(all));
    if piece <= elem.elem.bytes() {
        return Form::Lanes;
    }
    // A power of two that divides the bytes of all lanes.
    Form::Pieces { base, lanes: (piece / elem.elem.bytes()) as u16, whole: false }
}

/// Where the vector `index` starts, if it counts up by one.
fn neighbours(func: &Func, index: Value) -> Option<Value> {
    let op = func.def_op(index).filter(|&op| func.opcode(op) == arith::RAMP)?;
    (func.const_int(func.operand(op, 1)) == Some(1)).then(|| func.operand(op, 0))
}

/// The alignment of `scalar` in memory: that of one access, at most 16 bytes.
pub fn alignment(scalar: Scalar) -> u32 {
    let bytes = scalar.bytes().max(1);
    (bytes & bytes.wrapping_neg()).min(16)
}
