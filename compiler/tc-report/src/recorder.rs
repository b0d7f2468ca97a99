//! Keeps the program after each pass, and writes it into a folder where asked.

use crate::dump;
use crate::recording::Recording;
use crate::text::{Print, text_of};
use std::path::{Path, PathBuf};
use tc_ir::Module;
use tc_pass::{Instrument, PassAt, PassRecord};
use tc_support::{Diagnostic, Diagnostics, Location};

/// The environment variable that names a folder to dump into, where the caller names none.
pub const DUMP_VARIABLE: &str = "TC_DUMP_IR";

/// The folder that the environment names for dumps, if it names one.
pub fn dump_folder_of_environment() -> Option<PathBuf> {
    std::env::var_os(DUMP_VARIABLE).filter(|folder| !folder.is_empty()).map(PathBuf::from)
}

/// Looks on while a pipeline runs, and keeps what the program was after each pass.
///
/// Call [`Recorder::parsed`] before the run, give `&mut` of it to the manager, and ask for [`Recorder::recording`]
/// afterwards. With a folder it writes `00-parse.tir` before the first pass, then `01-simplify.tir` and so on, a pass that
/// failed as `02-cse-failed.tir`.
pub struct Recorder<'p> {
    print: Print<'p>,
    folder: Option<PathBuf>,
    /// Has a file failed to be written? Then nothing more is tried.
    broken: bool,
    recording: Recording,
}

impl<'p> Recorder<'p> {
    /// Keeps what `print` writes.
    pub fn new(print: Print<'p>) -> Recorder<'p> {
        Recorder { print, folder: None, broken: false, recording: Recording::default() }
    }

    /// Writes files into `folder` as well, which is made if it is not there. What an earlier dump wrote into it goes.
    pub fn dump_into(mut self, folder: impl Into<PathBuf>) -> std::io::Result<Recorder<'p>> {
        let folder = folder.into();
        dump::clear(&folder)?;
        self.folder = Some(folder);
        Ok(self)
    }

    /// Takes in the program as it was parsed.
    pub fn parsed(&mut self, module: &Module) -> Diagnostics {
        self.recording.add(0, "parse", text_of(&self.print, module));
        self.write("00-parse.tir".to_string())
    }

    /// What was kept.
    pub fn recording(&self) -> &Recording {
        &self.recording
    }

    /// What was kept, to be kept longer.
    pub fn into_recording(self) -> Recording {
        self.recording
    }

    /// The folder that is written into.
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref().filter(|_| !self.broken)
    }

    /// Writes the last text into the file `name`.
    fn write(&mut self, name: String) -> Diagnostics {
        let Some(folder) = self.folder.as_ref().filter(|_| !self.broken) else { return Diagnostics::new() };
        match dump::write(folder, &name, self.recording.last()) {
            Ok(()) => {
                self.recording.name_file(name);
                Diagnostics::new()
            }
            Err(error) => {
                let path = folder.join(&name);
                self.broken = true;
                cannot_write(&path, &error).into()
            }
        }
    }

    fn take_in(&mut self, at: &PassAt<'_>, module: &Module, changed: bool) {
        if changed {
            self.recording.add(at.number, at.name, text_of(&self.print, module));
        } else {
            self.recording.same(at.number, at.name);
        }
    }
}

/// A dump is a look at the program, not its result: where it cannot be written the run goes on.
pub(crate) fn cannot_write(path: &Path, error: &std::io::Error) -> Diagnostic {
    let message = format!("cannot write the dump `{}`: {error}", path.display());
    Diagnostic::warning("dump", Location::None, message)
}

/// The file of a pass.
fn file_name(at: &PassAt<'_>, end: &str) -> String {
    let width = at.total.to_string().len().max(2);
    format!("{:0width$}-{}{end}.tir", at.number, at.name)
}

impl Instrument for &mut Recorder<'_> {
    fn after_pass(&mut self, at: &PassAt<'_>, module: &Module, record: &PassRecord) -> Diagnostics {
        self.take_in(at, module, record.changed);
        self.write(file_name(at, ""))
    }

    fn pass_failed(&mut self, at: &PassAt<'_>, module: &Module, _: &Diagnostics) {
        // Where an instrument found fault with a pass, its program is there already.
        if self.recording.steps().last().is_none_or(|step| step.number != at.number) {
            self.take_in(at, module, true);
            // This cannot be told; a page that misses the file says so.
            let _ = self.write(file_name(at, "-failed"));
        }
        self.recording.fail();
    }
}
