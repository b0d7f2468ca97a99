//! Which loops qualify, and on which interval their conditions are settled.

use super::interval::{clamp, intersection};
use super::{HINT, Options};
use crate::analysis::launch::nest_of;
use crate::analysis::structure::is_marked;
use crate::analysis::uniform::Uniforms;
use indexmap::IndexSet;
use rustc_hash::FxHashSet;
use tc_arith::{Expr, SymInterval, Var};
use tc_dialects::algebra::{Algebra, Computation, const_extent};
use tc_dialects::arith;
use tc_dialects::threads::{begins_bulk_copy, is_reduction};
use tc_dialects::tir::{self, LoopKind};
use tc_dialects::tma;
use tc_ir::walk::{ancestors, is_inside, ops_under};
use tc_ir::{AttrData, Def, Elem, Func, Op, Value, effects, keys};

/// Where a loop is divided.
pub(super) struct Division {
    /// The first value of the middle part, where a part comes before it.
    pub(super) begin: Option<Computation>,
    /// The first value after the middle part, where a part comes after it.
    pub(super) end: Option<Computation>,
    /// The conditions that are settled in the middle, as results of ops in the body.
    pub(super) settled: Vec<Value>,
    /// What they are there.
    pub(super) truth: bool,
    /// The conditions that say nothing more of the part before, and of the part after.
    pub(super) spent: [Vec<Value>; 2],
}

/// Why a loop that qualifies is not divided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Why {
    /// Threads of a block begin it at different values.
    StartsApart,
    /// There is no interval on which its conditions are settled.
    Unsettled,
    /// Parts of it would have to be copied a number of times that is not known.
    CountOpen,
}

/// What keeps the loop `op`, in which a `likely` condition depends on its variable, from being divided, and the help.
pub(super) fn not_a_candidate(func: &Func, op: Op, options: &Options) -> Option<(String, &'static str)> {
    let var = func.value_text(func.region_args(func.op_regions(op)[0])[0]);
    let divisible =
        matches!(tir::loop_kind(func, op), Some(LoopKind::Serial | LoopKind::Unroll(None) | LoopKind::Launch(_)));
    Some(if !divisible {
        (
            format!("the loop `{var}` is of a kind that is not divided"),
            "a serial loop around it is, and an unrolled one",
        )
    } else if reduces_across(func, op) {
        (format!("threads meet at a reduction under the loop `{var}`"), "let threads without a part bring the identity")
    } else if is_tied_to_a_mark(func, op) {
        (format!("the loop `{var}` stands for an intrinsic"), "choose factors that divide the extents of its tile")
    } else if !options.partition_const_loop && const_extent(func, op).is_some() {
        let help = "`loop-partition{partition-const-loop}` divides such loops, or `pragma(…, loop_partition_hint = true)` this one";
        (format!("the bounds of the loop `{var}` are constant"), help)
    } else if fills_ahead(func, op) {
        let reason = format!("a buffer is made for several iterations of the loop `{var}` at once");
        (reason, "`pragma(…, loop_partition_hint = true)` divides it all the same")
    } else {
        return None;
    })
}

/// Does the author ask for it?
pub(super) fn is_hinted(func: &Func, op: Op) -> bool {
    func.attr_named(op, HINT).is_some_and(|attr| match func.attr_data(attr) {
        AttrData::Bool(value) => *value,
        AttrData::Int(value, _) => *value != 0,
        _ => true,
    })
}

/// Is `op` a loop that may be divided?
pub(super) fn is_candidate(func: &Func, op: Op, options: &Options) -> bool {
    if func.opcode(op) != tir::FOR {
        return false;
    }
    let divisible = match tir::loop_kind(func, op) {
        Some(LoopKind::Serial | LoopKind::Unroll(None)) => true,
        Some(LoopKind::Launch(coordinate)) => !coordinate.is_thread(),
        _ => false,
    };
    let divisible = divisible && !reduces_across(func, op) && !is_tied_to_a_mark(func, op);
    if !divisible || is_hinted(func, op) {
        return divisible;
    }
    (options.partition_const_loop || const_extent(func, op).is_none())
        && !conditions(func, op, false).is_empty()
        && !fills_ahead(func, op)
}

