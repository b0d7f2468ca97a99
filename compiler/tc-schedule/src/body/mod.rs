//! What a stage computes, as straight-line code over its axes.
//!
//! The text of a `te.compute` becomes a list of instructions: reads of inlined stages are replaced by what those
//! compute, integers are expressions of the index algebra over the variables of the stage's axes, and a `select` whose
//! arms read becomes a conditional. Bound inference looks at the loads; lowering makes ops of the whole.

mod flatten;

pub(crate) use flatten::flatten;

use crate::graph::{AxisId, Graph, StageId, TensorRef};
use tc_arith::{Expr, Pool, Var};
use tc_ir::{Op, Value};

/// An operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Arg {
    /// The result of an instruction.
    Value(u32),
    /// An `index`, as an expression.
    Index(Expr),
    /// A value of the operator's top level that is no tensor: an argument, or computed of arguments.
    Outer(Value),
}

/// What an instruction does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum InstKind {
    /// What the op does, on other operands.
    Plain,
    /// Reads a tensor.
    Load(TensorRef),
    /// Makes an `index` of another integer.
    ToIndex,
    /// Opens a conditional: what follows is evaluated only if the operand holds.
    If,
    /// Ends the first arm, which gives the operands, and opens the second.
    Else,
    /// Ends the second arm, which gives the operands. The results are the conditional's.
    End,
}

/// An instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inst {
    pub(crate) kind: InstKind,
    /// The op of the operator that it comes from; a copy has none.
    pub(crate) op: Option<Op>,
    /// Where its operands start, and how many they are.
    args: (u32, u32),
    /// The number of its first result, and how many there are.
    pub(crate) results: (u32, u32),
}

/// Instructions, and what they give.
#[derive(Clone, Debug, Default)]
pub(crate) struct Block {
    pub(crate) insts: Vec<Inst>,
    args: Vec<Arg>,
    /// How many results its instructions have together.
    pub(crate) n_values: u32,
    /// What the block gives.
    pub(crate) yields: Vec<Arg>,
}

impl Block {
    pub(crate) fn args(&self, inst: &Inst) -> &[Arg] {
        &self.args[inst.args.0 as usize..(inst.args.0 + inst.args.1) as usize]
    }

    /// Those operands that are integers of the algebra: of a load, its indices.
    pub(crate) fn indices(&self, inst: &Inst) -> Vec<Expr> {
        let args = self.args(inst).iter();
        args.filter_map(|arg| if let Arg::Index(expr) = arg { Some(*expr) } else { None }).collect()
    }

    pub(crate) fn arg_mut(&mut self, inst: &Inst, nth: usize) -> &mut Arg {
        &mut self.args[inst.args.0 as usize + nth]
    }

    /// Does it read a tensor?
    pub(crate) fn loads(&self) -> bool {
        self.insts.iter().any(|inst| matches!(inst.kind, InstKind::Load(_)))
    }

    pub(crate) fn all_args(&self) -> impl Iterator<Item = &Arg> {
        self.args.iter().chain(&self.yields)
    }

    /// Leaves out what nothing uses.
    pub(crate) fn prune(&mut self, pool: &Pool, vars: &Vars) {
        let mut used = vec![false; self.n_values as usize];
        let use_of = |used: &mut Vec<bool>, arg: &Arg| match *arg {
            Arg::Value(number) => used[number as usize] = true,
            Arg::Index(expr) => {
                for var in pool.vars(expr) {
                    if let Some((_, _, Extra::Opaque(number))) = vars.extra(var) {
                        used[*number as usize] = true;
                    }
                }
            }
            Arg::Outer(_) => {}
        };
        self.yields.iter().for_each(|arg| use_of(&mut used, arg));
        let mut insts = std::mem::take(&mut self.insts);
        insts.reverse();
        insts.retain(|inst| {
            let (first, n) = inst.results;
            let is_used = n == 0 || used[first as usize..(first + n) as usize].contains(&true);
            let stays = is_used || matches!(inst.kind, InstKind::If | InstKind::Else | InstKind::End);
            if stays {
                self.args(inst).iter().for_each(|arg| use_of(&mut used, arg));
            }
            stays
        });
        insts.reverse();
        self.insts = insts;
    }

    pub(super) fn push(&mut self, kind: InstKind, op: Option<Op>, args: &[Arg], n_results: u32) -> u32 {
        let first = self.n_values;
        self.insts.push(Inst {
            kind,
            op,
            args: (self.args.len() as u32, args.len() as u32),
            results: (first, n_results),
        });
        self.args.extend_from_slice(args);
        self.n_values += n_results;
        first
    }
}

