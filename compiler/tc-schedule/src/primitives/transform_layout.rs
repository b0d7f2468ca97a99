//! Stores a stage's buffer by other indices.
//!
//! # Arguments
//!
//! `transform_layout(STAGE) (i, j) { yield j / 8, i, (j % 8) ^ (i & 7) }`: the region maps the indices of the buffer,
//! which start at 0 where the stage's region starts, to new ones. Loops stay as they are.
//!
//! # Legality
//!
//! - The stage is computed, is no result of the operator, and no directive pads its strides.
//! - The map takes an index a dimension, and yields one or more integers that are not negative.
//! - It maps no two elements to one place. That is checked by trying all of them, so the buffer has at most 2^20.
//!
//! # Rewrite
//!
//! ```tir
//! alloc T: f32[8, 16] in shared
//! T[i, j] = A[i, j]
//! -> transform_layout(T) (i, j) { yield j, i }
//! alloc T: f32[16, 8] in shared
//! T[j, i] = A[i, j]
//! ```
//!
//! # Known elsewhere as
//!
//! `transform_layout` (TVM), `store_in` with `reorder_storage` (Halide), memory layouts (MLIR).

use crate::directive::{Cx, Done};
use crate::graph::StageId;
use crate::layout::Layout;

pub(super) fn apply(cx: &mut Cx<'_>) -> Done<()> {
    let (stage, layout) = legality(cx)?;
    cx.graph[stage].layout = Some(layout);
    cx.touch(stage);
    Ok(())
}

fn legality(cx: &Cx<'_>) -> Done<(StageId, Layout)> {
    let stage = cx.stage(cx.sched.operand(cx.at, 0))?;
    cx.check_computed(stage)?;
    let data = &cx.graph[stage];
    let name = &data.name;
    if data.output {
        let text = format!("`{name}` is a result of the operator, whose layout the caller chooses");
        return Err(cx.error("layout-output", text).into());
    }
    if data.layout.is_some() {
        let text = format!("the layout of `{name}` was said before");
        return Err(cx.error("said-twice", text).help("leave out one of the two").into());
    }
    if let Some(&(axis, ..)) = data.aligns.first() {
        let text = format!("the strides of `{name}` are padded at `{}`, and a layout has no strides", cx.show(axis));
        return Err(cx.error("layout-strides", text).help("leave out `storage_align`, or pad in the map").into());
    }
    let region = cx.sched.op_regions(cx.at)[0];
    let (given, wanted) = (cx.sched.region_args(region).len(), data.data.len());
    if given != wanted {
        let text = format!("`{name}` has {wanted} dimensions, and the map takes {given} indices");
        return Err(cx.error("layout-rank", text).into());
    }
    if cx.sched.yielded(region).is_empty() {
        return Err(cx.error("layout-rank", "the map yields no index".to_string()).into());
    }
    Ok((stage, Layout::read(cx)?))
}
