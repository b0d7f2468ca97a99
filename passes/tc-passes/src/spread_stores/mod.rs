//! Spreads the bulk copies of results over the steps of the next tile.
//!
//! A copy engine works on one copy after the other. A whole tile of results takes it as long as several steps of products bring
//! factors in, and these wait. Copies that say `pieces = n` go in `n` pieces instead, one in each step of the next tile.
//!
//! # Input form
//!
//! `flat`, after `inject-bulk-sync` and `warp-specialize`: the copies are in the background, and one thread of a warpgroup
//! begins them, behind a fence and a barrier, at the end of an iteration of a loop over tiles.
//!
//! # Output form
//!
//! No copy in the background says `pieces`. The loop over tiles carries how many pieces of the tile before have begun, and
//! where these go; the loops over steps carry the number on. Maps have boxes of the size of a piece.
//!
//! # Example
//!
//! ```tir
//! for wave in 0..4 {
//!   for step in 0..8 {
//!     …
//!     wgmma.commit_group()
//!     wgmma.wait_group(pending = 1)
//!   }
//!   …
//!   for tx in 0..128 bind(threadIdx.x) {
//!     if tx == 0 {
//!       tma.store(&C_map[wave * 64 : 64, 0 : 32], &CS[0 : 2048], background = true, pieces = 4)
//!       tma.commit_group()
//!     }
//!   }
//! }
//! ->
//! for wave in 0..4 carry(begun = 4, start = 0) {
//!   for step in 0..8 carry(begun_here = begun) {
//!     …
//!     wgmma.commit_group()
//!     if begun_here < 4 {
//!       for tx in 0..128 bind(threadIdx.x) {
//!         if tx == 0 {
//!           tma.store(&C_map[start + begun_here * 16 : 16, 0 : 32], &CS[begun_here * 512 : 512], background = true)
//!           tma.commit_group()
//!         }
//!       }
//!     }
//!     wgmma.wait_group(pending = 1)
//!     yield min(begun_here + 1, 4)
//!   }
//!   …
//!   yield 0, wave * 64
//! }
//! ```
//!
//! # Algorithm
//!
//! 1. Find the loop over tiles around copies that say `pieces`, and in its body the loops over steps: the first that holds a group of
//!    products, the first in that, and so on.
//! 2. Cut each box into its pieces: the outer dimensions are divided first, so that a piece lies in one stretch of shared memory. Where
//!    several copies follow each other, such as those of panels, the pieces of the first come first: `if begun < 4 { … } else { … }`.
//! 3. The loop over tiles carries the number of pieces that have begun, at first all of them, and the coordinates of the copies
//!    as far as they differ from tile to tile. What computes the others is moved before it.
//! 4. Each step begins the next piece behind its group of products. What is left after the last step is begun there, and, after
//!    the last tile, behind the loop over tiles. The waits of `inject-bulk-sync` stay where they were.
//!
//! # Limits
//!
//! The first thread of each warpgroup begins the copies, under no other condition, as the last statement of the loop over tiles.
//! Nothing accesses the buffer, begins copies to tensors or waits for them, in or before the steps. The buffer is made in the loop
//! over tiles, or around it. Several warpgroups are ordered by `mbarrier`s. A piece begins at a multiple of eight rows of its
//! swizzle. Where that does not hold, copies stay whole, with a warning.
//!
//! # Remarks
//!
//! None.
//!
//! # References
//!
//! Overlapped epilogues: CUTLASS 3, "sm90 epilogue with TMA and warp specialization", reuse of shared memory with delayed stores.
//! PTX ISA 8.7, "cp.async.bulk.tensor".

mod emit;
mod find;

use crate::analysis::fold;
use crate::analysis::launch::LaunchNests;
use rustc_hash::FxHashSet;
use tc_dialects::{forms, tir};
use tc_ir::walk::all_ops;
use tc_ir::{Func, Op, Rewriter, keys};
use tc_pass::{FuncPass, PassCx, PassInfo, PassKind};

tc_pass::options! {
    /// `spread-stores` has no options.
    pub struct Options {}
}

/// The row.
pub const INFO: PassInfo = PassInfo {
    name: "spread-stores",
    page: tc_support::page!("mod.rs"),
    anchor: "tir.func",
    options: Options::INFO,
    requires: &[&forms::FLAT],
    establishes: &[],
    preserves: &[],
    make: |raw| Options::read(raw).map(|_| PassKind::Func(tir::FUNC, Box::new(SpreadStores))),
};

/// The pass.
pub struct SpreadStores;

impl FuncPass for SpreadStores {
    fn run(&self, func: &mut Func, cx: &mut PassCx) -> bool {
        let asked: Vec<Op> = all_ops(func).filter(|&op| find::is_asked(func, op)).collect();
        if asked.is_empty() {
            return false;
        }
        // Of loops over threads none is made anew.
        let nests = cx.analysis::<LaunchNests>(func);
        let unordered: Vec<Op> =
            nests.iter().filter(|nest| find::is_unordered(func, nest)).map(|nest| nest.op).collect();
        let new = fold::mark(func);
        let mut done: FxHashSet<Op> = FxHashSet::default();
        for first in asked {
            // Those that begin together go together.
            if done.contains(&first) {
                continue;
            }
            match find::find(func, first, &unordered) {
                Ok(tile) => {
                    emit::emit(func, &tile);
                    done.extend(tile.copies.iter().map(|copy| copy.op));
                    cx.count("tiles that leave in pieces", 1);
                }
                Err((copies, warning)) => {
                    cx.report(warning);
                    for &copy in &copies {
                        let attrs = func.without_entry(func.op_attrs(copy), keys::PIECES);
                        Rewriter::new(func).set_attrs(copy, attrs);
                    }
                    done.extend(copies);
                }
            }
        }
        fold::fold_new(func, new);
        true
    }
}
