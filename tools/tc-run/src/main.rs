//! `tc-run`: runs, checks and times what a file holds. The library does everything.

use std::io::IsTerminal;
use std::process::ExitCode;

fn main() -> ExitCode {
    let (mut stdin, mut stdout, mut stderr) = (std::io::stdin(), std::io::stdout(), std::io::stderr());
    let colour = |is_terminal: bool| is_terminal && std::env::var_os("NO_COLOR").is_none();
    let io = tc_run::Io {
        colour_stdout: colour(stdout.is_terminal()),
        colour_stderr: colour(stderr.is_terminal()),
        progress: stderr.is_terminal(),
        stdin: &mut stdin,
        stdout: &mut stdout,
        stderr: &mut stderr,
    };
    ExitCode::from(tc_run::run(std::env::args_os(), io))
}
