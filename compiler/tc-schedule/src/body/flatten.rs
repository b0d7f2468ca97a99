//! From the text of a `te.compute` to a block.

use super::{Arg, Block, Body, Extra, InstKind, Vars};
use crate::graph::{Attach, AxisId, Graph, Source, StageId, TensorRef};
use crate::operator::Operator;
use crate::origin;
use crate::size::binary_of;
use rustc_hash::FxHashMap;
use tc_arith::{Expr, Node, Pool, Var};
use tc_dialects::te;
use tc_ir::attrs::UnOp;
use tc_ir::opdef::Role;
use tc_ir::{Func, Op, Region, Value, keys};
use tc_support::Diagnostic;

/// How many instructions a stage may come to; inlining can multiply without end.
const MAX_INSTS: usize = 1 << 18;

/// Flattens what `stage` computes.
pub(crate) fn flatten(
    operator: &Operator<'_>,
    graph: &Graph,
    stage: StageId,
    pool: &mut Pool,
    vars: &mut Vars,
) -> Result<Body, Diagnostic> {
    let data = &graph[stage];
    let mut flat = Flattener {
        operator,
        te: operator.te,
        graph,
        pool,
        vars,
        home: stage,
        out: Block::default(),
        frames: Vec::new(),
        log: Vec::new(),
        inlined: FxHashMap::default(),
    };
    match data.source {
        Source::Arg(_) => Ok(Body::default()),
        Source::Copy => flat.copy(stage),
        Source::Merge { op, at } => flat.merge(stage, op, at as usize),
        Source::Compute(op) | Source::Partial(op) => {
            let reduce = operator.reduction(data.source);
            let Some(reduce) = reduce else {
                let body = flat.te.op_regions(op)[0];
                let frame = flat.own_frame(stage, op, None);
                flat.frames.push(frame);
                let update = flat.block(flat.te.yielded(body))?;
                return Ok(Body { init: None, update, condition: None });
            };
            let te = flat.te;
            let inits = inits(te, reduce);
            // A part starts from the identity; the stage that merges the parts takes the initial value.
            let init = if inits.is_empty() || matches!(data.source, Source::Partial(_)) {
                None
            } else {
                let frame = flat.own_frame(stage, op, None);
                flat.frames.push(frame);
                let block = flat.block(inits)?;
                flat.reset();
                Some(block)
            };
            let mut values = te.yielded(te.op_regions(reduce.0)[0]);
            let mut condition = None;
            if te.attr_of(reduce.0, keys::HAS_WHERE).is_some()
                && let Some((last, rest)) = values.split_last()
            {
                values = rest;
                let frame = flat.own_frame(stage, op, Some(reduce));
                flat.frames.push(frame);
                condition = Some(flat.block(&[*last])?);
                flat.reset();
            }
            let frame = flat.own_frame(stage, op, Some(reduce));
            flat.frames.push(frame);
            let update = flat.block(values)?;
            Ok(Body { init, update, condition })
        }
    }
}

/// The values that `reduce` starts from, where the operator says so.
fn inits(te: &Func, reduce: te::Reduce) -> &[Value] {
    let n_axes = te.region_args(te.op_regions(reduce.0)[0]).len();
    te.operands(reduce.0).get(2 * n_axes..).unwrap_or(&[])
}

/// An instance of a stage's text: the stage itself, or one that is inlined.
struct Frame {
    stage: StageId,
    /// What the axes are, and what has been evaluated.
    known: FxHashMap<Value, Arg>,
}

enum Task {
    /// Evaluate the value in the frame at hand.
    Eval(Value),
    /// Make the op's instruction; its operands are evaluated.
    Build(Op),
    /// The conditional's condition is evaluated: open the first arm.
    Then(Op),
    /// The first arm's values are evaluated: open the second.
    Else(Op),
    /// The second arm's values are evaluated.
    End(Op),
    /// The read's indices are evaluated: go into the stage, which is inlined.
    Enter(Op, TensorRef),
    /// The inlined stage's value is evaluated: it is what the read gives.
    Leave(Op, Value),
}

