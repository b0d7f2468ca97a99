//! Where what a stage computes begins, if data say so: an index that one element of an argument decides for all that is
//! computed together, such as the expert of a tile of rows.

use super::infer::Inference;
use crate::body::{Arg, Block, Extra, InstKind};
use crate::graph::{StageId, TensorRef};
use crate::size::Size;
use tc_arith::{Analyzer, BinaryOp, Expr, Node, SymInterval, Var};
use tc_dialects::arith;

type Sets = Vec<(Var, SymInterval)>;

/// What is read of a stage.
pub(super) struct ReadSet {
    pub(super) ends: Vec<SymInterval>,
    /// The variables that stand for one element of an argument in all of it, each with the one that the stage knows it by.
    pub(super) fetched: Vec<(Var, Var)>,
    /// The dimensions whose indices follow data that differ within it.
    pub(super) scattered: Vec<usize>,
}

impl Inference<'_> {
    /// What `consumer` reads at `indices`, of block `nth`, over `relaxed`.
    pub(super) fn read(
        &mut self,
        consumer: StageId,
        nth: usize,
        indices: &[Expr],
        relaxed: &[(Var, SymInterval)],
    ) -> ReadSet {
        if !relaxed.iter().any(|&(var, _)| self.bounds.vars.is_opaque(var)) {
            return ReadSet { ends: self.sets_of(indices, relaxed), fetched: Vec::new(), scattered: Vec::new() };
        }
        let (sets, mut fetched) = self.fetch(consumer, nth, indices, relaxed);
        let mut ends = self.sets_of(indices, &sets);
        // They are computed where the operator's conditions do not hold, too.
        let az = &mut self.bounds.analyzer;
        if !fetched.is_empty()
            && !ends.iter().flat_map(|set| set.min.into_iter().chain(set.max)).all(|end| fits(az, end))
        {
            (ends, fetched) = (self.sets_of(indices, relaxed), Vec::new());
        }
        let scattered = self.scattered(indices, &fetched);
        ReadSet { ends, fetched, scattered }
    }

    fn sets_of(&mut self, indices: &[Expr], relaxed: &[(Var, SymInterval)]) -> Vec<SymInterval> {
        indices.iter().map(|&index| self.bounds.analyzer.eval_set(index, relaxed)).collect()
    }

    /// `relaxed` with points for the integers among `indices`, of block `nth` of `consumer`, that are elements of arguments at places
    /// that stand still; and which variables these points are.
    fn fetch(
        &mut self,
        consumer: StageId,
        nth: usize,
        indices: &[Expr],
        relaxed: &[(Var, SymInterval)],
    ) -> (Sets, Vec<(Var, Var)>) {
        let mut relaxed = relaxed.to_vec();
        let mut fetched = Vec::new();
        for (var, from, place) in self.elements(consumer, nth, indices) {
            if let Some(of) = self.fetch_one(consumer, from, &place, &relaxed)
                && let Some((_, set)) = relaxed.iter_mut().find(|(other, _)| *other == var)
            {
                *set = SymInterval::point(self.bounds.analyzer.pool.var(of));
                fetched.push((var, of));
            }
        }
        (relaxed, fetched)
    }

    /// The variables among `indices` that stand for elements of arguments, with where these lie. One comes after those in its place.
    fn elements(&mut self, consumer: StageId, nth: usize, indices: &[Expr]) -> Vec<(Var, TensorRef, Vec<Expr>)> {
        let mut found: Vec<(Var, TensorRef, Vec<Expr>)> = Vec::new();
        let mut pending: Vec<Var> = indices.iter().flat_map(|&index| self.bounds.analyzer.pool.vars(index)).collect();
        while let Some(var) = pending.pop() {
            let Some(&(_, _, Extra::Opaque(number))) = self.bounds.vars.extra(var) else { continue };
            if found.iter().any(|&(other, ..)| other == var) {
                continue;
            }
            let Some(block) = self.bounds.bodies[consumer.idx()].blocks().nth(nth) else { continue };
            let Some((from, place)) = self.element(block, number) else { continue };
            let place: Vec<Expr> = place.into_iter().map(|index| self.expanded(index)).collect();
            pending.extend(place.iter().flat_map(|&index| self.bounds.analyzer.pool.vars(index)));
            found.push((var, from, place));
        }
        // Variables are numbered as they are made.
        found.sort_by_key(|&(var, ..)| var.0);
        found
    }

    /// The dimensions whose index, of `indices`, uses what the operator computes of data, and that is not `fetched`.
    fn scattered(&self, indices: &[Expr], fetched: &[(Var, Var)]) -> Vec<usize> {
        let is_hidden = |var: &Var| self.bounds.vars.is_opaque(*var) && !fetched.iter().any(|(known, _)| known == var);
        let is_scattered = |&nth: &usize| self.bounds.analyzer.pool.vars(indices[nth]).iter().any(is_hidden);
        (0..indices.len()).filter(is_scattered).collect()
    }

    /// The element of an argument that value `number` of `block` is, as an `index`.
    fn element(&self, block: &Block, number: u32) -> Option<(TensorRef, Vec<Expr>)> {
        let te = self.operator.te;
        let inst_of = |number: u32| block.insts.iter().find(|inst| inst.results == (number, 1));
        let cast = inst_of(number)?;
        let is_cast = match cast.kind {
            InstKind::ToIndex => true,
            InstKind::Plain => cast.op.is_some_and(|op| te.opcode(op) == arith::CAST),
            _ => false,
        };
        let &[Arg::Value(number)] = block.args(cast) else { return None };
        let load = inst_of(number).filter(|_| is_cast)?;
        let InstKind::Load(from) = load.kind else { return None };
        let stage = &self.bounds.graph[from.stage];
        let is_integer =
            te.as_scalar(stage.tensors[from.result as usize].elem).is_some_and(|scalar| scalar.elem.is_int());
        (stage.is_arg() && is_integer).then(|| (from, block.indices(load)))
    }

    /// The variable of the element of `from` at `place`, if that is one place in all of `relaxed`. Where it may lie outside, the
    /// nearest element is read: what is computed with that is left out by the conditions around it.
    fn fetch_one(
        &mut self,
        consumer: StageId,
        from: TensorRef,
        place: &[Expr],
        relaxed: &[(Var, SymInterval)],
    ) -> Option<Var> {
        let mut at = Vec::with_capacity(place.len());
        for (nth, &index) in place.iter().enumerate() {
            let axis = *self.bounds.graph[from.stage].data.get(nth)?;
            let (_, extent) = self.bounds.graph[axis].domain?;
            let az = &mut self.bounds.analyzer;
            let set = az.eval_set(index, relaxed);
            let (min, max) = (set.min?, set.max?);
            // So is a place computed that follows from another element.
            if !az.can_prove_equal(min, max) || !has_one(extent, az) || !fits(az, min) {
                return None;
            }
            let (zero, last) = (az.pool.int(0), extent.last(az));
            let mut index = min;
            if !az.bounds(index).all_at_least(0) {
                index = az.pool.max(index, zero);
            }
            if !extent.is_above(az, index) {
                index = az.pool.min(index, last);
            }
            at.push(az.simplify(index));
        }
        let known = self.bounds.vars.extras().find_map(|(var, (_, _, extra))| match extra {
            Extra::Fetched(tensor, indices) if *tensor == from && **indices == *at => Some(var),
            _ => None,
        });
        if known.is_some() {
            return known;
        }
        let tensor = &self.bounds.graph[from.stage].tensors[from.result as usize];
        let shown: Vec<String> = at.iter().map(|&index| self.bounds.show(index)).collect();
        let name = format!("{}[{}]", tensor.name, shown.join(", "));
        let var = self.bounds.vars.add(&name, consumer, Extra::Fetched(from, at.into()));
        self.bounds.analyzer.pool.named_var(var, &name);
        let range = self.operator.te.as_scalar(tensor.elem).and_then(|scalar| scalar.elem.int_range());
        if let Some((Ok(min), Ok(max))) = range.map(|(min, max)| (i64::try_from(min), i64::try_from(max))) {
            self.bounds.analyzer.bind_range(var, Some(min), Some(max));
        }
        Some(var)
    }

    /// Adds to the sets of `running` loops what these fetch one by one: it may be anything.
    pub(super) fn free_fetched(&self, running: &mut Vec<(Var, SymInterval)>) {
        if running.is_empty() {
            return;
        }
        let pool = &self.bounds.analyzer.pool;
        for (var, (_, _, extra)) in self.bounds.vars.extras() {
            if let Extra::Fetched(_, indices) = extra {
                let moves = |index: &Expr| pool.vars(*index).iter().any(|var| running.iter().any(|(of, _)| of == var));
                if indices.iter().any(moves) {
                    running.push((var, SymInterval::FULL));
                }
            }
        }
    }
}

/// Are all sums and products in `expr` far from what an integer holds?
fn fits(az: &mut Analyzer, expr: Expr) -> bool {
    let mut worklist = vec![expr];
    while let Some(expr) = worklist.pop() {
        match az.pool.node(expr) {
            Node::Const(_) | Node::Bool(_) | Node::Var(_) => {}
            Node::Not(a) | Node::Likely(a) | Node::Cast(_, a) => worklist.push(a),
            Node::Select(c, a, b) => worklist.extend([c, a, b]),
            Node::Binary(op, a, b) => {
                worklist.extend([a, b]);
                let bounds = az.bounds(expr);
                let is_sum = matches!(op, BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul);
                if is_sum && !(bounds.all_at_least(i64::MIN / 2) && bounds.all_at_most(i64::MAX / 2)) {
                    return false;
                }
            }
        }
    }
    true
}

/// Is it at least 1?
fn has_one(extent: Size, az: &mut Analyzer) -> bool {
    let extent = extent.expr(&mut az.pool);
    az.bounds(extent).all_at_least(1)
}