/// Is the loop one that stands for an intrinsic, or inside of one? What is matched against it is the whole nest.
fn is_tied_to_a_mark(func: &Func, op: Op) -> bool {
    is_marked(func, op) || ancestors(func, op).any(|outer| is_marked(func, outer))
}

/// Do threads meet at a reduction under the loop? They do so in one place, whatever part of the loop they are in.
fn reduces_across(func: &Func, op: Op) -> bool {
    ops_under(func, func.op_regions(op)[0]).any(|inner| is_reduction(func, inner))
}

/// Is a buffer made under the loop of which several iterations' copies are wanted? In parts of a loop they would be made
/// anew for each.
fn fills_ahead(func: &Func, op: Op) -> bool {
    ops_under(func, func.op_regions(op)[0]).any(|inner| is_staged(func, inner))
}

/// Is `op` an alloc of which several iterations' copies are wanted?
pub(super) fn is_staged(func: &Func, op: Op) -> bool {
    func.opcode(op) == tir::ALLOC && func.int_of(op, keys::STAGES).is_some_and(|stages| stages > 1)
}

/// The conditions under the loop that may be settled: each a result of an op in the body. Those of `likely`, and with the
/// hint every comparison and all that a conditional asks.
fn conditions(func: &Func, op: Op, hinted: bool) -> IndexSet<Value> {
    let mut found = IndexSet::new();
    for inner in ops_under(func, func.op_regions(op)[0]) {
        let value = match func.opcode(inner) {
            arith::LIKELY => func.result(inner),
            arith::CMP if hinted => func.result(inner),
            // A condition computed outside does not depend on the loop.
            tir::IF if hinted => Some(func.operand(inner, 0)),
            _ => None,
        };
        let is_own = |value: &Value| func.def_op(*value).is_some_and(|def| is_inside(func, def, op));
        let is_truth = |value: &Value| func.value_type(*value) == func.bool_ty();
        found.extend(value.filter(|value| is_own(value) && is_truth(value)));
    }
    found
}

/// Finds the interval on which all conditions hold, or all fail; those of `excluded` are left alone. The error says why
/// there is none; nothing where no condition asks for one.
pub(super) fn divide(
    func: &Func,
    op: Op,
    excluded: &[Value],
    uniforms: &mut Uniforms,
) -> Result<Division, Option<Why>> {
    let mut algebra = Algebra::of_func(func);
    algebra.enter_place(func, op);
    let hinted = is_hinted(func, op);
    let iv = func.region_args(func.op_regions(op)[0])[0];
    let var = algebra.declare(func, iv);
    let range = (algebra.expr(func, func.operand(op, 0)), algebra.expr(func, func.operand(op, 1)));
    let conditions: Vec<Value> = conditions(func, op, hinted)
        .into_iter()
        .filter(|value| !excluded.contains(value))
        .filter(|&value| {
            let expr = algebra.expr(func, value);
            algebra.analyzer.pool.uses(expr, var)
        })
        .collect();
    if conditions.is_empty() {
        return Err(None);
    }
    if !is_uniform(func, &algebra, uniforms, op, &[range.0]) {
        // Threads that begin at different values would be at different parts at one time.
        return Err(Some(Why::StartsApart));
    }
    let mut search = Search { func, algebra: &mut algebra, uniforms, op, var, range, greedy: hinted };
    let found = [true, false].into_iter().find_map(|truth| Some((truth, search.settle(&conditions, truth)?)));
    let (truth, Settled { values, begin, end, mut spent }) = found.ok_or(Some(Why::Unsettled))?;
    spent.iter_mut().for_each(|list| list.extend_from_slice(excluded));
    let (lo, hi) = range;
    let pool = &mut algebra.analyzer.pool;
    let (before, after) = (pool.le(begin, lo), pool.le(hi, end));
    // Where it is not known that the middle is ever run, nothing is gained for certain, but nothing is lost.
    let has_parts = [before, after].map(|missing| !algebra.analyzer.can_prove(missing));
    // Parts of a loop that is to be copied are loops to be copied: how often, has to be known.
    let copied = tir::loop_kind(func, op) == Some(LoopKind::Unroll(None)) && const_extent(func, op).is_some();
    let is_known = |end: Expr| algebra.analyzer.pool.as_const(end).is_some();
    if copied && ((has_parts[0] && !is_known(begin)) || (has_parts[1] && !is_known(end))) {
        return Err(Some(Why::CountOpen));
    }
    let elem = func.value_scalar(iv).map_or(Elem::Index, |scalar| scalar.elem);
    let mut computed = |end: Expr, wanted: bool| match wanted {
        true => algebra.computation(end, elem).map(Some).ok_or(Some(Why::Unsettled)),
        false => Ok(None),
    };
    let [begin, end] = [computed(begin, has_parts[0])?, computed(end, has_parts[1])?];
    Ok(Division { begin, end, settled: values, truth, spent })
}

