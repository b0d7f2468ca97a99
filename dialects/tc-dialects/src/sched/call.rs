//! Functions of schedules, and the calls of them.

use super::verify::is;
use super::{Call, RETURN, SCHEDULE_FUNC, STAGE_OP};
use crate::schedules;
use tc_ir::attrs::AttrData;
use tc_ir::symbols::Symbols;
use tc_ir::walk::all_ops;
use tc_ir::{Elem, Func, Op, TypeData, Value, keys};
use tc_support::{Diagnostic, Diagnostics, counted, suggest};

/// The function that the call `op` names.
pub fn callee(func: &Func, op: Op) -> Option<&str> {
    match func.attr_data(func.attr_of(op, keys::CALLEE)?) {
        AttrData::Symbol(name) => Some(name),
        _ => None,
    }
}

/// What each parameter of `callee` is given by the call `op` of `func`: a value, or `None` where the default holds.
///
/// # Errors
///
/// What is wrong with the call, at the call.
pub fn arguments(func: &Func, op: Op, callee: &Func) -> Result<Vec<Option<Value>>, Box<Diagnostic>> {
    let shown = suggest::shorten(callee.symbol());
    let wrong = |text: String| {
        let error = Diagnostic::error("arguments", func.op_location(op), text).help(signature(callee));
        Box::new(error.label(callee.location(callee.header.loc), "it is declared here"))
    };
    let names: Vec<&str> = callee.params().iter().map(|&param| callee.value_text(param)).collect();
    let named = named(func, op);
    let (by_position, by_name) = func.operands(op).split_at(func.operands(op).len().saturating_sub(named.len()));
    if by_position.len() > names.len() {
        let text = format!("`@{shown}` takes {}, not {}", counted(names.len(), "argument"), by_position.len());
        return Err(wrong(text));
    }
    let mut given: Vec<Option<Value>> = vec![None; names.len()];
    for (slot, &value) in given.iter_mut().zip(by_position) {
        *slot = Some(value);
    }
    for (name, &value) in named.iter().zip(by_name) {
        let Some(nth) = names.iter().position(|known| known == name) else {
            let mut error = wrong(format!("`@{shown}` has no parameter `{}`", suggest::shorten(name)));
            if let Some(near) = suggest::nearest(name, names.iter().copied()) {
                error.help = Some(format!("did you mean `{near}`? {}", signature(callee)));
            }
            return Err(error);
        };
        if given[nth].replace(value).is_some() {
            return Err(wrong(format!("`{name}` is given twice")));
        }
    }
    for (nth, (&param, value)) in callee.params().iter().zip(&given).enumerate() {
        let name = names[nth];
        match value {
            Some(value) => fits(func, *value, callee, param).map_err(|have| {
                let want = callee.show_type(callee.value_type(param));
                wrong(format!("the parameter `{name}` of `@{shown}` is {}, not {}", article(&want), article(&have)))
            })?,
            None if callee.header.params.get(nth).is_none_or(|decl| decl.default.is_none()) => {
                return Err(wrong(format!("`@{shown}` is not given its parameter `{name}`, which has no default")));
            }
            None => {}
        }
    }
    Ok(given)
}

/// The names of the operands that the call `op` gives by name, its last ones.
fn named(func: &Func, op: Op) -> Vec<&str> {
    let Some(AttrData::List(list)) = func.attr_of(op, keys::NAMED).map(|attr| func.attr_data(attr)) else {
        return Vec::new();
    };
    let text = |&attr: &_| match func.attr_data(attr) {
        AttrData::Str(text) => &**text,
        _ => "",
    };
    list.iter().map(text).collect()
}

/// `` `@f(C: stage, rows: i32 = 128)` ``
fn signature(callee: &Func) -> String {
    let show = |(nth, &param): (usize, &Value)| {
        let ty = callee.show_type(callee.value_type(param));
        let text = format!("{}: {}", callee.value_text(param), ty.trim_start_matches("sched."));
        match callee.header.params.get(nth).and_then(|decl| decl.default) {
            Some(default) => format!("{text} = {}", callee.show_attr(default)),
            None => text,
        }
    };
    let all: Vec<String> = callee.params().iter().enumerate().map(show).collect();
    format!("it is `@{}({})`", suggest::shorten(callee.symbol()), all.join(", "))
}

fn article(ty: &str) -> String {
    let ty = ty.trim_start_matches("sched.");
    let first = ty.starts_with(['a', 'i']);
    format!("{} `{ty}`", if first { "an" } else { "a" })
}

