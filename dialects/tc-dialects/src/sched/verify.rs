//! Types of directives: what is a stage, what is an axis, what is a number.

use crate::scope::Scope;
use crate::tir::{self, Coordinate};
use crate::{forms, te};
use tc_ir::symbols::Symbols;
use tc_ir::{Attrs, Func, Op, Type, TypeData, Value, keys};
use tc_support::{Diagnostic, Diagnostics, suggest};

/// The type of stages.
pub fn stage_type(func: &mut Func) -> Type {
    let path = func.name("sched.stage");
    func.ty(TypeData::Opaque { path, params: [].into() })
}

/// The type of axes.
pub fn axis_type(func: &mut Func) -> Type {
    let path = func.name("sched.axis");
    func.ty(TypeData::Opaque { path, params: [].into() })
}

/// A schedule is for operators of the module, or for programs.
pub(super) fn targets(symbols: &Symbols<'_>, func: &Func, op: Option<Op>, found: &mut Diagnostics) {
    if op.is_some() {
        return;
    }
    let at = func.location(func.header.loc);
    for target in &func.header.targets {
        let shown = suggest::shorten(target);
        match symbols.function(target) {
            Some(item) if item.header.opcode == te::FUNC => {}
            Some(item) if item.header.opcode == tir::FUNC && !forms::is_device(item) => {}
            Some(item) => {
                let what = item.item_row().name;
                let what = if item.header.opcode == tir::FUNC { "kernel".to_string() } else { format!("`{what}`") };
                let text = format!("a schedule is for an operator or a program, and `@{shown}` is a {what}");
                found.push(
                    Diagnostic::error("schedule-target", at.clone(), text)
                        .label(item.location(item.header.loc), "it is declared here")
                        .help("write what is to be computed as a `te.func`, and a schedule for that"),
                );
            }
            None => {
                let fits = |item: &&Func| [te::FUNC, tir::FUNC].contains(&item.header.opcode);
                let operators = symbols.functions().filter(fits).map(Func::symbol);
                let text = format!("the schedule `@{}` is for `@{shown}`, which is not declared", func.symbol());
                let mut wrong = Diagnostic::error("schedule-target", at.clone(), text);
                wrong.help = Symbols::near(target, operators);
                found.push(wrong);
            }
        }
    }
}

pub(super) fn infer_axis(func: &mut Func, _: &[Value], _: Attrs) -> Result<Type, String> {
    Ok(axis_type(func))
}

pub(super) fn infer_two_axes(func: &mut Func, _: &[Value], _: Attrs) -> Result<Vec<Type>, String> {
    Ok(vec![axis_type(func); 2])
}

pub(super) fn infer_four_axes(func: &mut Func, _: &[Value], _: Attrs) -> Result<Vec<Type>, String> {
    Ok(vec![axis_type(func); 4])
}

pub(super) fn infer_stage(func: &mut Func, _: &[Value], _: Attrs) -> Result<Type, String> {
    Ok(stage_type(func))
}

/// Is `value` of the type `path`, or what a call gives, whose type its function says?
pub(super) fn is(func: &Func, value: Value, path: &str) -> bool {
    match func.type_data(func.value_type(value)) {
        TypeData::Opaque { path: is, .. } => [path, "unknown"].contains(&func.text(*is)),
        _ => false,
    }
}

/// A stage, and the number of an axis, from its first or its last.
pub(super) fn nth_axis(func: &Func, op: Op, found: &mut Diagnostics) {
    stage_first(func, op, found);
    let nth = func.attr_named(op, "nth").and_then(|attr| func.as_int(attr));
    if !nth.is_some_and(|nth| (-1024..=1024).contains(&nth)) {
        let text = "axes of a stage are numbered from 0, or from the last, which is -1";
        found.push(Diagnostic::error("schedule-type", func.op_location(op), text));
    }
}

fn want(func: &Func, op: Op, value: Value, path: &str, found: &mut Diagnostics) {
    if !is(func, value, path) {
        let what = path.trim_start_matches("sched.");
        let name = func.row(op).short.unwrap_or(func.op_name(op));
        let article = if what == "axis" { "an" } else { "a" };
        // A name that nothing binds yet is read as that of a stage.
        let stage = stage_name(func, value);
        let shown = stage.unwrap_or(func.value_text(value));
        let shown = if shown.is_empty() { "this".to_string() } else { format!("`{}`", suggest::shorten(shown)) };
        let have = func.show_type(func.value_type(value));
        let text =
            format!("`{name}` takes {article} {what} here, and {shown} is `{}`", have.trim_start_matches("sched."));
        let mut diagnostic = Diagnostic::error("schedule-type", func.op_location(op), text);
        if what == "axis" && stage.is_some() {
            diagnostic = diagnostic.help("a name is bound before it is used; the axis `i` of a stage `B` is `B.i`");
        }
        found.push(diagnostic);
    }
}

/// The name of the stage that `value` is read as, where it is a name that nothing binds.
fn stage_name(func: &Func, value: Value) -> Option<&str> {
    let stage = func.def_op(value).filter(|&def| func.opcode(def) == super::STAGE_OP)?;
    func.word_of(stage, func.find_name("name")?)
}

