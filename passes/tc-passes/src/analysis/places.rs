//! A walk that knows what holds where: loop ranges and conditions are in force at the ops under them.
//!
//! Most questions are answered by the ranges of loops. Conditions are declared where somebody asks for more.

use tc_arith::{Interval, Mark};
use tc_dialects::algebra::Algebra;
use tc_dialects::tir;
use tc_ir::{Func, Op, Region, Value};

enum WalkEvent {
    Enter(Region),
    At(Option<Op>),
    Leave(Mark),
}

/// What is known at a place.
pub(crate) struct Places<'f> {
    func: &'f Func,
    /// Knows the ranges of the loops around.
    ranges: Algebra,
    /// Knows all of what holds, in the outermost regions; the marks lead out of these.
    all: Algebra,
    entered: Vec<Mark>,
    /// The regions around the place, outermost first.
    around: Vec<Region>,
}

impl Places<'_> {
    /// An interval that holds `value`, an integer, by the ranges of the loops around alone.
    pub(crate) fn quick_bounds(&mut self, value: Value) -> Interval {
        let expr = self.ranges.expr(self.func, value);
        self.ranges.analyzer.quick_bounds(expr)
    }

    /// All that is known at the place.
    pub(crate) fn algebra(&mut self) -> &mut Algebra {
        for &region in &self.around[self.entered.len()..] {
            self.entered.push(self.all.analyzer.mark());
            self.all.enter_region(self.func, region);
        }
        &mut self.all
    }

    fn enter(&mut self, region: Region) {
        self.around.push(region);
        if self.func.region_parent(region).is_some_and(|op| self.func.opcode(op) == tir::FOR) {
            self.ranges.enter_region(self.func, region);
        }
    }

    fn leave(&mut self, mark: Mark) {
        self.around.pop();
        self.ranges.analyzer.rollback(mark);
        if self.entered.len() > self.around.len()
            && let Some(mark) = self.entered.pop()
        {
            self.all.analyzer.rollback(mark);
        }
    }
}

/// Shows every op of `func` to `visit`, in the order of the text, with what is known at its place.
pub(crate) fn walk_places(func: &Func, mut visit: impl FnMut(&mut Places<'_>, Op)) {
    let (ranges, all) = (Algebra::of_func(func), Algebra::of_func(func));
    let mut places = Places { func, ranges, all, entered: Vec::new(), around: Vec::new() };
    let mut worklist = vec![WalkEvent::Enter(func.body())];
    while let Some(step) = worklist.pop() {
        match step {
            WalkEvent::Enter(region) => {
                worklist.push(WalkEvent::Leave(places.ranges.analyzer.mark()));
                places.enter(region);
                worklist.push(WalkEvent::At(func.first_op(region)));
            }
            WalkEvent::Leave(mark) => places.leave(mark),
            WalkEvent::At(None) => {}
            WalkEvent::At(Some(op)) => {
                worklist.push(WalkEvent::At(func.next_op(op)));
                worklist.extend(func.op_regions(op).iter().rev().map(|&region| WalkEvent::Enter(region)));
                visit(&mut places, op);
            }
        }
    }
}
