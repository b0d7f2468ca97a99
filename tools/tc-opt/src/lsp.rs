//! `tc-opt lsp`: the language server over the standard streams.

use std::ffi::OsString;
use tc_cli::CALL;

/// What `tc-opt lsp --help` says.
const HELP: &str = "\
Serves editors that speak the language server protocol, over the standard streams.

Usage: tc-opt lsp [--stdio]

Options:
      --stdio  Use the standard streams, as it does anyway: some editors add this flag
  -h, --help   Print help

docs/editors.md says what the server does, and how editors are set up.
";

/// Runs the server if the command line `args`, whose first element is the tool's name, asks for it; the exit status.
pub fn lsp(args: &[OsString], print: &mut dyn FnMut(&str), note: &mut dyn FnMut(&str)) -> Option<u8> {
    let (_, command) = args.split_first()?;
    let (name, flags) = command.split_first()?;
    if name != "lsp" {
        return None;
    }
    if flags.iter().any(|flag| flag == "--help" || flag == "-h") {
        print(HELP);
        return Some(0);
    }
    if let Some(unknown) = flags.iter().find(|flag| *flag != "--stdio") {
        note(&format!("error: `tc-opt lsp` takes no `{}`\n\n{HELP}", unknown.to_string_lossy()));
        return Some(CALL);
    }
    match tc_lsp::serve_stdio() {
        Ok(status) => Some(status),
        Err(error) => {
            note(&format!("error: the server cannot start: {error}\n"));
            Some(CALL)
        }
    }
}
