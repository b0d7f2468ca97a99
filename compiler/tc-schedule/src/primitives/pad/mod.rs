//! Lets an axis of a stage run to the next multiple of a number, over zeros, so that tiles divide it.
//!
//! # Arguments
//!
//! `pad(STAGE.axis, multiple = e)`: the axis is one of the stage's data or of its reduction, as the operator declares it. The stage
//! computes elements beyond the end of a data axis, which nothing reads; a reduction takes in zeros. The copies that it reads
//! have zeros there. Tiles that divide `e` need no guard, so an intrinsic can do them.
//!
//! # Legality
//!
//! - The stage is no result of the operator (`cache_write` makes one that is none), and no copy; its axis starts at 0, is padded
//!   once, and neither `rfactor` nor a split before `cache_write` made it.
//! - What the stage reads along the axis are copies (`cache_read`), each indexed by the axis alone, in as many dimensions as one
//!   likes; along an axis of its data also stages that are padded as far. No other index depends on the axis, or on data that the
//!   stage reads.
//! - A reduction along the axis is a sum, and each term is known to be 0 where the copies are: a product of two of them, for
//!   instance. A product with something else is not: it may be infinite. The copied tensors end where the axis ends.
//! - Nothing that the stage does with zeros can fail, as an integer division would.
//!
//! Splits, and copies of the copies, may stand before or after it.
//!
//! # Rewrite
//!
//! ```tir
//! for r in 0..10 { AS[r] = A[r]  … }  for r in 0..10 { S[0] = S[0] + AS[r] * BS[r] }
//! -> pad(S.r, multiple = 8)
//! for r in 0..16 { AS[r] = if_then_else(r < 10, A[r], 0.0)  … }  for r in 0..16 { S[0] = S[0] + AS[r] * BS[r] }
//! ```
//!
//! # Known elsewhere as
//!
//! `pad_einsum` (TVM), `tensor.pad` and `transform.structured.pad` (MLIR).

mod reads;
mod zeros;

use super::{Primitive, StagePart};
use crate::body::{Body, Vars, flatten};
use crate::directive::{Cx, Done, Item};
use crate::graph::{AxisId, Graph, Source, StageId};
use crate::remedy::LEAVE_OUT;
use crate::size::Size;
use tc_arith::{BinaryOp, Pool};
use tc_dialects::sched::Pad;
use tc_ir::Loc;

/// An axis of a stage that runs on past its end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PaddedAxis {
    axis: AxisId,
    /// Where it ended before; of a copy that has zeros, where what it copies ends.
    end: Size,
    how: How,
    /// The directive.
    loc: Loc,
}

/// What a stage does past the end of an axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum How {
    /// It computes elements, up to a multiple of this number.
    Computes(i64),
    /// It copies what is padded, too.
    Copies,
    /// It is a copy, and has zeros there.
    Fills,
}

/// Those of a stage.
#[derive(Clone, Default, Debug)]
pub(crate) struct Padded(Vec<PaddedAxis>);

impl Padded {
    fn of(&self, axis: AxisId) -> Option<&PaddedAxis> {
        self.0.iter().find(|padded| padded.axis == axis)
    }
}

/// What a stage computes, and the names of its axes.
struct Flat {
    body: Body,
    pool: Pool,
    vars: Vars,
}

impl Primitive for Pad {
    /// The axis, and those of the copies that follow it; and what divides it then.
    type Legal = (Vec<PaddedAxis>, i64);

    fn legality(cx: &Cx<'_>) -> Done<(Vec<PaddedAxis>, i64)> {
        let axis = cx.axis(cx.operand(0))?;
        let Some(multiple) = cx.param(1) else {
            return Err(cx.mistyped("`pad` takes `multiple = …`").into());
        };
        let multiple = cx.positive(multiple, "multiple")?;
        let stage = cx.graph[axis].stage;
        cx.check_computed(stage)?;
        check_axis(cx, axis)?;
        let end = end_of(cx.graph, axis);
        if let Size::Int(end) = end
            && multiples(&mut Pool::default(), end.into(), multiple).is_none()
        {
            let text = format!("the next multiple of {multiple} after {end} is too large");
            return Err(cx.wrong_number(text).into());
        }
        let mut vars = Vars::new(cx.graph);
        let mut pool = cx.operator.symbols.analyzer(&cx.graph.pool).pool;
        let body = flatten(cx.operator, cx.graph, stage, &mut pool, &mut vars)?;
        let mut flat = Flat { body, pool, vars };
        let mut padded = vec![PaddedAxis { axis, end, how: How::Computes(multiple), loc: cx.loc() }];
        for copy in reads::along(cx, axis, multiple, &mut flat)? {
            reads::follow(cx, axis, copy, &mut padded)?;
        }
        zeros::check(cx, axis, &flat)?;
        Ok((padded, multiple))
    }

