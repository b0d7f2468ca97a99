//! What threads know of themselves, and what they exchange.

use super::state::{Known, Reader, attribute, integer, word};
use super::types;
use melior::ir::{OperationRef, ValueLike};
use tc_dialects::tir::Coordinate;
use tc_dialects::{arith as ops, gpu};
use tc_ir::{Elem, Value, keys};

/// Lanes of a warp.
const WARP: i64 = 32;

impl Reader<'_> {
    /// An op of threads, if `name` is one.
    pub(crate) fn threads(&mut self, op: OperationRef<'_, '_>, name: &str) -> bool {
        let made = match name {
            "gpu.thread_id" => self.of_dim(op, "threadIdx", Self::coordinate_value),
            "gpu.block_id" => self.of_dim(op, "blockIdx", Self::coordinate_value),
            "gpu.block_dim" => self.of_dim(op, "threadIdx", Self::extent_value),
            "gpu.grid_dim" => self.of_dim(op, "blockIdx", Self::extent_value),
            "gpu.global_id" => self.global_id(op),
            "gpu.lane_id" | "nvvm.read.ptx.sreg.laneid" => self.lane_of_warp(op),
            "gpu.subgroup_id" => self.warp(op),
            "gpu.subgroup_size" => Some(self.builder(op).index(WARP)),
            "gpu.shuffle" => return self.exchange(op),
            "nvvm.shfl.sync" => return self.shuffle(op),
            "gpu.barrier" | "nvvm.barrier0" => return self.barrier(op, "shared"),
            "nvvm.bar.warp.sync" => return self.barrier(op, "warp"),
            "nvvm.griddepcontrol" => return self.overlap(op),
            "nvvm.cp.async.commit.group" => {
                self.make(op, gpu::COMMIT_GROUP, &[], &[], &[], 0);
                return true;
            }
            "nvvm.cp.async.wait.group" => {
                let pending = self.func.int_attr(integer(op, "n").unwrap_or(0));
                self.make(op, gpu::WAIT_GROUP, &[], &[(keys::PENDING, pending)], &[], 0);
                return true;
            }
            _ => return false,
        };
        let made = made.map(|value| match self.result_type(op, 0) {
            // Registers of the machine have a width, where `index` has that of its number.
            Some(scalar) if scalar.elem != Elem::Index => self.as_elem(op, value, scalar.elem),
            _ => value,
        });
        self.give_value(op, made);
        true
    }

    /// What `get` gives for the dimension that `op` asks for.
    fn of_dim(
        &mut self,
        op: OperationRef<'_, '_>,
        level: &str,
        get: impl FnOnce(&mut Self, OperationRef<'_, '_>, Coordinate) -> Option<Value>,
    ) -> Option<Value> {
        let dim = word(op, "dimension")?;
        let coordinate = Coordinate::parse(&format!("{level}.{dim}"))?;
        get(self, op, coordinate)
    }

    fn coordinate_value(&mut self, op: OperationRef<'_, '_>, coordinate: Coordinate) -> Option<Value> {
        Some(self.coordinate(op, coordinate))
    }

    fn extent_value(&mut self, op: OperationRef<'_, '_>, coordinate: Coordinate) -> Option<Value> {
        match self.extent(coordinate) {
            Some(extent) => Some(self.builder(op).index(extent)),
            None => {
                let text = format!("how many there are along `{}` follows from sizes", coordinate.name());
                self.refuse(op, text, "compute it from the sizes");
                None
            }
        }
    }

    /// The number of a thread among all of the launch, along a dimension.
    fn global_id(&mut self, op: OperationRef<'_, '_>) -> Option<Value> {
        let dim = word(op, "dimension")?;
        let block = Coordinate::parse(&format!("blockIdx.{dim}"))?;
        let thread = Coordinate::parse(&format!("threadIdx.{dim}"))?;
        let extent = self.extent_value(op, thread)?;
        let (block, thread) = (self.coordinate(op, block), self.coordinate(op, thread));
        let (block, thread) = (self.as_elem(op, block, Elem::Index), self.as_elem(op, thread, Elem::Index));
        let first = self.infer(op, ops::MUL, &[block, extent], &[])?;
        self.infer(op, ops::ADD, &[first, thread], &[])
    }

    /// The number of a thread in its block, by which warps are made.
    fn thread(&mut self, op: OperationRef<'_, '_>) -> Option<Value> {
        let mut sum: Option<Value> = None;
        let mut before = 1i64;
        for coordinate in Coordinate::ALL.into_iter().filter(|coordinate| coordinate.is_thread()) {
            let extent = self.extent(coordinate)?;
            if extent != 1 {
                let id = self.coordinate(op, coordinate);
                let id = self.as_elem(op, id, Elem::Index);
                let times = self.builder(op).index(before);
                let part = if before == 1 { id } else { self.infer(op, ops::MUL, &[id, times], &[])? };
                sum = Some(match sum {
                    Some(sum) => self.infer(op, ops::ADD, &[sum, part], &[])?,
                    None => part,
                });
            }
            before = before.checked_mul(extent)?;
        }
        Some(sum.unwrap_or_else(|| self.builder(op).index(0)))
    }

    fn lane_of_warp(&mut self, op: OperationRef<'_, '_>) -> Option<Value> {
        let thread = self.thread(op)?;
        let warp = self.builder(op).index(WARP);
        self.infer(op, ops::TMOD, &[thread, warp], &[])
    }

    fn warp(&mut self, op: OperationRef<'_, '_>) -> Option<Value> {
        let thread = self.thread(op)?;
        let warp = self.builder(op).index(WARP);
        self.infer(op, ops::TDIV, &[thread, warp], &[])
    }

    fn barrier(&mut self, op: OperationRef<'_, '_>, scope: &str) -> bool {
        let scope = self.word(keys::SCOPE, scope);
        self.make(op, gpu::BARRIER, &[], &[scope], &[], 0);
        true
    }

    fn overlap(&mut self, op: OperationRef<'_, '_>) -> bool {
        let action = word(op, "kind").unwrap_or_default();
        let action = self.word(keys::ACTION, &action);
        self.make(op, gpu::GRIDDEPCONTROL, &[], &[action], &[], 0);
        true
    }

    /// `gpu.shuffle`, which also tells whether the lane is one of the group.
    fn exchange(&mut self, op: OperationRef<'_, '_>) -> bool {
        let width = self.number(op, 2).and_then(|width| self.func.const_int(width));
        let mode = word(op, "mode").unwrap_or_default();
        if width.is_none() {
            self.refuse(op, "how many lanes are a group is a literal", "write the width as a constant");
        }
        let made = width.and_then(|width| self.exchanged(op, [0, 1], &mode, width));
        if let (Known::Bits(..), Some(_)) = (self.operand(op, 0), made) {
            self.refuse(op, "the bits of a number are exchanged by `nvvm.shfl.sync` only", "exchange the number");
        }
        self.give_value(op, made);
        if let Ok(valid) = op.result(1) {
            let help = "compute it from the number of the lane";
            self.bind(valid.into(), Known::Unreadable("whether a lane is one of the group", help));
        }
        true
    }

    /// `nvvm.shfl.sync`: the width of groups is in the clamp, and numbers of other than 32 bits go as words.
    fn shuffle(&mut self, op: OperationRef<'_, '_>) -> bool {
        let clamp = self.number(op, 3).and_then(|clamp| self.func.const_int(clamp));
        let mode = match word(op, "kind").as_deref() {
            Some("bfly") => "xor",
            Some("up") => "up",
            Some("down") => "down",
            _ => "idx",
        };
        let Some(clamp) = clamp else {
            self.refuse(op, "which lanes are a group is a literal", "write the clamp as a constant");
            self.give(op, Known::Missing);
            return true;
        };
        let width = WARP - (clamp >> 8);
        let bits = match self.operand(op, 1) {
            Known::Bits(_, first) => Some(first),
            _ => None,
        };
        let made = self.exchanged(op, [1, 2], mode, width);
        match (made, bits) {
            (Some(value), Some(first)) => self.give(op, Known::Bits(value, first)),
            (made, _) => self.give_value(op, made),
        }
        true
    }

    fn exchanged(
        &mut self,
        op: OperationRef<'_, '_>,
        [value, lane]: [usize; 2],
        mode: &str,
        width: i64,
    ) -> Option<Value> {
        let value = match self.operand(op, value) {
            Known::Bits(value, _) => value,
            _ => self.number(op, value)?,
        };
        let lane = self.number(op, lane)?;
        let mut attrs = vec![self.word(keys::MODE, mode)];
        if width != WARP {
            attrs.push((keys::WIDTH, self.func.int_attr(width)));
        }
        self.infer(op, gpu::SHUFFLE, &[value, lane], &attrs)
    }

    /// Is `mask` all bits of the float `value` but that of its sign?
    fn is_all_but_sign(&self, value: Value, mask: Value) -> bool {
        let scalar = self.scalar(value);
        let literal = match self.func.def_op(mask).filter(|&made| self.func.opcode(made) == ops::BROADCAST) {
            Some(made) => self.func.operand(made, 0),
            None => mask,
        };
        let bits = scalar.elem.bits().clamp(1, 64);
        scalar.elem.is_float() && self.func.const_int(literal) == Some(((1u64 << (bits - 1)) - 1) as i64)
    }

    /// The upper half of 64 bits, or both halves put together: what a number of 64 bits is on its way between lanes.
    pub(crate) fn halves(&mut self, op: OperationRef<'_, '_>, name: &str) -> bool {
        let known = match (name, self.operand(op, 0), self.operand(op, 1)) {
            ("arith.shrui" | "arith.shli", Known::Bits(value, _), _) => Known::Bits(value, 32),
            ("arith.ori", Known::Bits(high, 32), Known::Bits(..)) => Known::Bits(high, 0),
            ("arith.andi", Known::Bits(value, 0), Known::Value(mask)) if self.is_all_but_sign(value, mask) => {
                let Some(value) = self.infer(op, ops::ABS, &[value], &[]) else { return false };
                self.give(op, Known::Bits(value, 0));
                return true;
            }
            _ => return false,
        };
        let is_wide = op.result(0).is_ok_and(
            |result| matches!(types::known(result.r#type()), types::Known::Scalar(scalar) if scalar.elem == Elem::I64),
        );
        if !is_wide || attribute(op, "isExact").is_some() {
            return false;
        }
        self.give(op, known);
        true
    }
}
