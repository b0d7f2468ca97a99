//! `tc-tune` as a library: [`run`] is the whole tool, so that a test can call it in process.
//!
//! - `task`: what is tuned, and what it is known by.
//! - `tune`: the search, from points to records.
//! - `executor`: what measures points; `worker`: the process that does.
//! - `records`: JSON lines, and their files; `show`, `apply`, `replay`, `merge`, `compare`: what is made of them.

mod apply;
mod args;
mod compare;
mod drive;
mod executor;
mod features;
mod hash;
mod merge;
mod records;
mod replay;
mod show;
mod task;
mod tune;
mod worker;

pub use args::{Args, DeviceName};
pub use tc_cli::{BUG, CALL, FINE, INPUT, Io};

use std::ffi::OsString;

/// Runs the tool with the command line `args`, whose first element is its name; returns the exit status.
pub fn run(args: impl IntoIterator<Item = OsString>, io: Io<'_>) -> u8 {
    tc_cli::run(args, io, drive::drive)
}
