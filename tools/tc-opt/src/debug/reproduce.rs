//! Writes a reproducer where a pass or the emitter failed: of a defect of the compiler, or where one is asked for.

use super::attempt;
use crate::args::Args;
use crate::show;
use std::path::{Path, PathBuf};
use tc::Compiler;
use tc::debug::{Signature, Stage};
use tc::pass::Pipeline;
use tc::report::dump;
use tc::support::{Diagnostic, Diagnostics, Fault, Location};

/// The variable that names the folder for reproducers that have no name; an empty one says that none are wanted.
const FOLDER: &str = "TC_REPRODUCER_DIR";

/// A run that failed.
pub(crate) struct Failed<'f> {
    pub(crate) args: &'f Args,
    pub(crate) compiler: &'f Compiler,
    pub(crate) pipeline: &'f Pipeline,
    /// The text that was read.
    pub(crate) text: &'f str,
    /// What messages call its file.
    pub(crate) name: &'f str,
    /// The number of its first line there.
    pub(crate) first_line: u32,
    /// Which text it is, if it is not the only one.
    pub(crate) part: Option<&'f str>,
    /// The folder for files that the caller did not name.
    pub(crate) temporary: Option<&'f Path>,
    /// Where it failed.
    pub(crate) stage: Stage,
}

impl Failed<'_> {
    /// Writes the reproducer, if one is wanted, and tells so at the error. What goes wrong is a warning: the error is
    /// what matters.
    pub(crate) fn reproduce(&self, found: &mut Diagnostics) {
        let debug = &self.args.debug;
        // A run that expects its errors, or that is one of a reproducer, writes one only where it is named.
        let is_asked = debug.reproducer.is_some();
        if debug.no_reproducer
            || (!is_asked && (self.args.input.verify_diagnostics || debug.run_reproducer || self.folder().is_none()))
        {
            return;
        }
        let pass = match self.stage {
            Stage::Pass(idx) => self.pipeline.passes.get(idx).map(|planned| planned.info.name),
            _ => None,
        };
        let Some(fails) = Signature::of(found, pass) else { return };
        // A file that the caller did not name is for a report of a defect. What the input, the call or the installation is at fault
        // for is told by the message.
        if !matches!(fails.fault, Fault::Bug | Fault::ForeignPass) && !is_asked {
            return;
        }
        let mut run = attempt(self.args, self.compiler, self.text);
        run.pipeline = self.pipeline.to_string();
        run.name = self.name.to_string();
        run.first_line = self.first_line;
        let Some(reproducer) = self.compiler.narrowed_at(&run, self.stage, fails.clone()) else {
            let message = "no reproducer was written: the passes before the one that failed fail when they run again";
            found.push(Diagnostic::warning("reproducer", Location::None, message));
            return;
        };
        let text = reproducer.to_string();
        let Some(path) = self.path(&text) else { return };
        // The names of several are made up, and a link of such a name leads to what the caller did not name.
        let written = match self.part {
            Some(_) => dump::replace(&path, &text),
            None => tc_cli::write_whole(&path, &text),
        };
        match written {
            Ok(()) => {
                let told = found.iter_mut().find(|one| one.is_error() && one.message == fails.message);
                if let Some(error) = told {
                    let path = show::shell_path(&path);
                    error.notes.push(format!("to reproduce it: tc-opt {path} --run-reproducer"));
                }
            }
            Err(error) => {
                let message = format!("cannot write the reproducer `{}`: {error}", path.display());
                found.push(Diagnostic::warning("reproducer", Location::None, message));
            }
        }
    }

    /// The folder for reproducers that have no name.
    fn folder(&self) -> Option<PathBuf> {
        let temporary = self.temporary?;
        match std::env::var_os(FOLDER) {
            Some(folder) if folder.is_empty() => None,
            Some(folder) => Some(PathBuf::from(folder)),
            None => Some(temporary.to_path_buf()),
        }
    }

    fn path(&self, text: &str) -> Option<PathBuf> {
        let Some(path) = &self.args.debug.reproducer else {
            // The same failure has the same file, however often it is met.
            return Some(self.folder()?.join(format!("tc-reproducer-{:016x}.tir", hash(text))));
        };
        let Some(part) = self.part else { return Some(path.clone()) };
        // Of several texts each has a file of its own.
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let extension = path.extension().map_or(String::new(), |extension| format!(".{}", extension.to_string_lossy()));
        Some(path.with_file_name(format!("{stem}.{}{extension}", part.replace(['/', '\\'], "-"))))
    }
}

/// FNV-1a: the same on every machine and in every version.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use tc::pass::parse_pipeline;
    use tc::support::Sources;

    const TEXT: &str = "tir.func @f(A: f32[64]) {\n  for i in 0..32 + 32 {\n    A[i] = 1.0\n  }\n}\n";

    /// The names of the files that are written where `found` ends the pass `cse`.
    fn written(found: Diagnostic, folder: &Path) -> (Vec<String>, Diagnostics) {
        let (args, compiler) = (Args::parse_from(["tc-opt", "-"]), Compiler::new());
        let pipeline = "module(tir.func(simplify,cse,dce))";
        let pipeline = parse_pipeline(pipeline, &compiler.passes, &compiler.registry, &mut Sources::new());
        let failed = Failed {
            args: &args,
            compiler: &compiler,
            pipeline: &pipeline.expect("a pipeline"),
            text: TEXT,
            name: "f.tir",
            first_line: 1,
            part: None,
            temporary: Some(folder),
            stage: Stage::Pass(1),
        };
        let mut found = Diagnostics::from(found);
        failed.reproduce(&mut found);
        let entries = std::fs::read_dir(folder).expect("the folder is there");
        let names = entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned());
        (names.collect(), found)
    }

    #[test]
    fn a_defect_leaves_a_file_without_a_given_name_and_what_the_input_is_at_fault_for_leaves_none() {
        let folder = std::env::temp_dir().join(format!("tc-opt-reproduce-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let fault = |make: fn(&'static str, Location, &'static str) -> Diagnostic| make("x", Location::None, "wrong");
        let (of_input, _) = written(fault(Diagnostic::error), &folder);
        let (of_call, _) = written(fault(Diagnostic::assumption), &folder);
        // The same defect has the same file.
        let (of_bug, found) = written(fault(Diagnostic::bug), &folder);
        let (again, _) = written(fault(Diagnostic::bug), &folder);
        let text = of_bug.first().map(|name| std::fs::read_to_string(folder.join(name)).expect("it was written"));
        std::fs::remove_dir_all(&folder).expect("it is there");
        assert_eq!((of_input, of_call), (Vec::new(), Vec::new()));
        let [name] = &of_bug[..] else { panic!("{of_bug:?}") };
        assert!(name.starts_with("tc-reproducer-") && name.ends_with(".tir"), "{name}");
        let notes: Vec<&String> = found.iter().flat_map(|one| &one.notes).collect();
        let note = format!("to reproduce it: tc-opt {} --run-reproducer", folder.join(name).display());
        assert_eq!((again, notes), (of_bug.clone(), vec![&note]));
        let text = text.expect("one file");
        assert!(text.contains("// tc-reproducer: pipeline = module(tir.func(cse,dce))\n"), "{text}");
    }
}
