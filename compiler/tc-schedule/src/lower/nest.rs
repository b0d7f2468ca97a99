//! Loops, attached stages, guards and statements.

use super::combine::Combiner;
use super::{Emitter, Open};
use crate::body::{Block, Vars};
use crate::graph::{AxisId, Graph, Kind, StageId};
use crate::primitives::AxisPart;
use crate::statements::{End, Guard, StageStatements, Statement, Statements};
use tc_dialects::{arith, te, tir};
use tc_ir::attrs::AttrData;
use tc_ir::builder::OpSpec;
use tc_ir::func::Locs;
use tc_ir::{Attr, Attrs, Elem, Name, Region, Type, Value, keys};
use tc_support::Diagnostic;

impl<'a> Emitter<'a> {
    /// Writes the nest of `stage`, its buffers being there.
    pub(super) fn stage(&mut self, stage: StageId) -> Result<(), Diagnostic> {
        let data = &self.graph()[stage];
        let (graph, statements): (&'a Graph, &'a Statements) = (self.graph(), self.statements);
        let Some(StageStatements { init, update }) = &statements.stages[stage.idx()] else { return Ok(()) };
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
                self.open_with(stage, leaf, parts_of_init(graph, stage, leaf));
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
        self.open_with(stage, leaf, self.graph()[leaf].parts.iter().collect());
    }

    /// Opens the loop of `leaf`, which bears the attributes of `parts`. A loop of a single iteration is not written, unless it
    /// is a launch or has such attributes.
    fn open_with(&mut self, stage: StageId, leaf: AxisId, parts: Vec<&dyn AxisPart>) {
        let data = &self.graph()[leaf];
        let own = self.bounds.extents[leaf.idx()];
        let extent = match data.kind {
            Kind::Launch(coordinate) => self.bounds.launch_extent(self.graph().nest_of(stage), coordinate),
            _ => own,
        };
        let counter = Vars::counter(leaf);
        let said: Vec<(Name, Attr)> = parts.iter().flat_map(|part| part.attrs(&mut self.func)).collect();
        if extent == 1 && !matches!(data.kind, Kind::Launch(_)) && said.is_empty() {
            return;
        }
        let loc = parts.iter().find_map(|part| part.loc()).unwrap_or(data.made_or_kept_by());
        let source = self.source(self.graph()[stage].loc);
        let directive = self.directive(loc);
        self.locs = Locs { source, directive };
        let mut attrs = self.kind_attrs(data.kind);
        attrs.extend(said);
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

    fn kind_attrs(&mut self, kind: Kind) -> Vec<(Name, Attr)> {
        let mut attrs = Vec::new();
        let (kind, axis) = match kind {
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
        let condition = self.compare(predicate, &[lhs, rhs]);
        let likely = self.builder().value(arith::LIKELY, &[condition], &[]);
        self.open_if(likely);
    }

    /// Opens a conditional without results and without an `else`.
    pub(crate) fn open_if(&mut self, condition: Value) {
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
        self.open_guard(|emitter| emitter.sides(guard));
    }

    /// What `guard` compares, and how.
    fn sides(&mut self, guard: &Guard) -> (Value, &'static str, Value) {
        match guard.end {
            End::High => {
                let value = self.expr(guard.value);
                let bound = self.size(guard.bound);
                (value, "lt", bound)
            }
            End::Low => {
                let bound = self.size(guard.bound);
                let value = self.expr(guard.value);
                (bound, "le", value)
            }
        }
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
        // A part is stored by the thread that it belongs to; conditions are about the result.
        if self.parts.is_none() {
            self.open_store(stage)?;
        }
        match self.operator.reduction(data.source) {
            Some(reduce) => self.reduction(stage, statement, reduce, init)?,
            None => {
                if let Some(block) = &statement.block {
                    let target = self.target_of(stage, &statement.place);
                    let values = self.filled(stage, &statement.fills, block)?;
                    self.locs = locs;
                    self.store(stage, &values, &statement.place, target);
                }
            }
        }
        self.locals.clear();
        self.close(depth);
        Ok(())
    }

    /// The values of `block` where all of `fills` hold, and zeros elsewhere.
    fn filled(&mut self, stage: StageId, fills: &[Guard], block: &Block) -> Result<Vec<Value>, Diagnostic> {
        let mut condition = None;
        for guard in fills {
            let (lhs, predicate, rhs) = self.sides(guard);
            let next = self.compare(predicate, &[lhs, rhs]);
            condition = Some(match condition {
                Some(before) => self.builder().value(arith::AND, &[before, next], &[]),
                None => next,
            });
        }
        let Some(condition) = condition else { return self.block(block) };
        let elems: Vec<Type> = self.graph()[stage].tensors.iter().map(|tensor| tensor.elem).collect();
        let types: Vec<Type> = elems.iter().map(|&elem| self.te.ty(&mut self.func, elem)).collect();
        let op = self.open_choice(condition, &types);
        let values = self.block(block)?;
        self.close_arm(&values);
        let region = self.func.op_regions(op)[1];
        self.open_region(region);
        let zeros: Vec<Value> = types.into_iter().map(|ty| self.zero(ty)).collect();
        self.close_arm(&zeros);
        Ok(self.func.results(op).collect())
    }

    /// The number 0, or `false`, of type `ty`.
    fn zero(&mut self, ty: Type) -> Value {
        let zero = match self.func.as_scalar(ty).map(|scalar| scalar.elem) {
            Some(Elem::Bool) | None => AttrData::Bool(false),
            Some(elem) => te::identity_of("sum", elem).expect("sums begin with it"),
        };
        let zero = self.func.attr(zero);
        self.builder().constant(zero, ty)
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

/// The parts whose attributes the loop of `leaf` bears in the initialisation of `stage`.
fn parts_of_init(graph: &Graph, stage: StageId, leaf: AxisId) -> Vec<&dyn AxisPart> {
    let all = graph[stage].leaves.iter().flat_map(|&axis| graph[axis].parts.iter().map(move |part| (axis, part)));
    all.filter(|&(axis, part)| part.loop_of_init(graph, axis) == Some(leaf)).map(|(_, part)| part).collect()
}
