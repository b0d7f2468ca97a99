//! Programs as TVMScript, the Python text that TVM prints and parses, and TVMScript as programs.
//!
//! [`emit`] writes a module that TVM 0.27 reads, in its dialect `tirx`. [`import`] reads what TVM 0.27 prints of that
//! dialect, and what TVM 0.16 prints of `tir`; the Python grammar is Ruff's. What has no counterpart is refused at its
//! line. docs/tvmscript.md lists the counterparts.
//!
//! - `types`, `table` hold the names that both ways share: element types, functions of `T`, operators.
//! - [`emit`] goes through a program op by op: `nest` decides what is one expression, `expr` writes expressions, `stmt`
//!   statements, `carry` values that loops and conditionals hand on, `buffer` allocations and accesses, `gpu` what threads
//!   exchange, `func` headers.
//! - [`import`] goes through the syntax tree statement by statement and builds ops.

pub mod emit;
pub mod import;
mod table;
mod types;
