//! Which statements of a loop run ahead, and whether they may.

use super::body::{Body, under};
use super::phases::{self, Phase, Phases};
use super::{groups, refuse, stages};
use indexmap::IndexSet;
use rustc_hash::{FxHashMap, FxHashSet};
use tc_dialects::algebra::is_launch;
use tc_dialects::tir::{self, LoopKind};
use tc_dialects::{forms, tma};
use tc_ir::effects::root_buffer;
use tc_ir::uses::Use;
use tc_ir::walk::{all_ops, ancestors, ops_under};
use tc_ir::{Func, Op, Value, keys};
use tc_support::{Diagnostic, Diagnostics, counted};

/// A buffer that gets versions.
pub(super) struct Staged {
    pub(super) alloc: Op,
    pub(super) buffer: Value,
    /// How many elements a version is from the next.
    pub(super) distance: i64,
    /// How many versions there are: one for each iteration that touches the buffer at one time.
    pub(super) versions: i64,
}

/// A loop whose statements are divided.
pub(super) struct Division {
    pub(super) loop_op: Op,
    /// How many iterations are in flight.
    pub(super) stages: i64,
    pub(super) buffers: Vec<Staged>,
    /// What is done ahead, in order, with the ops that compute the values it takes.
    pub(super) producer: Vec<Op>,
    /// Of these, the statements that write.
    pub(super) writers: IndexSet<Op>,
    /// What of it is done `stages` iterations ahead, for the follower, and what `stages - 1` iterations ahead.
    pub(super) early: Vec<Op>,
    pub(super) late: Vec<Op>,
    /// What is done one iteration ahead with what was copied asynchronously.
    pub(super) follower: Vec<Op>,
    /// The ops that make groups of the producer's asynchronous copies and wait for them; the pipeline has its own.
    pub(super) closers: IndexSet<Op>,
    /// All the rest but allocs and the terminator.
    pub(super) consumer: Vec<Op>,
    /// What is reported of the statements that fill buffers with versions and are not done ahead.
    pub(super) stays: Vec<Diagnostic>,
}

impl Division {
    /// The numbers of versions above one that buffers have, each once.
    pub(super) fn version_counts(&self) -> IndexSet<i64> {
        self.buffers.iter().map(|staged| staged.versions).filter(|&n| n > 1).collect()
    }

    /// Is `buffer` one that gets versions?
    pub(super) fn is_staged(&self, buffer: Value) -> bool {
        self.buffers.iter().any(|staged| staged.buffer == buffer)
    }
}

/// The error of an alloc that stands where nothing runs again and again.
pub(super) fn misplaced(func: &Func, alloc: Op) -> Option<Diagnostic> {
    let parent = func.parent_op(alloc);
    let kind = parent.filter(|&op| func.opcode(op) == tir::FOR).and_then(|op| tir::loop_kind(func, op));
    let name = func.value_text(func.result(alloc)?);
    let error = |text: String| Diagnostic::error("stages", func.op_location(alloc), text);
    let buffer = func.result(alloc)?;
    let reads_it = |&op: &Op| tma::writes_tensor(func, op) && root_buffer(func, tma::sides(func, op)[0]) == buffer;
    if let Some(copy) = all_ops(func).find(reads_it) {
        let text =
            format!("`{name}` is wanted for several iterations at once, and bulk copies read it in the background");
        let found = error(text).label(func.op_location(copy), "this bulk copy is waited for in the next iteration");
        return Some(found.help("take its `stages` off"));
    }
    match (parent, kind) {
        (Some(parent), Some(LoopKind::Serial | LoopKind::Unroll(_))) => {
            let on_chip = !forms::is_global(func, func.result(alloc)?);
            let launches =
                func.op_regions(parent).iter().any(|&region| ops_under(func, region).any(|op| is_launch(func, op)));
            let in_nest = ancestors(func, parent).any(|op| is_launch(func, op));
            (on_chip && launches && !in_nest).then(|| {
                error(format!("`{name}` is wanted for several iterations at once, and does not outlive a kernel"))
                    .label(func.op_location(parent), "each iteration of this loop launches one of its own")
                    .help("bind the threads outside the loop")
            })
        }
        (parent, _) => {
            let text =
                format!("`{name}` is wanted for several iterations at once, so it must be made inside a serial loop");
            let found = error(text)
                .help("make it, and what fills it, directly in the body of the loop that is to be pipelined");
            Some(match parent {
                Some(parent) => found.label(func.op_location(parent), "it is made in the body of this instead"),
                None => found,
            })
        }
    }
}

