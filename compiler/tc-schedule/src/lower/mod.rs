//! From bounds, and what is written of them, to a program: loops, attached stages, initialisations, guards, buffers.

mod across;
mod code;
mod combine;
mod nest;
mod store;
mod symbols;

use crate::body::{Arg, Block, Body, Vars};
use crate::bounds::Bounds;
use crate::graph::{Attach, AxisId, Graph, Source, StageId, TensorRef};
use crate::operator::Operator;
use crate::size::Size;
use crate::statements::Statements;
use rustc_hash::FxHashMap;
use tc_arith::{Expr, Var};
use tc_dialects::tir;
use tc_ir::attrs::AttrData;
use tc_ir::clone::Importer;
use tc_ir::func::{Locs, ParamDecl};
use tc_ir::{Attr, Attrs, Builder, Func, Loc, Module, Name, Op, Region, Type, TypeData, Value, keys};
use tc_support::{Diagnostic, Location};

/// The strides of the buffers of `stage`, if a directive says something of them.
pub(crate) fn strides(graph: &Graph, stage: StageId, shape: &[i64]) -> Option<Vec<i64>> {
    graph[stage].parts.iter().find_map(|part| part.strides(&graph[stage], shape))
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
    pub(crate) bounds: &'a Bounds,
    statements: &'a Statements,
    pub(crate) func: Func,
    pub(crate) te: Importer<'a>,
    directives: Option<Importer<'a>>,
    open: Vec<Open>,
    values: FxHashMap<Var, Value>,
    /// What the statement at hand has named.
    locals: FxHashMap<Expr, Value>,
    /// By stage.
    buffers: Vec<Vec<Value>>,
    /// The stage whose values so far are kept by each thread for itself, and where.
    parts: Option<(StageId, Vec<Value>)>,
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
    statements: &'a Statements,
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
        statements,
        func,
        te: importer,
        directives: sched.map(Importer::new),
        open: vec![Open { region: body, counter: None, last_let: None, named: Vec::new() }],
        values: FxHashMap::default(),
        locals: FxHashMap::default(),
        buffers: vec![Vec::new(); bounds.graph.stages.len()],
        parts: None,
        outer: FxHashMap::default(),
        attached: FxHashMap::default(),
        locs: Locs::default(),
    };
    emitter.header()?;
    emitter.program()?;
    Ok(emitter.func)
}

