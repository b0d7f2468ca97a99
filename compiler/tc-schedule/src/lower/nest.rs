//! Loops, attached stages, guards and statements.

use super::combine::Combiner;
use super::{Emitter, Open};
use crate::body::Vars;
use crate::graph::{AxisId, Graph, Kind, PragmaValue, StageId};
use crate::plan::{End, Guard, Plan, StagePlan, Statement};
use tc_dialects::{arith, te, tir};
use tc_ir::attrs::AttrData;
use tc_ir::builder::OpSpec;
use tc_ir::func::Locs;
use tc_ir::{Attr, Attrs, Loc, Name, Region, Type, Value, keys};
use tc_support::Diagnostic;

impl<'a> Emitter<'a> {
    /// Writes the nest of `stage`, its buffers being there.
    pub(super) fn stage(&mut self, stage: StageId) -> Result<(), Diagnostic> {
        let data = &self.graph()[stage];
        let (graph, plan): (&'a Graph, &'a Plan) = (self.graph(), self.plan);
        let Some(StagePlan { init, update }) = &plan.stages[stage.idx()] else { return Ok(()) };
        let depth = self.open.len();
        if graph.reduced_by_threads(stage).next().is_some()
            && let Some(init) = init
        {
            return self.across_threads(stage, init, update);
        }
        let n_common = data.leaves.iter().position(|&leaf| self.graph()[leaf].reduce).unwrap_or(data.leaves.len());
        let (common, rest) = data.leaves.split_at(n_common);
        for &leaf in common {
            self.enter_leaf(stage, leaf)?;
        }
        if let Some(init) = init {
            let inner = self.open.len();
            for &leaf in rest.iter().filter(|&&leaf| !graph[leaf].reduce) {
                self.open_marked(stage, leaf, init_mark(graph, stage, leaf));
            }
            self.statement(stage, init, true)?;
            self.close(inner);
        }
        for &leaf in rest {
            self.enter_leaf(stage, leaf)?;
        }
        self.statement(stage, update, false)?;
        self.close(depth);
        Ok(())
    }

    /// Opens the loop of `leaf`, and writes the stages that are attached there.
    pub(super) fn enter_leaf(&mut self, stage: StageId, leaf: AxisId) -> Result<(), Diagnostic> {
        self.open_loop(stage, leaf);
        for producer in self.attached.get(&leaf).cloned().unwrap_or_default() {
            self.alloc(producer)?;
            self.stage(producer)?;
        }
        Ok(())
    }

    pub(super) fn open_loop(&mut self, stage: StageId, leaf: AxisId) {
        let mark = self.graph()[leaf].tensorize.as_ref();
        self.open_marked(stage, leaf, mark);
    }

    /// Opens the loop of `leaf`, for which, with all that is inside, the tensor intrinsic `mark` stands. A loop of a single
    /// iteration is not written, unless it is a launch, carries a hint or is marked.
    fn open_marked(&mut self, stage: StageId, leaf: AxisId, mark: Option<&Mark>) {
        let data = &self.graph()[leaf];
        let own = self.bounds.extents[leaf.idx()];
        let extent = match data.kind {
            Kind::Launch(coordinate) => self.bounds.launch_extent(self.graph().nest_of(stage), coordinate),
            _ => own,
        };
        let counter = Vars::counter(leaf);
        if extent == 1 && !matches!(data.kind, Kind::Launch(_)) && data.pragmas.is_empty() && mark.is_none() {
            return;
        }
        let of_mark = mark.map_or(Loc::NONE, |(_, loc)| *loc);
        let locs = [of_mark, data.kind_loc, data.made_by];
        let loc = locs.into_iter().find(|loc| *loc != Loc::NONE).unwrap_or(Loc::NONE);
        let source = self.source(self.graph()[stage].loc);
        let directive = self.directive(loc);
        self.locs = Locs { source, directive };
        let mut attrs = self.loop_attrs(leaf);
        if let Some((intrinsic, _)) = mark {
            attrs.push((keys::TENSORIZE, self.func.attr(AttrData::Symbol(intrinsic.clone()))));
        }
        let (lo, hi) = (self.builder().index(0), self.size(extent));
        let mut builder = self.builder();
        let op = tir::For::build(&mut builder, lo, hi, &[], &attrs, &[]);
        let region = builder.func.op_regions(op)[0];
        let index = builder.func.index_ty();
        let value = builder.arg(region, index, Some(&data.name));
        self.values.insert(counter, value);
        self.open.push(Open { region, counter: Some(counter), last_let: None, named: Vec::new() });
        if own.may_be_below(extent) && !self.graph().is_private(leaf) {
            // The other loops that are bound to this coordinate run longer. A stage of which each thread has its own
            // part is computed by all of them.
            self.open_guard(|emitter| {
                let bound = emitter.size(own);
                (value, "lt", bound)
            });
        }
    }

