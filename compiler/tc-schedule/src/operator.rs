//! The operator that is scheduled: its sizes as numbers, and what is worth knowing of its text.
//!
//! Symbolic sizes are fixed here, at their defaults or at what the caller defines: the program is made for these
//! sizes alone.

use crate::graph::{Graph, Read, Source, StageId, Tensor, TensorRef};
use crate::value::{eval_attr, eval_op};
use rustc_hash::FxHashMap;
use tc_dialects::te;
use tc_ir::opdef::Role;
use tc_ir::walk::{all_ops, ops_under};
use tc_ir::{Func, Loc, Name, Op, Type, Value};
use tc_support::{Diagnostic, Diagnostics, suggest};

/// What a name is defined to be: a size of the operator, or a parameter of the schedule.
pub type Define = (String, i64);

/// An operator with its sizes fixed.
pub(crate) struct Operator<'a> {
    pub(crate) te: &'a Func,
    /// The integers that follow from the sizes alone.
    ints: FxHashMap<Value, i64>,
    /// Whether evaluating a value reads a tensor, by the value's number.
    reads: Vec<bool>,
}

impl<'a> Operator<'a> {
    pub(crate) fn new(te: &'a Func, defines: &[Define]) -> Result<Operator<'a>, Diagnostics> {
        if te.header.opcode != te::FuncItem::OPCODE {
            let text = format!("`@{}` is a `{}`, not an operator", te.symbol(), te.item_row().name);
            return Err(Diagnostic::error("not-an-operator", te.location(te.header.loc), text).into());
        }
        let mut operator = Operator { te, ints: FxHashMap::default(), reads: vec![false; te.n_value_ids()] };
        operator.fix_symbols(defines)?;
        operator.walk();
        Ok(operator)
    }

    fn fix_symbols(&mut self, defines: &[Define]) -> Result<(), Diagnostics> {
        let te = self.te;
        let mut known: Vec<(Name, i64)> = Vec::new();
        let location = te.location(te.header.loc);
        for (nth, symbol) in te.header.symbols.iter().enumerate() {
            let text = te.text(symbol.name);
            let names = |name: Name| known.iter().find(|(of, _)| *of == name).map(|&(_, value)| value);
            let given = defines.iter().find(|(name, _)| name == text).map(|&(_, value)| value);
            let value = given.or_else(|| eval_attr(te, symbol.default?, &names));
            let Some(value) = value else {
                let message = format!(
                    "the size `{text}` of `@{}` has no value, and programs are made for fixed sizes",
                    te.symbol()
                );
                let help = format!("give it a default, `<{text} = 1024>`, or define it, `-D {text}=1024`");
                return Err(Diagnostic::error("size-unknown", location, message).help(help).into());
            };
            if let Some((low, high)) = symbol.range
                && let (Some(low), Some(high)) = (eval_attr(te, low, &names), eval_attr(te, high, &names))
                && !(low..=high).contains(&value)
            {
                let message = format!("`{text}` is {value}, outside its range {low}..{high}");
                return Err(Diagnostic::error("size-range", location, message).into());
            }
            known.push((symbol.name, value));
            self.ints.insert(te.region_args(te.body())[nth], value);
        }
        let names = |name: Name| known.iter().find(|(of, _)| *of == name).map(|&(_, value)| value);
        for &fact in &te.header.facts {
            if eval_attr(te, fact, &names) == Some(0) {
                let sizes: Vec<String> =
                    known.iter().map(|&(name, value)| format!("{} = {value}", te.text(name))).collect();
                let message = format!("`{}` does not hold with {}", te.show_attr(fact), sizes.join(", "));
                return Err(Diagnostic::error("size-fact", location, message).into());
            }
        }
        Ok(())
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
                }
            }
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

    /// Does evaluating `value` read a tensor?
    pub(crate) fn reads(&self, value: Value) -> bool {
        self.reads[value.as_u32() as usize]
    }

    /// The extents of a tensor's type.
    pub(crate) fn shape(&self, ty: Type) -> Option<Vec<i64>> {
        let te = self.te;
        let (_, shape, _) = te.as_shaped(ty)?;
        let names = |name: Name| {
            let nth = te.header.symbols.iter().position(|symbol| symbol.name == name)?;
            self.int(te.region_args(te.body())[nth])
        };
        shape.iter().map(|&dim| eval_attr(te, dim, &names)).collect()
    }

    /// Low end and extent of the axes whose bounds are `bounds`.
    fn domains(&self, bounds: &[Value], loc: Loc) -> Result<Vec<(i64, i64)>, Diagnostic> {
        let mut domains = Vec::with_capacity(bounds.len() / 2);
        for pair in bounds.chunks_exact(2) {
            let ends = self.int(pair[0]).zip(self.int(pair[1]));
            match ends.and_then(|(lo, hi)| Some((lo, hi.checked_sub(lo)?))) {
                Some((lo, extent)) if extent >= 0 => domains.push((lo, extent)),
                Some((lo, extent)) => {
                    let text = format!("the axis {lo}..{} runs backwards", lo + extent);
                    return Err(Diagnostic::error("extent", self.te.location(loc), text));
                }
                None => {
                    let text = "the bounds of an axis must be numbers once the sizes are; this one depends on data";
                    return Err(Diagnostic::error("extent", self.te.location(loc), text));
                }
            }
        }
        Ok(domains)
    }

    /// The graph of the operator before any directive: every stage at the root.
    pub(crate) fn graph(&self) -> Result<Graph, Diagnostics> {
        let te = self.te;
        let mut graph = Graph::default();
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
        let Some(reduce) = te::Compute::of(te, op).and_then(|compute| te::top_reduce(te, compute)) else { return false };
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
        let mut pending = vec![(start, 0)];
        if std::mem::replace(&mut seen[start.idx()], true) {
            continue;
        }
        while let Some((stage, at)) = pending.pop() {
            match graph[stage].reads.get(at) {
                Some(read) => {
                    pending.push((stage, at + 1));
                    if !std::mem::replace(&mut seen[read.from.stage.idx()], true) {
                        pending.push((read.from.stage, 0));
                    }
                }
                None => order.push(stage),
            }
        }
    }
    graph.order = order;
}

impl Operator<'_> {
    /// The finding that the extents of `stage` do not fit.
    pub(crate) fn overflow(&self, stage: &crate::graph::Stage, what: &str) -> Diagnostic {
        let text = format!("{what} of `{}` overflow: there are more than 2^63 iterations or bytes", stage.name);
        Diagnostic::error("extent-overflow", self.te.location(stage.loc), text)
    }
}
