//! May the iterations of a loop run in step, each statement for all of them before the next?
//!
//! They may if no two iterations touch one cell that one of them writes. Buffers that the loop makes are made for each
//! iteration, so only those from outside count. In memory that threads share, another thread's iteration counts as well:
//! it runs between two of this one's.

use super::access::{Access, NestFacts, is_private};
use super::dependence::{Between, DependenceTest};
use super::launch::{Nest, loop_var};
use rustc_hash::FxHashSet;
use tc_arith::Var;
use tc_dialects::algebra::{Algebra, const_extent};
use tc_dialects::tir::{self, LoopKind};
use tc_ir::effects::root_buffer;
use tc_ir::walk::{all_ops, ops_under};
use tc_ir::{Func, Op, Value};
use tc_support::{Diagnostic, Diagnostics};

/// What keeps iterations apart.
#[derive(Clone, Copy, Debug)]
enum Obstacle {
    /// The effect of the op is not known.
    Unknown(Op),
    /// Two ops, in two iterations, may touch one cell of the buffer, and the first writes it.
    Dependence(Op, Op, Value),
}

/// What keeps the iterations of the loop `op` from running in step, accesses left out that are `exempt`.
fn find(facts: &mut NestFacts<'_>, op: Op, exempt: impl Fn(Op) -> bool) -> Option<Obstacle> {
    let func = facts.func;
    let body = func.op_regions(op)[0];
    let mut inside: FxHashSet<Value> = func.region_args(body).iter().copied().collect();
    let mut list: Vec<Access> = Vec::new();
    for inner in ops_under(func, body) {
        if func.row(inner).effect.unknown {
            return Some(Obstacle::Unknown(inner));
        }
        inside.extend(func.results(inner));
        inside.extend(func.op_regions(inner).iter().flat_map(|&region| func.region_args(region)));
        for access in facts.all_accesses(inner).into_iter().filter(|access| !exempt(access.op)) {
            if !list.iter().any(|old| old.root == access.root && old.is_alike(&access)) {
                list.push(access);
            }
        }
    }
    list.retain(|access| !inside.contains(&access.root));
    let var = loop_var(func, op);
    for write in list.iter().filter(|access| access.writes) {
        for other in &list {
            if depend(facts, write, other, &[var], &inside) {
                return Some(Obstacle::Dependence(write.op, other.op, write.root));
            }
        }
    }
    None
}

/// May the two touch one cell in iterations in which one of `vars` differs? Of what differs between iterations of loops
/// or between threads, `inside` holds the values.
pub(crate) fn depend(
    facts: &mut NestFacts<'_>,
    first: &Access,
    second: &Access,
    vars: &[Value],
    inside: &FxHashSet<Value>,
) -> bool {
    let vars: Vec<Var> = vars.iter().map(|&var| Algebra::var(var)).collect();
    may_touch_one_cell(facts, first, second, Between::Iterations(&vars), inside)
}

/// May the two touch one cell at all, in whichever iterations and threads?
pub(crate) fn overlap(facts: &mut NestFacts<'_>, first: &Access, second: &Access, inside: &FxHashSet<Value>) -> bool {
    may_touch_one_cell(facts, first, second, Between::Any, inside)
}

fn may_touch_one_cell(
    facts: &mut NestFacts<'_>,
    first: &Access,
    second: &Access,
    between: Between<'_>,
    inside: &FxHashSet<Value>,
) -> bool {
    let private = is_private(facts.func, first.root);
    let same = |facts: &NestFacts<'_>, other: Var| {
        if let Some(nth) = facts.coordinate_vars.iter().position(|&coordinate| coordinate == Some(other)) {
            // Accesses of two blocks are never ordered.
            return private || nth < 3;
        }
        let value = Algebra::value(other);
        !inside.contains(&value) && (private || facts.uniform.is(value))
    };
    !facts.is_independent(&DependenceTest { first, second, between, same: &same, carried: None, reversed: None })
}

