//! Passes: what one is, how its options are typed, and the text of pipelines.
//!
//! - [`pass`]: the traits and the row that declares a pass.
//! - [`options`]: typed options; an unknown key or a bad value is an error with its place in the pipeline string.

pub mod options;
pub mod pass;

pub use options::{OptionError, OptionInfo, OptionValue, RawOption};
pub use pass::{FuncPass, ModulePass, PassCx, PassInfo, PassKind, Stats};
