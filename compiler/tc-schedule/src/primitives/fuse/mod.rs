//! Fuses adjacent nested loops into one.
//!
//! # Arguments
//!
//! `axis = fuse(a, b, …)`: the loops, outermost first. `axis = fuse(B)`: all loops of the stage `B` over data, which is what a
//! function says that knows no axes.
//!
//! # Legality
//!
//! - All are loops of one stage, adjacent, and given in the order of the nest.
//! - None of them is bound, vectorized or unrolled.
//! - All are data axes, or all are reduction axes.
//!
//! # Rewrite
//!
//! ```tir
//! for i in 0..4 { for j in 0..8 { A[i, j] = 0.0 } }
//! ->
//! for ij in 0..32 { A[ij / 8, ij % 8] = 0.0 }
//! ```
//!
//! # Known elsewhere as
//!
//! `fuse` (TVM, Halide), collapse (OpenMP), coalescing.

mod remedies;

use super::{Compared, Primitive};
use crate::directive::{Cx, Done, Item, code_list};
use crate::graph::{AxisId, Relation};
use remedies::order_first;
use tc_dialects::sched::Fuse;
use tc_ir::Value;

impl Primitive for Fuse {
    const COMPARED: Compared = Compared::Graph;
    type Legal = Vec<AxisId>;

    fn legality(cx: &Cx<'_>) -> Done<Vec<AxisId>> {
        let mut axes = Vec::new();
        for &value in cx.sched.operands(cx.at) {
            if cx.is_stage(value) {
                axes.extend(data_loops(cx, value)?);
            } else {
                axes.push(cx.leaf(value)?);
            }
        }
        axes.iter().try_for_each(|&axis| cx.check_plain(axis))?;
        let Some(&first) = axes.first() else {
            return Err(cx.mistyped("`fuse` takes an axis").into());
        };
        let stage = cx.graph[first].stage;
        if let Some(&other) = axes.iter().find(|&&axis| cx.graph[axis].stage != stage) {
            let text = format!("`fuse` takes loops of one stage, not `{}` and `{}`", cx.show(first), cx.show(other));
            return Err(cx.error("axes-of-two-stages", text).into());
        }
        let start = cx.graph.leaf_position(first).unwrap_or(0);
        let leaves = &cx.graph[stage].leaves;
        if leaves.get(start..start + axes.len()) != Some(&axes[..]) {
            let given = cx.graph.names(&axes);
            let order = cx.graph.names(leaves);
            let text = format!("`fuse` takes adjacent loops, outermost first, and {} are not", code_list(&given));
            let note = format!("the loops of `{}` stand in the order {}", cx.graph[stage].name, code_list(&order));
            return Err(cx
                .error("not-adjacent", text)
                .note(note)
                .help("`reorder` them first")
                .fix_its(&[order_first])
                .into());
        }
        if let Some(&other) = axes.iter().find(|&&axis| cx.graph[axis].reduce != cx.graph[first].reduce) {
            let text = format!(
                "`fuse` does not mix an axis of the data with one of the reduction: `{}` and `{}`",
                cx.show(first),
                cx.show(other)
            );
            return Err(cx.error("fuse-mixed", text).into());
        }
        Ok(axes)
    }

    fn edit(cx: &mut Cx<'_>, axes: Vec<AxisId>) -> Vec<Item> {
        vec![Item::Axis(fuse(cx, &axes))]
    }
}

/// The loops over data of a stage, outermost first.
fn data_loops(cx: &Cx<'_>, stage: Value) -> Done<Vec<AxisId>> {
    let stage = cx.computed(stage)?;
    let loops = cx.graph[stage].leaves.iter().copied().filter(|&leaf| !cx.graph[leaf].reduce);
    let loops: Vec<AxisId> = loops.collect();
    if loops.is_empty() {
        let text = format!("`{}` has no loops over data to fuse", cx.graph[stage].name);
        return Err(cx.error("axis-consumed", text).into());
    }
    Ok(loops)
}

fn fuse(cx: &mut Cx<'_>, axes: &[AxisId]) -> AxisId {
    let [first, rest @ ..] = axes else { unreachable!("legality wants an axis") };
    let stage = cx.graph[*first].stage;
    let Some((&last, middle)) = rest.split_last() else { return *first };
    // Pairwise from the outside; only the last fusion bears the author's name.
    let mut outer = *first;
    for &inner in middle {
        let name = format!("{}_{}", cx.graph[outer].name, cx.graph[inner].name);
        let (reduce, loc) = (cx.graph[outer].reduce, cx.loc());
        let fused = cx.graph.add_axis(stage, &name, reduce, None, loc);
        cx.graph[stage].relations.push(Relation::Fuse { outer, inner, fused });
        outer = fused;
    }
    let fused = cx.derived_axis(outer, 0, &cx.graph[last].name.clone());
    cx.graph[stage].relations.push(Relation::Fuse { outer, inner: last, fused });
    for &axis in axes {
        cx.consume(axis, vec![fused]);
    }
    let leaves = &mut cx.graph[stage].leaves;
    if let Some(start) = leaves.iter().position(|leaf| leaf == first) {
        leaves.splice(start..start + axes.len(), [fused]);
    }
    cx.touch(stage);
    fused
}
