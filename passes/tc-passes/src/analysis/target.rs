//! The GPU that a run compiles for.

use tc_pass::PassCx;
use tc_target::Target;

/// What passes assume where nobody named a target.
const DEFAULT: &str = "sm_90";

/// The target that the run lends its passes, or the default one.
pub(crate) fn of_run(cx: &PassCx) -> Target {
    let named = cx.get::<Target>().copied();
    named.unwrap_or_else(|| Target::parse(DEFAULT).expect("the default target is one of the targets"))
}
