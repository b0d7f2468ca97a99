//! What of a call is the same for all targets, in C: the sizes are checked, and the bytes of buffers follow.

use crate::agree::{Extent, Function};
use crate::header::{prototype, size_parameters};
use crate::{formula, spell, wrong};
use std::fmt::Write;
use tc_support::Diagnostic;
use tc_support::suggest::shorten;
use tc_target::Formula;

/// What no manifest has, as it is not what `validate` takes.
pub(crate) fn no_formula(function: &Function, formula: &Formula) -> Diagnostic {
    let (symbol, shown) = (shorten(&function.symbol), formula.to_string());
    wrong(format!("a formula of `@{symbol}` is too deep, or of sizes that it does not have: `{}`", shorten(&shown)))
}

/// `formula` in C, with the names that `function` has for its sizes.
pub(crate) fn in_c(function: &Function, formula: &Formula) -> Result<String, Diagnostic> {
    formula::expression(formula, &|name| function.size(name)).ok_or_else(|| no_formula(function, formula))
}

/// The C function that checks the sizes of `function` and tells the bytes of its buffers.
pub(crate) fn text(function: &Function) -> Result<String, Diagnostic> {
    let n_buffers = function.buffers().count();
    let mut body = String::new();
    for (size, c_name) in &function.sizes {
        let (low, high) = (spell::int(size.low), spell::int(size.high.unwrap_or(i64::MAX)));
        let _ = writeln!(body, "  $$_TC_TRY($_tc_range({c_name}, {low}, {high}, {}));", spell::string(&size.name));
    }
    for fact in &function.facts {
        let (value, text) = (in_c(function, fact)?, spell::string(&fact.to_string()));
        let _ = writeln!(body, "  $$_TC_TRY($_tc_fact(&tc_bad, {value}, {text}));");
    }
    for (nth, (param, buffer)) in function.buffers().enumerate() {
        if let Some(bytes) = buffer.bytes {
            let _ = writeln!(body, "  tc_bytes[{nth}] = {};", spell::uint(bytes));
            continue;
        }
        let place = format!("&tc_bytes[{nth}]");
        body.push_str(&open_bytes(function, (&param.name, param.dtype.bytes()), &buffer.extents, &place)?);
    }
    let mut parameters = size_parameters(function);
    if n_buffers > 0 {
        parameters.push("uint64_t *tc_bytes".into());
    }
    let mut out = format!("\nstatic {} {{\n", prototype(&format!("$_tc_of_{}_check", function.c_name), &parameters));
    out.push_str(&declarations(&body));
    out.push_str(&body);
    out.push_str("  return $$_OK;\n}\n");
    Ok(out)
}

/// Statements that compute the bytes of the buffer `name`, whose elements have so many, into `place`.
pub(crate) fn open_bytes(
    function: &Function,
    (name, element_bytes): (&str, u64),
    extents: &[Extent],
    place: &str,
) -> Result<String, Diagnostic> {
    let mut out = String::new();
    for (dim, extent) in extents.iter().enumerate() {
        let target = format!("tc_extents[{dim}]");
        out.push_str(&extent_into(function, extent, &target, &format!("extent {dim} of `{name}`"))?);
    }
    let (rank, name) = (extents.len(), spell::string(name));
    let _ = writeln!(out, "  $$_TC_TRY($_tc_bytes({place}, {element_bytes}, tc_extents, {rank}, {name}));");
    Ok(out)
}

/// A statement that puts `extent`, which is `what`, into `place`.
pub(crate) fn extent_into(function: &Function, extent: &Extent, place: &str, what: &str) -> Result<String, Diagnostic> {
    Ok(match extent {
        Extent::Fixed(extent) => {
            let extent = i64::try_from(*extent).map_err(|_| wrong(format!("{what} does not fit 63 bits")))?;
            format!("  {place} = {};\n", spell::int(extent))
        }
        Extent::Open(formula) => {
            let text = spell::string(&format!("{what} is `{formula}`"));
            let value = in_c(function, formula)?;
            format!("  $$_TC_TRY($_tc_extent(&{place}, &tc_bad, {value}, {text}));\n")
        }
    })
}

/// The declarations of what the statements of `body` use.
pub(crate) fn declarations(body: &str) -> String {
    let mut out = String::new();
    if body.contains("&tc_bad") {
        out.push_str("  int tc_bad = 0;\n");
    }
    if let Some(rank) = (0..=MAX_RANK).rev().find(|dim| body.contains(&format!("tc_extents[{dim}]"))) {
        let _ = writeln!(out, "  int64_t tc_extents[{}] = {{0}};", rank + 1);
    }
    if body.contains("&tc_bytes,") {
        out.push_str("  uint64_t tc_bytes = 0;\n");
    }
    if body.contains("$$_TC_TRY") {
        out.push_str("  $_status tc_status;\n");
    }
    out
}

/// More dimensions than a buffer has.
const MAX_RANK: usize = 64;
