//! Kernels as files that a program in C links: machine code for each target, the manifests, a header, and a C source
//! that launches the kernels through the CUDA driver, which it opens at run time.
//!
//! ```text
//!  manifests and machine code, per target ──► agree ──► interface ──► header ──► NAME.h
//!                                                          │
//!                                                          ├──► source: tables, check, plan, launches ──► NAME.c
//!                                                          └──► document ──► NAME.json
//! ```
//!
//! - `agree`: what the functions of all targets have in common, which is what the C functions take. That they have it is
//!   checked.
//! - `names`, `types`, `spell`, `formula`: identifiers, types, literals and formulas of sizes in C.
//! - `header`, `source`: the two texts. What is the same in every bundle lies in `c/`, as C whose names begin with
//!   `bundle_`; the name of the bundle takes the place of that word.
//! - `ffi`: a part of the source that a program may compile, functions that TVM FFI calls.
//! - `rust`: a Rust module over the C functions.
//! - `document`: the JSON beside them. docs/manifest.md is its contract.
//!
//! This crate compiles nothing. `tc::Compiler::bundle` makes the machine code.

mod agree;
mod call;
mod check;
mod document;
mod ffi;
mod formula;
mod header;
mod launches;
mod names;
mod plan;
mod rust;
mod source;
mod spell;
mod tables;
mod types;

pub use document::VERSION;
pub use names::check_name;

use agree::Interface;
use tc_support::{Diagnostic, Diagnostics, Location};
use tc_target::{KernelManifest, Target};

/// The functions of a program for one target.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TargetCode {
    /// The target.
    pub target: Target,
    /// How the kernels are launched, function by function.
    pub manifests: Vec<KernelManifest>,
    /// The machine code of all kernels.
    pub cubin: Vec<u8>,
}

/// Where the C source has the machine code.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum Link {
    /// In itself: what is linked is all that a program needs.
    #[default]
    Embedded,
    /// In the files beside it, which it reads when it loads the code.
    Files,
}

/// How a bundle is written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// The name of the bundle: of its files, and what all its C names begin with.
    pub name: String,
    /// Where the machine code is.
    pub link: Link,
    /// Is there a Rust module, too, which calls the C functions?
    pub rust: bool,
}

/// A file of a bundle.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct File {
    /// Its name, without a folder.
    pub name: String,
    /// What it holds.
    pub bytes: Vec<u8>,
}

/// Writes the bundle of a program: the JSON, the machine code for each target, the header, the source and the Rust
/// module where one is asked for, in this order.
/// Targets come in any order; every one of them has the same functions.
pub fn write(codes: &[TargetCode], options: &Options) -> Result<Vec<File>, Diagnostics> {
    check_name(&options.name)?;
    let mut codes: Vec<&TargetCode> = codes.iter().collect();
    // What runs on one capability only is the better code for it, and the best code comes last.
    codes.sort_by_key(|code| (code.target.capability, code.target.arch_specific));
    let interface = Interface::of(&codes, &options.name)?;
    let mut files =
        vec![File { name: format!("{}.json", options.name), bytes: document::text(&codes, options).into() }];
    files.extend(codes.iter().map(|code| File { name: cubin_name(options, &code.target), bytes: code.cubin.clone() }));
    let header = header::text(&interface, options);
    files.push(File { name: format!("{}.h", options.name), bytes: header.into() });
    let source = source::text(&interface, &codes, options)?;
    files.push(File { name: format!("{}.c", options.name), bytes: source.into() });
    if options.rust {
        let module = rust::text(&interface, options);
        files.push(File { name: format!("{}.rs", options.name), bytes: module.into() });
    }
    Ok(files)
}

/// The name of the file with the machine code for `target`.
fn cubin_name(options: &Options, target: &Target) -> String {
    format!("{}.{target}.cubin", options.name)
}

/// What keeps a bundle from being written.
fn wrong(message: impl Into<String>) -> Diagnostic {
    Diagnostic::error("bundle", Location::None, message)
}
