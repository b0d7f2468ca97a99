//! Merges the shared buffers of a kernel into one; those whose live ranges do not overlap share bytes.
//!
//! A kernel has one array of dynamic shared memory, whose size the launch gives, and only that may be larger than 48
//! KiB. The buffers in `shared.dyn` become views of one pool of bytes. Those in `shared` join them if they exceed the
//! limit of static shared memory, or with `merge-static`.
//!
//! # Input form
//!
//! `flat` and `hoisted`, and not `threaded`: buffers that reuse the same bytes need a barrier between them, which
//! `thread-sync` inserts.
//!
//! # Output form
//!
//! The same. A kernel has at most one alloc in `shared.dyn`.
//!
//! # Example
//!
//! ```tir
//! alloc S: f32[32] in shared.dyn
//! alloc T: i32[64] in shared.dyn
//! S[tx] = A[tx]
//! B[tx] = S[31 - tx]
//! T[tx] = I[tx]
//! J[tx] = T[31 - tx]
//! ->
//! alloc pool: u8[256] in shared.dyn
//! S = tir.view(pool, 0) : f32[32] in shared.dyn
//! T = tir.view(pool, 0) : i32[64] in shared.dyn
//! S[tx] = A[tx]
//! B[tx] = S[31 - tx]
//! T[tx] = I[tx]
//! J[tx] = T[31 - tx]
//! ```
//!
//! # Algorithm
//!
//! 1. Collect for each launch nest the buffers in `shared.dyn`; also those in `shared` with `merge-static`, or if they
//!    exceed the limit of static shared memory. A single buffer that may stay is left unchanged.
//! 2. Compute live ranges. The live range of a buffer goes from its first access to its last. An access in a loop, or
//!    under a divergent condition, extends over all of that loop or conditional: the next iteration may read what this
//!    one wrote, and no barrier can be inside the conditional. The destination of an asynchronous copy is live until
//!    its thread waits for all copies.
//! 3. Visit the buffers by size, the largest first, and give each the smallest gap that it fits into, among the placed
//!    buffers whose live ranges overlap its own. Each starts at a multiple of its alignment, at least 16 bytes, or 128
//!    if it is swizzled.
//! 4. Make the pool, in `shared` if that suffices and no buffer is in `shared.dyn`, and replace the allocs by views.
//!
//! # Limits
//!
//! The pass does not compute live ranges within a loop: buffers that are live in different parts of one loop keep their
//! own bytes. Buffers of non-constant size stay, and the emitter refuses them.
//!
//! # Remarks
//!
//! `not-merged`: a buffer that shares no bytes, with the buffers whose live ranges overlap its own; and buffers that
//! are not merged because they fit or because a size is open.
//!
//! # References
//!
//! Pisarchyk and Lee (2020), "Efficient memory management for deep neural net inference" (greedy by size). TVM 0.16,
//! `src/tir/transforms/merge_shared_memory_allocations.cc`, which runs after its barriers are placed.

mod live_range;
mod missed;
mod place;

use crate::analysis::launch::LaunchNests;
use crate::analysis::target;
use live_range::LiveRange;
use missed::Apart;
use tc_dialects::mbarrier::is_barrier_type;
use tc_dialects::scope::Scope;
use tc_dialects::{forms, tir};
use tc_ir::uses::Uses;
use tc_ir::verify::is_threaded;
use tc_ir::walk::ops_under;
use tc_ir::{AttrData, Builder, Elem, Func, Name, Op, Rewriter, Type, TypeData, Value, keys};
use tc_pass::{FuncPass, PassCx, PassInfo, PassKind, preserved};
use tc_support::Diagnostic;

tc_pass::options! {
    /// What `merge-shared-memory` can be told.
    pub struct Options {
        /// Merge the buffers in `shared` too, whatever their size.
        merge_static: bool = false,
    }
}

