//! The compiler as a library: read a text, run a pipeline over it, print it, emit CUDA.
//!
//! ```
//! let text = "tir 1
//!
//! tir.func @double(A: f32[8]) {
//!   for i in 0..8 {
//!     A[i] = A[i] * 2.0
//!   }
//! }
//! ";
//! let compiler = tc::Compiler::new();
//! let module = compiler.parse("double.tir", text)?.module;
//! assert_eq!(compiler.print(&module)?, text);
//! # Ok::<(), tc::Failure>(())
//! ```
//!
//! [`Compiler`] holds what a run knows: dialects, passes, named pipelines, a target. An embedder adds rows and passes
//! of its own to it, builds modules with [`ir::Builder`] instead of text where it likes, and gets all diagnostics as
//! data: a [`Failure`] carries the diagnostics and the sources that they point into. Nothing here writes to a stream.
//!
//! docs/embedding.md goes through all of it, step by step: its programs are doc tests of this crate. [`guard`] tells which
//! stack calls run on and what becomes of a panic, [`testing`] is for snapshot tests of passes, [`text_pass`] for passes
//! from text to text.
//!
//! [`debug`] reproduces failing runs and makes them small; [`run`] runs and checks what a file holds, on the simulator or
//! on a GPU; [`space`] tells which points of a search space a target allows.
//!
//! Two features are on unless an embedder turns them off: `runtime`, GPUs and NVIDIA's compiler, opened at run time; and
//! `threads`. Without both there is no library to open and no thread to start, as in WebAssembly.
//!
//! The crates of the compiler are re-exported as modules, so that an embedder depends on this one only.

#[cfg(feature = "runtime")]
mod bundle;
mod compiler;
pub mod debug;
mod failure;
pub mod fixes;
pub mod guard;
mod inspect;
mod json;
mod libraries;
mod load;
mod native;
mod performance;
pub mod run;
mod semantics;
pub mod space;
pub mod testing;
pub mod text_pass;

#[cfg(feature = "runtime")]
pub use bundle::{Bundle, BundleTarget};
pub use compiler::{Compiler, Parsed};
pub use failure::Failure;
pub use guard::on_big_stack;
pub use inspect::{Partial, Scheduled};
pub use json::{diagnostics_json, manifest_json};
pub use load::{LoadError, decode, load};
#[cfg(feature = "runtime")]
pub use native::CubinModule;
pub use native::{PtxModule, Via};
pub use run::check;
pub use semantics::{SemanticsCheck, race_oracle};

pub use tc_arith as arith;
pub use tc_bundle as bundles;
pub use tc_cuda as cuda;
pub use tc_dialects as dialects;
pub use tc_ir as ir;
pub use tc_mlir as mlir;
pub use tc_pass as pass;
pub use tc_passes as passes;
pub use tc_perf as perf;
pub use tc_report as report;
pub use tc_runtime as runtime;
pub use tc_schedule as schedule;
pub use tc_sim as sim;
pub use tc_support as support;
pub use tc_syntax as syntax;
pub use tc_target as target;
pub use tc_tvm as tvm;

#[cfg(doctest)]
#[doc = include_str!("../embedding.md")]
struct Embedding;
