//! Arrays that the caller names: read before anything runs.

use crate::args::{Args, Pair};
use std::path::{Path, PathBuf};
use tc::ir::{Func, Module, Value};
use tc::run::Case;
use tc::run::cases::is_operator;
use tc::runtime::{Array, npy};
use tc::support::{Diagnostic, suggest};
use tc_cli::FileId;

/// Why an array is not there.
pub(crate) enum Wrong {
    /// No case has an argument of this name.
    Name(String),
    /// The file is at fault.
    File(Box<Diagnostic>),
}

/// Reads the arrays that `named` names for `cases` of `module`.
pub(crate) fn read(module: &Module, cases: &[Case], named: &[Pair<PathBuf>]) -> Result<Vec<(String, Array)>, Wrong> {
    let mut arrays: Vec<(String, Array)> = Vec::new();
    for Pair { name, value: path } in named {
        if arrays.iter().any(|(other, _)| other == name) {
            return Err(Wrong::Name(format!("`--input {}` is given twice", suggest::shorten(name))));
        }
        let of = |case: &Case| {
            let func = &module.items[case.func];
            let param = func.params().iter().copied().find(|&param| func.value_text(param) == name)?;
            element(func, param)
        };
        let Some(elem) = cases.iter().find_map(of) else {
            let names = cases.iter().flat_map(|case| names(&module.items[case.func]));
            return Err(Wrong::Name(unknown("input", name, names.collect())));
        };
        let array = npy::read(path, elem.dtype(), None).map_err(|wrong| Wrong::File(Box::new(wrong)))?;
        arrays.push((name.clone(), array));
    }
    Ok(arrays)
}

fn element(func: &Func, param: Value) -> Option<tc::ir::Elem> {
    let ty = func.value_type(param);
    let elem = func.as_shaped(ty).map_or(ty, |(elem, _, _)| elem);
    func.as_scalar(elem).map(|scalar| scalar.elem)
}

fn names(func: &Func) -> impl Iterator<Item = &str> {
    func.params().iter().map(|&param| func.value_text(param))
}

/// Checks that all names of `--output` are those of results of the only case.
pub(crate) fn check_outputs(module: &Module, cases: &[Case], named: &[Pair<PathBuf>]) -> Result<(), String> {
    let [case] = cases else {
        return if named.is_empty() { Ok(()) } else { Err(ambiguous(module, cases)) };
    };
    let func = &module.items[case.func];
    let results: Vec<&str> = match func.terminator(func.body()) {
        Some(end) if is_operator(func) => func.operands(end).iter().map(|&value| func.value_text(value)).collect(),
        _ => names(func).collect(),
    };
    for (nth, Pair { name, .. }) in named.iter().enumerate() {
        if !results.contains(&name.as_str()) {
            return Err(unknown("output", name, results));
        }
        if named[..nth].iter().any(|other| other.name == *name) {
            return Err(format!("`--output {}` is given twice", suggest::shorten(name)));
        }
    }
    Ok(())
}

/// Checks that no file of `--output` is one that is read, or that of another one. An array that is read and written may stay
/// in its file.
pub(crate) fn check_files(args: &Args) -> Result<(), String> {
    let program = args.file.as_deref().filter(|file| *file != "-").map(Path::new).and_then(FileId::of);
    for (nth, Pair { name, value: path }) in args.outputs.iter().enumerate() {
        let Some(id) = FileId::of(path) else { continue };
        let is_it = |other: &&Pair<PathBuf>| FileId::of(&other.value).as_ref() == Some(&id);
        let clash = if program.as_ref() == Some(&id) {
            "the program".to_string()
        } else if let Some(input) = args.inputs.iter().filter(|input| input.name != *name).find(is_it) {
            format!("`--input {}`", suggest::shorten(&input.name))
        } else if let Some(other) = args.outputs[..nth].iter().find(is_it) {
            format!("`--output {}`", suggest::shorten(&other.name))
        } else {
            continue;
        };
        let (name, path) = (suggest::shorten(name), path.display());
        return Err(format!("`--output {name}` would overwrite `{path}`, the file of {clash}: name another one"));
    }
    Ok(())
}

fn ambiguous(module: &Module, cases: &[Case]) -> String {
    let names: Vec<String> = cases.iter().take(8).map(|case| format!("`{}`", case.name(module))).collect();
    format!("`--output` needs one case, and there are {}; choose with `--func` and `--schedule`", names.join(", "))
}

fn unknown(what: &str, name: &str, mut names: Vec<&str>) -> String {
    names.sort_unstable();
    names.dedup();
    let help = suggest::did_you_mean(name, names.iter().copied()).map_or(String::new(), |help| format!("; {help}"));
    format!("there is no {what} `{}`{help}", suggest::shorten(name))
}
