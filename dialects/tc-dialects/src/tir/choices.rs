//! Choices of the host: which conditionals a statement stands under.

use super::IF;
use tc_ir::{Func, Op};

/// The conditionals around `op`, outermost first, each with whether `op` stands where its condition holds; `None` where anything
/// else is around it, such as a loop. Under conditionals alone, `op` is in a branch of the host; at the top there are none.
pub fn choices(func: &Func, op: Op) -> Option<Vec<(Op, bool)>> {
    let mut around = Vec::new();
    let mut at = func.region_of(op);
    while let Some((region, parent)) = at.and_then(|region| Some((region, func.region_parent(region)?))) {
        if func.opcode(parent) != IF {
            return None;
        }
        around.push((parent, func.op_regions(parent).first() == Some(&region)));
        at = func.region_of(parent);
    }
    around.reverse();
    Some(around)
}

/// Does `op` stand in a branch of the host?
pub fn is_in_branch(func: &Func, op: Op) -> bool {
    choices(func, op).is_some_and(|around| !around.is_empty())
}
