//! Products of matrices, and the copies that feed them: which file writes which op.
//!
//! What a thread holds of a fragment or a tile lies in private memory, a register to an element or to a few numbers. The
//! loops over such buffers are unrolled whole, so that every position is a constant and LLVM makes registers of them.
//! The ops are those of `nvvm`, which name what each operand is: a factor that was loaded by columns cannot be
//! multiplied as one by rows, since both read the layout in the fragment's type. Values of `gpu.subgroup_mma` cannot lie
//! in memory, so that arrays of fragments would have to become values of loops first, and they know no bf16.

use crate::kernel::Kernel;
use crate::{copies, mma, wmma};
use tc_ir::{Op, Opcode};

/// Is there text for such ops on tiles?
pub(crate) fn has_emitter(opcode: Opcode) -> bool {
    tc_kernel::wmma::has_emitter(opcode) || tc_kernel::mma::has_emitter(opcode)
}

impl Kernel<'_> {
    /// Writes the op `op` on tiles.
    pub(crate) fn matrix(&mut self, op: Op) {
        let opcode = self.func.opcode(op);
        if tc_kernel::wmma::has_emitter(opcode) {
            wmma::write(self, op);
        } else if mma::is_product_or_load(opcode) {
            mma::write(self, op);
        } else {
            copies::write(self, op);
        }
    }
}
