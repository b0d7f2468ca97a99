//! What is read: files, and the texts in them.

use crate::args::Args;
use crate::{CALL, FINE, split};
use std::ffi::OsString;
use std::ops::Range;
use tc::ir::Module;
use tc::support::{Diagnostics, FileId};
use tc::syntax::ParseOptions;
use tc_cli::{Session, file_name};

/// A file.
pub(crate) struct Input {
    pub(crate) file: OsString,
    /// What it is called in messages.
    pub(crate) name: String,
    pub(crate) text: String,
}

/// A text of a file: all of it, or a part.
pub(crate) struct InputChunk<'t> {
    /// Which file it is of.
    pub(crate) input: usize,
    pub(crate) name: &'t str,
    /// The number of its first line in the file.
    pub(crate) first_line: u32,
    pub(crate) text: &'t str,
    /// The folder of its own that it has in a dump, if it is not the only text.
    pub(crate) folder: Option<String>,
}

impl Input {
    pub(crate) fn new(file: OsString, text: String) -> Input {
        Input { name: file_name(&file), file, text }
    }
}

/// Reads all inputs; one that cannot be read is reported, and the others are read. The status is that of the worst.
pub(crate) fn load(args: &Args, session: &Session<'_>) -> (Vec<Input>, u8) {
    let (mut inputs, mut status) = (Vec::new(), FINE);
    let files = &args.input.files;
    if files.iter().filter(|file| *file == "-").count() > 1 {
        return (inputs, session.refuse("the standard input can be read once: `-` is named several times"));
    }
    if (args.input.in_place.is_some() || args.input.update) && files.iter().any(|file| file == "-") {
        let flag = if args.input.update { "--update" } else { "--in-place" };
        return (inputs, session.refuse(&format!("`{flag}` writes files, and the standard input is none")));
    }
    for file in files {
        match session.load(file) {
            Ok(text) => inputs.push(Input::new(file.clone(), text)),
            Err(worse) => status = status.max(worse),
        }
    }
    (inputs, status)
}

/// The texts of all inputs, in order.
pub(crate) fn parts<'t>(inputs: &'t [Input], args: &Args) -> Vec<InputChunk<'t>> {
    let mut list = Vec::new();
    for (input, Input { name, text, .. }) in inputs.iter().enumerate() {
        for (first_line, range) in parts_of(text, args) {
            list.push(InputChunk { input, name, first_line, text: &text[range], folder: None });
        }
    }
    if list.len() > 1 {
        let width = (list.len() - 1).to_string().len().max(2);
        list.iter_mut().enumerate().for_each(|(nth, part)| part.folder = Some(format!("{nth:0width$}")));
    }
    list
}

/// The first line and the bytes of each text of a file.
pub(crate) fn parts_of(text: &str, args: &Args) -> Vec<(u32, Range<usize>)> {
    if args.input.split_input_file { split::split(text) } else { vec![(1, 0..text.len())] }
}

/// Reads the items of a file of `module.sources`: TVMScript where its name ends in `.py`, MLIR where it ends in `.mlir`.
pub(crate) fn parse(module: &mut Module, file: FileId, options: &ParseOptions) -> Diagnostics {
    let name = &module.sources.file(file).name;
    let mut found = if name.ends_with(".py") {
        tc::tvm::import::import_file(module, file)
    } else if name.ends_with(".mlir") {
        tc::mlir::import::import_file(module, file)
    } else {
        return tc::syntax::parse_file(module, file, options);
    };
    if !found.has_errors() {
        found.append(tc::ir::symbols::verify_module(module));
    }
    found
}

/// The only input, for what works on one.
pub(crate) fn only<'t>(inputs: &'t [Input], flag: &str, session: &Session<'_>) -> Result<&'t Input, u8> {
    match inputs {
        [one] => Ok(one),
        _ => {
            session.refuse(&format!("`{flag}` works on one file"));
            Err(CALL)
        }
    }
}
