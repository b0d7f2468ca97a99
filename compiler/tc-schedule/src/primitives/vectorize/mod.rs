//! Runs a loop as the lanes of a vector.
//!
//! # Arguments
//!
//! `vectorize(axis)`: the pass `vectorize-loop` makes vector accesses, and a scalar loop of statements that cannot be
//! vectorized.
//!
//! # Legality
//!
//! `axis` is a data loop of its stage that is not bound, vectorized or unrolled.
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

use super::{Compared, Primitive};
use crate::directive::{Cx, Done, Item, code_list};
use crate::graph::{AxisId, Kind};
use tc_dialects::sched::Vectorize;

impl Primitive for Vectorize {
    const COMPARED: Compared = Compared::Graph;
    type Legal = AxisId;

    fn legality(cx: &Cx<'_>) -> Done<AxisId> {
        let axis = cx.leaf(cx.operand(0))?;
        cx.check_unsaid(axis)?;
        if !cx.graph[axis].reduce {
            return Ok(axis);
        }
        let text = format!("`{}` is an axis of a reduction: its iterations depend on one another", cx.show(axis));
        let leaves = cx.graph[cx.graph[axis].stage].leaves.iter();
        let data: Vec<&str> =
            leaves.map(|&leaf| &cx.graph[leaf]).filter(|leaf| !leaf.reduce).map(|leaf| &*leaf.name).collect();
        let fact = format!("loops over the data are {}", code_list(&data));
        Err(cx.error("vectorized-reduction", text).fact(fact).into())
    }

    fn edit(cx: &mut Cx<'_>, axis: AxisId) -> Vec<Item> {
        cx.set_kind(axis, Kind::Vectorize);
        Vec::new()
    }
}
