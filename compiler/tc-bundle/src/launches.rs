//! The launches of one function for one target, in C: arguments, tensor maps, kernels in their order.

use crate::header::{parameters, prototype};
use crate::plan::{Piece, mentions};
use crate::{spell, types, wrong};
use std::fmt::Write;
use tc_support::{DType, Diagnostic};

/// What C calls the thing that a kernel takes as `arg`: an index into parameters, sizes, temporaries or maps.
fn local(piece: &Piece<'_>, arg: &str) -> Option<String> {
    let (function, manifest) = (piece.function, piece.manifest);
    let param = || function.params.iter().position(|param| param.name == arg).map(|nth| format!("tc_p{nth}"));
    let size = || function.sizes.iter().position(|(size, _)| size.name == arg).map(|nth| format!("tc_s{nth}"));
    let temporary = || manifest.temporaries.iter().position(|one| one.name == arg).map(|nth| format!("tc_t{nth}"));
    let map = || manifest.maps.iter().position(|map| map.name == arg).map(|nth| format!("tc_m{nth}"));
    param().or_else(size).or_else(temporary).or_else(map)
}

/// The C function that puts the kernels into the stream.
pub(crate) fn text(piece: &Piece<'_>) -> Result<String, Diagnostic> {
    let mut body = String::new();
    for (nth, map) in piece.manifest.maps.iter().enumerate() {
        let Some(address) = local(piece, &map.buffer) else { return Err(nothing(&map.buffer)) };
        let condition = piece.is_any_launched(|kernel| kernel.args.contains(&map.name));
        let (row, extents) = (format!("&{}[{nth}]", piece.name("maps")), format!("tc_plan->extents[{nth}]"));
        let _ = writeln!(
            body,
            "  if ({condition}) {{\n    $$_TC_TRY($_tc_make_map(&tc_m{nth}, {row}, {extents}, {address}));\n  }}"
        );
    }
    for (nth, kernel) in piece.manifest.kernels.iter().enumerate() {
        let args = kernel.args.iter().map(|arg| Some(format!("&{}", local(piece, arg).ok_or(arg).ok()?)));
        let Some(args) = args.collect::<Option<Vec<String>>>() else { return Err(nothing(&kernel.name)) };
        let args = if args.is_empty() { "NULL".to_string() } else { args.join(", ") };
        let (row, function) = (piece.row(nth), piece.first_kernel + nth);
        let _ = writeln!(
            body,
            "  if (tc_plan->is_launched[{nth}]) {{\n    void *tc_arguments[] = {{{args}}};\n    \
             $$_TC_TRY($_tc_launch({row}, tc_loaded->functions[{function}], tc_plan->grid[{nth}], stream,\n        \
             tc_arguments));\n  }}"
        );
    }
    let declarations = declarations(piece, &body);
    let before = ["const $_tc_loaded *tc_loaded", "const $_tc_plan *tc_plan", "uint64_t tc_workspace", "void *stream"];
    let mut list: Vec<String> = before.iter().map(|one| one.to_string()).collect();
    list.extend(parameters(piece.function));
    let mut out = format!("\nstatic {} {{\n", prototype(&piece.name("run"), &list));
    out.push_str(&declarations);
    let params = piece.function.params.iter().map(|param| param.c_name.as_str());
    let own = ["tc_loaded", "tc_plan", "tc_workspace", "stream"];
    let all = own.into_iter().chain(params).chain(piece.function.size_names());
    let text = declarations.clone() + &body;
    for name in all.filter(|name| !mentions(&text, name)) {
        let _ = writeln!(out, "  (void){name};");
    }
    out.push_str(&body);
    out.push_str("  return $$_OK;\n}\n");
    Ok(out)
}

fn nothing(name: &str) -> Diagnostic {
    wrong(format!("the kernels take what does not exist, for `{name}`"))
}

/// The values that `body` hands to kernels, as kernels take them.
fn declarations(piece: &Piece<'_>, body: &str) -> String {
    let mut out = String::new();
    let comment = |name: &str| spell::comment(name);
    for (nth, param) in piece.function.params.iter().enumerate() {
        let (c_name, local) = (&param.c_name, format!("tc_p{nth}"));
        if !mentions(body, &local) {
            continue;
        }
        let _ = match &param.buffer {
            Some(_) => writeln!(out, "  uint64_t {local} = (uint64_t)(uintptr_t){c_name};"),
            None => writeln!(out, "  {} {local} = {c_name};", types::c_value(param.dtype)),
        };
    }
    for (nth, (size, c_name)) in piece.function.sizes.iter().enumerate() {
        let local = format!("tc_s{nth}");
        if mentions(body, &local) {
            // The range of an `i32` is one that fits; the check of the sizes saw to it.
            let narrow = if size.dtype == DType::I32 { "int32_t" } else { "int64_t" };
            let _ = writeln!(out, "  {narrow} {local} = ({narrow}){c_name};");
        }
    }
    for (nth, temporary) in piece.manifest.temporaries.iter().enumerate() {
        let local = format!("tc_t{nth}");
        if mentions(body, &local) {
            let name = comment(&temporary.name);
            let _ = writeln!(out, "  uint64_t {local} = tc_workspace + tc_plan->offsets[{nth}]; /* {name} */");
        }
    }
    for (nth, map) in piece.manifest.maps.iter().enumerate() {
        let name = comment(&map.name);
        let _ = writeln!(out, "  $_tc_made_map tc_m{nth} = {{{{0}}}}; /* {name} */");
    }
    if body.contains("$$_TC_TRY") {
        out.push_str("  $_status tc_status;\n");
    }
    out
}
