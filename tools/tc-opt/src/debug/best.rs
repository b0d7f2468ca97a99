//! The best text of a reduction so far: where it is kept, and what is shown of it.

use super::work_dir::WorkDir;
use crate::args::Args;
use std::path::PathBuf;
use tc::debug::reduce::{Progress, Size};
use tc::support::counted;
use tc_cli::{Interrupt, Session, write_whole};

/// The best text so far.
pub(super) struct Best<'b, 'i> {
    session: &'b Session<'i>,
    interrupt: &'b Interrupt,
    path: PathBuf,
    /// The folder of the file, where it is not the one that the caller named.
    folder: Option<WorkDir>,
}

impl<'b, 'i> Best<'b, 'i> {
    pub(super) fn new(args: &Args, session: &'b Session<'i>, interrupt: &'b Interrupt) -> Result<Best<'b, 'i>, u8> {
        let named = args.input.output.clone().filter(|path| path.as_os_str() != "-");
        if let Some(path) = named {
            return Ok(Best { session, interrupt, path, folder: None });
        }
        let failed = |error| session.refuse(&format!("cannot make a folder for the best text: {error}"));
        let folder = WorkDir::new(session.temporary.as_deref(), "reduce").map_err(failed)?;
        let path = folder.path().join("best.tir");
        if session.progress {
            session.note(&format!("the best so far is in {}\n", path.display()));
        }
        Ok(Best { session, interrupt, path, folder: Some(folder) })
    }

    /// Hears of progress: a better text is written down at once, so that nothing that ends the tool loses it.
    pub(super) fn see(&self, progress: &Progress, text: &str) -> Result<(), String> {
        if self.session.progress {
            let Size { ops, lines, .. } = progress.size;
            let size = ops.map_or(counted(lines, "line"), |ops| counted(ops, "op"));
            let what = progress.what;
            self.session.note(&format!("\r\x1b[K{size}, {}, trying {what}", counted(progress.asked, "candidate")));
        }
        if progress.better {
            self.write(text)?;
        }
        if self.interrupt.status().is_some() { Err("interrupted".to_string()) } else { Ok(()) }
    }

    pub(super) fn clear_line(&self) {
        if self.session.progress {
            self.session.note("\r\x1b[K");
        }
    }

    /// Hands over the text that came of it. Where that fails it is kept, and told where.
    pub(super) fn hand_over(&self, text: &str) -> Result<(), u8> {
        let Some(folder) = &self.folder else {
            return self.write(text).map_err(|why| {
                self.session.refuse(&why);
                self.keep_elsewhere(text)
            });
        };
        self.session.print(text);
        if !self.session.is_output_lost() {
            return Ok(());
        }
        let message = match self.write(text) {
            Ok(()) => {
                folder.keep();
                format!("the standard output did not take the text, which is in `{}`", self.path.display())
            }
            Err(why) => format!("the standard output did not take the text, and nothing else does: {why}"),
        };
        Err(self.session.refuse(&message))
    }

    /// Keeps the text among temporary files.
    fn keep_elsewhere(&self, text: &str) -> u8 {
        let kept = WorkDir::new(self.session.temporary.as_deref(), "reduce").and_then(|folder| {
            let path = folder.path().join("best.tir");
            write_whole(&path, text)?;
            folder.keep();
            Ok(path)
        });
        self.session.refuse(&match kept {
            Ok(path) => format!("the text is in `{}` instead", path.display()),
            Err(error) => format!("the text cannot be kept elsewhere either: {error}"),
        })
    }

    fn write(&self, text: &str) -> Result<(), String> {
        write_whole(&self.path, text).map_err(|error| format!("cannot write `{}`: {error}", self.path.display()))
    }
}
