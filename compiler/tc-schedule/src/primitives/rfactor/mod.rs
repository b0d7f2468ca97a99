//! Makes a reduction loop an axis of a new tensor of partial results, which the reduction then combines.
//!
//! # Arguments
//!
//! `STAGE = rfactor(TENSOR, axis, factor_axis = 0)`: the new stage computes a part of the reduction for each value of
//! `axis`, which becomes its data axis number `factor_axis` (negative ones count from the end). The old stage keeps its
//! data axes, and reduces the parts over one axis of the name of `axis`. Both axes have the extent of `axis` as it is
//! here, not bound: a factor of `split` above the extent of the reduction has shrunk to it, and a later `bind` does not
//! enlarge them.
//!
//! # Legality
//!
//! - `TENSOR` is a reduction that the operator declares, and `axis` is a loop of it.
//! - No earlier directive concerns its data loops: it would be lost.
//! - Splits of the reduction axes come before. If a factor does not divide, the parts are guarded.
//!
//! # Rewrite
//!
//! ```tir
//! for i in 0..4 { B[i] = 0.0  for ko in 0..8 { for ki in 0..2 { B[i] = B[i] + A[i, ko * 2 + ki] } } }
//! -> BF = rfactor(B, ki)
//! for ki in 0..2 { for i in 0..4 { BF[ki, i] = 0.0  for ko in 0..8 { BF[ki, i] = BF[ki, i] + A[i, ko * 2 + ki] } } }
//! for i in 0..4 { B[i] = 0.0  for ki in 0..2 { B[i] = B[i] + BF[ki, i] } }
//! ```
//!
//! # Known elsewhere as
//!
//! `rfactor` (TVM; Suriana, Adams, Kamil 2017, in Halide), `transform.structured.split_reduction` (MLIR).

use super::Primitive;
use crate::directive::{Cx, Done, Item, code_list};
use crate::graph::{Axis, AxisId, Read, Source, StageId, TensorRef};
use crate::origin::{self, Origin};
use crate::size::Size;
use rustc_hash::FxHashMap;
use tc_arith::Pool;
use tc_dialects::sched::Rfactor;
use tc_ir::{Op, Type};
use tc_support::counted;

/// A reduction, and the loop of it that becomes an axis.
pub(crate) struct Factored {
    stage: StageId,
    /// The `te.compute`.
    op: Op,
    /// The loop that becomes an axis.
    axis: AxisId,
    /// Which one.
    at: usize,
    /// The extents of the reduction's axes and loops.
    extents: FxHashMap<AxisId, Size>,
    /// The pool of those that depend on sizes which stay open.
    pool: Pool,
}

impl Primitive for Rfactor {
    type Legal = Factored;

    fn legality(cx: &Cx<'_>) -> Done<Factored> {
        let stage = cx.computed(cx.operand(0))?;
        let axis = cx.leaf(cx.operand(1))?;
        let data = &cx.graph[stage];
        let name = &data.name;
        let Source::Compute(op) = data.source else {
            let text = format!("`{name}` is no reduction that the operator declares");
            let declared = |&&stage: &&StageId| {
                !cx.graph[stage].reduce.is_empty() && matches!(cx.graph[stage].source, Source::Compute(_))
            };
            let names: Vec<&str> =
                cx.graph.order.iter().filter(declared).map(|&stage| &*cx.graph[stage].name).collect();
            return Err(cx
                .error("rfactor-reduction", text)
                .help(format!("reductions are {}", code_list(&names)))
                .into());
        };
        if cx.graph[axis].stage != stage || !cx.graph[axis].reduce {
            let loops = cx.graph.names(data.leaves.iter().filter(|&&leaf| cx.graph[leaf].reduce));
            let text = format!("`{}` is no loop of a reduction of `{name}`", cx.show(axis));
            let error = cx.error("rfactor-axis", text);
            return Err(match loops[..] {
                [] => error.help(format!("`{name}` reduces nothing")).into(),
                _ => error.help(format!("its loops over the reduction are {}", code_list(&loops))).into(),
            });
        }
        check_untouched(cx, stage)?;
        cx.check_plain(axis)?;
        let rank = data.data.len() as i64;
        let given = cx.sched.attr_named(cx.at, "factor_axis").and_then(|attr| cx.sched.as_int(attr)).unwrap_or(0);
        let at = if given < 0 { given + rank + 1 } else { given };
        if !(0..=rank).contains(&at) {
            let text = format!("`factor_axis` is {given}, and `{name}` has {}", counted(rank, "dimension"));
            let help = format!("it is {} to {rank}", -rank - 1);
            return Err(cx.error("rfactor-axis", text).help(help).into());
        }
        let extents = origin::extents(cx.graph, stage, &cx.graph[stage].reduce);
        let (extents, pool) = extents.ok_or_else(|| cx.operator.overflow(&cx.graph[stage], "the fused loops"))?;
        Ok(Factored { stage, op, axis, at: at as usize, extents, pool })
    }

