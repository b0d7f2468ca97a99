//! Addresses: what instructions take, which are elements of buffers in a program; and copies that run ahead.

use super::state::{Known, Reader, attribute, integer};
use melior::ir::OperationRef;
use melior::ir::operation::OperationLike;
use tc_dialects::{arith as ops, gpu, tir};
use tc_ir::builder::OperandSegment;
use tc_ir::{AttrData, Elem, Value};

impl Reader<'_> {
    /// An op of addresses, if `name` is one.
    pub(crate) fn address(&mut self, op: OperationRef<'_, '_>, name: &str) -> bool {
        match name {
            "builtin.unrealized_conversion_cast" => self.descriptor(op),
            "llvm.extractvalue" => self.field(op),
            "llvm.getelementptr" => self.element(op),
            "nvvm.cp.async.shared.global" => self.copy(op),
            _ => return false,
        }
        true
    }

    /// A buffer as LLVM has it.
    fn descriptor(&mut self, op: OperationRef<'_, '_>) {
        let known = match self.operand(op, 0) {
            Known::Buffer(buffer) => Known::Descriptor(buffer),
            Known::Missing => Known::Missing,
            _ => {
                self.refuse(
                    op,
                    "this conversion has no counterpart",
                    "only buffers are converted, to take their addresses",
                );
                Known::Missing
            }
        };
        self.give(op, known);
    }

    fn field(&mut self, op: OperationRef<'_, '_>) {
        let nth = position(op);
        let known = match (self.operand(op, 0), nth) {
            // The address that is aligned; offsets are 0.
            (Known::Descriptor(buffer), Some(1)) => Known::Descriptor(buffer),
            (Known::Registers(made), Some(nth)) => Known::Register(made, nth),
            (Known::Missing, _) => Known::Missing,
            _ => {
                self.refuse(
                    op,
                    "this field has no counterpart",
                    "take the address of a buffer, or the result of an instruction",
                );
                Known::Missing
            }
        };
        self.give(op, known);
    }

    fn element(&mut self, op: OperationRef<'_, '_>) {
        let known = match self.operand(op, 0) {
            Known::Descriptor(buffer) if op.operand_count() == 2 && self.counts_elements(op, buffer) => {
                match self.number(op, 1) {
                    Some(index) => Known::Pointer(buffer, self.narrow(index)),
                    None => Known::Missing,
                }
            }
            Known::Missing => Known::Missing,
            _ => {
                self.refuse(op, "this address has no counterpart", "take one index into a buffer");
                Known::Missing
            }
        };
        self.give(op, known);
    }

    /// Does the address `op` go by elements of `buffer`?
    fn counts_elements(&self, op: OperationRef<'_, '_>, buffer: Value) -> bool {
        let elem = self.func.as_shaped(self.func.value_type(buffer)).and_then(|(elem, ..)| self.func.as_scalar(elem));
        let by = attribute(op, "elem_type").and_then(|ty| super::types::elem(&ty));
        elem.zip(by).is_some_and(|(elem, by)| elem.lanes == 1 && elem.elem.bytes() == by.bytes())
    }

    /// The index that was widened for an address.
    fn narrow(&self, index: Value) -> Value {
        match self.func.def_op(index) {
            Some(made) if self.func.opcode(made) == ops::CAST => {
                let from = self.func.operand(made, 0);
                let is_number = self.scalar(from).elem == Elem::Index;
                if is_number { from } else { index }
            }
            _ => index,
        }
    }

    /// The place that operand `nth` points to.
    pub(crate) fn pointed(&mut self, op: OperationRef<'_, '_>, nth: usize) -> Option<(Value, Value)> {
        match self.operand(op, nth) {
            Known::Pointer(buffer, index) => Some((buffer, index)),
            Known::Descriptor(buffer) => {
                let zero = self.builder(op).index(0);
                Some((buffer, zero))
            }
            Known::Missing => None,
            _ => {
                self.refuse(
                    op,
                    "an address has no counterpart that is not of a buffer",
                    "take the address of an element of a buffer",
                );
                None
            }
        }
    }

    /// `n` elements of `buffer` from `index` on, as instructions take them.
    pub(crate) fn place(&mut self, op: OperationRef<'_, '_>, buffer: Value, index: Value, n: i64) -> Option<Value> {
        if n == 1 {
            return self.infer(op, tir::REF, &[buffer, index], &[]);
        }
        let n = self.func.int_attr(n);
        let (key, list) = (self.func.name("lengths"), self.func.attr(AttrData::List([n].into())));
        self.infer(op, tir::REGION, &[buffer, index], &[(key, list)])
    }

    /// Bytes of an element of `buffer`.
    pub(crate) fn element_bytes(&self, buffer: Value) -> Option<i64> {
        let (elem, ..) = self.func.as_shaped(self.func.value_type(buffer))?;
        self.func.as_scalar(elem).filter(|elem| elem.lanes == 1).map(|elem| elem.bytes().into())
    }

    /// A copy from global to shared memory. One of a size that a condition chooses is made where that holds.
    fn copy(&mut self, op: OperationRef<'_, '_>) {
        let bytes = integer(op, "size").unwrap_or(0);
        let (to, from) = (self.pointed(op, 0), self.pointed(op, 1));
        let (Some((to, at)), Some((from, of))) = (to, from) else { return self.lost(op) };
        let n = self.element_bytes(to).and_then(|size| bytes.checked_div(size)).filter(|&n| n > 0);
        let Some(n) = n else {
            return self.refuse(op, "a copy of such elements has no counterpart", "copy 4, 8 or 16 bytes of numbers");
        };
        let when = if op.operand_count() > 2 { self.number(op, 2).map(|size| self.chosen(size, bytes)) } else { None };
        if when == Some(None) {
            let help = "choose by `arith.select` between all bytes and none";
            return self.refuse(op, "a copy of some of its bytes has no counterpart", help);
        }
        let (Some(to), Some(from)) = (self.place(op, to, at, n), self.place(op, from, of, n)) else {
            return self.lost(op);
        };
        let when = when.flatten();
        let when = when.as_ref().map_or(OperandSegment::Many(&[]), |&when| OperandSegment::One(when));
        let parts = [OperandSegment::One(to), OperandSegment::One(from), when];
        self.builder(op).build_segments(gpu::COPY_ASYNC, &parts, &[], &[]);
        self.n_effects += 1;
    }

    /// The condition under which `size` is `bytes`, and else 0.
    fn chosen(&self, size: Value, bytes: i64) -> Option<Value> {
        let made = self.func.def_op(size).filter(|&made| self.func.opcode(made) == ops::SELECT)?;
        let literal = |nth| self.func.const_int(self.func.operand(made, nth));
        (literal(1) == Some(bytes) && literal(2) == Some(0)).then(|| self.func.operand(made, 0))
    }
}

/// The position of a field.
fn position(op: OperationRef<'_, '_>) -> Option<usize> {
    let text = attribute(op, "position")?;
    text.split_once(": ")?.1.trim_end_matches('>').parse().ok()
}