/// The iterations of a loop in which it does anything: from the first to before the second, where that is less than all.
pub(super) struct Live {
    pub(super) begin: Option<Computation>,
    pub(super) end: Option<Computation>,
}

/// Finds the iterations of a hinted serial loop in which a store may run that is seen outside of an iteration. The others fill
/// buffers of their own at most.
pub(super) fn live(func: &Func, op: Op, uniforms: &mut Uniforms) -> Option<Live> {
    let is_plain = tir::loop_kind(func, op) == Some(LoopKind::Serial) && func.operands(op).len() == 2;
    if !is_plain || !is_hinted(func, op) {
        return None;
    }
    let writes = seen_outside(func, op)?;
    let mut algebra = Algebra::of_func(func);
    algebra.enter_place(func, op);
    let iv = func.region_args(func.op_regions(op)[0])[0];
    let var = algebra.declare(func, iv);
    let range = (algebra.expr(func, func.operand(op, 0)), algebra.expr(func, func.operand(op, 1)));
    if !is_uniform(func, &algebra, uniforms, op, &[range.0, range.1]) {
        return None;
    }
    let mut search = Search { func, algebra: &mut algebra, uniforms, op, var, range, greedy: true };
    // From where on nothing is done, and up to where.
    let (mut idle_from, mut idle_to): (Option<Expr>, Option<Expr>) = (None, None);
    for (nth, &write) in writes.iter().enumerate() {
        let idle: Vec<SymInterval> =
            guards(func, op, write).into_iter().filter_map(|guard| search.solve(guard, false)).collect();
        let from = idle.iter().find(|idle| idle.max.is_none()).and_then(|idle| idle.min);
        let to = idle.iter().find(|idle| idle.min.is_none()).and_then(|idle| idle.max);
        let pool = &mut search.algebra.analyzer.pool;
        let join = |all: Option<Expr>, own: Option<Expr>, join: &mut dyn FnMut(Expr, Expr) -> Expr| match all {
            None if nth == 0 => own,
            all => all.zip(own).map(|(all, own)| join(all, own)),
        };
        idle_from = join(idle_from, from, &mut |all, own| pool.max(all, own));
        let pool = &mut search.algebra.analyzer.pool;
        idle_to = join(idle_to, to, &mut |all, own| pool.min(all, own));
    }
    let (lo, hi) = range;
    let one = algebra.analyzer.pool.int(1);
    let last = idle_from.map(|from| algebra.analyzer.pool.sub(from, one));
    let first = idle_to.map(|to| algebra.analyzer.pool.add(to, one));
    let (begin, end) = clamp(&mut algebra, lo, hi, SymInterval { min: first, max: last });
    let elem = func.value_scalar(iv).map_or(Elem::Index, |scalar| scalar.elem);
    let mut changed = |bound: Option<Expr>, end: Expr, old: Expr| {
        let is_new = bound.is_some() && end != algebra.analyzer.simplify(old);
        is_new.then(|| algebra.computation(end, elem)).flatten()
    };
    let live = Live { begin: changed(first, begin, lo), end: changed(last, end, hi) };
    (live.begin.is_some() || live.end.is_some()).then_some(live)
}

/// The conditions around what a hinted serial loop stores.
pub(super) fn guards_of_stores(func: &Func, op: Op) -> Vec<Value> {
    let is_plain = tir::loop_kind(func, op) == Some(LoopKind::Serial) && is_hinted(func, op);
    let writes = if is_plain { seen_outside(func, op) } else { None };
    writes.into_iter().flatten().flat_map(|write| guards(func, op, write)).collect()
}