    fn edit(cx: &mut Cx<'_>, factored: Factored) -> Vec<Item> {
        let stage = factor(cx, &factored);
        vec![Item::Tensor(TensorRef { stage, result: 0 })]
    }
}

/// Refuses a stage of whose loops over data a directive has spoken, or of whose reduction something but splits and
/// fusions.
fn check_untouched(cx: &Cx<'_>, stage: StageId) -> Done<()> {
    let data = &cx.graph[stage];
    let spoken = |&axis: &AxisId| {
        let axis = &cx.graph[axis];
        axis.consumed.as_ref().map(|consumed| consumed.loc).or_else(|| (!axis.is_plain()).then_some(axis.kind_loc))
    };
    let said = data.data.iter().find_map(spoken);
    let said = said.or_else(|| data.leaves.iter().filter(|&&leaf| cx.graph[leaf].reduce).find_map(spoken));
    if let Some(loc) = said {
        let text = format!("`rfactor` makes the loops of `{}` anew, and a directive has spoken of them", data.name);
        let error = cx.error("rfactor-late", text).label(cx.location(loc), "this directive would be lost");
        return Err(error.help("split the reduction's axes, write `rfactor`, then the other directives").into());
    }
    Ok(())
}

fn factor(cx: &mut Cx<'_>, factored: &Factored) -> StageId {
    let &Factored { stage, op, axis, at, .. } = factored;
    cx.graph.pool = factored.pool.clone();
    let elems: Vec<Type> = cx.graph[stage].tensors.iter().map(|tensor| tensor.elem).collect();
    let fallback = format!("{}_rf", cx.graph[stage].name);
    let loc = cx.graph[stage].loc;
    let parts = cx.new_stage(Source::Partial(op), loc, &elems, &fallback);
    let made_by = cx.loc();
    let add = |cx: &mut Cx<'_>, to: StageId, like: AxisId, reduce: bool, domain: Option<(i64, Size)>| {
        let name = cx.graph[like].name.clone();
        cx.graph.add_axis(to, &name, reduce, domain, made_by)
    };
    // A loop that no split made starts where the operator says.
    let starts: FxHashMap<AxisId, i64> =
        factored.extents.keys().map(|&leaf| (leaf, cx.graph[leaf].domain.map_or(0, |(low, _)| low))).collect();
    let domain = |factored: &Factored, leaf: AxisId| {
        let extent = factored.extents.get(&leaf).copied().unwrap_or(Size::Int(1));
        Some((starts.get(&leaf).copied().unwrap_or(0), extent))
    };
    // What stands for the old axes in the new stage.
    let mut now: FxHashMap<AxisId, AxisId> = FxHashMap::default();
    for old in cx.graph[stage].data.clone() {
        let copy = add(cx, parts, old, false, cx.graph[old].domain);
        cx.graph[parts].data.push(copy);
        now.insert(old, copy);
    }
    let factor = add(cx, parts, axis, false, domain(factored, axis));
    cx.graph[parts].data.insert(at, factor);
    now.insert(axis, factor);
    let loops: Vec<AxisId> = cx.graph[stage].leaves.iter().copied().filter(|&leaf| cx.graph[leaf].reduce).collect();
    for leaf in loops.into_iter().filter(|&leaf| leaf != axis) {
        let copy = add(cx, parts, leaf, true, domain(factored, leaf));
        cx.graph[parts].reduce.push(copy);
        cx.consume(leaf, vec![copy]);
        now.insert(leaf, copy);
    }
    if cx.graph[parts].reduce.is_empty() {
        // Each part takes one value in.
        let one = cx.graph.add_axis(parts, "one", true, Some((0, Size::Int(1))), made_by);
        cx.graph[parts].reduce.push(one);
    }
    cx.graph[parts].leaves = cx.graph[parts].roots().collect();
    let origin = origin(cx, factored, parts, now);
    cx.graph[parts].origin = Some(origin);
    let merge = reduce_parts(cx, factored, parts);
    cx.consume(axis, vec![merge]);
    cx.graph.insert_in_order(parts, stage, false);
    parts
}

