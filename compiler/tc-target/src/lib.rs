//! What is known of a GPU without having one: the limits and features of each target, how many blocks of a kernel fit on one of its multiprocessors, and the manifest that says how the
//! kernels of a compiled function are launched.
//!
//! Everything here is plain data. This crate knows no IR, so that emitters and the runtime can share it.

mod json;
pub mod machine;
pub mod manifest;
pub mod maps;
pub mod matrix;
pub mod occupancy;
pub mod resources;
pub mod sizes;
pub mod target;

pub use json::OBJECTS;
pub use machine::{Machine, Unit};
pub use manifest::{Access, Buffer, Kernel, KernelManifest, Param, Scalar};
pub use maps::TensorMap;
pub use resources::Resources;
pub use sizes::{Follows, Formula, OpenSize, Slot};
pub use target::{Feature, Target};
pub use tc_arith::BinaryOp;
pub use tc_support::DType;
