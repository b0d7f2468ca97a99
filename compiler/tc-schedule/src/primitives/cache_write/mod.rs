//! Computes a tensor in another storage scope, and copies it out.
//!
//! # Arguments
//!
//! `STAGE = cache_write(TENSOR, scope)`: the new stage takes over the computation, on axes of the same names; the old
//! one becomes the copy, and keeps only the data axes.
//!
//! If earlier directives split, fused or reordered the data loops, these loops become the axes of the new tensor, in
//! their order: its layout follows the loops. The copy has the operator's axes, without these directives.
//!
//! # Legality
//!
//! - The stage is computed, and is not inlined.
//! - No earlier directive binds, vectorizes or unrolls one of its loops, attaches the stage, or sets the layout or
//!   scope of its buffer: that would be lost.
//! - The storage scope exists.
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

mod remedies;

use super::{Compared, Primitive};
use crate::directive::{Cx, Done, Item};
use crate::graph::{Attach, AxisId, Read, Source, StageId, TensorRef};
use crate::origin::{self, Origin};
use crate::scope::Scope;
use crate::size::Size;
use remedies::hoist;
use rustc_hash::FxHashMap;
use tc_dialects::sched::CacheWrite;
use tc_ir::Type;

impl Primitive for CacheWrite {
    const COMPARED: Compared = Compared::Graph;
    type Legal = (StageId, Scope);

    fn legality(cx: &Cx<'_>) -> Done<(StageId, Scope)> {
        let stage = cx.computed(cx.operand(0))?;
        let scope = cx.scope()?;
        let data = &cx.graph[stage];
        if data.attach == Attach::Inline {
            let text = format!("`{}` is inlined, so there is no buffer of it to cache", data.name);
            let place = cx.location(data.attach_loc);
            return Err(cx.error("cache-inlined", text).label(place, "it is inlined here").into());
        }
        let only_rearranged = is_rearranged(cx, stage)
            && matches!(data.source, Source::Compute(_))
            && data.origin.is_none()
            && data.leaves.iter().all(|&axis| cx.graph[axis].is_plain())
            && (data.attach, data.scope) == (Attach::Root, None)
            && data.parts.iter().all(|part| part.holds_of_copy());
        match data.touched {
            Some((loc, by)) if !only_rearranged => {
                let text = format!(
                    "`cache_write` gives the loops of `{}` to the copy, and `{by}` has spoken of them",
                    data.name
                );
                let error = cx.error("cache-late", text).label(cx.location(loc), "this directive stands before it");
                let fact = "write `cache_write` before the other directives of the stage";
                Err(error.fact(fact).fix_its(&[hoist]).into())
            }
            _ => Ok((stage, scope)),
        }
    }

    fn edit(cx: &mut Cx<'_>, (stage, scope): (StageId, Scope)) -> Vec<Item> {
        let stage = cache(cx, stage, scope);
        vec![Item::Tensor(TensorRef { stage, result: 0 })]
    }
}

/// Are the loops of `stage` others than its axes, or in another order?
fn is_rearranged(cx: &Cx<'_>, stage: StageId) -> bool {
    let data = &cx.graph[stage];
    !data.relations.is_empty() || !data.roots().eq(data.leaves.iter().copied())
}

fn cache(cx: &mut Cx<'_>, stage: StageId, scope: Scope) -> StageId {
    let source = cx.graph[stage].source;
    let elems: Vec<Type> = cx.graph[stage].tensors.iter().map(|tensor| tensor.elem).collect();
    let cache = cx.new_cache(stage, scope, source, &elems);
    if is_rearranged(cx, stage) {
        give_loops(cx, stage, cache);
    } else {
        give_axes(cx, stage, cache);
    }
    let copies = (0..elems.len() as u32).map(|result| Read { of: None, from: TensorRef { stage: cache, result } });
    let copies: Vec<Read> = copies.collect();
    let data = &mut cx.graph[stage];
    data.reduce.clear();
    data.leaves = data.data.clone();
    data.source = Source::Copy;
    let reads = std::mem::replace(&mut data.reads, copies);
    cx.graph[cache].reads = reads;
    cx.graph.insert_in_order(cache, stage, false);
    cache
}

