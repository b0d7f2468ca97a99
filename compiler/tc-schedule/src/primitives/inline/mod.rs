//! Replaces each read of a stage by its expression.
//!
//! # Arguments
//!
//! `inline(STAGE)`.
//!
//! # Legality
//!
//! - The stage is computed, has one result, and is not a result of the operator.
//! - It is no reduction: a reduction needs loops.
//! - It is no cache, and has none, whose axes are loops: `cache_write` came before its loops were divided or reordered.
//! - No other directive concerns its loops or its buffer: it would have no effect.
//!
//! # Rewrite
//!
//! ```tir
//! for i in 0..4 { T[i] = A[i] * 2.0 }
//! for i in 0..4 { B[i] = T[i] + 1.0 }
//! ->
//! for i in 0..4 { B[i] = A[i] * 2.0 + 1.0 }
//! ```
//!
//! # Known elsewhere as
//!
//! `compute_inline` (TVM), inlining (Halide), producer fusion.

mod remedies;

use super::{Compared, Primitive};
use crate::directive::{Cx, Done, Item, code_list};
use crate::graph::{Attach, StageId};
use crate::remedy::{LEAVE_OUT, leave_out};
use remedies::attach_instead;
use tc_dialects::sched::Inline;
use tc_support::counted;

impl Primitive for Inline {
    const COMPARED: Compared = Compared::Graph;
    type Legal = StageId;

    fn legality(cx: &Cx<'_>) -> Done<StageId> {
        let stage = cx.computed(cx.operand(0))?;
        let data = &cx.graph[stage];
        let name = &data.name;
        if data.output {
            let text = format!("`{name}` is a result of the operator, and cannot be inlined");
            return Err(cx.error("inline-output", text).fix_its(LEAVE_OUT).into());
        }
        if !data.reduce.is_empty() {
            let axes = cx.graph.names(&data.reduce);
            let text = format!("`{name}` is a reduction over {}, and cannot be inlined", code_list(&axes));
            let help = format!("`compute_at({name}, …)` computes it inside a loop of its consumer");
            return Err(cx.error("inline-reduction", text).help(help).fix_its(&[attach_instead, leave_out]).into());
        }
        if data.tensors.len() != 1 {
            let text =
                format!("`{name}` has {}; only a stage with one can be inlined", counted(data.tensors.len(), "result"));
            return Err(cx.error("inline-results", text).fix_its(LEAVE_OUT).into());
        }
        if data.through.is_some() || data.origin.is_some() {
            let text = format!("`{name}` has loops for axes, since `cache_write` came after they were divided");
            let fact = "write `cache_write` before the directives that divide or reorder the loops";
            return Err(cx.error("inline-loops", text).fact(fact).fix_its(LEAVE_OUT).into());
        }
        Ok(stage)
    }

    fn edit(cx: &mut Cx<'_>, stage: StageId) -> Vec<Item> {
        cx.attach(stage, Attach::Inline);
        Vec::new()
    }
}