/// The error of a loop whose variable is so narrow, or ends so far out, that an iteration `stages` later, or where a version
/// starts, may not fit it.
fn narrow(func: &Func, loop_op: Op, stages: i64) -> Option<Diagnostic> {
    let (lo, hi) = (func.operand(loop_op, 0), func.operand(loop_op, 1));
    let elem = func.value_scalar(lo)?.elem;
    let (_, greatest) = elem.int_range()?;
    let ends_far_out = func.const_int(hi).is_some_and(|end| i128::from(end) + i128::from(stages) > greatest);
    if elem.bytes() >= 4 && !ends_far_out {
        return None;
    }
    let text =
        format!("a loop over `{}` cannot be pipelined: it counts past its end", func.show_type(func.value_type(lo)));
    let help = "let it count from 0 in `index` or `i32`, and convert its variable where it is used";
    Some(Diagnostic::error("stages", func.op_location(loop_op), text).help(help))
}

/// Divides the statements of the loop `loop_op`, or tells why not.
pub(super) fn divide(func: &Func, loop_op: Op) -> Result<Division, Diagnostics> {
    let ops: Vec<Op> = func.ops(func.op_regions(loop_op)[0]).filter(|&op| !func.row(op).terminator).collect();
    let mut buffers = buffers(func, &ops)?;
    let stages = stages(func, buffers[0].alloc).unwrap_or(1);
    let body = Body::new(func, loop_op, ops, buffers.iter().map(|staged| staged.buffer).collect());
    let (phases, stays) = phases::assign(&body);
    let mut found = Diagnostics::new();
    if let Some(diagnostic) = narrow(func, loop_op, stages) {
        found.push(diagnostic);
    }
    if phases.producers.is_empty()
        && let Some((&op, stay)) = stays.first()
    {
        found.push(stay.error(&body, op));
    }
    found.append(refuse::check(&body, &phases));
    let closers = groups::closers(func, &body.ops, &phases.producers, &mut found);
    if !found.is_empty() {
        return Err(found);
    }
    let in_phase = |phase: Phase| -> Vec<Op> {
        let is_statement = |op: &Op| !closers.contains(op) && func.opcode(*op) != tir::ALLOC;
        body.ops.iter().copied().filter(|&op| phases.is_in(op, phase)).filter(is_statement).collect()
    };
    let [producer, follower, consumer] = [Phase::Producer, Phase::Follower, Phase::Consumer].map(in_phase);
    let early = early(&body, &phases, &follower);
    let with_values = |is_wanted: &dyn Fn(&Op) -> bool| -> Vec<Op> {
        let slice = body.slice(phases.producers.iter().copied().filter(is_wanted)).ops;
        producer.iter().copied().filter(|op| slice.contains(op)).collect()
    };
    let (early, late) = (with_values(&|op| early.contains(op)), with_values(&|op| !early.contains(op)));
    let lead = |op: Op| -> Vec<i64> {
        let leads = [(&early, stages), (&late, stages - 1), (&follower, 1), (&consumer, 0)];
        leads.into_iter().filter(|(ops, _)| ops.contains(&op)).map(|(_, lead)| lead).collect()
    };
    for staged in &mut buffers {
        let touches = |op: &&Op| body.touches(**op).buffers().any(|buffer| buffer == staged.buffer);
        let leads: Vec<i64> = body.ops.iter().filter(touches).flat_map(|&op| lead(op)).collect();
        let span = leads.iter().max().zip(leads.iter().min()).map_or(1, |(first, last)| first - last + 1);
        // One that only the producer touches has as many as are asked for: each saves a barrier.
        let is_ahead = producer.iter().any(|op| touches(&op));
        staged.versions = if is_ahead { span.max(stages) } else { span };
    }
    let stays = stays.iter().map(|(&op, stay)| stay.remark(&body, op)).collect();
    let writers = phases.producers;
    Ok(Division { loop_op, stages, buffers, producer, writers, early, late, follower, closers, consumer, stays })
}

