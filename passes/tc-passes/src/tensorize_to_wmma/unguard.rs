//! Conditions around sums of warpgroup products that need not be asked.
//!
//! Tiles that reach beyond the result or the reduction have conditions. An intrinsic does all of a tile, so the condition
//! has to go, and may where what it kept from being done does no harm:
//!
//! - one that is the same for all steps of a sum keeps elements of the accumulator from being written. It may go where nothing
//!   reads such an element: where it is proved of all that is read, or of all that is written first.
//! - one that ends the reduction keeps products from being added. They are zero if both factors are, and bulk copies fill
//!   a buffer with zeros where its box is outside of the tensor.
//!
//! Both want factors that hold numbers everywhere: buffers that bulk copies fill. What else a condition asks stays.

use super::tile::scope_of;
use crate::analysis::condition::{ask_for, conjuncts, likely_conjuncts};
use crate::analysis::invariant::{arguments, is_arithmetic};
use crate::analysis::structure::is_one_armed;
use crate::analysis::tiles;
use indexmap::IndexSet;
use tc_arith::{Expr, Var};
use tc_dialects::algebra::Algebra;
use tc_dialects::scope::Scope;
use tc_dialects::{tir, tma};
use tc_ir::effects::root_buffer;
use tc_ir::opdef::Role;
use tc_ir::uses::Uses;
use tc_ir::walk::{all_ops, ancestors, is_inside};
use tc_ir::{Func, Op, Value, effects};

/// Takes conditions away; gives their number.
pub(super) fn run(func: &mut Func) -> u64 {
    let is_sum = |func: &Func, op: Op| {
        func.opcode(op) == tir::STORE && scope_of(func, func.operand(op, 0)) == Some(Scope::WgmmaAccumulator.name())
    };
    let stores: Vec<Op> = all_ops(func).filter(|&op| is_sum(func, op)).collect();
    let mut n_gone = 0;
    // What is asked of one store may be what another is proved by.
    let found: Vec<_> = stores.into_iter().flat_map(|store| needless(func, store).unwrap_or_default()).collect();
    for (branch, kept, n_needless) in found {
        ask_for(func, branch, &kept);
        n_gone += n_needless;
    }
    n_gone
}

/// The conditionals around `store`, inside of where its buffer is made, that ask what need not be asked: each with what is left
/// to ask, and the number of parts that go.
fn needless(func: &Func, store: Op) -> Option<Vec<(Op, Vec<Value>, u64)>> {
    let buffer = func.operand(store, 0);
    let home = func.region_of(func.def_op(buffer)?)?;
    let around: Vec<Op> = ancestors(func, store).take_while(|&op| !func.op_regions(op).contains(&home)).collect();
    let branches: Vec<Op> = around.iter().copied().filter(|&op| func.opcode(op) == tir::IF).collect();
    if branches.is_empty() {
        return None;
    }
    let only_this = |&branch: &Op| {
        is_one_armed(func, branch)
            && tc_ir::walk::ops_under(func, func.op_regions(branch)[0]).all(|op| {
                op == store || is_inside(func, store, op) || func.row(op).terminator || effects::only_reads(func, op)
            })
    };
    if !branches.iter().all(only_this) {
        return None;
    }
    let uses = Uses::of(func);
    // The ranges of loops alone: what is asked has to hold where the conditions do not.
    let mut algebra = tiles::algebra(func);
    let factors = factors(func, store)?;
    let fills: Vec<Fill> =
        factors.iter().map(|&(load, factor)| Fill::of(func, &uses, load, factor)).collect::<Option<_>>()?;
    // Variables that tell elements of the buffer apart, and those of loops inside that do not.
    let indices = &func.operands(store)[1..func.operands(store).len() - 1];
    let of_element: Vec<Var> = indices.iter().flat_map(|&index| vars(func, &mut algebra, index)).collect();
    let loops = around.iter().filter(|&&op| func.opcode(op) == tir::FOR);
    let of_steps: Vec<Var> = loops
        .map(|&op| Algebra::var(func.region_args(func.op_regions(op)[0])[0]))
        .filter(|var| !of_element.contains(var))
        .collect();
    let element = Element { func, uses: &uses, store, accesses: accesses(func, &uses, buffer)? };
    let mut is_needless = |condition: Value| {
        // What a condition reads may change from step to step.
        if !is_arithmetic(func, condition, None) {
            return false;
        }
        let expr = algebra.expr(func, condition);
        match arguments(func, condition).iter().any(|&arg| of_steps.contains(&Algebra::var(arg))) {
            true => fills.iter().all(|fill| fill.ends_with(func, &mut algebra, expr)),
            false => element.is_unread_without(condition, &of_element),
        }
    };
    // A first step has no factors, and is the same for all steps.
    if fills.is_empty() && func.constant(*func.operands(store).last()?).is_none() {
        return None;
    }
    let of_branch = |branch: Op| {
        let parts = likely_conjuncts(func, func.operand(branch, 0));
        let n_parts = parts.len();
        let stays = |part: &Value| !conjuncts(func, *part).into_iter().all(&mut is_needless);
        let kept: Vec<Value> = parts.into_iter().filter(stays).collect();
        let n_needless = (n_parts - kept.len()) as u64;
        (branch, kept, n_needless)
    };
    Some(branches.into_iter().map(of_branch).filter(|&(_, _, n_needless)| n_needless > 0).collect())
}

