//! The speed of kernels, told without a GPU.

use crate::compiler::Compiler;
use crate::failure::Failure;
use crate::guard::guarded;
use crate::run::Built;
use tc_ir::Module;
use tc_perf::KernelReport;
use tc_target::{Machine, Resources};

impl Compiler {
    /// What can be told of the speed of the kernels of a module that went through the pipeline `cuda`, on `machine`, each
    /// launch once. `known` is what an assembler told of the kernels, if one was asked; registers are estimated else.
    pub fn performance(
        &self,
        module: &Module,
        machine: &Machine,
        known: &[Resources],
    ) -> Result<Vec<KernelReport>, Failure> {
        guarded("estimating the speed", &module.sources, || {
            tc_perf::module(&self.legal(module), &self.target, machine, known)
                .map_err(|diagnostics| Failure { diagnostics, sources: module.sources.clone() })
        })
    }

    /// The same of a case that was built for a GPU.
    pub fn performance_of(&self, built: &Built, machine: &Machine) -> Result<Vec<KernelReport>, Failure> {
        self.performance(&built.module, machine, &[])
    }
}
