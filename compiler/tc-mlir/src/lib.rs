//! From IR to the dialects of MLIR's GPU path as text; with the feature `mlir`, to PTX and LLVM IR in process, and from MLIR to
//! IR.
//!
//! The text is for `mlir-opt` of LLVM 22. What a module must be, and how it is taken apart, is `tc-kernel`'s, and so is
//! the manifest: kernels take what those of the emitter of CUDA take, and are launched in the same way.
//!
//! - `arith` and `stmt` hold the tables of what is written, arithmetic and all else; `refuses` says why the rest is not.
//! - `module` writes what stands around kernels, `kernel` a kernel and all that its parts are written with.
//! - `value` says what stands where a value is used, `index` what addresses are computed with; `memory` is for buffers,
//!   views and addresses, `access` for loads and stores, `stmt` for loops and conditionals, `unroll` for which loops are
//!   unrolled, `arith` and `cast` for numbers, `shuffle` for what lanes exchange, `fragments` for products of matrices:
//!   `wmma` and `mma` by family, and `copies` that run ahead; `wgmma` for products of warpgroups, `bulk` for copies by tensor maps
//!   and barriers in shared memory, and `functions` for the lines of PTX that these call.
//! - `own` is what kernels carry for those who read the text back; [`import`] reads it, and kernels of others, as programs;
//!   `read` is the tables the other way. `plug` is a pass for MLIR's pass managers, with the feature `mlir`.
//! - `constants`, `names`, `types`, `writer` are what they write with.
//!
//! The text is meant to be read: it keeps the author's names, and says each constant once. It is meant to be exact: no op
//! has a fast-math flag, what would be rounded twice or approximately by MLIR is said in another way or refused, and
//! addresses have 64 bits. The same module gives the same bytes.

mod access;
mod arith;
mod bulk;
mod cast;
mod constants;
mod copies;
mod fragments;
mod functions;
#[cfg_attr(not(feature = "mlir"), path = "import/without.rs")]
pub mod import;
mod index;
mod kernel;
pub mod lower;
mod memory;
mod mma;
mod module;
mod names;
mod own;
#[cfg(feature = "mlir")]
#[allow(unsafe_code, reason = "ops are moved from one module to another, which melior has no safe words for")]
pub mod plug;
#[cfg(any(feature = "mlir", test))]
mod read;
mod refuses;
mod shuffle;
mod stmt;
mod types;
mod unroll;
mod value;
mod wgmma;
mod wmma;
mod writer;

use tc_ir::{Func, Module};
use tc_kernel::{host, job, manifest};
use tc_support::Diagnostics;
use tc_target::{KernelManifest, Target};

/// How to write.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct EmitOptions {
    /// Tell the place of the `.tir` file that each op comes from, by `loc(…)`.
    pub locations: bool,
}

/// Functions of a module as MLIR.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MlirModule {
    /// The text of the kernels.
    pub text: String,
    /// How they are launched, for each function of the host, in the order of the module.
    pub manifests: Vec<KernelManifest>,
}

/// Writes the kernels of the host function `function`.
pub fn emit(
    module: &Module,
    function: &str,
    target: &Target,
    options: &EmitOptions,
) -> Result<MlirModule, Diagnostics> {
    emit_hosts(module, &[host::find(module, function)?], target, options)
}

/// Writes the kernels of all host functions of `module` into one text.
pub fn emit_module(module: &Module, target: &Target, options: &EmitOptions) -> Result<MlirModule, Diagnostics> {
    emit_hosts(module, &job::hosts(module)?, target, options)
}

/// What keeps the host function `function` and its kernels from being written; nothing if [`emit`] will do it.
pub fn accepts(module: &Module, function: &str, target: &Target) -> Diagnostics {
    job::accepts(module, function, target, &refuses::EMITTER)
}

fn emit_hosts(
    module: &Module,
    funcs: &[&Func],
    target: &Target,
    options: &EmitOptions,
) -> Result<MlirModule, Diagnostics> {
    let sources = options.locations.then_some(&module.sources);
    let mut uses = kernel::Uses::default();
    let texts = job::emit(module, funcs, target, &refuses::EMITTER, |func, facts, name| {
        kernel::write(func, facts, name, target, &mut uses, sources)
    })?;
    let text = module::write(&manifest::comment(&texts.manifests), &texts.kernels, funcs, &uses, target);
    Ok(MlirModule { text, manifests: texts.manifests })
}
