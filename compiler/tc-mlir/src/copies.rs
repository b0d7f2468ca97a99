//! Asynchronous copies from global to shared memory: `cp.async`, and the groups that are waited for.

use crate::kernel::Kernel;
use tc_dialects::gpu;
use tc_ir::{Op, keys};

/// Writes the end of a group of copies.
pub(crate) fn commit(kernel: &mut Kernel<'_>, _: Op) {
    kernel.line("nvvm.cp.async.commit.group");
}

/// Writes the wait for all groups but the last few.
pub(crate) fn wait(kernel: &mut Kernel<'_>, op: Op) {
    let pending = kernel.func.int_of(op, keys::PENDING).unwrap_or(0);
    kernel.line(format!("nvvm.cp.async.wait.group {pending}"));
}

/// Writes the copy `op`.
pub(crate) fn copy(kernel: &mut Kernel<'_>, op: Op) {
    let func = kernel.func;
    let Some(bytes) = gpu::copied_bytes(func, op) else {
        kernel.stray("a copy of an unknown length");
        return;
    };
    let (to, to_type) = kernel.pointer(func.operand(op, 0));
    let (from, from_type) = kernel.pointer(func.operand(op, 1));
    // Only copies of 16 bytes may leave the first-level cache alone.
    let cache = if bytes == 16 { "cg" } else { "ca" };
    let (size, size_type) = match func.operands(op).get(2) {
        // Where the condition does not hold nothing is read, and zeros are written.
        Some(&when) => {
            let (when, all, none) = (kernel.lane(when, 0), kernel.int(bytes.into(), "i32"), kernel.int(0, "i32"));
            let size = kernel.temp(format!("arith.select {when}, {all}, {none} : i32"));
            (format!(", {size}"), ", i32")
        }
        None => (String::new(), ""),
    };
    kernel.line(format!(
        "nvvm.cp.async.shared.global {to}, {from}, {bytes}, cache = {cache}{size} : {to_type}, {from_type}{size_type}"
    ));
}