/// What a stage computes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Body {
    /// What a reduction starts from, where the operator says so; otherwise the combiner's identity.
    pub(crate) init: Option<Block>,
    /// The value, or what is combined with the value so far.
    pub(crate) update: Block,
    /// The condition under which a reduction takes the value; it is evaluated first.
    pub(crate) condition: Option<Block>,
}

impl Body {
    /// All of its blocks.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = &Block> {
        self.init.iter().chain(&self.condition).chain([&self.update])
    }
}

/// A variable that a body introduces.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Extra {
    /// The axis of an inlined stage: what it stands for, over other variables.
    Inlined(Expr),
    /// An integer that the algebra does not see into: the result of an instruction, by its number.
    Opaque(u32),
    /// An element of an argument, at indices over counters: where what a stage computes begins, if data say so.
    Fetched(TensorRef, Box<[Expr]>),
}

/// The number of the first variable that is a size: above those of axes and bodies.
const FIRST_SIZE: u32 = 1 << 31;

/// The variables of a program.
///
/// Axis `a` has two: number `2a` is its value, number `2a + 1` its loop's counter, which starts at 0. Further ones are
/// introduced by bodies. The operator's sizes that stay open are numbered from [`Vars::size`] of 0 on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Vars {
    n_axes: u32,
    /// The name, the stage whose body it belongs to, and what it is.
    extra: Vec<(Box<str>, StageId, Extra)>,
}

impl Vars {
    pub(crate) fn new(graph: &Graph) -> Vars {
        Vars { n_axes: graph.axes.len() as u32, extra: Vec::new() }
    }

    /// The value of an axis, where it may start anywhere.
    pub(crate) fn value(axis: AxisId) -> Var {
        Var(2 * axis.0)
    }

    /// The counter of a leaf's loop.
    pub(crate) fn counter(axis: AxisId) -> Var {
        Var(2 * axis.0 + 1)
    }

    /// A size of the operator that stays open.
    pub(crate) fn size(nth: usize) -> Var {
        Var(FIRST_SIZE.saturating_add(nth as u32))
    }

    /// Is `var` a size of the operator?
    pub(crate) fn is_size(var: Var) -> bool {
        var.0 >= FIRST_SIZE
    }

    /// The leaves whose counters `expr` depends on, by way of what is fetched, too.
    pub(crate) fn counters(&self, pool: &Pool, expr: Expr) -> Vec<AxisId> {
        let mut pending = pool.vars(expr);
        let mut found = Vec::new();
        while let Some(var) = pending.pop() {
            match self.extra(var) {
                Some((_, _, Extra::Fetched(_, indices))) => pending.extend(indices.iter().flat_map(|&e| pool.vars(e))),
                Some(_) => {}
                None => found.extend(Vars::as_counter(var)),
            }
        }
        found
    }

    /// The leaf whose counter `var` is, if it is one; variables that bodies introduce are not asked about.
    pub(crate) fn as_counter(var: Var) -> Option<AxisId> {
        (var.0 % 2 == 1 && !Vars::is_size(var)).then_some(AxisId(var.0 / 2))
    }

    /// The axis whose value `var` is.
    pub(crate) fn as_value(&self, var: Var) -> Option<AxisId> {
        (var.0 < 2 * self.n_axes && var.0.is_multiple_of(2)).then_some(AxisId(var.0 / 2))
    }

    pub(super) fn add(&mut self, name: &str, stage: StageId, extra: Extra) -> Var {
        let var = Var(2 * self.n_axes + self.extra.len() as u32);
        self.extra.push((name.into(), stage, extra));
        var
    }

    pub(crate) fn extra(&self, var: Var) -> Option<&(Box<str>, StageId, Extra)> {
        self.extra.get(var.0.checked_sub(2 * self.n_axes)? as usize)
    }

    /// Is `var` an integer that the algebra does not see into?
    pub(crate) fn is_opaque(&self, var: Var) -> bool {
        matches!(self.extra(var), Some((_, _, Extra::Opaque(_))))
    }

    /// The variables that bodies introduced.
    pub(crate) fn extras(&self) -> impl Iterator<Item = (Var, &(Box<str>, StageId, Extra))> {
        self.extra.iter().enumerate().map(|(nth, extra)| (Var(2 * self.n_axes + nth as u32), extra))
    }
}
