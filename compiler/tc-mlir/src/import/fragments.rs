//! Products of tiles: `nvvm.mma.sync` and `nvvm.ldmatrix`, whose registers are stretches of a thread's own buffers in a
//! program.
//!
//! What an instruction takes is read from such a stretch, and what it gives goes to one: the loads before it and the stores
//! after it are part of the op that it becomes.

use super::state::{Known, Reader, attribute, integer};
use crate::types;
use melior::ir::OperationRef;
use tc_dialects::fragment::mma_k;
use tc_dialects::{arith as ops, mma, tir};
use tc_ir::{AttrData, Elem, Op, Value, keys};

/// A position: what varies, and a number beside it.
type Position = (Option<Value>, i64);

/// An instruction that was read, whose results are on their way to memory.
#[derive(Clone, Debug)]
pub(crate) enum Instruction {
    /// A product: where its sums lie, and how many numbers a register has.
    Product { buffer: Value, start: Position, n: i64 },
    /// A load of matrices from a row, which is made once it is known where it goes.
    Load { row: (Value, Value), n_matrices: i64, is_transposed: bool, n_effects: u64, to: Option<(Value, Position)> },
}

/// A stretch of a buffer that registers are read from.
struct Stretch {
    buffer: Value,
    first: Value,
    start: Position,
    elem: Elem,
    /// Numbers to a register.
    n: i64,
}