/// A copy of `axis`, one of the stage `cache`.
fn copy_axis(cx: &mut Cx<'_>, cache: StageId, axis: AxisId, domain: Option<(i64, Size)>) -> AxisId {
    let (made_by, data) = (cx.loc(), &cx.graph[axis]);
    let (name, reduce) = (data.name.clone(), data.reduce);
    cx.graph.add_axis(cache, &name, reduce, domain, made_by)
}

/// The axes of `stage` go to `cache` as they are, so that `BL.r` is what `B.r` was; and what they are made of, or lead to.
fn give_axes(cx: &mut Cx<'_>, stage: StageId, cache: StageId) {
    let mut now: FxHashMap<AxisId, AxisId> = FxHashMap::default();
    for axis in cx.graph[stage].data.clone() {
        let copy = copy_axis(cx, cache, axis, cx.graph[axis].domain);
        cx.graph[cache].data.push(copy);
        now.insert(axis, copy);
    }
    for axis in cx.graph[stage].reduce.clone() {
        let copy = copy_axis(cx, cache, axis, cx.graph[axis].domain);
        cx.graph[cache].reduce.push(copy);
        cx.consume(axis, vec![copy]);
        now.insert(axis, copy);
    }
    cx.graph[cache].leaves = cx.graph[cache].roots().collect();
    let [origin, through] = [cx.graph[stage].origin.take(), cx.graph[stage].through.take()]
        .map(|origin| Some(origin?.map(|axis| now.get(&axis).copied().unwrap_or(axis))));
    (cx.graph[cache].origin, cx.graph[cache].through) = (origin, through);
}

/// The loops of `stage` over data become the axes of `cache`; those of a reduction go there as they are.
fn give_loops(cx: &mut Cx<'_>, stage: StageId, cache: StageId) {
    let roots = cx.graph[stage].data.clone();
    // Extents that overflow were found when the axes were declared: those of parts are no greater.
    let (extents, pool) = origin::extents(cx.graph, stage, &roots).unwrap_or_default();
    cx.graph.pool = pool;
    let (of_data, of_reduction) = origin::about(cx.graph, stage, &extents);
    let mut now: FxHashMap<AxisId, AxisId> = FxHashMap::default();
    let leaves = cx.graph[stage].leaves.clone();
    for &leaf in leaves.iter().filter(|leaf| extents.contains_key(leaf)) {
        let domain = cx.graph[leaf].domain.unwrap_or((0, extents[&leaf]));
        let copy = copy_axis(cx, cache, leaf, Some(domain));
        cx.graph[cache].data.push(copy);
        now.insert(leaf, copy);
    }
    for axis in cx.graph[stage].reduce.clone() {
        let copy = copy_axis(cx, cache, axis, cx.graph[axis].domain);
        cx.graph[cache].reduce.push(copy);
        now.insert(axis, copy);
    }
    let mut of = |cx: &mut Cx<'_>, axis: AxisId| match now.get(&axis) {
        Some(&copy) => copy,
        None => {
            let copy = copy_axis(cx, cache, axis, cx.graph[axis].domain);
            now.insert(axis, copy);
            copy
        }
    };
    let relations = origin::map_relations(&of_data, |axis| of(cx, axis));
    cx.graph[cache].relations = origin::map_relations(&of_reduction, |axis| of(cx, axis));
    let mut declared: Vec<AxisId> = roots.iter().map(|&axis| of(cx, axis)).collect();
    cx.graph[cache].leaves = leaves.iter().map(|&leaf| of(cx, leaf)).collect();
    declared.extend(cx.graph[cache].reduce.iter().copied());
    let mapped = now.iter().filter_map(|(old, &new)| Some((new, *extents.get(old)?))).collect();
    cx.graph[cache].origin = Some(Origin { declared, relations, extents: mapped });
    let over_data = leaves.iter().copied().filter(|leaf| extents.contains_key(leaf)).collect();
    cx.graph[stage].through = Some(Origin { declared: over_data, relations: of_data, extents });
    for axis in leaves.into_iter().chain(cx.graph[stage].reduce.clone()) {
        if !roots.contains(&axis)
            && let Some(&copy) = now.get(&axis)
        {
            cx.consume(axis, vec![copy]);
        }
    }
    for &axis in &roots {
        cx.graph[axis].consumed = None;
    }
    cx.graph[stage].relations.clear();
    cx.graph[stage].touched = None;
}
