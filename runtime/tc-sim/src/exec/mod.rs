//! Runs compiled kernels.
//!
//! - [`group`]: a group of threads and its control: masks, loops, branches.
//! - [`access`]: loads and stores, with their checks.
//! - [`report`]: what is told of a finding.
//! - [`block`]: blocks, phased and threaded, and launches of many.

mod access;
mod block;
mod group;
mod report;

pub(crate) use block::{Cells, Launch, launch};
