//! From the command line to the exit status.

use crate::{AboutArgs, BUG, CALL, FINE, Io, Session, Tell};
use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use tc::support::workers::STACK;
use tc::support::{Diagnostic, Location, Sources};

/// A command line that was read.
pub trait CommandLine: clap::Parser + Send + Sync {
    /// The name of the tool, which its thread bears.
    const NAME: &'static str;

    /// Are diagnostics told as JSON?
    fn json(&self) -> bool;

    /// What the tool is asked about itself.
    fn about(&self) -> &AboutArgs;

    /// Adds the names to the command line that may stand in the place of values, for shells to complete.
    fn with_names(command: clap::Command) -> clap::Command {
        command
    }

    /// Are the streams coloured, whatever they are? `None` leaves it to what they are.
    fn colour(&self) -> Option<bool> {
        None
    }
}

/// Runs `tool` with the command line `args`, whose first element is its name; returns the exit status.
pub fn run<A: CommandLine>(
    args: impl IntoIterator<Item = OsString>,
    io: Io<'_>,
    tool: impl FnOnce(&A, &Session<'_>) -> u8 + Send,
) -> u8 {
    let args: Vec<OsString> = args.into_iter().collect();
    let mut session = Session::new(io);
    session.command.clone_from(&args);
    let parsed = match A::try_parse_from(args) {
        Ok(parsed) => parsed,
        Err(error) => {
            let text = error.render();
            let shown = |colour: bool| if colour { text.ansi().to_string() } else { text.to_string() };
            if error.use_stderr() {
                if asks_for_json(&session.command) {
                    session.tell.json = true;
                    return session.refuse_with(&wrong_call(&text.to_string()));
                }
                session.note(&shown(session.tell.colour));
                return CALL;
            }
            session.print(&shown(session.colour_out));
            return session.end(FINE);
        }
    };
    session.tell.json = parsed.json();
    // Progress is for people.
    session.progress &= !session.tell.json;
    if let Some(colour) = parsed.colour() {
        session.tell.colour = colour;
        session.colour_out = colour;
    }
    if let Some(text) = parsed.about().answer(A::command(), A::with_names) {
        session.print(&text);
        return session.end(FINE);
    }
    on_big_stack(A::NAME, move || session.end(tool(&parsed, &session)))
}

/// Is `--json` among the words of a command line that could not be read?
fn asks_for_json(command: &[OsString]) -> bool {
    command.iter().skip(1).take_while(|word| *word != "--").any(|word| word == "--json")
}

/// What is wrong with a command line, of the text that a terminal would show.
fn wrong_call(text: &str) -> Diagnostic {
    let line = |paragraph: &str| paragraph.lines().map(str::trim).collect::<Vec<_>>().join(" ");
    let mut paragraphs = text.split("\n\n").map(line).filter(|paragraph| !paragraph.is_empty());
    let first = paragraphs.next().unwrap_or_default();
    let message = first.strip_prefix("error: ").unwrap_or(&first);
    let (tips, notes): (Vec<String>, Vec<String>) = paragraphs.partition(|paragraph| paragraph.starts_with("tip: "));
    let tips: Vec<&str> = tips.iter().map(|tip| tip.trim_start_matches("tip: ")).collect();
    let wrong = Diagnostic::error("call", Location::None, message);
    let help = (!tips.is_empty()).then(|| tips.join("; "));
    Diagnostic { notes, help, ..wrong }
}

/// Runs `work` on a thread whose stack is large enough for the compiler.
fn on_big_stack(name: &str, work: impl FnOnce() -> u8 + Send) -> u8 {
    std::thread::scope(|scope| {
        match std::thread::Builder::new().name(name.to_string()).stack_size(STACK).spawn_scoped(scope, work) {
            Ok(thread) => thread.join().unwrap_or(BUG),
            Err(_) => BUG,
        }
    })
}

/// The `main` of a tool: `run` with the command line and the streams of the process.
pub fn main(run: impl FnOnce(std::env::ArgsOs, Io<'_>) -> u8) -> ExitCode {
    let (mut stdin, mut stdout, mut stderr) = (std::io::stdin(), std::io::stdout(), std::io::stderr());
    if asks_for_json(&std::env::args_os().collect::<Vec<_>>()) {
        std::panic::set_hook(Box::new(|panic| {
            let remark = Diagnostic::remark("panic", Location::None, panic.to_string());
            let tell = Tell { json: true, colour: false };
            // Where nothing can be told that cannot be told either.
            let _ = std::io::stderr().write_all(tell.text(&remark.into(), &Sources::new()).as_bytes());
        }));
    }
    let colour = |is_terminal: bool| is_terminal && std::env::var_os("NO_COLOR").is_none();
    let io = Io {
        colour_out: colour(stdout.is_terminal()),
        colour_err: colour(stderr.is_terminal()),
        progress: stderr.is_terminal(),
        temporary: Some(std::env::temp_dir()),
        listens: true,
        stdin: &mut stdin,
        stdout: &mut stdout,
        stderr: &mut stderr,
    };
    ExitCode::from(run(std::env::args_os(), io))
}
