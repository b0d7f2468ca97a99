//! From programs to PTX and LLVM IR, on either of two ways.

use crate::compiler::Compiler;
use crate::failure::Failure;
use crate::guard::guarded;
use crate::run::Built;
use tc_ir::Module;
use tc_mlir::lower::{self, LowerOptions};
#[cfg(feature = "runtime")]
use tc_perf::{MachineCode, Told};
use tc_runtime::{Code, Program, toolkit};
#[cfg(feature = "runtime")]
use tc_runtime::{cubin, nvdisasm, nvrtc, ptxas};
use tc_support::{Diagnostic, Diagnostics, Location};
use tc_target::KernelManifest;
#[cfg(feature = "runtime")]
use tc_target::Resources;

/// The way from a program to PTX.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum Via {
    /// CUDA C++, and NVIDIA's run-time compiler.
    #[default]
    Cuda,
    /// MLIR, and LLVM, in process: with the feature `mlir`.
    Mlir,
}

/// PTX, and how its kernels are launched.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PtxModule {
    /// The text.
    pub text: String,
    /// How the kernels are launched, for each function of the host, in the order of the module.
    pub manifests: Vec<KernelManifest>,
}

/// Machine code, and how its kernels are launched.
#[cfg(feature = "runtime")]
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CubinModule {
    /// An ELF file, for one target.
    pub code: Vec<u8>,
    /// How the kernels are launched, for each function of the host, in the order of the module.
    pub manifests: Vec<KernelManifest>,
}

impl Compiler {
    /// The PTX of all programs of a module that went through the pipeline `cuda`, and how they are launched; the
    /// manifests are the same on both ways.
    pub fn emit_ptx(&self, module: &Module, via: Via) -> Result<PtxModule, Failure> {
        let failed = |diagnostics: Diagnostics| Failure { diagnostics, sources: module.sources.clone() };
        guarded("emitting PTX", &module.sources, || match via {
            Via::Cuda => self.ptx_of_nvrtc(module),
            Via::Mlir => {
                let mlir = self.emit_mlir(module, &WITH_LOCATIONS)?;
                let text = lower::ptx(&mlir.text, &self.target, &lower_options()).map_err(failed)?;
                Ok(PtxModule { text, manifests: mlir.manifests })
            }
        })
    }

    #[cfg(feature = "runtime")]
    fn ptx_of_nvrtc(&self, module: &Module) -> Result<PtxModule, Failure> {
        let cuda = self.emit_cuda(module)?;
        let compiled = nvrtc::compile(&cuda.source, "kernels.cu", &self.target, &nvrtc::Options::default());
        let failed = |wrong: Diagnostic| Failure { diagnostics: wrong.into(), sources: module.sources.clone() };
        let text = compiled.map_err(failed)?.text();
        Ok(PtxModule { text, manifests: cuda.manifests })
    }

    #[cfg(not(feature = "runtime"))]
    fn ptx_of_nvrtc(&self, module: &Module) -> Result<PtxModule, Failure> {
        let found = Diagnostic::error("no-runtime", Location::None, "this build of tc cannot call NVIDIA's compiler")
            .help("build the crate `tc` with its feature `runtime`, or compile the CUDA C++ of `emit_cuda`");
        Err(Failure { diagnostics: found.into(), sources: module.sources.clone() })
    }

    /// The LLVM IR of all programs of a module that went through the pipeline `cuda`, as LLVM has optimised it: what
    /// [`Compiler::emit_ptx`] makes PTX of, through MLIR.
    pub fn emit_llvm(&self, module: &Module) -> Result<String, Failure> {
        guarded("emitting LLVM IR", &module.sources, || {
            let mlir = self.emit_mlir(module, &WITH_LOCATIONS)?;
            lower::llvm(&mlir.text, &self.target, &lower_options())
                .map_err(|diagnostics| Failure { diagnostics, sources: module.sources.clone() })
        })
    }

    /// What each kernel of a module that went through the pipeline `cuda` takes of a thread, by the machine code for the
    /// target that is made of it `via` either way. No GPU is needed, but NVRTC, or for PTX that MLIR made, ptxas; that
    /// there is none is an error.
    #[cfg(feature = "runtime")]
    pub fn kernel_resources(&self, module: &Module, via: Via) -> Result<Vec<Resources>, Failure> {
        let failed = |wrong: Diagnostic| Failure { diagnostics: wrong.into(), sources: module.sources.clone() };
        guarded("reading machine code", &module.sources, || {
            cubin::resources(&self.emit_cubin(module, via)?.code).map_err(failed)
        })
    }