/// The ops in the loop that write what an iteration does not make for itself; `None` where something else would be seen.
fn seen_outside(func: &Func, op: Op) -> Option<Vec<Op>> {
    let inner = || ops_under(func, func.op_regions(op)[0]);
    let made: FxHashSet<Value> =
        inner().filter(|&inner| func.opcode(inner) == tir::ALLOC).filter_map(|inner| func.result(inner)).collect();
    let mut writes = Vec::new();
    for inner in inner() {
        let own = effects::own(func, inner);
        // All threads of a block skip the same iterations: what they do together there, none of them does. A bulk copy that all
        // wait for orders nothing else.
        let is_copy = begins_bulk_copy(func, inner) && tma::load_barrier(func, inner).is_none();
        if own.unknown || own.synchronises && !is_copy {
            return None;
        }
        let is_seen = |&(place, access): &(Value, tc_ir::opdef::Access)| {
            access.writes() && !made.contains(&effects::root_buffer(func, place))
        };
        if effects::accesses(func, inner).iter().any(is_seen) {
            writes.push(inner);
        }
    }
    (!writes.is_empty()).then_some(writes)
}

/// The conditions that hold where `inner` runs, as far as they stand in the loop `op`.
fn guards(func: &Func, op: Op, inner: Op) -> Vec<Value> {
    let mut found = Vec::new();
    let mut at = inner;
    while let Some(outer) = func.parent_op(at).filter(|&outer| outer != op) {
        let holds = func.opcode(outer) == tir::IF && func.region_of(at) == func.op_regions(outer).first().copied();
        found.extend(holds.then(|| func.operand(outer, 0)));
        at = outer;
    }
    // Of a conjunction each part holds.
    let mut nth = 0;
    while let Some(&value) = found.get(nth) {
        nth += 1;
        let both = func.def_op(value).filter(|&def| func.opcode(def) == arith::AND);
        found.extend(both.into_iter().flat_map(|def| func.operands(def).iter().copied()));
    }
    found
}

/// Conditions that are settled from `begin` to before `end`.
struct Settled {
    values: Vec<Value>,
    begin: Expr,
    end: Expr,
    spent: [Vec<Value>; 2],
}

/// The search for an interval.
struct Search<'s> {
    func: &'s Func,
    algebra: &'s mut Algebra,
    uniforms: &'s mut Uniforms,
    op: Op,
    var: Var,
    range: (Expr, Expr),
    /// Leave out a condition that leaves nothing of the interval; otherwise nothing is found then.
    greedy: bool,
}

impl Search<'_> {
    /// The conditions that can be solved, and the interval on which all of them are `truth`.
    fn settle(&mut self, conditions: &[Value], truth: bool) -> Option<Settled> {
        let (lo, hi) = self.range;
        let (mut found, mut interval) = (Vec::new(), SymInterval::FULL);
        for &value in conditions {
            let Some(own) = self.solve(value, truth) else { continue };
            let narrowed = intersection(self.algebra, interval, own);
            if self.greedy {
                let (begin, end) = clamp(self.algebra, lo, hi, narrowed);
                if self.is_empty(begin, end) {
                    continue;
                }
            }
            interval = narrowed;
            found.push((value, own));
        }
        let (begin, end) = clamp(self.algebra, lo, hi, interval);
        if found.is_empty() || self.is_empty(begin, end) {
            return None;
        }
        let spent = self.spent(&found, begin, end);
        Some(Settled { values: found.into_iter().map(|(value, _)| value).collect(), begin, end, spent })
    }

    /// Of the conditions found, with the interval of each: those that the part before the middle is not divided by again,
    /// and those that the part after it is not. With the hint one that is proved to change further out divides that part
    /// once more; the one that ends the middle never does, so parts of parts come to an end.
    fn spent(&mut self, found: &[(Value, SymInterval)], begin: Expr, end: Expr) -> [Vec<Value>; 2] {
        let (lo, hi) = self.range;
        let mut spent = [Vec::new(), Vec::new()];
        for &(value, own) in found {
            let (own_begin, own_end) = clamp(self.algebra, lo, hi, own);
            let pool = &mut self.algebra.analyzer.pool;
            let beyond = [(own.min, pool.lt(own_begin, begin)), (own.max, pool.lt(end, own_end))];
            for (list, (bound, beyond)) in spent.iter_mut().zip(beyond) {
                if !(self.greedy && bound.is_some() && self.algebra.analyzer.can_prove(beyond)) {
                    list.push(value);
                }
            }
        }
        spent
    }

    fn is_empty(&mut self, begin: Expr, end: Expr) -> bool {
        let empty = self.algebra.analyzer.pool.le(end, begin);
        self.algebra.analyzer.can_prove(empty)
    }

    /// Where `condition` is `truth`, whatever the loops inside and the threads do.
    fn solve(&mut self, condition: Value, truth: bool) -> Option<SymInterval> {
        let (func, op) = (self.func, self.op);
        let expr = self.algebra.expr(func, condition);
        let wanted = if truth { expr } else { self.algebra.analyzer.pool.not(expr) };
        let relaxed = relaxed(func, self.algebra, op, self.var, wanted)?;
        let found = self.algebra.analyzer.deduce_bound(self.var, wanted, &relaxed)?;
        let ends: Vec<Expr> = [found.min, found.max].into_iter().flatten().collect();
        let outside = ends.iter().all(|&end| is_outside(func, self.algebra, op, end));
        (outside && is_uniform(func, self.algebra, self.uniforms, op, &ends)).then_some(found)
    }
}

