//! What threads know of themselves, and what they exchange.

use super::state::{Known, Reader, integer, word};
use melior::ir::OperationRef;
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
        let value = self.number(op, 0);
        let made = width.zip(value).and_then(|(width, value)| self.exchanged(op, value, 1, &mode, width));
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
        let last = if mode == "up" { 0 } else { WARP - 1 };
        let width = WARP - (clamp >> 8);
        if clamp & 0xff != last || !(1..=WARP).contains(&width) {
            let help = "write the clamp of `gpu.shuffle`: (32 - width) * 256, and 31 beside it but where lanes go up";
            self.refuse(op, format!("the clamp {clamp} divides a warp in no groups"), help);
            self.give(op, Known::Missing);
            return true;
        }
        if !self.is_ours && self.number(op, 0).and_then(|mask| self.func.const_int(mask)) != Some(-1) {
            let help = "let all lanes take part: the mask is -1";
            self.refuse(op, "an exchange of some lanes has no counterpart", help);
        }
        match self.operand(op, 1) {
            Known::Bits(bits) if bits.is_word() => {
                let made = self.exchanged(op, bits.value, 2, mode, width);
                let known = made.map_or(Known::Missing, |value| Known::Bits(bits.of(value)));
                self.give(op, known);
            }
            _ => {
                let made = self.number(op, 1).and_then(|value| self.exchanged(op, value, 2, mode, width));
                self.give_value(op, made);
            }
        }
        true
    }

    /// `value` of another lane, which operand `lane` of `op` tells.
    fn exchanged(
        &mut self,
        op: OperationRef<'_, '_>,
        value: Value,
        lane: usize,
        mode: &str,
        width: i64,
    ) -> Option<Value> {
        let lane = self.number(op, lane)?;
        let mut attrs = vec![self.word(keys::MODE, mode)];
        if width != WARP {
            attrs.push((keys::WIDTH, self.func.int_attr(width)));
        }
        self.infer(op, gpu::SHUFFLE, &[value, lane], &attrs)
    }
}
