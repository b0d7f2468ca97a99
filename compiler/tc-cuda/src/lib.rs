//! From IR to CUDA C++, and the manifest that says how the kernels are launched.
//!
//! What a module must be, and how it is taken apart, is `tc-kernel`'s; here is how a kernel is written.
//!
//! - `placement` says which ops are printed inside the op that uses them.
//! - `arith` and `stmt` hold the tables of what is written, arithmetic and all else. What they lack is not accepted.
//! - `kernel`, `stmt`, `value`, `arith` write heads, statements, values and arithmetic; `place` references; `wmma`,
//!   `mma`, `wgmma`, `bulk` matrix products, asynchronous and bulk copies. `expr`, `types`, `literals`, `preamble`, `ptx`, `writer` are what
//!   they write with.
//!
//! The text is meant to be read: it keeps the author's names, and an op that has one use and no name stands where it
//! is used. It is meant to be exact: literals read back as the numbers they stand for, nothing is contracted (compile
//! with `--fmad=false`), no function is a fast variant, conditionals evaluate what the program evaluates. The same
//! module gives the same bytes.

mod arith;
mod bulk;
mod expr;
mod kernel;
mod literals;
mod mma;
mod place;
mod placement;
mod preamble;
mod ptx;
mod shuffle;
mod stmt;
mod types;
mod value;
mod wgmma;
mod wmma;
mod writer;

use preamble::Needs;
use tc_ir::{Func, Module};
use tc_kernel::accepts::Emitter;
use tc_kernel::{host, job, manifest};
use tc_support::{Diagnostic, Diagnostics, Location};
use tc_target::{KernelManifest, Target};

/// What this emitter has words for.
const EMITTER: Emitter = Emitter {
    language: "CUDA",
    has: stmt::has_row,
    spells: arith::spells,
    lacks: |_, _, _| None,
    refuses: |_, _, _, _| {},
    way_out: Some(WAY_OUT),
};

/// What helps where CUDA has nothing for an op.
const WAY_OUT: &str = "run the pipeline `cuda` first; a dialect of one's own brings a pass that lowers its ops";

/// How to write.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct EmitOptions {
    /// Tell the line of the `.tir` file that each statement comes from, by `#line`.
    pub line_directives: bool,
}

/// One function of the host as CUDA.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CudaProgram {
    /// The text of its kernels.
    pub source: String,
    /// How they are launched.
    pub manifest: KernelManifest,
}

/// All functions of a module as CUDA.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CudaModule {
    /// The text of all kernels.
    pub source: String,
    /// How they are launched, for each function of the host, in the order of the module.
    pub manifests: Vec<KernelManifest>,
}

/// Writes the kernels of the host function `function`.
pub fn emit(
    module: &Module,
    function: &str,
    target: &Target,
    options: &EmitOptions,
) -> Result<CudaProgram, Diagnostics> {
    let func = host::find(module, function)?;
    let mut emitted = emit_hosts(module, &[func], target, options)?;
    let manifest = emitted
        .manifests
        .pop()
        .ok_or_else(|| Diagnostic::bug("emitter", Location::None, "a function was emitted without a manifest"))?;
    Ok(CudaProgram { source: emitted.source, manifest })
}

/// Writes the kernels of all host functions of `module` into one text.
pub fn emit_module(module: &Module, target: &Target, options: &EmitOptions) -> Result<CudaModule, Diagnostics> {
    emit_hosts(module, &job::hosts(module)?, target, options)
}

/// What keeps the host function `function` and its kernels from being written; nothing if [`emit`] will do it.
pub fn accepts(module: &Module, function: &str, target: &Target) -> Diagnostics {
    job::accepts(module, function, target, &EMITTER)
}

fn emit_hosts(
    module: &Module,
    funcs: &[&Func],
    target: &Target,
    options: &EmitOptions,
) -> Result<CudaModule, Diagnostics> {
    let lines = options.line_directives.then_some(&module.sources);
    let mut needs = Needs::default();
    let texts = job::emit(module, funcs, target, &EMITTER, |func, facts, name| {
        kernel::write(func, facts, name, target, &mut needs, lines)
    })?;
    let mut source = header(&texts.manifests, target);
    needs.write(&mut source);
    source.push_str(&texts.kernels.join("\n"));
    Ok(CudaModule { source, manifests: texts.manifests })
}

/// The comment at the top: what was made of what, for whom, and how it is launched.
fn header(manifests: &[KernelManifest], target: &Target) -> String {
    let mut out = format!("// Made by tc {} for {target}. Compile with --fmad=false.\n", env!("CARGO_PKG_VERSION"));
    out.push_str(&manifest::comment(manifests));
    out.push('\n');
    out
}