/// May `value` be given for `param`? If not, what it is.
fn fits(func: &Func, value: Value, callee: &Func, param: Value) -> Result<(), String> {
    let (have, want) = (func.value_type(value), callee.value_type(param));
    let ok = match callee.type_data(want) {
        TypeData::Opaque { path, .. } => is(func, value, callee.text(*path)),
        // Numbers of a schedule are what they are: a parameter takes an integer of any width, a literal one that it holds.
        _ => func.value_scalar(value).zip(callee.value_scalar(param)).is_some_and(|(have, want)| {
            let alike = have.elem == want.elem || have.elem.is_int() && want.elem.is_int();
            let literal = func.constant(value).and_then(|attr| func.as_int(attr));
            have.lanes == 1 && alike && literal.is_none_or(|literal| holds(want.elem, i128::from(literal)))
        }),
    };
    if ok { Ok(()) } else { Err(func.show_type(have)) }
}

/// Is `value` one of the numbers of `elem`?
fn holds(elem: Elem, value: i128) -> bool {
    elem.is_int() && elem.wrap(value) == value && i64::try_from(value).is_ok()
}

/// A call names a function of the module, or one of the library.
pub(super) fn verify_call(symbols: &Symbols<'_>, func: &Func, op: Option<Op>, found: &mut Diagnostics) {
    let Some((op, name)) = op.and_then(|op| Some((op, callee(func, op)?))) else { return };
    let Some(callee) = symbols.schedule_function(name) else {
        if schedules::names().any(|known| known == name) {
            return;
        }
        let text = format!("there is no schedule function `@{}`", suggest::shorten(name));
        let own = symbols.schedule_functions().map(Func::symbol);
        let mut wrong = Diagnostic::error("unknown-symbol", func.op_location(op), text);
        let mut all: Vec<&str> = own.collect();
        schedules::names().for_each(|name| all.push(name));
        wrong.help = Symbols::near(name, all.iter().copied());
        return found.push(wrong);
    };
    match arguments(func, op, callee) {
        Ok(_) => wrong_results(func, op, callee).into_iter().for_each(|wrong| found.push(wrong)),
        Err(wrong) => found.push(*wrong),
    }
}

/// What is wrong with the number of results that the call `op` binds.
pub fn wrong_results(func: &Func, op: Op, callee: &Func) -> Option<Diagnostic> {
    let (have, want) = (func.n_results(op), callee.header.results.len());
    // A call by itself drops what comes back.
    (have != want && have > 0).then(|| {
        let name = suggest::shorten(callee.symbol());
        let text = format!("`@{name}` gives back {}, not {have}", counted(want, "value"));
        Diagnostic::error("arguments", func.op_location(op), text)
            .label(callee.location(callee.header.loc), "it is declared here")
    })
}

/// What holds of all schedules: they return nothing. A function gives back what it declares, names stages by its
/// parameters, and does not call itself.
pub(super) fn verify_schedule(func: &Func, op: Op, found: &mut Diagnostics) {
    if func.header.opcode != SCHEDULE_FUNC {
        let text = "a schedule gives nothing back";
        let wrong = Diagnostic::error("schedule-return", func.op_location(op), text);
        found.push(wrong.help("leave out `return`; what gives stages back is a `schedule.func`"));
    } else if func.next_op(op).is_some() || func.region_of(op) != Some(func.body()) {
        let text = "a `return` stands at the end of a schedule function";
        found.push(Diagnostic::error("schedule-return", func.op_location(op), text));
    }
}

