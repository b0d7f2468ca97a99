//! Machine code by the hash of its source, in a folder that many workers share.

use crate::hash::hash;
use std::path::{Path, PathBuf};
use tc::runtime::{Array, BenchOptions, BenchReport, Code, Device, Program, RunOptions, RunReport, nvrtc};
use tc::support::Diagnostic;
use tc::target::Target;

/// A folder of machine code.
#[derive(Clone, Debug)]
pub(super) struct Cache {
    pub(super) folder: Option<PathBuf>,
    pub(super) cuda: Option<(u32, u32)>,
}

impl Cache {
    fn path(&self, program: &Program) -> Option<PathBuf> {
        let Code::Cuda(source) = &program.code else { return None };
        let key = hash(format!("{} {:?}\n{source}", program.target.name, self.cuda));
        Some(self.folder.as_ref()?.join(format!("{key}.cubin")))
    }

    /// Compiles `program`, if its machine code is not there yet.
    pub(super) fn compile(&self, program: &Program) -> Result<(), Diagnostic> {
        let (Code::Cuda(source), Some(path)) = (&program.code, self.path(program)) else { return Ok(()) };
        if !path.exists() {
            let options =
                nvrtc::Options { output: nvrtc::Output::Cubin, max_version: self.cuda, ..nvrtc::Options::default() };
            let compiled = nvrtc::compile(source, "candidate.cu", &program.target, &options)?;
            keep(&path, &compiled.code);
        }
        Ok(())
    }

    /// `program` as machine code, where that is there.
    fn compiled(&self, program: &Program) -> Option<Program> {
        let bytes = std::fs::read(self.path(program)?).ok()?;
        Some(Program { code: Code::Cubin(bytes), ..program.clone() })
    }
}

/// Writes `bytes` beside `path` and puts them in its place, so that no reader sees a part. A cache that cannot be written
/// costs time and nothing else.
fn keep(path: &Path, bytes: &[u8]) {
    let beside = path.with_extension(format!("{}.part", std::process::id()));
    if std::fs::write(&beside, bytes).and_then(|()| std::fs::rename(&beside, path)).is_err() {
        std::fs::remove_file(&beside).ok();
    }
}

/// A device that takes machine code from a cache.
pub(super) struct Cached<'d> {
    pub(super) device: &'d mut dyn Device,
    pub(super) cache: &'d Cache,
}

impl Device for Cached<'_> {
    fn name(&self) -> String {
        self.device.name()
    }

    fn target(&self) -> Option<Target> {
        self.device.target()
    }

    fn run(&mut self, program: &Program, args: &mut [Array], options: &RunOptions) -> Result<RunReport, Diagnostic> {
        let compiled = self.cache.compiled(program);
        self.device.run(compiled.as_ref().unwrap_or(program), args, options)
    }

    fn bench(&mut self, program: &Program, args: &[Array], options: &BenchOptions) -> Result<BenchReport, Diagnostic> {
        let compiled = self.cache.compiled(program);
        self.device.bench(compiled.as_ref().unwrap_or(program), args, options)
    }
}
