//! The operator that is scheduled: its sizes, and what is worth knowing of its text.
//!
//! Symbolic sizes are fixed here, at what the caller defines or at their defaults: the program is made for these sizes
//! alone. A size that has neither stays open, and so does one with a default where the caller asks for it: the program
//! is made for all its values.

use crate::body::Vars;
use crate::graph::{Graph, Read, Source, StageId, Tensor, TensorRef};
use crate::size::{Size, Symbol, Symbols, binary_of};
use crate::value::{eval_attr, eval_op};
use rustc_hash::FxHashMap;
use tc_arith::Expr;
use tc_dialects::te;
use tc_ir::opdef::Role;
use tc_ir::walk::{all_ops, ops_under};
use tc_ir::{Attr, Func, Loc, Name, Op, Type, Value};
use tc_support::{Diagnostic, Diagnostics, suggest};

/// What a name is defined to be: a size of the operator, or a parameter of the schedule.
pub type Define = (String, i64);

/// An operator whose sizes are fixed or known to stay open.
pub(crate) struct Operator<'a> {
    pub(crate) te: &'a Func,
    /// The integers that follow from the fixed sizes alone.
    ints: FxHashMap<Value, i64>,
    /// The sizes that stay open.
    pub(crate) symbols: Symbols,
    /// What follows from sizes of which some stay open.
    exprs: FxHashMap<Value, Expr>,
    /// The extents of arguments that depend on sizes that stay open.
    shapes: FxHashMap<Type, Vec<Size>>,
    /// How long an axis from the number to the size is, where it is known not to run backwards.
    lengths: FxHashMap<(i64, Expr), Size>,
    /// Whether evaluating a value reads a tensor, by the value's number.
    reads: Vec<bool>,
}

