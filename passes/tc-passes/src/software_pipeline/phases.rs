//! In which phase of a step each statement of the body is done.
//!
//! A step of the pipelined loop has up to three phases, for iterations that follow each other: the producer fills buffers
//! for a later iteration; the follower, where there are asynchronous copies, makes of what was copied what the next
//! iteration reads; the consumer does the rest of this one. Within an iteration the phases run in that order, so a
//! statement may be done in an earlier phase only if it depends on none that is done in a later one and stands before it
//! in the text. What may not is left to the consumer, where the order of the text holds.

use super::body::{Body, under};
use super::dependents::dependents;
use crate::analysis::access::is_private;
use indexmap::{IndexMap, IndexSet};
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};
use tc_dialects::threads::is_barrier;
use tc_ir::{Op, Value};
use tc_support::Diagnostic;

/// A phase of a step, in the order in which they run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Phase {
    Producer,
    Follower,
    Consumer,
}

/// The statements that would fill buffers ahead, and are left to the consumer, each with the reason.
pub(super) type Stays = IndexMap<Op, Stay, FxBuildHasher>;

/// Why a statement is left to the consumer.
pub(super) struct Stay {
    /// Completes "`S` is filled where it stands, and not ahead: ".
    reason: String,
    /// The op that keeps it, and what that does.
    keeper: Option<(Op, &'static str)>,
    /// The help.
    help: Option<&'static str>,
}

impl Stay {
    pub(super) fn new(reason: impl Into<String>) -> Stay {
        Stay { reason: reason.into(), keeper: None, help: None }
    }

    fn by(self, op: Op, what: &'static str) -> Stay {
        Stay { keeper: Some((op, what)), ..self }
    }

    fn help(self, help: &'static str) -> Stay {
        Stay { help: Some(help), ..self }
    }

    /// `found` at the statement `op`, with the reason and what keeps it.
    fn told(&self, body: &Body<'_>, op: Op, make: impl Fn(String) -> Diagnostic) -> Diagnostic {
        let func = body.func;
        let filled = body.touches(op).writes.iter().find(|(buffer, _)| body.is_inner(*buffer));
        let name = filled.map_or("", |&(buffer, _)| func.value_text(buffer));
        let found = make(format!("`{name}` is filled where it stands, and not ahead: {}", self.reason));
        let found = match self.keeper {
            Some((keeper, what)) => found.label(func.op_location(keeper), what),
            None => found,
        };
        match self.help {
            Some(help) => found.help(help),
            None => found,
        }
    }

    /// The remark that the statement `op` is not done ahead.
    pub(super) fn remark(&self, body: &Body<'_>, op: Op) -> Diagnostic {
        let at = body.func.op_location(op);
        self.told(body, op, |text| Diagnostic::remark("not-ahead", at.clone(), text))
    }

    /// The error that nothing else is done ahead either.
    pub(super) fn error(&self, body: &Body<'_>, op: Op) -> Diagnostic {
        let at = body.func.op_location(op);
        self.told(body, op, |text| Diagnostic::error("stages", at.clone(), text))
            .note("nothing else fills a buffer of several stages in this loop")
            .help("take the `stages` off, or fill the buffer before anything reads it")
    }
}

/// The phases of all statements of a body.
pub(super) struct Phases {
    /// The statements that fill buffers ahead, in the order of the text.
    pub(super) producers: IndexSet<Op>,
    pub(super) followers: IndexSet<Op>,
    /// With what computes the values that they take.
    producing: FxHashSet<Op>,
    following: FxHashSet<Op>,
    /// What of these the consumer needs as well.
    used: FxHashSet<Op>,
}

/// The phases, and the statements that are left to the consumer.
pub(super) fn assign(body: &Body<'_>) -> (Phases, Stays) {
    let mut stays = Stays::default();
    // Each round leaves at least one statement more where it is.
    loop {
        let writers = body.writers(&stays);
        let (phases, bound) = Phases::of(body, writers);
        let mut new = bound;
        phases.kept_followers(body, &mut new);
        phases.out_of_order(body, &mut new);
        phases.companions(body, &mut new);
        if new.is_empty() {
            return (phases, stays);
        }
        stays.extend(new);
    }
}

impl Phases {
    /// Those of the writers, and the writers that cannot have any because they make copies that depend on others.
    fn of(body: &Body<'_>, writers: IndexSet<Op>) -> (Phases, Stays) {
        let (found, bound) = dependents(body, &writers);
        let (followers, producers): (IndexSet<Op>, IndexSet<Op>) =
            writers.into_iter().partition(|op| found.contains(op));
        let producing = body.slice(producers.iter().copied()).ops;
        let following = body.slice(followers.iter().copied()).ops;
        let used = body.used_by_the_rest(|op| producing.contains(&op) || following.contains(&op));
        (Phases { producers, followers, producing, following, used }, bound)
    }

