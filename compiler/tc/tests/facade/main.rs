//! The facade, as embedders and the tools use it: from text to kernels, and running them.

mod boundary;
mod elements;
mod embed;
mod examples;
mod hooks;
mod intrinsics;
mod machine_code;
#[cfg(feature = "mlir")]
mod mlir;
#[cfg(feature = "mlir")]
mod mlir_import;
#[cfg(feature = "mlir")]
mod mlir_meaning;
mod mlir_text;
mod readme;
mod reductions;
mod reproducers;
#[cfg(feature = "runtime")]
mod resources;
mod run;
mod sizes;
mod tensorcore;
mod vectors;
