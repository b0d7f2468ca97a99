//! Which statements of a loop run ahead, and whether they may.

use super::{groups, stages};
use indexmap::IndexSet;
use rustc_hash::FxHashSet;
use tc_dialects::algebra::is_launch;
use tc_dialects::tir::{self, LoopKind};
use tc_dialects::{forms, gpu};
use tc_ir::uses::Uses;
use tc_ir::verify::has_flag;
use tc_ir::walk::{ancestors, is_inside, ops_under};
use tc_ir::{Def, Func, Op, Value, effects, keys};
use tc_support::{Diagnostic, Diagnostics};

/// A buffer that gets versions.
pub(super) struct Staged {
    pub(super) alloc: Op,
    pub(super) buffer: Value,
    /// How many elements a version is from the next.
    pub(super) distance: i64,
}

/// A loop whose statements are divided.
pub(super) struct Division {
    pub(super) looped: Op,
    /// How many iterations are in flight.
    pub(super) stages: i64,
    pub(super) buffers: Vec<Staged>,
    /// What is done ahead, in order, with the ops that compute the values it takes.
    pub(super) producer: Vec<Op>,
    /// Of these, the statements that write.
    pub(super) writers: IndexSet<Op>,
    /// The ops that make groups of the producer's asynchronous copies and wait for them; the pipeline has its own.
    pub(super) closers: IndexSet<Op>,
    /// All the rest but allocs and the terminator.
    pub(super) consumer: Vec<Op>,
}

impl Division {
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

/// The error of a loop whose variable is so narrow that a later iteration, or where a version starts, may not fit it.
fn narrow(func: &Func, looped: Op) -> Option<Diagnostic> {
    let lo = func.operand(looped, 0);
    func.value_scalar(lo).filter(|scalar| scalar.elem.bytes() < 4)?;
    let text =
        format!("a loop over `{}` cannot be pipelined: it counts past its end", func.show_type(func.value_type(lo)));
    let help = "let it count in `index` or `i32`, and convert its variable where it is used";
    Some(Diagnostic::error("stages", func.op_location(looped), text).help(help))
}

/// Divides the statements of the loop `looped`, or tells why not.
pub(super) fn divide(func: &Func, looped: Op) -> Result<Division, Diagnostics> {
    let body = func.op_regions(looped)[0];
    let ops: Vec<Op> = func.ops(body).filter(|&op| !func.row(op).terminator).collect();
    let buffers = buffers(func, &ops)?;
    let stages = stages(func, buffers[0].alloc).unwrap_or(1);
    let mut state = Divide { func, looped, ops, staged: buffers.iter().map(|staged| staged.buffer).collect() };
    let writers = state.writers();
    let mut found = Diagnostics::new();
    if let Some(diagnostic) = narrow(func, looped) {
        found.push(diagnostic);
    }
    let producer = state.producer(&writers, &mut found);
    state.check(&writers, &producer, &mut found);
    let closers = groups::closers(func, &state.ops, &writers, &mut found);
    if !found.is_empty() {
        return Err(found);
    }
    let used = state.used_by_the_rest(&producer);
    let is_statement = |op: &Op| {
        let is_rest = if producer.contains(op) { used.contains(op) } else { !closers.contains(op) };
        is_rest && !writers.contains(op) && func.opcode(*op) != tir::ALLOC
    };
    let consumer = state.ops.iter().copied().filter(is_statement).collect();
    let producer = state.ops.iter().copied().filter(|op| producer.contains(op)).collect();
    Ok(Division { looped, stages, buffers, producer, writers, closers, consumer })
}

/// The buffers of the body that get versions.
fn buffers(func: &Func, ops: &[Op]) -> Result<Vec<Staged>, Diagnostics> {
    let allocs: Vec<Op> = ops.iter().copied().filter(|&op| stages(func, op).is_some()).collect();
    let (uses, mut found, mut list) = (Uses::of(func), Diagnostics::new(), Vec::new());
    for &alloc in &allocs {
        let Some(buffer) = func.result(alloc) else { continue };
        let name = func.value_text(buffer);
        let first = allocs[0];
        if stages(func, alloc) != stages(func, first) {
            let (own, others) = (stages(func, alloc).unwrap_or(1), stages(func, first).unwrap_or(1));
            let other = func.result(first).map_or("", |buffer| func.value_text(buffer));
            let text = format!("`{name}` has {own} stages and `{other}` has {others}, in one loop");
            found.push(
                Diagnostic::error("stages", func.op_location(alloc), text)
                    .label(func.op_location(first), format!("`{other}` is made here"))
                    .help("give all buffers of a loop the same number of stages"),
            );
        }
        let Some(distance) = distance(func, alloc, buffer, &uses) else {
            let text = format!("the size of `{name}` is not constant, so it cannot have versions");
            found.push(Diagnostic::error("stages", func.op_location(alloc), text).help("take its `stages` off"));
            continue;
        };
        let whole = |op: Op, idx: usize| {
            idx != 0 || !matches!(func.opcode(op), tir::LOAD | tir::STORE | tir::REF | tir::REGION)
        };
        if let Some(user) = uses.of_value(buffer).iter().find(|user| whole(user.op, user.idx)) {
            let text = format!("`{}` takes `{name}` as a whole, so it cannot have versions", func.op_name(user.op));
            found.push(
                Diagnostic::error("stages", func.op_location(user.op), text)
                    .label(func.op_location(alloc), "made here")
                    .help("access its elements, or take its `stages` off"),
            );
        }
        list.push(Staged { alloc, buffer, distance });
    }
    if found.is_empty() { Ok(list) } else { Err(found) }
}

/// The alignment in bytes that buffers have unless they say otherwise.
const DEFAULT_ALIGNMENT: i64 = 16;

/// How many elements apart versions lie: each is as aligned as the buffer was. `None` where its size is not constant.
fn distance(func: &Func, alloc: Op, buffer: Value, uses: &Uses) -> Option<i64> {
    let (elem, shape, _) = func.as_shaped(func.value_type(buffer))?;
    let extent = shape.iter().try_fold(1i64, |product, &dim| product.checked_mul(func.as_int(dim)?))?;
    let Some(width) = func.as_scalar(elem).map(|scalar| i64::from(scalar.bytes())) else { return Some(extent) };
    let accesses = uses.of_value(buffer).iter().filter_map(|user| func.int_of(user.op, keys::ALIGNED));
    let declared = func.int_of(alloc, keys::ALIGN).into_iter();
    let align = accesses.chain(declared).fold(DEFAULT_ALIGNMENT, i64::max);
    let step = (align / width.max(1)).max(1);
    extent.checked_add(step - 1).map(|padded| padded / step * step)
}

/// What a statement does to memory, all in its regions included.
#[derive(Default)]
struct Touches {
    /// The buffers read, each with an op that does.
    reads: Vec<(Value, Op)>,
    writes: Vec<(Value, Op)>,
}

struct Divide<'f> {
    func: &'f Func,
    looped: Op,
    /// The statements of the body, and the values between them.
    ops: Vec<Op>,
    staged: Vec<Value>,
}

