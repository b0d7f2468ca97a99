//! Operators by definition: a stage is run once for each of its cells, which take the place of threads.

use super::Result;
use super::body::{Binding, Compiler, Declarations, Frame};
use super::control::bind_sizes;
use super::function::known_int;
use super::kernel::{KernelBuilder, Val};
use super::place::declare;
use super::sizes::{Sizes, bind_symbols};
use crate::cell;
use crate::code::{FloatOp, Instr, IntOp, Kernel, MagRule, Site};
use crate::domain::Domain;
use crate::field::FieldOp;
use std::collections::BTreeSet;
use tc_dialects::te;
use tc_ir::attrs::AttrData;
use tc_ir::walk::ops_under;
use tc_ir::{Elem, Func, Module, Op, Scalar, Value, keys};
use tc_support::{Diagnostic, counted};

/// A `te.compute`.
#[derive(Clone, Debug)]
pub(crate) struct Stage {
    pub(crate) op: Op,
    /// The numbers of its tensors among all tensors.
    pub(crate) tensors: Vec<usize>,
    pub(crate) lows: Vec<i64>,
    pub(crate) extents: Vec<u64>,
    /// Steps of one cell, if everything it reads is there.
    pub(crate) steps: u64,
    /// The terms that one cell is reduced from.
    pub(crate) terms: u64,
    /// Stages it reads.
    pub(crate) reads: Vec<usize>,
}

impl Stage {
    pub(crate) fn n_cells(&self) -> u64 {
        self.extents.iter().fold(1, |product, &extent| product.saturating_mul(extent))
    }
}

/// An operator, its sizes put in.
pub(crate) struct Operator<'m> {
    module: &'m Module,
    pub(crate) func: &'m Func,
    pub(crate) sizes: Sizes,
    /// Tensors: parameters, then results of stages; each is the global of the same number.
    pub(crate) declarations: Declarations,
    pub(crate) n_params: usize,
    pub(crate) stages: Vec<Stage>,
    /// The tensors that are returned.
    pub(crate) outputs: Vec<usize>,
    tensors: Vec<Value>,
}