    fn edit(cx: &mut Cx<'_>, (padded, multiple): (Vec<PaddedAxis>, i64)) -> Vec<Item> {
        let end = padded[0].end;
        let extent = multiples(&mut cx.graph.pool, end, multiple).expect("what overflows is not legal");
        for one in padded {
            let axis = one.axis;
            let old = cx.graph[axis].domain.map_or(extent, |(_, old)| old);
            // What is copied may be longer, and another stage that reads a copy may need more of it.
            let longest = match (old, extent) {
                (Size::Int(old), Size::Int(new)) => Size::Int(old.max(new)),
                _ if old == end || old == extent => extent,
                _ => {
                    let (old, new) = (old.expr(&mut cx.graph.pool), extent.expr(&mut cx.graph.pool));
                    Size::Expr(cx.graph.pool.binary(BinaryOp::Max, old, new))
                }
            };
            cx.graph[axis].domain = Some((0, longest));
            let stage = cx.graph[axis].stage;
            let Padded(list) = cx.graph[stage].parts.get_or_default();
            list.retain(|other| other.axis != axis);
            list.push(one);
            cx.touch(stage);
        }
        Vec::new()
    }
}

/// Refuses axes of which there may be no more than the operator says.
fn check_axis(cx: &Cx<'_>, axis: AxisId) -> Done<()> {
    let stage = cx.graph[axis].stage;
    let data = &cx.graph[stage];
    let refuse = |text: String, help: &str| Err(cx.error("pad", text).help(help).fix_its(LEAVE_OUT).into());
    if !data.roots().any(|root| root == axis) || data.origin.is_some() {
        let text = format!("`{}` is no axis that the operator declares of `{}`", cx.show(axis), data.name);
        return refuse(text, "name such an axis, and write `pad` before `cache_write` and `rfactor`");
    }
    if let Some(&PaddedAxis { loc, .. }) = data.parts.get::<Padded>().and_then(|padded| padded.of(axis)) {
        let text = format!("how far `{}` runs was said before", cx.show(axis));
        return Err(cx.said_twice(text).label(cx.location(loc), "here").into());
    }
    if data.output {
        let text = format!("`{}` is a result of the operator, which has no elements beyond its end", data.name);
        let help = format!("`cache_write({}, …)` makes a stage that computes it, which can be padded", data.name);
        return refuse(text, &help);
    }
    if data.source == Source::Copy {
        let text = format!("`{}` is a copy, which is as long as those who read it need it", data.name);
        return refuse(text, "pad the axis of the stage that computes with it");
    }
    if !matches!(data.source, Source::Compute(_)) {
        let text = format!("`{}` holds or joins parts of a reduction", data.name);
        return refuse(text, "write `pad` before `rfactor`");
    }
    if let Some((low, _)) = cx.graph[axis].domain
        && low != 0
    {
        let text = format!("`{}` starts at {low}, and not at 0", cx.show(axis));
        return refuse(text, "let it start at 0 in the operator");
    }
    Ok(())
}

/// The first multiple of `multiple` that is not below `end`; `None` where it overflows.
fn multiples(pool: &mut Pool, end: Size, multiple: i64) -> Option<Size> {
    let n = end.parts_of(pool, multiple);
    n.product(pool, Size::Int(multiple))
}

/// Is `stage` a copy that may hold more than what it copies?
fn is_copy(graph: &Graph, stage: StageId) -> bool {
    graph[stage].source == Source::Copy && !graph[stage].output
}

/// Where `axis` ends, or ended before it was padded.
fn end_of(graph: &Graph, axis: AxisId) -> Size {
    let before = graph[graph[axis].stage].parts.get::<Padded>().and_then(|padded| padded.of(axis));
    let whole = graph[axis].domain.map_or(Size::Int(1), |(_, extent)| extent);
    before.map_or(whole, |padded| padded.end)
}

impl StagePart for Padded {
    fn filled_beyond(&self, axis: AxisId) -> Option<(Size, Loc)> {
        self.of(axis).filter(|padded| padded.how == How::Fills).map(|padded| (padded.end, padded.loc))
    }

    fn multiple_of(&self, axis: AxisId) -> Option<i64> {
        match self.of(axis)?.how {
            How::Computes(multiple) => Some(multiple),
            How::Copies | How::Fills => None,
        }
    }
}
