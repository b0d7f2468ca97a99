//! Hints to passes about a loop; they are written on it as attributes.
//!
//! # Arguments
//!
//! `pragma(axis, auto_unroll_max_step = 16, unroll_explicit = true, loop_partition_hint = true)`:
//!
//! - `auto_unroll_max_step`: inside the loop, unroll what comes to at most so many stores (`unroll-loop`);
//! - `unroll_explicit`: unroll by copies; `false` leaves it to the compiler of the emitted code;
//! - `loop_partition_hint`: divide the loop where a guard becomes certain, even if its extent is constant
//!   (`loop-partition`).
//!
//! # Legality
//!
//! `axis` is a loop of its stage, and it is not split or fused afterwards. A loop of one iteration that carries a hint
//! is kept, so that the hint is.
//!
//! # Rewrite
//!
//! ```tir
//! for i in 0..4 { A[i] = 0.0 }
//! ->
//! for i in 0..4 attributes {auto_unroll_max_step = 16} { A[i] = 0.0 }
//! ```
//!
//! # Known elsewhere as
//!
//! `pragma` (TVM).

use crate::directive::{Cx, Done};
use crate::graph::{AxisId, PragmaValue};
use tc_ir::Loc;

type Hints = Vec<(&'static str, PragmaValue)>;

pub(super) fn apply(cx: &mut Cx<'_>) -> Done<()> {
    let (axis, hints) = legality(cx)?;
    let loc = cx.loc();
    let data = &mut cx.graph[axis];
    data.pragmas.retain(|(key, _)| hints.iter().all(|(new, _)| new != key));
    data.pragmas.extend(hints);
    if data.kind_loc == Loc::NONE {
        data.kind_loc = loc;
    }
    let stage = data.stage;
    cx.touch(stage);
    Ok(())
}

fn legality(cx: &Cx<'_>) -> Done<(AxisId, Hints)> {
    let axis = cx.leaf(cx.sched.operand(cx.at, 0))?;
    let mut hints = Hints::new();
    if let Some(value) = cx.param(1) {
        let steps = cx.int(value)?;
        if steps < 0 {
            return Err(cx.error("factor", format!("`auto_unroll_max_step` cannot be {steps}")).into());
        }
        hints.push(("auto_unroll_max_step", PragmaValue::Int(steps)));
    }
    for key in ["unroll_explicit", "loop_partition_hint"] {
        if cx.sched.attr_named(cx.at, key).is_some() {
            match cx.flag(key) {
                Some(value) => hints.push((key, PragmaValue::Bool(value))),
                None => return Err(cx.error("schedule-type", format!("`{key}` is `true` or `false`")).into()),
            }
        }
    }
    if hints.is_empty() {
        let help = "there is `auto_unroll_max_step`, `unroll_explicit`, `loop_partition_hint`";
        return Err(cx.error("schedule-type", "`pragma` takes a hint").help(help).into());
    }
    Ok((axis, hints))
}