/// How the declared axes come from the axes of `parts`: those of the data as they did before, those of the reduction by
/// what the directives made of them.
fn origin(cx: &mut Cx<'_>, factored: &Factored, parts: StageId, mut now: FxHashMap<AxisId, AxisId>) -> Origin {
    let made_by = cx.loc();
    let mut of = |cx: &mut Cx<'_>, old: AxisId| {
        *now.entry(old).or_insert_with(|| {
            let Axis { name, reduce, domain, .. } = &cx.graph[old];
            let (name, reduce, domain) = (name.clone(), *reduce, *domain);
            cx.graph.add_axis(parts, &name, reduce, domain, made_by)
        })
    };
    let data = &cx.graph[factored.stage];
    let as_declared = || Origin { declared: data.roots().collect(), ..Origin::default() };
    let before = data.origin.clone().unwrap_or_else(as_declared);
    let (of_reduction, _) = origin::about(cx.graph, factored.stage, &factored.extents);
    let old = [&before.relations[..], &of_reduction].concat();
    let relations = origin::map_relations(&old, |axis| of(cx, axis));
    let declared = before.declared.iter().map(|&axis| of(cx, axis)).collect();
    let extent = |old: &AxisId| factored.extents.get(old).or_else(|| before.extents.get(old)).copied();
    let extents = now.iter().filter_map(|(old, &new)| Some((new, extent(old)?))).collect();
    Origin { declared, relations, extents }
}

/// Lets the old stage reduce the parts; gives the axis over them.
fn reduce_parts(cx: &mut Cx<'_>, factored: &Factored, parts: StageId) -> AxisId {
    let &Factored { stage, op, axis, at, .. } = factored;
    let (made_by, name) = (cx.loc(), cx.graph[axis].name.clone());
    let extent = factored.extents.get(&axis).copied().unwrap_or(Size::Int(1));
    let merge = cx.graph.add_axis(stage, &name, true, Some((0, extent)), made_by);
    let n_results = cx.graph[stage].tensors.len() as u32;
    let reads: Vec<Read> =
        (0..n_results).map(|result| Read { of: None, from: TensorRef { stage: parts, result } }).collect();
    let starts_from_values = cx.operator.starts_from_values(op);
    let data = &mut cx.graph[stage];
    data.source = Source::Merge { op, at: at as u32 };
    data.reduce = vec![merge];
    data.relations.clear();
    data.leaves = data.roots().collect();
    data.touched = None;
    let old = std::mem::replace(&mut data.reads, reads);
    if starts_from_values {
        // The initial values may read what the reduction reads.
        data.reads.extend(old.iter().copied());
    }
    cx.graph[parts].reads = old;
    merge
}
