//! The language server of `.tir`: what editors ask while one writes operators, schedules and programs.
//!
//! [`serve`] speaks the protocol over a connection; `tc-opt lsp` gives it the standard streams. docs/editors.md says what the
//! server does and how editors are set up.
//!
//! - `server`: the main loop, which never works itself; `lanes`: the threads that do.
//! - `capability`: the table of methods. A capability is a file with a handler, and a line there.
//! - `stdio`: messages on streams.
//! - `documents`, `lines`: the open texts, and positions in them.
//! - `index`: what names stand for, by the syntax tree alone.
//! - `analysis`: what a version of a text says; `facts`: what the compiler says of its schedules; `kernel`: of what the whole
//!   pipeline makes of them. All is found once a version, and facts are kept as long as the text that they are of.
//!
//! Texts are read as far as they can be: a text with errors has symbols, completion and hover for what parsed. An answer is
//! always about the version that the client had when it asked.

mod actions;
mod analysis;
mod capability;
mod commands;
mod completion;
mod definition;
mod diagnostics;
mod documents;
mod facts;
mod folding;
mod format;
mod hints;
mod hover;
mod index;
mod kernel;
mod lanes;
mod lens;
mod lines;
mod rename;
mod rows;
mod server;
mod settings;
mod stages;
mod stdio;
mod symbols;
mod tokens;

use lsp_server::Connection;

/// Serves the client at the other end of `connection` until it says `exit`, or is gone. The exit status: 0 where it said
/// `shutdown` before.
pub fn serve(connection: Connection) -> u8 {
    u8::from(!server::serve(connection))
}

/// Serves a client over the standard streams, which then belong to the protocol. The error is of a thread that does not start.
pub fn serve_stdio() -> std::io::Result<u8> {
    let (connection, writer) = stdio::connect(std::io::BufReader::new(std::io::stdin()), std::io::stdout())?;
    let status = serve(connection);
    // What was answered last is written before the process ends.
    let _ = writer.join();
    Ok(status)
}
