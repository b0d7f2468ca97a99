//! What every other crate of tc stands on: source files and spans, diagnostics and their rendering, near-name
//! suggestions, and the one way to round a number once.
//!
//! This crate knows no IR. Diagnostics are data: nothing here writes to a stream.

pub mod diag;
pub mod render;
pub mod rounding;
pub mod source;
pub mod suggest;

pub use diag::{Diagnostic, Diagnostics, Fault, Location, Severity};
pub use source::{FileId, LineCol, Pos, Sources, Span};
