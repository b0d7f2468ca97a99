//! A shell command that answers a question about a text.
//!
//! The text is written to a file, whose path takes the place of each `{}` in the command, or follows the command where
//! it holds none. The command is run by `sh -c`; its output goes nowhere. It runs as a process group of its own, all of
//! which is ended when its time is up.

use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What a command came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Asked {
    /// It ended with this status.
    Status(i32),
    /// A signal ended it.
    Signal(i32),
    /// It ran for longer than it may.
    Hangs,
}

impl Asked {
    /// Did the command say yes?
    pub fn is_yes(self) -> bool {
        self == Asked::Status(0)
    }
}

impl std::fmt::Display for Asked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Asked::Status(status) => write!(f, "exit status {status}"),
            Asked::Signal(signal) => write!(f, "ended by signal {signal}"),
            Asked::Hangs => f.write_str("did not end in time"),
        }
    }
}

/// A command, and a folder for the files that it is asked about. Several threads may ask at a time.
#[derive(Debug)]
pub struct Command {
    text: String,
    folder: PathBuf,
    limit: Duration,
    /// Goes up when the caller does not want an answer any more.
    stop: Arc<AtomicBool>,
    next: AtomicU64,
}

impl Command {
    /// What stands for the path.
    pub const PLACE: &str = "{}";

    /// The command `text`, asked about files in `folder`; one that runs for longer than `limit` hangs.
    pub fn new(text: impl Into<String>, folder: impl Into<PathBuf>, limit: Duration) -> Command {
        let stop = Arc::new(AtomicBool::new(false));
        Command { text: text.into(), folder: folder.into(), limit, stop, next: AtomicU64::new(0) }
    }

    /// The same, which ends with all that it started as soon as `stop` goes up, and then answers with an error of the
    /// kind [`io::ErrorKind::Interrupted`].
    pub fn until(self, stop: Arc<AtomicBool>) -> Command {
        Command { stop, ..self }
    }

    /// What the command says of `text`. The error is one of writing the file, or of starting the shell.
    pub fn ask(&self, text: &str) -> io::Result<Asked> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let path = self.folder.join(format!("candidate-{number}.tir"));
        let asked = std::fs::write(&path, text).and_then(|()| self.ask_about(&path));
        // Best effort: the whole folder is temporary.
        let _ = std::fs::remove_file(&path);
        asked
    }

    fn ask_about(&self, path: &Path) -> io::Result<Asked> {
        if self.stop.load(Ordering::SeqCst) {
            return Err(interrupted());
        }
        let mut shell = std::process::Command::new("sh");
        shell.arg("-c").arg(self.line(path)).process_group(0);
        shell.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        self.wait(shell.spawn()?)
    }

    /// The line for the shell.
    fn line(&self, path: &Path) -> String {
        let path = format!("'{}'", path.to_string_lossy().replace('\'', r"'\''"));
        if self.text.contains(Command::PLACE) {
            self.text.replace(Command::PLACE, &path)
        } else {
            format!("{} {path}", self.text)
        }
    }

    fn wait(&self, mut child: Child) -> io::Result<Asked> {
        let end = Instant::now().checked_add(self.limit);
        let mut pause = Duration::from_micros(200);
        loop {
            if let Some(status) = child.try_wait()? {
                let code = status.code().map(Asked::Status);
                return Ok(code.unwrap_or(Asked::Signal(status.signal().unwrap_or(0))));
            }
            let is_stopped = self.stop.load(Ordering::SeqCst);
            if is_stopped || end.is_some_and(|end| Instant::now() >= end) {
                kill_group(child.id());
                // The shell itself leads the group and is gone now, unless it could not be killed; then this is all.
                child.kill()?;
                child.wait()?;
                return if is_stopped { Err(interrupted()) } else { Ok(Asked::Hangs) };
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(10));
        }
    }
}

fn interrupted() -> io::Error {
    io::Error::new(io::ErrorKind::Interrupted, "interrupted")
}

/// Ends a process group. The shell knows how, and without `unsafe`.
fn kill_group(leader: u32) {
    let line = format!("kill -s KILL -- -{leader}");
    // What cannot be killed is waited for no longer.
    let _ = std::process::Command::new("sh").arg("-c").arg(line).stderr(Stdio::null()).status();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(command: &str, text: &str) -> Asked {
        let limit = Duration::from_millis(1500);
        Command::new(command, std::env::temp_dir().join(folder()), limit).ask(text).expect("it can be asked")
    }

    fn folder() -> String {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let name = format!("tc-debug it's {} {}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        std::fs::create_dir_all(std::env::temp_dir().join(&name)).expect("a folder");
        name
    }

    #[test]
    fn the_path_stands_where_it_is_wanted() {
        assert_eq!(ask("grep -q needle", "hay\nneedle\n"), Asked::Status(0));
        assert_eq!(ask("grep -q needle", "hay\n"), Asked::Status(1));
        assert_eq!(ask("test -f {} && grep -q needle {} && printf %s", "needle"), Asked::Status(0));
        assert_eq!(ask("kill -s TERM $$; true", ""), Asked::Signal(15));
    }

    #[test]
    fn nothing_waits_for_what_is_stopped() {
        let (stop, folder) = (Arc::new(AtomicBool::new(false)), std::env::temp_dir().join(folder()));
        let command = Command::new("sleep 30; true", folder, Duration::from_secs(60)).until(stop.clone());
        let start = Instant::now();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(200));
                stop.store(true, Ordering::SeqCst);
            });
            let refused = || command.ask("").expect_err("stopped").kind();
            assert_eq!([refused(), refused()], [io::ErrorKind::Interrupted; 2]);
        });
        assert!(start.elapsed() < Duration::from_secs(15));
    }

    #[test]
    fn a_hang_is_ended_with_all_that_it_started() {
        let start = Instant::now();
        assert_eq!(ask("sleep 30 | sleep 30; true", ""), Asked::Hangs);
        assert!(start.elapsed() < Duration::from_secs(15));
    }
}
