//! The Rust module of a bundle: safe functions over those of the header. What is safe is the call; that buffers are there
//! is what a program promises where it makes an `Input` or an `Output`.

use crate::agree::{Function, Interface, Parameter};
use crate::source::{named, renamed};
use crate::{Options, spell, types};
use std::fmt::Write;
use tc_kernel::names::Names;

/// What is the same in every module.
const SUPPORT: &str = include_str!("rust/support.in");

/// Words of Rust that are none of C++, which names are clear of already.
const WORDS: [&str; 34] = [
    "Self", "abstract", "as", "async", "await", "become", "box", "crate", "dyn", "final", "fn", "gen", "impl", "in",
    "let", "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "self", "super", "trait",
    "type", "unsafe", "unsized", "use", "where", "yield",
];

fn safe(name: &str, _: &str) -> String {
    if WORDS.contains(&name) || name == "_" { format!("{name}_") } else { name.to_string() }
}

/// The parameters of a function in Rust, by its names there.
struct RustNames<'a> {
    function: &'a Function,
    name: String,
    params: Vec<String>,
    sizes: Vec<String>,
}

impl<'a> RustNames<'a> {
    fn of(function: &'a Function) -> RustNames<'a> {
        let all: Vec<&str> =
            function.params.iter().map(|param| param.c_name.as_str()).chain(function.size_names()).collect();
        let mut names = Names::new(safe, all.iter().copied());
        let mut names: Vec<String> = all.iter().map(|name| names.declare(name, "argument").to_string()).collect();
        let sizes = names.split_off(function.params.len());
        let starts_with_digit = function.c_name.starts_with(|c: char| c.is_ascii_digit());
        let name = if starts_with_digit { format!("f{}", function.c_name) } else { safe(&function.c_name, "") };
        RustNames { function, name, params: names, sizes }
    }

    fn params(&self) -> impl Iterator<Item = (&Parameter, &str)> {
        self.function.params.iter().zip(self.params.iter().map(String::as_str))
    }

    /// `, a: i64, b: i64`
    fn declared_sizes(&self) -> String {
        self.sizes.iter().map(|name| format!(", {name}: i64")).collect()
    }

    fn declared(&self) -> String {
        let param = |(param, name): (&Parameter, &str)| match &param.buffer {
            Some(buffer) if buffer.is_read_only => format!(", {name}: Input<'_, {}>", types::rust_element(param.dtype)),
            Some(_) => format!(", {name}: &mut Output<'_, {}>", types::rust_element(param.dtype)),
            None => format!(", {name}: {}", types::rust_value(param.dtype)),
        };
        self.params().map(param).collect::<String>() + &self.declared_sizes()
    }

    /// What is handed to C, each with a comma before it.
    fn handed(&self) -> String {
        let param = |(param, name): (&Parameter, &str)| match &param.buffer {
            Some(_) => format!(", {name}.address as *mut c_void"),
            None => format!(", {name}"),
        };
        self.params().map(param).collect::<String>() + &self.handed_sizes()
    }

    fn handed_sizes(&self) -> String {
        self.sizes.iter().map(|name| format!(", {name}")).collect()
    }
}

/// The text of the module, for `include!` in one.
pub(crate) fn text(interface: &Interface, options: &Options) -> String {
    let mut out = format!("// Made by tc {}. Do not edit.\n\n", env!("CARGO_PKG_VERSION"));
    out.push_str(&renamed(SUPPORT, &options.name));
    let mut ours =
        String::from("\n#[allow(non_snake_case, clippy::too_many_arguments)]\nmod c {\n    use super::*;\n\n");
    ours.push_str("    unsafe extern \"C\" {\n        pub(super) fn $_message() -> *const c_char;\n");
    ours.push_str("        pub(super) fn $_load() -> c_int;\n        pub(super) fn $_unload() -> c_int;\n");
    interface.functions.iter().for_each(|function| declare(&mut ours, function));
    ours.push_str("    }\n}\n");
    interface.functions.iter().for_each(|function| define(&mut ours, &RustNames::of(function)));
    out + &named(&ours, &options.name)
}

/// The C functions of `function`.
fn declare(out: &mut String, function: &Function) {
    let name = &function.c_name;
    let param = |(nth, param): (usize, &Parameter)| match param.buffer {
        Some(_) => format!(", p{nth}: *mut c_void"),
        None => format!(", p{nth}: {}", types::rust_value(param.dtype)),
    };
    let params: String = function.params.iter().enumerate().map(param).collect();
    let sizes: String = (0..function.sizes.len()).map(|nth| format!(", s{nth}: i64")).collect();
    let only_sizes = sizes.strip_prefix(", ").map_or(String::new(), |sizes| format!("{sizes}, "));
    let mut line = |text: String| out.push_str(&format!("        pub(super) fn $_{text} -> c_int;\n"));
    line(format!("{name}(stream: *mut c_void{params}{sizes})"));
    if function.buffers().next().is_some() {
        line(format!("{name}_bytes({only_sizes}bytes: *mut u64)"));
    }
    if function.has_temporaries {
        line(format!("{name}_workspace({only_sizes}bytes: *mut u64)"));
        line(format!("{name}_in(stream: *mut c_void, workspace: *mut c_void, bytes: u64{params}{sizes})"));
    }
}

/// The Rust functions of a function.
fn define(out: &mut String, names: &RustNames<'_>) {
    let (function, name) = (names.function, &names.name);
    let c_name = &function.c_name;
    let (declared, handed) = (names.declared(), names.handed());
    let checks = checks(names);
    let _ = write!(
        out,
        "\n/// `@{}`: puts its kernels into `stream`, and does not wait for them.\n///\n",
        spell::comment(&function.symbol)
    );
    for (param, rust_name) in names.params() {
        let access =
            param.buffer.as_ref().map_or("a value", |buffer| if buffer.is_read_only { "read" } else { "written" });
        let _ = writeln!(out, "/// - `{rust_name}`: {}, {access}", param.dtype.name());
    }
    for rust_name in &names.sizes {
        let _ = writeln!(out, "/// - `{rust_name}`: a size");
    }
    let allow = "#[allow(non_snake_case, clippy::too_many_arguments)]";
    let safety =
        "    // SAFETY: who made the buffers and the stream promised that they are there; their lengths fit.\n";
    let _ = write!(
        out,
        "{allow}\npub fn {name}(stream: Stream{declared}) -> Result<(), Error> {{\n{checks}{safety}    \
         self::tc_done(unsafe {{ c::$_{c_name}(stream.raw{handed}) }})\n}}\n"
    );
    if function.has_temporaries {
        let sizes = names.declared_sizes();
        let sizes = sizes.strip_prefix(", ").unwrap_or("");
        let handed_sizes = names.handed_sizes();
        let handed_sizes = handed_sizes.strip_prefix(", ").map_or(String::new(), |sizes| format!("{sizes}, "));
        let _ = write!(
            out,
            "\n/// The bytes of the workspace of [`{c_name}_in`] on the current device.\n{allow}\npub fn {c_name}_workspace({sizes}) \
             -> Result<u64, Error> {{\n    let mut bytes = 0;\n    // SAFETY: the number is there to be written.\n    \
             self::tc_done(unsafe {{ c::$_{c_name}_workspace({handed_sizes}&mut bytes) }})?;\n    Ok(bytes)\n}}\n"
        );
        let _ = write!(
            out,
            "\n/// As [`{name}`], with the temporaries in `workspace`.\n{allow}\npub fn {c_name}_in(stream: Stream, workspace: &mut \
             Output<'_, u8>{declared}) -> Result<(), Error> {{\n{checks}{safety}    self::tc_done(unsafe {{\n        \
             c::$_{c_name}_in(stream.raw, workspace.address as *mut c_void, workspace.len as u64{handed})\n    }})\n}}\n"
        );
    }
}

/// Checks of the lengths of buffers.
fn checks(names: &RustNames<'_>) -> String {
    let n_buffers = names.function.buffers().count();
    if n_buffers == 0 {
        return String::new();
    }
    let c_name = &names.function.c_name;
    let sizes = names.handed_sizes();
    let sizes = sizes.strip_prefix(", ").map_or(String::new(), |sizes| format!("{sizes}, "));
    let mut out = format!(
        "    let mut bytes = [0; {n_buffers}];\n    // SAFETY: there is a number for each buffer.\n    self::tc_done(unsafe {{ \
         c::$_{c_name}_bytes({sizes}bytes.as_mut_ptr()) }})?;\n"
    );
    for (nth, (param, name)) in names.params().filter(|(param, _)| param.buffer.is_some()).enumerate() {
        let (text, element) = (spell::string(&param.c_name), types::rust_element(param.dtype));
        let _ = writeln!(out, "    self::tc_fits::<{element}>({text}, {name}.len, bytes[{nth}])?;");
    }
    out
}
