//! Passes: what one is, how its options are typed, the text of pipelines, and how they run.
//!
//! - [`pass`]: the traits and the row that declares a pass.
//! - [`options`]: typed options; an unknown key or a bad value is an error with its place in the pipeline string.
//! - [`table`]: the passes and named pipelines that a run knows.

pub mod options;
pub mod pass;
pub mod table;

pub use options::{OptionError, OptionInfo, OptionValue, RawOption};
pub use pass::{FuncPass, ModulePass, PassCx, PassInfo, PassKind, Stats};
pub use table::{PassTable, PipelineInfo, Step};
