//! `tc-opt` as a library: [`run`] is the whole tool, so that a test runner can call it in process.
//!
//! The program and what was asked about it go to the standard output; diagnostics, timing and statistics go to the
//! standard error. The exit status tells who has to act: 0 nobody, 1 the author of the file, 2 the caller, 3 we.

mod args;
mod drive;
mod expect;
mod explain;
mod help;
mod output;
mod space;
mod split;

pub use args::{Args, Emit, VerifyEach};

use clap::Parser;
use output::Out;
use std::ffi::OsString;
use std::io::{Read, Write};

/// All went well.
pub const FINE: u8 = 0;
/// The text that came in is at fault.
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
    /// Where the program goes.
    pub stdout: &'i mut (dyn Write + Send),
    /// Where diagnostics go.
    pub stderr: &'i mut (dyn Write + Send),
    /// Are diagnostics coloured?
    pub colour: bool,
}

/// Runs the tool with the command line `args`, whose first element is its name; returns the exit status.
pub fn run(args: impl IntoIterator<Item = OsString>, io: Io<'_>) -> u8 {
    let args: Vec<OsString> = args.into_iter().collect();
    let Io { stdin, stdout, stderr, colour } = io;
    let mut stdout = Out::new(stdout);
    let mut stderr = Out::new(stderr);
    let parsed = match Args::try_parse_from(args) {
        Ok(parsed) => parsed,
        Err(error) => {
            let text = if colour { error.render().ansi().to_string() } else { error.render().to_string() };
            if error.use_stderr() {
                stderr.write(&text);
                return CALL;
            }
            stdout.write(&text);
            return FINE;
        }
    };
    let status = std::thread::scope(|scope| {
        let tool = || drive::drive(&parsed, stdin, &mut stdout, &mut stderr, colour);
        match std::thread::Builder::new().name("tc-opt".to_string()).stack_size(STACK).spawn_scoped(scope, tool) {
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
