//! `tc-opt`: reads `.tir` text, runs passes over it, writes text. The library does everything.

use std::io::IsTerminal;
use std::process::ExitCode;

fn main() -> ExitCode {
    let (mut stdin, mut stdout, mut stderr) = (std::io::stdin(), std::io::stdout(), std::io::stderr());
    let colour = stderr.is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let io = tc_opt::Io { stdin: &mut stdin, stdout: &mut stdout, stderr: &mut stderr, colour };
    ExitCode::from(tc_opt::run(std::env::args_os(), io))
}
