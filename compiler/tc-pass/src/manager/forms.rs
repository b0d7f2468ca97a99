//! Checks of the forms that passes declare.

use crate::analyses::Analyses;
use crate::pass::PassInfo;
use crate::table::PassTable;
use tc_ir::form::Form;
use tc_ir::opdef::Context;
use tc_ir::{Func, Module};
use tc_support::{Diagnostic, Diagnostics};

/// What a pass is about to run on.
#[derive(Clone, Copy)]
pub(super) enum Checked<'c> {
    Func(&'c Func),
    Module(&'c Module),
}

/// What keeps the pass `info` from running: for each form that it requires and a function lacks, one diagnostic.
///
/// Of a module the programs are asked; forms say nothing about operators and schedules.
pub(super) fn check_required(
    table: &PassTable,
    info: &PassInfo,
    checked: Checked<'_>,
    analyses: &mut Analyses,
) -> Diagnostics {
    let mut found = Diagnostics::new();
    let mut check = |func: &Func, form: &'static Form| {
        if !analyses.is_in_form(func, form) {
            found.append(missing(table, info, form, func));
        }
    };
    for form in info.requires {
        match checked {
            Checked::Func(func) => check(func, form),
            Checked::Module(module) => {
                module.items.iter().filter(|item| item.context() == Context::Tir).for_each(|func| check(func, form));
            }
        }
    }
    found
}

fn missing(table: &PassTable, info: &PassInfo, form: &Form, func: &Func) -> Diagnostics {
    let reasons = form.check(func);
    let Some(first) = reasons.iter().next() else { return Diagnostics::new() };
    let message = format!("`{}` needs the form `{}`, which `@{}` is not in", info.name, form.name, func.symbol());
    let mut diagnostic = Diagnostic::assumption("missing-form", first.location.clone(), message);
    diagnostic = diagnostic.note(first.message.clone());
    diagnostic.notes.extend(first.notes.iter().cloned());
    if reasons.len() > 1 {
        diagnostic = diagnostic.note(format!("there are {} such places", reasons.len()));
    }
    let makers: Vec<String> = table.establishing(form).map(|info| format!("`{}`", info.name)).collect();
    if !makers.is_empty() {
        diagnostic = diagnostic.help(format!("run {} first, which establishes it", makers.join(" or ")));
    }
    diagnostic.into()
}

/// What the pass `info` has failed to establish in `func`: a bug of the pass.
pub(super) fn check_established(info: &PassInfo, func: &Func, analyses: &mut Analyses) -> Diagnostics {
    let mut found = Diagnostics::new();
    for &form in info.establishes {
        if analyses.is_in_form(func, form) {
            continue;
        }
        for reason in form.check(func) {
            let message = format!("`{}` left `@{}` out of the form `{}`", info.name, func.symbol(), form.name);
            let mut diagnostic = Diagnostic::bug("form-not-established", reason.location, message).note(reason.message);
            diagnostic.notes.extend(reason.notes);
            found.push(diagnostic);
        }
    }
    found
}
