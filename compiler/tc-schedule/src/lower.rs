//! From bounds and plan to a program: loops, attached stages, initialisations, guards, buffers.

use crate::body::{Arg, Block, Inst, InstKind, Vars};
use crate::bounds::Bounds;
use crate::combine::Combiner;
use crate::graph::{Attach, AxisId, Graph, Kind, PragmaValue, Source, StageId, TensorRef};
use crate::operator::Operator;
use crate::plan::{End, Guard, Plan, StagePlan, Statement};
use rustc_hash::FxHashMap;
use tc_arith::{BinaryOp, Expr, Node, Var};
use tc_dialects::{arith, te, tir};
use tc_ir::attrs::AttrData;
use tc_ir::builder::OpSpec;
use tc_ir::clone::Importer;
use tc_ir::func::{Locs, ParamDecl};
use tc_ir::{Attr, Attrs, Builder, Func, Loc, Module, Name, Op, Region, Type, TypeData, Value, keys};
use tc_support::Diagnostic;

/// The strides of the buffers of `stage`, if a directive pads them.
pub(crate) fn strides(graph: &Graph, stage: StageId, shape: &[i64]) -> Option<Vec<i64>> {
    let data = &graph[stage];
    if data.aligns.is_empty() {
        return None;
    }
    let mut strides = vec![1i64; shape.len()];
    let mut stride = 1i64;
    for nth in (0..shape.len()).rev() {
        if let Some(&(_, factor, offset)) = data.aligns.iter().find(|(axis, _, _)| *axis == data.data[nth]) {
            let missing = (i128::from(factor) + i128::from(offset) - i128::from(stride % factor)).rem_euclid(i128::from(factor));
            stride = stride.saturating_add(i64::try_from(missing).unwrap_or(i64::MAX));
        }
        strides[nth] = stride;
        stride = stride.saturating_mul(shape[nth].max(1));
    }
    Some(strides)
}

/// A region that is being filled.
struct Open {
    region: Region,
    /// The counter of the loop that the region belongs to.
    counter: Option<Var>,
    /// The last of the names at its start.
    last_let: Option<Op>,
    /// The variables that are named in it.
    named: Vec<Var>,
}

/// Writes a program.
pub(crate) struct Emitter<'a> {
    pub(crate) operator: &'a Operator<'a>,
    module: Option<&'a Module>,
    bounds: &'a Bounds,
    plan: &'a Plan,
    pub(crate) func: Func,
    pub(crate) te: Importer<'a>,
    directives: Option<Importer<'a>>,
    open: Vec<Open>,
    values: FxHashMap<Var, Value>,
    /// What the statement at hand has named.
    locals: FxHashMap<Expr, Value>,
    /// By stage.
    buffers: Vec<Vec<Value>>,
    outer: FxHashMap<Value, Value>,
    /// The stages attached at each axis.
    attached: FxHashMap<AxisId, Vec<StageId>>,
    pub(crate) locs: Locs,
}

/// Makes the program.
pub(crate) fn emit<'a>(
    operator: &'a Operator<'a>,
    sched: Option<&'a Func>,
    module: Option<&'a Module>,
    bounds: &'a Bounds,
    plan: &'a Plan,
) -> Result<Func, Diagnostic> {
    let te = operator.te;
    let mut func = Func::new(te.registry().clone(), tir::FuncItem::OPCODE, te.symbol());
    let importer = Importer::new(te);
    func.header.loc = importer.loc(&mut func, te.header.loc);
    let body = func.body();
    let mut emitter = Emitter {
        operator,
        module,
        bounds,
        plan,
        func,
        te: importer,
        directives: sched.map(Importer::new),
        open: vec![Open { region: body, counter: None, last_let: None, named: Vec::new() }],
        values: FxHashMap::default(),
        locals: FxHashMap::default(),
        buffers: vec![Vec::new(); bounds.graph.stages.len()],
        outer: FxHashMap::default(),
        attached: FxHashMap::default(),
        locs: Locs::default(),
    };
    emitter.header();
    emitter.program()?;
    Ok(emitter.func)
}

