//! Divides the tiles of `mma` among the threads of a warp, and the sums and left factors of `wgmma` among those of a warpgroup.
//!
//! A warp has one instance of a buffer in a storage scope `mma.…`. Before this pass its tiles have the order of memory,
//! so that plain loops can set them, compute with them and copy them. On the hardware each of 32 threads holds some
//! elements of a tile in its registers, as the instruction defines. This pass gives every thread its elements, and the
//! iterations over these elements.
//!
//! A buffer in `mma.rows` or `wgmma.rows` has a number for each row, which all four threads hold that have parts of the row. A
//! loop over columns may read it, and reduce into it: `M[i] = max(M[i], S[i, j])`.
//!
//! # Input form
//!
//! `multi-dimensional`; after `tensorize-to-wmma`, before `storage-flatten` and `thread-sync`.
//!
//! # Output form
//!
//! No buffer is in a storage scope `mma.…` or `wgmma.…`; these buffers are now in `local`, aligned to 16 bytes. The ops
//! take contiguous ranges of them, those of `mma` have no layouts, and are in a loop bound to `threadIdx.x`, of extent 32,
//! or 128 where `wgmma` is.
//!
//! # Example
//!
//! ```tir
//! alloc CF: f32[16, 8] in mma.accumulator
//! mma.sync(&CF[0 : 16, 0 : 8], &AF[0 : 16, 0 : 16], &BF[0 : 16, 0 : 8])
//! for i in 0..16 {
//!   for j in 0..8 {
//!     C[i, j] = max(CF[i, j], 0.0)
//!   }
//! }
//! ->
//! alloc CF: f32[4] in local attributes {align = 16}
//! for lane in 0..32 bind(threadIdx.x) {
//!   mma.sync(&CF[0 : 4], &AF[0 : 8], &BF[0 : 4])
//! }
//! for lane in 0..32 bind(threadIdx.x) {
//!   for i_piece in 0..2 unroll {
//!     let i = i_piece * 8 + lane / 4
//!     for j_next in 0..2 vectorize {
//!       let j = lane % 4 * 2 + j_next
//!       C[i, j] = max(CF[i_piece * 2 + j_next], 0.0)
//!     }
//!   }
//! }
//! ```
//!
//! # Algorithm
//!
//! 1. Find the buffers. `mma.sync` determines the extents and the layout of its tiles, and so the mapping of elements
//!    to threads; without one, `mma.ldmatrix` does. Refuse any other access. A left factor of `wgmma` that was swizzled in longer
//!    rows than its own is read in another order of rows, which the product states (`a_rows`), and its sums are held in that order.
//! 2. For each load or store of an element find its pair of loops: one along the last but one dimension, one along the
//!    last, in either order, with other loops between or around. A buffer that no matrix op takes has the mapping of
//!    the buffers that it exchanges elements with, or else that of its storage scope.
//! 3. Choose the mapping of every such loop: along one dimension of a tile `lane / 4` selects the element within eight,
//!    along the other `lane % 4` selects the group of neighbours within four groups. Refuse a loop that needs two
//!    mappings: no thread holds both elements. Of the 64 rows of `wgmma` each of four warps has 16: `lane / 32` selects
//!    them, and `lane % 32 / 4` the element within eight. An index may be a sum over several loops, such as `h * 16 + p * 8 + t *
//!    2 + e`: lanes divide the one that runs over what they divide, and the others run in each thread. So a statement may
//!    permute what a thread holds: sums become a left factor of 8-bit numbers in another order of columns.
//!    Where a load and another access want different mappings, such as a transposed read or a factor of 8-bit numbers from sums,
//!    the elements go through shared memory: the buffer is stored there before the nest, by a tile for each warp or warpgroup, and
//!    the load is of that tile. A nest that stores to the buffer as well is refused.
//! 4. Check that the iterations of a nest can be divided: they are independent of one another and of the thread that
//!    runs them, and leave no values in memory that is private to a thread. Reductions along rows are exempt: `sum`, `prod`,
//!    `min` or `max` into a number that nothing else accesses in the loop.
//! 5. Let each thread reduce its own columns, then the four threads of a row by two shuffles, and each of them combine the total
//!    with the number that was there.
//! 6. Replace each loop by two, over pieces and over neighbours. If neighbours are contiguous in another buffer that
//!    the nest accesses, the loop over them is a `vectorize` loop. Put a loop over lanes around a nest and a matrix op,
//!    unless there is one. What others see of a row or a column is written by one of its threads.
//! 7. Rewrite accesses, references and buffers to registers. Between 6 and 7 they do not match.
//! 8. Set the kind of serial loops whose variables select a register to `unroll`: registers have no addresses.
//!
//! # Limits
//!
//! A sum along the columns of a tile, and a single element, need elements of other threads: copy the tile to shared memory for
//! these. The loops over a tile have constant extents. Adjacent lane loops are not merged.
//!
//! # Remarks
//!
//! `in-shared-memory`: a load of elements that other threads hold. `not-unrolled`: a loop without constant bounds that selects a
//! tile. A tile that cannot be divided is an error.
//!
//! # References
//!
//! PTX ISA 8.7, "Matrix Fragments for mma.m16n8k16" and its siblings, `ldmatrix`. TVM 0.16,
//! `src/tir/transforms/ lower_warp_memory.cc`, for the idea of memory that a warp shares.

mod axes;
mod check;
mod exchange;
mod find;
mod lanes;
mod layout;
mod nests;
mod reductions;
mod registers;
mod spread;

