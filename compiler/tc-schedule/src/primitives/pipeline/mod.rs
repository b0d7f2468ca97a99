//! Makes a software pipeline: the stages that are computed inside a loop run ahead of their readers.
//!
//! # Arguments
//!
//! `pipeline(axis, stages = n)`: the stages attached at the loop get buffers for `n` iterations, so that `n - 1` of
//! them are filled before the first is read. With `n = 1` nothing changes. Stages in accumulators, in numbers for rows and in
//! left factors of a warpgroup are excluded, since they are computed from the buffers that run ahead.
//!
//! `async_copies = [S, T]` names the stages that asynchronous copies fill: the threads start the copies and continue,
//! and wait only before they read. No registers hold the data on the way, so more stages fit. If another stage attached
//! at the loop is computed from these copies in shared memory, such as dequantized weights, it runs one iteration
//! ahead, in two buffers, and the copies run one iteration further ahead.
//!
//! # Legality
//!
//! - `axis` is a serial loop of its stage.
//! - `n` is 1 to 64; with `async_copies` at least 2.
//! - At the end of the schedule a stage is attached at the loop.
//! - Each stage of `async_copies` is attached at the loop too, is in shared memory, and copies (`cache_read`) one
//!   tensor of global memory; inlined stages between, such as a padding, read nothing else.
//!
//! The pass `inject-async-copy` checks whether each copy can be asynchronous (4, 8 or 16 contiguous bytes, copied
//! unchanged).
//!
//! # Rewrite
//!
//! ```tir
//! for i in 0..8 { alloc T: f32[4] in shared  … }
//! -> pipeline(B.i, stages = 3)
//! for i in 0..8 { alloc T: f32[4] in shared attributes {stages = 3}  … }
//! ```
//!
//! With `async_copies = [T]` the buffer has `async = true` as well. The pass `software-pipeline` makes the buffers and
//! lets the statements that fill them run ahead.
//!
//! # Known elsewhere as
//!
//! `software_pipeline_stage` (TVM), `num_stages` (Triton), `scf-for-loop-pipelining` (MLIR).

mod check;

use super::{AxisPart, Primitive, StagePart};
use crate::check::Check;
use crate::directive::{Cx, Done, Item};
use crate::graph::{AxisId, Graph, Source, StageId};
use tc_dialects::fragment::{Family, Use};
use tc_dialects::sched::Pipeline;
use tc_ir::attrs::AttrData;
use tc_ir::{Attr, Func, Loc, Name, keys};

/// How many iterations may be in flight.
const MAX_STAGES: i64 = 64;

/// A loop, for how many of its iterations buffers are kept, and the stages that are filled by asynchronous copies.
pub(crate) struct Depth {
    axis: AxisId,
    stages: i64,
    copies: Vec<StageId>,
}

/// For how many iterations the buffers made in a loop are kept, and the directive that says so.
#[derive(Clone, Debug)]
pub(crate) struct Pipelined {
    stages: i64,
    loc: Loc,
}

/// A stage that is copied asynchronously: the loop that is pipelined with it, and the directive that says so.
#[derive(Clone, Debug)]
pub(crate) struct CopiedAhead {
    axis: AxisId,
    loc: Loc,
}

impl Primitive for Pipeline {
    type Legal = Depth;

    fn legality(cx: &Cx<'_>) -> Done<Depth> {
        let axis = cx.leaf(cx.operand(0))?;
        cx.check_unsaid(axis)?;
        let Some(stages) = cx.param(1) else {
            return Err(cx.mistyped("`pipeline` takes `stages = …`").into());
        };
        let stages = cx.positive(stages, "number of stages")?;
        if stages > MAX_STAGES {
            return Err(cx.wrong_number(format!("a pipeline has at most {MAX_STAGES} stages, not {stages}")).into());
        }
        let copies = cx.sched.param_operands(cx.at, 2).iter();
        let copies = copies.map(|&copy| check_copy(cx, cx.computed(copy)?)).collect::<Done<Vec<StageId>>>()?;
        if stages < 2 && !copies.is_empty() {
            let text = "with one stage each copy is waited for at once, so none runs while another part is read";
            return Err(cx.wrong_number(text).help("take 2 stages or more, or leave out `async_copies`").into());
        }
        Ok(Depth { axis, stages, copies })
    }

    fn edit(cx: &mut Cx<'_>, Depth { axis, stages, copies }: Depth) -> Vec<Item> {
        let loc = cx.loc();
        cx.graph[axis].parts.set(Pipelined { stages, loc });
        cx.touch_loop(axis);
        for copy in copies {
            cx.graph[copy].parts.set(CopiedAhead { axis, loc });
            cx.touch(copy);
        }
        Vec::new()
    }
}

impl AxisPart for Pipelined {
    fn check(&self, check: &mut Check<'_>, stage: StageId, axis: AxisId) {
        if check.is_whole() {
            check::runs_ahead(self, check, stage, axis);
        }
    }

    /// What a warp or a warpgroup computes in registers does not run ahead of a loop: it is made of what does. Nor do results
    /// that leave by bulk copies, which trail it.
    fn n_buffers_of(&self, graph: &Graph, stage: StageId) -> Option<i64> {
        let is_made =
            matches!(graph.scope_of(stage).tiles(), Some((Family::Wgmma, _) | (_, Use::Accumulator | Use::Rows)));
        let trails = graph[stage].parts.iter().any(|part| part.leaves_in_bulk());
        (!is_made && !trails).then_some(self.stages)
    }
}

impl StagePart for CopiedAhead {
    fn check(&self, check: &mut Check<'_>, stage: StageId) {
        if check.is_whole() {
            check::copies_global_memory(self, check, stage);
        }
    }

    fn attrs(&self, func: &mut Func, _: Option<&[i64]>) -> Vec<(Name, Attr)> {
        vec![(keys::ASYNC, func.attr(AttrData::Bool(true)))]
    }
}

/// Refuses a stage that is computed: only a copy can be made while threads do something else.
fn check_copy(cx: &Cx<'_>, stage: StageId) -> Done<StageId> {
    let data = &cx.graph[stage];
    if data.source == Source::Copy && !data.output {
        return Ok(stage);
    }
    let text = format!("`{}` is computed, and an asynchronous copy changes nothing on the way", data.name);
    let help = format!("name copies into shared memory: `cache_read({}, shared, …)` makes one", data.name);
    Err(cx.error("async-copy", text).help(help).into())
}