impl<'a> Emitter<'a> {
    pub(crate) fn graph(&self) -> &'a Graph {
        &self.bounds.graph
    }

    /// A builder at the end of the region at hand.
    pub(crate) fn builder(&mut self) -> Builder<'_> {
        let region = self.open.last().map_or(self.func.body(), |open| open.region);
        let mut builder = Builder::at_end(&mut self.func, region);
        builder.locs = self.locs;
        builder
    }

    /// The counter of the loop of `leaf`, if it is open.
    pub(crate) fn counter(&self, leaf: AxisId) -> Option<Value> {
        self.values.get(&Vars::counter(leaf)).copied()
    }

    /// The loops around the place at hand, outermost first.
    pub(crate) fn open_loops(&self) -> impl DoubleEndedIterator<Item = AxisId> + '_ {
        self.open.iter().filter_map(|open| Vars::as_counter(open.counter?))
    }

    /// Where a directive stands, for a diagnostic.
    pub(crate) fn location(&self, loc: Loc) -> Location {
        self.directives.as_ref().map_or(Location::None, |directives| directives.src().location(loc))
    }

    /// The location of a directive, in the program.
    pub(crate) fn directive(&mut self, loc: Loc) -> Loc {
        match &self.directives {
            Some(importer) => importer.loc(&mut self.func, loc),
            None => Loc::NONE,
        }
    }

    fn source(&mut self, loc: Loc) -> Loc {
        self.te.loc(&mut self.func, loc)
    }

    // The header.

    fn header(&mut self) -> Result<(), Diagnostic> {
        let te = self.operator.te;
        let attrs = self.te.dict(&mut self.func, te.header.attrs);
        let unit = self.func.attr(AttrData::Unit);
        self.func.header.attrs = self.func.with_entry(attrs, keys::NOALIAS, unit);
        self.open_sizes()?;
        let body = self.func.body();
        for (nth, &param) in te.params().iter().enumerate() {
            let attrs = te.header.params.get(nth).map_or(Attrs::EMPTY, |decl| decl.attrs);
            let attrs = self.te.dict(&mut self.func, attrs);
            let ty = match te.as_shaped(te.value_type(param)) {
                Some((elem, _, scope)) => {
                    let shape = self.operator.shape(te.value_type(param)).unwrap_or_default();
                    let scope = scope.map_or(keys::GLOBAL, |scope| self.te.name(&mut self.func, scope));
                    self.buffer_type(elem, &shape, scope)?
                }
                None => self.te.ty(&mut self.func, te.value_type(param)),
            };
            self.func.header.params.push(ParamDecl { attrs, choices: None, default: None });
            let value = self.func.push_arg(body, ty, Some(te.value_text(param)));
            self.outer.insert(param, value);
        }
        for stage in self.graph().order.clone() {
            if let Source::Arg(param) = self.graph()[stage].source {
                self.buffers[stage.idx()] = vec![self.outer[&param]];
            }
        }
        for nth in 0..self.graph().outputs.len() {
            self.output(nth, body)?;
        }
        Ok(())
    }

    fn output(&mut self, nth: usize, body: Region) -> Result<(), Diagnostic> {
        let TensorRef { stage, result } = self.graph().outputs[nth];
        let data = &self.graph()[stage];
        let tensor = &data.tensors[result as usize];
        let extent = |axis: AxisId| self.graph()[axis].domain.map_or(Size::Int(1), |(_, extent)| extent);
        let shape: Vec<Size> = data.data.iter().map(|&axis| extent(axis)).collect();
        let ty = self.buffer_type(tensor.elem, &shape, keys::GLOBAL)?;
        let attrs = self.operator.te.header.results.get(nth).map_or(Attrs::EMPTY, |decl| decl.attrs);
        let attrs = self.te.dict(&mut self.func, attrs);
        self.func.header.params.push(ParamDecl { attrs, choices: None, default: None });
        let value = self.func.push_arg(body, ty, Some(&tensor.name));
        let buffers = &mut self.buffers[stage.idx()];
        buffers.resize(data.tensors.len(), value);
        buffers[result as usize] = value;
        Ok(())
    }

    fn buffer_type(&mut self, elem: Type, shape: &[Size], scope: Name) -> Result<Type, Diagnostic> {
        let elem = self.te.ty(&mut self.func, elem);
        let shape = shape.iter().map(|&extent| self.extent(extent)).collect::<Result<Vec<Attr>, Diagnostic>>()?;
        Ok(self.func.ty(TypeData::Shaped { elem, shape: shape.into(), scope: Some(scope) }))
    }

    // Stages.

    fn program(&mut self) -> Result<(), Diagnostic> {
        self.outer_values();
        let mut roots = Vec::new();
        for &stage in &self.graph().order {
            if self.statements.stages[stage.idx()].is_none() {
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
            self.alloc(stage)?;
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
        let blocks = self.bounds.bodies.iter().flat_map(Body::blocks);
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

    /// The sizes among the operands of `op`: numbers now, or what follows from those that stay open.
    fn symbols(&mut self, op: Op) {
        let te = self.operator.te;
        for &operand in te.operands(op) {
            if !self.te.values.contains_key(&operand)
                && let Some(size) = self.operator.size(operand)
            {
                let value = self.size(size);
                self.te.values.insert(operand, value);
            }
        }
    }

    /// For how many iterations of the loop around it the buffer of `stage` is kept, where that is more than one and there
    /// is such a loop.
    fn kept_for(&self, stage: StageId) -> Option<i64> {
        let Attach::At(axis) = self.graph()[stage].attach else { return None };
        let stages = self.graph().n_buffers(stage);
        (stages > 1 && self.bounds.extents[self.graph().leaf_of(axis).idx()].is_several()).then_some(stages)
    }

    /// Makes the buffers of `stage` that are not the program's arguments.
    fn alloc(&mut self, stage: StageId) -> Result<(), Diagnostic> {
        let data = &self.graph()[stage];
        let Some(bounds) = self.bounds.stage(stage) else { return Ok(()) };
        let source = self.source(data.loc);
        let asked_by = data.parts.iter().find_map(|part| part.directive());
        let directive = self.directive(asked_by.or(data.placed_by()).unwrap_or(Loc::NONE));
        self.locs = Locs { source, directive };
        let scope = self.func.name(bounds.scope.name());
        // Where a stride would depend on a size, bound inference has refused to pad it.
        let numbers = bounds.shape.iter().map(|extent| extent.int()).collect::<Option<Vec<i64>>>();
        let strides = numbers.and_then(|shape| strides(self.graph(), stage, &shape));
        for (nth, tensor) in data.tensors.iter().enumerate() {
            let result = TensorRef { stage, result: nth as u32 };
            if self.graph().outputs.contains(&result) {
                continue;
            }
            let ty = self.buffer_type(tensor.elem, &bounds.shape, scope)?;
            let mut attrs = Vec::new();
            if let Some(stages) = self.kept_for(stage) {
                attrs.push((keys::STAGES, self.func.int_attr(stages)));
            }
            attrs.extend(data.parts.iter().flat_map(|part| part.attrs(&mut self.func, strides.as_deref())));
            let mut builder = self.builder();
            let op = tir::Alloc::build(&mut builder, &attrs, &[ty]);
            let value = builder.func.result(op).expect("an alloc has one result");
            builder.name(value, &tensor.name);
            let buffers = &mut self.buffers[stage.idx()];
            buffers.resize(buffers.len().max(nth + 1), value);
            buffers[nth] = value;
        }
        Ok(())
    }
}
