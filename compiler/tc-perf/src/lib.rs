//! The speed of a kernel without a GPU: what its accesses cost, what it asks of each unit, and how long it takes at least.
//!
//! A kernel is in the form `device`. The numbers come of ways of single warps through it (`walk`), with numbers for all
//! integers: which addresses the lanes of a warp access (`touch`), how many sectors and wavefronts these are
//! (`memory`), which instructions there are (`units`); `counts` adds them up. `chain` is how long one warp waits,
//! and `estimate` makes times of all that. Nothing is fitted to measurements.
//!
//! What data decides is not known: a condition on data is taken to hold, a loop that data bounds to run once, an
//! address from data to share no sector with another lane's.
//!
//! Beside that, `machine_code` is a lint of what an assembler made of kernels.

mod chain;
mod counts;
mod estimate;
mod fresh;
mod lanes;
mod literal;
mod machine_code;
mod memory;
mod queue;
mod registers;
mod repeat;
mod report;
mod touch;
mod units;
mod unroll;
mod walk;

pub use estimate::{Limiter, Time, Traffic};
pub use machine_code::{
    Agreement, Finding, FindingKind, KernelCode, LoopCode, MachineCode, ProductCount, Told, machine_code,
};
pub use report::{AccessReport, KernelReport, kernel, module};
pub use touch::Direction;
