//! From the text of [`emit_module`](crate::emit_module) to PTX and LLVM IR, in process, by MLIR's own passes.
//!
//! - [`pipeline`](self) is the pipeline string, with the one PTX version that each target is compiled with.
//! - `session` reads the text, verifies it, runs the pipeline and takes the object out of what comes back; `registry`
//!   is what of MLIR is linked; `disassemble` makes text of LLVM's bitcode. They exist with the feature `mlir` only.
//! - `annotate` hands what the text says of loops to what loops become.
//! - `complaints` turns what MLIR says into diagnostics, at the places in the author's file that the text names: an error of MLIR fails the step, whatever
//!   the pass manager returns.
//! - `ptx` looks at the PTX before anybody else does: for another target, for functions that nothing defines.
//!
//! Nothing is written to a stream, and nothing in here can end the process: what LLVM would die of (a target that it
//! does not know, an instruction that the PTX version lacks) is refused by the emitter or follows from a table in here.

#[cfg(feature = "mlir")]
#[allow(unsafe_code, reason = "attributes of ops are set through MLIR's C interface")]
mod annotate;
#[cfg(feature = "mlir")]
pub(crate) mod complaints;
#[cfg(feature = "mlir")]
#[allow(unsafe_code, reason = "bitcode becomes text through LLVM's C interface")]
mod disassemble;
mod pipeline;
mod ptx;
#[cfg(feature = "mlir")]
#[allow(unsafe_code, reason = "dialects, passes and translations of MLIR are registered one by one, in C and C++")]
pub(crate) mod registry;
#[cfg(feature = "mlir")]
#[allow(unsafe_code, reason = "the object of a `gpu.binary` is read through MLIR's C interface")]
mod session;

use std::path::PathBuf;
use tc_support::{Diagnostic, Diagnostics, Location};
use tc_target::Target;

#[cfg(feature = "mlir")]
pub use registry::{add_dialects, register_passes};

/// Was this crate built with MLIR?
pub const AVAILABLE: bool = cfg!(feature = "mlir");

/// How a text is lowered.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct LowerOptions {
    /// The folder of a CUDA toolkit, which holds `nvvm/libdevice/libdevice.10.bc`: the functions that `math.exp` and the
    /// like become. A text without such functions needs none.
    pub toolkit: Option<PathBuf>,
}

/// The PTX of all kernels of a text.
pub fn ptx(text: &str, target: &Target, options: &LowerOptions) -> Result<String, Diagnostics> {
    let has_kernel = text.contains("gpu.func");
    let made = lowered(text, pipeline::Format::Ptx, target, options)?;
    let made = String::from_utf8(made).map_err(|_| bug("the PTX is no UTF-8"))?;
    // LLVM ends the text with a zero.
    let made = made.trim_end_matches(['\0', '\n', ' ']).to_string() + "\n";
    if let Some(name) = ptx::undefined(&made).find(|name| name.starts_with("__nv_"))
        && let Some(found) = pipeline::bad_libdevice(text, options, &format!("it does not define `{name}`"))
    {
        return Err(found);
    }
    ptx::check(&made, target, has_kernel)?;
    Ok(made)
}

/// The LLVM IR of all kernels of a text, as LLVM has optimised it and makes PTX of it.
pub fn llvm(text: &str, target: &Target, options: &LowerOptions) -> Result<String, Diagnostics> {
    let bitcode = lowered(text, pipeline::Format::Llvm, target, options)?;
    #[cfg(feature = "mlir")]
    {
        disassemble::text(&bitcode).map_err(|why| bug(&format!("LLVM cannot read its own bitcode: {why}")))
    }
    #[cfg(not(feature = "mlir"))]
    {
        String::from_utf8(bitcode).map_err(|_| bug("built without MLIR, and yet there is bitcode"))
    }
}

/// The object that the pipeline makes of a text.
fn lowered(
    text: &str,
    format: pipeline::Format,
    target: &Target,
    options: &LowerOptions,
) -> Result<Vec<u8>, Diagnostics> {
    let toolkit = pipeline::toolkit(text, options)?;
    let pipelines = pipeline::texts(format, target, toolkit.as_deref());
    #[cfg(feature = "mlir")]
    {
        // Only who failed pays for reading the file.
        session::object(text, &pipelines)
            .map_err(|found| pipeline::broken_libdevice(text, options, &is_bitcode).unwrap_or(found))
    }
    #[cfg(not(feature = "mlir"))]
    {
        let _ = pipelines;
        Err(not_built().into())
    }
}

/// Can LLVM read `bytes`?
#[cfg(feature = "mlir")]
fn is_bitcode(bytes: &[u8]) -> bool {
    disassemble::text(bytes).is_ok()
}

/// What is reported where MLIR is asked for and is not [`AVAILABLE`]: the call is at fault, not the input.
pub fn not_built() -> Diagnostic {
    Diagnostic::assumption("no-mlir", Location::None, "this tc was built without MLIR")
        .note("MLIR text needs none: `--emit=mlir`; PTX comes through NVRTC as well: `--emit=ptx --via=cuda`")
        .help("run `scripts/install-mlir`, and build with `--features tc/mlir`")
}

/// A defect of this compiler.
fn bug(message: &str) -> Diagnostics {
    Diagnostic::bug("mlir", Location::None, message).into()
}