fn want_number(func: &Func, op: Op, value: Value, found: &mut Diagnostics) {
    if !func.value_scalar(value).is_some_and(|scalar| scalar.elem.is_int() && scalar.lanes == 1) {
        let name = func.row(op).short.unwrap_or(func.op_name(op));
        let (text, help) = match stage_name(func, value) {
            Some(shown) => {
                let (shown, params) = (suggest::shorten(shown), params(func));
                let near = suggest::did_you_mean(&shown, params.iter().copied());
                let declare = format!("a parameter is declared behind the operator: `for @… ({shown}: i32 in […])`");
                (
                    format!("`{name}` takes an integer here, and `{shown}` is no parameter"),
                    Some(near.unwrap_or(declare)),
                )
            }
            None => {
                let have = func.show_type(func.value_type(value));
                let have = have.trim_start_matches("sched.");
                let article = if have.starts_with('a') { "an" } else { "a" };
                (format!("`{name}` takes an integer here, not {article} {have}"), None)
            }
        };
        let mut diagnostic = Diagnostic::error("schedule-type", func.op_location(op), text);
        diagnostic.help = help;
        found.push(diagnostic);
    }
}

/// The names of the schedule's parameters.
fn params(func: &Func) -> Vec<&str> {
    func.params().iter().map(|&param| func.value_text(param)).collect()
}

/// All positional operands are axes, and there is one.
pub(super) fn axes(func: &Func, op: Op, found: &mut Diagnostics) {
    if func.operands(op).is_empty() {
        let name = func.row(op).short.unwrap_or("");
        found.push(Diagnostic::error("schedule-type", func.op_location(op), format!("`{name}` takes an axis")));
    }
    for &axis in func.operands(op) {
        want(func, op, axis, "sched.axis", found);
    }
}

/// Axes, or one stage, which stands for its own.
pub(super) fn axes_or_stage(func: &Func, op: Op, found: &mut Diagnostics) {
    match func.operands(op) {
        // A name that nothing binds is read as that of a stage, too: what it is shows when the schedule runs.
        &[one] if is(func, one, "sched.stage") => {}
        _ => axes(func, op, found),
    }
}

pub(super) fn split(func: &Func, op: Op, found: &mut Diagnostics) {
    axis_first(func, op, found);
    let n_given = usize::from(func.param_given(op, 1)) + usize::from(func.param_given(op, 2));
    if n_given != 1 {
        let text = "`split` takes one of `factor = …` and `nparts = …`";
        found.push(Diagnostic::error("schedule-type", func.op_location(op), text));
    }
    for &number in &func.operands(op)[1..] {
        want_number(func, op, number, found);
    }
}

pub(super) fn tile(func: &Func, op: Op, found: &mut Diagnostics) {
    for &axis in &func.operands(op)[..2] {
        want(func, op, axis, "sched.axis", found);
    }
    for &number in &func.operands(op)[2..] {
        want_number(func, op, number, found);
    }
}

pub(super) fn bind(func: &Func, op: Op, found: &mut Diagnostics) {
    axis_first(func, op, found);
    let thread = func.attr_named(op, "thread").and_then(|attr| func.as_word(attr)).unwrap_or("");
    if Coordinate::parse(thread).is_none() && thread != "vthread" {
        let text = format!("there is no launch coordinate `{}`", suggest::shorten(thread));
        let names = Coordinate::ALL.map(Coordinate::name).into_iter().chain(["vthread"]);
        let mut diagnostic = Diagnostic::error("launch-coordinate", func.op_location(op), text);
        diagnostic.help = suggest::did_you_mean(thread, names);
        found.push(diagnostic);
    }
}

pub(super) fn axis_first(func: &Func, op: Op, found: &mut Diagnostics) {
    want(func, op, func.operand(op, 0), "sched.axis", found);
}

pub(super) fn axis_and_number(func: &Func, op: Op, found: &mut Diagnostics) {
    axis_first(func, op, found);
    want_number(func, op, func.operand(op, 1), found);
}

pub(super) fn stage_first(func: &Func, op: Op, found: &mut Diagnostics) {
    want(func, op, func.operand(op, 0), "sched.stage", found);
}

pub(super) fn stage_and_numbers(func: &Func, op: Op, found: &mut Diagnostics) {
    stage_first(func, op, found);
    for &number in &func.operands(op)[1..] {
        want_number(func, op, number, found);
    }
}

pub(super) fn pipeline(func: &Func, op: Op, found: &mut Diagnostics) {
    axis_first(func, op, found);
    for &number in func.param_operands(op, 1) {
        want_number(func, op, number, found);
    }
    for &stage in func.param_operands(op, 2) {
        want(func, op, stage, "sched.stage", found);
    }
}

pub(super) fn stage_and_axis(func: &Func, op: Op, found: &mut Diagnostics) {
    stage_first(func, op, found);
    want(func, op, func.operand(op, 1), "sched.axis", found);
}

pub(super) fn cache(func: &Func, op: Op, found: &mut Diagnostics) {
    for &stage in func.operands(op) {
        want(func, op, stage, "sched.stage", found);
    }
    let scope = func.word_of(op, keys::SCOPE).unwrap_or("");
    if Scope::parse(scope).is_none() {
        let text = format!("there is no scope `{}`", suggest::shorten(scope));
        let mut diagnostic = Diagnostic::error("scope", func.op_location(op), text);
        diagnostic.help = suggest::did_you_mean(scope, Scope::ALL.map(Scope::name));
        found.push(diagnostic);
    }
}
