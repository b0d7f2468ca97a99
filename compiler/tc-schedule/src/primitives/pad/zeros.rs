//! Is each term of a sum 0 where the copies that it reads along a padded axis are?

use super::{Flat, is_copy};
use crate::body::{Arg, Block, InstKind, Vars};
use crate::directive::{Cx, Done};
use crate::graph::AxisId;
use crate::operator::Operator;
use crate::remedy::LEAVE_OUT;
use tc_arith::{Pool, Var};
use tc_ir::attrs::BinOp;
use tc_ir::opdef::Role;
use tc_ir::{Op, keys};

/// Refuses to pad a reduction that zeros would change.
pub(super) fn check(cx: &Cx<'_>, axis: AxisId, flat: &Flat) -> Done<()> {
    if !cx.graph[axis].reduce {
        return Ok(());
    }
    let (te, stage) = (cx.operator.te, cx.graph[axis].stage);
    let Some(reduce) = cx.operator.reduction(cx.graph[stage].source) else { return Ok(()) };
    let combiner = te.word_of(reduce.0, keys::COMBINER).unwrap_or("");
    let name = &cx.graph[stage].name;
    if combiner != "sum" {
        let text = format!("`{name}` reduces by `{combiner}`, for which 0 is not neutral");
        let help =
            "sums alone are padded: leave the axis guarded, or pad the tensors in the operator by what is neutral";
        return Err(cx.error("pad-not-neutral", text).help(help).fix_its(LEAVE_OUT).into());
    }
    if yields_zero(cx, &flat.body.update, &flat.pool, Vars::value(axis)) {
        return Ok(());
    }
    let text =
        format!("a term of the sum `{name}` is not known to be 0 where what it reads along `{}` is", cx.show(axis));
    let help = "each term has to be a product of two copies that are read along the axis, or such a copy itself";
    Err(cx
        .error("pad-not-neutral", text)
        .label(te.op_location(reduce.0), "the sum")
        .help(help)
        .fix_its(LEAVE_OUT)
        .into())
}

/// Does `block` give 0 where all that it reads at an index that is `along` is 0?
fn yields_zero(cx: &Cx<'_>, block: &Block, pool: &Pool, along: Var) -> bool {
    let is_along = |arg: &Arg| matches!(arg, Arg::Index(index) if pool.uses_any(*index, &[along]));
    let mut zero = vec![false; block.n_values as usize];
    for inst in &block.insts {
        let args = block.args(inst);
        let of = |nth: usize| matches!(args.get(nth), Some(&Arg::Value(number)) if zero[number as usize]);
        let is_zero = match (inst.kind, inst.op) {
            (InstKind::Load(tensor), _) => is_copy(cx.graph, tensor.stage) && args.iter().any(is_along),
            (InstKind::Plain, Some(op)) => is_zero(cx.operator, op, of),
            _ => false,
        };
        let first = inst.results.0 as usize;
        zero[first..first + inst.results.1 as usize].fill(is_zero);
    }
    block.yields.iter().all(|arg| matches!(arg, &Arg::Value(number) if zero[number as usize]))
}

/// Is the result of `op` 0, where `of` says which operands are? That of a float and 0 need not be: it may be no number.
fn is_zero(operator: &Operator<'_>, op: Op, of: impl Fn(usize) -> bool) -> bool {
    let te = operator.te;
    let is_int =
        te.results(op).all(|value| te.as_scalar(te.value_type(value)).is_some_and(|scalar| scalar.elem.is_int()));
    match te.role(op) {
        Role::Cast => of(0),
        Role::Binary(BinOp::Mul) => (of(0) && of(1)) || (is_int && (of(0) || of(1))),
        Role::Binary(BinOp::Add | BinOp::Sub) => of(0) && of(1),
        _ => false,
    }
}
