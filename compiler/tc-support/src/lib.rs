//! What every other crate of tc stands on: element types and how their bits hold numbers, source files and spans,
//! diagnostics and their rendering, near-name suggestions, numbers of things in words, rounding, how many threads work side by side and what they share, the time
//! that steps take, requests to cancel, and pages at the heads of files.
//!
//! This crate knows no IR. Diagnostics are data: nothing here writes to a stream.

pub mod cancel;
pub mod clock;
pub mod counted;
pub mod diag;
pub mod elem;
pub mod float_format;
pub mod gcd;
pub mod page;
pub mod parallel;
pub mod render;
pub mod rounding;
pub mod source;
pub mod suggest;
pub mod workers;

pub use cancel::Cancel;
pub use counted::counted;
pub use diag::{Diagnostic, Diagnostics, Fault, Fix, FixEdit, Location, Severity};
pub use elem::{DType, Elem};
pub use gcd::gcd;
pub use source::{FileId, LineCol, Pos, Sources, Span};
