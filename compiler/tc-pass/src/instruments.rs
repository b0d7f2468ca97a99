//! Instruments that show the program between passes: as files in a folder, or on a stream.

use crate::manager::{Instrument, PassAt, PassRecord};
use std::path::{Path, PathBuf};
use tc_ir::Module;
use tc_support::{Diagnostic, Diagnostics, Location};

/// Writes a module as text, in the form that the caller wants.
pub type Print<'p> = Box<dyn Fn(&Module) -> String + 'p>;

/// The environment variable that names a folder to dump into, where the caller names none.
pub const DUMP_VARIABLE: &str = "TC_DUMP_IR";

/// Writes the program into a folder: `00-parse.tir` before the first pass, then `01-simplify.tir` and so on.
pub struct DumpDir<'p> {
    folder: PathBuf,
    print: Print<'p>,
    /// Has a file failed to be written? Then nothing more is tried.
    broken: bool,
}

impl<'p> DumpDir<'p> {
    /// Dumps into `folder`, which is made if it is not there.
    pub fn new(folder: impl Into<PathBuf>, print: Print<'p>) -> std::io::Result<DumpDir<'p>> {
        let folder = folder.into();
        std::fs::create_dir_all(&folder)?;
        Ok(DumpDir { folder, print, broken: false })
    }

    /// The folder that the environment names, if it names one.
    pub fn folder_of_environment() -> Option<PathBuf> {
        std::env::var_os(DUMP_VARIABLE).filter(|folder| !folder.is_empty()).map(PathBuf::from)
    }

    /// Writes the program as it was parsed. Call it before the run.
    pub fn parsed(&mut self, module: &Module) -> Diagnostics {
        self.write("00-parse.tir", module)
    }

    fn write(&mut self, name: &str, module: &Module) -> Diagnostics {
        let path = self.folder.join(name);
        if self.broken {
            return Diagnostics::new();
        }
        match std::fs::write(&path, (self.print)(module)) {
            Ok(()) => Diagnostics::new(),
            Err(error) => {
                self.broken = true;
                cannot_write(&path, &error).into()
            }
        }
    }
}

/// A dump is a look at the program, not its result: where it cannot be written the run goes on.
fn cannot_write(path: &Path, error: &std::io::Error) -> Diagnostic {
    let message = format!("cannot write the dump `{}`: {error}", path.display());
    Diagnostic::warning("dump", Location::None, message)
}

impl Instrument for DumpDir<'_> {
    fn after_pass(&mut self, at: &PassAt<'_>, module: &Module, _: &PassRecord) -> Diagnostics {
        let width = at.total.to_string().len().max(2);
        self.write(&format!("{:0width$}-{}.tir", at.number, at.name), module)
    }
}

/// The passes around which something is printed.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub enum Select {
    /// None.
    #[default]
    None,
    /// Those with these names.
    Named(Vec<String>),
    /// All of them.
    All,
}

impl Select {
    fn has(&self, name: &str) -> bool {
        match self {
            Select::None => false,
            Select::Named(names) => names.iter().any(|other| other == name),
            Select::All => true,
        }
    }
}

/// Around which passes [`PrintIr`] prints.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct PrintPoints {
    /// Before these.
    pub before: Select,
    /// After these.
    pub after: Select,
    /// After all that changed something.
    pub after_change: bool,
}

/// Prints the program around passes, each time under a comment that names the pass.
pub struct PrintIr<'p> {
    points: PrintPoints,
    print: Print<'p>,
    sink: Box<dyn FnMut(&str) + 'p>,
}

impl<'p> PrintIr<'p> {
    /// Prints at `points` into `sink`.
    pub fn new(points: PrintPoints, print: Print<'p>, sink: impl FnMut(&str) + 'p) -> PrintIr<'p> {
        PrintIr { points, print, sink: Box::new(sink) }
    }

    fn show(&mut self, when: &str, at: &PassAt<'_>, module: &Module) {
        let title = format!("// {when} `{}` ({} of {})\n", at.name, at.number, at.total);
        (self.sink)(&(title + &(self.print)(module)));
    }
}

impl Instrument for PrintIr<'_> {
    fn before_pass(&mut self, at: &PassAt<'_>, module: &Module) -> Diagnostics {
        if self.points.before.has(at.name) {
            self.show("before", at, module);
        }
        Diagnostics::new()
    }

    fn after_pass(&mut self, at: &PassAt<'_>, module: &Module, record: &PassRecord) -> Diagnostics {
        if self.points.after.has(at.name) || (self.points.after_change && record.changed) {
            self.show("after", at, module);
        }
        Diagnostics::new()
    }
}
