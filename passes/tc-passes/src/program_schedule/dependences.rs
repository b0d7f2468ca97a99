//! Which conflicting accesses keep a loop of the serial reading in its order.

use super::nest::{outermost, var};
use super::region::Part;
use crate::analysis::access::{Access, Footprint, Form, NestFacts};
use crate::analysis::dependence::{Between, DependenceTest};
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;
use tc_arith::{Node, Var};
use tc_dialects::algebra::{Algebra, const_extent};
use tc_dialects::{arith, tir};
use tc_ir::attrs::BinOp;
use tc_ir::opdef::Role;
use tc_ir::walk::{ancestors, ops_under};
use tc_ir::{Func, Op, Region, Value, effects};

/// What forbids an order.
#[derive(Clone, Debug)]
pub(super) enum Obstacle {
    /// The effect of the op is not known, or threads meet in it.
    Unknown(Op),
    /// In the old order the first access comes before the second, in the new one after it.
    Conflict {
        first: Op,
        second: Op,
        /// What they touch; two buffers that may be one.
        buffers: [Value; 2],
        /// By how much the variables of loops differ between the two, where that is known.
        distance: Option<Vec<(Op, Option<i64>)>>,
    },
}

/// The accesses under some loops, in the serial reading.
pub(super) struct Serial<'f> {
    func: &'f Func,
    pub(super) facts: NestFacts<'f>,
    /// The values that are defined in a loop, as far as it was asked.
    inside: FxHashMap<Op, Rc<FxHashSet<Value>>>,
}

/// The accesses of a piece of the program.
struct Accesses {
    list: Vec<Access>,
}

/// Two executions of accesses of which the first comes first.
#[derive(Clone, Copy)]
struct Executions<'a> {
    /// Everything defined outside this op has one value in both.
    within: Op,
    /// Loops in it whose variables have one value in both.
    same: &'a [Op],
    /// The loop whose variable is greater for the second.
    carried: Op,
    /// A loop whose variable is smaller for the second.
    reversed: Option<Op>,
}

