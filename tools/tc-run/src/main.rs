//! `tc-run`: runs, checks and times what a file holds. The library does everything.

use std::process::ExitCode;

fn main() -> ExitCode {
    tc_cli::main(tc_run::run)
}
