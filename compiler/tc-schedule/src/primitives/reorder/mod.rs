//! Permutes the named loops into the given order, within their positions in the nest; the others stay.
//!
//! # Arguments
//!
//! `reorder(a, b, …)`: loops of one stage, outermost first.
//!
//! # Legality
//!
//! All are loops of one stage, each named once.
//!
//! # Rewrite
//!
//! ```tir
//! for i in 0..4 { for j in 0..8 { A[i, j] = 0.0 } }
//! ->
//! for j in 0..8 { for i in 0..4 { A[i, j] = 0.0 } }
//! ```
//!
//! # Known elsewhere as
//!
//! `reorder` (TVM, Halide), loop interchange.

mod remedies;

use super::{Compared, Primitive};
use crate::directive::{Cx, Done, Item};
use crate::graph::AxisId;
use remedies::once;
use tc_dialects::sched::Reorder;

impl Primitive for Reorder {
    const COMPARED: Compared = Compared::Graph;
    type Legal = Vec<AxisId>;

    fn legality(cx: &Cx<'_>) -> Done<Vec<AxisId>> {
        let axes: Done<Vec<AxisId>> = cx.sched.operands(cx.at).iter().map(|&value| cx.leaf(value)).collect();
        let axes = axes?;
        check_list(cx, &axes)?;
        Ok(axes)
    }

    fn edit(cx: &mut Cx<'_>, order: Vec<AxisId>) -> Vec<Item> {
        reorder(cx, &order);
        Vec::new()
    }
}

/// Loops of one stage, each named once.
pub(super) fn check_list(cx: &Cx<'_>, axes: &[AxisId]) -> Done<()> {
    for (nth, &axis) in axes.iter().enumerate() {
        if axes[..nth].contains(&axis) {
            let text = format!("`{}` names `{}` twice", cx.by, cx.show(axis));
            return Err(cx.error("axis-twice", text).fix_its(&[once]).into());
        }
        if cx.graph[axis].stage != cx.graph[axes[0]].stage {
            let text =
                format!("`{}` takes loops of one stage, not `{}` and `{}`", cx.by, cx.show(axes[0]), cx.show(axis));
            let help = cx.loops_of(cx.graph[axes[0]].stage);
            return Err(cx.error("axes-of-two-stages", text).fact(help).into());
        }
    }
    Ok(())
}

/// Puts the loops `order` into the places that they have.
pub(super) fn reorder(cx: &mut Cx<'_>, order: &[AxisId]) {
    let Some(&first) = order.first() else { return };
    let stage = cx.graph[first].stage;
    let mut next = order.iter();
    for leaf in &mut cx.graph[stage].leaves {
        if order.contains(leaf) {
            *leaf = *next.next().expect("each is there once");
        }
    }
    cx.touch(stage);
}
