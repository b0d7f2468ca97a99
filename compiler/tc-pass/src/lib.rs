//! Passes: what one is, how its options are typed, the text of pipelines, and how they run.
//!
//! - [`pass`]: the traits and the row that declares a pass.
//! - [`options`](mod@options): typed options; an unknown key or a bad value is an error with its place in the pipeline string.
//! - [`table`]: the passes and named pipelines that a run knows.
//! - [`remarks`]: what a pass did not do, and which of that a run wants to be told.
//! - [`pipeline`]: the text of pipelines.
//! - [`analyses`]: facts about a function that the manager keeps from pass to pass.
//! - [`limits`]: what ends a run from outside.
//! - [`manager`]: runs a pipeline, with all checks around each pass, keeps its record, and lets instruments look on.

pub mod analyses;
pub mod limits;
pub mod manager;
pub mod options;
pub mod pass;
pub mod pipeline;
pub mod remarks;
pub mod table;

pub use analyses::{Analysis, preserved};
pub use limits::Limits;
pub use manager::{Instrument, Manager, OpCounts, PassAt, PassRecord, Report, RunOptions};
pub use options::{OptionError, OptionInfo, OptionValue, RawOption};
pub use pass::{FuncPass, ModulePass, PassCx, PassInfo, PassKind, Stats};
pub use pipeline::{Pipeline, Planned, parse_pipeline};
pub use remarks::Remarks;
pub use table::{MakePass, NameTaken, PassTable, PipelineInfo, PipelineStep, PlaceError};

/// The old name of [`PipelineStep`].
#[deprecated(note = "use `PipelineStep`")]
pub type Step = PipelineStep;
