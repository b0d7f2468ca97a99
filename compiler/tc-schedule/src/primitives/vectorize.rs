//! Runs a loop as the lanes of a vector.
//!
//! # Arguments
//!
//! `vectorize(axis)`: the pass `vectorize-loop` makes vector accesses of it, and a loop again of what cannot be one.
//!
//! # Legality
//!
//! `axis` is a loop of its stage, of the data, of which no directive has said how it runs.
//!
//! # Rewrite
//!
//! ```tir
//! for i in 0..4 { A[i] = B[i] }
//! ->
//! for i in 0..4 vectorize { A[i] = B[i] }
//! ```
//!
//! # Known elsewhere as
//!
//! `vectorize` (TVM, Halide).

use super::bind::{check_unsaid, set_kind};
use crate::directive::{Cx, Done};
use crate::graph::{AxisId, Kind};

pub(super) fn apply(cx: &mut Cx<'_>) -> Done<()> {
    let axis = legality(cx)?;
    set_kind(cx, axis, Kind::Vectorize);
    Ok(())
}

fn legality(cx: &Cx<'_>) -> Done<AxisId> {
    let axis = cx.leaf(cx.sched.operand(cx.at, 0))?;
    check_unsaid(cx, axis)?;
    if cx.graph[axis].reduce {
        let text = format!("`{}` is an axis of a reduction: its iterations depend on one another", cx.show(axis));
        let stage = &cx.graph[cx.graph[axis].stage];
        let data: Vec<&str> =
            stage.leaves.iter().filter(|&&leaf| !cx.graph[leaf].reduce).map(|&leaf| &*cx.graph[leaf].name).collect();
        return Err(cx
            .error("vectorized-reduction", text)
            .help(format!("loops over the data are {}", crate::directive::code_list(&data)))
            .into());
    }
    Ok(axis)
}
