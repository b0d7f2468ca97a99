//! `tc-opt`: reads `.tir` text, runs passes over it, writes text. The library does everything.

use std::process::ExitCode;

fn main() -> ExitCode {
    tc_cli::main(|args, io| tc_opt::run(args, io))
}