impl Reader<'_> {
    /// An instruction of tensor cores, if `name` is one.
    pub(crate) fn matrix(&mut self, op: OperationRef<'_, '_>, name: &str) -> bool {
        if !self.is_ours && matches!(name, "nvvm.mma.sync" | "nvvm.ldmatrix") {
            let help = "write an operator with a schedule, which `tensorize` makes products of tiles of";
            self.refuse(op, format!("`{name}` is read in kernels that tc wrote only"), help);
            self.give(op, Known::Missing);
            return true;
        }
        match name {
            "nvvm.mma.sync" => {
                let known = self.product(op).map_or(Known::Missing, Known::Registers);
                self.give(op, known);
            }
            "nvvm.ldmatrix" => self.load_matrices(op),
            "nvvm.convert.float.to.tf32" => {
                let known = self.number(op, 0).map_or(Known::Missing, Known::Tf32);
                self.give(op, known);
            }
            _ => return false,
        }
        true
    }

    /// What `value` is as a position.
    fn split(&self, value: Value) -> Position {
        if let Some(number) = self.func.const_int(value) {
            return (None, number);
        }
        let Some(made) = self.func.def_op(value) else { return (Some(value), 0) };
        match self.func.opcode(made) {
            ops::CAST if self.scalar(value).elem.is_int() => self.split(self.func.operand(made, 0)),
            ops::ADD => match self.func.const_int(self.func.operand(made, 1)) {
                Some(number) => {
                    let (root, before) = self.split(self.func.operand(made, 0));
                    (root, before.wrapping_add(number))
                }
                None => (Some(value), 0),
            },
            _ => (Some(value), 0),
        }
    }

    /// The load that operand `nth` of `op` is a register of: the buffer and the first index.
    fn register_load(&self, op: OperationRef<'_, '_>, nth: usize) -> Option<(Op, Value, Value)> {
        let value = match self.operand(op, nth) {
            Known::Value(value) | Known::Tf32(value) => value,
            Known::Bits(bits) => self.whole(bits)?,
            _ => return None,
        };
        let load = self.func.def_op(value).filter(|&load| self.func.opcode(load) == tir::LOAD)?;
        let &[buffer, index] = self.func.operands(load) else { return None };
        let first = match self.func.def_op(index) {
            Some(ramp) if self.func.opcode(ramp) == ops::RAMP => self.func.operand(ramp, 0),
            _ => index,
        };
        // What was read elsewhere may have changed since.
        let is_here = self.func.region_of(load) == Some(self.region) && self.is_unchanged_since(buffer, load);
        is_here.then_some((load, buffer, first))
    }

    /// Has nothing been written to `buffer` in this region since `load`?
    fn is_unchanged_since(&self, buffer: Value, load: Op) -> bool {
        let mut at = self.func.next_op(load);
        while let Some(op) = at {
            let is_other = match self.func.opcode(op) {
                tir::STORE => self.func.operand(op, 0) == buffer,
                mma::SYNC | mma::LDMATRIX => {
                    tc_kernel::place::buffer_of(&self.func, self.func.operand(op, 0)) == buffer
                }
                tir::FOR | tir::IF => true,
                _ => false,
            };
            if is_other {
                return false;
            }
            at = self.func.next_op(op);
        }
        true
    }

    /// The stretch that operands `from .. from + n` of `op` are the registers of.
    fn stretch(&mut self, op: OperationRef<'_, '_>, from: usize, n: usize) -> Option<Stretch> {
        let loads: Option<Vec<_>> = (from..from + n).map(|nth| self.register_load(op, nth)).collect();
        let stretch = loads.and_then(|loads| {
            let &(_, buffer, first) = loads.first()?;
            let elem =
                self.func.as_shaped(self.func.value_type(buffer)).and_then(|(elem, ..)| self.func.as_scalar(elem));
            let elem = elem.filter(|elem| elem.lanes == 1)?.elem;
            let n = i64::from(types::register(elem).n);
            let start = self.split(first);
            let follows = |(nth, &(_, of, at)): (usize, &(Op, Value, Value))| {
                of == buffer && self.split(at) == (start.0, start.1 + n * nth as i64)
            };
            loads.iter().enumerate().all(follows).then_some(Stretch { buffer, first, start, elem, n })
        });
        if stretch.is_none() && (from..from + n).all(|nth| !matches!(self.operand(op, nth), Known::Missing)) {
            let help = "load the registers one after the other from a `memref.alloca`, just before the instruction";
            self.refuse(op, "registers that do not lie side by side have no counterpart", help);
        }
        stretch
    }

    fn product(&mut self, op: OperationRef<'_, '_>) -> Option<usize> {
        let sizes = attribute(op, "operandSegmentSizes")?;
        let sizes: Vec<usize> =
            sizes.split_once(": ")?.1.trim_end_matches('>').split(',').filter_map(|n| n.trim().parse().ok()).collect();
        let &[n_a, n_b, n_c] = &sizes[..] else { return None };
        let a = self.stretch(op, 0, n_a)?;
        let b = self.stretch(op, n_a, n_b)?;
        let c = self.stretch(op, n_a + n_b, n_c)?;
        let shape = attribute(op, "shape").unwrap_or_default();
        let is_rows = attribute(op, "layoutA").is_some_and(|layout| layout.contains("row"))
            && attribute(op, "layoutB").is_some_and(|layout| layout.contains("col"));
        let has_sign = ["multiplicandAPtxType", "multiplicandBPtxType"]
            .iter()
            .all(|of| !attribute(op, of).is_some_and(|ty| ty.contains("u8")));
        let has_sign = has_sign && !attribute(op, "intOverflowBehavior").is_some_and(|way| way.contains("satfinite"));
        let fits = shape.contains(&format!("m = 16, n = 8, k = {}", mma_k(a.elem.bytes()))) && is_rows && has_sign;
        if !fits || a.elem != b.elem {
            let help = "programs have products of 16 x 8 by rows and columns, of f16, bf16, tf32 and i8";
            self.refuse(op, "this product of tiles has no counterpart", help);
            return None;
        }
        let count = |stretch: &Stretch, registers: usize| stretch.n * registers as i64;
        let sums = self.place(op, c.buffer, c.first, count(&c, n_c))?;
        let left = self.place(op, a.buffer, a.first, count(&a, n_a))?;
        let right = self.place(op, b.buffer, b.first, count(&b, n_b))?;
        self.make(op, mma::SYNC, &[sums, left, right], &[], &[], 0);
        self.instructions.push(Instruction::Product { buffer: c.buffer, start: c.start, n: c.n });
        Some(self.instructions.len() - 1)
    }

    fn load_matrices(&mut self, op: OperationRef<'_, '_>) {
        let n_matrices = integer(op, "num").unwrap_or(0);
        let is_transposed = attribute(op, "layout").is_some_and(|layout| layout.contains("col"));
        let Some(row) = self.pointed(op, 0) else { return self.give(op, Known::Missing) };
        let n_effects = self.n_effects;
        self.instructions.push(Instruction::Load { row, n_matrices, is_transposed, n_effects, to: None });
        let made = self.instructions.len() - 1;
        self.give(op, if n_matrices == 1 { Known::Register(made, 0) } else { Known::Registers(made) });
    }

    /// Register `nth` of instruction `made` goes to `buffer` from `index` on.
    pub(crate) fn put(&mut self, op: OperationRef<'_, '_>, (made, nth): (usize, usize), buffer: Value, index: Value) {
        let at = self.split(index);
        let is_well = match self.instructions.get(made).cloned() {
            Some(Instruction::Product { buffer: of, start, n }) => {
                of == buffer && at == (start.0, start.1 + n * nth as i64)
            }
            Some(Instruction::Load { row, n_matrices, is_transposed, n_effects, to: None }) => {
                nth == 0
                    && n_effects == self.n_effects
                    && self.make_load(op, (buffer, index), row, n_matrices, is_transposed)
                    && self.note_load(made, (buffer, at))
            }
            Some(Instruction::Load { to: Some((of, start)), .. }) => {
                let elem = self.element_bytes(buffer).filter(|&bytes| bytes > 0).map_or(1, |bytes| 4 / bytes);
                of == buffer && at == (start.0, start.1 + elem * nth as i64)
            }
            None => false,
        };
        if !is_well {
            let help = "store all registers of an instruction one after the other: sums where they were read from";
            self.refuse(op, "a register of a tile that goes elsewhere has no counterpart", help);
        }
    }

    fn note_load(&mut self, made: usize, place: (Value, Position)) -> bool {
        if let Some(Instruction::Load { to, .. }) = self.instructions.get_mut(made) {
            *to = Some(place);
        }
        true
    }

    fn make_load(
        &mut self,
        op: OperationRef<'_, '_>,
        (buffer, index): (Value, Value),
        (row, at): (Value, Value),
        n_matrices: i64,
        is_transposed: bool,
    ) -> bool {
        let (Some(bytes), Some(of)) = (self.element_bytes(buffer), self.element_bytes(row)) else { return false };
        let Some(tile) = self.place(op, buffer, index, n_matrices * 4 / bytes) else { return false };
        let Some(row) = self.place(op, row, at, 16 / of) else { return false };
        let yes = self.func.attr(AttrData::Bool(true));
        let attrs = if is_transposed { vec![(keys::TRANSPOSED, yes)] } else { Vec::new() };
        self.make(op, mma::LDMATRIX, &[tile, row], &attrs, &[], 0);
        true
    }
}
