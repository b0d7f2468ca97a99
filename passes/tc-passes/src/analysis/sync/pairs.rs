//! Pairs of accesses that conflict.

use super::super::access::{Access, NestFacts};
use super::super::dependence::{Between, DependenceTest};
use super::super::launch::{coordinate, loop_var};
use super::Conflict;
use super::pending::Accesses;
use super::walk::Planner;
use std::rc::Rc;
use tc_arith::Var;
use tc_dialects::algebra::Algebra;
use tc_dialects::tir::{self, Coordinate, Level};
use tc_ir::{Def, Func, Op, Region, Value};

const THREADS: [Coordinate; 3] = Level::Thread.coordinates();

impl Planner<'_> {
    /// The first pair of `pending` and `next` that conflicts.
    pub(super) fn conflict(
        &mut self,
        pending: &Accesses,
        next: &Accesses,
        region: Region,
        carried: Option<Op>,
    ) -> Option<Conflict> {
        // A conflict in global memory asks for more, so it is looked for first.
        self.conflict_in(true, pending, next, region, carried)
            .or_else(|| self.conflict_in(false, pending, next, region, carried))
    }

    /// The first pair that conflicts in global, or else in shared memory.
    pub(super) fn conflict_in(
        &mut self,
        global: bool,
        pending: &Accesses,
        next: &Accesses,
        region: Region,
        carried: Option<Op>,
    ) -> Option<Conflict> {
        let mut pairs = next
            .iter_of(global)
            .flat_map(|second| pending.beside(second).iter().map(move |first| (first, second)))
            .peekable();
        pairs.peek()?;
        let func = self.func;
        let around = self.same.entry(region).or_insert_with(|| regions_around(func, region)).clone();
        let is_same = |facts: &NestFacts<'_>, var: Var, around: &[Region]| {
            let value = Algebra::value(var);
            facts.uniform.is(value) && around.contains(&region_of_value(func, value))
        };
        let same = |facts: &NestFacts<'_>, var: Var| is_same(facts, var, &around);
        // A copy that was begun before may be of another iteration of all loops around.
        let outermost = &around[around.iter().rposition(|&region| repeats(func, region)).map_or(0, |nth| nth + 1)..];
        let always_same = |facts: &NestFacts<'_>, var: Var| is_same(facts, var, outermost);
        let carried_var = carried.map(|op| Algebra::var(loop_var(func, op)));
        for (first, second) in pairs {
            let same: &dyn Fn(&NestFacts<'_>, Var) -> bool = if first.begun_before { &always_same } else { &same };
            let carried_var = carried_var.filter(|_| !first.begun_before);
            let between = Between::Coordinates(&THREADS);
            let test = DependenceTest { first, second, between, same, carried: carried_var, reversed: None };
            if !self.facts.is_independent(&test) {
                let roots = vec![first.root, second.root];
                return Some(Conflict {
                    first: Access::clone(first),
                    second: Access::clone(second),
                    carried,
                    at_once: false,
                    roots,
                });
            }
        }
        None
    }
}

fn regions_around(func: &Func, region: Region) -> Rc<[Region]> {
    let parents = |region: &Region| func.region_parent(*region).and_then(|op| func.region_of(op));
    std::iter::successors(Some(region), parents).collect()
}

/// Is `region` the body of a loop, which may run again and again?
fn repeats(func: &Func, region: Region) -> bool {
    func.region_parent(region).is_some_and(|op| func.opcode(op) == tir::FOR && coordinate(func, op).is_none())
}

fn region_of_value(func: &Func, value: Value) -> Region {
    match func.def(value) {
        Def::Arg(region, _) => region,
        // The results of an op that was taken out are operands of nothing.
        Def::Result(op, _) => func.region_of(op).unwrap_or(func.body()),
    }
}