struct Flattener<'a> {
    operator: &'a Operator<'a>,
    te: &'a Func,
    graph: &'a Graph,
    pool: &'a mut Pool,
    vars: &'a mut Vars,
    /// The stage whose body is made.
    home: StageId,
    out: Block,
    frames: Vec<Frame>,
    /// What was evaluated since an arm was entered is forgotten at its end: frame and value.
    log: Vec<Vec<(usize, Value)>>,
    /// The variable for an axis of an inlined stage and what it stands for.
    inlined: FxHashMap<(Value, Expr), Var>,
}

impl<'a> Flattener<'a> {
    /// A frame of the stage itself: its axes are variables.
    fn own_frame(&mut self, stage: StageId, op: Op, reduce: Option<te::Reduce>) -> Frame {
        let te = self.te;
        let mut known = FxHashMap::default();
        let args = te.region_args(te.op_regions(op)[0]);
        let reduce_args = reduce.map_or(&[][..], |reduce| te.region_args(te.op_regions(reduce.0)[0]));
        let data = &self.graph[stage];
        let values = origin::values(self.graph, stage, self.pool);
        let declared: Vec<AxisId> = match &data.origin {
            Some(origin) => origin.declared.clone(),
            None => data.roots().collect(),
        };
        for (&arg, axis) in args.iter().chain(reduce_args).zip(declared) {
            let value = match values.get(&axis) {
                Some(&relative) if !data.roots().any(|root| root == axis) => {
                    let lo = self.pool.int(self.graph[axis].domain.map_or(0, |(lo, _)| lo));
                    self.pool.add(relative, lo)
                }
                _ => self.pool.named_var(Vars::value(axis), &self.graph[axis].name),
            };
            known.insert(arg, Arg::Index(value));
        }
        Frame { stage, known }
    }

    fn reset(&mut self) {
        self.frames.clear();
        self.log.clear();
    }

    /// A body that reads each tensor at the stage's own coordinates.
    fn copy(&mut self, stage: StageId) -> Result<Body, Diagnostic> {
        let data = &self.graph[stage];
        let mut indices = Vec::with_capacity(data.data.len());
        for &axis in &data.data {
            let var = self.pool.named_var(Vars::value(axis), &self.graph[axis].name);
            let lo = self.graph[axis].domain.map_or(0, |(lo, _)| lo);
            let lo = self.pool.int(lo);
            indices.push(self.pool.sub(var, lo));
        }
        if let Some(through) = &data.through {
            indices = origin::indices_through(self.graph, stage, through, self.pool);
        }
        for read in &data.reads {
            let from = self.through_copies(read.from);
            let arg = if self.graph[from.stage].attach == Attach::Inline {
                let value = self.enter(from, &indices)?;
                self.run_all(vec![Task::Eval(value)])?;
                let arg = self.known(value);
                self.frames.pop();
                arg
            } else {
                let args: Vec<Arg> = indices.iter().copied().map(Arg::Index).collect();
                Arg::Value(self.out.push(InstKind::Load(from), None, &args, 1))
            };
            self.out.yields.push(arg);
        }
        Ok(Body { init: None, update: std::mem::take(&mut self.out), condition: None })
    }

    /// A body that reads the parts of a reduction, dimension `at` of which is the stage's reduction.
    fn merge(&mut self, stage: StageId, op: Op, at: usize) -> Result<Body, Diagnostic> {
        let data = &self.graph[stage];
        let inits = self.operator.reduction(data.source).map_or(&[][..], |reduce| inits(self.te, reduce));
        let init = if inits.is_empty() {
            None
        } else {
            let frame = self.own_frame(stage, op, None);
            self.frames.push(frame);
            let block = self.block(inits)?;
            self.reset();
            Some(block)
        };
        let mut axes = data.data.clone();
        axes.splice(at..at, data.reduce.iter().copied());
        let mut indices = Vec::with_capacity(axes.len());
        for axis in axes {
            let var = self.pool.named_var(Vars::value(axis), &self.graph[axis].name);
            let lo = self.pool.int(self.graph[axis].domain.map_or(0, |(lo, _)| lo));
            indices.push(Arg::Index(self.pool.sub(var, lo)));
        }
        for read in &data.reads {
            if read.of.is_none() {
                let from = self.through_copies(read.from);
                let value = Arg::Value(self.out.push(InstKind::Load(from), None, &indices, 1));
                self.out.yields.push(value);
            }
        }
        Ok(Body { init, update: std::mem::take(&mut self.out), condition: None })
    }

