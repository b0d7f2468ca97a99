//! Replaces the loops from an axis inwards by a tensor intrinsic.
//!
//! # Arguments
//!
//! `tensorize(axis, @intrinsic)`: `@intrinsic` is a `te.intrin` of the file, or one of the library, or a family of these, some
//! words of their names: `@wgmma` is the product of a warpgroup that the loops compute, whatever its type and its width are. The directive marks
//! the loop of `axis`, and for a reduction the outermost loop of the initialisation that covers the same axes. The pass
//! `tensorize-to-wmma` compares the marked nest with the computation of the intrinsic, and replaces it.
//!
//! # Legality
//!
//! - `axis` is a loop of its stage, and it is not split or fused afterwards.
//! - A stage has at most one tensorized loop.
//! - At the end of the schedule neither the loop nor one inside it is bound, unrolled or vectorized, and no stage is
//!   computed there: an intrinsic replaces plain loops, and divides its work among threads itself.
//!
//! The pass checks whether the nest computes the same as the intrinsic. A tensorized loop of one iteration stays, to
//! keep the mark.
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

mod check;

use super::{AxisPart, Primitive};
use crate::check::Check;
use crate::directive::{Cx, Done, Item};
use crate::graph::{AxisId, Graph, StageId};
use tc_dialects::sched::Tensorize;
use tc_ir::{Attr, AttrData, Func, Loc, Name, keys};
use tc_support::suggest;

/// The tensor intrinsic that a loop and those inside are replaced by, and the directive that says so.
#[derive(Clone, Debug)]
pub(crate) struct Intrinsic {
    name: Box<str>,
    loc: Loc,
}

impl Primitive for Tensorize {
    type Legal = (AxisId, Intrinsic);

    fn legality(cx: &Cx<'_>) -> Done<(AxisId, Intrinsic)> {
        let axis = cx.leaf(cx.operand(0))?;
        let intrinsic = cx.sched.attr_named(cx.at, "intrin").map(|attr| cx.sched.attr_data(attr));
        let Some(AttrData::Symbol(intrinsic)) = intrinsic else {
            return Err(cx.mistyped("`tensorize` takes an intrinsic, as in `@wmma_load_a`").into());
        };
        let stage = cx.graph[axis].stage;
        if let Some((leaf, earlier)) = tensorized(cx.graph, stage) {
            let name = &cx.graph[stage].name;
            let text = format!(
                "a loop of `{name}` is tensorized already: `{}`, by `@{}`",
                cx.graph[leaf].name,
                suggest::shorten(&earlier.name)
            );
            let error = cx.error("tensorized-twice", text).label(cx.location(earlier.loc), "it is tensorized here");
            let help = format!("leave out one of the two; another copy of `{name}` is a stage of its own");
            return Err(error.help(help).into());
        }
        Ok((axis, Intrinsic { name: intrinsic.clone(), loc: cx.loc() }))
    }

    fn edit(cx: &mut Cx<'_>, (axis, intrinsic): (AxisId, Intrinsic)) -> Vec<Item> {
        cx.graph[axis].parts.set(intrinsic);
        cx.touch_loop(axis);
        Vec::new()
    }
}

/// The loop of `stage` that is tensorized.
fn tensorized(graph: &Graph, stage: StageId) -> Option<(AxisId, &Intrinsic)> {
    graph[stage].leaves.iter().find_map(|&leaf| Some((leaf, graph[leaf].parts.get()?)))
}

/// The loops that the intrinsic of `axis` stands for.
fn stands_for(graph: &Graph, axis: AxisId) -> impl Iterator<Item = AxisId> + '_ {
    graph[graph[axis].stage].leaves.iter().copied().skip_while(move |&leaf| leaf != axis)
}

impl AxisPart for Intrinsic {
    fn stands_for_loops(&self) -> bool {
        true
    }

    fn attrs(&self, func: &mut Func) -> Vec<(Name, Attr)> {
        vec![(keys::TENSORIZE, func.attr(AttrData::Symbol(self.name.clone())))]
    }

    /// The outermost one there of those that the intrinsic stands for.
    fn loop_of_init(&self, graph: &Graph, axis: AxisId) -> Option<AxisId> {
        stands_for(graph, axis).find(|&leaf| !graph[leaf].reduce)
    }

    fn loc(&self) -> Option<Loc> {
        Some(self.loc)
    }

    fn explain(&self) -> Option<String> {
        Some(format!("with those inside it tensorized by @{}", suggest::shorten(&self.name)))
    }

    fn check(&self, check: &mut Check<'_>, stage: StageId, axis: AxisId) {
        check::plain_inside(self, check, stage, axis);
    }
}
