//! The analyzer: an expression pool, what is known of its variables, and scopes in which more is known.

use rustc_hash::FxHashMap;

use crate::expr::{Expr, Node, Var};
use crate::facts::{Fact, MAX_PARTS};
use crate::interval::Interval;
use crate::linear::Summand;
use crate::modular::ModularSet;
use crate::pool::Pool;
use crate::rules::Rule;
use crate::set::SymInterval;

/// The number that no context has.
const NO_CONTEXT: u32 = u32::MAX;

/// Results that hold in one context, by expression.
#[derive(Default)]
pub(crate) struct Memo<T> {
    slots: Vec<(u32, T)>,
}

impl<T: Copy + Default> Memo<T> {
    pub(crate) fn get(&self, e: Expr, context: u32) -> Option<T> {
        self.slots.get(e.index()).filter(|slot| slot.0 == context).map(|slot| slot.1)
    }

    pub(crate) fn set(&mut self, e: Expr, context: u32, value: T) {
        if self.slots.len() <= e.index() {
            self.slots.resize(e.index() + 1, (NO_CONTEXT, T::default()));
        }
        self.slots[e.index()] = (context, value);
    }

    /// Forgets what is known of expressions from number `index` on.
    fn truncate(&mut self, index: usize) {
        self.slots.truncate(index);
    }

    /// Is nothing known of expressions from number `index` on?
    fn ends_before(&self, index: usize) -> bool {
        self.slots.len() <= index
    }
}

/// A change to undo when a scope ends.
enum Undo {
    Range(Var, Option<Interval>),
    Definition(Var, Option<Expr>),
    /// What is remembered of expressions from this number on may rest on what is undone.
    Remembered(usize),
}

/// A state of knowledge to return to; see [`Analyzer::mark`].
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    facts: usize,
    residues: usize,
    literals: usize,
    assumed: usize,
    undo: usize,
    context: u32,
    state: u32,
}

/// What a condition added to what was known.
pub(crate) struct Assumed {
    context: u32,
    state: u32,
    facts: Vec<Fact>,
    residues: Vec<(Expr, ModularSet)>,
    literals: Vec<(Expr, bool)>,
}

/// One application of a rule, for tests and for explanations.
#[derive(Clone, Debug)]
pub struct RuleApplication {
    /// The rule that was applied.
    pub rule: &'static Rule,
    /// What it was applied to.
    pub before: Expr,
    /// What it made of it.
    pub after: Expr,
    /// The conditions taken to hold at the time.
    pub under: Vec<Expr>,
}

/// Knowledge about variables, and the questions that can be asked of it. See the crate's documentation.
#[derive(Default)]
pub struct Analyzer {
    /// The expressions.
    pub pool: Pool,
    ranges: FxHashMap<Var, Interval>,
    pub(crate) definitions: FxHashMap<Var, Expr>,
    pub(crate) facts: Vec<Fact>,
    /// Modular sets of expressions, by key.
    pub(crate) residues: Vec<(Expr, ModularSet)>,
    /// Truth values of conditions that are not comparisons, by key.
    pub(crate) literals: Vec<(Expr, bool)>,
    /// The conditions as they were given, for enumeration and for traces.
    pub(crate) assumed: Vec<Expr>,
    undo: Vec<Undo>,
    marks: Vec<Mark>,
    /// Distinguishes states of knowledge; memoised results belong to one.
    pub(crate) context: u32,
    last_context: u32,
    /// Distinguishes states of knowledge more finely: what is learnt of a new name keeps the context, and makes a new state.
    state: u32,
    last_state: u32,
    /// What conditions added, by the state in which they were assumed: who comes back there with the same condition finds
    /// what was remembered under it.
    assumptions: FxHashMap<(u32, Expr, bool), Assumed>,
    /// The classes of all variables that were ever defined.
    defined: u64,
    pub(crate) simplified: Memo<Expr>,
    pub(crate) bounds: Memo<Interval>,
    /// What [`Analyzer::bounds`] answered.
    pub(crate) answered: Memo<Interval>,
    pub(crate) quick: Memo<Interval>,
    pub(crate) moduli: Memo<ModularSet>,
    /// See [`Analyzer::key`]; holds in every context.
    pub(crate) keys: Vec<Option<Expr>>,
    /// The sets found by the query at hand.
    pub(crate) sets: FxHashMap<Expr, SymInterval>,
    pub(crate) part_stack: Vec<Summand>,
    /// How many nodes the query at hand may still visit.
    pub(crate) fuel: u32,
    /// How many bounds the query at hand may still compute.
    pub(crate) bound_fuel: u32,
    /// How deep the recursion of the query at hand is.
    pub(crate) nest: u32,
    /// How many conditions the query at hand has entered.
    pub(crate) branches: u32,
    /// Whether the query at hand hit a limit, so that its results are not the final word.
    pub(crate) gave_up: bool,
    pub(crate) trace: Option<Vec<RuleApplication>>,
}

