//! Puts tensor intrinsics in the place of the loops that they stand for: those that a schedule marked, and products of tiles.
//!
//! An intrinsic (`te.intrin`) says what it computes, and by which ops. A loop that computes the same, up to the names of
//! its axes, becomes those ops.
//!
//! # Input form
//!
//! `multi-dimensional`; after `simplify`, which brings indices into their canonical form, and before loops are divided or
//! copied. A loop is marked by `attributes {tensorize = @intrinsic}`.
//!
//! # Output form
//!
//! No loop is marked. Ops of `wmma` and `mma` take regions of buffers of tiles.
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
//! For each marked loop:
//!
//! 1. The intrinsic is one of the module, or else of the library (docs/intrinsics.md).
//! 2. The loop must be a perfect nest around one store. A reduction may have its first step beside it.
//! 3. The store and what is stored are compared with the `compute`, op by op, for each order of the operands of its
//!    commutative ops. An index must be the intrinsic's, up to a start that is free of the loops, with the same steps; so
//!    an axis is taken for a loop, of the same extent. Loops and dimensions of extent 1 may be missing. Element types must
//!    be equal. A parameter without a scope takes buffers in `global`, `shared` and `shared.dyn`, one in `shared` those in
//!    `shared.dyn` too, and any other those in its own.
//! 4. A parameter with `strides` takes rows at any such distance, and its symbols stand for them; what the header says of
//!    symbols after `where` must follow. One without takes a compact tile. Where a parameter has an `align` or
//!    `offset_factor`, the tile must provably start at such a multiple; the buffer, where it is made or is an argument
//!    that says nothing of it, is aligned so from then on.
//! 5. A nest that stores the identity of the combiner becomes `init`, one that adds to what is there `update`, one that
//!    does both `init` and `update`, or `body`. Where the intrinsic has an `update` alone, the first step stays a loop.
//!    `P` becomes `&X[… : 16, … : 16]`, and `&P[i : 1, j : 8]` a part of it.
//!
//! Without marks the same is done where buffers in scopes of tiles are used: products of them, and for `wmma` fills,
//! loads and stores too, are compared with all intrinsics of the library but those whose numbers differ from what they
//! stand for (`numerics`): these must be named. For `mma` all but products stays loops (see `distribute-fragments`).
//!
//! With `auto-plain`, a product of arrays in `local` that all threads of a warp compute alike is tried in scopes of
//! `wmma`, and stays there if that makes all loops over them ops.
//!
//! # Limits
//!
//! Buffers are not flat yet, and no references. A buffer of tiles has a tile in its last two dimensions. Of an
//! intrinsic the orders of 6 commutative ops are tried. A condition inside the nest, a loop that is bound to threads, and
//! extents that are not constant are refused with the first difference.
//!
//! # Remarks
//!
//! `tensorize`, without being asked for: a loop over tiles that no mark names and that stays, with the intrinsic that comes
//! closest; and, with `auto-plain`, a product that is used otherwise too. A mark that does not fit is refused.
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
mod plain;
mod reduction;
mod show;
mod site;
mod substitute;
mod tile;

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
        let mut changed = marked::run(func, shelves, cx);
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