impl<'a> Emitter<'a> {
    fn graph(&self) -> &'a Graph {
        &self.bounds.graph
    }

    /// A builder at the end of the region at hand.
    pub(crate) fn builder(&mut self) -> Builder<'_> {
        let region = self.open.last().map_or(self.func.body(), |open| open.region);
        let mut builder = Builder::at_end(&mut self.func, region);
        builder.locs = self.locs;
        builder
    }

    /// The location of a directive, in the program.
    fn directive(&mut self, loc: Loc) -> Loc {
        match &self.directives {
            Some(importer) => importer.loc(&mut self.func, loc),
            None => Loc::NONE,
        }
    }

    fn source(&mut self, loc: Loc) -> Loc {
        self.te.loc(&mut self.func, loc)
    }

    // The header.

    fn header(&mut self) {
        let te = self.operator.te;
        let attrs = self.te.dict(&mut self.func, te.header.attrs);
        let unit = self.func.attr(AttrData::Unit);
        self.func.header.attrs = self.func.with_entry(attrs, keys::NOALIAS, unit);
        let body = self.func.body();
        for (nth, &param) in te.params().iter().enumerate() {
            let attrs = te.header.params.get(nth).map_or(Attrs::EMPTY, |decl| decl.attrs);
            let attrs = self.te.dict(&mut self.func, attrs);
            let ty = match te.as_shaped(te.value_type(param)) {
                Some((elem, _, scope)) => {
                    let shape = self.operator.shape(te.value_type(param)).unwrap_or_default();
                    let scope = scope.map_or(keys::GLOBAL, |scope| self.te.name(&mut self.func, scope));
                    self.buffer_type(elem, &shape, scope)
                }
                None => self.te.ty(&mut self.func, te.value_type(param)),
            };
            self.func.header.params.push(ParamDecl { attrs, choices: None });
            let value = self.func.push_arg(body, ty, Some(te.value_text(param)));
            self.outer.insert(param, value);
        }
        for stage in self.graph().order.clone() {
            if let Source::Arg(param) = self.graph()[stage].source {
                self.buffers[stage.idx()] = vec![self.outer[&param]];
            }
        }
        for nth in 0..self.graph().outputs.len() {
            self.output(nth, body);
        }
    }

    fn output(&mut self, nth: usize, body: Region) {
        let TensorRef { stage, result } = self.graph().outputs[nth];
        let data = &self.graph()[stage];
        let tensor = &data.tensors[result as usize];
        let shape: Vec<i64> = data.data.iter().map(|&axis| self.graph()[axis].domain.map_or(1, |(_, extent)| extent)).collect();
        let ty = self.buffer_type(tensor.elem, &shape, keys::GLOBAL);
        let attrs = self.operator.te.header.results.get(nth).map_or(Attrs::EMPTY, |decl| decl.attrs);
        let attrs = self.te.dict(&mut self.func, attrs);
        self.func.header.params.push(ParamDecl { attrs, choices: None });
        let value = self.func.push_arg(body, ty, Some(&tensor.name));
        let buffers = &mut self.buffers[stage.idx()];
        buffers.resize(data.tensors.len(), value);
        buffers[result as usize] = value;
    }

    fn buffer_type(&mut self, elem: Type, shape: &[i64], scope: Name) -> Type {
        let elem = self.te.ty(&mut self.func, elem);
        let shape: Vec<Attr> = shape.iter().map(|&extent| self.func.int_attr(extent)).collect();
        self.func.ty(TypeData::Shaped { elem, shape: shape.into(), scope: Some(scope) })
    }

    // Stages.

    fn program(&mut self) -> Result<(), Diagnostic> {
        self.outer_values();
        let mut roots = Vec::new();
        for &stage in &self.graph().order {
            if self.plan.stages[stage.idx()].is_none() {
                continue;
            }
            match self.graph()[stage].attach {
                Attach::At(axis) => {
                    let leaf = self.graph().leaf_of(axis);
                    self.attached.entry(leaf).or_default().push(stage);
                }
                _ => roots.push(stage),
            }
        }
        for &stage in &roots {
            self.alloc(stage);
        }
        for stage in roots {
            self.stage(stage)?;
        }
        Ok(())
    }

    /// Copies the arithmetic of the operator's top level that stages use and that is no number.
    fn outer_values(&mut self) {
        let te = self.operator.te;
        let mut wanted = vec![false; te.n_value_ids()];
        let bodies = self.bounds.bodies.iter();
        let blocks = bodies.flat_map(|body| body.init.iter().chain(&body.condition).chain([&body.update]));
        let mut any = false;
        for arg in blocks.flat_map(Block::all_args) {
            if let Arg::Outer(value) = arg {
                wanted[value.as_u32() as usize] = true;
                any = true;
            }
        }
        if !any {
            return;
        }
        let ops: Vec<Op> = te.ops(te.body()).filter(|&op| te.role(op) != tc_ir::opdef::Role::Compute).collect();
        for &op in ops.iter().rev() {
            if te.results(op).any(|value| wanted[value.as_u32() as usize]) {
                te.operands(op).iter().for_each(|value| wanted[value.as_u32() as usize] = true);
            }
        }
        for (&old, &new) in te.params().iter().zip(self.func.params()) {
            self.te.values.insert(old, new);
        }
        for op in ops {
            if !te.results(op).any(|value| wanted[value.as_u32() as usize]) {
                continue;
            }
            let body = self.func.body();
            self.symbols(op);
            self.te.op(&mut Builder::at_end(&mut self.func, body), op);
            for value in te.results(op) {
                self.outer.insert(value, self.te.values[&value]);
            }
        }
    }

    /// The sizes among the operands of `op`, which are numbers now.
    fn symbols(&mut self, op: Op) {
        let te = self.operator.te;
        for &operand in te.operands(op) {
            if !self.te.values.contains_key(&operand)
                && let Some(int) = self.operator.int(operand)
            {
                let value = self.builder().index(int);
                self.te.values.insert(operand, value);
            }
        }
    }

    /// Makes the buffers of `stage` that are not the program's arguments.
    fn alloc(&mut self, stage: StageId) {
        let data = &self.graph()[stage];
        let Some(bounds) = self.bounds.stage(stage) else { return };
        let source = self.source(data.loc);
        let directive = self.directive(if data.attach_loc == Loc::NONE { data.made_by } else { data.attach_loc });
        self.locs = Locs { source, directive };
        let scope = self.func.name(bounds.scope.name());
        let strides = strides(self.graph(), stage, &bounds.shape);
        for (nth, tensor) in data.tensors.iter().enumerate() {
            let result = TensorRef { stage, result: nth as u32 };
            if self.graph().outputs.contains(&result) {
                continue;
            }
            let ty = self.buffer_type(tensor.elem, &bounds.shape, scope);
            let mut attrs = Vec::new();
            if let Some(strides) = &strides {
                let list: Vec<Attr> = strides.iter().map(|&stride| self.func.int_attr(stride)).collect();
                attrs.push((keys::STRIDES, self.func.attr(AttrData::List(list.into()))));
            }
            let mut builder = self.builder();
            let op = tir::Alloc::build(&mut builder, &attrs, &[ty]);
            let value = builder.func.result(op).expect("an alloc has one result");
            builder.name(value, &tensor.name);
            let buffers = &mut self.buffers[stage.idx()];
            buffers.resize(buffers.len().max(nth + 1), value);
            buffers[nth] = value;
        }
    }

    /// Writes the nest of `stage`, its buffers being there.
    fn stage(&mut self, stage: StageId) -> Result<(), Diagnostic> {
        let data = &self.graph()[stage];
        let (graph, plan): (&'a Graph, &'a Plan) = (self.graph(), self.plan);
        let Some(StagePlan { init, update }) = &plan.stages[stage.idx()] else { return Ok(()) };
        let depth = self.open.len();
        let n_common = data.leaves.iter().position(|&leaf| self.graph()[leaf].reduce).unwrap_or(data.leaves.len());
        let (common, rest) = data.leaves.split_at(n_common);
        for &leaf in common {
            self.enter_leaf(stage, leaf)?;
        }
        if let Some(init) = init {
            let inner = self.open.len();
            for &leaf in rest.iter().filter(|&&leaf| !graph[leaf].reduce) {
                self.open_loop(stage, leaf);
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
    fn enter_leaf(&mut self, stage: StageId, leaf: AxisId) -> Result<(), Diagnostic> {
        self.open_loop(stage, leaf);
        for producer in self.attached.get(&leaf).cloned().unwrap_or_default() {
            self.alloc(producer);
            self.stage(producer)?;
        }
        Ok(())
    }

    /// Opens the loop of `leaf`; one of a single iteration needs none, unless it is a launch or carries a hint.
    fn open_loop(&mut self, stage: StageId, leaf: AxisId) {
        let data = &self.graph()[leaf];
        let own = self.bounds.extents[leaf.idx()];
        let extent = match data.kind {
            Kind::Launch(coordinate) => self.bounds.launch_extent(self.graph().nest_of(stage), coordinate),
            _ => own,
        };
        let counter = Vars::counter(leaf);
        if extent == 1 && !matches!(data.kind, Kind::Launch(_)) && data.pragmas.is_empty() {
            return;
        }
        let loc = [data.kind_loc, data.made_by].into_iter().find(|loc| *loc != Loc::NONE).unwrap_or(Loc::NONE);
        let source = self.source(self.graph()[stage].loc);
        let directive = self.directive(loc);
        self.locs = Locs { source, directive };
        let attrs = self.loop_attrs(leaf);
        let mut builder = self.builder();
        let (lo, hi) = (builder.index(0), builder.index(extent));
        let op = tir::For::build(&mut builder, lo, hi, &[], &attrs, &[]);
        let region = builder.func.op_regions(op)[0];
        let index = builder.func.index_ty();
        let value = builder.arg(region, index, Some(&data.name));
        self.values.insert(counter, value);
        self.open.push(Open { region, counter: Some(counter), last_let: None, named: Vec::new() });
        if own < extent {
            // The other loops that are bound to this coordinate run longer.
            self.open_guard(|emitter| {
                let bound = emitter.builder().index(own);
                (value, "lt", bound)
            });
        }
    }

    fn loop_attrs(&mut self, leaf: AxisId) -> Vec<(Name, Attr)> {
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
    fn close(&mut self, depth: usize) {
        for open in self.open.drain(depth..) {
            for var in open.named.into_iter().chain(open.counter) {
                self.values.remove(&var);
            }
        }
    }

    /// Opens `if likely(lhs predicate rhs)`.
    fn open_guard(&mut self, comparison: impl FnOnce(&mut Self) -> (Value, &'static str, Value)) {
        let (lhs, predicate, rhs) = comparison(self);
        let word = self.func.word_attr(predicate);
        let mut builder = self.builder();
        let condition = builder.value(arith::CMP, &[lhs, rhs], &[(keys::PREDICATE, word)]);
        let likely = builder.value(arith::LIKELY, &[condition], &[]);
        self.open_if(likely);
    }

    /// Opens a conditional without results and without an `else`.
    fn open_if(&mut self, condition: Value) {
        let spec = OpSpec { opcode: tir::If::OPCODE, operands: &[condition], keyed: 0, attrs: Attrs::EMPTY, results: &[], n_regions: 1 };
        let op = self.builder().op(spec);
        let region = self.func.op_regions(op)[0];
        self.open.push(Open { region, counter: None, last_let: None, named: Vec::new() });
    }

    // Statements.

    fn guard(&mut self, guard: &Guard) {
        let directive = self.directive(guard.loc);
        self.locs.directive = directive;
        self.open_guard(|emitter| match guard.end {
            End::High => {
                let value = emitter.expr(guard.value);
                let bound = emitter.builder().index(guard.bound);
                (value, "lt", bound)
            }
            End::Low => {
                let bound = emitter.builder().index(guard.bound);
                let value = emitter.expr(guard.value);
                (bound, "le", value)
            }
        });
    }

    fn statement(&mut self, stage: StageId, statement: &Statement, init: bool) -> Result<(), Diagnostic> {
        let depth = self.open.len();
        let data = &self.graph()[stage];
        let source = self.source(data.loc);
        let made_by = self.directive(data.made_by);
        self.locs = Locs { source, directive: made_by };
        for guard in &statement.guards {
            self.guard(guard);
        }
        self.locs = Locs { source, directive: made_by };
        for local in &statement.locals {
            let value = self.expr(local.value);
            self.builder().name(value, &local.name);
            self.locals.insert(local.what, value);
        }
        if let Some(condition) = &statement.condition {
            let values = self.block(condition)?;
            self.locs = Locs { source, directive: made_by };
            if let Some(&condition) = values.first() {
                self.open_if(condition);
            }
        }
        match self.operator.reduction(data.source) {
            Some(reduce) => self.reduction(stage, statement, reduce, init)?,
            None => {
                if let Some(block) = &statement.block {
                    let values = self.block(block)?;
                    self.locs = Locs { source, directive: made_by };
                    self.store(stage, &values, &statement.place);
                }
            }
        }
        self.locals.clear();
        self.close(depth);
        Ok(())
    }

    fn reduction(&mut self, stage: StageId, statement: &Statement, reduce: te::Reduce, init: bool) -> Result<(), Diagnostic> {
        let te = self.operator.te;
        let combiner = Combiner::of(te, reduce, self.module)?;
        let locs = self.locs;
        let source = self.source(te.op_locs(reduce.0).source);
        if init {
            let values = match &statement.block {
                Some(block) => self.block(block)?,
                None => {
                    let elems: Vec<Type> = self.graph()[stage].tensors.iter().map(|tensor| tensor.elem).collect();
                    combiner.identity(self, &elems)?
                }
            };
            self.locs = locs;
            self.store(stage, &values, &statement.place);
            return Ok(());
        }
        let Some(block) = &statement.block else { return Ok(()) };
        let so_far: Vec<Value> = (0..self.graph()[stage].tensors.len()).map(|nth| self.load(TensorRef { stage, result: nth as u32 }, &statement.place)).collect();
        let new = self.block(block)?;
        self.locs = Locs { source, ..locs };
        let values = combiner.combine(self, &so_far, &new)?;
        self.locs = locs;
        self.store(stage, &values, &statement.place);
        Ok(())
    }

    fn load(&mut self, tensor: TensorRef, place: &[Expr]) -> Value {
        let mut operands = vec![self.buffers[tensor.stage.idx()][tensor.result as usize]];
        for &index in place {
            operands.push(self.expr(index));
        }
        self.builder().value(tir::Load::OPCODE, &operands, &[])
    }

    fn store(&mut self, stage: StageId, values: &[Value], place: &[Expr]) {
        for (nth, &value) in values.iter().enumerate() {
            let indices: Vec<Value> = place.iter().map(|&index| self.expr(index)).collect();
            let buffer = self.buffers[stage.idx()][nth];
            tir::Store::build(&mut self.builder(), buffer, &indices, value, &[], &[]);
        }
    }

    // Code.

    /// Writes `block`, and gives what it gives.
    fn block(&mut self, block: &Block) -> Result<Vec<Value>, Diagnostic> {
        let mut results: Vec<Option<Value>> = vec![None; block.n_values as usize];
        let mut conditionals: Vec<Op> = Vec::new();
        let base = self.locs;
        for inst in &block.insts {
            let source = inst.op.map_or(Loc::NONE, |op| self.operator.te.op_locs(op).source);
            self.locs = if source == Loc::NONE { base } else { Locs { source: self.source(source), ..base } };
            self.inst(block, inst, &mut results, &mut conditionals)?;
        }
        self.locs = base;
        block.yields.iter().map(|&arg| self.arg(arg, &results)).collect()
    }

    fn arg(&mut self, arg: Arg, results: &[Option<Value>]) -> Result<Value, Diagnostic> {
        match arg {
            Arg::Value(number) => Ok(results[number as usize].expect("an instruction comes before its uses")),
            Arg::Index(e) => {
                self.opaque(e, results);
                Ok(self.expr(e))
            }
            Arg::Outer(value) => self.outer.get(&value).copied().ok_or_else(|| {
                let te = self.operator.te;
                let text = format!("`{}` is not known outside the operator", te.value_text(value));
                Diagnostic::bug("outer-value", te.location(te.header.loc), text)
            }),
        }
    }

    /// Lets the variables of `e` that stand for results of instructions be those.
    fn opaque(&mut self, e: Expr, results: &[Option<Value>]) {
        for var in self.bounds.analyzer.pool.vars(e) {
            if let Some((_, _, crate::body::Extra::Opaque(number))) = self.bounds.vars.extra(var)
                && let Some(value) = results[*number as usize]
            {
                self.values.insert(var, value);
            }
        }
    }

    fn inst(&mut self, block: &Block, inst: &Inst, results: &mut [Option<Value>], conditionals: &mut Vec<Op>) -> Result<(), Diagnostic> {
        let mut args = Vec::with_capacity(4);
        if let InstKind::Load(tensor) = inst.kind {
            args.push(self.buffers[tensor.stage.idx()][tensor.result as usize]);
        }
        for &arg in block.args(inst) {
            args.push(self.arg(arg, results)?);
        }
        let op = match inst.kind {
            InstKind::Load(_) => {
                let value = self.builder().value(tir::Load::OPCODE, &args, &[]);
                results[inst.results.0 as usize] = Some(value);
                return Ok(());
            }
            InstKind::ToIndex => {
                let index = self.func.index_ty();
                arith::Cast::build(&mut self.builder(), args[0], &[], &[index])
            }
            InstKind::Plain => self.plain(inst, &args),
            InstKind::If => {
                let op = self.conditional(inst, args[0]);
                conditionals.push(op);
                return Ok(());
            }
            InstKind::Else | InstKind::End => {
                let mut builder = self.builder();
                tir::Yield::build(&mut builder, &args, &[], &[]);
                self.open.pop();
                let op = *conditionals.last().expect("an arm ends inside a conditional");
                if inst.kind == InstKind::Else {
                    let region = self.func.op_regions(op)[1];
                    self.open.push(Open { region, counter: None, last_let: None, named: Vec::new() });
                    return Ok(());
                }
                conditionals.pop();
                op
            }
        };
        for (nth, value) in self.func.results(op).enumerate() {
            results[inst.results.0 as usize + nth] = Some(value);
        }
        Ok(())
    }

    /// A copy of the op behind `inst`, on other operands.
    fn plain(&mut self, inst: &Inst, args: &[Value]) -> Op {
        let te = self.operator.te;
        let op = inst.op.expect("only a load has no op behind it");
        let attrs = self.te.dict(&mut self.func, te.op_attrs(op));
        let types: Vec<Type> = te.results(op).map(|value| self.te.ty(&mut self.func, te.value_type(value))).collect();
        let spec = OpSpec { opcode: te.opcode(op), operands: args, keyed: te.keyed_mask(op), attrs, results: &types, n_regions: 0 };
        let copy = self.builder().op(spec);
        for (old, new) in te.results(op).zip(self.func.results(copy)) {
            let name = te.value_name(old).map(|name| self.te.name(&mut self.func, name));
            self.func.set_value_name(new, name);
        }
        copy
    }

    /// Opens the first arm of the conditional behind `inst`.
    fn conditional(&mut self, inst: &Inst, condition: Value) -> Op {
        let te = self.operator.te;
        let op = inst.op.expect("a conditional has an op behind it");
        let types: Vec<Type> = te.results(op).map(|value| self.te.ty(&mut self.func, te.value_type(value))).collect();
        let spec = OpSpec { opcode: tir::If::OPCODE, operands: &[condition], keyed: 0, attrs: Attrs::EMPTY, results: &types, n_regions: 2 };
        let copy = self.builder().op(spec);
        for (old, new) in te.results(op).zip(self.func.results(copy)) {
            let name = te.value_name(old).map(|name| self.te.name(&mut self.func, name));
            self.func.set_value_name(new, name);
        }
        let region = self.func.op_regions(copy)[0];
        self.open.push(Open { region, counter: None, last_let: None, named: Vec::new() });
        copy
    }

    /// Writes `e`, and gives its value.
    pub(crate) fn expr(&mut self, e: Expr) -> Value {
        let pool = &self.bounds.analyzer.pool;
        // A counter or a number costs no stack.
        match pool.node(e) {
            Node::Const(int) => return self.builder().index(int),
            Node::Var(var) if !self.locals.contains_key(&e) => return self.var(var),
            _ => {}
        }
        enum Step {
            Visit(Expr),
            Make(Expr),
        }
        let mut steps = vec![Step::Visit(e)];
        let mut made: Vec<Value> = Vec::new();
        // An expression that is too deep to be read may share parts without end: each is written once.
        let shares = pool.depth(e) > 40;
        let mut known: FxHashMap<Expr, Value> = FxHashMap::default();
        while let Some(step) = steps.pop() {
            match step {
                Step::Visit(e) => {
                    if let Some(&value) = self.locals.get(&e).or_else(|| known.get(&e)) {
                        made.push(value);
                        continue;
                    }
                    match self.bounds.analyzer.pool.node(e) {
                        Node::Const(int) => made.push(self.builder().index(int)),
                        Node::Bool(truth) => made.push(self.builder().bool(truth)),
                        Node::Var(var) => made.push(self.var(var)),
                        Node::Not(a) | Node::Likely(a) => steps.extend([Step::Make(e), Step::Visit(a)]),
                        Node::Binary(_, a, b) => steps.extend([Step::Make(e), Step::Visit(b), Step::Visit(a)]),
                        Node::Select(c, a, b) => steps.extend([Step::Make(e), Step::Visit(b), Step::Visit(a), Step::Visit(c)]),
                    }
                }
                Step::Make(e) => {
                    let value = self.make(e, &mut made);
                    if shares {
                        known.insert(e, value);
                    }
                    made.push(value);
                }
            }
        }
        made.pop().expect("the expression itself was made last")
    }

    /// The op of `e` on the operands made last.
    fn make(&mut self, e: Expr, made: &mut Vec<Value>) -> Value {
        let node = self.bounds.analyzer.pool.node(e);
        let n_args = match node {
            Node::Not(_) | Node::Likely(_) => 1,
            Node::Select(..) => 3,
            _ => 2,
        };
        let args = made.split_off(made.len().saturating_sub(n_args));
        let opcode = match node {
            Node::Not(_) => arith::NOT,
            Node::Likely(_) => arith::LIKELY,
            Node::Select(..) => arith::SELECT,
            Node::Binary(op, ..) => match op {
                BinaryOp::Add => arith::ADD,
                BinaryOp::Sub => arith::SUB,
                BinaryOp::Mul => arith::MUL,
                BinaryOp::FloorDiv => arith::DIV,
                BinaryOp::FloorMod => arith::MOD,
                BinaryOp::TruncDiv => arith::TDIV,
                BinaryOp::TruncMod => arith::TMOD,
                BinaryOp::Min => arith::MIN,
                BinaryOp::Max => arith::MAX,
                BinaryOp::And => arith::AND,
                BinaryOp::Or => arith::OR,
                BinaryOp::Shl => arith::SHL,
                BinaryOp::Shr => arith::SHR,
                BinaryOp::BitAnd => arith::BITAND,
                BinaryOp::BitOr => arith::BITOR,
                BinaryOp::BitXor => arith::BITXOR,
                BinaryOp::Eq => return self.compare("eq", &args),
                BinaryOp::Ne => return self.compare("ne", &args),
                BinaryOp::Lt => return self.compare("lt", &args),
                BinaryOp::Le => return self.compare("le", &args),
            },
            Node::Const(_) | Node::Bool(_) | Node::Var(_) => unreachable!("leaves are made where they are visited"),
        };
        self.builder().value(opcode, &args, &[])
    }

    fn compare(&mut self, predicate: &str, args: &[Value]) -> Value {
        let word = self.func.word_attr(predicate);
        self.builder().value(arith::CMP, args, &[(keys::PREDICATE, word)])
    }

    /// The value of a variable: a counter, or the value of an axis, which gets its name where its loops are open.
    fn var(&mut self, var: Var) -> Value {
        if let Some(&value) = self.values.get(&var) {
            return value;
        }
        let Some(&(axis, value)) = self.plan.named.get(&var) else {
            // A counter of a loop that has one iteration, or none.
            return self.builder().index(0);
        };
        let vars = self.bounds.analyzer.pool.vars(value);
        let home = self.open.iter().rposition(|open| open.counter.is_some_and(|counter| vars.contains(&counter))).unwrap_or(0);
        let rest = self.open.split_off(home + 1);
        // Names stand at the start of their loop, in the order in which they were asked for.
        let (region, after) = (self.open[home].region, self.open[home].last_let);
        let tail: Vec<Op> = match after {
            Some(op) => std::iter::successors(self.func.next_op(op), |&op| self.func.next_op(op)).collect(),
            None => self.func.ops(region).collect(),
        };
        let locals = std::mem::take(&mut self.locals);
        let named = self.expr(value);
        self.locals = locals;
        let name: &'a str = &self.graph()[axis].name;
        self.builder().name(named, name);
        if !tail.is_empty() {
            let mut rewriter = tc_ir::Rewriter::new(&mut self.func);
            for op in tail {
                rewriter.move_to_end(op, region);
            }
        }
        self.open[home].last_let = self.func.def_op(named);
        self.open[home].named.push(var);
        self.open.extend(rest);
        self.values.insert(var, named);
        named
    }
}
