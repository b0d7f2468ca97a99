//! The GPU that a run compiles for.

use tc_pass::PassCx;
use tc_target::Target;

/// The target that the run lends its passes, or the default one.
pub(crate) fn of_run(cx: &PassCx) -> Target {
    cx.get::<Target>().copied().unwrap_or_default()
}