impl<'m> Operator<'m> {
    pub(crate) fn new(module: &'m Module, func: &'m Func, given: &Sizes) -> Result<Operator<'m>> {
        let sizes = bind_symbols(func, given)?;
        let mut operator = Operator {
            module,
            func,
            sizes,
            declarations: Declarations::default(),
            n_params: 0,
            stages: Vec::new(),
            outputs: Vec::new(),
            tensors: Vec::new(),
        };
        for &param in func.params() {
            if func.as_shaped(func.value_type(param)).is_none() {
                let text = format!("parameter `{}` of an operator is no tensor", func.value_text(param));
                let help = "make it a tensor without axes: `s: f32[]`, read as `s[]`";
                let found = Diagnostic::error("unsupported", func.location(func.header.loc), text).help(help);
                return Err(Box::new(found));
            }
            operator.tensor(param, func.location(func.header.loc))?;
        }
        operator.n_params = func.params().len();
        let mut frame = operator.frame()?;
        for op in func.ops(func.body()) {
            match func.opcode(op) {
                te::COMPUTE => operator.stage(&mut frame, op)?,
                te::RETURN => {
                    for &value in func.operands(op) {
                        let known = operator.tensors.iter().position(|&tensor| tensor == value);
                        operator.outputs.extend(known);
                    }
                }
                _ => {}
            }
        }
        Ok(operator)
    }

    fn tensor(&mut self, value: Value, at: tc_support::Location) -> Result<usize> {
        let func = self.func;
        let decl = declare(func, value, &self.sizes, at.clone())
            .map_err(|text| Box::new(Diagnostic::error("unsupported", at, text)))?;
        self.tensors.push(value);
        Ok(self.declarations.add(decl))
    }

    /// The function with sizes and tensors bound, for a kernel.
    fn frame(&self) -> Result<Frame<'m>> {
        let mut frame = Frame::new(self.func, self.sizes.clone())?;
        bind_sizes(&mut frame);
        for (number, &tensor) in self.tensors.iter().enumerate() {
            frame.bind(tensor, Binding::Global(number));
        }
        // Index values that stand between stages are known as soon as the sizes are.
        for op in self.func.ops(self.func.body()) {
            for value in self.func.results(op) {
                if let Some(Scalar { elem, lanes: 1 }) = self.func.value_scalar(value)
                    && elem.is_int()
                    && let Some(known) = known_int(&mut frame, value, 0)
                {
                    frame.bind(value, Binding::Known(elem, cell::of_int(known)));
                }
            }
        }
        Ok(frame)
    }

    fn stage(&mut self, frame: &mut Frame<'m>, op: Op) -> Result<()> {
        let func = self.func;
        let refuse = |text: &str| Box::new(Diagnostic::error("extent", func.op_location(op), text));
        let mut bounds = Vec::new();
        for &bound in func.operands(op) {
            let known = known_int(frame, bound, 0).and_then(|bound| i64::try_from(bound).ok());
            bounds.push(known.ok_or_else(|| refuse("the bounds of an axis are not known"))?);
        }
        let mut tensors = Vec::new();
        for result in func.results(op) {
            tensors.push(self.tensor(result, func.op_location(op))?);
            frame.bind(result, Binding::Global(self.tensors.len() - 1));
        }
        let extents = bounds.chunks(2).map(|pair| pair[1].saturating_sub(pair[0]).max(0) as u64).collect();
        let lows = bounds.chunks(2).map(|pair| pair[0]).collect();
        let body = func.op_regions(op)[0];
        let (mut steps, mut terms) = (1u64, 1u64);
        let mut reads = BTreeSet::new();
        for inner in ops_under(func, body) {
            let trips = trips(frame, inner);
            steps = steps.saturating_add(trips);
            terms = terms.max(trips);
            if func.opcode(inner) == te::READ
                && let Some(number) = self.tensors.iter().position(|&tensor| tensor == func.operand(inner, 0))
                && let Some(stage) = self.stages.iter().position(|stage| stage.tensors.contains(&number))
            {
                reads.insert(stage);
            }
        }
        let reads = reads.into_iter().collect();
        self.stages.push(Stage { op, tensors, lows, extents, steps, terms, reads });
        Ok(())
    }

    /// Compiles a stage into a kernel.
    pub(crate) fn compile(&mut self, stage: usize, domain: Domain, site_base: Site) -> Result<Kernel> {
        let func = self.func;
        let Stage { op, tensors, lows, .. } = self.stages[stage].clone();
        let frame = self.frame()?;
        let kernel = Kernel {
            grid: [1; 3],
            block: [1; 3],
            batch: 1,
            site_base,
            location: func.op_location(op),
            ..Kernel::default()
        };
        let k = KernelBuilder::new(kernel, domain, true);
        let mut compiler =
            Compiler { module: self.module, k, frames: vec![frame], declarations: &mut self.declarations };
        let body = func.op_regions(op)[0];
        let mut indices = Vec::new();
        for (nth, &arg) in func.region_args(body).iter().enumerate() {
            let axis = compiler.k.axis(nth);
            compiler.frame().bind(arg, Binding::Value(axis));
            indices.push(compiler.offset(op, axis, lows[nth].checked_neg().unwrap_or(0)));
        }
        compiler.region(body)?;
        let values = compiler.yielded(body)?;
        for (&tensor, value) in tensors.iter().zip(values) {
            let buf = compiler.k.global(tensor, &compiler.declarations.list[tensor]);
            let mut access = compiler.access(op, buf, &indices, value, true)?;
            // Poison in a result of the operator is an error.
            access.poison = self.outputs.contains(&tensor).then(Vec::new);
            compiler.k.emit(Instr::Store(Box::new(access)));
        }
        compiler.k.emit(Instr::End);
        let mut kernel = compiler.k.kernel;
        kernel.reads.resize(self.tensors.len(), false);
        kernel.writes.resize(self.tensors.len(), false);
        Ok(kernel)
    }
}

/// How often `op`, in a stage's body, is done for one cell.
fn trips(frame: &mut Frame<'_>, op: Op) -> u64 {
    let func = frame.func;
    let mut trips = 1u64;
    for around in tc_ir::walk::ancestors(func, op).filter(|&around| func.opcode(around) == te::REDUCE) {
        let n_axes = func.int_of(around, keys::N_AXES).and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
        for pair in func.operands(around).chunks(2).take(n_axes) {
            let extent = pair
                .last()
                .zip(pair.first())
                .and_then(|(&hi, &lo)| Some(known_int(frame, hi, 0)?.saturating_sub(known_int(frame, lo, 0)?)));
            trips = trips.saturating_mul(u64::try_from(extent.unwrap_or(1).max(0)).unwrap_or(u64::MAX));
        }
    }
    trips
}