impl<'f> Serial<'f> {
    /// Around `op`.
    pub(super) fn around(func: &'f Func, op: Op) -> Serial<'f> {
        Serial { func, facts: NestFacts::serial(func, outermost(func, op)), inside: FxHashMap::default() }
    }

    /// The accesses of `ops` and what is under them, to what was made outside of all of them. Alike ones are
    /// one, unless the caller tells them apart `by_op`.
    fn accesses(&mut self, ops: &[Op], by_op: bool) -> Result<Accesses, Obstacle> {
        let mut list: Vec<Access> = Vec::new();
        let mut made: FxHashSet<Value> = FxHashSet::default();
        for op in with_inner(self.func, ops) {
            let own = effects::own(self.func, op);
            if own.unknown || own.convergent || own.synchronises {
                return Err(Obstacle::Unknown(op));
            }
            if self.func.opcode(op) == tir::ALLOC {
                made.extend(self.func.results(op));
            }
            for access in self.facts.all_accesses(op) {
                if !list.iter().any(|old| old.op == access.op && old.is_alike(&access)) {
                    list.push(access);
                }
            }
        }
        list.retain(|access| !made.contains(&access.root));
        // Of accesses that are alike one tells what all do, but for updates, which are known by their ops.
        if !by_op {
            let mut distinct: Vec<Access> = Vec::new();
            for access in list {
                if !distinct.iter().any(|known| known.is_alike(&access)) {
                    distinct.push(access);
                }
            }
            list = distinct;
        }
        Ok(Accesses { list })
    }

    /// What keeps two iterations of the loop `op` apart, everything outside of it being the same.
    pub(super) fn carried_by(&mut self, op: Op) -> Option<Obstacle> {
        let inner = self.func.op_regions(op)[0];
        let ops: Vec<Op> = self.func.ops(inner).collect();
        let accesses = match self.accesses(&ops, false) {
            Ok(accesses) => accesses,
            Err(obstacle) => return Some(obstacle),
        };
        let executions = Executions { within: op, same: &[], carried: op, reversed: None };
        self.conflict((&accesses, &accesses), executions, &[op], |_, _| false)
    }

    /// What keeps `later`, which stand behind `earlier` in the loop `op`, from running after all iterations of these.
    pub(super) fn distribution(&mut self, op: Op, earlier: &[Op], later: &[Op]) -> Option<Obstacle> {
        let both = self.accesses(earlier, false).and_then(|earlier| Ok((earlier, self.accesses(later, false)?)));
        let (earlier, later) = match both {
            Ok(both) => both,
            Err(obstacle) => return Some(obstacle),
        };
        let executions = Executions { within: op, same: &[], carried: op, reversed: None };
        self.conflict((&later, &earlier), executions, &[op], |_, _| false)
    }

    /// What keeps the perfect nest `loops` from running in `order`, the same loops.
    pub(super) fn permutation(&mut self, loops: &[Op], order: &[Op]) -> Option<Obstacle> {
        let inner = self.func.op_regions(loops[loops.len() - 1])[0];
        let ops: Vec<Op> = self.func.ops(inner).collect();
        let accesses = match self.accesses(&ops, true) {
            Ok(accesses) => accesses,
            Err(obstacle) => return Some(obstacle),
        };
        let updates = updates(self.func, &accesses);
        let is_update = |first: &Access, second: &Access| {
            let of = |store: Op, other: Op| updates.get(&store).is_some_and(|&load| other == store || other == load);
            of(first.op, second.op) || of(second.op, first.op)
        };
        for (p, &carried) in loops.iter().enumerate() {
            for &reversed in &loops[p + 1..] {
                let place = |of: Op| order.iter().position(|&op| op == of).unwrap_or(0);
                if place(reversed) > place(carried) {
                    continue;
                }
                let mut same: Vec<Op> = loops[..p].to_vec();
                same.extend(&order[..place(reversed)]);
                let executions = Executions { within: loops[0], same: &same, carried, reversed: Some(reversed) };
                let found = self.conflict((&accesses, &accesses), executions, loops, is_update);
                if found.is_some() {
                    return found;
                }
            }
        }
        None
    }

    /// Does `store` write as many different cells as its buffer has, wherever the loops around it up to `statement` run?
    pub(super) fn fills(&mut self, store: Op, statement: Op, cells: i64) -> bool {
        let func = self.func;
        let mut around: Vec<Op> = ancestors(func, store).take_while(|&op| op != statement).collect();
        around.extend((store != statement).then_some(statement));
        if around.iter().any(|&op| func.opcode(op) != tir::FOR) {
            return false;
        }
        let extents = around.iter().map(|&op| const_extent(func, op));
        let points = extents.into_iter().try_fold(1i64, |product, extent| product.checked_mul(extent?));
        // As many points as cells, and no two of them at one cell.
        points == Some(cells)
            && self.facts.all_accesses(store).into_iter().filter(|access| access.writes).all(|access| {
                around.iter().all(|&op| {
                    let executions = Executions { within: op, same: &[], carried: op, reversed: None };
                    !self.depends(&access, &access, executions)
                })
            })
    }

    /// The loop of `loops`, innermost first, two iterations of which may store to one cell of the parts that `ops` access;
    /// all of them access one buffer.
    pub(super) fn boxes_overlap(
        &mut self,
        ops: &[Op],
        parts: &[Part],
        extents: &[Option<i64>],
        loops: &[Op],
    ) -> Option<Op> {
        let &innermost = loops.first()?;
        let Some(mut access) = ops.first().and_then(|&op| self.facts.all_accesses(op).into_iter().next()) else {
            return Some(innermost);
        };
        let mut forms: Vec<Form> = Vec::new();
        for (part, extent) in parts.iter().zip(extents) {
            let (start, len) = match (*part, *extent) {
                (Part::Range(start, len), _) => (start, len),
                (Part::Whole, Some(extent)) => (self.facts.algebra.analyzer.pool.int(0), extent),
                (Part::Whole, None) => return Some(innermost),
            };
            forms.push(self.facts.form_of(start, Footprint::row(len, 1)));
        }
        (access.index, access.guards, access.writes) = (Some(forms), Rc::default(), true);
        loops.iter().copied().find(|&op| {
            let executions = Executions { within: op, same: &[], carried: op, reversed: None };
            self.depends(&access, &access, executions)
        })
    }

    /// Do two accesses of the list that are left share memory in such executions, one of them a write?
    fn conflict(
        &mut self,
        (first, second): (&Accesses, &Accesses),
        executions: Executions<'_>,
        loops: &[Op],
        is_free: impl Fn(&Access, &Access) -> bool,
    ) -> Option<Obstacle> {
        for one in &first.list {
            for other in &second.list {
                if !one.conflicts(other) || !one.may_share_memory(other) || is_free(one, other) {
                    continue;
                }
                if self.depends(one, other, executions) {
                    let distance = self.distance(one, other, loops);
                    let buffers = [one.root, other.root];
                    return Some(Obstacle::Conflict { first: one.op, second: other.op, buffers, distance });
                }
            }
        }
        None
    }

    fn depends(&mut self, first: &Access, second: &Access, executions: Executions<'_>) -> bool {
        let Executions { within, same, carried, reversed } = executions;
        let func = self.func;
        let inside = self.inside.entry(within).or_insert_with(|| Rc::new(defined_under(func, within))).clone();
        let equal: Vec<Value> = same.iter().map(|&op| var(func, op)).collect();
        let of = |op: Op| Algebra::var(var(func, op));
        let is_same = |_: &NestFacts<'_>, of: Var| {
            let value = Algebra::value(of);
            equal.contains(&value) || !inside.contains(&value)
        };
        let test = DependenceTest {
            first,
            second,
            between: Between::Iterations(&[of(carried)]),
            same: &is_same,
            carried: Some(of(carried)),
            reversed: reversed.map(of),
        };
        !self.facts.is_independent(&test)
    }

