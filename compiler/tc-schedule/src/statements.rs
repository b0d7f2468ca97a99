//! How the program is written: each statement's indices and guards over the counters of loops, and which integers get
//! a name.
//!
//! An index can be written over the values of axes (`i - ro * 8 - ri`) or over counters alone (`ty * 4 + tx`); the
//! shorter wins. The value of an axis that is more than a counter gets a `let` under the axis' name if it is used more
//! than once; so does an index that one statement uses more than once.

mod guards;

use crate::body::{Arg, Block, Extra, InstKind, Vars};
use crate::bounds::Bounds;
use crate::graph::{AxisId, StageId, TensorRef};
use crate::operator::Operator;
use crate::size::Size;
use rustc_hash::FxHashMap;
use tc_arith::{Expr, Node, Var};
use tc_ir::Loc;

/// Expressions larger than this are all alike: too large.
const MAX_SIZE: usize = 64;
/// How deep axes of inlined stages may be made of one another before all are written out.
const MAX_STEPS: usize = 32;

/// Which end of a range a guard is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    /// The value is at least the bound.
    Low,
    /// The value is below the bound.
    High,
}

/// A condition around a statement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Guard {
    pub(crate) value: Expr,
    pub(crate) end: End,
    pub(crate) bound: Size,
    /// The directive that made it necessary.
    pub(crate) loc: Loc,
}

/// An integer that a statement names.
#[derive(Clone, Debug)]
pub(crate) struct Local {
    /// What is named: a variable, or an expression as it stands.
    pub(crate) what: Expr,
    /// What it is.
    pub(crate) value: Expr,
    pub(crate) name: Box<str>,
}

/// A statement: guards, then names, then the code, or zeros, then stores at one place of each tensor.
#[derive(Clone, Debug, Default)]
pub(crate) struct Statement {
    pub(crate) guards: Vec<Guard>,
    /// What holds of a place that the copied tensor has; elsewhere the copy is 0.
    pub(crate) fills: Vec<Guard>,
    pub(crate) locals: Vec<Local>,
    /// The condition of a reduction.
    pub(crate) condition: Option<Block>,
    /// What is computed; nothing for an initialisation by the combiner's identity.
    pub(crate) block: Option<Block>,
    pub(crate) place: Vec<Expr>,
}

/// How a stage is written.
#[derive(Clone, Debug, Default)]
pub(crate) struct StageStatements {
    /// The initialisation of a reduction.
    pub(crate) init: Option<Statement>,
    pub(crate) update: Statement,
}

/// How a program is written.
pub(crate) struct Statements {
    pub(crate) stages: Vec<Option<StageStatements>>,
    /// The axes whose values are named, and what these are over counters.
    pub(crate) named: FxHashMap<Var, (AxisId, Expr)>,
}

struct Writer<'a> {
    operator: &'a Operator<'a>,
    bounds: &'a mut Bounds,
    /// What a variable is over counters alone.
    full: FxHashMap<Var, Expr>,
    /// What stands for a variable that needs no name: a number, a counter, another axis' value.
    plain: FxHashMap<Var, Expr>,
    /// The first axis with this value.
    by_value: FxHashMap<Expr, Var>,
    /// The same in the order in which they were found.
    firsts: Vec<(Var, Expr)>,
    /// How often a variable would be used if it were named.
    uses: FxHashMap<Var, u32>,
    counting: bool,
    /// Names for indices that no axis has, most likely first.
    fresh: Vec<&'static str>,
}

pub(crate) fn statements(operator: &Operator<'_>, bounds: &mut Bounds) -> Statements {
    let taken: Vec<&str> =
        bounds.graph.axes.iter().map(|axis| &*axis.name).chain(bounds.graph.tensor_names()).collect();
    let fresh = ["k", "j", "p", "q", "x", "y"].into_iter().filter(|name| !taken.contains(name)).collect();
    let mut writer = Writer {
        operator,
        bounds,
        full: FxHashMap::default(),
        plain: FxHashMap::default(),
        by_value: FxHashMap::default(),
        firsts: Vec::new(),
        uses: FxHashMap::default(),
        counting: true,
        fresh,
    };
    // Consumers first: a producer inside their loops may share their axes' values.
    let order: Vec<StageId> = writer.bounds.graph.order.iter().copied().rev().collect();
    for &stage in &order {
        writer.axes(stage);
    }
    writer.inlined();
    for &stage in &order {
        writer.stage(stage);
    }
    writer.counting = false;
    let mut stages = vec![None; writer.bounds.graph.stages.len()];
    for &stage in &order {
        stages[stage.idx()] = writer.stage(stage);
    }
    let mut named = FxHashMap::default();
    for &(var, value) in &writer.firsts {
        if let Some(axis) = writer.bounds.vars.as_value(var)
            && writer.keeps(var)
        {
            named.insert(var, (axis, value));
        }
    }
    Statements { stages, named }
}

