//! Running what a file holds: which cases there are, how they are built for a device, how they are checked.
//!
//! - [`cases`]: operators by definition, their schedules, programs.
//! - [`build`]: from a case to a program that a device takes.
//! - [`arrays`]: arrays of the runtime as tensors of the simulator, and back.
//! - [`simulator`]: the simulator as a [`tc_runtime::Device`].
//! - [`mod@check`]: a case against the definition of its operator.
//! - [`mod@evaluate`]: the results of a case on given inputs.

pub mod arrays;
pub mod build;
pub mod cases;
pub mod check;
pub mod evaluate;
pub mod simulator;

pub use build::{Built, Define, points};
pub use cases::{Case, Choice, Refused};
pub use check::{CheckOptions, Checked, Machine, Verdict, check};
pub use evaluate::{Argument, Evaluated, Measured, bench, evaluate};
pub use simulator::{SimCode, Simulator};
