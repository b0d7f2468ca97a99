//! What a stage reads along an axis that is padded: copies, which can hold zeros where the copied tensor has no more.

use super::{Flat, How, Padded, PaddedAxis, end_of, is_copy};
use crate::body::{Arg, Block, InstKind, Vars};
use crate::diagnostic::ScheduleDiagnostic;
use crate::directive::{Cx, Done};
use crate::graph::{AxisId, StageId};
use crate::remedy::{LEAVE_OUT, NONE};

/// The copies that the stage of `axis`, which is to be a multiple of `multiple`, reads along it, and the dimensions that it indexes.
pub(super) fn along(cx: &Cx<'_>, axis: AxisId, multiple: i64, flat: &mut Flat) -> Done<Vec<(StageId, usize)>> {
    let Flat { body, pool, vars } = flat;
    let value = Vars::value(axis);
    let plain = pool.var(value);
    let mut copies: Vec<(StageId, usize)> = Vec::new();
    let blocks = [Some(&body.update), body.init.as_ref(), body.condition.as_ref()];
    for block in blocks.into_iter().flatten() {
        for inst in &block.insts {
            let InstKind::Load(tensor) = inst.kind else { continue };
            let name = &cx.graph[tensor.stage].tensors[tensor.result as usize].name;
            for (nth, &arg) in block.args(inst).iter().enumerate() {
                let known = match arg {
                    Arg::Index(index) => {
                        let is_hidden = pool.vars(index).into_iter().any(|var| vars.extra(var).is_some());
                        (!is_hidden).then(|| (index == plain, pool.uses_any(index, &[value])))
                    }
                    _ => None,
                };
                match known {
                    Some((_, false)) => {}
                    Some((true, true)) if is_copy(cx.graph, tensor.stage) => {
                        if !copies.contains(&(tensor.stage, nth)) {
                            copies.push((tensor.stage, nth));
                        }
                    }
                    Some((true, true))
                        if !cx.graph[axis].reduce && reaches(cx, axis, multiple, (tensor.stage, nth)) => {}
                    Some((true, true)) => return Err(no_copy(cx, axis, name).into()),
                    Some((false, true)) => {
                        let text = format!("an index of `{name}` is computed of `{}`", cx.show(axis));
                        let help = "only what is indexed by the axis itself has zeros beyond its end: pad the tensor in the operator";
                        return Err(cx.error("pad", text).help(help).fix_its(LEAVE_OUT).into());
                    }
                    None => {
                        let text = format!("where `{name}` is read depends on data, or on an inlined stage");
                        let help = "pad the tensors in the operator";
                        return Err(cx.error("pad", text).help(help).fix_its(LEAVE_OUT).into());
                    }
                }
            }
        }
        check_speculatable(cx, axis, block)?;
    }
    Ok(copies)
}

/// Is dimension `nth` of `stage` padded as far as `axis` is to be? What it holds there is read for what nothing reads.
fn reaches(cx: &Cx<'_>, axis: AxisId, multiple: i64, (stage, nth): (StageId, usize)) -> bool {
    let data = &cx.graph[stage];
    let padded = data.parts.get::<Padded>().and_then(|padded| padded.of(data.data[nth]));
    padded.is_some_and(|padded| match padded.how {
        How::Computes(other) => padded.end == end_of(cx.graph, axis) && other % multiple == 0,
        How::Copies | How::Fills => false,
    })
}

fn no_copy(cx: &Cx<'_>, axis: AxisId, name: &str) -> ScheduleDiagnostic {
    let stage = &cx.graph[cx.graph[axis].stage].name;
    let text =
        format!("`{stage}` reads `{name}` itself along `{}`, and `{name}` has no zeros beyond its end", cx.show(axis));
    let copy = format!("`cache_read({name}, …, [{stage}])` makes a copy that has");
    let help = if cx.graph[axis].reduce { copy } else { format!("{copy}; or pad `{name}` before, if it is computed") };
    cx.error("pad", text).help(help).fix_its(NONE)
}

/// Refuses what could fail on zeros.
fn check_speculatable(cx: &Cx<'_>, axis: AxisId, block: &Block) -> Done<()> {
    let te = cx.operator.te;
    let fails = block.insts.iter().filter(|inst| inst.kind == InstKind::Plain).filter_map(|inst| inst.op).find(|&op| {
        let is_int =
            te.results(op).any(|value| te.as_scalar(te.value_type(value)).is_none_or(|scalar| scalar.elem.is_int()));
        !te.row(op).effect.speculatable && is_int
    });
    match fails {
        None => Ok(()),
        Some(op) => {
            let text = format!("beyond the end of `{}` this would be computed of zeros, and may fail", cx.show(axis));
            let error = cx.error("pad", text).label(te.op_location(op), "here");
            Err(error.help("pad the tensors in the operator").fix_its(LEAVE_OUT).into())
        }
    }
}

/// Lets dimension `nth` of `copy`, and of what it copies, be longer, too; up to the copy of what is none, which has zeros.
pub(super) fn follow(
    cx: &Cx<'_>,
    axis: AxisId,
    (mut copy, nth): (StageId, usize),
    padded: &mut Vec<PaddedAxis>,
) -> Done<()> {
    loop {
        let data = &cx.graph[copy];
        let (own, from) = (data.data[nth], data.reads[0].from.stage);
        if data.through.is_some() || data.origin.is_some() {
            let text = format!("the copy `{}` has other axes than what it copies", data.name);
            let help = "write `pad` before the directive that gave it those";
            return Err(cx.error("pad", text).help(help).fix_its(LEAVE_OUT).into());
        }
        let source = &cx.graph[from];
        let is_filled = !is_copy(cx.graph, from);
        let end = end_of(cx.graph, source.data[nth]);
        // A reduction may take in nothing but zeros.
        if is_filled && cx.graph[axis].reduce && end != end_of(cx.graph, axis) {
            let text = format!(
                "`{}` ends at {}, and `{}` at {}: what is between the two would be summed",
                cx.show(axis),
                end_of(cx.graph, axis).show(&cx.graph.pool),
                source.name,
                end.show(&cx.graph.pool)
            );
            let help = "let the reduction run over the whole dimension, with a `where`";
            return Err(cx.error("pad", text).help(help).fix_its(LEAVE_OUT).into());
        }
        let how = if is_filled { How::Fills } else { How::Copies };
        padded.push(PaddedAxis { axis: own, end, how, loc: cx.loc() });
        if is_filled {
            return Ok(());
        }
        copy = from;
    }
}
