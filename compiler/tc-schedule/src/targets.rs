//! What schedules are for: operators.

use tc_dialects::{sched, tir};
use tc_ir::{Func, Module};
use tc_support::{Diagnostic, Diagnostics, suggest};

/// The schedules of `module` that are for programs alone, which have loops already: each is an error.
pub fn for_programs(module: &Module) -> Diagnostics {
    let mut found = Diagnostics::new();
    for schedule in module.items.iter().filter(|item| item.header.opcode == sched::SCHEDULE) {
        let targets = &schedule.header.targets;
        let program = |target: &String| module.function(target).filter(|item| item.header.opcode == tir::FUNC);
        let programs: Vec<&Func> = targets.iter().filter_map(program).collect();
        if programs.len() < targets.len() {
            continue;
        }
        let Some(program) = programs.first() else { continue };
        let text = format!("`@{}` is a program, and a schedule is for an operator", suggest::shorten(program.symbol()));
        let diagnostic = Diagnostic::error("schedule-for-program", schedule.location(schedule.header.loc), text)
            .label(program.location(program.header.loc), "its loops are written out here")
            .help("change the loops themselves, or write a `te.func` of what it computes and schedule that");
        found.push(diagnostic);
    }
    found
}
