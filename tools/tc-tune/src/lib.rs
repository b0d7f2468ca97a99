//! `tc-tune` as a library: [`run`] is the whole tool, so that a test can call it in process.
//!
//! - `tuning`: a search from the command line, with its `devices` and its `finals`; `outside`: points that others choose.
//! - `task`: what is tuned, and what it is known by; `features`: what the launch of a point says of its speed.
//! - `tune`: the search, from points to records.
//! - `executor`: what measures points; `worker`: the process that does.
//! - `start`: results of other searches that one starts from; `store`: records that several people share.
//! - `records`: JSON lines, and their files; `show`, `apply`, `replay`, `merge`, `compare`, `import` with `autotvm`: what is made of them.

mod apply;
mod args;
mod autotvm;
mod compare;
mod devices;
mod drive;
mod estimate;
mod executor;
mod features;
mod finals;
mod import;
mod merge;
mod model;
mod outside;
mod records;
mod replay;
mod show;
mod start;
mod store;
mod task;
mod tune;
mod tuning;
mod worker;

pub use args::{Args, DeviceName};
pub use tc_cli::{BUG, CALL, FINE, INPUT, Io};

use std::ffi::OsString;

/// Runs the tool with the command line `args`, whose first element is its name; returns the exit status.
pub fn run(args: impl IntoIterator<Item = OsString>, io: Io<'_>) -> u8 {
    tc_cli::run(args, io, drive::drive)
}
