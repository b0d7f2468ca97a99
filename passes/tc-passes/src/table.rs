//! The one list of passes and named pipelines.

use tc_pass::{PassInfo, PipelineInfo};

/// The passes, in the order in which the documents list them.
pub static PASSES: &[&PassInfo] = &[];

/// The named pipelines.
pub static PIPELINES: &[&PipelineInfo] = &[];
