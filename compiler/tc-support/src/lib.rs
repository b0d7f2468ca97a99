//! What every other crate of tc stands on: source files and spans, diagnostics and their rendering, near-name
//! suggestions, the one way to round a number once, and how many threads work side by side.
//!
//! This crate knows no IR. Diagnostics are data: nothing here writes to a stream.

pub mod diag;
pub mod render;
pub mod rounding;
pub mod source;
pub mod suggest;
pub mod workers;

pub use diag::{Diagnostic, Diagnostics, Fault, Location, Severity};
pub use source::{FileId, LineCol, Pos, Sources, Span};