    /// By how much each of `loops` differs where the two touch one cell.
    fn distance(&mut self, first: &Access, second: &Access, loops: &[Op]) -> Option<Vec<(Op, Option<i64>)>> {
        if first.root != second.root || first.window != second.window {
            return None;
        }
        let (lhs, rhs) = (first.index.as_deref()?, second.index.as_deref()?);
        let of_loop = |op: Op| {
            let atom = Algebra::var(var(self.func, op));
            let told = lhs.iter().zip(rhs).find_map(|(lhs, rhs)| match (&lhs.terms[..], &rhs.terms[..]) {
                (&[(one, coef)], &[(other, coef_of_other)]) if one == other && coef == coef_of_other && coef != 0 => {
                    let is_it = self.facts.algebra.analyzer.pool.node(one) == Node::Var(atom);
                    let difference = lhs.constant.checked_sub(rhs.constant)?;
                    (is_it && difference % coef == 0).then(|| difference / coef)
                }
                _ => None,
            });
            (op, told)
        };
        Some(loops.iter().map(|&op| of_loop(op)).collect())
    }
}

/// `ops` and all that is in them.
fn with_inner(func: &Func, ops: &[Op]) -> impl Iterator<Item = Op> {
    ops.iter().flat_map(move |&op| {
        let inner = func.op_regions(op).iter().flat_map(move |&region| ops_under(func, region));
        std::iter::once(op).chain(inner)
    })
}

/// All values that are defined in the loop `op`.
fn defined_under(func: &Func, op: Op) -> FxHashSet<Value> {
    let mut inside: FxHashSet<Value> = FxHashSet::default();
    let of_region = |region: Region, inside: &mut FxHashSet<Value>| inside.extend(func.region_args(region));
    func.op_regions(op).iter().for_each(|&region| of_region(region, &mut inside));
    for inner in func.op_regions(op).iter().flat_map(|&region| ops_under(func, region)) {
        inside.extend(func.results(inner));
        func.op_regions(inner).iter().for_each(|&region| of_region(region, &mut inside));
    }
    inside
}

/// The loads of updates, by the stores that end them: `X[i] = X[i] + e`. The operator is associative and commutative, up to
/// rounding. What else reads or writes `X` is an access of its own.
fn updates(func: &Func, accesses: &Accesses) -> FxHashMap<Op, Op> {
    let access_of = |op: Op| accesses.list.iter().find(|access| access.op == op);
    let mut found = FxHashMap::default();
    for store in accesses.list.iter().filter(|access| func.opcode(access.op) == tir::STORE) {
        let is_of_it = |&load: &Op| {
            let same_cell =
                |access: &Access| access.root == store.root && access.index.is_some() && access.index == store.index;
            access_of(load).is_some_and(same_cell) && func.region_of(load) == func.region_of(store.op)
        };
        if let Some(load) = combined(func, store.op).into_iter().flatten().find(is_of_it) {
            found.insert(store.op, load);
        }
    }
    found
}

/// The loads that `store` combines with something else by an operator whose steps may come in any order.
fn combined(func: &Func, store: Op) -> Option<Vec<Op>> {
    let only_use = |value: Value| func.n_uses(value) == 1;
    let stored = *func.operands(store).last()?;
    let value = func.def_op(stored).filter(|_| only_use(stored))?;
    let operands = func.operands(value);
    let candidates = match func.role(value) {
        Role::Binary(BinOp::Add | BinOp::Mul | BinOp::BitAnd | BinOp::BitOr | BinOp::BitXor) => operands,
        _ if matches!(func.opcode(value), arith::MIN | arith::MAX) => operands,
        _ if func.opcode(value) == arith::FMA => &operands[2..],
        _ => return None,
    };
    let of = |&value: &Value| func.def_op(value).filter(|&op| func.opcode(op) == tir::LOAD && only_use(value));
    (func.region_of(value) == func.region_of(store)).then(|| candidates.iter().filter_map(of).collect())
}
