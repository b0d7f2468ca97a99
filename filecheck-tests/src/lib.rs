//! The runner of the corpus: `.tir` files that say in their first lines how they are run and what must come out.
//!
//! - [`corpus`]: which files there are.
//! - [`directives`]: what the comments of a file ask for, and what is wrong with them.
//! - [`command`]: a `RUN` line as commands; [`exec`]: running them in process.
//! - [`snapshot`]: exact outputs, and that none is left over.
//! - [`law`]: what holds of every file and every pass, whatever the file asks for; [`reproduces`]: and of every failure.
//! - [`random`]: random operators with schedules, random programs, and pipelines; the tool `tc-random` and a test run them.
//!
//! A `RUN` line is `tc-opt %s …`, perhaps led by `not`, perhaps followed by `| FileCheck %s`. Without FileCheck and
//! without `--verify-diagnostics` its output is compared with a snapshot.

pub mod command;
pub mod corpus;
pub mod directives;
pub mod exec;
pub mod filecheck;
pub mod law;
pub mod random;
pub mod reproduces;
pub mod snapshot;

/// Why a test failed, as a text for people.
pub type Outcome = Result<(), String>;
