//! What must not be done ahead, in words.

use super::body::{Body, Touches, under};
use super::phases::{Phase, Phases};
use tc_dialects::threads::is_barrier;
use tc_ir::{Op, Value};
use tc_support::{Diagnostic, Diagnostics};

/// What keeps the producer from running ahead of the rest.
pub(super) fn check(body: &Body<'_>, phases: &Phases) -> Diagnostics {
    let mut found = Diagnostics::new();
    let slice = body.slice(phases.producers.iter().copied());
    slice.carried.iter().for_each(|&(user, value)| found.push(body.carried(user, value)));
    slice.computed.iter().for_each(|&(user, def)| found.push(body.computed(user, def)));
    for &op in &body.ops {
        body.check_effects(op, phases.producers.contains(&op), &mut found);
    }
    let is_ahead = |op: Op| phases.is_in(op, Phase::Producer);
    let private = |buffer: Value| body.staged.contains(&buffer) || body.is_inner(buffer);
    for &op in &phases.producers {
        let writes = &body.touches(op).writes;
        let Some(&(own, _)) = writes.iter().find(|(buffer, _)| private(*buffer)) else { continue };
        for &(other, at) in writes.iter().filter(|&&(buffer, _)| !private(buffer)) {
            found.push(body.writes_both(op, own, other, at));
        }
        if let Some(user) = body.user_of_results(op, |other| !is_ahead(other)) {
            found.push(body.hands_on(op, user));
        }
    }
    let (ahead, rest): (Vec<Op>, Vec<Op>) = body.ops.iter().partition(|&&op| is_ahead(op));
    let rest: Vec<&Touches> = rest.into_iter().map(|op| body.touches(op)).collect();
    for op in ahead {
        let own = body.touches(op);
        // Of a buffer with versions, what is done in one iteration is in order.
        for &(buffer, at) in own.reads.iter().filter(|(buffer, _)| !body.staged.contains(buffer)) {
            let mut writes = rest.iter().flat_map(|touches| &touches.writes);
            if let Some(&(other, later)) = writes.find(|(other, _)| body.may_be(buffer, *other)) {
                found.push(body.reads_what_follows(buffer, at, other, later));
            }
        }
        for &(buffer, at) in own.writes.iter().filter(|(buffer, _)| !body.staged.contains(buffer)) {
            let mut others = rest.iter().flat_map(|touches| touches.reads.iter().chain(&touches.writes));
            if let (true, Some(&(_, other))) = (private(buffer), others.find(|(other, _)| *other == buffer)) {
                found.push(body.shares(buffer, at, other));
            }
        }
    }
    found
}

impl Body<'_> {
    fn carried(&self, user: Op, value: Value) -> Diagnostic {
        let func = self.func;
        let text = format!(
            "what fills {} takes `{}`, which the loop carries from one iteration to the next",
            self.names(),
            func.value_text(value)
        );
        Diagnostic::error("stages", func.op_location(user), text)
            .label(func.op_location(self.loop_op), "this loop")
            .help("compute it from the loop variable, or take the `stages` off")
    }

    fn computed(&self, user: Op, def: Op) -> Diagnostic {
        let func = self.func;
        let text = format!("what fills {} takes a value that the rest of the iteration computes", self.names());
        Diagnostic::error("stages", func.op_location(user), text)
            .label(func.op_location(def), "computed here")
            .help("compute it apart from what else that statement does, or take the `stages` off")
    }

    fn check_effects(&self, op: Op, ahead: bool, found: &mut Diagnostics) {
        let func = self.func;
        for inner in under(func, op) {
            if func.row(inner).effect.unknown {
                let text = format!(
                    "the memory that `{}` touches is not known, so nothing can run ahead of it",
                    func.op_name(inner)
                );
                let help = "give the op a row that declares its effects, or inline the call";
                found.push(Diagnostic::error("unknown-effect", func.op_location(inner), text).help(help));
            }
            if ahead && is_barrier(func, inner) {
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

    fn hands_on(&self, op: Op, user: Op) -> Diagnostic {
        let func = self.func;
        let text = format!("the statement that fills {} hands on a value as well", self.names());
        Diagnostic::error("stages", func.op_location(op), text)
            .label(func.op_location(user), "used here")
            .help("divide the statement")
    }
}
