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
//! each element. `tc-run --check` finds elements that no thread wrote.
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

mod condition;
mod lower;

use super::{Primitive, StagePart};
use crate::directive::{Cx, Done, Item};
use crate::graph::StageId;
use crate::lower::Emitter;
use condition::Term;
use tc_dialects::sched::SetStorePredicate;
use tc_ir::Loc;
use tc_support::Diagnostic;

/// The condition under which a stage stores.
#[derive(Clone, Debug)]
pub(crate) struct Predicate {
    /// The terms, operands first.
    terms: Vec<Term>,
    /// The directive.
    loc: Loc,
}

impl Primitive for SetStorePredicate {
    const PROMISES: bool = true;
    type Legal = (StageId, Predicate);

    fn legality(cx: &Cx<'_>) -> Done<(StageId, Predicate)> {
        let stage = cx.computed(cx.operand(0))?;
        let Some(condition) = cx.sched.attr_named(cx.at, "condition") else {
            return Err(cx.mistyped("`set_store_predicate` takes a condition").into());
        };
        Ok((stage, Predicate { terms: condition::read(cx, stage, condition)?, loc: cx.loc() }))
    }

    fn edit(cx: &mut Cx<'_>, (stage, predicate): (StageId, Predicate)) -> Vec<Item> {
        cx.graph[stage].parts.set(predicate);
        cx.touch(stage);
        Vec::new()
    }
}

impl StagePart for Predicate {
    fn open_store(&self, emitter: &mut Emitter<'_>, stage: StageId) -> Result<bool, Diagnostic> {
        lower::open(self, emitter, stage)?;
        Ok(true)
    }
}
