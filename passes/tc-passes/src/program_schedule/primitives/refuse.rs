//! What several directives say when they are refused.

use super::super::cx::{Cx, Refused};
use super::super::dependences::Obstacle;
use super::super::nest::Imperfect;
use super::super::stage::NoProducer;
use tc_ir::{Op, Value};
use tc_support::Diagnostic;

impl Cx<'_> {
    /// Loops that are no perfect nest.
    pub(super) fn imperfect(&self, outer: Op, inner: Op, why: Imperfect) -> Refused {
        let (outer_name, inner_name) = (self.loop_name(outer), self.loop_name(inner));
        let text = format!("`{}` takes loops that stand directly in one another", self.by);
        let error = self.error("not-nested", text);
        let error = match why {
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
        let error = self.error(code, text);
        match obstacle {
            Obstacle::Unknown(op) => {
                let name = self.func().op_name(*op);
                error.label(self.place(*op), format!("what `{name}` reads and writes is not known"))
            }
            Obstacle::Conflict { first, second, buffer, distance } => {
                let func = self.func();
                let name = self.show(*buffer);
                let writes = |op: Op| func.opcode(op) == tc_dialects::tir::STORE;
                let how = |op: Op| if writes(op) { "written" } else { "read" };
                let error = if first == second {
                    error.label(self.place(*first), format!("`{name}` is written here, maybe by both"))
                } else {
                    let error = error.label(self.place(*first), format!("`{name}` is {} here", how(*first)));
                    error.label(self.place(*second), format!("and {} here", how(*second)))
                };
                match distance {
                    Some(distance) if !distance.is_empty() => {
                        let names: Vec<String> = distance.iter().map(|&(op, _)| self.loop_name(op)).collect();
                        let steps = distance.iter().map(|(_, by)| by.map_or("*".to_string(), |by| by.to_string()));
                        let steps: Vec<String> = steps.collect();
                        error.note(format!("distance of the two in ({}): ({})", names.join(", "), steps.join(", ")))
                    }
                    _ => error.note("at which distance the two touch one element is not known"),
                }
            }
        }
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
