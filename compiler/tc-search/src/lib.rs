//! The search of a space of points for the fastest, without a word of what the points are.
//!
//! - [`pool`]: the points that are chosen from.
//! - [`search`]: batches of points out, results in, until the budget is spent.
//! - [`searcher`]: which points to try next: all, drawn ones, children, what a model takes for good.
//! - [`model`]: random forests and boosted trees.
//! - [`random`]: numbers that a seed chooses.
//!
//! All is the same for a seed and a sequence of results, bit for bit, on any machine: nothing runs on threads, and no
//! function of the C library is called.
#![deny(unsafe_code)]

mod known;
pub mod model;
pub mod pool;
pub mod random;
pub mod search;
pub mod searcher;

pub use known::{Known, Outcome};
pub use pool::{Features, Knob, Pool};
pub use search::{Batch, Budget, Next, Search};
pub use searcher::{Kind, Searcher};