impl Analyzer {
    /// An analyzer that knows nothing, with an empty pool.
    pub fn new() -> Analyzer {
        Analyzer::with_pool(Pool::new())
    }

    /// An analyzer that knows nothing, over the expressions of a pool.
    pub fn with_pool(pool: Pool) -> Analyzer {
        Analyzer { pool, ..Analyzer::default() }
    }

    /// Declares that `var` runs over `min .. min + extent`. Both may use variables that were bound before.
    pub fn bind(&mut self, var: Var, min: Expr, extent: Expr) {
        let (low, size) = (self.bounds(min), self.bounds(extent));
        let last = (low + size + Interval::point(-1)).max();
        self.bind_range(var, low.min(), last);
        let v = self.pool.var(var);
        if self.pool.as_const(min).is_none() {
            let condition = self.pool.le(min, v);
            self.constrain(condition);
        }
        if self.pool.as_const(min).is_none() || self.pool.as_const(extent).is_none() {
            let end = self.pool.add(min, extent);
            let condition = self.pool.lt(v, end);
            self.constrain(condition);
        }
    }

    /// Declares that `var` lies between two integers, both included. A missing one is no bound.
    pub fn bind_range(&mut self, var: Var, min: Option<i64>, max: Option<i64>) {
        let newest = self.newest(var);
        let range = Interval::from_ends(min, max).narrowed(self.pool.var_type(var).range());
        let old = self.ranges.insert(var, range);
        self.undo.push(Undo::Range(var, old));
        self.learnt(newest);
    }

    /// Declares that `var` is another name of `value`, which does not use it. Proofs see through the name; `simplify`
    /// keeps it unless the value is a constant or a variable.
    pub fn define(&mut self, var: Var, value: Expr) {
        let newest = self.newest(var);
        let value = self.expand(value);
        let value = self.simplify(value);
        if self.pool.uses(value, var) {
            return;
        }
        let own = self.pool.var(var);
        self.defined |= self.pool.mask(own);
        let old = self.definitions.insert(var, value);
        self.undo.push(Undo::Definition(var, old));
        self.learnt(newest);
    }

    /// The number from which on expressions may use `var`, if nothing is remembered of these: operands have lower numbers
    /// than what they are operands of. A program's names come up one by one, each before its first use, so what is learnt
    /// of the next one changes nothing that was found before.
    fn newest(&mut self, var: Var) -> Option<usize> {
        let index = self.pool.var(var).index();
        let unknown = self.simplified.ends_before(index)
            && self.bounds.ends_before(index)
            && self.answered.ends_before(index)
            && self.quick.ends_before(index)
            && self.moduli.ends_before(index);
        unknown.then_some(index)
    }

    /// Something was learnt of a variable, the [`newest`](Analyzer::newest) or another one.
    fn learnt(&mut self, newest: Option<usize>) {
        self.fresh_state();
        match newest {
            Some(index) => self.undo.push(Undo::Remembered(index)),
            None => self.fresh_context(),
        }
    }

    /// The declared range of a variable, or that of its type.
    pub fn range(&self, var: Var) -> Interval {
        let known = self.ranges.get(&var).copied();
        known.unwrap_or_else(|| self.pool.var_type(var).range())
    }

    /// Takes `condition` to hold until [`Analyzer::pop_constraint`], or until the scope around ends.
    pub fn push_constraint(&mut self, condition: Expr) {
        let mark = self.mark();
        self.marks.push(mark);
        self.constrain(condition);
    }

    /// Forgets the constraint that was pushed last, and everything declared since. Without one, does nothing.
    pub fn pop_constraint(&mut self) {
        if let Some(mark) = self.marks.pop() {
            self.rollback(mark);
        }
    }

    /// Takes `condition` to hold until the scope around ends.
    pub fn constrain(&mut self, condition: Expr) {
        let condition = self.pool.truth_of(condition);
        let condition = self.expand(condition);
        self.start_query();
        // Clause by clause, each under those before it: that none follows from the others is of no use here.
        for clause in self.clauses(true, condition).into_iter().take(MAX_PARTS) {
            let simplified = self.simp(clause);
            self.assume(simplified, true);
        }
    }

    /// The state of knowledge, to return to with [`Analyzer::rollback`].
    pub fn mark(&self) -> Mark {
        Mark {
            facts: self.facts.len(),
            residues: self.residues.len(),
            literals: self.literals.len(),
            assumed: self.assumed.len(),
            undo: self.undo.len(),
            context: self.context,
            state: self.state,
        }
    }

