//! What the rules ask of a stage: its axes, what it reads and where, and whether it sums products.

use crate::body::{Arg, Block, Body, Extra, Inst, InstKind, Vars, flatten};
use crate::graph::{Attach, AxisId, Graph, Source, StageId, TensorRef};
use crate::operator::Operator;
use rustc_hash::FxHashMap;
use tc_arith::{Analyzer, Expr, Var};
use tc_dialects::arith;
use tc_ir::attrs::BinOp;
use tc_ir::opdef::Role;
use tc_ir::walk::ops_under;
use tc_ir::{Elem, Op, keys};
use tc_support::{Diagnostic, Diagnostics};

/// Sizes that stay open are taken to be so long.
pub(super) const LARGE: i64 = 4096;

/// How many tiles of `tile` cover `length`.
pub(super) fn tiles_of(length: i64, tile: i64) -> i64 {
    length / tile + i64::from(length % tile != 0)
}

/// An axis that a stage declares.
#[derive(Clone, Debug)]
pub(super) struct Dim {
    pub(super) axis: AxisId,
    /// How long it is; `None` while a size is open.
    pub(super) extent: Option<i64>,
}

impl Dim {
    /// The extent, or a large one where it is not known.
    pub(super) fn length(&self) -> i64 {
        self.extent.unwrap_or(LARGE)
    }
}

/// A read of a tensor.
#[derive(Clone, Debug)]
pub(super) struct Load {
    pub(super) tensor: TensorRef,
    /// Of each index how many of its elements a step of each axis of the stage moves it; `None` where the index is no linear
    /// form.
    pub(super) forms: Vec<Option<Vec<i64>>>,
    /// Of each index which axes of the stage it depends on.
    depends: Vec<Vec<bool>>,
}

impl Load {
    /// Does the axis number `nth` of the reader move it?
    pub(super) fn uses(&self, nth: usize) -> bool {
        self.depends.iter().any(|axes| axes[nth])
    }

    /// Do the last two indices be the axes `last` alone, and do the others depend on none of `free`?
    pub(super) fn ends_in(&self, last: [usize; 2], free: &[usize]) -> bool {
        let Some(at) = self.forms.len().checked_sub(2) else { return false };
        let others = &self.depends[..at];
        self.is_axis(at, last[0])
            && self.is_axis(at + 1, last[1])
            && others.iter().all(|axes| free.iter().all(|&nth| !axes[nth]))
    }

    /// Do elements that follow each other in the tensor follow each other along the axis number `nth`, too?
    pub(super) fn is_along(&self, nth: usize) -> bool {
        let (last, rest) = match self.forms.split_last() {
            Some((Some(last), rest)) => (last, rest),
            _ => return false,
        };
        last[nth] == 1 && rest.iter().all(|form| form.as_ref().is_some_and(|coeffs| coeffs[nth] == 0))
    }

    /// Does the axis number `nth` move an index that one of `others` moves, too?
    pub(super) fn moves_alike(&self, nth: usize, others: std::ops::Range<usize>) -> bool {
        let moves = |coeffs: &Vec<i64>| coeffs[nth] != 0 && others.clone().any(|other| coeffs[other] != 0);
        self.forms.iter().flatten().any(moves)
    }

    /// Is each index a linear form?
    pub(super) fn is_linear(&self) -> bool {
        self.forms.iter().all(Option::is_some)
    }

    /// Is index `at` the axis number `nth` alone?
    pub(super) fn is_axis(&self, at: usize, nth: usize) -> bool {
        let Some(Some(coeffs)) = self.forms.get(at) else { return false };
        coeffs.iter().enumerate().all(|(axis, &coeff)| coeff == i64::from(axis == nth))
    }
}

/// A stage that is computed.
#[derive(Clone, Debug)]
pub(super) struct Known {
    /// The axes of the data, then those of the reduction.
    pub(super) dims: Vec<Dim>,
    pub(super) n_data: usize,
    pub(super) loads: Vec<Load>,
    /// Of a sum of products of two reads: which of the loads they are.
    pub(super) product: Option<[usize; 2]>,
    /// Is it a reduction that starts from nothing and leaves nothing out?
    pub(super) reduces_all: bool,
    /// It is a reduction of those elements for which a condition holds, from the initial value of its combiner on.
    pub(super) reduces_some: bool,
}

impl Known {
    pub(super) fn data(&self) -> &[Dim] {
        &self.dims[..self.n_data]
    }

    pub(super) fn reduce(&self) -> &[Dim] {
        &self.dims[self.n_data..]
    }

    /// How many elements it has.
    pub(super) fn n_elements(&self) -> i64 {
        self.data().iter().map(Dim::length).fold(1, i64::saturating_mul)
    }

