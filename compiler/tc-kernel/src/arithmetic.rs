//! Tables of arithmetic: how an emitter writes an op, by the type of its first operand.

use tc_ir::types::ElemKind;
use tc_ir::{Elem, Func, Op, Opcode, Scalar};

/// A row: an op, and how it is written on numbers of each kind.
pub struct Row<S> {
    opcode: Opcode,
    truths: S,
    ints: S,
    halves: S,
    floats: S,
    others: S,
}

impl<S: Copy> Row<S> {
    /// An op on truth values, integers, f16 and bf16, f32 and f64; and on 8-bit floats and tf32.
    pub const fn new(opcode: Opcode, [truths, ints, halves, floats]: [S; 4], others: S) -> Row<S> {
        Row { opcode, truths, ints, halves, floats, others }
    }

    /// The op.
    pub fn opcode(&self) -> Opcode {
        self.opcode
    }

    /// How it is written on numbers of type `elem`.
    pub fn of(&self, elem: Elem) -> S {
        match elem.kind() {
            ElemKind::Bool => self.truths,
            ElemKind::Signed | ElemKind::Unsigned => self.ints,
            ElemKind::Float if elem.is_half() => self.halves,
            ElemKind::Float if elem.is_for_products() => self.others,
            ElemKind::Float => self.floats,
        }
    }
}

/// How `table` writes `opcode` on numbers of type `elem`.
pub fn spelling<S: Copy>(table: &[Row<S>], opcode: Opcode, elem: Elem) -> Option<S> {
    table.iter().find(|row| row.opcode == opcode).map(|row| row.of(elem))
}

/// The type by which `op` is looked up: that of its first operand, or of a literal.
pub fn type_of(func: &Func, op: Op) -> Option<Scalar> {
    func.value_scalar(func.operands(op).first().copied().or_else(|| func.result(op))?)
}
