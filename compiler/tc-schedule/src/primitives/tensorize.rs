//! Lets a tensor intrinsic stand for the loops from an axis inwards.
//!
//! # Arguments
//!
//! `tensorize(axis, @intrinsic)`: `@intrinsic` is a `te.intrin` of the file, or one of the library. The loop of `axis` is
//! marked with it, and so is the outermost loop of the initialisation of a reduction that runs over what `axis` and
//! the loops inside it run over. The pass `tensorize-to-wmma` holds the marked nest against what the intrinsic computes,
//! and puts the intrinsic in its place.
//!
//! # Legality
//!
//! - `axis` is a loop of its stage, and it is not split or fused afterwards.
//! - One loop of a stage is tensorized.
//! - When the whole schedule is read, neither it nor a loop inside it is bound, unrolled or a vector, and no stage is
//!   computed there: an intrinsic stands for plain loops, and says itself how its work is shared among threads.
//!
//! Whether the nest computes what the intrinsic does, the pass finds out. A loop of one iteration that is tensorized is
//! kept, so that the mark is.
//!
//! # Rewrite
//!
//! ```tir
//! for j in 0..16 { for k in 0..16 { T[j, k] = A[j, k] } }
//! -> tensorize(T.j, @load)
//! for j in 0..16 attributes {tensorize = @load} { for k in 0..16 { T[j, k] = A[j, k] } }
//! ```
//!
//! # Known elsewhere as
//!
//! `tensorize` (TVM), `transform.structured.vectorize` to contractions that become `nvgpu.mma.sync` (MLIR).

use crate::directive::{Cx, Done};
use crate::graph::AxisId;
use tc_ir::{AttrData, Loc};
use tc_support::suggest;

pub(super) fn apply(cx: &mut Cx<'_>) -> Done<()> {
    let (axis, intrinsic) = legality(cx)?;
    let loc = cx.loc();
    let data = &mut cx.graph[axis];
    data.tensorize = Some((intrinsic, loc));
    if data.kind_loc == Loc::NONE {
        data.kind_loc = loc;
    }
    let stage = data.stage;
    cx.touch(stage);
    Ok(())
}

fn legality(cx: &Cx<'_>) -> Done<(AxisId, Box<str>)> {
    let axis = cx.leaf(cx.sched.operand(cx.at, 0))?;
    let intrinsic = cx.sched.attr_named(cx.at, "intrin").map(|attr| cx.sched.attr_data(attr));
    let Some(AttrData::Symbol(intrinsic)) = intrinsic else {
        return Err(cx.error("schedule-type", "`tensorize` takes an intrinsic, as in `@wmma_load_a`").into());
    };
    let stage = cx.graph[axis].stage;
    if let Some(at) = cx.graph.tensorized(stage)
        && let other = &cx.graph[cx.graph[stage].leaves[at]]
        && let Some((earlier, loc)) = &other.tensorize
    {
        let text = format!(
            "a loop of `{}` is tensorized already: `{}`, by `@{}`",
            cx.graph[stage].name,
            other.name,
            suggest::shorten(earlier)
        );
        let diagnostic = cx.error("tensorized-twice", text).label(cx.location(*loc), "it is tensorized here");
        let help =
            format!("leave out one of the two; another copy of `{}` is a stage of its own", cx.graph[stage].name);
        return Err(diagnostic.help(help).into());
    }
    Ok((axis, intrinsic.clone()))
}
