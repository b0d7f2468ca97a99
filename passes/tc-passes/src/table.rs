//! The one list of passes and named pipelines.

use tc_pass::{PassInfo, PipelineInfo};

/// The passes, in the order in which the documents list them.
pub static PASSES: &[&PassInfo] = &[
    // Operators.
    &crate::inline::INFO,
    // Algebra.
    &crate::simplify::INFO,
    &crate::canonicalize::INFO,
    &crate::cse::INFO,
    &crate::dce::INFO,
    &crate::remove_no_op::INFO,
    &crate::narrow_index::INFO,
    &crate::contract::INFO,
    // Loops.
    &crate::loop_partition::INFO,
    &crate::unroll_loop::INFO,
    // Storage.
    &crate::storage_flatten::INFO,
    &crate::hoist_alloc::INFO,
    // Hardware.
    &crate::thread_sync::INFO,
    &crate::lower_intrin::INFO,
    &crate::split_host_device::INFO,
    // Checks.
    &crate::verify_memory::INFO,
    &crate::verify_gpu_limits::INFO,
    &crate::check_bounds::INFO,
];

/// The named pipelines.
pub static PIPELINES: &[&PipelineInfo] = &[];