    /// Is `op` done in `phase`? What only reads may be done in several.
    pub(super) fn is_in(&self, op: Op, phase: Phase) -> bool {
        let is_ahead = self.producing.contains(&op) || self.following.contains(&op);
        match phase {
            Phase::Producer => self.producing.contains(&op),
            Phase::Follower => self.following.contains(&op),
            Phase::Consumer => !is_ahead || self.used.contains(&op),
        }
    }

    /// Is the buffer touched in `phase`?
    fn touches(&self, body: &Body<'_>, buffer: Value, phase: Phase) -> bool {
        body.ops.iter().any(|&op| self.is_in(op, phase) && body.touches(op).buffers().any(|other| other == buffer))
    }

    /// Followers that are left to the consumer.
    fn kept_followers(&self, body: &Body<'_>, stays: &mut Stays) {
        for &op in self.followers.iter() {
            if let Some(stay) = self.keeps(body, op) {
                stays.entry(op).or_insert(stay);
            }
        }
    }

    /// What keeps the follower `op` from being done an iteration ahead.
    fn keeps(&self, body: &Body<'_>, op: Op) -> Option<Stay> {
        let func = body.func;
        let slice = body.slice([op]);
        if let Some(&(user, value)) = slice.carried.first() {
            let text = format!("it takes `{}`, which the loop carries", func.value_text(value));
            return Some(Stay::new(text).by(user, "used here"));
        }
        if let Some(&(_, def)) = slice.computed.first() {
            return Some(
                Stay::new("it takes a value that the rest of the iteration computes").by(def, "computed here"),
            );
        }
        if let Some(barrier) = under(func, op).find(|&inner| is_barrier(func, inner)) {
            return Some(
                Stay::new("threads meet in it").by(barrier, "at this barrier").help("leave barriers to `thread-sync`"),
            );
        }
        if let Some(user) = body.user_of_results(op, |other| !slice.ops.contains(&other)) {
            return Some(Stay::new("it hands on a value as well").by(user, "used here"));
        }
        for &(buffer, at) in &body.touches(op).writes {
            let name = func.value_text(buffer);
            if !body.is_inner(buffer) {
                return Some(
                    Stay::new(format!("it writes `{name}` as well, which is not filled ahead")).by(at, "here"),
                );
            }
            if is_private(func, buffer) && self.touches(body, buffer, Phase::Consumer) {
                return Some(Stay::new("registers have no addresses, so there is one set of them for all iterations"));
            }
        }
        let closure: Vec<Op> = body.ops.iter().copied().filter(|op| slice.ops.contains(op)).collect();
        for &inner in &closure {
            for &(buffer, at) in &body.touches(inner).reads {
                // Of a buffer with versions the order in one iteration is all that counts.
                let written = body.ops.iter().filter(|&&other| self.is_in(other, Phase::Consumer));
                let written = written.flat_map(|&other| &body.touches(other).writes);
                let mut written = written.filter(|(other, _)| body.may_be(buffer, *other));
                if let (false, Some(_)) = (body.staged.contains(&buffer), written.next()) {
                    let text = format!("it reads `{}`, which the rest of an iteration writes", func.value_text(buffer));
                    return Some(Stay::new(text).by(at, "read here"));
                }
            }
            for buffer in body.touches(inner).buffers().filter(|&buffer| body.is_shared_by_iterations(buffer)) {
                if [Phase::Producer, Phase::Consumer].into_iter().any(|phase| self.touches(body, buffer, phase)) {
                    let name = func.value_text(buffer);
                    return Some(Stay::new(format!("it shares `{name}`, of which there is one for all iterations")));
                }
            }
        }
        None
    }

