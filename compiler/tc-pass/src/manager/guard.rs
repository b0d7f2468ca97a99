//! What keeps a pass from taking the run down: a panic becomes a finding, and one that goes on for ever is ended.

use super::apply::Outcome;
use crate::pass::PassCx;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tc_ir::Func;
use tc_ir::func::StepsUsedUp;
use tc_support::{Diagnostic, Location};

/// How many steps a pass may do on a function, beside those for each op that there is.
const STEPS: u64 = 1 << 22;
/// How many more for each op.
const STEPS_AN_OP: u64 = 64;

/// How many steps a pass may do on `func`: what ends is far below, and what does not is ended before memory is full.
pub(super) fn steps_for(func: &Func) -> u64 {
    STEPS + STEPS_AN_OP * func.n_op_ids() as u64
}

fn too_many_steps(place: Location) -> Diagnostic {
    let text = format!("the pass was ended after {STEPS} steps and {STEPS_AN_OP} for each op of its input");
    let help = "make the function smaller: unroll or copy less of it, or divide it into several";
    Diagnostic::error("pass-steps", place, text).help(help)
}

/// Runs `pass`; a panic becomes a finding at `place`, and so does a pass that does too many steps.
pub(super) fn guarded(cx: &mut PassCx, place: Location, pass: impl FnOnce(&mut PassCx) -> bool) -> bool {
    match catch_unwind(AssertUnwindSafe(|| pass(cx))) {
        Ok(changed) => changed,
        Err(payload) => {
            cx.report(if payload.is::<StepsUsedUp>() { too_many_steps(place) } else { panicked(&*payload, place) });
            true
        }
    }
}

fn panicked(payload: &(dyn Any + Send), place: Location) -> Diagnostic {
    let text = payload.downcast_ref::<&str>().map(|text| text.to_string());
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
    let text = text.unwrap_or_else(|| "no message".to_string());
    Diagnostic::bug("pass-panicked", place, format!("the pass panicked: {text}"))
}

/// A panic outside of a pass must not take the pool down: it becomes a finding as well.
pub(super) fn catch_outside(run: impl FnOnce() -> Outcome) -> Outcome {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|payload| Outcome {
        diagnostics: panicked(&*payload, Location::None).into(),
        changed: true,
        ..Outcome::new()
    })
}