impl Writer<'_> {
    /// Finds what the values of the root axes of `stage` are.
    fn axes(&mut self, stage: StageId) {
        let Some(bounds) = &self.bounds.stages[stage.idx()] else { return };
        let mins: Vec<Expr> = bounds.ranges.iter().map(|range| range.min).collect();
        let roots: Vec<AxisId> = self.bounds.graph[stage].roots().collect();
        for (axis, min) in roots.into_iter().zip(mins) {
            let Some(relative) = self.bounds.relative[axis.idx()] else { continue };
            let az = &mut self.bounds.analyzer;
            let sum = az.pool.add(min, relative);
            let value = az.simplify(sum);
            let var = Vars::value(axis);
            self.full.insert(var, value);
            if matches!(az.pool.node(value), Node::Const(_) | Node::Var(_)) {
                self.plain.insert(var, value);
            } else if let Some(&other) = self.by_value.get(&value) {
                let other = az.pool.var(other);
                self.plain.insert(var, other);
            } else {
                az.pool.named_var(var, &self.bounds.graph[axis].name);
                self.by_value.insert(value, var);
                self.firsts.push((var, value));
            }
        }
    }

    /// Finds what the axes of inlined stages are; they were introduced after those that they are made of.
    fn inlined(&mut self) {
        let Bounds { analyzer, vars, .. } = &mut *self.bounds;
        for (var, (_, _, extra)) in vars.extras() {
            if let Extra::Inlined(value) = extra {
                let value = analyzer.pool.subst_with(*value, &|v| self.full.get(&v).copied());
                let value = analyzer.simplify(value);
                self.full.insert(var, value);
                if matches!(analyzer.pool.node(value), Node::Const(_) | Node::Var(_)) {
                    self.plain.insert(var, value);
                } else if let Some(&other) = self.by_value.get(&value) {
                    let other = analyzer.pool.var(other);
                    self.plain.insert(var, other);
                } else {
                    let interval = analyzer.bounds(value);
                    analyzer.bind_range(var, interval.min(), interval.max());
                }
            }
        }
    }

    /// Is `var`, which could have a name, used often enough for one?
    fn keeps(&self, var: Var) -> bool {
        self.counting || self.uses.get(&var).is_some_and(|&uses| uses >= 2)
    }

    /// `e` with variables that have no name of their own replaced, once.
    fn step(&mut self, e: Expr) -> Expr {
        let (full, plain, uses, counting) = (&self.full, &self.plain, &self.uses, self.counting);
        let vars = &self.bounds.vars;
        let replacement = |var: Var| {
            if let Some(&plain) = plain.get(&var) {
                return Some(plain);
            }
            let value = *full.get(&var)?;
            if counting || uses.get(&var).is_some_and(|&uses| uses >= 2) {
                return None;
            }
            match vars.extra(var) {
                Some((_, _, Extra::Inlined(over))) => Some(*over),
                _ => Some(value),
            }
        };
        self.bounds.analyzer.pool.subst_with(e, &replacement)
    }

    /// `e` over the values of axes.
    fn short(&mut self, e: Expr) -> Option<Expr> {
        let mut at = e;
        for _ in 0..MAX_STEPS {
            let next = self.step(at);
            if next == at {
                return Some(self.bounds.analyzer.simplify(at));
            }
            at = next;
        }
        None
    }

    /// How many operators `e` has, up to a limit.
    fn size(&self, e: Expr) -> usize {
        let mut worklist = vec![e];
        let mut size = 0;
        while let Some(e) = worklist.pop() {
            match self.bounds.analyzer.pool.node(e) {
                Node::Const(_) | Node::Bool(_) | Node::Var(_) => continue,
                Node::Not(a) | Node::Likely(a) | Node::Cast(_, a) => worklist.push(a),
                Node::Binary(_, a, b) => worklist.extend([a, b]),
                Node::Select(c, a, b) => worklist.extend([c, a, b]),
            }
            size += 1;
            if size >= MAX_SIZE {
                break;
            }
        }
        size
    }

    /// The shorter way to write `e`; less `offset`, which is over counters, it is written over these alone.
    fn write(&mut self, e: Expr, offset: Option<Expr>) -> Expr {
        let full = &self.full;
        let az = &mut self.bounds.analyzer;
        let expanded = az.pool.subst_with(e, &|var| full.get(&var).copied());
        if let Some(offset) = offset {
            let difference = az.pool.sub(expanded, offset);
            return az.simplify(difference);
        }
        let expanded = az.simplify(expanded);
        match self.short(e) {
            Some(short) if self.size(short) <= self.size(expanded) => short,
            _ => expanded,
        }
    }

    /// Where the buffer of `tensor` starts in dimension `nth`, in coordinates of the tensor; `None` at 0.
    fn start(&mut self, tensor: TensorRef, nth: usize) -> Option<Expr> {
        let data = &self.bounds.graph[tensor.stage];
        if data.is_arg() || data.output {
            return None;
        }
        let lo = data.data.get(nth).and_then(|&axis| self.bounds.graph[axis].domain).map_or(0, |(lo, _)| lo);
        let min = self.bounds.stages[tensor.stage.idx()].as_ref()?.ranges.get(nth)?.min;
        let az = &mut self.bounds.analyzer;
        let lo = az.pool.int(lo);
        let start = az.pool.sub(min, lo);
        let start = az.simplify(start);
        (az.pool.as_const(start) != Some(0)).then_some(start)
    }

    /// The index `e` of a read of `stage` over what `stage` has fetched.
    fn fetched(&mut self, stage: StageId, e: Expr) -> Expr {
        let Some(bounds) = &self.bounds.stages[stage.idx()] else { return e };
        let pairs: Vec<(Var, Var)> = bounds.demands.iter().flat_map(|demand| &demand.fetched).copied().collect();
        if pairs.is_empty() {
            return e;
        }
        let pool = &mut self.bounds.analyzer.pool;
        let pairs: Vec<(Var, Expr)> = pairs.into_iter().map(|(var, of)| (var, pool.var(of))).collect();
        pool.subst(e, &pairs)
    }

    fn block(&mut self, block: &Block) -> Block {
        let mut block = block.clone();
        let insts = std::mem::take(&mut block.insts);
        let mut fetches = false;
        for inst in &insts {
            let tensor = if let InstKind::Load(tensor) = inst.kind { Some(tensor) } else { None };
            for nth in 0..block.args(inst).len() {
                if let Arg::Index(e) = block.args(inst)[nth] {
                    let offset = tensor.and_then(|tensor| self.start(tensor, nth));
                    let of = tensor.map_or(e, |tensor| self.fetched(tensor.stage, e));
                    fetches |= of != e;
                    *block.arg_mut(inst, nth) = Arg::Index(self.write(of, offset));
                }
            }
        }
        block.insts = insts;
        if fetches {
            block.prune(&self.bounds.analyzer.pool, &self.bounds.vars);
        }
        for nth in 0..block.yields.len() {
            if let Arg::Index(e) = block.yields[nth] {
                block.yields[nth] = Arg::Index(self.write(e, None));
            }
        }
        block
    }

    /// The place in its own buffers that `stage` stores to.
    fn place(&mut self, stage: StageId) -> Vec<Expr> {
        let axes = self.bounds.graph[stage].data.clone();
        let mut place = Vec::with_capacity(axes.len());
        for (nth, axis) in axes.into_iter().enumerate() {
            let lo = self.bounds.graph[axis].domain.map_or(0, |(lo, _)| lo);
            let offset = self.start(TensorRef { stage, result: 0 }, nth);
            let pool = &mut self.bounds.analyzer.pool;
            let (var, lo) = (pool.var(Vars::value(axis)), pool.int(lo));
            let e = pool.sub(var, lo);
            place.push(self.write(e, offset));
        }
        place
    }

    fn stage(&mut self, stage: StageId) -> Option<StageStatements> {
        self.bounds.stages[stage.idx()].as_ref()?;
        let body = std::mem::take(&mut self.bounds.bodies[stage.idx()]);
        let is_reduction = self.operator.reduction(self.bounds.graph[stage].source).is_some();
        let init = is_reduction.then(|| {
            // An initial value that is read may not be read past the tensor it comes from.
            let reads = body.init.as_ref().is_some_and(Block::loads);
            let guards = self.guards(stage, true, !reads);
            let block = body.init.as_ref().map(|block| self.block(block));
            let place = self.place(stage);
            self.statement(stage, Statement { guards, block, place, ..Statement::default() })
        });
        let guards = self.guards(stage, false, false);
        let fills = self.fills(stage);
        let condition = body.condition.as_ref().map(|block| self.block(block));
        let block = Some(self.block(&body.update));
        let place = self.place(stage);
        let update =
            self.statement(stage, Statement { guards, fills, condition, block, place, ..Statement::default() });
        self.bounds.bodies[stage.idx()] = body;
        Some(StageStatements { init, update })
    }

    /// Counts the uses of what could be named, or names what is used often.
    fn statement(&mut self, stage: StageId, mut statement: Statement) -> Statement {
        let mut indices: Vec<(Expr, u32)> = Vec::new();
        let mut note = |e: Expr| match indices.iter_mut().find(|(known, _)| *known == e) {
            Some((_, times)) => *times += 1,
            None => indices.push((e, 1)),
        };
        // What a reduction stores to is what it loads; it counts once.
        statement.place.iter().for_each(|&e| note(e));
        for block in statement.condition.iter().chain(&statement.block) {
            block.all_args().for_each(|arg| {
                if let Arg::Index(e) = arg {
                    note(*e)
                }
            });
        }
        if self.counting {
            self.count(&indices, statement.guards.iter().chain(&statement.fills));
        } else {
            self.name(stage, &mut statement, &indices);
        }
        statement
    }

    fn count<'g>(&mut self, indices: &[(Expr, u32)], guards: impl Iterator<Item = &'g Guard>) {
        let guards = guards.map(|guard| (guard.value, 1));
        for (e, times) in indices.iter().copied().chain(guards) {
            for var in self.bounds.analyzer.pool.vars(e) {
                // The axes of inlined stages count each time: they are named within the statement. Those of stages
                // count once in an index that is more than they are, since that may get a name itself.
                let is_axis = self.bounds.vars.as_value(var).is_some();
                let is_plain = self.bounds.analyzer.pool.node(e) == Node::Var(var);
                let times = if is_axis && !is_plain { 1 } else { times };
                *self.uses.entry(var).or_default() += times;
            }
        }
    }

    fn name(&mut self, stage: StageId, statement: &mut Statement, indices: &[(Expr, u32)]) {
        let mut wanted: Vec<Var> = Vec::new();
        for &(e, _) in indices {
            wanted.extend(
                self.bounds.analyzer.pool.vars(e).into_iter().filter(|var| self.bounds.vars.extra(*var).is_some()),
            );
        }
        let inlined: Vec<(Var, Box<str>, Expr)> = self
            .bounds
            .vars
            .extras()
            .filter(|(_, (_, home, _))| *home == stage)
            .filter_map(|(var, (name, _, extra))| match extra {
                Extra::Inlined(value) => Some((var, name.clone(), *value)),
                Extra::Opaque(_) | Extra::Fetched(..) => None,
            })
            .collect();
        // A name may use another one that was introduced before it.
        let mut locals = Vec::new();
        for (var, name, value) in inlined.into_iter().rev() {
            if wanted.contains(&var) && self.keeps(var) && !self.plain.contains_key(&var) {
                let value = self.write(value, None);
                wanted.extend(self.bounds.analyzer.pool.vars(value));
                locals.push(Local { what: self.bounds.analyzer.pool.var(var), value, name });
            }
        }
        locals.reverse();
        let mut fresh = self.fresh.iter();
        for &(e, times) in indices {
            let is_plain = matches!(self.bounds.analyzer.pool.node(e), Node::Const(_) | Node::Var(_));
            if times >= 2 && !is_plain && !self.bounds.analyzer.pool.may_fail(e) && !self.is_opaque(e) {
                let name = fresh.next().copied().unwrap_or("k");
                locals.push(Local { what: e, value: e, name: name.into() });
            }
        }
        statement.locals = locals;
    }

    fn is_opaque(&self, e: Expr) -> bool {
        self.bounds.analyzer.pool.vars(e).into_iter().any(|var| self.bounds.vars.is_opaque(var))
    }
}
