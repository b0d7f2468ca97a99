//! `tc-run` as a library: [`run`] is the whole tool, so that a test runner can call it in process.
//!
//! Results go to the standard output: tables, diagnostics of checks, JSON. What keeps the tool from working, and its
//! progress on a terminal, go to the standard error. The exit status tells who has to act: 0 no one, 1 the author of
//! the file, 2 the caller, 3 we.

mod against;
mod args;
mod drive;
mod inputs;
mod json;
mod profile;
mod table;

pub use args::{Args, DeviceName};
pub use tc_cli::{BUG, CALL, FINE, INPUT, Io};

use std::ffi::OsString;

/// Runs the tool with the command line `args`, whose first element is its name; returns the exit status.
pub fn run(args: impl IntoIterator<Item = OsString>, io: Io<'_>) -> u8 {
    tc_cli::run(args, io, drive::drive)
}
