//! Runs the `RUN` lines of a file in process.

use crate::command::{Command, Names, parse};
use crate::{Outcome, directives, filecheck, snapshot};
use std::path::{Path, PathBuf};

/// A file of the corpus, ready to run.
pub struct Case {
    /// The folder of the corpus.
    pub root: PathBuf,
    /// The file, relative to it.
    pub file: PathBuf,
    /// Its text.
    pub text: String,
    /// The commands of each `RUN` line.
    pub runs: Vec<Vec<Command>>,
    /// A folder for what it writes.
    temporary: PathBuf,
}

/// What a command came to.
struct Ended {
    status: u8,
    stdout: String,
    stderr: String,
}

impl Case {
    /// Reads the file `file` below `root` and its directives. All that is wrong with those is reported at once.
    pub fn read(root: &Path, file: &Path) -> Result<Case, String> {
        let bytes = std::fs::read(root.join(file)).map_err(|error| error.to_string())?;
        // Tests of bad input hold bytes that are no text; their directives are.
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let label = file.to_string_lossy().replace(['/', '\\'], "-");
        let temporary = std::env::temp_dir().join(format!("tc-filetest-{}-{label}", std::process::id()));
        let names = Names {
            file: file.to_string_lossy().into_owned(),
            folder: file.parent().unwrap_or(Path::new(".")).to_string_lossy().into_owned(),
            temporary: temporary.join("t").to_string_lossy().into_owned(),
        };
        let lines = directives::run_lines(&text)?;
        let runs: Vec<Vec<Command>> = lines.iter().map(|line| parse(line, &names)).collect::<Result<_, _>>()?;
        let wrong = directives::check(&text, &runs);
        if !wrong.is_empty() {
            return Err(wrong.join("\n"));
        }
        Ok(Case { root: root.to_path_buf(), file: file.to_path_buf(), text, runs, temporary })
    }

    /// The snapshots that the file asks for.
    pub fn snapshots(&self) -> impl Iterator<Item = PathBuf> + '_ {
        let n = self.runs.iter().filter(|run| is_exact(run)).count();
        (0..n).map(|nth| snapshot::path(&self.file, nth))
    }

    /// Runs all lines.
    pub fn run(&self) -> Outcome {
        std::fs::create_dir_all(&self.temporary).map_err(|error| error.to_string())?;
        let ran = self.run_lines();
        // Best effort: what is left in the temporary folder does no harm.
        let _ = std::fs::remove_dir_all(&self.temporary);
        ran
    }

    fn run_lines(&self) -> Outcome {
        let mut n_exact = 0;
        for run in &self.runs {
            let mut ended = Ended { status: 0, stdout: String::new(), stderr: String::new() };
            for command in run {
                ended = self.step(command, ended.stdout)?;
            }
            if is_exact(run) {
                let failed = run.last().is_some_and(|command| command.not);
                let text = if failed && ended.stdout.is_empty() { &ended.stderr } else { &ended.stdout };
                snapshot::check(&self.root, &self.file, n_exact, text)?;
                n_exact += 1;
            }
        }
        Ok(())
    }

    fn step(&self, command: &Command, input: String) -> Result<Ended, String> {
        if command.tool == "FileCheck" {
            self.filecheck(command, &input)?;
            return Ok(Ended { status: 0, stdout: String::new(), stderr: String::new() });
        }
        let mut ended = match command.tool.as_str() {
            "tc-opt" => tc_opt(command, input),
            "tc-run" => tc_run(command, input),
            "cat" => cat(command)?,
            tool => return Err(format!("unknown tool `{tool}` in a RUN line")),
        };
        self.judge(command, &ended)?;
        if command.merge {
            ended.stdout = std::mem::take(&mut ended.stderr) + &ended.stdout;
        }
        Ok(ended)
    }

    /// Is the exit status the one that the line asks for?
    fn judge(&self, command: &Command, ended: &Ended) -> Outcome {
        // With `--verify-diagnostics` the tool itself turns the expected failure into success: `not` then says that
        // the file holds errors at all.
        let verifies = command.has("--verify-diagnostics");
        if verifies && command.not && !self.text.contains("expected-error") {
            return Err("`not` with --verify-diagnostics needs an `expected-error`".to_string());
        }
        let must_fail = command.not && !verifies;
        let good = if must_fail { matches!(ended.status, 1 | 2) } else { ended.status == 0 };
        if good {
            return Ok(());
        }
        let want = if must_fail { "1 or 2" } else { "0" };
        let shown = command.args.join(" ");
        let said = if command.tool == "tc-run" { ended.stdout.clone() + &ended.stderr } else { ended.stderr.clone() };
        Err(format!("`{} {shown}` ended with status {}, not {want}\n{said}", command.tool, ended.status))
    }

    fn filecheck(&self, command: &Command, input: &str) -> Outcome {
        let name = self.file.to_string_lossy();
        let Some((file, flags)) = command.args.split_first() else { return Err("FileCheck needs a file".to_string()) };
        if *file != *name {
            return Err("FileCheck reads the test itself: `FileCheck %s`".to_string());
        }
        filecheck::check(&name, &self.text, input, flags)
    }
}

/// Is the output of this line compared with a snapshot?
fn is_exact(run: &[Command]) -> bool {
    !run.iter().any(|command| command.tool == "FileCheck" || command.has("--verify-diagnostics"))
}

fn tc_opt(command: &Command, input: String) -> Ended {
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let args = std::iter::once("tc-opt".into()).chain(command.args.iter().map(Into::into));
    let mut stdin = input.as_bytes();
    let io = tc_opt::Io::plain(&mut stdin, &mut stdout, &mut stderr);
    let status = tc_opt::run(args, io);
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ended { status, stdout: text(stdout), stderr: text(stderr) }
}

fn tc_run(command: &Command, input: String) -> Ended {
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let args = std::iter::once("tc-run".into()).chain(command.args.iter().map(Into::into));
    let mut stdin = input.as_bytes();
    let io = tc_run::Io::plain(&mut stdin, &mut stdout, &mut stderr);
    let status = tc_run::run(args, io);
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ended { status, stdout: text(stdout), stderr: text(stderr) }
}

fn cat(command: &Command) -> Result<Ended, String> {
    let mut stdout = String::new();
    for path in &command.args {
        stdout += &std::fs::read_to_string(path).map_err(|error| format!("cannot read `{path}`: {error}"))?;
    }
    Ok(Ended { status: 0, stdout, stderr: String::new() })
}