/// The loads and stores of a buffer that nothing else takes; `None` where something does.
fn accesses(func: &Func, uses: &Uses, buffer: Value) -> Option<Vec<Op>> {
    let of_element = |op: Op| matches!(func.opcode(op), tir::LOAD | tir::STORE);
    uses.of_value(buffer).iter().map(|user| Some(user.op).filter(|&op| user.idx == 0 && of_element(op))).collect()
}

/// An element of sums that `store` adds to, and all that accesses its buffer.
struct Element<'f> {
    func: &'f Func,
    uses: &'f Uses,
    store: Op,
    accesses: Vec<Op>,
}

impl Element<'_> {
    /// Does `condition`, which the element alone decides, hold of each that is read, or of each that is written first?
    fn is_unread_without(&self, condition: Value, of_element: &[Var]) -> bool {
        let is_load = |op: &Op| self.func.opcode(*op) == tir::LOAD;
        let (loads, stores): (Vec<Op>, Vec<Op>) = self.accesses.iter().partition(|op| is_load(op));
        // What only leads to a sum is read by what reads that.
        let read = loads.iter().filter(|&&load| !stores.iter().any(|&store| self.adds_to(load, store)));
        let mut written =
            stores.iter().filter(|&&store| !loads.iter().any(|&load| self.adds_to(load, store))).peekable();
        let mut holds = |op: &Op| self.holds_at(*op, condition, of_element);
        read.into_iter().all(&mut holds) || (written.peek().is_some() && written.all(holds))
    }

    /// Does `store` put back the element of `load` with something added, and nothing else take it?
    fn adds_to(&self, load: Op, store: Op) -> bool {
        let func = self.func;
        let (at, value) = (&func.operands(store)[1..], func.operands(store).last());
        if at.split_last().is_none_or(|(_, to)| *to != func.operands(load)[1..]) {
            return false;
        }
        let (mut worklist, mut seen) = (Vec::from_iter(value.copied()), IndexSet::new());
        while let Some(op) = worklist.pop().and_then(|value| func.def_op(value)) {
            if op == load {
                return func.result(load).is_some_and(|value| self.uses.of_value(value).len() == 1);
            }
            if seen.insert(op) {
                worklist.extend(func.operands(op).iter().filter(|&&value| func.def_op(value).is_some()));
            }
        }
        false
    }

    /// Is the condition proved where `op` accesses an element, of that element?
    fn holds_at(&self, op: Op, condition: Value, of_element: &[Var]) -> bool {
        let func = self.func;
        let mut algebra = Algebra::of_func(func);
        algebra.enter_place(func, op);
        let n_dims = func.operands(self.store).len() - 2;
        let [own, there] = [self.store, op].map(|op| func.operands(op)[1..=n_dims].to_vec());
        let mut known: Vec<(Var, Expr)> = Vec::new();
        for (own, there) in own.into_iter().zip(there) {
            if let Some(var) = of_element.iter().copied().find(|&var| Algebra::value(var) == own) {
                known.push((var, algebra.expr(func, there)));
            }
        }
        let expr = algebra.expr(func, condition);
        let is_mapped = |var: &Var| !of_element.contains(var) || known.iter().any(|(of, _)| of == var);
        if !algebra.analyzer.pool.vars(expr).iter().all(is_mapped) {
            return false;
        }
        let expr = algebra.analyzer.pool.subst(expr, &known);
        algebra.analyzer.can_prove(expr)
    }
}

