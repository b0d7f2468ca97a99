//! Names in C: of the bundle, its functions, their parameters.

use crate::wrong;
use tc_kernel::names::{MAX_LENGTH, Names};
use tc_kernel::reserved::safe;
use tc_support::Diagnostic;
use tc_support::suggest::shorten;

/// Longer names of bundles are refused: files and C names have it in them.
const MAX_NAME: usize = 48;

/// What the names of parameters keep clear of: other parameters of the C functions, and types.
const TAKEN: [&str; 14] = [
    "stream",
    "workspace",
    "workspace_bytes",
    "bytes",
    "int8_t",
    "int16_t",
    "int32_t",
    "int64_t",
    "uint8_t",
    "uint16_t",
    "uint32_t",
    "uint64_t",
    "size_t",
    "uintptr_t",
];

/// Words that C has and C++ has not, macros that compilers define for some systems, and those of headers that programs and the
/// source include.
const MACROS: [&str; 16] = [
    "restrict",
    "linux",
    "unix",
    "i386",
    "errno",
    "complex",
    "imaginary",
    "near",
    "far",
    "assert",
    "I",
    "EOF",
    "BUFSIZ",
    "NULL",
    "stdin",
    "stdout",
];

/// How macros of the standard headers begin or end.
const BEGIN: [&str; 6] = ["RTLD_", "FE_", "M_", "SEEK_", "CLOCK_", "EXIT_"];
const END: [&str; 3] = ["_MAX", "_MIN", "_C"];

/// `name` as an identifier that is no word of C or C++ and no macro.
fn no_macro(name: &str, fallback: &str) -> String {
    let name = safe(name, fallback);
    let is_macro = MACROS.contains(&name.as_str())
        || BEGIN.iter().any(|begin| name.starts_with(begin))
        || END.iter().any(|end| name.ends_with(end));
    if is_macro { format!("{name}_") } else { name }
}

/// What every bundle declares beside its functions, without its name.
pub(crate) const OWN: [&str; 6] = ["status", "load", "unload", "message", "status_text", "set_folder"];

/// What the C functions of one function of the program are called, behind its name.
pub(crate) const SUFFIXES: [&str; 4] = ["", "_bytes", "_workspace", "_in"];

/// Checks the name of a bundle.
pub fn check_name(name: &str) -> Result<(), Diagnostic> {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    let is_name =
        name.len() <= MAX_NAME && name.bytes().all(fits) && name.starts_with(|c: char| c.is_ascii_lowercase());
    // What has two underscores is reserved in C++.
    if is_name && !name.contains("__") && !name.ends_with('_') {
        return Ok(());
    }
    let help = format!(
        "take small letters of ASCII, digits and single underscores, at most {MAX_NAME}, that begin with a letter and end in no \
         underscore"
    );
    Err(wrong(format!("`{}` is no name of a bundle", shorten(name))).help(help))
}

/// `symbol` as what stands behind the name of the bundle, where no word is reserved but those of the source's own.
fn behind_prefix(symbol: &str) -> String {
    let fits = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let name: String = symbol.chars().take(MAX_LENGTH).map(fits).collect();
    match name.is_empty() || name.starts_with("tc_") {
        true => format!("f{name}"),
        false => name,
    }
}

/// The names of functions, without that of the bundle, each an identifier that no other C function has.
pub(crate) fn of_functions(symbols: &[&str]) -> Result<Vec<String>, Diagnostic> {
    let mut taken: Vec<(String, &str)> = OWN.iter().map(|own| (own.to_string(), "")).collect();
    let mut names = Vec::with_capacity(symbols.len());
    for symbol in symbols {
        let name = behind_prefix(symbol);
        for made in SUFFIXES.map(|suffix| format!("{name}{suffix}")) {
            if let Some((_, other)) = taken.iter().find(|(known, _)| *known == made) {
                let of_whom =
                    if other.is_empty() { "of every bundle".into() } else { format!("for `@{}`", shorten(other)) };
                let message =
                    format!("the C function `{made}` for `@{}` has the name of one {of_whom}", shorten(symbol));
                return Err(wrong(message).help("rename the function"));
            }
            taken.push((made, symbol));
        }
        names.push(name);
    }
    Ok(names)
}

/// The names of the parameters of one function: those of `authors`, in order, as identifiers that differ.
pub(crate) fn of_parameters(authors: &[&str]) -> Vec<String> {
    let mut names = Names::new(no_macro, authors.iter().copied());
    for taken in TAKEN {
        names.declare(taken, taken);
    }
    authors.iter().map(|author| names.declare(author, "argument").to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_bundles_begin_identifiers() {
        for name in ["add", "a1", "my_kernels", "double"] {
            assert_eq!(check_name(name), Ok(()), "{name}");
        }
        for name in ["", "1a", "A", "a-b", "a__b", "a_", "é", "_a", &"a".repeat(49)] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }

    #[test]
    fn functions_of_two_names_are_two() {
        let names = of_functions(&["add", "f.0", "int", "tc_x", "0", ""]).expect("they differ");
        assert_eq!(names, ["add", "f_0", "int", "ftc_x", "0", "f"]);
        let refused = |symbols: &[&str]| of_functions(symbols).expect_err("a clash").message;
        assert_eq!(refused(&["load"]), "the C function `load` for `@load` has the name of one of every bundle");
        assert_eq!(refused(&["a", "a_in"]), "the C function `a_in` for `@a_in` has the name of one for `@a`");
    }

    #[test]
    fn parameters_keep_clear_of_what_c_has() {
        assert_eq!(
            of_parameters(&["A", "stream", "int", "int64_t", "a b"]),
            ["A", "stream_1", "int_", "int64_t_1", "a_b"]
        );
        assert_eq!(
            of_parameters(&["restrict", "linux", "I", "INT64_MAX", "RTLD_NOW", "maxi"]),
            ["restrict_", "linux_", "I_", "INT64_MAX_", "RTLD_NOW_", "maxi"]
        );
    }
}
