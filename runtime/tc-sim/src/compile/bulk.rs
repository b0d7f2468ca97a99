//! Tensor maps and bulk copies by them.

use super::Result;
use super::body::{Binding, Compiler, Declarations, Frame};
use super::place::declare;
use crate::code::{BufDecl, BufId, Instr, Space};
use crate::warp::{BulkCopy, BulkWay, StoreStep};
use tc_dialects::tma;
use tc_dialects::update::UpdateKind;
use tc_ir::{Op, Opcode, Value, keys};

/// The map that `op` makes of the buffer `own`: the same memory with the extents of the tensor.
fn map_of_buffer(frame: &Frame<'_>, op: Op, result: Value, own: &BufDecl) -> std::result::Result<BufDecl, String> {
    let func = frame.func;
    let mut seen = declare(func, result, &frame.sizes, func.op_location(op))?;
    if !matches!(own.space, Space::Global(_)) {
        return Err(format!("`{}` does not lie in global memory", own.name));
    }
    if seen.shape.len() == own.shape.len() && seen.shape == own.shape {
        (seen.strides, seen.cells) = (own.strides.clone(), own.cells);
    }
    if (seen.elem, seen.lanes, own.lanes) != (own.elem, 1, 1) || seen.cells > own.cells {
        return Err(format!("the map has elements that `{}` does not have", own.name));
    }
    // What is copied is told by the name of the tensor.
    (seen.space, seen.name) = (own.space, own.name.clone());
    Ok(seen)
}

/// Binds the map that `op` makes at the top of a function, of a buffer that is one in all.
pub(super) fn bind_map(frame: &mut Frame<'_>, op: Op, declarations: &mut Declarations) -> Result<()> {
    let func = frame.func;
    let refuse = |text: String| Box::new(tc_support::Diagnostic::error("map", func.op_location(op), text));
    let Some(result) = func.result(op) else { return Ok(()) };
    let Binding::Global(base) = frame.binding(func.operand(op, 0)) else {
        return Err(refuse("a map of this buffer cannot be executed yet by the simulator".to_string()));
    };
    let seen = map_of_buffer(frame, op, result, &declarations.list[base]).map_err(refuse)?;
    declarations.list.push(seen);
    frame.bind(result, Binding::Global(declarations.list.len() - 1));
    Ok(())
}

impl Compiler<'_, '_> {
    /// A map that is made within a launch.
    pub(super) fn tensor_map(&mut self, op: Op) -> Result<()> {
        let func = self.func();
        let Some(result) = func.result(op) else { return Ok(()) };
        let base = self.buffer(func.operand(op, 0), op)?;
        let own = self.k.kernel.buffers[base as usize].clone();
        let seen = map_of_buffer(self.frame(), op, result, &own).map_err(|text| self.error(op, "map", text))?;
        self.k.kernel.buffers.push(seen);
        let buf = self.k.kernel.buffers.len() as BufId - 1;
        self.frame().bind(result, Binding::Buffer(buf));
        Ok(())
    }

    pub(super) fn bulk_copy(&mut self, op: Op) -> Result<()> {
        let func = self.func();
        let [shared, boxed] = tma::sides(func, op);
        let Some(map) = tma::map_of(func, boxed) else { return Err(self.unsupported(op, "a copy without a map")) };
        let Some(steps) = tma::box_steps(func, map) else { return Err(self.unsupported(op, "this tensor map")) };
        let swizzle = tma::swizzle_bytes(func, map).and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(0);
        let is_store = tma::writes_tensor(func, op);
        let update = UpdateKind::of(func, op);
        let (place, boxed) = (self.region_of(shared, op, !is_store)?, self.region_of(boxed, op, is_store)?);
        let way = match tma::load_barrier(func, op) {
            _ if is_store => BulkWay::Store { background: tma::is_async(func, op), update },
            Some(place) => BulkWay::Load(Some(self.barrier_place(place, op)?)),
            None => BulkWay::Load(None),
        };
        let [of_place, of_box] = [&place, &boxed].map(|region| &self.k.kernel.buffers[region.access.buf as usize]);
        let count = |lengths: &[u64]| lengths.iter().try_fold(1u64, |n, &length| n.checked_mul(length));
        let n = count(&boxed.lengths).filter(|&n| n <= 1 << 24 && count(&place.lengths) == Some(n));
        // Mixed pieces lie in a stretch of memory.
        let is_dense = swizzle == 0
            || place.lengths.iter().rev().skip(1).all(|&length| length == 1) && of_place.strides.last() == Some(&1);
        let spaces = matches!((of_place.space, of_box.space), (Space::Shared(_), Space::Global(_)));
        let alike = (of_place.lanes, of_box.lanes, of_place.elem) == (1, 1, of_box.elem);
        let Some(n) = n.filter(|_| is_dense && spaces && alike && matches!(swizzle, 0 | 32 | 64 | 128)) else {
            return Err(self.unsupported(op, "this bulk copy"));
        };
        let bytes = n * u64::from(of_place.elem.bytes());
        let help = match way {
            BulkWay::Load(None) => Some("name the barrier at which it reports its bytes: `barrier = &full[i]`"),
            BulkWay::Store { background: false, .. } => {
                Some("write `background`, and wait for its group: `tma.wait_group`")
            }
            _ => None,
        };
        if let Some(help) = help.filter(|_| self.k.kernel.threaded) {
            let text = "in a threaded program it is not known when this bulk copy is done";
            return Err(Box::new(self.error(op, "unknown", text).help(help)));
        }
        if let Some(kind) = update {
            self.k.mark_updated(boxed.access.buf, boxed.access.site, kind);
        }
        let (to, from) = if is_store { (boxed, place) } else { (place, boxed) };
        let site = to.access.site;
        let copy = BulkCopy {
            to,
            from,
            steps,
            n: n as usize,
            bytes: bytes as usize,
            swizzle,
            way,
            multicast: tma::is_multicast(func, op),
            site,
        };
        self.k.emit(Instr::BulkCopy(Box::new(copy)));
        Ok(())
    }

    /// What a thread does about its bulk copies to tensors.
    pub(super) fn bulk_step(&mut self, op: Op, opcode: Opcode) -> Result<()> {
        let func = self.func();
        let step = match opcode {
            tma::COMMIT_STORES => StoreStep::Commit,
            tma::FENCE => StoreStep::Fence,
            _ => match func.int_of(op, keys::PENDING).and_then(|pending| usize::try_from(pending).ok()) {
                Some(pending) => StoreStep::Wait { pending, read: tma::is_of_reads(func, op) },
                None => return Err(self.unsupported(op, "this wait")),
            },
        };
        self.k.emit(Instr::BulkStep(step));
        Ok(())
    }
}