impl<'a> Operator<'a> {
    pub(crate) fn new(te: &'a Func, defines: &[Define], symbolic: bool) -> Result<Operator<'a>, Diagnostics> {
        if te.header.opcode != te::FuncItem::OPCODE {
            let text = format!("`@{}` is a `{}`, not an operator", te.symbol(), te.item_row().name);
            return Err(Diagnostic::error("not-an-operator", te.location(te.header.loc), text).into());
        }
        let mut operator = Operator {
            te,
            ints: FxHashMap::default(),
            symbols: Symbols::default(),
            exprs: FxHashMap::default(),
            shapes: FxHashMap::default(),
            lengths: FxHashMap::default(),
            reads: vec![false; te.n_value_ids()],
        };
        operator.fix_symbols(defines, symbolic)?;
        operator.walk();
        operator.open_shapes();
        operator.settle();
        Ok(operator)
    }

    fn fix_symbols(&mut self, defines: &[Define], symbolic: bool) -> Result<(), Diagnostics> {
        let te = self.te;
        let mut known: Vec<(Name, Size)> = Vec::new();
        let location = te.location(te.header.loc);
        for (nth, symbol) in te.header.symbols.iter().enumerate() {
            let text = te.text(symbol.name);
            let sizes = |name: Name| known.iter().find(|(of, _)| *of == name).map(|&(_, size)| size);
            let names = |name: Name| sizes(name)?.int();
            let given = defines.iter().find(|(name, _)| name == text).map(|&(_, value)| value);
            let default = || symbol.default.filter(|_| !symbolic);
            let Some(value) = given.or_else(|| eval_attr(te, default()?, &names)) else {
                let size = self.leave_open(nth, &sizes);
                known.push((symbol.name, size));
                continue;
            };
            if let Some((low, high)) = symbol.range
                && let (Some(low), Some(high)) = (eval_attr(te, low, &names), eval_attr(te, high, &names))
                && !(low..high).contains(&value)
            {
                let message = format!("`{text}` is {value}, outside its range {low}..{high}");
                return Err(Diagnostic::error("size-range", location, message).into());
            }
            known.push((symbol.name, Size::Int(value)));
            self.ints.insert(te.region_args(te.body())[nth], value);
        }
        let sizes = |name: Name| known.iter().find(|(of, _)| *of == name).map(|&(_, size)| size);
        let names = |name: Name| sizes(name)?.int();
        for &fact in &te.header.facts {
            match eval_attr(te, fact, &names) {
                Some(0) => {
                    let fixed = known.iter().filter_map(|&(name, size)| Some((name, size.int()?)));
                    let fixed: Vec<String> =
                        fixed.map(|(name, value)| format!("{} = {value}", te.text(name))).collect();
                    let message = format!("`{}` does not hold with {}", te.show_attr(fact), fixed.join(", "));
                    return Err(Diagnostic::error("size-fact", location, message).into());
                }
                Some(_) => {}
                None if self.symbols.list.is_empty() => {
                    let message = format!("`{}` has no value", te.show_attr(fact));
                    let help = "let a fact divide by nothing that may be 0: `b != 0 && n % b == 0`";
                    return Err(Diagnostic::error("size-fact", location, message).help(help).into());
                }
                None => {
                    let condition = self.symbols.attr(te, fact, &sizes);
                    self.symbols.facts.push((fact, condition));
                }
            }
        }
        Ok(())
    }

    /// Makes the size `nth` of the header a variable.
    fn leave_open(&mut self, nth: usize, sizes: &dyn Fn(Name) -> Option<Size>) -> Size {
        let te = self.te;
        let decl = &te.header.symbols[nth];
        let symbols = &mut self.symbols;
        let var = Vars::size(symbols.list.len());
        let expr = symbols.pool.named_var(var, te.text(decl.name));
        let mut of = |attr: Attr| symbols.attr(te, attr, sizes);
        let (low, high) = decl.range.map_or((None, None), |(low, high)| (of(low), of(high)));
        let default = decl.default.and_then(of);
        symbols.list.push(Symbol { nth, var, low, high, default });
        self.exprs.insert(te.region_args(te.body())[nth], expr);
        Size::Expr(expr)
    }

    /// Finds the extents of the arguments that depend on sizes that stay open.
    fn open_shapes(&mut self) {
        let te = self.te;
        if self.symbols.list.is_empty() {
            return;
        }
        for &param in te.params() {
            let ty = te.value_type(param);
            let Some((_, shape, _)) = te.as_shaped(ty) else { continue };
            let names = |name: Name| {
                let nth = te.header.symbols.iter().position(|symbol| symbol.name == name)?;
                let value = te.region_args(te.body())[nth];
                self.ints
                    .get(&value)
                    .map(|&int| Size::Int(int))
                    .or_else(|| self.exprs.get(&value).map(|&e| Size::Expr(e)))
            };
            let symbols = &mut self.symbols;
            let extents = shape.iter().map(|&dim| {
                let extent = symbols.attr(te, dim, &names)?;
                Some(Size::of(&symbols.pool, extent))
            });
            if let Some(extents) = extents.collect() {
                self.shapes.insert(ty, extents);
            }
        }
    }

    /// Simplifies what follows from sizes that stay open.
    fn settle(&mut self) {
        if self.symbols.list.is_empty() {
            return;
        }
        let mut az = self.symbols.analyzer(&self.symbols.pool);
        self.exprs.values_mut().for_each(|expr| *expr = az.simplify(*expr));
        for extent in self.shapes.values_mut().flatten() {
            if let Size::Expr(expr) = *extent {
                *extent = Size::simplified(&mut az, expr);
            }
        }
        for op in all_ops(self.te).filter(|&op| matches!(self.te.opcode(op), te::COMPUTE | te::REDUCE)) {
            for pair in self.te.operands(op).windows(2) {
                let (Some(&lo), Some(&hi)) = (self.ints.get(&pair[0]), self.exprs.get(&pair[1])) else { continue };
                let start = az.pool.int(lo);
                let (length, runs) = (az.pool.sub(hi, start), az.pool.le(start, hi));
                if az.can_prove(runs) {
                    self.lengths.insert((lo, hi), Size::simplified(&mut az, length));
                }
            }
        }
        self.symbols.pool = az.pool;
    }

    /// Evaluates what can be, and finds what reads.
    fn walk(&mut self) {
        let te = self.te;
        let mut args = Vec::new();
        for op in all_ops(te) {
            if te.opcode(op) == te::READ || te.operands(op).iter().any(|&operand| self.reads(operand)) {
                self.mark_reading(op);
            }
            if te.op_regions(op).is_empty() {
                args.clear();
                args.extend(te.operands(op).iter().map_while(|operand| self.ints.get(operand).copied()));
                if args.len() == te.operands(op).len()
                    && let Some(result) = te.result(op)
                    && let Some(value) = eval_op(te, op, &args)
                {
                    self.ints.insert(result, value);
                } else if !self.exprs.is_empty() {
                    self.follow(op);
                }
            }
        }
    }

    /// Notes what `op` computes of sizes of which some stay open.
    fn follow(&mut self, op: Op) {
        let te = self.te;
        let (Some(result), &[lhs, rhs]) = (te.result(op), te.operands(op)) else { return };
        let Some(binary) = binary_of(te, op).filter(|_| te.value_type(result) == te.index_ty()) else { return };
        let (Some(lhs), Some(rhs)) = (self.size(lhs), self.size(rhs)) else { return };
        let pool = &mut self.symbols.pool;
        let (lhs, rhs) = (lhs.expr(pool), rhs.expr(pool));
        if let Some(expr) = self.symbols.binary(binary, lhs, rhs) {
            self.exprs.insert(result, expr);
        }
    }

    /// Evaluating `op`, and what it stands in, reads a tensor.
    fn mark_reading(&mut self, op: Op) {
        let mut at = Some(op);
        while let Some(op) = at {
            let results = self.te.results(op);
            if results.len() > 0 && results.clone().all(|result| self.reads(result)) {
                break;
            }
            for result in results {
                self.reads[result.as_u32() as usize] = true;
            }
            at = self.te.parent_op(op);
        }
    }

    /// The integer that `value` is, if it follows from the sizes alone.
    pub(crate) fn int(&self, value: Value) -> Option<i64> {
        self.ints.get(&value).copied()
    }

    /// The size that `value` is, if it follows from the sizes alone.
    pub(crate) fn size(&self, value: Value) -> Option<Size> {
        let open = || self.exprs.get(&value).map(|&expr| Size::of(&self.symbols.pool, expr));
        self.int(value).map(Size::Int).or_else(open)
    }

    /// Does evaluating `value` read a tensor?
    pub(crate) fn reads(&self, value: Value) -> bool {
        self.reads[value.as_u32() as usize]
    }

    /// The extents of a tensor's type.
    pub(crate) fn shape(&self, ty: Type) -> Option<Vec<Size>> {
        let te = self.te;
        if let Some(shape) = self.shapes.get(&ty) {
            return Some(shape.clone());
        }
        let (_, shape, _) = te.as_shaped(ty)?;
        let names = |name: Name| {
            let nth = te.header.symbols.iter().position(|symbol| symbol.name == name)?;
            self.int(te.region_args(te.body())[nth])
        };
        shape.iter().map(|&dim| eval_attr(te, dim, &names).map(Size::Int)).collect()
    }

    /// Low end and extent of the axes whose bounds are `bounds`.
    fn domains(&self, bounds: &[Value], loc: Loc) -> Result<Vec<(i64, Size)>, Diagnostic> {
        let mut domains = Vec::with_capacity(bounds.len() / 2);
        let at = self.te.location(loc);
        let error = |text: String| Diagnostic::error("extent", at.clone(), text);
        for pair in bounds.chunks_exact(2) {
            match (self.size(pair[0]), self.size(pair[1])) {
                (Some(Size::Int(lo)), Some(Size::Int(hi))) => match hi.checked_sub(lo) {
                    Some(extent) if extent >= 0 => domains.push((lo, Size::Int(extent))),
                    _ => return Err(error(format!("the axis {lo}..{hi} runs backwards"))),
                },
                // Where an axis starts at 0 its extent is its end, as it stands.
                (Some(Size::Int(0)), Some(end)) => domains.push((0, end)),
                (Some(Size::Int(lo)), Some(Size::Expr(hi))) => match self.lengths.get(&(lo, hi)) {
                    Some(&length) => domains.push((lo, length)),
                    None => {
                        let end = self.symbols.pool.display(hi);
                        let help = "say that it does not, by the range of a size, `<n: 4..1024>`, or by a fact, `where n >= 4`";
                        return Err(error(format!("the axis {lo}..{end} may run backwards")).help(help));
                    }
                },
                (Some(lo), Some(hi)) => {
                    let pool = &self.symbols.pool;
                    let text = format!("the axis {}..{} does not start at a number", lo.show(pool), hi.show(pool));
                    let help =
                        "let an axis whose size stays open start at a number, and add the start in what it computes";
                    return Err(error(text).help(help));
                }
                _ => {
                    let text = match self.symbols.list.is_empty() {
                        true => "the bounds of an axis must be numbers once the sizes are; this one depends on data",
                        false => {
                            "the bounds of an axis must follow from the sizes; this one depends on data, or divides by a size"
                        }
                    };
                    return Err(error(text.to_string()));
                }
            }
        }
        Ok(domains)
    }

    /// The graph of the operator before any directive: every stage at the root.
    pub(crate) fn graph(&self) -> Result<Graph, Diagnostics> {
        let te = self.te;
        let mut graph = Graph { pool: self.symbols.pool.clone(), ..Graph::default() };
        let mut tensors: FxHashMap<Value, TensorRef> = FxHashMap::default();
        for &param in te.params() {
            if let Some((elem, _, _)) = te.as_shaped(te.value_type(param)) {
                self.add_arg(&mut graph, &mut tensors, param, elem)?;
            }
        }
        for op in te.ops(te.body()) {
            if let Some(compute) = te::Compute::of(te, op) {
                self.add_compute(&mut graph, &mut tensors, compute)?;
            }
        }
        let Some(end) = te.terminator(te.body()) else {
            let text = format!("`@{}` returns nothing", te.symbol());
            return Err(Diagnostic::error("no-result", te.location(te.header.loc), text).into());
        };
        for &value in te.operands(end) {
            let Some(&tensor) = tensors.get(&value) else {
                let text =
                    format!("`{}` is no tensor that this operator computes", suggest::shorten(te.value_text(value)));
                return Err(Diagnostic::error("result", te.op_location(end), text).into());
            };
            if graph[tensor.stage].is_arg() || graph.outputs.contains(&tensor) {
                let why = if graph.outputs.contains(&tensor) {
                    "is returned twice"
                } else {
                    "is an argument, and is returned as it came"
                };
                let text = format!("`{}` {why}", te.value_text(value));
                let help = "compute the result as a tensor of its own";
                return Err(Diagnostic::error("result", te.op_location(end), text).help(help).into());
            }
            graph[tensor.stage].output = true;
            graph.outputs.push(tensor);
        }
        sort_depth_first(&mut graph);
        Ok(graph)
    }

    fn add_arg(
        &self,
        graph: &mut Graph,
        tensors: &mut FxHashMap<Value, TensorRef>,
        param: Value,
        elem: Type,
    ) -> Result<(), Diagnostic> {
        let te = self.te;
        let name = te.value_text(param);
        let Some(shape) = self.shape(te.value_type(param)) else {
            let text = format!("the extents of `{name}` must be numbers once the sizes are");
            return Err(Diagnostic::error("extent", te.location(te.header.loc), text));
        };
        let stage = graph.add_stage(name, Source::Arg(param), vec![Tensor { name: name.into(), elem }], te.header.loc);
        for (nth, extent) in shape.into_iter().enumerate() {
            let axis = graph.add_axis(stage, &format!("ax{nth}"), false, Some((0, extent)), Loc::NONE);
            graph[stage].data.push(axis);
        }
        tensors.insert(param, TensorRef { stage, result: 0 });
        Ok(())
    }

    fn add_compute(
        &self,
        graph: &mut Graph,
        tensors: &mut FxHashMap<Value, TensorRef>,
        compute: te::Compute,
    ) -> Result<(), Diagnostic> {
        let te = self.te;
        let loc = te.op_locs(compute.0).source;
        let results = te.results(compute.0).map(|value| {
            let elem = te.as_shaped(te.value_type(value)).map(|(elem, _, _)| elem);
            elem.map(|elem| Tensor { name: te.value_text(value).into(), elem })
        });
        let Some(results) = results.collect::<Option<Vec<Tensor>>>() else {
            return Err(Diagnostic::error("type", te.location(loc), "what `te.compute` gives is a tensor"));
        };
        let name = results.first().map_or("", |tensor| &*tensor.name).to_string();
        let stage = graph.add_stage(&name, Source::Compute(compute.0), results, loc);
        self.add_axes(graph, stage, compute)?;
        graph[stage].reads = self.reads_of(compute.0, tensors);
        for (result, value) in te.results(compute.0).enumerate() {
            tensors.insert(value, TensorRef { stage, result: result as u32 });
        }
        Ok(())
    }

    /// Gives `stage` the axes that `compute` declares, as its leaves.
    pub(crate) fn add_axes(&self, graph: &mut Graph, stage: StageId, compute: te::Compute) -> Result<(), Diagnostic> {
        let te = self.te;
        let loc = te.op_locs(compute.0).source;
        let body = te.op_regions(compute.0)[0];
        let mut declare = |args: &[Value], bounds: &[Value], reduce: bool| -> Result<(), Diagnostic> {
            for (&arg, domain) in args.iter().zip(self.domains(bounds, loc)?) {
                let axis = graph.add_axis(stage, te.value_text(arg), reduce, Some(domain), Loc::NONE);
                graph[stage].leaves.push(axis);
                if reduce { graph[stage].reduce.push(axis) } else { graph[stage].data.push(axis) }
            }
            Ok(())
        };
        declare(te.region_args(body), te.operands(compute.0), false)?;
        if let Some(reduce) = te::top_reduce(te, compute) {
            let args = te.region_args(te.op_regions(reduce.0)[0]);
            declare(args, &te.operands(reduce.0)[..2 * args.len()], true)?;
        }
        Ok(())
    }

    fn reads_of(&self, compute: Op, tensors: &FxHashMap<Value, TensorRef>) -> Vec<Read> {
        let te = self.te;
        let mut reads: Vec<Read> = Vec::new();
        for op in ops_under(te, te.op_regions(compute)[0]) {
            if te.opcode(op) == te::READ
                && let Some(&from) = tensors.get(&te.operand(op, 0))
                && !reads.iter().any(|read| read.of == Some(te.operand(op, 0)))
            {
                reads.push(Read { of: Some(te.operand(op, 0)), from });
            }
        }
        reads
    }

    /// The reduction at the top of what `stage` computes.
    pub(crate) fn reduction(&self, source: Source) -> Option<te::Reduce> {
        te::top_reduce(self.te, te::Compute::of(self.te, source.op()?)?)
    }

    /// Does the reduction of `op`, a `te.compute`, start from values that it reads from tensors?
    pub(crate) fn starts_from_values(&self, op: Op) -> bool {
        let te = self.te;
        let Some(reduce) = te::Compute::of(te, op).and_then(|compute| te::top_reduce(te, compute)) else {
            return false;
        };
        let n_axes = te.region_args(te.op_regions(reduce.0)[0]).len();
        te.operands(reduce.0).iter().skip(2 * n_axes).any(|&init| self.reads(init))
    }

    /// Is `op` a conditional with results, or a choice of two values of which one must not be evaluated?
    pub(crate) fn is_lazy(&self, op: Op) -> bool {
        let te = self.te;
        match te.role(op) {
            Role::If => true,
            _ => te.opcode(op) == tc_dialects::arith::SELECT && te.operands(op)[1..].iter().any(|&arm| self.reads(arm)),
        }
    }
}

/// Puts the stages in the order in which a walk from the results leaves them, each after what it reads, in the order in
/// which it reads that. Stages that nothing needs come last, in the order of the text.
fn sort_depth_first(graph: &mut Graph) {
    let mut seen = vec![false; graph.stages.len()];
    let mut order = Vec::with_capacity(graph.stages.len());
    let results = graph.outputs.iter().map(|output| output.stage);
    let starts: Vec<StageId> = results.chain((0..graph.stages.len() as u32).map(StageId)).collect();
    for start in starts {
        let mut worklist = vec![(start, 0)];
        if std::mem::replace(&mut seen[start.idx()], true) {
            continue;
        }
        while let Some((stage, at)) = worklist.pop() {
            match graph[stage].reads.get(at) {
                Some(read) => {
                    worklist.push((stage, at + 1));
                    if !std::mem::replace(&mut seen[read.from.stage.idx()], true) {
                        worklist.push((read.from.stage, 0));
                    }
                }
                None => order.push(stage),
            }
        }
    }
    graph.order = order;
}

impl Operator<'_> {
    /// The diagnostic that the extents of `stage` do not fit.
    pub(crate) fn overflow(&self, stage: &crate::graph::Stage, what: &str) -> Diagnostic {
        let text = format!("{what} of `{}` overflow: there are more than 2^63 iterations or bytes", stage.name);
        Diagnostic::error("extent-overflow", self.te.location(stage.loc), text)
    }
}
