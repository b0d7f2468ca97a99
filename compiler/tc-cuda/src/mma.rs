//! Products of tiles that lie in known registers, the loads that fill them, and asynchronous copies: calls of the
//! functions of [`ptx`](crate::ptx).

use crate::kernel::Kernel;
use crate::place::{buffer_of, references};
use crate::preamble::Helper;
use crate::ptx::Ptx;
use tc_dialects::mma::{held, transposed};
use tc_dialects::tir::place_type;
use tc_dialects::{gpu, mma};
use tc_ir::{Func, Op, Opcode, Value, keys};

/// Is `op` one of those that are written here?
pub(crate) fn has_emitter(opcode: Opcode) -> bool {
    [mma::SYNC, mma::LDMATRIX, gpu::COPY_ASYNC, gpu::COMMIT_GROUP, gpu::WAIT_GROUP].contains(&opcode)
}

/// The operands of `op` that are what a thread holds of a tile.
pub(crate) fn tiles(func: &Func, op: Op) -> &[Value] {
    match func.opcode(op) {
        mma::SYNC => func.operands(op),
        mma::LDMATRIX => &func.operands(op)[..1],
        _ => &[],
    }
}

/// What is wrong with `op`, beyond what its row asks for: the message, and the way out.
pub(crate) fn unwritable_op(func: &Func, op: Op) -> Option<(String, &'static str)> {
    for &place in tiles(func, op) {
        if let Some(finding) = misaligned(func, place, 4) {
            return Some((finding, "tiles are taken by words of 32 bits: let each start at a multiple of one"));
        }
    }
    let (places, bytes) = match func.opcode(op) {
        mma::LDMATRIX => (&func.operands(op)[1..], 16),
        gpu::COPY_ASYNC => (&func.operands(op)[..2], gpu::copied_bytes(func, op)?),
        _ => return None,
    };
    let finding = places.iter().find_map(|&place| misaligned(func, place, bytes))?;
    Some((finding, "let it start at a multiple of its own length"))
}

/// Says so where `place` certainly starts at no multiple of `bytes`: at a literal position.
fn misaligned(func: &Func, place: Value, bytes: i64) -> Option<String> {
    let (elem, _, _) = place_type(func, place)?;
    let size = i128::from(func.as_scalar(elem)?.bytes());
    let mut at = 0i128;
    for op in references(func, place) {
        if let Some(&index) = func.operands(op).get(1) {
            at += i128::from(func.const_int(index)?);
        }
    }
    let name = func.value_text(buffer_of(func, place));
    (at * size % i128::from(bytes) != 0).then(|| format!("byte {} of `{name}` is at no multiple of {bytes}", at * size))
}

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
