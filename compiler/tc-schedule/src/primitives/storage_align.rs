//! Pads the stride of a dimension of a stage's buffer, against bank conflicts.
//!
//! # Arguments
//!
//! `storage_align(STAGE.axis, factor = e, offset = o)`: the stride of that dimension becomes the least number of
//! elements that is not below what it was and, divided by `e`, leaves the remainder `o`.
//!
//! # Legality
//!
//! - The axis is one of the stage's tensor, as the operator declares it; splitting its loop does not matter.
//! - `e` is at least 1, `o` is not negative.
//! - The stage is no result of the operator.
//!
//! # Rewrite
//!
//! ```tir
//! alloc T: f32[8, 16] in shared
//! -> storage_align(T.i, factor = 2, offset = 1)
//! alloc T: f32[8, 16] in shared attributes {strides = [17, 1]}
//! ```
//!
//! # Known elsewhere as
//!
//! `storage_align` (TVM), `align_storage` (Halide), padding.

use crate::directive::{Cx, Done, code_list};
use crate::graph::AxisId;

pub(super) fn apply(cx: &mut Cx<'_>) -> Done<()> {
    let (axis, factor, offset) = legality(cx)?;
    let stage = cx.graph[axis].stage;
    cx.graph[stage].aligns.retain(|(other, _, _)| *other != axis);
    cx.graph[stage].aligns.push((axis, factor, offset));
    cx.touch(stage);
    Ok(())
}

fn legality(cx: &Cx<'_>) -> Done<(AxisId, i64, i64)> {
    let axis = cx.axis(cx.sched.operand(cx.at, 0))?;
    let stage = cx.graph[axis].stage;
    cx.check_computed(stage)?;
    let data = &cx.graph[stage];
    if !data.data.contains(&axis) {
        let names: Vec<&str> = data.data.iter().map(|&axis| &*cx.graph[axis].name).collect();
        let text = format!("`{}` is no dimension of `{}`", cx.show(axis), data.name);
        return Err(cx.error("not-a-dimension", text).help(format!("its dimensions are {}", code_list(&names))).into());
    }
    if data.output {
        let text = format!("`{}` is a result of the operator, whose strides the caller chooses", data.name);
        return Err(cx.error("align-output", text).into());
    }
    if data.layout.is_some() {
        let text =
            format!("the layout of `{}` is mapped by `transform_layout`, and so has no strides to pad", data.name);
        return Err(cx.error("layout-strides", text).help("leave out one of the two").into());
    }
    let (Some(factor), Some(offset)) = (cx.param(1), cx.param(2)) else {
        return Err(cx.error("schedule-type", "`storage_align` takes `factor = …` and `offset = …`").into());
    };
    let (factor, offset) = (cx.positive(factor, "factor")?, cx.int(offset)?);
    if offset < 0 {
        return Err(cx.error("factor", format!("the offset of `storage_align` cannot be {offset}")).into());
    }
    Ok((axis, factor, offset))
}
