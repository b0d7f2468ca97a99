//! Diagnostics in a program that a schedule made: which directive they come from, and who has to act.
//!
//! Such a program is run as it reads back from its own text. An access there comes from the op at the same place of the
//! program that was printed, which knows the directive that put it there.

use super::build::Built;
use super::cases::Case;
use std::collections::BTreeMap;
use tc_dialects::te;
use tc_ir::locs::LocKind;
use tc_ir::walk::all_ops;
use tc_ir::{AttrData, Func, Module, Op, Opcode, keys};
use tc_schedule::primitives;
use tc_sim::{CheckOptions, Limits, check_against_definition, exercise};
use tc_support::{Diagnostic, Fault, Location, Pos};

/// The directives that the ops of a text come from.
#[derive(Clone, Default, Debug)]
pub struct Origins {
    directives: BTreeMap<Pos, Location>,
}

impl Origins {
    /// The origins of the ops of `read`, which is `printed` as it reads back from its text.
    pub(super) fn of(printed: &Module, read: &Module) -> Origins {
        let mut origins = Origins::default();
        for (printed, read) in printed.items.iter().zip(&read.items) {
            origins.add(printed, read);
        }
        origins
    }

    /// Text orders what computes as it pleases; ops of one kind keep their order, and there are as many.
    fn add(&mut self, printed: &Func, read: &Func) {
        let by_kind = |func: &Func| {
            let mut ops: BTreeMap<Opcode, Vec<Op>> = BTreeMap::new();
            all_ops(func).for_each(|op| ops.entry(func.opcode(op)).or_default().push(op));
            ops
        };
        let (before, after) = (by_kind(printed), by_kind(read));
        for (opcode, ops) in after {
            let Some(from) = before.get(&opcode).filter(|from| from.len() == ops.len()) else { continue };
            for (&op, &from) in ops.iter().zip(from) {
                let (LocKind::Pos(pos), Some(directive)) =
                    (read.op_locs(op).source.kind(), printed.directive_location(from))
                else {
                    continue;
                };
                self.directives.entry(pos).or_insert(directive);
            }
        }
    }

    /// `found`, at the directive that made what it is found at; the line of the program becomes a label.
    pub(super) fn at_directive(&self, mut found: Diagnostic) -> Diagnostic {
        let Location::Span(span) = &found.location else { return found };
        let Some(directive) = self.directives.get(&span.start) else { return found };
        let place = std::mem::replace(&mut found.location, directive.clone());
        let is_shown = found.labels.iter().any(|label| label.location == place);
        if is_shown { found } else { found.label(place, "in the program that the schedule makes") }
    }
}

/// Is what is wrong with the program of `case` a bug of the compiler, if its operator is sound? The program is made by a
/// schedule, and the author promises nothing in it: a condition of a store, an intrinsic or a combiner of the file.
pub(super) fn is_of_compiler(module: &Module, case: &Case) -> bool {
    let Some(schedule) = case.schedule.map(|schedule| &module.items[schedule]) else { return false };
    let of_file = |opcode: Opcode, symbol: &str| {
        module.items.iter().any(|item| item.header.opcode == opcode && item.symbol() == symbol)
    };
    let promises =
        |schedule: &Func, op: Op| match schedule.attr_named(op, "intrin").map(|attr| schedule.attr_data(attr)) {
            Some(AttrData::Symbol(intrinsic)) => of_file(te::INTRIN, intrinsic),
            _ => primitives().iter().any(|info| info.opcode == schedule.opcode(op) && info.promises),
        };
    let operator = &module.items[case.func];
    let combines = |op: Op| {
        operator.opcode(op) == te::REDUCE
            && operator.word_of(op, keys::COMBINER).is_some_and(|name| of_file(te::COMBINER, name))
    };
    // What a schedule chooses from is the author's as well.
    let named = |op: Op| match schedule.attr_named(op, "schedule").map(|attr| schedule.attr_data(attr)) {
        Some(AttrData::Symbol(name)) => {
            module.schedules_for(operator.symbol()).map(|at| &module.items[at]).find(|other| other.symbol() == &**name)
        }
        _ => None,
    };
    let chosen: Vec<&Func> = all_ops(schedule).filter_map(named).chain([schedule]).collect();
    let promised = |schedule: &&Func| all_ops(schedule).any(|op| promises(schedule, op));
    !chosen.iter().any(promised) && !all_ops(operator).any(combines)
}

/// Is what is wrong with the program of `case` a bug of the passes that rewrote it? The author's own program, run as it is
/// written, is right.
pub(super) fn is_of_passes((module, case): (&Module, &Case), built: &Built, limits: Limits) -> bool {
    if case.schedule.is_some() || !built.rewritten {
        return false;
    }
    let options = CheckOptions { sizes: built.sizes.clone(), limits, ..CheckOptions::default() };
    let program = (module, module.items[case.func].symbol());
    let report = match case.definition {
        Some(operator) => check_against_definition((module, module.items[operator].symbol()), program, &options),
        None => exercise(program.0, program.1, &options),
    };
    report.is_ok_and(|report| report.is_ok())
}

/// `found` as a bug of the compiler.
pub(super) fn blame_compiler(mut found: Diagnostic) -> Diagnostic {
    if found.is_error() && found.code != "limit" {
        found.fault = Fault::Bug;
        found.notes.push("what the author wrote is sound, so this is a bug of tc".to_string());
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Compiler;

    const FILE: &str = "
te.combiner @last(a: f32, b: f32) {
  identity {
    yield 0.0
  }
  yield b
}
te.intrin @tile(A: f32[8]) -> (C: f32[8]) {
  compute C[i: 8] = A[i]
  body {
    for i in 0..8 {
      C[i] = A[i]
    }
  }
}
te.func @f(A: f32[8]) -> f32[8] {
  compute B[i: 8] = A[i]
  return B
}
te.func @g(A: f32[8, 4]) -> f32[8] {
  compute B[i: 8] = last[k: 4](A[i, k])
  return B
}
tir.func @p(A: f32[8], B: f32[8]) attributes {implements = @f} {
  for i in 0..8 {
    B[i] = A[i]
  }
}
schedule @plain for @f, @g {
  bind(B.i, threadIdx.x)
}
schedule @stated for @f {
  set_store_predicate(B, B.i < 4)
}
schedule @marked for @f {
  tensorize(B.i, @tile)
}
";

    fn of_compiler(func: &str, schedule: Option<&str>) -> bool {
        let module = Compiler::new().parse("f.tir", FILE).expect("a good file").module;
        let named = |name: &str| module.items.iter().position(|item| item.symbol() == name).expect("it is there");
        let case = Case { func: named(func), schedule: schedule.map(named), definition: None };
        is_of_compiler(&module, &case)
    }

    #[test]
    fn what_the_author_promises_is_the_authors() {
        assert!(of_compiler("f", Some("plain")));
        for (func, schedule) in [("g", Some("plain")), ("f", Some("stated")), ("f", Some("marked")), ("p", None)] {
            assert!(!of_compiler(func, schedule), "{func} {schedule:?}");
        }
    }

    #[test]
    fn a_bug_is_told_as_one_but_costs_are_not() {
        let blamed = blame_compiler(Diagnostic::error("race", Location::None, "a race"));
        assert_eq!((blamed.fault, blamed.notes.len()), (Fault::Bug, 1));
        assert_eq!(blame_compiler(Diagnostic::error("limit", Location::None, "too long")).fault, Fault::Input);
        assert_eq!(blame_compiler(Diagnostic::warning("race", Location::None, "harmless")).fault, Fault::Input);
    }
}
