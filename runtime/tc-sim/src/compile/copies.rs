//! Asynchronous copies.

use super::Result;
use super::body::Compiler;
use crate::code::{Instr, NO_REG, Space};
use crate::warp::AsyncCopy;
use tc_ir::{Op, keys};

impl Compiler<'_, '_> {
    pub(super) fn copy_async(&mut self, op: Op) -> Result<()> {
        let &[to, from, ref when @ ..] = self.func().operands(op) else {
            return Err(self.unsupported(op, "this copy"));
        };
        let (to, from) = (self.region_of(to, op, true)?, self.region_of(from, op, false)?);
        let when = match when {
            [] => NO_REG,
            [when, ..] => self.val(*when, op)?.reg,
        };
        let [of_to, of_from] = [&to, &from].map(|region| &self.k.kernel.buffers[region.access.buf as usize]);
        let n = to.lengths.iter().try_fold(1u64, |n, &length| n.checked_mul(length)).unwrap_or(u64::MAX);
        let bytes = n.saturating_mul(u64::from(of_to.elem.bytes()));
        // A row of the last dimension, in which elements lie side by side.
        let is_row =
            |lengths: &[u64], strides: &[i64]| n == 1 || (lengths.last() == Some(&n) && strides.last() == Some(&1));
        let fits = is_row(&to.lengths, &of_to.strides)
            && is_row(&from.lengths, &of_from.strides)
            && from.lengths.iter().try_fold(1u64, |n, &length| n.checked_mul(length)) == Some(n)
            && (of_to.lanes, of_from.lanes, of_to.elem) == (1, 1, of_from.elem)
            && matches!((of_to.space, of_from.space), (Space::Shared(_), Space::Global(_)))
            && matches!(bytes, 4 | 8 | 16);
        if !fits {
            return Err(self.unsupported(op, "this copy"));
        }
        let copy = AsyncCopy { to, from, n: n as usize, bytes: bytes as usize, when };
        self.k.emit(Instr::AsyncCopy(Box::new(copy)));
        Ok(())
    }

    pub(super) fn commit_group(&mut self) -> Result<()> {
        self.k.emit(Instr::CommitGroup);
        Ok(())
    }

    pub(super) fn wait_group(&mut self, op: Op) -> Result<()> {
        let pending = self.func().int_of(op, keys::PENDING).and_then(|pending| u32::try_from(pending).ok());
        let Some(pending) = pending else { return Err(self.unsupported(op, "this wait")) };
        self.k.emit(Instr::WaitGroup { pending });
        Ok(())
    }
}
