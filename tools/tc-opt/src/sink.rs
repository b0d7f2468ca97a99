//! Where a job writes.

use std::cell::RefCell;
use tc::support::{Diagnostics, Sources};
use tc_cli::{CALL, Session, Tell};

/// What a job wrote.
#[derive(Default)]
pub(crate) struct Written {
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Where a job writes: straight to the streams where it is the only one, so that a hang shows how far it came; else
/// into memory, until it is its turn.
pub(crate) struct Sink<'s, 'i> {
    session: Option<&'s Session<'i>>,
    kept: RefCell<Written>,
    tell: Tell,
}

impl<'s, 'i> Sink<'s, 'i> {
    /// Writes to the streams.
    pub(crate) fn streaming(session: &'s Session<'i>) -> Sink<'s, 'i> {
        Sink { session: Some(session), kept: RefCell::default(), tell: session.tell }
    }

    /// Keeps what is written.
    pub(crate) fn keeping(tell: Tell) -> Sink<'static, 'static> {
        Sink { session: None, kept: RefCell::default(), tell }
    }

    /// What was kept.
    pub(crate) fn written(self) -> Written {
        self.kept.into_inner()
    }

    /// Writes `text` to the standard output.
    pub(crate) fn print(&self, text: &str) {
        match self.session {
            Some(session) => session.print(text),
            None => self.kept.borrow_mut().out.push_str(text),
        }
    }

    /// Is the standard output full, or its reader gone?
    pub(crate) fn is_lost(&self) -> bool {
        self.session.is_some_and(Session::is_output_lost)
    }

    /// Writes `text` to the standard error.
    pub(crate) fn note(&self, text: &str) {
        match self.session {
            Some(session) => session.note(text),
            None => self.kept.borrow_mut().err.push_str(text),
        }
    }

    /// Tells what was found.
    pub(crate) fn tell(&self, found: &Diagnostics, sources: &Sources) {
        self.note(&self.tell.text(found, sources));
    }

    /// Tells what is wrong with the call; returns the status for it.
    pub(crate) fn refuse(&self, message: &str) -> u8 {
        self.note(&self.tell.refusal(message));
        CALL
    }
}