impl Divide<'_> {
    fn touches(&self, op: Op) -> Touches {
        let func = self.func;
        let mut touches = Touches::default();
        let inner = func.op_regions(op).iter().flat_map(|&region| ops_under(func, region));
        for op in std::iter::once(op).chain(inner) {
            for (place, access) in effects::accesses(func, op) {
                let root = effects::root_buffer(func, place);
                if access.reads() && touches.reads.iter().all(|&(seen, _)| seen != root) {
                    touches.reads.push((root, op));
                }
                if access.writes() && touches.writes.iter().all(|&(seen, _)| seen != root) {
                    touches.writes.push((root, op));
                }
            }
        }
        touches
    }

    /// Is the buffer made in the body of the loop?
    fn is_inner(&self, buffer: Value) -> bool {
        self.func
            .def_op(buffer)
            .is_some_and(|def| self.func.opcode(def) == tir::ALLOC && is_inside(self.func, def, self.looped))
    }

    /// The statements that write a staged buffer, and those that fill a buffer of the body on the way to one.
    fn writers(&self) -> IndexSet<Op> {
        let touches: Vec<Touches> = self.ops.iter().map(|&op| self.touches(op)).collect();
        let mut wanted: FxHashSet<Value> = self.staged.iter().copied().collect();
        let mut writers: FxHashSet<Op> = FxHashSet::default();
        loop {
            let before = writers.len();
            for (&op, touches) in self.ops.iter().zip(&touches) {
                if touches.writes.iter().any(|(buffer, _)| wanted.contains(buffer)) && writers.insert(op) {
                    let feeding = self.feeding(op);
                    let reads = feeding.into_iter().flat_map(|op| self.touches(op).reads).map(|(buffer, _)| buffer);
                    wanted.extend(reads.filter(|&buffer| self.is_inner(buffer)));
                }
            }
            if writers.len() == before {
                break;
            }
        }
        self.ops.iter().copied().filter(|op| writers.contains(op)).collect()
    }

    /// The statement `op`, and what computes the values it takes in the same body, as far as that only reads.
    fn feeding(&self, op: Op) -> FxHashSet<Op> {
        let func = self.func;
        let mut found = FxHashSet::from_iter([op]);
        let mut pending = vec![op];
        while let Some(op) = pending.pop() {
            let inner = func.op_regions(op).iter().flat_map(|&region| ops_under(func, region));
            let operands = std::iter::once(op).chain(inner).flat_map(|user| func.operands(user));
            let defs = operands.filter_map(|&value| func.def_op(value)).filter(|def| self.ops.contains(def));
            for def in defs.filter(|&def| effects::only_reads(func, def)) {
                if found.insert(def) {
                    pending.push(def);
                }
            }
        }
        found
    }

    /// The writers, and the ops of the body that compute what they take.
    fn producer(&mut self, writers: &IndexSet<Op>, found: &mut Diagnostics) -> FxHashSet<Op> {
        let func = self.func;
        let body = func.op_regions(self.looped)[0];
        let mut producer: FxHashSet<Op> = writers.iter().copied().collect();
        let mut pending: Vec<Op> = writers.iter().copied().collect();
        let mut told: FxHashSet<Value> = FxHashSet::default();
        while let Some(op) = pending.pop() {
            let inner = func.op_regions(op).iter().flat_map(|&region| ops_under(func, region));
            let operands: Vec<(Op, Value)> = std::iter::once(op)
                .chain(inner)
                .flat_map(|user| func.operands(user).iter().map(move |&value| (user, value)))
                .collect();
            for (user, value) in operands {
                match func.def(value) {
                    Def::Arg(region, idx) if region == body && idx > 0 && told.insert(value) => {
                        found.push(self.carried(user, value));
                    }
                    Def::Result(def, _) if func.region_of(def) == Some(body) && func.opcode(def) != tir::ALLOC => {
                        if producer.contains(&def) {
                            continue;
                        }
                        if effects::only_reads(func, def) {
                            producer.insert(def);
                            pending.push(def);
                        } else if told.insert(value) {
                            found.push(self.computed(user, def));
                        }
                    }
                    _ => {}
                }
            }
        }
        producer
    }

    /// The ops of the producer that hand values to the rest as well: those that only read. Both compute them.
    fn used_by_the_rest(&self, producer: &FxHashSet<Op>) -> FxHashSet<Op> {
        let func = self.func;
        let mut used = FxHashSet::default();
        let rest = self.ops.iter().copied().filter(|op| !producer.contains(op));
        let mut pending: Vec<Op> = rest.chain(func.terminator(func.op_regions(self.looped)[0])).collect();
        while let Some(op) = pending.pop() {
            let inner = func.op_regions(op).iter().flat_map(|&region| ops_under(func, region));
            let operands = std::iter::once(op).chain(inner).flat_map(|user| func.operands(user));
            let defs = operands.filter_map(|&value| func.def_op(value)).filter(|def| producer.contains(def));
            pending.extend(defs.filter(|&def| used.insert(def)));
        }
        used
    }

    fn names(&self) -> String {
        let names: Vec<String> =
            self.staged.iter().map(|&buffer| format!("`{}`", self.func.value_text(buffer))).collect();
        names.join(", ")
    }

    fn carried(&self, user: Op, value: Value) -> Diagnostic {
        let func = self.func;
        let text = format!(
            "what fills {} takes `{}`, which the loop carries from one iteration to the next",
            self.names(),
            func.value_text(value)
        );
        Diagnostic::error("stages", func.op_location(user), text)
            .label(func.op_location(self.looped), "this loop")
            .help("compute it from the loop variable, or take the `stages` off")
    }

    fn computed(&self, user: Op, def: Op) -> Diagnostic {
        let func = self.func;
        let text = format!("what fills {} takes a value that the rest of the iteration computes", self.names());
        Diagnostic::error("stages", func.op_location(user), text)
            .label(func.op_location(def), "computed here")
            .help("compute it apart from what else that statement does, or take the `stages` off")
    }

    /// Refuses a producer that must not run ahead of the consumer.
    fn check(&self, writers: &IndexSet<Op>, producer: &FxHashSet<Op>, found: &mut Diagnostics) {
        let func = self.func;
        for &op in &self.ops {
            self.check_effects(op, writers.contains(&op), found);
        }
        let private = |buffer: Value| self.staged.contains(&buffer) || self.is_inner(buffer);
        for &op in writers {
            let Some(&(own, _)) = self.touches(op).writes.iter().find(|(buffer, _)| private(*buffer)) else { continue };
            for (other, at) in self.touches(op).writes.into_iter().filter(|&(buffer, _)| !private(buffer)) {
                found.push(self.writes_both(op, own, other, at));
            }
            if let Some(user) = self.user_of_results(op, producer) {
                let text = format!("the statement that fills {} hands on a value as well", self.names());
                found.push(
                    Diagnostic::error("stages", func.op_location(op), text)
                        .label(func.op_location(user), "used here")
                        .help("divide the statement"),
                );
            }
        }
        let (ahead, rest): (Vec<Op>, Vec<Op>) = self.ops.iter().partition(|op| producer.contains(*op));
        let rest: Vec<Touches> = rest.into_iter().map(|op| self.touches(op)).collect();
        for op in ahead {
            let own = self.touches(op);
            for (buffer, at) in own.reads {
                let later =
                    rest.iter().flat_map(|touches| &touches.writes).find(|(other, _)| self.may_be(buffer, *other));
                if let Some(&(other, later)) = later {
                    found.push(self.reads_what_follows(buffer, at, other, later));
                }
            }
            for (buffer, at) in own.writes.into_iter().filter(|(buffer, _)| !self.staged.contains(buffer)) {
                let mut others = rest.iter().flat_map(|touches| touches.reads.iter().chain(&touches.writes));
                if let (true, Some(&(_, other))) = (private(buffer), others.find(|(other, _)| *other == buffer)) {
                    found.push(self.shares(buffer, at, other));
                }
            }
        }
    }

    fn check_effects(&self, op: Op, ahead: bool, found: &mut Diagnostics) {
        let func = self.func;
        let inner = func.op_regions(op).iter().flat_map(|&region| ops_under(func, region));
        for inner in std::iter::once(op).chain(inner) {
            if func.row(inner).effect.unknown {
                let text = format!(
                    "nobody knows what memory `{}` touches, so nothing can run ahead of it",
                    func.op_name(inner)
                );
                let help = "give the op a row that declares its effects, or inline the call";
                found.push(Diagnostic::error("unknown-effect", func.op_location(inner), text).help(help));
            }
            if ahead && func.opcode(inner) == gpu::BARRIER {
                let text = format!("a barrier inside what fills {} would wait in another iteration", self.names());
                found.push(
                    Diagnostic::error("stages", func.op_location(inner), text)
                        .help("leave the barriers to `thread-sync`, which comes later"),
                );
            }
        }
    }

    fn writes_both(&self, op: Op, own: Value, other: Value, at: Op) -> Diagnostic {
        let func = self.func;
        let (own, other) = (func.value_text(own), func.value_text(other));
        let text = format!("this statement writes `{own}`, which is filled ahead, and `{other}`, which is not");
        Diagnostic::error("stages", func.op_location(op), text)
            .label(func.op_location(at), format!("`{other}` is written here"))
            .help(format!("divide the statement, or take the `stages` of `{own}` off"))
    }

    fn reads_what_follows(&self, buffer: Value, at: Op, other: Value, later: Op) -> Diagnostic {
        let func = self.func;
        let name = func.value_text(buffer);
        let text = format!("what fills {} reads `{name}`, which the rest of an iteration writes", self.names());
        let mut found = Diagnostic::error("stages", func.op_location(at), text)
            .label(func.op_location(later), "written here, for a later iteration to read");
        if buffer != other {
            let other = func.value_text(other);
            found = found.note(format!("`{other}` is written, and may be the same buffer as `{name}`"));
            return found.help("say that the parameters are different buffers: `attributes {noalias}`");
        }
        found.help("take the `stages` off: a copy that depends on what is computed cannot run ahead of it")
    }

    fn shares(&self, buffer: Value, at: Op, other: Op) -> Diagnostic {
        let func = self.func;
        let name = func.value_text(buffer);
        let text = format!(
            "`{name}` is filled ahead, on the way to {}, and used by the rest of the iteration too",
            self.names()
        );
        Diagnostic::error("stages", func.op_location(at), text)
            .label(func.op_location(other), "used here")
            .help(format!("give `{name}` as many stages, or a copy for each use"))
    }

    /// Where the consumer uses a result of the writer `op`.
    fn user_of_results(&self, op: Op, producer: &FxHashSet<Op>) -> Option<Op> {
        let func = self.func;
        let results: Vec<Value> = func.results(op).collect();
        let uses = |user: &Op| func.operands(*user).iter().any(|value| results.contains(value));
        let rest = self.ops.iter().copied().filter(|other| !producer.contains(other));
        let end = func.terminator(func.op_regions(self.looped)[0]);
        rest.chain(end).find_map(|other| {
            let inner = func.op_regions(other).iter().flat_map(|&region| ops_under(func, region));
            std::iter::once(other).chain(inner).find(|user| uses(user))
        })
    }

    /// May the two be one buffer?
    fn may_be(&self, a: Value, b: Value) -> bool {
        let func = self.func;
        let unsure = |value: Value| func.def_op(value).is_none() && forms::is_global(func, value);
        a == b || (unsure(a) && unsure(b) && !has_flag(func, func.header.attrs, keys::NOALIAS))
    }
}
