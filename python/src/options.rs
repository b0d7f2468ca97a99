//! What calls are told: target, sizes, parameters.

use crate::error::alone;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tc::run::Define;
use tc::runtime::CudaDevice;
use tc::support::{Diagnostic, Location};
use tc::target::Target;
use tc::{Compiler, ir};

/// A compiler for `target`, or for what [`default`] says, where values of sizes and parameters are `defines`.
pub(crate) fn compiler(
    py: Python<'_>,
    target: Option<&str>,
    defines: Option<&Bound<'_, PyDict>>,
) -> PyResult<Compiler> {
    let target = match target {
        Some(name) => Target::parse(name).map_err(|found| alone(py, found))?,
        None => default(),
    };
    let defines = defines.map_or(Ok(Vec::new()), |defines| values(py, defines))?;
    Ok(Compiler { target, defines, ..Compiler::new() })
}

/// The target of the first GPU, or that which tc compiles for where none is named.
pub(crate) fn default() -> Target {
    // Asked each time: a process may see its GPUs late. No context is made: that takes long, and a fork does not keep it.
    CudaDevice::target_of(0).unwrap_or_default()
}

/// Values of sizes and parameters by name; a truth value is 0 or 1.
pub(crate) fn values(py: Python<'_>, defines: &Bound<'_, PyDict>) -> PyResult<Vec<Define>> {
    let mut list = Vec::with_capacity(defines.len());
    for (name, value) in defines.iter() {
        let name: String = name.extract()?;
        let value: i64 = value.extract().map_err(|_| {
            let text = format!("`{name}` is {value:?}, and an integer of 64 bits is expected");
            alone(py, Diagnostic::error("bad-argument", Location::None, text))
        })?;
        list.push((name, value));
    }
    Ok(list)
}

/// Refuses values for names that nothing of `module` has.
pub(crate) fn check_names(module: &ir::Module, defines: &[Define]) -> Result<(), Diagnostic> {
    let mut names: Vec<String> = Vec::new();
    for item in &module.items {
        names.extend(item.header.symbols.iter().map(|symbol| item.text(symbol.name).to_string()));
        names.extend(item.params().iter().map(|&param| item.value_text(param).to_string()));
    }
    refuse_unknown("a size or a parameter", defines.iter().map(|(name, _)| name), &names)
}

/// Refuses arrays for names that nothing of `module` takes.
pub(crate) fn check_inputs<'a>(module: &ir::Module, given: impl Iterator<Item = &'a String>) -> Result<(), Diagnostic> {
    let params = module.items.iter().flat_map(|item| item.params().iter().map(|&param| item.value_text(param)));
    refuse_unknown("an argument", given, &params.map(str::to_string).collect::<Vec<_>>())
}

fn refuse_unknown<'a>(
    what: &str,
    mut given: impl Iterator<Item = &'a String>,
    names: &[String],
) -> Result<(), Diagnostic> {
    let Some(unknown) = given.find(|name| !names.contains(name)) else { return Ok(()) };
    let wrong = format!("nothing here has {what} `{}`", tc::support::suggest::shorten(unknown));
    let help = tc::support::suggest::did_you_mean(unknown, names.iter().map(String::as_str));
    Err(Diagnostic { help, ..Diagnostic::error("bad-argument", Location::None, wrong) })
}