/// The producers that run one iteration further ahead, since the followers, which are one ahead themselves, touch what
/// they fill; with all producers that share a buffer with one of these.
fn early(body: &Body<'_>, phases: &Phases, follower: &[Op]) -> IndexSet<Op> {
    let inner = |op: Op| body.touches(op).buffers().filter(|&buffer| body.is_inner(buffer));
    let mut touched: FxHashSet<Value> = follower.iter().flat_map(|&op| inner(op)).collect();
    let mut early = IndexSet::new();
    loop {
        let before = early.len();
        for &op in &phases.producers {
            let own: Vec<Value> = body.slice([op]).ops.into_iter().flat_map(inner).collect();
            if own.iter().any(|buffer| touched.contains(buffer)) && early.insert(op) {
                touched.extend(own);
            }
        }
        if early.len() == before {
            return early;
        }
    }
}

/// The buffers of the body that get versions.
fn buffers(func: &Func, ops: &[Op]) -> Result<Vec<Staged>, Diagnostics> {
    let allocs: Vec<Op> = ops.iter().copied().filter(|&op| stages(func, op).is_some()).collect();
    let (mut found, mut list) = (Diagnostics::new(), Vec::new());
    let uses = uses_of(func, &allocs, ops);
    for &alloc in &allocs {
        let Some(buffer) = func.result(alloc) else { continue };
        let name = func.value_text(buffer);
        let first = allocs[0];
        if stages(func, alloc) != stages(func, first) {
            let (own, others) = (stages(func, alloc).unwrap_or(1), stages(func, first).unwrap_or(1));
            let other = func.result(first).map_or("", |buffer| func.value_text(buffer));
            let text = format!("`{name}` has {} and `{other}` has {others}, in one loop", counted(own, "stage"));
            found.push(
                Diagnostic::error("stages", func.op_location(alloc), text)
                    .label(func.op_location(first), format!("`{other}` is made here"))
                    .help("give all buffers of a loop the same number of stages"),
            );
        }
        let uses = uses.get(&buffer).map_or(&[][..], Vec::as_slice);
        let Some(distance) = distance(func, alloc, buffer, uses) else {
            let text = format!("the size of `{name}` is not constant, so it cannot have versions");
            found.push(Diagnostic::error("stages", func.op_location(alloc), text).help("take its `stages` off"));
            continue;
        };
        let whole = |op: Op, idx: usize| {
            idx != 0 || !matches!(func.opcode(op), tir::LOAD | tir::STORE | tir::REF | tir::REGION)
        };
        if let Some(user) = uses.iter().find(|user| whole(user.op, user.idx)) {
            let text = format!("`{}` takes `{name}` as a whole, so it cannot have versions", func.op_name(user.op));
            found.push(
                Diagnostic::error("stages", func.op_location(user.op), text)
                    .label(func.op_location(alloc), "made here")
                    .help("access its elements, or take its `stages` off"),
            );
        }
        list.push(Staged { alloc, buffer, distance, versions: 1 });
    }
    if found.is_empty() { Ok(list) } else { Err(found) }
}

/// The uses of the buffers that `allocs` make, all of which stand under the statements `ops` of the same body.
fn uses_of(func: &Func, allocs: &[Op], ops: &[Op]) -> FxHashMap<Value, Vec<Use>> {
    let mut uses: FxHashMap<Value, Vec<Use>> =
        allocs.iter().filter_map(|&op| func.result(op)).map(|buffer| (buffer, Vec::new())).collect();
    for op in ops.iter().flat_map(|&op| under(func, op)) {
        for (idx, value) in func.operands(op).iter().enumerate() {
            if let Some(list) = uses.get_mut(value) {
                list.push(Use { op, idx });
            }
        }
    }
    uses
}

/// The alignment in bytes that buffers have unless they say otherwise.
const DEFAULT_ALIGNMENT: i64 = 16;

/// How many elements apart versions lie: each is as aligned as the buffer was. `None` where its size is not constant.
fn distance(func: &Func, alloc: Op, buffer: Value, uses: &[Use]) -> Option<i64> {
    let (elem, shape, _) = func.as_shaped(func.value_type(buffer))?;
    let extent = shape.iter().try_fold(1i64, |product, &dim| product.checked_mul(func.as_int(dim)?))?;
    let Some(width) = func.as_scalar(elem).map(|scalar| i64::from(scalar.bytes())) else { return Some(extent) };
    let accesses = uses.iter().filter_map(|user| func.int_of(user.op, keys::ALIGNED));
    let declared = func.int_of(alloc, keys::ALIGN).into_iter();
    let align = accesses.chain(declared).fold(DEFAULT_ALIGNMENT, i64::max);
    let step = (align / width.max(1)).max(1);
    extent.checked_add(step - 1).map(|padded| padded / step * step)
}