    /// Statements that would be done before what they depend on: they touch a buffer with versions after a statement of a
    /// later phase does, and one of the two writes it.
    fn out_of_order(&self, body: &Body<'_>, stays: &mut Stays) {
        let mut latest: FxHashMap<Value, Latest> = FxHashMap::default();
        for &op in &body.ops {
            for phase in [Phase::Producer, Phase::Follower, Phase::Consumer] {
                if !self.is_in(op, phase) {
                    continue;
                }
                let touches = body.touches(op);
                let is_staged = |buffer: &Value| body.staged.contains(buffer);
                let mut done_in = phase;
                let before_writes = touches.writes.iter().map(|&(buffer, _)| (buffer, true));
                let before_reads = touches.reads.iter().map(|&(buffer, _)| (buffer, false));
                for (buffer, writes) in before_writes.chain(before_reads).filter(|(buffer, _)| is_staged(buffer)) {
                    let Some((keeper, what)) = latest.get(&buffer).and_then(|latest| latest.after(phase, writes))
                    else {
                        continue;
                    };
                    for writer in self.writers_that_need(body, op, phase) {
                        let name = body.func.value_text(buffer);
                        let text = format!("`{name}` is used before it in the same iteration");
                        let help = "give what is filled later a buffer of its own";
                        stays.entry(writer).or_insert_with(|| Stay::new(text).by(keeper, what).help(help));
                    }
                    done_in = Phase::Consumer;
                }
                for &(buffer, at) in touches.reads.iter().filter(|(buffer, _)| is_staged(buffer)) {
                    let latest = latest.entry(buffer).or_default();
                    latest.read = later(latest.read, (done_in, at));
                }
                for &(buffer, at) in touches.writes.iter().filter(|(buffer, _)| is_staged(buffer)) {
                    let latest = latest.entry(buffer).or_default();
                    latest.written = later(latest.written, (done_in, at));
                }
            }
        }
    }

    /// The statements of `phase` that `op` is, or computes values for.
    fn writers_that_need(&self, body: &Body<'_>, op: Op, phase: Phase) -> Vec<Op> {
        let writers = if phase == Phase::Producer { &self.producers } else { &self.followers };
        if writers.contains(&op) {
            return vec![op];
        }
        writers.iter().copied().filter(|&writer| body.slice([writer]).ops.contains(&op)).collect()
    }

    /// What one follower begins and another one goes on with stays together.
    fn companions(&self, body: &Body<'_>, stays: &mut Stays) {
        let kept: Vec<Op> = stays.keys().copied().filter(|op| self.followers.contains(op)).collect();
        let buffers: FxHashSet<Value> =
            kept.iter().flat_map(|&op| body.touches(op).writes.iter().map(|&(buffer, _)| buffer)).collect();
        for &op in &self.followers {
            if body.touches(op).writes.iter().any(|(buffer, _)| buffers.contains(buffer)) {
                stays.entry(op).or_insert_with(|| Stay::new("another statement that fills it cannot go ahead"));
            }
        }
    }
}

/// The latest phases in which a buffer was touched so far, each with an op that did.
#[derive(Default)]
struct Latest {
    read: Option<(Phase, Op)>,
    written: Option<(Phase, Op)>,
}

impl Latest {
    /// What was done to the buffer, in a phase after `phase`, that an access has to come after.
    fn after(&self, phase: Phase, writes: bool) -> Option<(Op, &'static str)> {
        let read = self.read.filter(|_| writes).map(|found| (found, "read here"));
        let written = self.written.map(|found| (found, "written here"));
        let found = [read, written].into_iter().flatten().find(|((done, _), _)| *done > phase);
        found.map(|((_, op), what)| (op, what))
    }
}

fn later(known: Option<(Phase, Op)>, new: (Phase, Op)) -> Option<(Phase, Op)> {
    known.filter(|known| known.0 >= new.0).or(Some(new))
}
