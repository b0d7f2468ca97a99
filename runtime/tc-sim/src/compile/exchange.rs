//! Shuffles and reductions across threads.

use super::Result;
use super::body::{Binding, Compiler};
use super::kernel::Val;
use crate::code::{Instr, NO_REG, Reg, Shuffle, ShuffleMode};
use tc_dialects::gpu;
use tc_ir::{Elem, Op, Scalar, keys};

/// The lanes of a shuffle that names no width.
const WARP: u32 = 32;

impl Compiler<'_, '_> {
    pub(super) fn shuffle(&mut self, op: Op) -> Result<()> {
        let func = self.func();
        let mode = match func.word_of(op, keys::MODE) {
            Some("down") => ShuffleMode::Down,
            Some("up") => ShuffleMode::Up,
            Some("xor") => ShuffleMode::Xor,
            Some("idx") => ShuffleMode::Idx,
            _ => return Err(self.unsupported(op, "this shuffle")),
        };
        let width = func.int_of(op, keys::WIDTH).unwrap_or(WARP.into());
        let Some(width) = u32::try_from(width).ok().filter(|width| width.is_power_of_two() && *width <= WARP) else {
            return Err(self.unsupported(op, "a shuffle of this width"));
        };
        let (value, lane) = (self.operand(op, 0)?, self.operand(op, 1)?);
        let dst = self.fresh(self.result_type(op)?, &[value, lane]);
        let site = self.site(op, false);
        let (mag_dst, mag) = (dst.mag, value.mag);
        let (dst_reg, value, lane) = (dst.reg, value.reg, lane.reg);
        self.k.emit(Instr::Shuffle(Box::new(Shuffle { mode, width, lane, dst: dst_reg, value, mag_dst, mag, site })));
        self.bind_result(op, dst);
        Ok(())
    }

    /// The values are laid out, all threads meet, and each combines those of its group in order.
    pub(super) fn all_reduce(&mut self, op: Op) -> Result<()> {
        let func = self.func();
        let (Some(reduced), false) = (gpu::reduced_axes(func, op), self.k.is_te) else {
            return Err(self.unsupported(op, "this reduction across threads"));
        };
        let mut axes = [false; 3];
        reduced.iter().for_each(|axis| axes[axis.dim()] = true);
        let dims = self.k.kernel.block;
        let n: u64 = dims.iter().zip(axes).filter(|(_, is_reduced)| *is_reduced).map(|(&extent, _)| extent).product();
        let values = self.vals(func.operands(op), op)?;
        let site = self.site(op, false);
        let offered = registers(&values);
        self.k.kernel.offered = self.k.kernel.offered.max(offered.len());
        self.k.emit(Instr::Offer { values: offered, site });
        let totals: Vec<Val> = values.iter().map(|value| self.k.value(value.ty, true, false)).collect();
        let first = self.k.constant(Elem::Index, 0);
        self.k.emit(Instr::Take { values: registers(&totals), nth: first.reg, axes });
        if n > 1 {
            let next: Vec<Val> = values.iter().map(|value| self.k.value(value.ty, true, false)).collect();
            let (lo, hi) = (self.k.constant(Elem::Index, 1), self.k.constant(Elem::Index, n));
            let nth = self.k.value(Scalar::of(Elem::Index), false, false);
            let enter = self.enter_loop(op, nth, lo, hi);
            self.k.emit(Instr::Take { values: registers(&next), nth: nth.reg, axes });
            let body = func.op_regions(op)[0];
            for (&arg, val) in func.region_args(body).iter().zip(totals.iter().chain(&next)) {
                self.frame().bind(arg, Binding::Value(Val { owned: false, ..*val }));
            }
            self.region(body)?;
            let yielded = self.yielded(body)?;
            self.assign(&totals, &yielded);
            self.end_region(body);
            self.leave_loop(enter, nth, hi);
            next.into_iter().chain([nth]).for_each(|val| self.k.release(val));
        }
        for (result, val) in func.results(op).zip(totals) {
            self.frame().bind(result, Binding::Value(val));
        }
        Ok(())
    }
}

/// The registers of `values` and of their magnitudes.
fn registers(values: &[Val]) -> Box<[Reg]> {
    values.iter().flat_map(|val| [val.reg, val.mag]).filter(|&reg| reg != NO_REG).collect()
}