fn vars(func: &Func, algebra: &mut Algebra, value: Value) -> Vec<Var> {
    let expr = algebra.expr(func, value);
    algebra.analyzer.pool.vars(expr).to_vec()
}

/// The loads that the stored value is computed from, but those of the element itself; each with its buffer. `None` where it
/// is computed from anything else than arithmetic.
fn factors(func: &Func, store: Op) -> Option<Vec<(Op, Value)>> {
    let buffer = func.operand(store, 0);
    let mut found = Vec::new();
    let mut worklist = vec![*func.operands(store).last()?];
    while let Some(value) = worklist.pop() {
        let Some(op) = func.def_op(value) else { continue };
        match func.role(op) {
            Role::Load if func.operand(op, 0) == buffer => {}
            Role::Load => found.push((op, func.operand(op, 0))),
            _ if func.op_regions(op).is_empty() && effects::summary(func, op).is_pure() => {
                worklist.extend_from_slice(func.operands(op));
            }
            _ => return None,
        }
    }
    Some(found)
}

/// How a factor's buffer is filled.
struct Fill {
    /// The load of the factor.
    load: Op,
    /// The bulk copies that fill the buffer.
    copies: Vec<Op>,
}

impl Fill {
    /// The bulk copies that fill `buffer`, if nothing else does.
    fn of(func: &Func, uses: &Uses, load: Op, buffer: Value) -> Option<Fill> {
        func.def_op(buffer).filter(|&op| func.opcode(op) == tir::ALLOC)?;
        let writes = |op: Op| {
            effects::accesses(func, op)
                .iter()
                .any(|&(place, access)| root_buffer(func, place) == buffer && access.writes())
        };
        let places = uses.of_value(buffer).iter().map(|user| user.op);
        let users = places.flat_map(|op| match func.result(op).filter(|_| func.opcode(op) == tir::REGION) {
            Some(region) => uses.of_value(region).iter().map(|user| user.op).collect(),
            None => vec![op],
        });
        let copies: Vec<Op> = users.filter(|&op| writes(op)).collect();
        (!copies.is_empty() && copies.iter().all(|&op| func.opcode(op) == tma::LOAD)).then_some(Fill { load, copies })
    }

    /// Is `condition` false exactly where the copies are beyond the end of their tensor in one dimension? There are zeros
    /// then.
    fn ends_with(&self, func: &Func, algebra: &mut Algebra, condition: Expr) -> bool {
        let condition = algebra.analyzer.simplify(condition);
        self.copies.iter().all(|&copy| {
            let (to, from) = (func.operand(copy, 0), func.operand(copy, 1));
            (0..common_dims(func, to, from))
                .any(|nth| self.is_inside(func, algebra, (to, from), nth) == Some(condition))
        })
    }

    /// What says that the factor lies inside the tensor, in the dimension that is `nth` from the last.
    fn is_inside(&self, func: &Func, algebra: &mut Algebra, (to, from): (Value, Value), nth: usize) -> Option<Expr> {
        let [to, at, read] =
            [func.def_op(to)?, func.def_op(from)?, self.load].map(|op| func.operands(op)[1..].iter().nth_back(nth));
        let (_, shape, _) = func.as_shaped(func.value_type(root_buffer(func, from)))?;
        let extent = *shape.iter().nth_back(nth)?;
        let [to, at, read] = [*to?, *at?, *read?].map(|index| algebra.expr(func, index));
        let offset = algebra.analyzer.pool.sub(at, to);
        let source = algebra.analyzer.pool.add(offset, read);
        let extent = algebra.attr(func, extent)?;
        // Both are brought into one form; what a range decides of one is left out of the other.
        let inside = algebra.analyzer.pool.lt(source, extent);
        Some(algebra.analyzer.simplify(inside))
    }
}

/// How many dimensions, counted from the last, the box `from` and the place `to` that it is copied to share.
fn common_dims(func: &Func, to: Value, from: Value) -> usize {
    let lengths = |place: Value| tir::place_type(func, place).map_or(&[][..], |(_, shape, _)| shape);
    let pairs = lengths(to).iter().rev().zip(lengths(from).iter().rev());
    pairs.take_while(|(to, from)| func.as_int(**to) == func.as_int(**from)).count()
}