use crate::analysis::{fold, tiles};
use crate::check_bounds;
use rustc_hash::FxHashSet;
use tc_dialects::fragment::Family;
use tc_dialects::{forms, tir};
use tc_ir::{Func, Op, Value};
use tc_pass::{FuncPass, PassCx, PassInfo, PassKind};
use tc_support::Diagnostic;

tc_pass::options! {
    /// `distribute-fragments` has no options.
    pub struct Options {}
}

/// The row.
pub const INFO: PassInfo = PassInfo {
    name: "distribute-fragments",
    page: tc_support::page!("mod.rs"),
    anchor: "tir.func",
    options: Options::INFO,
    requires: &[&forms::MULTI_DIMENSIONAL],
    establishes: &[],
    preserves: &[],
    make: |raw| Options::read(raw).map(|_| PassKind::Func(tir::FUNC, Box::new(DistributeFragments))),
};

/// The most loads that go through shared memory.
const MOST_EXCHANGES: usize = 64;

/// The pass.
pub struct DistributeFragments;

impl FuncPass for DistributeFragments {
    fn run(&self, func: &mut Func, cx: &mut PassCx) -> bool {
        let mut exchanged = 0;
        let plan = loop {
            match plan(func) {
                Ok(plan) => break plan,
                Err(Obstacles { buffers, against }) => {
                    let loads = against.loads;
                    let exchanges = exchange::find(func, &buffers, &loads).unwrap_or_default();
                    if exchanges.is_empty() || exchanged + loads.len() > MOST_EXCHANGES {
                        against.found.into_iter().for_each(|diagnostic| cx.report(diagnostic));
                        return exchanged > 0;
                    }
                    exchanged += loads.len();
                    for exchange in &exchanges {
                        let found = exchange::through_shared_memory(func, &buffers[exchange.buffer], exchange);
                        cx.report(found);
                    }
                }
            }
        };
        cx.count("loads through shared memory", exchanged as u64);
        if plan.buffers.is_empty() {
            return false;
        }
        cx.count("buffers distributed", plan.buffers.len() as u64);
        cx.count("nests distributed", plan.nests.roots(func).len() as u64);
        let buffers: FxHashSet<Value> = plan.buffers.iter().map(|buffer| buffer.tiles.buffer).collect();
        rewrite(func, plan);
        let n_unrolled = tiles::unroll_loops_over(func, &buffers, cx);
        cx.count("loops unrolled", n_unrolled);
        true
    }
}

/// What is to be done.
struct Distribution {
    buffers: Vec<find::Buffer>,
    nests: nests::Nests,
    reductions: Vec<reductions::RowReduction>,
    /// For each buffer, the ranges that its references become.
    ranges: Vec<Vec<registers::RegisterRange>>,
}

/// Why nothing can be done yet.
struct Obstacles {
    buffers: Vec<find::Buffer>,
    against: nests::Contradictions,
}

impl From<Vec<Diagnostic>> for Obstacles {
    fn from(found: Vec<Diagnostic>) -> Obstacles {
        Obstacles { buffers: Vec::new(), against: found.into() }
    }
}

fn plan(func: &mut Func) -> Result<Distribution, Obstacles> {
    let mut buffers = find::find(func)?;
    let held: FxHashSet<Value> = buffers.iter().map(|buffer| buffer.tiles.buffer).collect();
    let out = if held.is_empty() { Vec::new() } else { check_bounds::certainly_out(func, &held) };
    if !out.is_empty() {
        return Err(out.into());
    }
    let mut nests = match nests::find(func, &mut buffers) {
        Ok(nests) => nests,
        Err(against) => return Err(Obstacles { buffers, against }),
    };
    let reductions = reductions::find(func, &buffers, &mut nests)?;
    let (mut ranges, mut found) = (Vec::new(), Vec::new());
    for buffer in &buffers {
        match registers::ranges(func, &mut nests.algebra, buffer) {
            Ok(list) => ranges.push(list),
            Err(diagnostic) => found.push(diagnostic),
        }
    }
    found.extend(check::nests(func, &buffers, &nests, &reductions));
    let users = registers::users(&buffers).into_iter().filter_map(|op| Some((op, lanes::family(func, op)?)));
    let mut warps: Vec<(Op, Family)> = users.collect();
    warps.extend(nests.roots(func).into_iter().map(|root| (root, nests.roles[&root].family())));
    found.extend(lanes::check(func, &warps));
    if found.is_empty() { Ok(Distribution { buffers, nests, reductions, ranges }) } else { Err(found.into()) }
}

fn rewrite(func: &mut Func, plan: Distribution) {
    let Distribution { buffers, mut nests, reductions, ranges } = plan;
    let new = fold::mark(func);
    reductions::emit(func, &buffers, &mut nests, &reductions);
    let pieces = spread::spread(func, &mut nests);
    registers::accesses(func, &buffers, &mut nests, &pieces);
    for buffer in &buffers {
        registers::retype(func, buffer);
        registers::mix_rows(func, buffer);
    }
    for op in registers::users(&buffers) {
        if let Some(family) = lanes::family(func, op) {
            lanes::enter(func, op, family);
        }
        registers::drop_layouts(func, op);
    }
    for (buffer, ranges) in buffers.iter().zip(&ranges) {
        registers::references(func, &nests.algebra, buffer, ranges);
    }
    fold::fold_new(func, new);
}