    pub(super) fn loop_attrs(&mut self, leaf: AxisId) -> Vec<(Name, Attr)> {
        let data = &self.graph()[leaf];
        let mut attrs = Vec::new();
        let (kind, axis) = match data.kind {
            Kind::Serial => (None, None),
            Kind::Unroll => (Some(keys::UNROLL), None),
            Kind::Vectorize => (Some(keys::VECTORIZE), None),
            Kind::Launch(coordinate) => (Some(keys::BIND), Some(coordinate.name())),
            Kind::Vthread => (Some(keys::BIND), Some("vthread")),
        };
        if let Some(kind) = kind {
            attrs.push((keys::KIND, self.func.attr(AttrData::Word(kind))));
        }
        if let Some(axis) = axis {
            attrs.push((keys::AXIS, self.func.word_attr(axis)));
        }
        for &(key, value) in &data.pragmas {
            let value = match value {
                PragmaValue::Bool(value) => AttrData::Bool(value),
                PragmaValue::Int(value) => AttrData::int(value),
            };
            attrs.push((self.func.name(key), self.func.attr(value)));
        }
        attrs
    }

    /// Closes all but the outermost `depth` regions.
    pub(super) fn close(&mut self, depth: usize) {
        for open in self.open.drain(depth..) {
            for var in open.named.into_iter().chain(open.counter) {
                self.values.remove(&var);
            }
        }
    }

