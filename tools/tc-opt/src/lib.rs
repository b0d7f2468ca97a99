//! `tc-opt` as a library: [`run`] is the whole tool, so that a test runner can call it in process.
//!
//! The program and what was asked about it go to the standard output; diagnostics, timing and statistics go to the
//! standard error. The exit status tells who has to act: 0 no one, 1 the author of the file, 2 the caller, 3 we.
//!
//! `args` is the command line, `drive` the modes and the inputs, `job` the way of one text to its output, `sink` where
//! a job writes, `lsp` the language server.

mod args;
mod bundle;
mod debug;
mod drive;
mod expect;
mod explain;
mod hand_over;
mod help;
mod help_json;
mod inputs;
mod job;
mod lsp;
mod parallel;
mod paths;
mod show;
mod sink;
mod space;
mod split;
mod update;

pub use args::{
    AnswerArgs, Args, BundleLink, Colour, DebugArgs, Emit, InPlace, InputArgs, RunArgs, ShowArgs, ShowChanged,
    SpaceArgs, VerifyEach, Via,
};
pub use lsp::serve;
pub use tc_cli::{BUG, CALL, FINE, INPUT, Io};

use std::ffi::OsString;

/// Runs the tool with the command line `args`, whose first element is its name; returns the exit status.
pub fn run(args: impl IntoIterator<Item = OsString>, mut io: Io<'_>) -> u8 {
    let args: Vec<OsString> = args.into_iter().collect();
    lsp::answer(&args, &mut io).unwrap_or_else(|| tc_cli::run(args, io, drive::drive))
}
