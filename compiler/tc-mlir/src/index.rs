//! Indices: integers that addresses are computed with, in 64 bits.
//!
//! A loop counts in 64 bits, and what follows from its variable by sums and products is made in 64 bits too where an address
//! needs it; what is loop-invariant is made in its own type, and widened once. Addresses that go from iteration to iteration by
//! a constant are then seen to do so: LLVM does not widen a narrow counter for NVPTX, and a test of the low half of one makes
//! `ptxas`, which unrolls loops whose trips it can count, leave the loop as it is.

use crate::kernel::Kernel;
use crate::{arith, types};
use std::rc::Rc;
use tc_dialects::tir::LoopKind;
use tc_dialects::{arith as ops, tir};
use tc_ir::{Elem, Func, Op, Value};
use tc_kernel::sizes;

/// The value is needed as what it is.
const NUMBER: u8 = 1;
/// An address needs the value.
const INDEX: u8 = 2;

/// How the values of a kernel that loops step are needed.
pub(crate) struct SteppedValues {
    /// A sequential loop steps the value, and sums and products of such.
    stepped: Vec<bool>,
    needed: Vec<u8>,
}

impl SteppedValues {
    /// `ops` are all ops of `func`, in order; those that `is_written` are written.
    pub(crate) fn of(func: &Func, ops: &[Op], is_written: impl Fn(Op) -> bool) -> SteppedValues {
        let mut steps = SteppedValues { stepped: vec![false; func.n_value_ids()], needed: vec![0; func.n_value_ids()] };
        // A definition stands before its uses, and backwards after them.
        for &op in ops {
            let (value, is_stepped) = match func.opcode(op) {
                tir::FOR => (loop_var(func, op), counts_wide(func, op)),
                _ => (func.result(op), steps.adds_steps(func, op)),
            };
            if let Some(value) = value {
                steps.stepped[value.as_u32() as usize] = is_stepped;
            }
        }
        for &op in ops.iter().rev().filter(|&&op| is_written(op) || func.row(op).terminator) {
            let result = func.result(op).filter(|&value| steps.is_stepped(value));
            for (nth, &operand) in func.operands(op).iter().enumerate() {
                let needed = match func.opcode(op) {
                    ops::ADD | ops::SUB | ops::MUL => result.map_or(NUMBER, |value| steps.needed(value)),
                    tir::LOAD | tir::STORE if nth == 1 => INDEX,
                    tir::FOR if nth < 2 && counts_wide(func, op) => INDEX,
                    tir::LOAD | tir::STORE | tir::FOR | tir::IF | tir::YIELD => NUMBER,
                    opcode if opcode.dialect() == ops::ADD.dialect() && opcode != ops::RAMP => NUMBER,
                    // A ramp may be either, and so may what an instruction takes.
                    _ => NUMBER | INDEX,
                };
                steps.needed[operand.as_u32() as usize] |= needed;
            }
        }
        steps
    }

    fn is_stepped(&self, value: Value) -> bool {
        self.stepped[value.as_u32() as usize]
    }

    fn needed(&self, value: Value) -> u8 {
        self.needed[value.as_u32() as usize]
    }

    /// Is `op` a sum or product of what loops step, which may be made in 64 bits as well as in its own type?
    fn adds_steps(&self, func: &Func, op: Op) -> bool {
        let may = matches!(func.opcode(op), ops::ADD | ops::SUB | ops::MUL)
            && func.result(op).and_then(|value| func.value_scalar(value)).is_some_and(|scalar| {
                // Those must not overflow, so that it is all the same in how many bits they are made.
                scalar.lanes == 1 && matches!(scalar.elem, Elem::I32 | Elem::I64)
            });
        may && func.operands(op).iter().any(|&operand| self.is_stepped(operand))
    }
}

/// The variable of the loop `op`.
fn loop_var(func: &Func, op: Op) -> Option<Value> {
    func.op_regions(op).first().and_then(|&body| func.region_args(body).first().copied())
}

/// Does the loop `op` count in 64 bits? Launches do not count.
pub(crate) fn counts_wide(func: &Func, op: Op) -> bool {
    let elem = loop_var(func, op).and_then(|var| func.value_scalar(var)).map(|scalar| scalar.elem);
    let is_launch = matches!(tir::loop_kind(func, op), Some(LoopKind::Launch(_)));
    !is_launch && elem.is_some_and(|elem| !matches!(elem, Elem::U64 | Elem::Index | Elem::Bool))
}

impl Kernel<'_> {
    /// Is `value` needed as what it is, and not by addresses only?
    pub(crate) fn is_number(&self, value: Value) -> bool {
        !self.steps.is_stepped(value) || self.steps.needed(value) & NUMBER != 0
    }

    /// Writes the sum or product `op` for addresses, if any needs it.
    pub(crate) fn stepped(&mut self, op: Op) {
        let func = self.func;
        let Some(value) = func.result(op) else { return };
        if !self.steps.is_stepped(value) || self.steps.needed(value) & INDEX == 0 {
            return;
        }
        let (lhs, rhs) = (self.index(func.operand(op, 0)), self.index(func.operand(op, 1)));
        let name = match func.opcode(op) {
            ops::ADD => "addi",
            ops::SUB => "subi",
            _ => "muli",
        };
        let text = format!("arith.{name} {lhs}, {rhs} overflow<nsw> : index");
        let index = if self.is_number(value) {
            self.temp(text)
        } else {
            let name = self.declare_or_number_index(value);
            self.line(format!("{name} = {text}"));
            name
        };
        self.set_index(value, index);
    }

    /// A name for `value` as an index, which is all that it is: its author's, or a numbered one.
    pub(crate) fn declare_or_number_index(&mut self, value: Value) -> Rc<str> {
        match self.func.value_name(value) {
            Some(_) => format!("%{}", self.names.declare(self.func.value_text(value), "i")).into(),
            None => self.temporary(),
        }
    }

    /// The integer `value` as an `index`, which addresses are computed with.
    pub(crate) fn index(&mut self, value: Value) -> Rc<str> {
        let func = self.func;
        if let Some(int) = func.const_int(value).filter(|_| func.value_name(value).is_none()) {
            return self.int(int.into(), "index");
        }
        if let Some(known) = &self.indices[value.as_u32() as usize] {
            return known.clone();
        }
        let elem = match func.value_scalar(value).map_or(Elem::I32, |scalar| scalar.elem) {
            Elem::Index => sizes::elem(func, value),
            elem => elem,
        };
        let name = self.value(value);
        let index = self.index_of(&name, elem);
        self.set_index(value, index.clone());
        index
    }

    /// `number`, of type `elem`, as an `index`.
    pub(crate) fn index_of(&mut self, number: &str, elem: Elem) -> Rc<str> {
        let cast = if arith::is_unsigned(elem) { "index_castui" } else { "index_cast" };
        self.temp(format!("arith.{cast} {number} : {} to index", types::number(elem)))
    }

    /// In this region, `index` is `value` as an `index`.
    pub(crate) fn set_index(&mut self, value: Value, index: Rc<str>) {
        self.indices[value.as_u32() as usize] = Some(index);
        self.note(value);
    }
}
