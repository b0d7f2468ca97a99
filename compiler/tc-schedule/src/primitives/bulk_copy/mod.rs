//! Copies between a stage's buffer and a tensor by boxes (TMA), which a copy engine moves in the background.
//!
//! # Arguments
//!
//! `bulk_copy(STAGE, swizzle = w, pieces = n)`: the stage is a copy (`cache_read`) of a tensor into shared memory, or what `cache_write`
//! leaves in shared memory of a result, which is then copied to its tensor. Its buffer lies in rows of `w` bytes (32, 64 or 128), whose 16-byte pieces the copy engine mixes so that eight rows below each other fall
//! into different banks; this is also how `wgmma` products read their factors. A dimension longer than a row is divided
//! into panels that follow each other. Rows of the stage that are shorter than `w`, and lie side by side in the tensor too, are
//! copied as rows of `w` bytes: the copy engine takes the time of 128 bytes for any row. A product of warpgroups reads such a left
//! factor in another order of rows, in which its sums then lie in registers. With `swizzle = 0`, rows are as long as the stage's
//! and not mixed. The default is 128 for what is copied to a tensor; for what is read, the greatest that divides a row.
//!
//! No loop that copies is bound: one thread begins each copy. If the loop that a `cache_read` is computed at has `pipeline`,
//! the pass `warp-specialize` gives the copies warps of their own, and derives all barriers. Threads fill what a
//! `cache_write` leaves, so its own loops are bound as others are; `inject-bulk-sync` orders the two.
//!
//! A copy engine works on one copy after the other, and products of the next tile wait for their factors meanwhile. Where a block
//! computes several tiles, what a warpgroup copies with `pieces = n` goes in `n` pieces, one in each step of the next tile, and the
//! rest after its last step. Where a block computes one tile, or the sum of a tile is one step, it leaves as a whole, as with `pieces = 1`.
//!
//! # Legality
//!
//! - The stage is made by `cache_read` or `cache_write`, and no directive swizzles its buffer or pads its rows: `bulk_copy`
//!   chooses how it lies. `transform_layout` may join dimensions in their order, or divide and exchange them where each copy
//!   stays one box.
//! - No loop that copies is bound, vectorized, unrolled or tensorized: those of a `cache_read`, and those of the result
//!   inside of where a `cache_write` is computed. This and the next point are checked at the end of the schedule.
//! - Only what is copied to a tensor goes in pieces, 1 to 256 of them. A part of 64 rows of 128 f16, say, is two boxes of rows of 128
//!   bytes; each of them is cut along its outer dimensions into equally many pieces that are multiples of eight rows: 2, 4, 8 or 16 in all.
//! - The stage is in shared memory, inside a kernel, and copies a tensor of global memory unchanged, or one that a stage
//!   with `inline` pads by zeros, or is copied to such a tensor.
//!
//! The pass `inject-bulk-copy` checks the box: at most 5 dimensions of at most 256 elements, each, every second and up to
//! every eighth of the tensor's, rows and strides that are multiples of 16 bytes, zeros outside of the tensor alone, the
//! same box for all threads of a block; `spread-stores` that the box can be cut into the pieces, and that there are steps for
//! them. Targets before sm_90 lack bulk copies.
//!
//! # Rewrite
//!
//! ```tir
//! for r in 0..8 { alloc T: f16[64, 64] in shared  … }
//! -> bulk_copy(T, swizzle = 128)
//! for r in 0..8 { alloc T: f16[64, 64] in shared attributes {bulk = 128}  … }
//! ```
//!
//! # Known elsewhere as
//!
//! `cacheAfter` with `CpAsyncBulkTensorTile` (nvFuser), `T.copy` with TMA (TileLang), descriptor loads (Triton),
//! `nvgpu.tma.async.load` (MLIR).

mod check;

use super::{Primitive, StagePart};
use crate::check::Check;
use crate::directive::{Cx, Done, Item};
use crate::graph::{Graph, Source, StageId};
use tc_dialects::sched::BulkCopy;
use tc_dialects::tma::MAX_PIECES;
use tc_ir::{Attr, Func, Loc, Name, keys};