    fn run_all(&mut self, mut tasks: Vec<Task>) -> Result<(), Diagnostic> {
        while let Some(task) = tasks.pop() {
            if self.out.insts.len() > MAX_INSTS {
                let name = &self.graph[self.home].name;
                let text = format!("`{name}` comes to more than {MAX_INSTS} operations with all that is inlined");
                let help = "compute an inlined stage as a tensor of its own: leave out its `inline`";
                let location = self.te.location(self.graph[self.home].loc);
                return Err(Diagnostic::error("inline-size", location, text).help(help));
            }
            self.run(task, &mut tasks)?;
        }
        Ok(())
    }

    fn block(&mut self, roots: &[Value]) -> Result<Block, Diagnostic> {
        self.run_all(roots.iter().rev().map(|&root| Task::Eval(root)).collect())?;
        let yields = roots.iter().map(|&root| self.known(root)).collect();
        let mut block = std::mem::take(&mut self.out);
        block.yields = yields;
        Ok(block)
    }

    fn frame(&mut self) -> &mut Frame {
        self.frames.last_mut().expect("a frame is open while values are evaluated")
    }

    /// What `value` is, which has been evaluated.
    fn known(&mut self, value: Value) -> Arg {
        self.frame().known[&value]
    }

    fn set(&mut self, value: Value, arg: Arg) {
        let depth = self.frames.len() - 1;
        self.frame().known.insert(value, arg);
        if let Some(log) = self.log.last_mut() {
            log.push((depth, value));
        }
    }

    fn run(&mut self, task: Task, tasks: &mut Vec<Task>) -> Result<(), Diagnostic> {
        let te = self.te;
        match task {
            Task::Eval(value) => self.eval(value, tasks),
            Task::Build(op) => self.build(op),
            Task::Then(op) => {
                let condition = self.known(te.operand(op, 0));
                self.out.push(InstKind::If, Some(op), &[condition], 0);
                self.log.push(Vec::new());
                Ok(())
            }
            Task::Else(op) => {
                let args: Vec<Arg> = self.arm(op, 0).iter().map(|&value| self.known(value)).collect();
                self.out.push(InstKind::Else, Some(op), &args, 0);
                self.forget_arm();
                self.log.push(Vec::new());
                Ok(())
            }
            Task::End(op) => {
                let args: Vec<Arg> = self.arm(op, 1).iter().map(|&value| self.known(value)).collect();
                self.forget_arm();
                let first = self.out.push(InstKind::End, Some(op), &args, te.n_results(op) as u32);
                self.bind_results(op, first);
                Ok(())
            }
            Task::Enter(op, tensor) => {
                let indices: Vec<Expr> =
                    (1..te.operands(op).len()).map(|nth| self.index(te.operand(op, nth))).collect();
                let value = self.enter(tensor, &indices)?;
                tasks.push(Task::Leave(op, value));
                tasks.push(Task::Eval(value));
                Ok(())
            }
            Task::Leave(op, value) => {
                let arg = self.known(value);
                self.frames.pop();
                if let Some(result) = te.result(op) {
                    self.set(result, arg);
                }
                Ok(())
            }
        }
    }

