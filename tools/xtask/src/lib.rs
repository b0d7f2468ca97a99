//! Chores of the repository: checks of its layout, generated pages, blessed snapshots, scaffolds.
//!
//! - [`arrows`]: which crate may know which.
//! - [`tidy`]: what holds of the files.
//! - [`editor`]: the grammar for editors.
//! - [`header`]: the header for C.
//! - [`generate`]: pages and tables made from rows.
//! - [`scaffold`]: a new pass.

pub mod arrows;
pub mod editor;
pub mod generate;
pub mod header;
pub mod scaffold;
pub mod tidy;
mod words;

use std::path::PathBuf;

/// The root of the repository.
pub fn root() -> PathBuf {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).map(PathBuf::from).unwrap_or(here)
}
