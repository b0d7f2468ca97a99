//! Fills a stage's buffer by bulk copies of boxes of a tensor (TMA), which a copy engine makes in the background.
//!
//! # Arguments
//!
//! `bulk_copy(STAGE, swizzle = w)`: the stage is a copy (`cache_read`) of a tensor into shared memory. Its buffer lies in
//! rows of `w` bytes (32, 64 or 128), whose 16-byte pieces the copy engine mixes so that eight rows below each other fall
//! into different banks; this is also how `wgmma` products read their factors. A dimension longer than a row is divided
//! into panels that follow each other. With `swizzle = 0`, rows are as long as the stage's and not mixed. The default is
//! 128, or less where the rows are shorter.
//!
//! No loop of the stage is bound: one thread begins each copy. If the loop that the stage is computed at has `pipeline`,
//! the pass `warp-specialize` gives the copies warps of their own, and derives all barriers.
//!
//! # Legality
//!
//! - The stage is made by `cache_read`, and no directive swizzles its buffer or pads its rows: `bulk_copy` chooses how it
//!   lies. `transform_layout` may join dimensions, in their order.
//! - No loop of the stage is bound, vectorized, unrolled or tensorized; this and the next point are checked at the end of
//!   the schedule.
//! - The stage is in shared memory, inside a kernel, and copies a tensor of global memory unchanged, or one that a stage
//!   with `inline` pads by zeros.
//!
//! The pass `inject-bulk-copy` checks the box: at most 5 dimensions of at most 256 elements, each, every second and up to
//! every eighth of the tensor's, rows and strides that are multiples of 16 bytes, zeros outside of the tensor alone, the
//! same box for all threads of a block. Targets before sm_90 lack bulk copies.
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
use crate::graph::{Source, StageId};
use tc_dialects::sched::BulkCopy;
use tc_ir::{Attr, Func, Loc, Name, keys};

/// How a stage that bulk copies fill is swizzled, and the directive that says so.
#[derive(Clone, Debug)]
pub(crate) struct CopiedInBulk {
    /// The bytes of a row whose pieces are mixed; `None` where the pass chooses.
    width: Option<i64>,
    loc: Loc,
}

impl Primitive for BulkCopy {
    type Legal = (StageId, Option<i64>);

    fn legality(cx: &Cx<'_>) -> Done<(StageId, Option<i64>)> {
        let stage = cx.computed(cx.operand(0))?;
        let data = &cx.graph[stage];
        if data.source != Source::Copy || data.output {
            let text = format!("`{}` is computed, and a bulk copy changes nothing on the way", data.name);
            let help = format!("name a copy into shared memory: `cache_read({}, shared, …)` makes one", data.name);
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
        Ok((stage, width))
    }

    fn edit(cx: &mut Cx<'_>, (stage, width): (StageId, Option<i64>)) -> Vec<Item> {
        let loc = cx.loc();
        cx.graph[stage].parts.set(CopiedInBulk { width, loc });
        cx.touch(stage);
        Vec::new()
    }
}

impl StagePart for CopiedInBulk {
    fn fills_with_zeros(&self) -> bool {
        true
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
        vec![(keys::BULK, width)]
    }
}
