//! `tc-opt lsp`: the language server over the standard streams.

use std::ffi::OsString;
use tc_cli::{CALL, FINE, Io};

/// What `tc-opt lsp --help` says.
const HELP: &str = "\
Serves editors that speak the language server protocol, over the standard streams

Usage: tc-opt lsp [--stdio]

Options:
      --stdio  Use the standard streams, as it does anyway: some editors add this flag
  -h, --help   Print help

Exit status: 0 after `shutdown` and `exit`, 1 after another end, 2 the call is at fault.
";

/// What a command line asks of the server.
enum Asked {
    Serve,
    Help,
    Wrong(String),
}

/// Reads the command line `args`, whose first element is the tool's name; nothing where it is not about the server.
fn read(args: &[OsString]) -> Option<Asked> {
    let (name, flags) = args.get(1..)?.split_first()?;
    if name != "lsp" {
        return None;
    }
    if flags.iter().any(|flag| flag == "--help" || flag == "-h") {
        return Some(Asked::Help);
    }
    let unknown = flags.iter().find(|flag| *flag != "--stdio");
    Some(unknown.map_or(Asked::Serve, |flag| Asked::Wrong(flag.to_string_lossy().into_owned())))
}

/// Serves an editor over the standard streams of the process, if the command line `args` asks for that; the exit status.
pub fn serve(args: &[OsString]) -> Option<u8> {
    let Some(Asked::Serve) = read(args) else { return None };
    // Without threads there is no server, and no stream that the reason could go to: stdout belongs to the protocol.
    Some(tc_lsp::serve_stdio().unwrap_or(CALL))
}

/// Answers what else the command line asks of the server; the exit status.
pub(crate) fn answer(args: &[OsString], io: &mut Io<'_>) -> Option<u8> {
    let (status, text) = match read(args)? {
        Asked::Help => (FINE, HELP.to_string()),
        Asked::Wrong(flag) => (CALL, format!("error: `tc-opt lsp` takes no `{flag}`\n\n{HELP}")),
        Asked::Serve => (CALL, "error: `tc-opt lsp` serves over the streams of a process of its own\n".to_string()),
    };
    let stream = if status == FINE { &mut io.stdout } else { &mut io.stderr };
    // A reader that is gone misses the text, and the status tells the rest.
    let _ = stream.write_all(text.as_bytes());
    Some(status)
}
