//! Running what a file holds: which cases there are, how they are built for a device, how they are checked.
//!
//! - [`cases`]: operators by definition, their schedules, programs.
//! - [`build`]: from a case to a program that a device takes.
//! - [`arrays`]: arrays of the runtime as tensors of the simulator, and back.
//! - `declared`: what programs take and give, as their text says.
//! - [`origin`]: the directives that diagnostics come from, and whose fault they are.
//! - `signature`: the shapes that callers of a program see.
//! - [`simulator`]: the simulator as a [`tc_runtime::Device`].
//! - [`mod@check`]: a case against the definition of its operator.
//! - `verified`: results that were found right, for programs that follow.
//! - [`mod@watch`]: what each thread of one block of a case does.
//! - [`mod@evaluate`]: the results of a case on given inputs.

pub mod arrays;
pub mod build;
pub mod cases;
pub mod check;
mod declared;
pub mod evaluate;
pub mod origin;
mod signature;
pub mod simulator;
mod verified;
pub mod watch;

use crate::failure::Failure;
use crate::guard::{guarded, guarded_here};
use tc_support::Sources;

/// Runs `run`, on a stack that is deep enough where `machine` is the simulator. A device need not be one that another
/// thread may use: with it `run` stays where it is, and its caller sees to the stack.
fn guarded_on<T: Send>(
    machine: &mut Machine<'_>,
    (doing, sources): (&str, &Sources),
    run: impl FnOnce(&mut Machine<'_>) -> Result<T, Failure> + Send,
) -> Result<T, Failure> {
    match machine {
        Machine::Simulator => guarded(doing, sources, || run(&mut Machine::Simulator)),
        machine => guarded_here(doing, sources, || run(machine)),
    }
}

pub use build::{Built, Define, points};
pub use cases::{Case, Choice, Refused, under};
pub use check::{CheckOptions, Checked, Machine, Verdict, check, check_after};
pub use evaluate::{Argument, Evaluated, Measured, bench, evaluate};
pub use simulator::{SimCode, Simulator};
pub use verified::Verified;
pub use watch::{WatchedCase, watch};
