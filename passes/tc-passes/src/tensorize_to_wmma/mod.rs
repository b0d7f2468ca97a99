//! Replaces loops by tensor intrinsics of `wmma` and `mma`: marked loops, and products of tiles.
//!
//! Despite its name the pass makes `mma` ops as well as `wmma` ops. An intrinsic (`te.intrin`) declares what it
//! computes, and the ops that do it. The pass replaces a loop that computes the same, up to the names of its axes, by
//! those ops.
//!
//! # Input form
//!
//! `multi-dimensional`; after `simplify`, which brings indices into their canonical form, and before passes that split
//! or copy loops. The mark of a loop is `attributes {tensorize = @intrinsic}`.
//!
//! # Output form
//!
//! No loop has a mark. The operands of `wmma` and `mma` ops are regions of buffers of tiles.
//!
//! # Example
//!
//! ```tir
//! for o in 0..4 {
//!   for kk in 0..16 attributes {tensorize = @wmma_load_b} {
//!     for oo in 0..16 {
//!       WF[o, kk, oo] = WS[tz * 4 + o, kk, oo]
//!     }
//!   }
//! }
//! ->
//! for o in 0..4 {
//!   wmma.load(&WF[o : 1, 0 : 16, 0 : 16], &WS[tz * 4 + o : 1, 0 : 16, 0 : 16], stride = 16, layout = row_major)
//! }
//! ```
//!
//! # Algorithm
//!
//! First drop conditions around sums in `wgmma.accumulator` whose factors bulk copies fill: those that are the same for all
//! steps of a sum, since nothing reads the elements that they kept from being written, and those that end the reduction
//! where the copies end, since there both factors are zero. So tiles may reach beyond a result. A condition inside of a marked
//! loop that is the same for all of it, such as a bound of an outer loop, moves before the loop.
//!
//! For each marked loop:
//!
//! 1. Find the intrinsic in the module, or else in the library (docs/intrinsics.md). A name that is none of these is one of a
//!    family, whose words are some of the words of its members: `@wgmma`, `@mma`, `@ldmatrix_b_trans`. It stands for the first
//!    member, those with the shortest names first, that computes the same as the loops. Of those with `numerics`, whose numbers
//!    are others than those in memory, the family says which: `@wgmma_tf32`.
//! 2. Require a perfect nest around one store. A reduction may have its first step beside it.
//! 3. Compare the store and its value with the `compute`, op by op, for each order of the operands of commutative ops.
//!    An index must equal the intrinsic's, plus an offset that does not depend on the loops; so each axis maps to a
//!    loop of the same extent. Loops and dimensions of extent 1 may be missing. Element types must be equal. A
//!    parameter without a storage scope takes buffers in `global`, `shared` and `shared.dyn`, one in `shared` also
//!    those in `shared.dyn`, and any other those of its own scope.
//! 4. A parameter with `strides` takes rows at any distance, and binds its symbols to it; the facts after `where` must
//!    hold. A parameter without takes a compact tile. If a parameter has an `align` or `offset_factor`, the tile must
//!    provably start at such a multiple; the pass sets this alignment on a buffer of the program, and on an argument
//!    without an alignment.
//! 5. Replace a nest that stores the identity of the combiner by `init`, one that accumulates by `update`, one that
//!    does both by `init` and `update`, or by `body`. If the intrinsic has an `update` alone, the first step stays a
//!    loop. `P` becomes `&X[… : 16, … : 16]`, and `&P[i : 1, j : 8]` a part of it.
//!
//! Without marks the pass does the same for buffers in storage scopes of tiles: it compares products of them, and for
//! `wmma` also fills, loads and stores, with all intrinsics of the library except those with `numerics`, whose results
//! differ from the replaced computation; a mark must name these. For `mma` all but products stay loops (see
//! `distribute-fragments`).
//!
//! With `auto-plain`, the pass tries the storage scopes of `wmma` for a product of arrays in `local` that all threads
//! of a warp compute alike, and keeps them if all loops over the arrays become ops.
//!
//! # Limits
//!
//! Buffers must not be flat, and no references. A buffer of tiles has a tile in its last two dimensions. The pass tries
//! the orders of at most 6 commutative ops of an intrinsic. It refuses a condition inside the nest, a loop bound to
//! threads, and non-constant extents, with the first difference.
//!
//! # Remarks
//!
//! `tensorize`, always printed: an unmarked loop over tiles that stays, with the nearest intrinsic; and, with
//! `auto-plain`, a product with other uses. A mark that does not match is an error.
//!
//! # References
//!
//! TVM 0.16, `src/te/schedule/tensorize.cc`; Feng et al. 2023, "TensorIR: An Abstraction for Automatic Tensorized Program
//! Optimization".

mod access;
mod attempt;
mod automatic;
mod expression;
mod find;
mod fit;
mod library;
mod marked;
mod matching;
mod outside;
mod plain;
mod reduction;
mod show;
mod site;
mod substitute;
mod tile;
mod unguard;

pub use library::Library;

use crate::analysis::fold;
use library::Shelves;
use tc_dialects::{forms, tir};
use tc_ir::{Func, Module};
use tc_pass::{ModulePass, PassCx, PassInfo, PassKind};

tc_pass::options! {
    /// What `tensorize-to-wmma` can be told.
    pub struct Options {
        /// Try products of arrays in `local` too, and put them into scopes of tiles.
        auto_plain: bool = false,
    }
}

/// The row.
pub const INFO: PassInfo = PassInfo {
    name: "tensorize-to-wmma",
    page: tc_support::page!("mod.rs"),
    anchor: PassInfo::MODULE,
    options: Options::INFO,
    requires: &[],
    establishes: &[],
    preserves: &[],
    make: |raw| Options::read(raw).map(|options| PassKind::Module(Box::new(TensorizeToWmma { options }))),
};

/// The pass.
pub struct TensorizeToWmma {
    /// What it was given.
    pub options: Options,
}

impl ModulePass for TensorizeToWmma {
    fn run(&self, module: &mut Module, cx: &mut PassCx) -> bool {
        let shelves = Shelves::of(module, cx.get::<Library>().cloned());
        let mut changed = false;
        for func in module.items.iter_mut() {
            if func.header.opcode == tir::FUNC && !forms::is_device(func) {
                changed |= self.one(func, &shelves, cx);
            }
        }
        changed
    }
}

impl TensorizeToWmma {
    fn one(&self, func: &mut Func, shelves: &Shelves, cx: &mut PassCx) -> bool {
        let since = fold::mark(func);
        let n_conditions = unguard::run(func);
        cx.count("conditions dropped", n_conditions);
        let n_moved = outside::run(func);
        cx.count("conditions moved before a loop", n_moved);
        let mut changed = marked::run(func, shelves, cx) | (n_conditions + n_moved > 0);
        if cx.diagnostics.has_errors() {
            return changed;
        }
        if self.options.auto_plain {
            changed |= plain::run(func, shelves, cx);
        }
        changed |= automatic::run(func, shelves, cx);
        if changed {
            fold::erase_unused(func, since);
        }
        changed
    }
}
