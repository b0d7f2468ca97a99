//! Schedules of programs: directives that edit the loops and buffers of a `tir.func`.
//!
//! Each directive is decided on the *serial reading* of the program, in which the loops of launch coordinates run in order
//! like all others. A program that a schedule may edit means the same in both readings, and every directive keeps that:
//!
//! - no launch loop carries a dependence (`dependences.rs`, `bind`);
//! - a buffer is made inside the launch loops that its scope has one buffer for each value of (`instances.rs`);
//! - what a thread finds in shared memory that is made inside a loop over threads does not depend on the thread.
//!
//! A directive is legal if dependence analysis proves that no access moves past one that it conflicts with (Allen and
//! Kennedy, *Optimizing Compilers for Modern Architectures*, 2001, ch. 2 and 6: direction vectors, loop interchange and
//! distribution). What cannot be decided is refused. One order is free: the steps of an update `X[i] = X[i] + e` may change
//! places, as the steps of a reduction may in an operator.
//!
//! `run.rs` walks over the schedule, `names.rs` finds what its names mean, `primitives/` has a file for each directive.

mod cx;
mod dependences;
mod instances;
mod names;
mod nest;
mod primitives;
mod region;
mod run;
mod stage;

pub(crate) use run::trace;

pub use primitives::{Directive, directives};

use rustc_hash::FxHashMap;
use tc_ir::{Func, Loc, Op, Value};
use tc_schedule::{Define, Space};
use tc_support::Diagnostics;

/// The space of the schedule `sched` for the program `func`; one point if it has no parameters.
pub fn space<'a>(func: &'a Func, sched: &'a Func, defines: &[Define]) -> Result<Space<'a>, Diagnostics> {
    Space::of_program(func, sched, defines, run::schedule)
}

/// What a value of a schedule stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Item {
    /// Nothing yet.
    Unset,
    /// What a directive in error would have given: no further errors about it.
    Poison,
    /// A name that the branch taken does not bind.
    Undefined,
    /// A number; a truth value is 0 or 1.
    Int(i64),
    /// A buffer of the program.
    Buffer(Value),
    /// A loop of the program.
    Loop(Op),
}

/// A program under a schedule.
struct Program {
    func: Func,
    /// The loops that are gone, each with what took its place.
    consumed: FxHashMap<Op, Consumed>,
}

/// What became of a loop.
struct Consumed {
    name: String,
    loc: Loc,
    by: &'static str,
    into: Vec<Op>,
}