/// The row.
pub const INFO: PassInfo = PassInfo {
    name: "merge-shared-memory",
    page: tc_support::page!("mod.rs"),
    anchor: "tir.func",
    options: Options::INFO,
    requires: &[&forms::FLAT, &forms::HOISTED],
    establishes: &[],
    preserves: &[preserved::<LaunchNests>],
    make: |raw| Options::read(raw).map(|options| PassKind::Func(tir::FUNC, Box::new(MergeSharedMemory { options }))),
};

/// The alignment in bytes that buffers have unless they say otherwise.
const DEFAULT_ALIGNMENT: u64 = 16;

/// The bytes of all banks of shared memory, side by side: a swizzled buffer that starts at a multiple of these has its rows
/// in the banks that were meant.
const ALL_BANKS: u64 = 128;

/// The pass.
pub struct MergeSharedMemory {
    /// What it was given.
    pub options: Options,
}

impl FuncPass for MergeSharedMemory {
    fn run(&self, func: &mut Func, cx: &mut PassCx) -> bool {
        let target = target::of_run(cx);
        let mut changed = false;
        // Of the buffers of one nest, those of another are no users.
        let uses = cx.analysis::<Uses>(func);
        for nest in cx.analysis::<LaunchNests>(func).iter() {
            let chosen = match self.choose(func, nest.op, target.static_shared_per_block) {
                Choice::Merge(chosen) => chosen,
                Choice::Apart(reason) => {
                    reason.into_iter().for_each(|apart| cx.missed(|| apart.remark(func)));
                    continue;
                }
            };
            if is_threaded(func) {
                let text =
                    "the threads of this program are synchronised already, and its buffers cannot share bytes any more";
                let help = "run `merge-shared-memory` before `thread-sync`";
                cx.report(Diagnostic::assumption("threaded", func.op_location(nest.op), text).help(help));
                return false;
            }
            let live_ranges = live_range::of(func, nest, &uses, &chosen);
            let (offsets, size) = place::place(&chosen, &live_ranges);
            if cx.wants_missed() {
                missed::tell(func, &chosen, &live_ranges, &offsets, cx);
            }
            let apart = chosen.iter().map(|buffer| buffer.bytes).fold(0u64, u64::saturating_add);
            cx.count("buffers merged", chosen.len() as u64);
            cx.count("bytes saved", apart.saturating_sub(size));
            let dynamic = chosen.iter().any(|buffer| buffer.dynamic) || size > target.static_shared_per_block;
            let scope = if dynamic { Scope::SharedDyn } else { Scope::Shared };
            make_pool(func, &uses, &chosen, &offsets, size, scope);
            changed = true;
        }
        changed
    }
}

/// What becomes of the buffers of a nest.
enum Choice {
    Merge(Vec<Buffer>),
    /// They stay apart; where there are several, for this reason.
    Apart(Option<Apart>),
}

/// A buffer that gets a place in the pool.
struct Buffer {
    alloc: Op,
    value: Value,
    bytes: u64,
    align: u64,
    /// It lies in `shared.dyn`.
    dynamic: bool,
}