/// A function of schedules gives back what it declares, and takes stages by its parameters.
pub(super) fn verify_function(symbols: &Symbols<'_>, func: &Func, op: Option<Op>, found: &mut Diagnostics) {
    if op.is_some() {
        return;
    }
    let at = || func.location(func.header.loc);
    let name = suggest::shorten(func.symbol());
    returned(func, found);
    for &param in func.params() {
        let number = func
            .value_scalar(param)
            .is_some_and(|scalar| scalar.lanes == 1 && (scalar.elem.is_int() || scalar.elem == Elem::Bool));
        if !number && !is(func, param, "sched.stage") && !is(func, param, "sched.axis") {
            let have = func.show_type(func.value_type(param));
            let text = format!("the parameter `{}` of `@{name}` is `{have}`", func.value_text(param));
            let wrong = Diagnostic::error("parameter-type", at(), text);
            found.push(wrong.help("a schedule function takes a `stage`, an `axis`, an integer or a `bool`"));
        }
    }
    for (&param, decl) in func.params().iter().zip(&func.header.params) {
        let elem = func.value_scalar(param).map(|scalar| scalar.elem);
        let fits = |attr| match func.attr_data(attr) {
            AttrData::Int(value, _) => elem.is_some_and(|elem| holds(elem, *value)),
            AttrData::Bool(_) => elem == Some(Elem::Bool),
            _ => false,
        };
        if decl.default.is_some_and(|default| !fits(default)) {
            let name = func.value_text(param);
            let ty = func.show_type(func.value_type(param));
            let text = format!("the default of `{name}` is no `{}`", ty.trim_start_matches("sched."));
            found.push(
                Diagnostic::error("parameter-default", at(), text).help("only numbers have defaults, of their type"),
            );
        }
    }
    if !func.header.facts.is_empty() {
        let text = format!("`@{name}` has conditions");
        let help = "conditions on parameters stand behind those of the schedule that calls";
        found.push(Diagnostic::error("schedule-function", at(), text).help(help));
    }
    for stage in all_ops(func).filter(|&op| func.opcode(op) == STAGE_OP) {
        let word = suggest::shorten(func.word_of(stage, keys::NAME).unwrap_or(""));
        let text = format!("`{word}` is no parameter of `@{name}`, and no name that it binds");
        let names = func.params().iter().map(|&param| func.value_text(param));
        let mut wrong = Diagnostic::error("unknown-name", func.op_location(stage), text);
        let takes = format!("a function takes the stages that it works on: `({word}: stage)`");
        let near = suggest::nearest(&word, names.collect::<Vec<_>>()).filter(|near| near.len() > 1);
        wrong.help = Some(near.map_or_else(|| takes.clone(), |near| format!("did you mean `{near}`? Else {takes}")));
        found.push(wrong);
    }
    recursion(symbols, func, found);
}

fn returned(func: &Func, found: &mut Diagnostics) {
    let end = func.ops(func.body()).last().filter(|&op| func.opcode(op) == RETURN);
    let values = end.map_or(&[][..], |end| func.operands(end));
    let declared = &func.header.results;
    let at = end.map_or(func.location(func.header.loc), |end| func.op_location(end));
    if values.len() != declared.len() {
        let name = suggest::shorten(func.symbol());
        let (want, have) = (counted(declared.len(), "value"), values.len());
        let text = format!("`@{name}` declares that it gives back {want}, and gives back {have}");
        let help = "write `return B, i` at the end, and the types behind the parameters: `-> (stage, axis)`";
        return found.push(Diagnostic::error("schedule-return", at, text).help(help));
    }
    for (&value, result) in values.iter().zip(declared) {
        let TypeData::Opaque { path, .. } = func.type_data(result.ty) else {
            let text = "a schedule function gives back stages and axes".to_string();
            found.push(Diagnostic::error("schedule-return", at.clone(), text));
            continue;
        };
        if !is(func, value, func.text(*path)) {
            let (have, want) = (func.show_type(func.value_type(value)), func.show_type(result.ty));
            let text = format!("what is given back here is {}, and {} was declared", article(&have), article(&want));
            found.push(Diagnostic::error("schedule-return", at.clone(), text));
        }
    }
}

/// Refuses a function that calls itself, through others or not, at its own call.
fn recursion(symbols: &Symbols<'_>, func: &Func, found: &mut Diagnostics) {
    for op in all_ops(func).filter(|&op| func.opcode(op) == Call::OPCODE) {
        let Some(name) = callee(func, op) else { continue };
        let mut seen: Vec<&str> = Vec::new();
        let mut worklist = vec![name];
        while let Some(name) = worklist.pop() {
            if name == func.symbol() {
                let text = match seen.is_empty() {
                    true => format!("`@{}` calls itself here", suggest::shorten(name)),
                    false => format!("this call leads back to `@{}`", suggest::shorten(name)),
                };
                let wrong = Diagnostic::error("schedule-recursion", func.op_location(op), text);
                let help = "calls are put in place before a schedule runs, so none may lead back: leave this one out";
                return found.push(wrong.help(help));
            }
            if seen.contains(&name) {
                continue;
            }
            seen.push(name);
            if let Some(next) = symbols.schedule_function(name) {
                worklist.extend(
                    all_ops(next).filter(|&op| next.opcode(op) == Call::OPCODE).filter_map(|op| callee(next, op)),
                );
            }
        }
    }
}