/// How a stage that bulk copies fill or read is swizzled, and the directive that says so.
#[derive(Clone, Debug)]
pub(crate) struct CopiedInBulk {
    /// The stage is copied to a tensor, and not from one.
    is_result: bool,
    /// The bytes of a row whose pieces are mixed; `None` where the pass chooses.
    width: Option<i64>,
    /// In how many pieces a warpgroup's part leaves; `None` as a whole.
    pieces: Option<i64>,
    loc: Loc,
}

impl Primitive for BulkCopy {
    type Legal = (StageId, CopiedInBulk);

    fn legality(cx: &Cx<'_>) -> Done<(StageId, CopiedInBulk)> {
        let stage = cx.computed(cx.operand(0))?;
        let data = &cx.graph[stage];
        let is_read = data.source == Source::Copy && !data.output;
        let is_result = !is_read && result_of(cx.graph, stage).is_some();
        if !is_read && !is_result {
            let text = format!("`{}` is computed, and a bulk copy changes nothing on the way", data.name);
            let is_left = cx.graph.consumers(stage).any(|reader| cx.graph[reader].source == Source::Copy);
            let help = match (data.output, is_left) {
                (true, _) => format!("name what `cache_write({}, shared)` leaves in shared memory", data.name),
                (_, true) => {
                    "only results of the operator leave by bulk copies, each read by its copy alone".to_string()
                }
                _ => format!("name a copy into shared memory: `cache_read({}, shared, …)` makes one", data.name),
            };
            return Err(cx.error("bulk-copy", text).help(help).into());
        }
        if let Some(CopiedInBulk { loc, .. }) = data.parts.get() {
            let text = format!("that bulk copies fill `{}` was said before", data.name);
            return Err(cx.said_twice(text).label(cx.location(*loc), "here").into());
        }
        let width = cx.param(1).map(|width| cx.int(width)).transpose()?;
        if let Some(width) = width.filter(|width| !matches!(width, 0 | 32 | 64 | 128)) {
            let text = format!("rows of 32, 64 or 128 bytes are swizzled, or none with 0, but not of {width}");
            return Err(cx.wrong_number(text).help("take `swizzle = 128` where rows have that many bytes").into());
        }
        let pieces = cx.param(2).map(|pieces| cx.int(pieces)).transpose()?;
        if let Some(pieces) = pieces {
            if !is_result {
                let text = format!("`{}` is read, and only what is copied to a tensor leaves in pieces", data.name);
                return Err(cx.error("pieces", text).help("leave out `pieces`").into());
            }
            if !(1..=MAX_PIECES).contains(&pieces) {
                let text = format!("a tile leaves in 1 to {MAX_PIECES} pieces, not {pieces}");
                return Err(cx.wrong_number(text).help("let it leave as a whole: leave out `pieces`").into());
            }
        }
        let pieces = pieces.filter(|&pieces| pieces > 1);
        Ok((stage, CopiedInBulk { is_result, width, pieces, loc: cx.loc() }))
    }

    fn edit(cx: &mut Cx<'_>, (stage, copied): (StageId, CopiedInBulk)) -> Vec<Item> {
        cx.graph[stage].parts.set(copied);
        cx.touch(stage);
        Vec::new()
    }
}

/// The stage that copies what `cache_write` left in `stage`, the only one that reads it.
fn result_of(graph: &Graph, stage: StageId) -> Option<StageId> {
    let mut readers = graph.consumers(stage);
    let reader = readers.next().filter(|&reader| graph[reader].source == Source::Copy && graph[reader].output)?;
    readers.next().is_none().then_some(reader)
}

impl StagePart for CopiedInBulk {
    fn copied_by_boxes(&self) -> bool {
        true
    }

    fn leaves_in_bulk(&self) -> bool {
        self.is_result
    }

    fn directive(&self) -> Option<Loc> {
        self.pieces.map(|_| self.loc)
    }

    fn check(&self, check: &mut Check<'_>, stage: StageId) {
        if check.is_whole() {
            check::copies_a_box(self, check, stage);
        }
    }

    fn attrs(&self, func: &mut Func, _: Option<&[i64]>) -> Vec<(Name, Attr)> {
        let width = match self.width {
            Some(width) => func.int_attr(width),
            None => func.word_attr("any"),
        };
        let mut attrs = vec![(if self.is_result { keys::BULK_OUT } else { keys::BULK }, width)];
        attrs.extend(self.pieces.map(|pieces| (keys::PIECES, func.int_attr(pieces))));
        attrs
    }
}
