//! What follows from the sizes for one target, in C: which kernels are launched, their grids, temporaries, tensors.

use crate::agree::{Extent, Function, extents};
use crate::check::{declarations, extent_into, in_c, open_bytes};
use crate::header::{prototype, size_parameters};
use crate::{TargetCode, spell};
use std::fmt::Write;
use tc_support::Diagnostic;
use tc_target::{Buffer, Kernel, KernelManifest, Slot};

/// One function for one target.
#[derive(Clone, Copy)]
pub(crate) struct Piece<'a> {
    pub(crate) function: &'a Function,
    pub(crate) code: &'a TargetCode,
    pub(crate) manifest: &'a KernelManifest,
    /// The number of its first kernel among those of the target.
    pub(crate) first_kernel: usize,
}

impl Piece<'_> {
    /// What the C text `what` of this piece is called.
    pub(crate) fn name(&self, what: &str) -> String {
        format!("$_tc_of_{}_{what}_{}", self.function.c_name, self.code.target)
    }

    /// The row of its kernel `nth`.
    pub(crate) fn row(&self, nth: usize) -> String {
        format!("&$_tc_kernels_{}[{}]", self.code.target, self.first_kernel + nth)
    }

    /// A condition of C: is one of the kernels launched that `takes` names?
    pub(crate) fn is_any_launched(&self, takes: impl Fn(&Kernel) -> bool) -> String {
        let takers = self.manifest.kernels.iter().enumerate().filter(|(_, kernel)| takes(kernel));
        let takers: Vec<String> = takers.map(|(nth, _)| format!("tc_plan->is_launched[{nth}]")).collect();
        if takers.is_empty() { "0".to_string() } else { takers.join(" || ") }
    }

    fn takes_buffer(&self, kernel: &Kernel, buffer: &str) -> bool {
        let is_it = |arg: &String| arg == buffer || self.manifest.map(arg).is_some_and(|map| map.buffer == buffer);
        kernel.args.iter().any(is_it)
    }
}

/// The C function that makes the plan.
pub(crate) fn text(piece: &Piece<'_>) -> Result<String, Diagnostic> {
    let mut body = conditions(piece)?;
    for (nth, temporary) in piece.manifest.temporaries.iter().enumerate() {
        body.push_str(&of_temporary(piece, nth, temporary)?);
    }
    for nth in 0..piece.manifest.maps.len() {
        body.push_str(&of_map(piece, nth)?);
    }
    for nth in 0..piece.manifest.kernels.len() {
        body.push_str(&grid(piece, nth)?);
    }
    body.push_str(&checked_maps(piece)?);
    let mut parameters = vec!["$_tc_plan *tc_plan".to_string()];
    parameters.extend(size_parameters(piece.function));
    let mut out = format!("\nstatic {} {{\n", prototype(&piece.name("plan"), &parameters));
    out.push_str(&declarations(&body));
    out.push_str("  memset(tc_plan, 0, sizeof *tc_plan);\n");
    for name in piece.function.size_names().into_iter().filter(|name| !mentions(&body, name)) {
        let _ = writeln!(out, "  (void){name};");
    }
    out.push_str(&body);
    out.push_str("  return $$_OK;\n}\n");
    Ok(out)
}

