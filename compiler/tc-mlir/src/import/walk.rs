//! The ops of a block, one by one.

use super::module::name;
use super::state::{Known, Reader};
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::{BlockRef, OperationRef};

/// Ops whose reading lies elsewhere: with the op around them, or nowhere.
const ENDS: &[&str] = &["scf.yield", "gpu.return"];

/// What to do about ops of these kinds, by how their names start.
const HELP: &[(&str, &str)] = &[
    ("func.call", "put functions in the place of their calls first: `mlir-opt --inline`"),
    ("llvm.call", "put functions in the place of their calls first: `mlir-opt --inline`"),
    ("cf.", "write loops and conditionals by `scf.for` and `scf.if`"),
    ("scf.while", "write a loop with bounds, `scf.for`"),
    ("scf.parallel", "map loops to threads first: `mlir-opt --gpu-map-parallel-loops --convert-parallel-loops-to-gpu`"),
    ("affine.", "lower `affine` first: `mlir-opt --lower-affine`"),
    ("linalg.", "lower `linalg` first: `mlir-opt --convert-linalg-to-loops`"),
    ("nvvm.wmma.", "write products by `nvvm.mma.sync`: what a thread holds of a fragment is not known"),
    ("nvgpu.", "write `nvvm` ops, or an operator with a schedule, which `tensorize` makes one of"),
    ("gpu.subgroup_mma", "write an operator with a schedule, which `tensorize` makes one of"),
    ("gpu.all_reduce", "exchange values by `gpu.shuffle`, and through workgroup memory between warps"),
    ("gpu.subgroup_reduce", "exchange values by `gpu.shuffle`"),
    (
        "gpu.dynamic_shared_memory",
        "take a workgroup buffer of the kernel: `workgroup(%s: memref<…, #gpu.address_space<workgroup>>)`",
    ),
    ("memref.subview", "add the offsets to the indices: `mlir-opt --fold-memref-alias-ops`"),
    ("memref.collapse_shape", "compute the indices of the buffer itself: `mlir-opt --fold-memref-alias-ops`"),
    ("memref.expand_shape", "compute the indices of the buffer itself: `mlir-opt --fold-memref-alias-ops`"),
    ("vector.transfer", "write `vector.load` and `vector.store`"),
    ("memref.alloc", "make buffers by `memref.alloca`, or as workgroup buffers of the kernel"),
];

/// The help for everything else.
pub(crate) const OTHERWISE: &str = "docs/mlir.md, \"Programs from MLIR\", lists what is read";

impl Reader<'_> {
    /// Reads the ops of `block`, the only one of its region.
    pub(crate) fn block(&mut self, around: OperationRef<'_, '_>, block: BlockRef<'_, '_>) {
        if block.next_in_region().is_some() {
            let help = "write loops and conditionals by `scf.for` and `scf.if`";
            return self.refuse(around, "a region of several blocks has no counterpart", help);
        }
        let mut next = block.first_operation();
        while let Some(op) = next {
            self.op(op);
            next = op.next_in_block();
        }
    }

    fn op(&mut self, op: OperationRef<'_, '_>) {
        let name = name(op);
        let name = name.as_str();
        if ENDS.contains(&name) {
            return;
        }
        if name == "arith.constant" {
            return self.constant(op);
        }
        let is_read = self.bitwise(op, name)
            || self.conversion(op, name)
            || self.arithmetic(op, name)
            || self.memory(op, name)
            || self.control(op, name)
            || self.threads(op, name)
            || self.vector(op, name)
            || self.address(op, name)
            || self.matrix(op, name);
        if is_read {
            return;
        }
        let help = HELP.iter().find(|(start, _)| name.starts_with(start)).map_or(OTHERWISE, |&(_, help)| help);
        self.refuse(op, format!("`{name}` has no counterpart"), help);
        for nth in 0..op.result_count() {
            if let Ok(result) = op.result(nth) {
                self.bind(result.into(), Known::Missing);
            }
        }
    }
}
