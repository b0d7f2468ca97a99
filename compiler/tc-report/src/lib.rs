//! A run of a pipeline shown: the program between passes, differences, folders and pages of HTML, traces of time.
//!
//! - [`instruments`]: prints the program between passes; [`recorder`]: keeps it, and writes it into a folder.
//! - [`diff`]: what differs between two texts.
//! - [`tables`]: time and statistics as tables and as JSON; [`trace`]: time as Chrome and Perfetto read it.

pub mod diff;
mod text;

pub use text::{Print, text_of};