    /// What the arm `nth` of the conditional `op` gives.
    fn arm(&self, op: Op, nth: usize) -> &'a [Value] {
        let te: &'a Func = self.te;
        match te.op_regions(op).get(nth) {
            Some(&region) => te.yielded(region),
            None => &te.operands(op)[nth + 1..nth + 2],
        }
    }

    fn forget_arm(&mut self) {
        for (depth, value) in self.log.pop().unwrap_or_default() {
            if let Some(frame) = self.frames.get_mut(depth) {
                frame.known.remove(&value);
            }
        }
    }

    fn eval(&mut self, value: Value, tasks: &mut Vec<Task>) -> Result<(), Diagnostic> {
        let te = self.te;
        if self.frame().known.contains_key(&value) {
            return Ok(());
        }
        if let Some(arg) = self.outer(value) {
            self.set(value, arg);
            return Ok(());
        }
        let Some(op) = te.def_op(value) else {
            let text = format!("`{}` cannot be used here", te.value_text(value));
            return Err(Diagnostic::bug("axis-scope", te.location(self.graph[self.home].loc), text));
        };
        if self.operator.is_lazy(op) {
            tasks.push(Task::End(op));
            tasks.extend(self.arm(op, 1).iter().rev().map(|&value| Task::Eval(value)));
            tasks.push(Task::Else(op));
            tasks.extend(self.arm(op, 0).iter().rev().map(|&value| Task::Eval(value)));
            tasks.push(Task::Then(op));
            tasks.push(Task::Eval(te.operand(op, 0)));
            return Ok(());
        }
        if te.opcode(op) == te::READ {
            let from = self.provider(op)?;
            let task = match self.graph[from.stage].attach {
                Attach::Inline => Task::Enter(op, from),
                _ => Task::Build(op),
            };
            tasks.push(task);
            tasks.extend(te.operands(op)[1..].iter().rev().map(|&value| Task::Eval(value)));
            return Ok(());
        }
        if !te.op_regions(op).is_empty() {
            let text = format!("`{}` cannot stand in what a stage computes", te.op_name(op));
            return Err(Diagnostic::error("not-supported", te.op_location(op), text));
        }
        tasks.push(Task::Build(op));
        tasks.extend(te.operands(op).iter().rev().map(|&value| Task::Eval(value)));
        Ok(())
    }

    /// A value of the operator's top level.
    fn outer(&mut self, value: Value) -> Option<Arg> {
        let te = self.te;
        let region: Region = match te.def(value) {
            tc_ir::Def::Arg(region, _) => region,
            tc_ir::Def::Result(op, _) => te.region_of(op)?,
        };
        if region != te.body() {
            return None;
        }
        match self.operator.size(value) {
            Some(size) if te.value_type(value) == te.index_ty() => Some(Arg::Index(size.expr(self.pool))),
            _ => Some(Arg::Outer(value)),
        }
    }

    /// The tensor that the read `op` is served from.
    fn provider(&mut self, op: Op) -> Result<TensorRef, Diagnostic> {
        let tensor = self.te.operand(op, 0);
        let stage = self.frame().stage;
        let read = self.graph[stage].reads.iter().find(|read| read.of == Some(tensor));
        let Some(from) = read.map(|read| read.from) else {
            let text = format!("`{}` is no tensor", self.te.value_text(tensor));
            return Err(Diagnostic::error("type", self.te.op_location(op), text));
        };
        Ok(self.through_copies(from))
    }

    /// The tensor behind `from`: a copy that is inlined reads what it copies.
    fn through_copies(&self, mut from: TensorRef) -> TensorRef {
        while self.graph[from.stage].attach == Attach::Inline && self.graph[from.stage].source == Source::Copy {
            match self.graph[from.stage].reads.get(from.result as usize) {
                Some(read) => from = read.from,
                None => break,
            }
        }
        from
    }

    /// Opens a frame of the inlined stage that computes `tensor`, at `indices`, and gives the value to evaluate there.
    fn enter(&mut self, tensor: TensorRef, indices: &[Expr]) -> Result<Value, Diagnostic> {
        let te = self.te;
        let producer = &self.graph[tensor.stage];
        let Source::Compute(compute) = producer.source else {
            let text = format!("`{}` is inlined, but there is nothing to inline", producer.name);
            return Err(Diagnostic::bug("inline", te.location(producer.loc), text));
        };
        let region = te.op_regions(compute)[0];
        let mut known = FxHashMap::default();
        for ((&arg, &axis), &index) in te.region_args(region).iter().zip(&producer.data).zip(indices) {
            let lo = self.pool.int(self.graph[axis].domain.map_or(0, |(lo, _)| lo));
            let value = self.pool.add(index, lo);
            known.insert(arg, Arg::Index(self.inlined_axis(arg, value)));
        }
        self.frames.push(Frame { stage: tensor.stage, known });
        Ok(te.yielded(region)[tensor.result as usize])
    }

    /// The variable for an axis of an inlined stage; what is as short as a name stands for itself.
    fn inlined_axis(&mut self, arg: Value, value: Expr) -> Expr {
        if matches!(self.pool.node(value), Node::Const(_) | Node::Var(_)) || self.is_opaque(value) {
            return value;
        }
        let name = self.te.value_text(arg);
        let var = match self.inlined.get(&(arg, value)) {
            Some(&var) => var,
            None => {
                let var = self.vars.add(name, self.home, Extra::Inlined(value));
                self.inlined.insert((arg, value), var);
                var
            }
        };
        self.pool.named_var(var, name)
    }

    /// Does `expr` use what an instruction computes?
    fn is_opaque(&self, expr: Expr) -> bool {
        self.pool.vars(expr).iter().any(|&var| self.vars.is_opaque(var))
    }

    /// The evaluated integer `value` as an index expression.
    fn index(&mut self, value: Value) -> Expr {
        match self.known(value) {
            Arg::Index(expr) => expr,
            arg => {
                let number = self.out.push(InstKind::ToIndex, self.te.def_op(value), &[arg], 1);
                self.opaque(number)
            }
        }
    }

    fn opaque(&mut self, number: u32) -> Expr {
        let var = self.vars.add("", self.home, Extra::Opaque(number));
        self.pool.var(var)
    }

    /// Notes that the results of `op` are those numbered from `first`.
    fn bind_results(&mut self, op: Op, first: u32) {
        let te = self.te;
        for (nth, result) in te.results(op).enumerate() {
            let number = first + nth as u32;
            let arg = match te.value_type(result) == te.index_ty() {
                true => Arg::Index(self.opaque(number)),
                false => Arg::Value(number),
            };
            self.set(result, arg);
        }
    }

    fn build(&mut self, op: Op) -> Result<(), Diagnostic> {
        let te = self.te;
        if te.opcode(op) == te::READ {
            let from = self.provider(op)?;
            let mut args = Vec::with_capacity(te.operands(op).len() - 1);
            for nth in 1..te.operands(op).len() {
                args.push(Arg::Index(self.index(te.operand(op, nth))));
            }
            let value = self.out.push(InstKind::Load(from), Some(op), &args, 1);
            self.bind_results(op, value);
            return Ok(());
        }
        if let Some(result) = te.result(op)
            && te.value_type(result) == te.index_ty()
            && let Some(expr) = self.algebra(op)
        {
            self.set(result, Arg::Index(expr));
            return Ok(());
        }
        let args: Vec<Arg> = te.operands(op).iter().map(|&value| self.frame().known[&value]).collect();
        let first = self.out.push(InstKind::Plain, Some(op), &args, te.n_results(op) as u32);
        self.bind_results(op, first);
        Ok(())
    }

    /// The `index` that `op` computes as an expression, where the algebra knows the op.
    fn algebra(&mut self, op: Op) -> Option<Expr> {
        let te = self.te;
        let role = te.role(op);
        if role == Role::Constant {
            let int = te.as_int(te.attr_of(op, keys::VALUE)?)?;
            return Some(self.pool.int(int));
        }
        let binary = binary_of(te, op);
        let mut args = Vec::with_capacity(2);
        for nth in 0..te.operands(op).len() {
            match self.known(te.operand(op, nth)) {
                Arg::Index(expr) => args.push(expr),
                _ => return None,
            }
        }
        match (binary, role, &args[..]) {
            // A division that may fail stays where the operator has it.
            (Some(binary), _, &[_, rhs]) if binary.is_division() && self.pool.as_const(rhs).is_none_or(|c| c == 0) => {
                None
            }
            (Some(binary), _, &[lhs, rhs]) => Some(self.pool.binary(binary, lhs, rhs)),
            (None, Role::Unary(UnOp::Neg), &[arg]) => {
                let zero = self.pool.int(0);
                Some(self.pool.sub(zero, arg))
            }
            _ => None,
        }
    }
}
