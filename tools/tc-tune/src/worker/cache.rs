//! Machine code in a folder that many workers share.

use tc::runtime::code_cache::{CodeCache, CompileOptions};
use tc::runtime::{Array, BenchOptions, BenchReport, Device, Program, RunOptions, RunReport};
use tc::support::Diagnostic;
use tc::target::Target;

/// Where machine code is kept, if anywhere, and how it is made.
#[derive(Clone, Debug)]
pub(super) struct Cache {
    pub(super) kept: Option<CodeCache>,
    pub(super) cuda: Option<(u32, u32)>,
}

impl Cache {
    /// Compiles `program`, if its machine code is not there yet.
    pub(super) fn compile(&self, program: &Program) -> Result<(), Diagnostic> {
        match &self.kept {
            Some(kept) => kept.compiled(program, &self.options()).map(drop),
            None => Ok(()),
        }
    }

    /// `program` as machine code, where some is kept.
    fn compiled(&self, program: &Program) -> Option<Program> {
        self.kept.as_ref()?.found(program, &self.options())
    }

    fn options(&self) -> CompileOptions {
        CompileOptions { max_version: self.cuda, ..CompileOptions::default() }
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
