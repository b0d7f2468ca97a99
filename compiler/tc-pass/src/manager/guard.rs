//! What keeps a pass from taking the run down: a panic becomes a diagnostic, and one that goes on for ever is ended.

use super::apply::Outcome;
use crate::limits::{Limits, cancelled};
use crate::pass::{PassCx, PassInfo};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tc_ir::Func;
use tc_ir::func::StepsUsedUp;
use tc_support::cancel::Cancelled;
use tc_support::{Diagnostic, Fault, Location};

/// How many steps a pass may do on a function, beside those for each op that there is.
const STEPS: u64 = 1 << 22;
/// How many more for each op.
const STEPS_AN_OP: u64 = 64;

/// Lets a pass work on `func` for so many steps at the most: what ends is far below, and what does not is ended before
/// memory is full. Tells whether `left`, what the run has left, is less than that.
pub(super) fn limit(func: &mut Func, left: u64, limits: &Limits) -> bool {
    let usual = STEPS + STEPS_AN_OP * func.n_op_ids() as u64;
    func.limit_steps(Some(usual.min(left)));
    func.cancel_by(limits.cancel.clone());
    left < usual
}

/// Takes the limits off.
pub(super) fn unlimit(func: &mut Func) {
    func.limit_steps(None);
    func.cancel_by(None);
}

/// What a pass is run under.
#[derive(Clone, Copy)]
pub(super) struct Guard<'g> {
    pub(super) info: &'g PassInfo,
    pub(super) limits: &'g Limits,
    /// Are the steps of the pass those that the run has left?
    pub(super) is_last: bool,
}

fn too_many_steps(place: Location) -> Diagnostic {
    let text = format!("the pass was ended after {STEPS} steps and {STEPS_AN_OP} for each op of its input");
    let help = "make the function smaller: unroll or copy less of it, or divide it into several";
    Diagnostic::error("pass-steps", place, text).help(help)
}

impl Guard<'_> {
    /// Runs `pass`. A panic becomes a diagnostic at `place`, and so does a pass that does too many steps or was cancelled.
    pub(super) fn run(self, cx: &mut PassCx, place: Location, pass: impl FnOnce(&mut PassCx) -> bool) -> bool {
        if self.limits.is_cancelled() {
            cx.report(cancelled(place));
            return true;
        }
        match catch_unwind(AssertUnwindSafe(|| pass(cx))) {
            Ok(changed) => changed,
            Err(payload) => {
                cx.report(match () {
                    _ if payload.is::<Cancelled>() => cancelled(place),
                    _ if payload.is::<StepsUsedUp>() && self.is_last => self.limits.used_up(place),
                    _ if payload.is::<StepsUsedUp>() => too_many_steps(place),
                    _ => panicked(self.info.name, &*payload, place),
                });
                true
            }
        }
    }
}

/// The diagnostic that a panic of the pass `name` becomes.
pub(crate) fn panicked(name: &str, payload: &(dyn Any + Send), place: Location) -> Diagnostic {
    let text = payload.downcast_ref::<&str>().map(|text| text.to_string());
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
    let text = text.unwrap_or_else(|| "no message".to_string());
    Diagnostic::bug("pass-panicked", place, format!("`{name}` panicked: {text}"))
}

/// A panic outside of a pass must not take the pool down: it becomes a diagnostic as well.
pub(super) fn catch_outside(name: &str, run: impl FnOnce() -> Outcome) -> Outcome {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|payload| Outcome {
        diagnostics: panicked(name, &*payload, Location::None).into(),
        changed: true,
        ..Outcome::new()
    })
}

/// Makes a defect that of whoever wrote the pass.
pub(crate) fn disown(info: &PassInfo, found: &mut Diagnostic) {
    found.fault = Fault::ForeignPass;
    found.notes.push(format!("`{}` is no pass of tc: whoever added it has to mend it", info.name));
}