/// The obstacle in words, the op to point at, and what to say there.
fn reason(func: &Func, obstacle: Obstacle) -> (String, Op, String) {
    match obstacle {
        Obstacle::Unknown(op) => {
            (format!("the effect of `{}` is not known", func.op_name(op)), op, "it may touch anything".to_string())
        }
        Obstacle::Dependence(first, second, buffer) => {
            let name = func.value_text(root_buffer(func, buffer));
            let label =
                if first == second { "written here by each".to_string() } else { "and touched here".to_string() };
            (format!("two iterations may touch one element of `{name}`"), second, label)
        }
    }
}

/// What keeps the iterations of the loop `op` from running in step, as `finding` says that for a reason; whoever asks answers
/// for the accesses that are `exempt`.
pub(crate) fn obstacle(
    facts: &mut NestFacts<'_>,
    op: Op,
    exempt: impl Fn(Op) -> bool,
    finding: impl FnOnce(&str) -> Diagnostic,
) -> Option<Diagnostic> {
    let obstacle = find(facts, op, exempt)?;
    let (reason, at, label) = reason(facts.func, obstacle);
    Some(finding(&reason).label(facts.func.op_location(at), label))
}

/// Loops of a kind, and what is told of one without constant bounds.
pub(crate) struct InStep {
    pub(crate) kind: LoopKind,
    pub(crate) code: &'static str,
    /// What such a loop cannot be.
    pub(crate) cannot_be: &'static str,
    pub(crate) help: &'static str,
}

impl InStep {
    /// Is `op` such a loop?
    pub(crate) fn is(&self, func: &Func, op: Op) -> bool {
        func.opcode(op) == tir::FOR && tir::loop_kind(func, op) == Some(self.kind)
    }

    /// What `verdict` says of each such loop, in the order of the text; an error for each without constant bounds.
    pub(crate) fn decide<T>(
        &self,
        func: &Func,
        verdict: impl Fn(Op, &mut NestFacts<'_>) -> T,
    ) -> Result<Vec<T>, Diagnostics> {
        let loops: Vec<Op> = all_ops(func).filter(|&op| self.is(func, op)).collect();
        let mut found = Diagnostics::new();
        for &op in loops.iter().filter(|&&op| const_extent(func, op).is_none()) {
            let var = func.value_text(loop_var(func, op));
            let text = format!("the bounds of the loop `{var}` are not constant, so it cannot be {}", self.cannot_be);
            found.push(Diagnostic::error(self.code, func.asked_location(op), text).help(self.help));
        }
        if !found.is_empty() {
            return Err(found);
        }
        let mut nests = NestByNest::new(func);
        Ok(loops.into_iter().map(|op| verdict(op, nests.facts(op))).collect())
    }
}

/// The facts of one launch nest after another: loops come in the order of the text, so those of one nest come together.
pub(crate) struct NestByNest<'f> {
    func: &'f Func,
    known: Option<(Op, NestFacts<'f>)>,
}

impl<'f> NestByNest<'f> {
    /// Knows nothing yet of the nests of `func`.
    pub(crate) fn new(func: &'f Func) -> NestByNest<'f> {
        NestByNest { func, known: None }
    }

    /// The facts of the nest that `op` stands in.
    pub(crate) fn facts(&mut self, op: Op) -> &mut NestFacts<'f> {
        let home = outermost(self.func, op);
        let facts = match self.known.take() {
            Some((nest, facts)) if nest == home => facts,
            _ => NestFacts::new(self.func, &Nest::of(self.func, home)),
        };
        &mut self.known.insert((home, facts)).1
    }
}

/// The outermost loop around `op`, or `op`: what facts about `op` are collected for.
fn outermost(func: &Func, op: Op) -> Op {
    tc_ir::walk::ancestors(func, op).filter(|&outer| func.opcode(outer) == tir::FOR).last().unwrap_or(op)
}