    /// How many values each of them is reduced of.
    pub(super) fn n_reduced(&self) -> i64 {
        self.reduce().iter().map(Dim::length).fold(1, i64::saturating_mul)
    }
}

/// The operator, and what is known of its stages.
pub(super) struct Facts<'a> {
    pub(super) operator: &'a Operator<'a>,
    pub(super) graph: Graph,
    /// May rules round the factors of products in f32 to tf32?
    pub(super) allow_tf32: bool,
    known: Vec<Option<Known>>,
    /// The same before anything is inlined: what the text of the stage says.
    direct: Vec<Option<Known>>,
}

impl<'a> Facts<'a> {
    pub(super) fn of(operator: &'a Operator<'a>, allow_tf32: bool) -> Result<Facts<'a>, Diagnostics> {
        let graph = operator.graph()?;
        let n_stages = graph.stages.len();
        let mut facts =
            Facts { operator, graph, allow_tf32, known: vec![None; n_stages], direct: vec![None; n_stages] };
        facts.look()?;
        facts.direct = std::mem::replace(&mut facts.known, vec![None; n_stages]);
        Ok(facts)
    }

    /// Marks `stage` as inlined.
    pub(super) fn inline(&mut self, stage: StageId) {
        self.graph[stage].attach = Attach::Inline;
    }

    /// Looks at all stages that are computed, with what is inlined in the place of reads.
    pub(super) fn look(&mut self) -> Result<(), Diagnostic> {
        for stage in self.graph.order.clone() {
            let data = &self.graph[stage];
            if !data.is_arg() && data.attach != Attach::Inline {
                self.known[stage.idx()] = Some(look(self.operator, &self.graph, stage)?);
            }
        }
        Ok(())
    }

    /// What is known of `stage`, which is computed.
    pub(super) fn known(&self, stage: StageId) -> Option<&Known> {
        self.known[stage.idx()].as_ref()
    }

    /// What the text of `stage` says, with nothing inlined.
    pub(super) fn direct(&self, stage: StageId) -> Option<&Known> {
        self.direct[stage.idx()].as_ref()
    }

    /// The type of the elements of `tensor`.
    pub(super) fn elem(&self, tensor: TensorRef) -> Option<Elem> {
        let ty = self.graph[tensor.stage].tensors[tensor.result as usize].elem;
        self.operator.te.as_scalar(ty).filter(|scalar| scalar.lanes == 1).map(|scalar| scalar.elem)
    }

    /// The bytes of an element of the first tensor of `stage`.
    pub(super) fn bytes(&self, stage: StageId) -> i64 {
        self.elem(TensorRef { stage, result: 0 }).map_or(4, |elem| i64::from(elem.bits().div_ceil(8)))
    }

    /// How long the dimensions of `tensor` are; `None` for those that stay open.
    pub(super) fn shape(&self, tensor: TensorRef) -> Vec<Option<i64>> {
        let axes = self.graph[tensor.stage].data.iter();
        axes.map(|&axis| self.graph[axis].domain.and_then(|(_, extent)| extent.int())).collect()
    }

    /// Do the rows of `tensor` lie as bulk copies take them, multiples of 16 bytes apart?
    pub(super) fn has_aligned_rows(&self, tensor: TensorRef) -> bool {
        let bits = self.elem(tensor).map_or(0, |elem| i64::from(elem.bits()));
        let row = self.shape(tensor).last().copied().flatten();
        bits % 8 == 0 && row.is_some_and(|row| row.saturating_mul(bits / 8) % 16 == 0)
    }

    /// Is `stage` an argument?
    pub(super) fn is_arg(&self, stage: StageId) -> bool {
        matches!(self.graph[stage].source, Source::Arg(_))
    }

    /// Does `stage` compute something that takes a GPU many cycles: a function other than arithmetic?
    pub(super) fn is_costly(&self, stage: StageId) -> bool {
        const COSTLY: [&str; 13] =
            ["exp", "exp2", "log", "log2", "tanh", "pow", "erf", "sin", "cos", "tan", "sqrt", "rsqrt", "sigmoid"];
        let te = self.operator.te;
        let Some(op) = self.graph[stage].source.op() else { return false };
        let mut under = te.op_regions(op).iter().flat_map(|&region| ops_under(te, region));
        under.any(|op| te.row(op).short.is_some_and(|name| COSTLY.contains(&name)))
    }
}