    /// The machine code for the target of all programs of a module that went through the pipeline `cuda`, and how they are
    /// launched. No GPU is needed, but NVRTC, or for PTX that MLIR made, ptxas; that there is none is an error.
    #[cfg(feature = "runtime")]
    pub fn emit_cubin(&self, module: &Module, via: Via) -> Result<CubinModule, Failure> {
        let failed = |wrong: Diagnostic| Failure { diagnostics: wrong.into(), sources: module.sources.clone() };
        guarded("assembling the kernels", &module.sources, || match via {
            Via::Cuda => {
                let options = nvrtc::Options { output: nvrtc::Output::Cubin, ..nvrtc::Options::default() };
                let cuda = self.emit_cuda(module)?;
                let code = nvrtc::compile(&cuda.source, "kernels.cu", &self.target, &options).map_err(failed)?.code;
                Ok(CubinModule { code, manifests: cuda.manifests })
            }
            Via::Mlir => {
                let PtxModule { text, manifests } = self.emit_ptx(module, via)?;
                Ok(CubinModule { code: ptxas::assemble(&text, &self.target).map_err(failed)?.code, manifests })
            }
        })
    }

    /// A lint of the machine code that is made of a module that went through the pipeline `cuda`, `via` either way: what of it
    /// is slow, and not what the program says. No GPU is needed, but NVIDIA's compiler or assembler, and its disassembler;
    /// where they are missing, the report says so.
    #[cfg(feature = "runtime")]
    pub fn machine_code(&self, module: &Module, via: Via) -> Result<MachineCode, Failure> {
        let failed = |diagnostics: Diagnostics| Failure { diagnostics, sources: module.sources.clone() };
        guarded("reading machine code", &module.sources, || {
            let made = match via {
                Via::Cuda => {
                    // With lines, which change no instruction.
                    let cuda = self.emit_cuda_with(module, &tc_cuda::EmitOptions { line_directives: true })?;
                    let options = nvrtc::Options {
                        output: nvrtc::Output::Cubin,
                        line_info: true,
                        extra: vec!["--ptxas-options=--verbose".into()],
                        ..nvrtc::Options::default()
                    };
                    nvrtc::compile(&cuda.source, "kernels.cu", &self.target, &options).map(|made| (made.code, made.log))
                }
                Via::Mlir => {
                    let ptx = self.emit_ptx(module, via)?.text;
                    ptxas::assemble(&ptx, &self.target).map(|made| (made.code, made.log))
                }
            };
            let made = match made {
                Err(why) if !matches!(why.code, nvrtc::MISSING | ptxas::MISSING) => return Err(failed(why.into())),
                made => made.map_err(|why| why.message),
            };
            let told = Told {
                log: made.as_ref().map(|(_, log)| log.as_str()).map_err(Clone::clone),
                resources: made
                    .as_ref()
                    .map_err(Clone::clone)
                    .and_then(|(code, _)| cubin::resources(code).map_err(|why| why.message)),
                listing: made.as_ref().map_err(Clone::clone).and_then(|(code, _)| nvdisasm::disassemble(code)),
            };
            tc_perf::machine_code(&self.legal(module), &self.target, &told).map_err(failed)
        })
    }

    /// `built` as PTX that was made through MLIR.
    pub(crate) fn mlir_program(&self, built: &Built) -> Result<Program, Failure> {
        let failed = |diagnostics| Failure { diagnostics, sources: built.module.sources.clone() };
        let mut emitted =
            tc_mlir::emit(&self.legal(&built.module), &built.name, &self.target, &WITH_LOCATIONS).map_err(failed)?;
        let manifest = emitted.manifests.pop().ok_or_else(|| {
            failed(Diagnostic::bug("emitter", Location::None, "a function was emitted without a manifest").into())
        })?;
        let text = lower::ptx(&emitted.text, &self.target, &lower_options()).map_err(failed)?;
        Ok(Program { manifest, target: self.target, code: Code::Ptx(text) })
    }
}

/// What MLIR says is reported at the author's lines.
const WITH_LOCATIONS: tc_mlir::EmitOptions = tc_mlir::EmitOptions { locations: true };

fn lower_options() -> LowerOptions {
    LowerOptions { toolkit: toolkit::libdevice() }
}
