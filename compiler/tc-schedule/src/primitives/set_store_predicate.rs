//! Lets a stage store only where a condition holds.
//!
//! # Arguments
//!
//! `set_store_predicate(STAGE, condition)`: the condition is over launch coordinates (`threadIdx.x == 0`), loops of the
//! stage under their names, parameters of the schedule and numbers. Division is by a positive number.
//!
//! # Legality
//!
//! - The stage is computed, and is not inlined.
//! - When the program is made, the coordinates it names are bound around the stage.
//!
//! What is computed where the condition does not hold is the author's to know: nothing checks that some thread stores
//! each element. `tc-run --check` finds elements that nobody wrote.
//!
//! # Rewrite
//!
//! ```tir
//! for i in 0..8 { B[0] = A[0] }
//! -> set_store_predicate(B, i == 0)
//! for i in 0..8 { if i == 0 { B[0] = A[0] } }
//! ```
//!
//! # Known elsewhere as
//!
//! `set_store_predicate` (TVM).

use crate::directive::{Cx, Done};
use crate::graph::StageId;
use crate::predicate::{self, Predicate};

pub(super) fn apply(cx: &mut Cx<'_>) -> Done<()> {
    let (stage, predicate) = legality(cx)?;
    cx.graph[stage].predicate = Some(predicate);
    cx.touch(stage);
    Ok(())
}

fn legality(cx: &Cx<'_>) -> Done<(StageId, Predicate)> {
    let stage = cx.stage(cx.sched.operand(cx.at, 0))?;
    cx.check_computed(stage)?;
    let Some(condition) = cx.sched.attr_named(cx.at, "condition") else {
        return Err(cx.error("schedule-type", "`set_store_predicate` takes a condition").into());
    };
    Ok((stage, predicate::read(cx, stage, condition)?))
}
