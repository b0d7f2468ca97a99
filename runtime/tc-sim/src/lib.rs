//! The simulator: what programs mean, executed.
//!
//! - [`run`](mod@run): a program on given arguments, with everything that was found on the way.
//! - [`define`]: an operator by definition, whole or at chosen cells.
//! - [`check`]: a program against the definition of its operator.
//! - [`field`]: the same in exact arithmetic, where the order of sums does not matter.
//! - [`oracle`]: the definition as the judge of results that come from elsewhere.
//! - [`agree`](mod@agree): two versions of a function against each other, for whoever rewrites programs.
//! - [`trials`]: the sizes at which a program that leaves some open is tried.
//! - [`watch`](mod@watch): what each thread of one block does to a buffer.
//! - [`probe`](mod@probe): a program on inputs of the simulator's choice, for what can be found that way.
//!
//! Inside: `compile` turns a function into flat code over registers, `exec` runs that code for groups of threads,
//! `memory` holds buffers and what is noted of each cell, `race` and `clock` tell which accesses nothing orders, `mbarrier`
//! counts phases of barriers in shared memory, `magnitude` and
//! [`tolerance`] say how far rounding may carry two orders of evaluation apart.
//!
//! # What a run reports
//!
//! Accesses out of bounds, reads of what no thread wrote, misaligned accesses, races with both lines, barriers in divergent
//! code, ops of whole warps and warpgroups that come to them in part, cells that an outstanding asynchronous copy writes,
//! sums and factors of outstanding products, missing fences, barriers in shared memory that are used as they may not be,
//! deadlocks, overflow and division by zero, cells of outputs that no thread wrote. It goes on after each of them, with 0 for
//! what could not be read, and ends only where a limit is reached.
//!
//! # Tensor cores
//!
//! A buffer in a scope `wmma.…` or `mma.…` is one a warp, and what a warp does as a whole is done once, on dense matrices
//! that are gathered from where they stand: from fragments, from tiles of numbers, from what each lane holds. Products are
//! exact, and added in f32 by rising k: a sum of k terms is off by at most about `k * 2^-24 * (|c| + sum |a * b|)`. All
//! operands but the rows of `ldmatrix` must be the same in all threads of the warp. Tiles in memory start at multiples of
//! 32 bytes and their rows of 16, rows of `ldmatrix` at multiples of 16.
//!
//! What an asynchronous copy writes is poison until its thread has waited for its group, and for other threads until a
//! barrier after that. What it reads may not be written by its block meanwhile; other blocks race with the read.
//!
//! # Warpgroups
//!
//! Where no loop over its threads is there yet, one thread of a phased launch stands for a warpgroup. Products of
//! warpgroups add as those of warps do; of 8-bit floats the hardware keeps sums to about 22 bits only, and a run does not
//! show that. Once groups of products are committed, a product is outstanding until its warpgroup has waited for it: until
//! then its sums belong to products, and its factors are not written. A fence must stand between what threads did with
//! sums and the next product.
//!
//! A bulk copy without a barrier is done by a block at once, in phased programs only. With one it lands at any time until
//! its phase is complete: whoever has not waited for that phase neither reads nor writes what it brings. Products see what
//! bulk copies wrote, and not what threads stored.
//!
//! # Threads
//!
//! A phased program is run in lockstep: each op by all threads of the block before the next. Races are two values
//! written to one cell by one op, and accesses of two blocks. A threaded program is run warp by warp from barrier to
//! barrier; races are found by happens-before, so the order of the warps does not matter.
//!
//! A launch with barriers in shared memory is always threaded, and the threads of a warpgroup run side by side. One that
//! waits for a phase is left until others have come further; where none can go on, that is a deadlock. There `clock`
//! follows what orders accesses, thread by thread: arrivals and waits, barriers of blocks and warps. The two sides of a
//! branch within a warpgroup run one after the other: if one waits for what the other would do, the end is unknown.

pub mod agree;
mod cell;
mod cells;
pub mod check;
mod clock;
mod code;
mod compile;
mod cone;
pub mod define;
pub mod diagnostic;
mod domain;
mod exec;
pub mod field;
mod inputs;
mod lanes;
pub mod limits;
mod magnitude;
mod mbarrier;
mod memory;
pub mod oracle;
pub mod probe;
mod race;
pub mod run;
mod sample;
mod slice;
pub mod tensor;
pub mod tolerance;
pub mod trials;
mod warp;
pub mod watch;

pub use agree::{AgreeReport, agree};
pub use check::{CheckOptions, CheckReport, Difference, check_against_definition, fault_of_operator};
pub use compile::sizes::{Sizes, sizes_of_operator};
pub use define::{Definition, Evaluation, Signature};
pub use diagnostic::{DiagnosticKind, SimDiagnostic, SimDiagnostics};
pub use field::{FieldReport, FieldVerdict};
pub use limits::Limits;
pub use oracle::{Oracle, Parameter, Places, Trial, exercise, parameters};
pub use probe::probe;
pub use run::{Arg, RunOptions, RunReport, run};
pub use tensor::Tensor;
pub use trials::{Plan, Unreached, plan, sizes_to_try};
pub use watch::watch;

/// A run, or the reason why there was none.
pub type Result<T> = std::result::Result<T, Box<tc_support::Diagnostic>>;
