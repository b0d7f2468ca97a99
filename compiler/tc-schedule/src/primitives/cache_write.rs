//! Computes a tensor in another scope, and copies it out.
//!
//! # Arguments
//!
//! `STAGE = cache_write(TENSOR, scope)`: the new stage computes what the old one did, on axes of the same names; the
//! old one becomes the copy, and keeps the data axes alone.
//!
//! # Legality
//!
//! - The stage is computed, and is not inlined.
//! - No directive has spoken of its loops: they become the loops of the copy.
//! - The scope exists.
//!
//! # Rewrite
//!
//! ```tir
//! for i in 0..4 { B[i] = 0.0  for r in 0..8 { B[i] = B[i] + A[i, r] } }
//! -> BL = cache_write(B, local)
//! for i in 0..4 { BL[i] = 0.0  for r in 0..8 { BL[i] = BL[i] + A[i, r] } }
//! for i in 0..4 { B[i] = BL[i] }
//! ```
//!
//! # Known elsewhere as
//!
//! `cache_write` (TVM), `in()` with the roles exchanged (Halide).

use crate::directive::{Cx, Done, Item};
use crate::graph::{Attach, AxisId, Read, Source, StageId, Tensor, TensorRef};
use crate::scope::Scope;
use tc_ir::{Loc, Type};

pub(super) fn apply(cx: &mut Cx<'_>) -> Done<()> {
    let (stage, scope) = legality(cx)?;
    let cache = edit(cx, stage, scope);
    cx.results = vec![Item::Tensor(TensorRef { stage: cache, result: 0 })];
    Ok(())
}

fn legality(cx: &Cx<'_>) -> Done<(StageId, Scope)> {
    let stage = cx.stage(cx.sched.operand(cx.at, 0))?;
    cx.check_computed(stage)?;
    let scope = cx.scope()?;
    let data = &cx.graph[stage];
    if data.attach == Attach::Inline {
        let text = format!("`{}` is inlined, so there is no buffer of it to cache", data.name);
        let place = cx.location(data.attach_loc);
        return Err(cx.error("cache-inlined", text).label(place, "it is inlined here").into());
    }
    if let Some((loc, by)) = data.touched {
        let text =
            format!("`cache_write` gives the loops of `{}` to the copy, and `{by}` has spoken of them", data.name);
        let diagnostic = cx.error("cache-late", text).label(cx.location(loc), "this directive stands before it");
        return Err(diagnostic.help("write `cache_write` before the other directives of the stage").into());
    }
    Ok((stage, scope))
}

/// A stage made by this directive, named by its result; without axes, and not in the order yet.
pub(super) fn new_stage(
    cx: &mut Cx<'_>,
    source: Source,
    loc: Loc,
    elems: &[Type],
    fallback: &str,
    scope: Scope,
) -> StageId {
    let name = cx.result_name(0).unwrap_or(fallback).to_string();
    let tensors = elems.iter().enumerate().map(|(nth, &elem)| {
        let name = if nth == 0 { name.clone() } else { format!("{name}_{nth}") };
        Tensor { name: name.into(), elem }
    });
    let tensors: Vec<Tensor> = tensors.collect();
    let made_by = cx.loc();
    let stage = cx.graph.add_stage(&name, source, tensors, loc);
    let data = &mut cx.graph[stage];
    data.made_by = made_by;
    data.scope = Some(scope);
    stage
}

fn edit(cx: &mut Cx<'_>, stage: StageId, scope: Scope) -> StageId {
    let (source, loc) = (cx.graph[stage].source, cx.graph[stage].loc);
    let elems: Vec<Type> = cx.graph[stage].tensors.iter().map(|tensor| tensor.elem).collect();
    let fallback = format!("{}_{}", cx.graph[stage].name, scope.name().replace('.', "_"));
    let cache = new_stage(cx, source, loc, &elems, &fallback, scope);
    // The old axes go to the new stage as they are, so that `BL.r` is what `B.r` was.
    let made_by = cx.loc();
    let copy_axis = |cx: &mut Cx<'_>, axis: AxisId| {
        let data = &cx.graph[axis];
        let (name, reduce, domain) = (data.name.clone(), data.reduce, data.domain);
        cx.graph.add_axis(cache, &name, reduce, domain, made_by)
    };
    for axis in cx.graph[stage].data.clone() {
        let copy = copy_axis(cx, axis);
        cx.graph[cache].data.push(copy);
        cx.graph[cache].leaves.push(copy);
    }
    let reduce = std::mem::take(&mut cx.graph[stage].reduce);
    for &axis in &reduce {
        let copy = copy_axis(cx, axis);
        cx.graph[cache].reduce.push(copy);
        cx.graph[cache].leaves.push(copy);
        cx.consume(axis, vec![copy]);
    }
    let copies = (0..elems.len() as u32).map(|result| Read { of: None, from: TensorRef { stage: cache, result } });
    let copies: Vec<Read> = copies.collect();
    let data = &mut cx.graph[stage];
    data.leaves.retain(|leaf| !reduce.contains(leaf));
    data.source = Source::Copy;
    let reads = std::mem::replace(&mut data.reads, copies);
    cx.graph[cache].reads = reads;
    cx.graph.insert_in_order(cache, stage, false);
    cache
}
