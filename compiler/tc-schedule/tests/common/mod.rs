//! What the tests of this crate share.
#![allow(dead_code, reason = "each test file uses a part")]

use tc_ir::print::{PrintOptions, print_func};
use tc_ir::{Func, Module};
use tc_schedule::Options;
use tc_support::Diagnostics;

/// Parses `text`, which must be right.
pub(crate) fn parse(text: &str) -> Module {
    let registry = tc_dialects::shared_registry();
    let (module, found) = tc_syntax::parse_module("test.tir", text, &registry, &Default::default());
    let messages: Vec<&str> = found.iter().map(|diagnostic| diagnostic.message.as_str()).collect();
    assert!(!found.has_errors(), "{messages:?} in\n{text}");
    module
}

/// The operator that schedule `schedule` is for, and the schedule.
pub(crate) fn pair<'m>(module: &'m Module, operator: &str, schedule: &str) -> (&'m Func, &'m Func) {
    let at = module.schedules_for(operator).find(|&at| module.items[at].symbol() == schedule);
    let schedule = at.unwrap_or_else(|| panic!("no schedule @{schedule} for @{operator}"));
    (module.function(operator).expect("the operator is there"), &module.items[schedule])
}

/// The program of the only operator of `module` under its schedule `schedule`, verified.
pub(crate) fn lower(module: &Module, operator: &str, schedule: &str) -> Result<Func, Diagnostics> {
    let (te, sched) = pair(module, operator, schedule);
    let program = tc_schedule::lower(te, Some(sched), Some(module), &Options::default())?;
    let found = tc_ir::verify::verify(&program);
    assert!(found.is_empty(), "{:?} in\n{}", found.iter().collect::<Vec<_>>(), show(&program));
    Ok(program)
}

/// `program` as text.
pub(crate) fn show(program: &Func) -> String {
    print_func(program, &PrintOptions::default())
}

/// A module that holds `program` and nothing else.
pub(crate) fn alone(module: &Module, program: Func) -> Module {
    let mut alone = Module::new(module.registry.clone());
    alone.sources = module.sources.clone();
    alone.items.push(program);
    alone
}

/// Runs `program` and compares with the definition of `operator`; what is wrong, if anything.
pub(crate) fn wrong(module: &Module, operator: &str, program: Func) -> Option<String> {
    let program_module = alone(module, program);
    let options = tc_sim::CheckOptions { serial: true, ..Default::default() };
    match tc_sim::check_against_definition((module, operator), (&program_module, operator), &options) {
        Ok(report) if report.is_ok() => None,
        Ok(report) => {
            let found: Vec<String> = report
                .diagnostics()
                .iter()
                .filter(|found| found.is_error())
                .map(|found| found.message.clone())
                .collect();
            Some(found.join("\n"))
        }
        Err(reason) => Some(reason.message),
    }
}
