//! Products of a warpgroup. What LLVM may not do between a product and the wait for it, `tc_kernel::ptx::wgmma` says; fences and
//! waits hold the arrays that products access.

use crate::functions::Function;
use crate::kernel::Kernel;
use std::rc::Rc;
use tc_dialects::wgmma::{Descriptor, Side, shape};
use tc_ir::{Op, keys};
use tc_kernel::access::element;
use tc_kernel::facts::n_elements;
use tc_kernel::ptx::wgmma::{GRAIN, Left, Product, packed};
use tc_kernel::warpgroup::arrays_in_sight;

/// Threads of a warpgroup, as a power of two.
const WARPGROUP_BITS: i128 = 7;

/// Begins the product `op`.
pub(crate) fn product(k: &mut Kernel<'_>, op: Op) {
    let func = k.func;
    let product = Product::of(func, op);
    let left = match product.map(|product| product.left) {
        Some(Left::Registers) => Some(k.pointer(func.operand(op, 1)).0),
        _ => Side::A.descriptor(func, op).map(|a| descriptor(k, op, Side::A, a)),
    };
    let (Some(product), Some(a), Some(b)) = (product, left, Side::B.descriptor(func, op)) else {
        k.stray("a product of a warpgroup without descriptors");
        return;
    };
    let args = [k.pointer(func.operand(op, 0)).0, a, descriptor(k, op, Side::B, b)];
    k.call(Function::Mma(product), &args);
}

fn descriptor(k: &mut Kernel<'_>, op: Op, side: Side, descriptor: Descriptor) -> Rc<str> {
    let place = k.func.operand(op, side.operand());
    let bytes = shape(k.func, op).map_or(1, |shape| i64::from(shape.factors.bytes()));
    let (memory, mut index, ahead) = k.position_apart(place);
    let mut ahead = ahead * bytes;
    if ahead % GRAIN != 0 {
        (_, index) = k.position(place);
        ahead = 0;
    }
    let base = k.pointer_to(&memory, &index).0;
    let [leading, stride, swizzle] = descriptor.numbers().map(i128::from);
    let mode: i128 = match swizzle {
        128 => 1,
        64 => 2,
        32 => 3,
        _ => 0,
    };
    let grain = i128::from(GRAIN);
    let bits = (mode << 62) | ((stride / grain) << 32) | ((leading / grain) << 16);
    // Integers have no sign of their own: the bits of the word, as a number with one.
    let rest = k.int(i128::from(bits as u64 as i64), "i64");
    let args = [base, k.int(ahead.into(), "i32"), rest];
    k.call_of(Function::Descriptor, &args)
}

/// Orders writes of sums before the products that follow.
pub(crate) fn fence(k: &mut Kernel<'_>, op: Op) {
    hold_arrays(k, op);
    k.line("nvvm.wgmma.fence.aligned");
}

/// Makes a group of products.
pub(crate) fn commit(k: &mut Kernel<'_>, _: Op) {
    k.line("nvvm.wgmma.commit.group.sync.aligned");
}

/// Waits for groups of products.
pub(crate) fn wait(k: &mut Kernel<'_>, op: Op) {
    let pending = k.func.int_of(op, keys::PENDING).unwrap_or(0);
    k.line(format!("nvvm.wgmma.wait.group.sync.aligned {pending}"));
    hold_arrays(k, op);
}

/// Waits for the threads of the own warpgroup. Barrier 0 is that of the block.
pub(crate) fn barrier(k: &mut Kernel<'_>) {
    let thread = k.thread();
    let (bits, one, threads) = (k.int(WARPGROUP_BITS, "i32"), k.int(1, "i32"), k.int(1 << WARPGROUP_BITS, "i32"));
    let warpgroup = k.temp(format!("arith.shrui {thread}, {bits} : i32"));
    let id = k.temp(format!("arith.addi {warpgroup}, {one} : i32"));
    // MLIR 22 takes a location behind `nvvm.barrier` for the name of a reduction.
    let barrier = "llvm.call_intrinsic \"llvm.nvvm.barrier.cta.sync.aligned.count\"";
    k.line(format!("{barrier}({id}, {threads}) : (i32, i32) -> ()"));
}

/// Holds the arrays that products access and that are in sight of `op`.
fn hold_arrays(k: &mut Kernel<'_>, op: Op) {
    let func = k.func;
    for buffer in arrays_in_sight(func, op) {
        let (Some(elem), Some(n)) = (element(func, func.value_type(buffer)), n_elements(func, buffer)) else {
            continue;
        };
        let Ok(words) = u16::try_from(n as usize / packed(elem.elem)) else {
            k.stray("more registers than a thread has");
            return;
        };
        let array = k.pointer(buffer).0;
        k.call(Function::Hold(elem.elem, words), &[array]);
    }
}
