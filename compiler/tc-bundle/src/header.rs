//! The header of a bundle.

use crate::agree::{Extent, Function, Interface, Parameter};
use crate::source::{named, renamed};
use crate::{Link, Options, spell, types};
use std::fmt::Write;

const HEAD: &str = include_str!("c/head.h");
const TAIL: &str = include_str!("c/tail.h");

/// What is said once of all functions.
const OF_ALL: &str = "
/* Each function puts its kernels into `stream`, a `CUstream` or `cudaStream_t`, and does not wait for them. NULL is the default
   stream. Buffers are on the device, dense and row-major; pointers of the driver's (`CUdeviceptr`) are cast to `void *`. Those
   without elements may be NULL. No buffer that is written overlaps another. A function may be called from any thread in which a
   context is current, and while a graph is captured from the stream. It puts nothing into the stream where an argument is wrong. */
";

const SET_FOLDER: &str = "
/* Where the files with the code are, which are read when it is loaded; without it, in the current folder. */
$_status $_set_folder(const char *folder);
";

/// The parameters of the C function that takes the buffers and values of `function`.
pub(crate) fn parameters(function: &Function) -> Vec<String> {
    let mut list: Vec<String> = function.params.iter().map(parameter).collect();
    list.extend(size_parameters(function));
    list
}

/// The parameters for the sizes of `function`.
pub(crate) fn size_parameters(function: &Function) -> Vec<String> {
    function.size_names().into_iter().map(|name| format!("int64_t {name}")).collect()
}

fn parameter(param: &Parameter) -> String {
    match &param.buffer {
        Some(buffer) => {
            let qualifier = if buffer.is_read_only { "const " } else { "" };
            format!("{qualifier}{} *{}", types::c_pointee(param.dtype), param.c_name)
        }
        None => format!("{} {}", types::c_value(param.dtype), param.c_name),
    }
}

/// `name(list)` as C declares a function that returns a status.
pub(crate) fn prototype(name: &str, list: &[String]) -> String {
    let list = if list.is_empty() { "void".to_string() } else { list.join(", ") };
    format!("$_status {name}({list})")
}

/// What the C functions of `function` are: name, and parameters.
pub(crate) fn declared(function: &Function) -> Vec<String> {
    let name = format!("$_{}", function.c_name);
    let (all, sizes) = (parameters(function), size_parameters(function));
    let with = |before: &[&str], list: &[String], after: &[&str]| -> Vec<String> {
        let text = |list: &[&str]| list.iter().map(|one| one.to_string()).collect::<Vec<_>>();
        [text(before), list.to_vec(), text(after)].concat()
    };
    let mut declared = vec![prototype(&name, &with(&["void *stream"], &all, &[]))];
    let n_buffers = function.buffers().count();
    if n_buffers > 0 {
        let bytes = format!("uint64_t bytes[{n_buffers}]");
        declared.push(prototype(&format!("{name}_bytes"), &with(&[], &sizes, &[&bytes])));
    }
    if function.has_temporaries {
        declared.push(prototype(&format!("{name}_workspace"), &with(&[], &sizes, &["uint64_t *workspace_bytes"])));
        let before = ["void *stream", "void *workspace", "uint64_t workspace_bytes"];
        declared.push(prototype(&format!("{name}_in"), &with(&before, &all, &[])));
    }
    declared
}

/// The text of the header.
pub(crate) fn text(interface: &Interface, options: &Options) -> String {
    let guard = format!("{}_H", options.name.to_uppercase());
    let mut out = format!("/* Made by tc {}. Do not edit. */\n", env!("CARGO_PKG_VERSION"));
    let _ = write!(out, "\n#ifndef {guard}\n#define {guard}\n\n{}", renamed(HEAD, &options.name));
    if options.link == Link::Files {
        out.push_str(SET_FOLDER);
    }
    if interface.functions.iter().any(|function| function.has_temporaries) {
        let alignment = interface.workspace_alignment;
        let _ = write!(
            out,
            "\n/* A workspace begins at a multiple of so many bytes. */\n#define $$_WORKSPACE_ALIGNMENT {alignment}\n"
        );
    }
    out.push_str(OF_ALL);
    for function in &interface.functions {
        declare(&mut out, function);
    }
    out.push_str(TAIL);
    let _ = write!(out, "\n#endif\n");
    named(&out, &options.name)
}

fn declare(out: &mut String, function: &Function) {
    let declared = declared(function);
    let mut declared = declared.iter();
    let _ = write!(out, "\n/* @{}", spell::comment(&function.symbol));
    for param in &function.params {
        let _ = write!(out, "\n     {}: {}", param.c_name, described(param));
    }
    for (size, c_name) in &function.sizes {
        let high = size.high.map_or(String::new(), |high| format!(", at most {high}"));
        let _ = write!(out, "\n     {c_name}: a size, at least {}{high}", size.low);
    }
    for fact in &function.facts {
        let _ = write!(out, "\n     where {}", shown(&fact.to_string()));
    }
    let _ = writeln!(out, " */\n{};", declared.next().map_or("", String::as_str));
    if function.buffers().next().is_some() {
        let names: Vec<&str> = function.buffers().map(|(param, _)| param.c_name.as_str()).collect();
        let _ = writeln!(
            out,
            "\n/* Sets `bytes` to those of the buffers {} for these sizes. It asks for no device. */\n{};",
            names.join(", "),
            declared.next().map_or("", String::as_str)
        );
    }
    if function.has_temporaries {
        let _ = writeln!(
            out,
            "\n/* The function above allocates its temporaries from the memory pool of the stream (`cuMemAllocAsync`). `_in` has them \
             in\n   `workspace`, which no other call uses at the same time; `_workspace` says of how many bytes on the current device. \
             */\n{};\n{};",
            declared.next().map_or("", String::as_str),
            declared.next().map_or("", String::as_str)
        );
    }
}

/// A formula or a name, for a comment: stars are products, and end none.
fn shown(text: &str) -> String {
    spell::comment(&text.replace('*', "x"))
}

fn described(param: &Parameter) -> String {
    let dtype = param.dtype.name();
    let Some(buffer) = &param.buffer else { return dtype.to_string() };
    let extents = buffer.extents.iter().map(|extent| match extent {
        Extent::Fixed(extent) => extent.to_string(),
        Extent::Open(formula) => shown(&formula.to_string()),
    });
    let extents: Vec<String> = extents.collect();
    let access = if buffer.is_read_only { "read" } else { "written" };
    format!("{dtype}[{}], {access}, at a multiple of {} bytes", extents.join(", "), buffer.alignment)
}