    /// Opens `if likely(lhs predicate rhs)`.
    pub(super) fn open_guard(&mut self, comparison: impl FnOnce(&mut Self) -> (Value, &'static str, Value)) {
        let (lhs, predicate, rhs) = comparison(self);
        let word = self.func.word_attr(predicate);
        let mut builder = self.builder();
        let condition = builder.value(arith::CMP, &[lhs, rhs], &[(keys::PREDICATE, word)]);
        let likely = builder.value(arith::LIKELY, &[condition], &[]);
        self.open_if(likely);
    }

    /// Opens a conditional without results and without an `else`.
    pub(super) fn open_if(&mut self, condition: Value) {
        let spec = OpSpec {
            opcode: tir::If::OPCODE,
            operands: &[condition],
            keyed: 0,
            attrs: Attrs::EMPTY,
            results: &[],
            n_regions: 1,
        };
        let op = self.builder().op(spec);
        let region = self.func.op_regions(op)[0];
        self.open_region(region);
    }

    /// What follows goes into `region`, which is no loop's.
    pub(super) fn open_region(&mut self, region: Region) {
        self.open.push(Open { region, counter: None, last_let: None, named: Vec::new() });
    }

    // Statements.

    pub(super) fn guard(&mut self, guard: &Guard) {
        let directive = self.directive(guard.loc);
        self.locs.directive = directive;
        self.open_guard(|emitter| match guard.end {
            End::High => {
                let value = emitter.expr(guard.value);
                let bound = emitter.size(guard.bound);
                (value, "lt", bound)
            }
            End::Low => {
                let bound = emitter.size(guard.bound);
                let value = emitter.expr(guard.value);
                (bound, "le", value)
            }
        });
    }

    /// Opens the guards of `statement` and writes its names; gives the locations of what follows.
    pub(super) fn open_statement(&mut self, stage: StageId, statement: &Statement) -> Locs {
        let data = &self.graph()[stage];
        let locs = Locs { source: self.source(data.loc), directive: self.directive(data.made_by) };
        self.locs = locs;
        for guard in &statement.guards {
            self.guard(guard);
        }
        self.locs = locs;
        for local in &statement.locals {
            let value = self.expr(local.value);
            self.builder().name(value, &local.name);
            self.locals.insert(local.what, value);
        }
        locs
    }

    pub(super) fn statement(&mut self, stage: StageId, statement: &Statement, init: bool) -> Result<(), Diagnostic> {
        let depth = self.open.len();
        let data = &self.graph()[stage];
        let locs = self.open_statement(stage, statement);
        if let Some(condition) = &statement.condition {
            let values = self.block(condition)?;
            self.locs = locs;
            if let Some(&condition) = values.first() {
                self.open_if(condition);
            }
        }
        // A part is stored by the thread that it belongs to; the predicate is about the result.
        if self.parts.is_none() {
            self.open_predicate(stage)?;
        }
        match self.operator.reduction(data.source) {
            Some(reduce) => self.reduction(stage, statement, reduce, init)?,
            None => {
                if let Some(block) = &statement.block {
                    let target = self.target_of(stage, &statement.place);
                    let values = self.block(block)?;
                    self.locs = locs;
                    self.store(stage, &values, &statement.place, target);
                }
            }
        }
        self.locals.clear();
        self.close(depth);
        Ok(())
    }

    /// What the reduction of `stage` starts from, where the operator does not say.
    pub(super) fn identity(&mut self, stage: StageId, combiner: &Combiner<'_>) -> Result<Vec<Value>, Diagnostic> {
        let elems: Vec<Type> = self.graph()[stage].tensors.iter().map(|tensor| tensor.elem).collect();
        combiner.identity(self, &elems)
    }

    pub(super) fn reduction(
        &mut self,
        stage: StageId,
        statement: &Statement,
        reduce: te::Reduce,
        init: bool,
    ) -> Result<(), Diagnostic> {
        let te = self.operator.te;
        let combiner = Combiner::of(te, reduce, self.module)?;
        let locs = self.locs;
        let source = self.source(te.op_locs(reduce.0).source);
        if init {
            let target = self.target_of(stage, &statement.place);
            let values = match &statement.block {
                Some(block) => self.block(block)?,
                None => self.identity(stage, &combiner)?,
            };
            self.locs = locs;
            self.store(stage, &values, &statement.place, target);
            return Ok(());
        }
        let Some(block) = &statement.block else { return Ok(()) };
        let target = self.target_of(stage, &statement.place);
        let so_far = self.load(stage, &statement.place);
        let new = self.block(block)?;
        self.locs = Locs { source, ..locs };
        let values = combiner.combine(self, &so_far, &new)?;
        self.locs = locs;
        self.store(stage, &values, &statement.place, target);
        Ok(())
    }
}

/// The intrinsic that stands for a loop, and the directive that says so.
type Mark = (Box<str>, Loc);

/// The intrinsic that the loop of `leaf` is marked with in the initialisation of `stage`: the outermost one there of those
/// that the intrinsic stands for.
fn init_mark(graph: &Graph, stage: StageId, leaf: AxisId) -> Option<&Mark> {
    let leaves = &graph[stage].leaves[graph.tensorized(stage)?..];
    let mark = graph[leaves[0]].tensorize.as_ref()?;
    let outermost = leaves.iter().find(|&&leaf| !graph[leaf].reduce)?;
    (*outermost == leaf).then_some(mark)
}