/// Is `name` an identifier of the C text, literals aside?
pub(crate) fn mentions(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let code: String = text.replace("\\\"", "").split('"').step_by(2).collect::<Vec<_>>().join("\"");
    code.match_indices(name).any(|(at, _)| {
        let (before, after) = (code[..at].chars().next_back(), code[at + name.len()..].chars().next());
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

/// Whether each kernel is launched, its grid aside.
fn conditions(piece: &Piece<'_>) -> Result<String, Diagnostic> {
    let mut out = String::new();
    for (nth, kernel) in piece.manifest.kernels.iter().enumerate() {
        match &kernel.when {
            None => drop(writeln!(out, "  tc_plan->is_launched[{nth}] = 1;")),
            Some(when) => {
                let (value, text) = (in_c(piece.function, when)?, spell::string(&when.to_string()));
                let place = format!("&tc_plan->is_launched[{nth}]");
                let _ = writeln!(out, "  $$_TC_TRY($_tc_condition({place}, &tc_bad, {value}, {text}));");
            }
        }
    }
    Ok(out)
}

/// A block of C that runs if `condition` holds.
fn under(condition: &str, statements: &str) -> String {
    let inner: String = statements.lines().map(|line| format!("  {line}\n")).collect();
    format!("  if ({condition}) {{\n{inner}  }}\n")
}

fn of_temporary(piece: &Piece<'_>, nth: usize, temporary: &Buffer) -> Result<String, Diagnostic> {
    let extents = extents(piece.manifest, temporary);
    let (name, alignment) = (spell::string(&temporary.name), temporary.alignment);
    let place = format!("tc_plan->bytes[{nth}]");
    let mut out = if extents.iter().any(|extent| matches!(extent, Extent::Open(_))) {
        open_bytes(piece.function, (&temporary.name, temporary.dtype.bytes()), &extents, &format!("&{place}"))?
    } else {
        format!("  {place} = {};\n", spell::uint(temporary.bytes))
    };
    let _ = writeln!(out, "  $$_TC_TRY($_tc_put(tc_plan, {nth}, {place}, {alignment}, {name}));");
    // What only kernels take that are left out is not made.
    Ok(under(&piece.is_any_launched(|kernel| piece.takes_buffer(kernel, &temporary.name)), &out))
}

fn of_map(piece: &Piece<'_>, nth: usize) -> Result<String, Diagnostic> {
    let map = &piece.manifest.maps[nth];
    let mut out = String::new();
    for (dim, &extent) in map.extents.iter().enumerate() {
        let formula = piece.manifest.formula(&Slot::Map { map: map.name.clone(), dim });
        let extent = Extent::of(extent, formula);
        let what = format!("extent {dim} of `{}`", map.name);
        out.push_str(&extent_into(piece.function, &extent, &format!("tc_plan->extents[{nth}][{dim}]"), &what)?);
    }
    Ok(under(&piece.is_any_launched(|kernel| kernel.args.contains(&map.name)), &out))
}

fn grid(piece: &Piece<'_>, nth: usize) -> Result<String, Diagnostic> {
    let kernel = &piece.manifest.kernels[nth];
    let mut out = String::new();
    for (dim, &extent) in kernel.grid.iter().enumerate() {
        let formula = piece.manifest.formula(&Slot::Grid { kernel: nth, dim });
        let extent = Extent::of(extent, formula);
        let what = format!("extent {dim} of the grid of `{}`", kernel.name);
        out.push_str(&extent_into(piece.function, &extent, &format!("tc_plan->grid[{nth}][{dim}]"), &what)?);
    }
    let (row, is_launched) = (piece.row(nth), format!("tc_plan->is_launched[{nth}]"));
    let _ = writeln!(out, "  $$_TC_TRY($_tc_check_grid({row}, tc_plan->grid[{nth}], &{is_launched}));");
    Ok(if kernel.when.is_some() { under(&is_launched, &out) } else { out })
}

/// Checks of the tensors whose maps a kernel takes that is launched.
fn checked_maps(piece: &Piece<'_>) -> Result<String, Diagnostic> {
    let mut out = String::new();
    for (nth, map) in piece.manifest.maps.iter().enumerate() {
        let temporaries = &piece.manifest.temporaries;
        let of_temporary = temporaries.iter().position(|temporary| temporary.name == map.buffer);
        let (bytes, before) = match of_temporary {
            Some(temporary) => (format!("tc_plan->bytes[{temporary}]"), String::new()),
            None => param_bytes(piece, &map.buffer)?,
        };
        let row = format!("&{}[{nth}]", piece.name("maps"));
        let check = format!("  $$_TC_TRY($_tc_check_map({row}, tc_plan->extents[{nth}], {bytes}));\n");
        let condition = piece.is_any_launched(|kernel| kernel.args.contains(&map.name));
        out.push_str(&under(&condition, &(before + &check)));
    }
    Ok(out)
}

/// The bytes of the parameter `buffer`, and the statements that compute them.
fn param_bytes(piece: &Piece<'_>, buffer: &str) -> Result<(String, String), Diagnostic> {
    let mut params = piece.function.buffers();
    let Some((param, passed)) = params.find(|(param, _)| param.name == buffer) else {
        return Err(crate::wrong(format!("there is no buffer `{buffer}`")));
    };
    if let Some(bytes) = passed.bytes {
        return Ok((spell::uint(bytes), String::new()));
    }
    let (name, element) = (param.name.as_str(), param.dtype.bytes());
    Ok(("tc_bytes".into(), open_bytes(piece.function, (name, element), &passed.extents, "&tc_bytes")?))
}
