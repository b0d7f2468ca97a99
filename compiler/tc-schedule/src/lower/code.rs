//! The code of a statement: instructions, and expressions of the index algebra.

use super::Emitter;
use crate::body::{Arg, Block, Extra, Inst, InstKind, Vars};
use crate::graph::{AxisId, Kind, TensorRef};
use crate::size::Size;
use rustc_hash::FxHashMap;
use tc_arith::{Expr, Node, Var};
use tc_dialects::algebra::{build_op, elem_of};
use tc_dialects::{arith, tir};
use tc_ir::builder::OpSpec;
use tc_ir::func::Locs;
use tc_ir::{Attrs, Elem, Loc, Op, Type, Value, keys};
use tc_support::Diagnostic;

impl<'a> Emitter<'a> {
    /// Writes `block`, and gives what it gives.
    pub(super) fn block(&mut self, block: &Block) -> Result<Vec<Value>, Diagnostic> {
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

    pub(super) fn arg(&mut self, arg: Arg, results: &[Option<Value>]) -> Result<Value, Diagnostic> {
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
    pub(super) fn opaque(&mut self, e: Expr, results: &[Option<Value>]) {
        for var in self.bounds.analyzer.pool.vars(e) {
            if let Some((_, _, Extra::Opaque(number))) = self.bounds.vars.extra(var)
                && let Some(value) = results[*number as usize]
            {
                self.values.insert(var, value);
            }
        }
    }

    pub(super) fn inst(
        &mut self,
        block: &Block,
        inst: &Inst,
        results: &mut [Option<Value>],
        conditionals: &mut Vec<Op>,
    ) -> Result<(), Diagnostic> {
        let mut args = Vec::with_capacity(4);
        if let InstKind::Load(tensor) = inst.kind {
            args.push(self.buffers[tensor.stage.idx()][tensor.result as usize]);
        }
        for &arg in block.args(inst) {
            args.push(self.arg(arg, results)?);
        }
        let op = match inst.kind {
            InstKind::Load(tensor) => {
                let indices = self.laid_out(tensor.stage, args.split_off(1));
                args.extend(indices);
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
                self.close_arm(&args);
                let op = *conditionals.last().expect("an arm ends inside a conditional");
                if inst.kind == InstKind::Else {
                    let region = self.func.op_regions(op)[1];
                    self.open_region(region);
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
    pub(super) fn plain(&mut self, inst: &Inst, args: &[Value]) -> Op {
        let te = self.operator.te;
        let op = inst.op.expect("only a load has no op behind it");
        let attrs = self.te.dict(&mut self.func, te.op_attrs(op));
        let types: Vec<Type> = te.results(op).map(|value| self.te.ty(&mut self.func, te.value_type(value))).collect();
        let spec = OpSpec {
            opcode: te.opcode(op),
            operands: args,
            keyed: te.keyed_mask(op),
            attrs,
            results: &types,
            n_regions: 0,
        };
        let copy = self.builder().op(spec);
        for (old, new) in te.results(op).zip(self.func.results(copy)) {
            let name = te.value_name(old).map(|name| self.te.name(&mut self.func, name));
            self.func.set_value_name(new, name);
        }
        copy
    }

    /// Opens the first arm of the conditional behind `inst`.
    pub(super) fn conditional(&mut self, inst: &Inst, condition: Value) -> Op {
        let te = self.operator.te;
        let op = inst.op.expect("a conditional has an op behind it");
        let types: Vec<Type> = te.results(op).map(|value| self.te.ty(&mut self.func, te.value_type(value))).collect();
        let copy = self.open_choice(condition, &types);
        for (old, new) in te.results(op).zip(self.func.results(copy)) {
            let name = te.value_name(old).map(|name| self.te.name(&mut self.func, name));
            self.func.set_value_name(new, name);
        }
        copy
    }

    /// Opens the first arm of a conditional with results of `types`.
    pub(super) fn open_choice(&mut self, condition: Value, types: &[Type]) -> Op {
        let spec = OpSpec {
            opcode: tir::If::OPCODE,
            operands: &[condition],
            keyed: 0,
            attrs: Attrs::EMPTY,
            results: types,
            n_regions: 2,
        };
        let op = self.builder().op(spec);
        let region = self.func.op_regions(op)[0];
        self.open_region(region);
        op
    }

    /// Ends the arm at hand, which gives `values`.
    pub(super) fn close_arm(&mut self, values: &[Value]) {
        tir::Yield::build(&mut self.builder(), values, &[], &[]);
        self.open.pop();
    }

    /// Writes `size`, and gives its value.
    pub(super) fn size(&mut self, size: Size) -> Value {
        match size {
            Size::Int(int) => self.builder().index(int),
            Size::Expr(expr) => self.expr(expr),
        }
    }

    /// Writes `e`, and gives its value.
    pub(super) fn expr(&mut self, e: Expr) -> Value {
        let pool = &self.bounds.analyzer.pool;
        // A counter or a number costs no stack.
        match pool.node(e) {
            Node::Const(int) => return self.builder().index(int),
            Node::Var(var) if !self.locals.contains_key(&e) => return self.var(var),
            _ => {}
        }
        enum Pending {
            Visit(Expr),
            Make(Expr),
        }
        let mut steps = vec![Pending::Visit(e)];
        let mut made: Vec<Value> = Vec::new();
        // An expression that is too deep to be read may share parts without end: each is written once.
        let shares = pool.depth(e) > 40;
        let mut known: FxHashMap<Expr, Value> = FxHashMap::default();
        while let Some(step) = steps.pop() {
            match step {
                Pending::Visit(e) => {
                    if let Some(&value) = self.locals.get(&e).or_else(|| known.get(&e)) {
                        made.push(value);
                        continue;
                    }
                    match self.bounds.analyzer.pool.node(e) {
                        Node::Const(int) => made.push(self.builder().index(int)),
                        Node::Bool(truth) => made.push(self.builder().bool(truth)),
                        Node::Var(var) => made.push(self.var(var)),
                        Node::Not(a) | Node::Likely(a) | Node::Cast(_, a) => {
                            steps.extend([Pending::Make(e), Pending::Visit(a)])
                        }
                        Node::Binary(_, a, b) => steps.extend([Pending::Make(e), Pending::Visit(b), Pending::Visit(a)]),
                        Node::Select(c, a, b) => {
                            steps.extend([Pending::Make(e), Pending::Visit(b), Pending::Visit(a), Pending::Visit(c)])
                        }
                    }
                }
                Pending::Make(e) => {
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
    pub(super) fn make(&mut self, e: Expr, made: &mut Vec<Value>) -> Value {
        let node = self.bounds.analyzer.pool.node(e);
        let n_args = match node {
            Node::Not(_) | Node::Likely(_) | Node::Cast(..) => 1,
            Node::Select(..) => 3,
            _ => 2,
        };
        let args = made.split_off(made.len().saturating_sub(n_args));
        let opcode = match node {
            Node::Not(_) => arith::NOT,
            Node::Likely(_) => arith::LIKELY,
            Node::Select(..) => arith::SELECT,
            Node::Binary(op, ..) => return build_op(&mut self.builder(), op, &args),
            // Everything else here is of `index`.
            Node::Cast(ty, _) => {
                let narrow = self.cast(args[0], elem_of(ty));
                return self.cast(narrow, Elem::Index);
            }
            Node::Const(_) | Node::Bool(_) | Node::Var(_) => unreachable!("leaves are made where they are visited"),
        };
        self.builder().value(opcode, &args, &[])
    }

    fn cast(&mut self, value: Value, elem: Elem) -> Value {
        let mut b = self.builder();
        let ty = b.func.elem_ty(elem);
        let op = arith::Cast::build(&mut b, value, &[], &[ty]);
        b.func.result(op).expect("a cast has one result")
    }

    pub(crate) fn compare(&mut self, predicate: &str, args: &[Value]) -> Value {
        let word = self.func.word_attr(predicate);
        self.builder().value(arith::CMP, args, &[(keys::PREDICATE, word)])
    }

    /// The value of a variable: a counter, the value of an axis, which gets its name where its loops are open, or what is fetched.
    pub(super) fn var(&mut self, var: Var) -> Value {
        if let Some(&value) = self.values.get(&var) {
            return value;
        }
        if let Some(&(axis, value)) = self.statements.named.get(&var) {
            let home = self.home_of(value).unwrap_or(0);
            let named = self.hoist(var, home, |emitter| emitter.expr(value));
            let name: &'a str = &self.graph()[axis].name;
            self.builder().name(named, name);
            return named;
        }
        let bounds = self.bounds;
        if let Some((_, _, Extra::Fetched(from, indices))) = bounds.vars.extra(var) {
            let home = self.home(var).unwrap_or(0);
            return self.hoist(var, home, |emitter| emitter.element(*from, indices));
        }
        // Another loop is bound to the same coordinate; or it is the counter of a loop that runs once at most.
        let counter = self.home(var).and_then(|home| self.open[home].counter);
        match counter.and_then(|counter| self.values.get(&counter)) {
            Some(&value) => value,
            None => self.builder().index(0),
        }
    }

    /// The element of an argument, an integer, as an `index`.
    fn element(&mut self, from: TensorRef, indices: &[Expr]) -> Value {
        let indices = indices.iter().enumerate();
        let indices: Vec<Value> = indices.map(|(nth, &index)| self.place_of_element(from, index, nth)).collect();
        let mut args = vec![self.buffers[from.stage.idx()][from.result as usize]];
        args.extend(self.laid_out(from.stage, indices));
        let element = self.builder().value(tir::Load::OPCODE, &args, &[]);
        let element = self.cast(element, Elem::Index);
        let name = format!("{}_at", self.graph()[from.stage].tensors[from.result as usize].name);
        self.builder().name(element, &name);
        element
    }

    /// The index `index` of an element in dimension `nth`. It is read before the conditions of loops that have fewer threads than the
    /// launch: those beyond read what is there.
    fn place_of_element(&mut self, from: TensorRef, index: Expr, nth: usize) -> Value {
        let value = self.expr(index);
        let (bounds, graph) = (self.bounds, &self.bounds.graph);
        let is_beyond = |&leaf: &AxisId| match graph[leaf].kind {
            Kind::Launch(coordinate) => {
                let launch = bounds.launch_extent(graph.nest_of(graph[leaf].stage), coordinate);
                bounds.extents[leaf.idx()].may_be_below(launch)
            }
            _ => false,
        };
        let extent = graph[from.stage].data.get(nth).and_then(|&axis| graph[axis].domain).map(|(_, extent)| extent);
        let Some(extent) = extent.filter(|_| bounds.vars.counters(&bounds.analyzer.pool, index).iter().any(is_beyond))
        else {
            return value;
        };
        let (extent, zero, one) = (self.size(extent), self.builder().index(0), self.builder().index(1));
        let last = self.builder().value(arith::SUB, &[extent, one], &[]);
        let low = self.builder().value(arith::MAX, &[value, zero], &[]);
        self.builder().value(arith::MIN, &[low, last], &[])
    }

    /// Makes the value of `var` in the open region `home`, until that is closed.
    fn hoist(&mut self, var: Var, home: usize, make: impl FnOnce(&mut Self) -> Value) -> Value {
        let rest = self.open.split_off(home + 1);
        // Names stand at the start of their loop, in the order in which they were asked for.
        let (region, after) = (self.open[home].region, self.open[home].last_let);
        let tail: Vec<Op> = match after {
            Some(op) => std::iter::successors(self.func.next_op(op), |&op| self.func.next_op(op)).collect(),
            None => self.func.ops(region).collect(),
        };
        let locals = std::mem::take(&mut self.locals);
        let named = make(self);
        self.locals = locals;
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

    /// The innermost of the open regions that what `e` depends on belongs to.
    fn home_of(&self, e: Expr) -> Option<usize> {
        self.bounds.analyzer.pool.vars(e).iter().filter_map(|&var| self.home(var)).max()
    }

    /// The open region that the counter `var` belongs to: that of its loop, or of one bound to the same coordinate. What is fetched
    /// belongs inside of a kernel.
    fn home(&self, var: Var) -> Option<usize> {
        if let Some((_, _, Extra::Fetched(_, indices))) = self.bounds.vars.extra(var) {
            let is_launch = |counter: Var| {
                Vars::as_counter(counter).is_some_and(|leaf| matches!(self.graph()[leaf].kind, Kind::Launch(_)))
            };
            // Of blocks and threads that are bound one inside of the other the innermost: all of them begin with it.
            let launches = self.open.iter().map(|open| open.counter.is_some_and(is_launch));
            let kernel =
                launches.enumerate().skip_while(|&(_, is)| !is).take_while(|&(_, is)| is).last().map(|(at, _)| at);
            return indices.iter().filter_map(|&index| self.home_of(index)).chain(kernel).max();
        }
        if let Some(at) = self.open.iter().rposition(|open| open.counter == Some(var)) {
            return Some(at);
        }
        let graph = &self.bounds.graph;
        let kind = graph.axes.get(Vars::as_counter(var)?.idx())?.kind;
        let same = |counter: Var| Vars::as_counter(counter).is_some_and(|leaf| graph[leaf].kind == kind);
        matches!(kind, Kind::Launch(_)).then(|| self.open.iter().rposition(|open| open.counter.is_some_and(same)))?
    }
}
