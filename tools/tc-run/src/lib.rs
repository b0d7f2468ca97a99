//! `tc-run` as a library: [`run`] is the whole tool, so that a test runner can call it in process.
//!
//! Results go to the standard output: tables, findings of checks, JSON. What keeps the tool from working, and its
//! progress on a terminal, go to the standard error. The exit status tells who has to act: 0 nobody, 1 the author of
//! the file, 2 the caller, 3 we.

mod args;
mod drive;
mod inputs;
mod json;
mod output;
mod table;

pub use args::{Args, DeviceName};

use clap::Parser;
use output::Out;
use std::ffi::OsString;
use std::io::{Read, Write};

/// All went well.
pub const FINE: u8 = 0;
/// The text or the arrays that came in are at fault.
pub const INPUT: u8 = 1;
/// The call is at fault.
pub const CALL: u8 = 2;
/// The compiler is at fault.
pub const BUG: u8 = 3;

/// The stack that the tool runs on: parts of the compiler recurse over what may be deep.
const STACK: usize = 64 << 20;

/// The streams of a run.
pub struct Io<'i> {
    /// Where `-` reads from.
    pub stdin: &'i mut (dyn Read + Send),
    /// Where results go.
    pub stdout: &'i mut (dyn Write + Send),
    /// Where errors and progress go.
    pub stderr: &'i mut (dyn Write + Send),
    /// Are findings on the standard output coloured?
    pub colour_stdout: bool,
    /// Are errors coloured?
    pub colour_stderr: bool,
    /// Is progress shown on the standard error?
    pub progress: bool,
}

/// Runs the tool with the command line `args`, whose first element is its name; returns the exit status.
pub fn run(args: impl IntoIterator<Item = OsString>, io: Io<'_>) -> u8 {
    let args: Vec<OsString> = args.into_iter().collect();
    let Io { stdin, stdout, stderr, colour_stdout, colour_stderr, progress } = io;
    let (mut stdout, mut stderr) = (Out::new(stdout), Out::new(stderr));
    let parsed = match Args::try_parse_from(args) {
        Ok(parsed) => parsed,
        Err(error) => {
            let text = if colour_stderr { error.render().ansi().to_string() } else { error.render().to_string() };
            if error.use_stderr() {
                stderr.write(&text);
                return CALL;
            }
            stdout.write(&text);
            return FINE;
        }
    };
    let status = std::thread::scope(|scope| {
        let streams =
            drive::Streams { stdout: &mut stdout, stderr: &mut stderr, colour_stdout, colour_stderr, progress };
        let tool = || drive::drive(&parsed, stdin, streams);
        match std::thread::Builder::new().name("tc-run".to_string()).stack_size(STACK).spawn_scoped(scope, tool) {
            Ok(thread) => thread.join().unwrap_or(BUG),
            Err(_) => BUG,
        }
    });
    if let Some(error) = stdout.failure() {
        stderr.write(&format!("error: cannot write to the standard output: {error}\n"));
        return status.max(CALL);
    }
    status
}