impl<'m> Compiler<'m, '_> {
    /// `value + by`.
    fn offset(&mut self, op: Op, value: Val, by: i64) -> Val {
        if by == 0 {
            return value;
        }
        let by = self.k.constant(Elem::Index, by as u64);
        let sum = self.fresh(value.ty, &[value]);
        let site = self.site(op, false);
        self.k.emit(Instr::Int { op: IntOp::Add, elem: value.ty.elem, dst: sum.reg, a: value.reg, b: by.reg, site });
        self.spread_poison(sum, &[value]);
        sum
    }

    pub(super) fn read(&mut self, op: Op) -> Result<()> {
        let func = self.func();
        let Some((&tensor, indices)) = func.operands(op).split_first() else {
            return Err(self.unsupported(op, "this read"));
        };
        let indices = self.vals(indices, op)?;
        let buf = self.buffer(tensor, op)?;
        let value = self.k.value(self.result_type(op)?, true, true);
        let mut access = self.access(op, buf, &indices, value, false)?;
        access.poison = Some(indices.iter().filter(|index| index.poison).map(|index| index.reg).collect());
        self.k.emit(Instr::Load(Box::new(access)));
        self.bind_result(op, value);
        Ok(())
    }

    pub(super) fn reduce(&mut self, op: Op) -> Result<()> {
        let func = self.func();
        let n_axes = func.int_of(op, keys::N_AXES).and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
        let args = self.vals(func.operands(op), op)?;
        let body = func.op_regions(op)[0];
        if args.len() < 2 * n_axes || func.region_args(body).len() != n_axes {
            return Err(self.unsupported(op, "this reduction"));
        }
        let (bounds, inits) = args.split_at(2 * n_axes);
        let mut accs = Vec::new();
        for result in func.results(op) {
            let Some(ty) = func.value_scalar(result) else { return Err(self.unsupported(op, "this reduction")) };
            accs.push(self.k.value(ty, true, true));
        }
        self.start_reduction(op, &accs, inits)?;
        let mut loops = Vec::new();
        for (axis, &arg) in func.region_args(body).iter().enumerate() {
            let (lo, hi) = (bounds[2 * axis], bounds[2 * axis + 1]);
            let iv = self.k.value(lo.ty, lo.varying || hi.varying, false);
            let enter = self.enter_loop(op, iv, lo, hi);
            self.frame().bind(arg, Binding::Value(Val { owned: false, ..iv }));
            loops.push((enter, iv, hi));
        }
        self.region(body)?;
        let mut values = self.yielded(body)?;
        let condition = if func.attr_of(op, keys::HAS_WHERE).is_some() { values.pop() } else { None };
        self.step(op, &accs, &values, condition)?;
        self.end_region(body);
        for (enter, iv, hi) in loops.into_iter().rev() {
            self.leave_loop(enter, iv, hi);
            self.k.release(iv);
        }
        for (result, acc) in func.results(op).zip(accs) {
            self.frame().bind(result, Binding::Value(acc));
        }
        Ok(())
    }

    /// Combines where the condition of the reduction holds.
    fn step(&mut self, op: Op, accs: &[Val], values: &[Val], condition: Option<Val>) -> Result<()> {
        let Some(cond) = condition else { return self.combine(op, accs, values) };
        let site = self.site(op, false);
        if cond.poison {
            self.k.emit(Instr::PoisonUse { cond: cond.reg, site });
        }
        let enter = self.k.emit(Instr::If { cond: cond.reg, otherwise: 0, site });
        self.combine(op, accs, values)?;
        self.k.land(enter);
        self.k.emit(Instr::EndIf);
        Ok(())
    }

    /// Fills the accumulators with initial values or the identity.
    fn start_reduction(&mut self, op: Op, accs: &[Val], inits: &[Val]) -> Result<()> {
        if !inits.is_empty() {
            self.assign(accs, inits);
            return Ok(());
        }
        let func = self.func();
        let word = func.word_of(op, keys::COMBINER).unwrap_or("");
        if let Some(identity) = accs.first().and_then(|acc| identity(word, acc.ty.elem)) {
            let identity = self.k.constant(accs[0].ty.elem, identity);
            self.assign(accs, &[identity]);
            return Ok(());
        }
        let combiner = self.combiner(op, word)?;
        let Some(of) = combiner.ops(combiner.body()).find(|&inner| combiner.opcode(inner) == te::IDENTITY) else {
            return Err(self.error(
                op,
                "combiner",
                format!("`@{word}` has no identity, and the reduction no initial values"),
            ));
        };
        let frame = Frame::new(combiner, self.frame().sizes.clone())?;
        self.frames.push(frame);
        let region = combiner.op_regions(of)[0];
        self.region(region)?;
        let values = self.yielded(region)?;
        self.assign(accs, &values);
        self.end_region(region);
        self.frames.pop();
        Ok(())
    }

    fn combiner(&self, op: Op, word: &str) -> Result<&'m Func> {
        let module: &'m Module = self.module;
        let found = module.function(word).filter(|func| func.header.opcode == te::COMBINER);
        let combiner = found.ok_or_else(|| self.error(op, "combiner", format!("there is no combiner `@{word}`")))?;
        te::misfit(self.func(), op, combiner).map_or(Ok(combiner), |misfit| Err(Box::new(misfit)))
    }

    /// One step of a reduction: the accumulators and the values at hand give the next accumulators.
    fn combine(&mut self, op: Op, accs: &[Val], values: &[Val]) -> Result<()> {
        let func = self.func();
        let word = func.word_of(op, keys::COMBINER).unwrap_or("");
        let ops = match word {
            "sum" => Some((FloatOp::Add, IntOp::Add)),
            "prod" => Some((FloatOp::Mul, IntOp::Mul)),
            "min" => Some((FloatOp::Min, IntOp::Min)),
            "max" => Some((FloatOp::Max, IntOp::Max)),
            _ => None,
        };
        if let (Some((float, int)), &[acc], &[value]) = (ops, accs, values) {
            let next = self.fresh(acc.ty, &[acc, value]);
            let (elem, dst, a, b) = (acc.ty.elem, next.reg, acc.reg, value.reg);
            if elem.is_float() && self.k.domain == Domain::Field {
                let site = self.site(op, false);
                self.field(FieldOp::Binary(float), next, &[acc, value], (elem, site));
            } else if elem.is_float() {
                self.k.emit(Instr::Float { op: float, elem, dst, a, b });
            } else {
                let site = self.site(op, false);
                self.k.emit(Instr::Int { op: int, elem, dst, a, b, site });
            }
            self.magnitude(MagRule::Binary(float), next, &[acc, value]);
            self.spread_poison(next, &[acc, value]);
            self.assign(accs, &[next]);
            self.k.release(next);
            return Ok(());
        }
        let combiner = self.combiner(op, word)?;
        let mut frame = Frame::new(combiner, self.frame().sizes.clone())?;
        if combiner.params().len() != accs.len() + values.len() {
            return Err(self.error(
                op,
                "combiner",
                format!("`@{word}` combines {}", counted(combiner.params().len() / 2, "value")),
            ));
        }
        for (&param, &val) in combiner.params().iter().zip(accs.iter().chain(values)) {
            frame.bind(param, Binding::Value(Val { owned: false, ..val }));
        }
        self.frames.push(frame);
        for inner in combiner.ops(combiner.body()) {
            if combiner.opcode(inner) != te::IDENTITY && !combiner.row(inner).terminator {
                self.op(inner)?;
                self.free_dead(inner);
            }
        }
        let next = self.yielded(combiner.body())?;
        self.assign(accs, &next);
        self.end_region(combiner.body());
        self.frames.pop();
        Ok(())
    }
}

/// What a reduction starts from.
fn identity(combiner: &str, elem: Elem) -> Option<u64> {
    Some(match te::identity_of(combiner, elem)? {
        AttrData::Float(bits, _) => cell::of_float(elem, f64::from_bits(bits)),
        AttrData::Int(value, _) => cell::of_int(value),
        _ => return None,
    })
}
