//! Barriers in shared memory.

use super::Result;
use super::body::Compiler;
use crate::code::{BarrierArray, BufId, Instr, Space};
use crate::warp::{BarrierInstr, BarrierOp, BarrierPlace};
use tc_dialects::mbarrier::{self, is_barrier_type};
use tc_dialects::tir::place_type;
use tc_ir::{Op, Opcode, Value, keys};

/// Barriers of a kernel that the simulator follows.
const MAX_BARRIERS: usize = 1 << 10;

impl Compiler<'_, '_> {
    pub(super) fn mbarrier(&mut self, op: Op, opcode: Opcode) -> Result<()> {
        let func = self.func();
        let number = |key| func.int_of(op, key).and_then(|number| u32::try_from(number).ok());
        let missing = || self.unsupported(op, &format!("`{}`", func.op_name(op)));
        let (barrier_op, name) = match opcode {
            mbarrier::INIT => (BarrierOp::Init(number(keys::COUNT).ok_or_else(missing)?), "mbarrier.init"),
            mbarrier::FENCE_INIT => (BarrierOp::FenceInit, "mbarrier.fence_init"),
            mbarrier::ARRIVE => (BarrierOp::Arrive(None), "mbarrier.arrive"),
            mbarrier::ARRIVE_EXPECT_TX => {
                let bytes = number(keys::BYTES).ok_or_else(missing)?;
                (BarrierOp::Arrive(Some(u64::from(bytes))), "mbarrier.arrive_expect_tx")
            }
            _ => (BarrierOp::Wait(self.operand(op, 1)?.reg), "mbarrier.wait"),
        };
        if !self.k.kernel.warpgroups.clocked {
            return Err(self.unsupported(op, "a barrier in shared memory outside of a launch"));
        }
        let place = match func.operands(op).first() {
            Some(&place) => Some(self.barrier_place(place, op)?),
            None => None,
        };
        let block = match mbarrier::block_of(func, op) {
            Some(block) => Some(self.val(block, op)?.reg),
            None => None,
        };
        let site = self.site(op, false);
        self.k.emit(Instr::Mbarrier(Box::new(BarrierInstr { op: barrier_op, place, block, name, site })));
        Ok(())
    }

    /// The barrier that `place` names.
    pub(super) fn barrier_place(&mut self, place: Value, op: Op) -> Result<BarrierPlace> {
        let func = self.func();
        if place_type(func, place).is_none_or(|(elem, ..)| !is_barrier_type(func, elem)) {
            return Err(self.unsupported(op, "this barrier"));
        }
        let region = self.region_of(place, op, false)?;
        let first = self.barrier_array(region.access.buf, op)?;
        Ok(BarrierPlace { region, first })
    }

    /// The number of the first barrier of a buffer.
    fn barrier_array(&mut self, buf: BufId, op: Op) -> Result<usize> {
        let kernel = &self.k.kernel;
        let decl = &kernel.buffers[buf as usize];
        let Space::Shared(idx) = decl.space else { return Err(self.unsupported(op, "a barrier in this memory")) };
        let place = (idx, decl.window.map_or(0, |window| window.start_byte));
        if let Some(known) = kernel.barriers.iter().find(|array| array.place == place && array.n >= decl.elements()) {
            return Ok(known.first);
        }
        let (first, n) = (kernel.n_barriers(), decl.elements());
        if first.saturating_add(n) > MAX_BARRIERS {
            return Err(self.error(op, "limit", format!("more than {MAX_BARRIERS} barriers are too many to follow")));
        }
        let array = BarrierArray { place, name: decl.name.clone(), n, first };
        self.k.kernel.barriers.push(array);
        Ok(first)
    }
}