fn look(operator: &Operator<'_>, graph: &Graph, stage: StageId) -> Result<Known, Diagnostic> {
    let mut vars = Vars::new(graph);
    let mut analyzer = operator.symbols.analyzer(&graph.pool);
    let body = flatten(operator, graph, stage, &mut analyzer.pool, &mut vars)?;
    let data = &graph[stage];
    let dim = |axis: AxisId| Dim { axis, extent: graph[axis].domain.and_then(|(_, size)| size.int()) };
    let dims: Vec<Dim> = data.roots().map(dim).collect();
    let inlined = inlined(&vars, &mut analyzer);
    let of_axes: Vec<Var> = data.roots().map(Vars::value).collect();
    let (loads, numbers) = loads(&body, &mut analyzer, &inlined, &of_axes);
    let product = product(operator, &body.update).and_then(|[left, right]| {
        let nth = |inst: usize| numbers.iter().position(|&number| number == inst);
        Some([nth(left)?, nth(right)?])
    });
    let reduction = operator.reduction(data.source);
    let reduces_all = reduction.is_some() && body.init.is_none() && body.condition.is_none();
    let reduces_some = reduction.is_some() && body.init.is_none() && body.condition.is_some();
    let is_sum = reduction.is_some_and(|reduce| operator.te.word_of(reduce.0, keys::COMBINER) == Some("sum"));
    let product = product.filter(|_| is_sum && reduces_all);
    Ok(Known { n_data: data.data.len(), dims, loads, product, reduces_all, reduces_some })
}

/// What the axes of inlined stages stand for, over axes of the stage.
fn inlined(vars: &Vars, analyzer: &mut Analyzer) -> FxHashMap<Var, Expr> {
    let mut known: FxHashMap<Var, Expr> = FxHashMap::default();
    for (var, (_, _, extra)) in vars.extras() {
        if let Extra::Inlined(value) = extra {
            let value = analyzer.pool.subst_with(*value, &|var| known.get(&var).copied());
            known.insert(var, value);
        }
    }
    known
}

/// The loads of `body`, and the numbers of those instructions of its update that they come from; of others a number that is none.
fn loads(
    body: &Body,
    analyzer: &mut Analyzer,
    inlined: &FxHashMap<Var, Expr>,
    axes: &[Var],
) -> (Vec<Load>, Vec<usize>) {
    let (mut loads, mut numbers) = (Vec::new(), Vec::new());
    let blocks = [Some(&body.update), body.init.as_ref(), body.condition.as_ref()];
    for (nth, block) in blocks.into_iter().enumerate() {
        let Some(block) = block else { continue };
        for (number, inst) in block.insts.iter().enumerate() {
            let InstKind::Load(tensor) = inst.kind else { continue };
            let (mut forms, mut depends) = (Vec::new(), Vec::new());
            for &arg in block.args(inst) {
                let Arg::Index(index) = arg else {
                    // Data tells where: it may depend on everything.
                    forms.push(None);
                    depends.push(vec![true; axes.len()]);
                    continue;
                };
                let index = analyzer.pool.subst_with(index, &|var| inlined.get(&var).copied());
                let opaque = |var: &Var| !axes.contains(var) && !Vars::is_size(*var);
                let hidden = analyzer.pool.vars(index).iter().any(opaque);
                depends.push(axes.iter().map(|&var| hidden || analyzer.pool.uses_any(index, &[var])).collect());
                let form = analyzer.linear(index, axes).filter(|_| !hidden);
                forms.push(
                    form.and_then(|form| form.coeffs.iter().map(|&coeff| analyzer.pool.as_const(coeff)).collect()),
                );
            }
            loads.push(Load { tensor, forms, depends });
            numbers.push(if nth == 0 { number } else { usize::MAX });
        }
    }
    (loads, numbers)
}

/// The instructions whose product `block` gives, if they are loads.
fn product(operator: &Operator<'_>, block: &Block) -> Option<[usize; 2]> {
    let te = operator.te;
    let of = |arg: Arg| -> Option<(usize, &Inst)> {
        let Arg::Value(value) = arg else { return None };
        let makes = |inst: &Inst| (inst.results.0..inst.results.0 + inst.results.1).contains(&value);
        block.insts.iter().enumerate().find(|(_, inst)| makes(inst))
    };
    let is = |op: Option<Op>, role: Role| op.is_some_and(|op| te.role(op) == role);
    // The read itself, or cast once to what is summed.
    let factor = |arg: Arg| -> Option<usize> {
        let (mut number, mut inst) = of(arg)?;
        if inst.kind == InstKind::Plain && is(inst.op, Role::Cast) {
            (number, inst) = of(*block.args(inst).first()?)?;
        }
        matches!(inst.kind, InstKind::Load(_)).then_some(number)
    };
    let [only] = block.yields[..] else { return None };
    let (_, inst) = of(only)?;
    let times = inst.op.is_some_and(|op| te.role(op) == Role::Binary(BinOp::Mul) || te.opcode(op) == arith::MUL);
    let &[left, right] = block.args(inst) else { return None };
    if times { Some([factor(left)?, factor(right)?]) } else { None }
}
