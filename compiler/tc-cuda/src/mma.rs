//! Products of tiles that lie in known registers, the loads that fill them, and asynchronous copies: calls of the
//! functions of [`ptx`](crate::ptx).

use crate::kernel::Kernel;
use crate::preamble::Helper;
use crate::ptx::Ptx;
use tc_dialects::mma::{held, transposed};
use tc_dialects::tir::place_type;
use tc_dialects::{gpu, mma};
use tc_ir::{Func, Op, keys};

impl Kernel<'_> {
    /// The call that stands for `op`.
    pub(crate) fn ptx_call(&mut self, op: Op) {
        let func = self.func;
        let Some(function) = ptx_of(func, op) else {
            self.stray("a matrix op or a copy of an unknown shape");
            return;
        };
        let mut name = self.needs.helper(Helper::Ptx(function));
        if let Ptx::WaitGroup = function {
            name.push_str(&format!("<{}>", func.int_of(op, keys::PENDING).unwrap_or(0)));
        }
        let mut args = Vec::new();
        for &operand in func.operands(op) {
            let arg = if place_type(func, operand).is_some() { self.address(operand) } else { self.lane(operand, 0) };
            args.push(arg);
        }
        self.call(op, &name, &args);
    }
}

/// The function that does what `op` says.
fn ptx_of(func: &Func, op: Op) -> Option<Ptx> {
    Some(match func.opcode(op) {
        mma::SYNC => {
            let [sum, a] = [0, 1].map(|nth| held(func, func.operand(op, nth)));
            let ((sums, n_sums), (factors, _)) = (sum?, a?);
            Ptx::Mma { factors, sums, n: if n_sums == 8 { 16 } else { 8 } }
        }
        mma::LDMATRIX => {
            let (elem, n) = held(func, func.operand(op, 0))?;
            let matrices = u8::try_from(n.checked_mul(elem.bytes().into())? / 4).ok()?;
            Ptx::LoadMatrix { matrices, transposed: transposed(func, op) }
        }
        gpu::COPY_ASYNC => Ptx::CopyAsync {
            bytes: u8::try_from(gpu::copied_bytes(func, op)?).ok()?,
            when: func.operands(op).len() > 2,
        },
        gpu::COMMIT_GROUP => Ptx::CommitGroup,
        gpu::WAIT_GROUP => Ptx::WaitGroup,
        _ => return None,
    })
}
