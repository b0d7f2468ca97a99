//! Models that learn from measurements which points are worth one.

pub mod boosted;
pub mod forest;
mod table;
mod tree;

pub use boosted::{Boosted, BoostedOptions};
pub use forest::{Forest, ForestOptions};
pub use table::Table;