/// Is each of `exprs` the same for all threads of a block? Only then do they go through the parts together.
fn is_uniform(func: &Func, algebra: &Algebra, uniforms: &mut Uniforms, op: Op, exprs: &[Expr]) -> bool {
    let vars: Vec<Var> = exprs.iter().flat_map(|&expr| algebra.analyzer.pool.vars(expr)).collect();
    let Some(nest) = nest_of(func, op).filter(|_| !vars.is_empty()) else { return true };
    let uniform = uniforms.of(func, nest);
    vars.into_iter().all(|var| uniform.is(Algebra::value(var)))
}

/// The variables of `condition` for whose every value it must be settled: those of loops inside, and threads.
fn relaxed(func: &Func, algebra: &mut Algebra, op: Op, var: Var, condition: Expr) -> Option<Vec<(Var, SymInterval)>> {
    let mut found: Vec<(Var, SymInterval)> = Vec::new();
    for other in algebra.analyzer.pool.vars(condition) {
        if other == var {
            continue;
        }
        let value = Algebra::value(other);
        let loop_op = loop_of(func, value);
        let inside = loop_op.is_some_and(|inner| is_inside(func, inner, op));
        let thread = loop_op.is_some_and(|inner| match tir::loop_kind(func, inner) {
            Some(LoopKind::Launch(coordinate)) => coordinate.is_thread(),
            Some(LoopKind::Vthread) => true,
            _ => false,
        });
        if inside || thread {
            let inner = loop_op?;
            let (lo, hi) = (algebra.expr(func, func.operand(inner, 0)), algebra.expr(func, func.operand(inner, 1)));
            // Bounds that move with the loop, or with one inside it, are beyond this.
            if !is_outside(func, algebra, op, lo) || !is_outside(func, algebra, op, hi) {
                return None;
            }
            let one = algebra.analyzer.pool.int(1);
            let last = algebra.analyzer.pool.sub(hi, one);
            found.push((other, SymInterval::new(lo, last)));
        } else if !is_visible(func, value, op) {
            return None;
        }
    }
    Some(found)
}

/// Are all variables of `expr` in scope before `op`?
fn is_outside(func: &Func, algebra: &Algebra, op: Op, expr: Expr) -> bool {
    algebra.analyzer.pool.vars(expr).into_iter().all(|var| is_visible(func, Algebra::value(var), op))
}

/// Is `value` in scope before `op`?
fn is_visible(func: &Func, value: Value, op: Op) -> bool {
    match func.def(value) {
        Def::Arg(region, _) => {
            region == func.body() || func.region_parent(region).is_some_and(|parent| is_inside(func, op, parent))
        }
        // A definition around the loop comes before it, for it is used inside.
        Def::Result(def, _) => def != op && !is_inside(func, def, op),
    }
}

fn loop_of(func: &Func, value: Value) -> Option<Op> {
    match func.def(value) {
        Def::Arg(region, 0) => func.region_parent(region).filter(|&op| func.opcode(op) == tir::FOR),
        _ => None,
    }
}