impl MergeSharedMemory {
    /// The buffers of the nest to be merged, in the order of the text.
    fn choose(&self, func: &Func, nest: Op, most_static: u64) -> Choice {
        let inner = func.op_regions(nest).iter().flat_map(|&region| ops_under(func, region));
        let allocs = inner.filter(|&op| func.opcode(op) == tir::ALLOC);
        let mut buffers: Vec<Buffer> = Vec::new();
        for alloc in allocs {
            let Some(value) = func.result(alloc) else { continue };
            let Some((elem, _, scope)) = func.as_shaped(func.value_type(value)) else { continue };
            let Some(scope) = Scope::of_name(func, scope).filter(|scope| scope.is_shared()) else { continue };
            // Barriers are no numbers: they stay where they are.
            if is_barrier_type(func, elem) {
                continue;
            }
            let dynamic = scope.is_sized_by_launch();
            let Some(bytes) = tir::view_bytes(func, value).and_then(|bytes| u64::try_from(bytes).ok()) else {
                return Choice::Apart(Some(Apart::OpenSize(alloc)));
            };
            let natural = func.as_scalar(elem).map_or(1, |scalar| u64::from(scalar.bytes()).next_power_of_two());
            let declared = func.int_of(alloc, keys::ALIGN).and_then(|align| u64::try_from(align).ok()).unwrap_or(1);
            let swizzled = func.attr_of(alloc, keys::SWIZZLED).map_or(1, |_| ALL_BANKS);
            let align = natural.max(declared).max(swizzled).max(DEFAULT_ALIGNMENT);
            buffers.push(Buffer { alloc, value, bytes, align, dynamic });
        }
        let fixed = buffers.iter().filter(|buffer| !buffer.dynamic);
        let fixed = fixed.fold(0u64, |sum, buffer| {
            sum.div_ceil(buffer.align).saturating_mul(buffer.align).saturating_add(buffer.bytes)
        });
        let too_large = fixed > most_static;
        let fits = match buffers.iter().filter(|buffer| !buffer.dynamic).collect::<Vec<_>>()[..] {
            [first, _, ..] if !too_large && !self.options.merge_static => {
                Some(Apart::Fits(first.alloc, fixed, most_static))
            }
            _ => None,
        };
        if !too_large && !self.options.merge_static {
            buffers.retain(|buffer| buffer.dynamic);
        }
        // One buffer is merged with nothing, but may have to leave the memory of fixed size.
        let alone = buffers.len() < 2 && !(too_large && buffers.iter().any(|buffer| !buffer.dynamic));
        if alone { Choice::Apart(fits) } else { Choice::Merge(buffers) }
    }
}

/// Makes the pool before the first of the buffers, and views in their places.
fn make_pool(func: &mut Func, uses: &Uses, buffers: &[Buffer], offsets: &[u64], size: u64, scope: Scope) {
    let Some(first) = buffers.first() else { return };
    let align = buffers.iter().map(|buffer| buffer.align).fold(DEFAULT_ALIGNMENT, u64::max);
    let elem = func.elem_ty(Elem::U8);
    let extent = func.attr(AttrData::Int(i128::from(size), None));
    let scope = scope.name_in(func);
    let ty = func.ty(TypeData::Shaped { elem, shape: [extent].into(), scope: Some(scope) });
    let align_attr = func.attr(AttrData::Int(i128::from(align), None));
    let attrs: &[_] = if align > DEFAULT_ALIGNMENT { &[(keys::ALIGN, align_attr)] } else { &[] };
    let pool = tir::Alloc::build(&mut Builder::before(func, first.alloc), attrs, &[ty]);
    let Some(pool) = func.result(pool) else { return };
    let name = func.name("pool");
    func.set_value_name(pool, Some(name));
    let places: Vec<Op> = buffers.iter().flat_map(|buffer| live_range::places_in(func, uses, buffer.value)).collect();
    let mut rw = Rewriter::new(func);
    for (buffer, &offset) in buffers.iter().zip(offsets) {
        let ty = in_scope(rw.func_mut(), buffer.value, scope);
        let attrs = rw.func().op_attrs(buffer.alloc);
        let mut b = rw.before(buffer.alloc);
        let offset = b.index(i64::try_from(offset).unwrap_or(i64::MAX));
        let view = tir::View::build(&mut b, pool, offset, &[], &[ty]);
        let Some(result) = rw.func().result(view) else { continue };
        rw.set_attrs(view, attrs);
        rw.replace_op(buffer.alloc, &[result]);
    }
    // References to a buffer that moved, and views of it, say where it lies.
    for op in places {
        for result in rw.func().results(op).collect::<Vec<_>>() {
            let ty = in_scope(rw.func_mut(), result, scope);
            rw.set_type(result, ty);
        }
    }
}

/// The type of `place`, a buffer or a reference, in another scope.
fn in_scope(func: &mut Func, place: Value, scope: Name) -> Type {
    let ty = func.value_type(place);
    match func.type_data(ty).clone() {
        TypeData::Shaped { elem, shape, .. } => func.ty(TypeData::Shaped { elem, shape, scope: Some(scope) }),
        TypeData::Ref { elem, shape, .. } => func.ty(TypeData::Ref { elem, shape, scope: Some(scope) }),
        _ => ty,
    }
}
