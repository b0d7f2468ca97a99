//! Gives hints to passes about a loop, as attributes of it.
//!
//! # Arguments
//!
//! `pragma(axis, auto_unroll_max_step = 16, unroll_explicit = true, loop_partition_hint = true)`:
//!
//! - `auto_unroll_max_step`: unroll loops inside with at most that many stores (`unroll-loop`);
//! - `unroll_explicit`: unroll by copies; `false` leaves it to the compiler of the emitted code;
//! - `loop_partition_hint`: split the loop where a guard changes, even if its extent is constant (`loop-partition`).
//!
//! # Legality
//!
//! `axis` is a loop of its stage, and it is not split or fused afterwards. A loop of one iteration with a hint stays,
//! to keep the hint.
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

use super::{AxisPart, Primitive};
use crate::directive::{Cx, Done, Item};
use crate::graph::AxisId;
use tc_dialects::sched::Pragma;
use tc_ir::attrs::AttrData;
use tc_ir::{Attr, Func, Name};

/// Hints about a loop: attributes of it, by name.
#[derive(Clone, Default, Debug)]
pub(crate) struct Hints(Vec<(&'static str, AttrData)>);

impl Primitive for Pragma {
    type Legal = (AxisId, Hints);

    fn legality(cx: &Cx<'_>) -> Done<(AxisId, Hints)> {
        let axis = cx.leaf(cx.operand(0))?;
        let mut hints = Vec::new();
        if let Some(value) = cx.param(1) {
            let steps = cx.int(value)?;
            if steps < 0 {
                return Err(cx.wrong_number(format!("`auto_unroll_max_step` cannot be {steps}")).into());
            }
            hints.push(("auto_unroll_max_step", AttrData::int(steps)));
        }
        for key in ["unroll_explicit", "loop_partition_hint"] {
            if cx.sched.attr_named(cx.at, key).is_some() {
                match cx.flag(key) {
                    Some(value) => hints.push((key, AttrData::Bool(value))),
                    None => return Err(cx.mistyped(format!("`{key}` is `true` or `false`")).into()),
                }
            }
        }
        if hints.is_empty() {
            let help = "there is `auto_unroll_max_step`, `unroll_explicit`, `loop_partition_hint`";
            return Err(cx.mistyped("`pragma` takes a hint").help(help).into());
        }
        Ok((axis, Hints(hints)))
    }

    fn edit(cx: &mut Cx<'_>, (axis, Hints(hints)): (AxisId, Hints)) -> Vec<Item> {
        let Hints(all) = cx.graph[axis].parts.get_or_default();
        all.retain(|(key, _)| hints.iter().all(|(new, _)| new != key));
        all.extend(hints);
        cx.touch_loop(axis);
        Vec::new()
    }
}

impl AxisPart for Hints {
    fn attrs(&self, func: &mut Func) -> Vec<(Name, Attr)> {
        self.0.iter().map(|(key, value)| (func.name(key), func.attr(value.clone()))).collect()
    }
}