    /// Forgets what was declared and assumed since the mark. Marks are returned to in reverse order.
    pub fn rollback(&mut self, mark: Mark) {
        self.facts.truncate(mark.facts);
        self.residues.truncate(mark.residues);
        self.literals.truncate(mark.literals);
        self.assumed.truncate(mark.assumed);
        while self.undo.len() > mark.undo {
            match self.undo.pop() {
                Some(Undo::Range(var, Some(old))) => drop(self.ranges.insert(var, old)),
                Some(Undo::Range(var, None)) => drop(self.ranges.remove(&var)),
                Some(Undo::Definition(var, Some(old))) => drop(self.definitions.insert(var, old)),
                Some(Undo::Definition(var, None)) => drop(self.definitions.remove(&var)),
                Some(Undo::Remembered(index)) => {
                    self.simplified.truncate(index);
                    self.bounds.truncate(index);
                    self.answered.truncate(index);
                    self.quick.truncate(index);
                    self.moduli.truncate(index);
                }
                None => break,
            }
        }
        self.context = mark.context;
        self.state = mark.state;
    }

    /// Runs `body` and then forgets what it declared and assumed.
    pub fn scope<T>(&mut self, body: impl FnOnce(&mut Analyzer) -> T) -> T {
        let mark = self.mark();
        let depth = self.marks.len();
        let result = body(self);
        self.marks.truncate(depth);
        self.rollback(mark);
        result
    }

    /// The expression with defined variables replaced by what they stand for.
    pub fn expand(&mut self, e: Expr) -> Expr {
        if self.definitions.is_empty() || self.pool.mask(e) & self.defined == 0 {
            return e;
        }
        // Definitions are expanded when they are made, so one round is enough.
        self.pool.subst_with(e, &|v| self.definitions.get(&v).copied())
    }

    /// Starts or stops recording each application of a rule; returns what was recorded so far.
    pub fn record_steps(&mut self, on: bool) -> Vec<RuleApplication> {
        std::mem::replace(&mut self.trace, on.then(Vec::new)).unwrap_or_default()
    }

    /// Drops remembered results. They are never wrong; this makes the next query do all of its work.
    pub fn forget(&mut self) {
        self.assumptions.clear();
        self.fresh_context();
        self.fresh_state();
    }

    /// Whether the last query hit the limit on depth, terms or work, so that a stronger answer may exist.
    pub fn gave_up(&self) -> bool {
        self.gave_up
    }

    pub(crate) fn fresh_context(&mut self) {
        self.last_context += 1;
        if self.last_context == NO_CONTEXT {
            // The numbers start again, and nothing may be remembered under them.
            self.last_context = 0;
            self.simplified = Memo::default();
            self.bounds = Memo::default();
            self.answered = Memo::default();
            self.quick = Memo::default();
            self.moduli = Memo::default();
            self.assumptions.clear();
        }
        self.context = self.last_context;
    }

    fn fresh_state(&mut self) {
        self.last_state = self.last_state.wrapping_add(1);
        if self.last_state == 0 {
            self.assumptions.clear();
        }
        self.state = self.last_state;
    }

    /// Goes on to what is known where `condition` has this truth, if that was found out here before.
    pub(crate) fn assume_again(&mut self, condition: Expr, truth: bool) -> bool {
        if self.trace.is_some() {
            return false;
        }
        let Some(known) = self.assumptions.get(&(self.state, condition, truth)) else { return false };
        self.facts.extend_from_slice(&known.facts);
        self.residues.extend_from_slice(&known.residues);
        self.literals.extend_from_slice(&known.literals);
        (self.context, self.state) = (known.context, known.state);
        true
    }

    /// Starts to assume a condition.
    pub(crate) fn start_assuming(&mut self) {
        self.fresh_context();
        self.fresh_state();
    }

    /// Remembers what the condition, assumed since `before`, came to.
    pub(crate) fn remember_assumed(&mut self, before: &Mark, condition: Expr, truth: bool) {
        // Of what was cut short more may come out another time.
        if self.gave_up {
            return;
        }
        let assumed = Assumed {
            context: self.context,
            state: self.state,
            facts: self.facts[before.facts..].to_vec(),
            residues: self.residues[before.residues..].to_vec(),
            literals: self.literals[before.literals..].to_vec(),
        };
        self.assumptions.insert((before.state, condition, truth), assumed);
    }

    /// The value of a defined variable.
    pub(crate) fn definition(&self, e: Expr) -> Option<Expr> {
        if self.definitions.is_empty() {
            return None;
        }
        if let Node::Var(v) = self.pool.node(e) { self.definitions.get(&v).copied() } else { None }
    }

    /// Whether expressions with these masks may have a variable in common; a defined variable may hide any.
    pub(crate) fn may_share(&self, a: u64, b: u64) -> bool {
        a & b != 0 || !self.definitions.is_empty()
    }

    pub(crate) fn note(&mut self, rule: &'static Rule, before: Expr, after: Expr) {
        if let Some(trace) = &mut self.trace {
            trace.push(RuleApplication { rule, before, after, under: self.assumed.clone() });
        }
    }
}
