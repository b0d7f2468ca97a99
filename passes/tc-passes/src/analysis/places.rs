//! A walk that knows what holds where: loop ranges and conditions are in force at the ops under them.

use tc_arith::Mark;
use tc_dialects::algebra::Algebra;
use tc_ir::{Func, Op, Region};

enum Step {
    Enter(Region),
    At(Option<Op>),
    Leave(Mark),
}

/// Shows every op of `func` to `visit`, in the order of the text, with what is known at its place.
pub(crate) fn walk_places(func: &Func, mut visit: impl FnMut(&mut Algebra, Op)) {
    let mut algebra = Algebra::of_func(func);
    let mut pending = vec![Step::Enter(func.body())];
    while let Some(step) = pending.pop() {
        match step {
            Step::Enter(region) => {
                pending.push(Step::Leave(algebra.analyzer.mark()));
                algebra.enter_region(func, region);
                pending.push(Step::At(func.first_op(region)));
            }
            Step::Leave(mark) => algebra.analyzer.rollback(mark),
            Step::At(None) => {}
            Step::At(Some(op)) => {
                pending.push(Step::At(func.next_op(op)));
                pending.extend(func.op_regions(op).iter().rev().map(|&region| Step::Enter(region)));
                visit(&mut algebra, op);
            }
        }
    }
}
