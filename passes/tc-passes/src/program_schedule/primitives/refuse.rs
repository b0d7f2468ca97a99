//! What several directives say when they are refused.

use super::super::cx::{Cx, Refused};
use super::super::dependences::Obstacle;
use super::super::nest::Imperfect;
use super::super::nest::var;
use super::super::stage::NoProducer;
use tc_dialects::tir;
use tc_ir::{Func, Op, Value};
use tc_support::{Diagnostic, suggest};

impl Cx<'_> {
    /// Loops that are no perfect nest.
    pub(super) fn imperfect(&self, outer: Op, inner: Op, why: Imperfect) -> Refused {
        let (outer_name, inner_name) = (self.loop_name(outer), self.loop_name(inner));
        let text = format!("`{}` takes loops that stand directly in one another", self.by);
        let error = self.error("not-nested", text);
        let error = match why {
            Imperfect::Carries(op) => error
                .label(
                    self.place(op),
                    format!("`{}` carries values from one iteration to the next", self.loop_name(op)),
                )
                .help("keep what is carried in a buffer"),
            Imperfect::Outside => error.note(format!("`{inner_name}` is not inside `{outer_name}`")),
            Imperfect::Between(op) => error
                .label(self.place(op), format!("this stands between `{outer_name}` and `{inner_name}`"))
                .help("`distribute` gives each statement of a loop a loop of its own"),
            Imperfect::Bounds(op) => error
                .label(self.place(op), format!("the bounds of `{}` follow a loop around it", self.loop_name(op)))
                .help("write constant bounds, and a condition inside"),
        };
        error.into()
    }

    /// An order that accesses forbid.
    pub(super) fn forbidden(&self, code: &'static str, text: String, obstacle: &Obstacle) -> Diagnostic {
        explained(self.func(), self.error(code, text), obstacle)
    }

    /// A buffer that no nest over its elements computes.
    pub(super) fn no_producer(&self, buffer: Value, why: NoProducer) -> Diagnostic {
        let text = format!("`{}` takes a buffer that one nest of loops computes, an element an iteration", self.by);
        let error = self.error("not-computed", text).note(format!("`{}`: {}", self.show(buffer), why.text));
        match why.at {
            Some(op) => error.label(self.place(op), "here"),
            None => error,
        }
    }
}

/// `error` with what forbids an order.
pub(in super::super) fn explained(func: &Func, error: Diagnostic, obstacle: &Obstacle) -> Diagnostic {
    let place = |op: Op| func.op_location(op);
    let (first, second, buffers, distance) = match obstacle {
        Obstacle::Unknown(op) => {
            let name = func.op_name(*op);
            return error.label(place(*op), format!("what `{name}` reads and writes is not known"));
        }
        Obstacle::Conflict { first, second, buffers, distance } => (*first, *second, buffers, distance),
    };
    let [name, other] = buffers.map(|buffer| suggest::shorten(func.value_text(buffer)).to_string());
    let how = |op: Op| if func.opcode(op) == tir::STORE { "written" } else { "read" };
    let error = if first == second {
        error.label(place(first), format!("`{name}` is written here, maybe by both"))
    } else {
        let error = error.label(place(first), format!("`{name}` is {} here", how(first)));
        error.label(place(second), format!("and `{other}` {} here", how(second)))
    };
    if buffers[0] != buffers[1] {
        let help = format!("if no caller passes one array for `{name}` and `{other}`, say `attributes {{noalias}}`");
        return error.help(help);
    }
    match distance {
        Some(distance) if !distance.is_empty() => {
            let name_of = |op: Op| suggest::shorten(func.value_text(var(func, op))).to_string();
            let names: Vec<String> = distance.iter().map(|&(op, _)| name_of(op)).collect();
            let steps = distance.iter().map(|(_, by)| by.map_or("*".to_string(), |by| by.to_string()));
            let steps: Vec<String> = steps.collect();
            error.note(format!("distance of the two in ({}): ({})", names.join(", "), steps.join(", ")))
        }
        _ => error.note("at which distance the two touch one element is not known"),
    }
}
