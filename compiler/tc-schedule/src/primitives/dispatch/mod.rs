//! Takes another schedule of the operator, for the sizes for which a condition holds.
//!
//! # Arguments
//!
//! `dispatch(@schedule, when = condition, params = {name = value, …})`: `condition` is an expression over the operator's
//! sizes; without it, the schedule serves all sizes. `params` gives values to parameters of the schedule; those that
//! it leaves out are at their first choice.
//!
//! # Legality
//!
//! - The schedule has no parameters, and its directives are all `dispatch`, at most 64. They are tried in order, and the
//!   first whose condition holds is taken.
//! - `@schedule` is for the same operator, and dispatches nothing itself. The values are a point of its space.
//! - A condition divides by nothing that may be 0, and is at most 32 operations deep.
//! - For sizes that have values, some condition holds. For sizes that are open, the last `dispatch` has no condition, or one
//!   that holds of all sizes that are left. A schedule that no size reaches is left out.
//!
//! # Rewrite
//!
//! Where the sizes have values, the schedule that is taken is applied. Where some are open, each schedule makes a program
//! of its own, which counts on its condition and on those before it not to hold (unless that would fix an extent of what
//! is passed), and the operator becomes a function of the host that chooses:
//!
//! ```tir
//! dispatch(@small, when = n <= 64)  dispatch(@large)
//! ->
//! if n <= 64 { @f_small(A, B) } else { @f_large(A, B) }
//! ```
//!
//! The manifest says of each kernel when it is launched.
//!
//! # Known elsewhere as
//!
//! `specialize` (Halide), multi-versioning, heuristics of a kernel library. `tc-tune apply` writes such a schedule.

use super::Primitive;
use crate::directive::{Cx, Done, Item};
use crate::remedy::NONE;
use tc_dialects::sched::Dispatch;

impl Primitive for Dispatch {
    type Legal = ();

    /// What chooses is taken apart before directives are applied ([`crate::dispatch`]): one that is left is not alone, or is
    /// applied to nothing that could be chosen from.
    fn legality(cx: &Cx<'_>) -> Done<()> {
        let text = "`dispatch` chooses a schedule, and here one is applied";
        let help = "let a schedule of its own hold it, and name that one: the pass `schedule` chooses";
        Err(cx.error("dispatch", text).help(help).fix_its(NONE).into())
    }

    fn edit(_: &mut Cx<'_>, (): ()) -> Vec<Item> {
        Vec::new()
    }
}
