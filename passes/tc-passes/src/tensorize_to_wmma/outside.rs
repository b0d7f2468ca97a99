//! Conditions inside of a marked loop that all of it shares: they are asked once, before the loop.

use super::find::{marked, statements};
use crate::analysis::condition::{ask_for, conjunction, likely_conjuncts};
use crate::analysis::invariant::movable_inputs;
use crate::analysis::structure::is_one_armed;
use tc_dialects::tir;
use tc_ir::{Builder, Func, Op, Rewriter, Value};

/// Moves conditions before marked loops; gives their number.
pub(super) fn run(func: &mut Func) -> u64 {
    let mut n_moved = 0;
    for root in marked(func) {
        let mut moved: Vec<Value> = Vec::new();
        for branch in branches(func, root) {
            let (mut own, mut kept) = (Vec::new(), Vec::new());
            for part in likely_conjuncts(func, func.operand(branch, 0)) {
                match movable_inputs(func, part, root) {
                    Some(inputs) => own.push((part, inputs)),
                    None => kept.push(part),
                }
            }
            if own.is_empty() {
                continue;
            }
            let mut rw = Rewriter::new(func);
            own.iter().flat_map(|(_, inputs)| inputs).for_each(|&input| rw.move_before(input, root));
            drop(rw);
            ask_for(func, branch, &kept);
            moved.extend(own.into_iter().map(|(part, _)| part));
        }
        n_moved += moved.len() as u64;
        let mut b = Builder::before(func, root);
        let Some(condition) = conjunction(&mut b, &moved) else { continue };
        let branch = tir::If::build(&mut b, condition, &[], &[]);
        let region = func.op_regions(branch)[0];
        Rewriter::new(func).move_to_end(root, region);
    }
    n_moved
}

/// The conditionals on the way from the loop `root` to its one store, each with one branch; outermost first.
fn branches(func: &Func, root: Op) -> Vec<Op> {
    let (mut at, mut found) = (root, Vec::new());
    while let [one] = statements(func, func.op_regions(at)[0])[..] {
        match func.opcode(one) {
            tir::FOR => {}
            tir::IF if is_one_armed(func, one) => found.push(one),
            _ => break,
        }
        at = one;
    }
    found
}
