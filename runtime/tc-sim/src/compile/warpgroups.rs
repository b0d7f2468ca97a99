//! What a warpgroup does: where the sums and factors of its products are, and what it meets for besides.

use super::Result;
use super::body::Compiler;
use crate::code::{Instr, Space};
use crate::warp::{Factor, Meeting, Operand, Places, Source, WarpInstr, WarpOp};
use tc_dialects::fragment::{Use, is_product, warpgroup_element};
use tc_dialects::wgmma::{self, Major, Shape, Side, WARPGROUP, factor_extents};
use tc_dialects::{gpu, mma};
use tc_ir::{Op, Opcode, keys};

/// Elements of a factor that the simulator follows.
const MAX_FACTOR: i64 = 1 << 16;

impl Compiler<'_, '_> {
    pub(super) fn group_product(&mut self, op: Op) -> Result<()> {
        let Some(shape) = wgmma::shape(self.func(), op) else { return Err(self.unsupported(op, "this product")) };
        let fits = |extents: [i64; 3]| extents.iter().all(|&extent| extent > 0 && extent <= MAX_FACTOR / 64);
        if !fits(shape.extents()) || !is_product(shape.factors, shape.sums) {
            return Err(self.unsupported(op, "a product of such elements"));
        }
        let sum = self.registers(op, (0, Use::Accumulator), shape.n)?;
        let left = if wgmma::left_in_registers(self.func(), op) {
            Source::Registers(self.registers(op, (Side::A.operand(), Use::A), shape.k)?)
        } else {
            Source::Memory(self.factor(op, Side::A, shape)?)
        };
        let sides = [left, Source::Memory(self.factor(op, Side::B, shape)?)];
        let extents = shape.extents().map(|extent| extent as usize);
        let product = WarpOp::GroupProduct { sum, sides, shape: extents, factors: shape.factors, total: shape.sums };
        self.emit_group(op, product, "wgmma.mma");
        Ok(())
    }

    fn emit_group(&mut self, op: Op, group_op: WarpOp, name: &'static str) {
        let (site, width) = (self.site(op, false), self.k.kernel.warpgroups.width());
        self.k.emit(Instr::Warp(Box::new(WarpInstr { op: group_op, name, width, site })));
    }

    /// The sums or the left factor in registers, of `columns` columns: a tile of the warpgroup, or what its threads hold.
    fn registers(&mut self, op: Op, (nth, part): (usize, Use), columns: i64) -> Result<Operand> {
        let place = self.place(op, nth)?;
        let is_written = part == Use::Accumulator;
        if mma::held(self.func(), place).is_none() {
            return Ok(self.stood(op, nth, is_written)?.by_rows(false).0);
        }
        let mut operand = self.stretch(op, (nth, WARPGROUP as usize), is_written)?;
        let n = operand.held.as_ref().map_or(0, |held| held.len()) as i64;
        let bytes = self.k.kernel.buffers[operand.region.access.buf as usize].elem.bytes();
        let places = (0..WARPGROUP * n).map(|nth| warpgroup_element(part, bytes, nth / n, nth % n));
        operand.at = places.map(|(row, col)| (row * columns + col) as u32).collect();
        Ok(operand)
    }

    fn factor(&mut self, op: Op, side: Side, shape: Shape) -> Result<Factor> {
        let func = self.func();
        let place = self.place(op, side.operand())?;
        let region = self.region_of(place, op, false)?;
        let decl = &self.k.kernel.buffers[region.access.buf as usize];
        if decl.lanes != 1 || !matches!(decl.space, Space::Shared(_)) || decl.elem != shape.factors {
            return Err(self.unsupported(op, "a factor in this memory"));
        }
        let major = wgmma::major(func, op, side);
        let (mn, k) = (shape.mn(side) as usize, shape.k as usize);
        let by_steps = side == Side::B;
        let places = match side.descriptor(func, op) {
            Some(descriptor) => Places::Described { descriptor, major, mn, k },
            None if func.attr_of(op, side.descriptor_key()).is_some() => {
                return Err(self.unsupported(op, "this descriptor"));
            }
            None => {
                let wanted = factor_extents(major, mn as i64, k as i64).map(|extent| extent as u64);
                // Dimensions with one element may stand before the rows, or between rows and columns.
                let dims: Vec<(u64, usize)> =
                    region.lengths.iter().copied().zip(decl.strides.iter().map(|&stride| stride as usize)).collect();
                let strides = dims.split_last().and_then(|(&(cols, col), above)| {
                    let mut rows = above.iter().filter(|&&(length, _)| length != 1);
                    let (&(n_rows, row), None) = (rows.next()?, rows.next()) else { return None };
                    ([n_rows, cols] == wanted).then_some([row, col])
                });
                let Some(strides) = strides else { return Err(self.unsupported(op, "a factor of these extents")) };
                let [of_mn, of_k] = if major == Major::K { strides } else { [strides[1], strides[0]] };
                let rows = wgmma::rows_of_left(func, op).filter(|_| side == Side::A);
                let row = |nth: usize| rows.map_or(nth, |rows| rows.mixed(nth as i64) as usize);
                let element = |nth: usize| match by_steps {
                    true => nth / mn * of_k + nth % mn * of_mn,
                    false => row(nth / k) * of_mn + nth % k * of_k,
                };
                Places::Elements((0..mn * k).map(element).collect())
            }
        };
        Ok(Factor { region, places, size: mn * k, by_steps })
    }

    /// What a warpgroup comes to together besides products.
    pub(super) fn meet(&mut self, op: Op, opcode: Opcode) -> Result<()> {
        let pending = self.func().int_of(op, keys::PENDING).and_then(|pending| u32::try_from(pending).ok());
        let (meeting, name) = match opcode {
            wgmma::FENCE => (Meeting::Fence, "wgmma.fence"),
            wgmma::COMMIT => (Meeting::Commit, "wgmma.commit_group"),
            gpu::SETMAXNREG => (Meeting::Registers, "gpu.setmaxnreg"),
            _ => match pending {
                Some(pending) => (Meeting::Wait(pending), "wgmma.wait_group"),
                None => return Err(self.unsupported(op, "this wait")),
            },
        };
        self.emit_group(op, WarpOp::Meet(meeting), name);
        Ok(())
    }
}
