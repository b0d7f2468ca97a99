//! One run of a tool: its streams, and how it talks.

use crate::{CALL, INPUT, Interrupt, Out, Tell, load};
use std::cell::RefCell;
use std::ffi::{OsStr, OsString};
use std::io::{Read, Write};
use std::path::PathBuf;
use tc::LoadError;
use tc::support::{Diagnostic, Diagnostics, Sources};

/// What a tool is given beside its command line.
pub struct Io<'i> {
    /// Where `-` reads from.
    pub stdin: &'i mut (dyn Read + Send),
    /// Where results go.
    pub stdout: &'i mut (dyn Write + Send),
    /// Where diagnostics and progress go.
    pub stderr: &'i mut (dyn Write + Send),
    /// Is the standard output coloured?
    pub colour_out: bool,
    /// Is the standard error coloured?
    pub colour_err: bool,
    /// Is progress shown on the standard error?
    pub progress: bool,
    /// The folder for files that the caller did not name, such as reproducers; without one none are written.
    pub temporary: Option<PathBuf>,
    /// May a mode listen for signals? They are those of the whole process.
    pub listens: bool,
}

impl<'i> Io<'i> {
    /// Streams without colours and progress, and no folder: what a test wants.
    pub fn plain(
        stdin: &'i mut (dyn Read + Send),
        stdout: &'i mut (dyn Write + Send),
        stderr: &'i mut (dyn Write + Send),
    ) -> Io<'i> {
        Io {
            stdin,
            stdout,
            stderr,
            colour_out: false,
            colour_err: false,
            progress: false,
            temporary: None,
            listens: false,
        }
    }
}

/// One run of a tool.
pub struct Session<'i> {
    stdin: RefCell<&'i mut (dyn Read + Send)>,
    stdout: RefCell<Out<'i>>,
    stderr: RefCell<Out<'i>>,
    /// Is the standard output coloured?
    pub colour_out: bool,
    /// Is progress shown on the standard error?
    pub progress: bool,
    /// The folder for files that the caller did not name; without one none are written.
    pub temporary: Option<PathBuf>,
    listens: bool,
    /// The command line, the name of the tool included.
    pub command: Vec<OsString>,
    /// How diagnostics are reported on the standard error.
    pub tell: Tell,
}

impl<'i> Session<'i> {
    pub(crate) fn new(io: Io<'i>) -> Session<'i> {
        let Io { stdin, stdout, stderr, colour_out, colour_err, progress, temporary, listens } = io;
        Session {
            stdin: RefCell::new(stdin),
            stdout: RefCell::new(Out::new(stdout)),
            stderr: RefCell::new(Out::new(stderr)),
            colour_out,
            progress,
            temporary,
            listens,
            command: Vec::new(),
            tell: Tell { json: false, colour: colour_err },
        }
    }

    /// Writes `text` to the standard output.
    pub fn print(&self, text: &str) {
        self.stdout.borrow_mut().write(text);
    }

    /// Was something that was printed not written: is the standard output full, or its reader gone?
    pub fn is_output_lost(&self) -> bool {
        self.stdout.borrow().is_broken()
    }

    /// Listens for signals from now on, if this run of the tool is what the process is there for.
    pub fn interrupt(&self) -> Interrupt {
        // Who cannot listen is ended by the first signal, as ever.
        if self.listens { Interrupt::listen().unwrap_or_default() } else { Interrupt::default() }
    }

    /// Writes `text` to the standard error.
    pub fn note(&self, text: &str) {
        self.stderr.borrow_mut().write(text);
    }

    /// Tells what was found.
    pub fn tell(&self, found: &Diagnostics, sources: &Sources) {
        self.note(&self.tell.text(found, sources));
    }

    /// Tells what is wrong with the call; returns the status for it.
    pub fn refuse(&self, message: &str) -> u8 {
        self.note(&self.tell.refusal(message));
        CALL
    }

    /// Tells what is wrong with the call; returns the status for it.
    pub fn refuse_with(&self, wrong: &Diagnostic) -> u8 {
        self.tell(&wrong.clone().into(), &Sources::new());
        CALL
    }

    /// The text of `file`; `-` is the standard input. The error is the status, and was reported.
    pub fn load(&self, file: &OsStr) -> Result<String, u8> {
        let loaded = load::load(file, *self.stdin.borrow_mut());
        loaded.map_err(|error| match error {
            LoadError::Io(error) => self.refuse(&format!("cannot read `{}`: {error}", load::file_name(file))),
            LoadError::Text(found, sources) => {
                self.tell(&(*found).into(), &sources);
                INPUT
            }
        })
    }

    /// Writing to the standard output may have failed: tells so; returns the status that `status` becomes.
    pub(crate) fn end(&self, status: u8) -> u8 {
        match self.stdout.borrow().failure() {
            None => status,
            Some(error) => status.max(self.refuse(&format!("cannot write to the standard output: {error}"))),
        }
    }
}
