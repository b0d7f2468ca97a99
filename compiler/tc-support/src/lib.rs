//! What every other crate of tc stands on: source files and spans, diagnostics and their rendering, near-name suggestions.
//!
//! This crate knows no IR. Diagnostics are data: nothing here writes to a stream.

pub mod diag;
pub mod render;
pub mod source;
pub mod suggest;

pub use diag::{Diagnostic, Diagnostics, Fault, Location, Severity};
pub use source::{FileId, LineCol, Pos, Sources, Span};
