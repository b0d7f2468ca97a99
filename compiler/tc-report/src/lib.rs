//! A run of a pipeline shown: the program between passes, differences, folders and pages of HTML, traces of time.
//!
//! - [`instruments`]: prints the program between passes. [`recorder`] keeps it, and writes it into a folder.
//! - [`diff`]: what differs between two texts; [`recording`]: texts kept as differences.
//! - [`tables`]: time and statistics as tables and as JSON; [`trace`]: time as Chrome and Perfetto read it.
//! - [`access`]: what a kernel's accesses and instructions say of its speed, as text and as JSON.
//! - [`machine_code`]: what the lint of machine code says, as text and as JSON.
//! - [`html`]: pages and pictures, whatever is shown in them.
//! - [`dump`]: the files of such a folder, and which of them are ours; [`index`]: its pages; [`page`]: one page that tells all of a compilation.
//!
//! A text that is shown is never trusted: whatever stands in a program, in the name of a file or in a message has no
//! meaning in a page. Nothing here writes to a stream, and no look at a program changes what comes of it.

pub mod access;
pub mod diff;
pub mod dump;
pub mod html;
pub mod index;
pub mod instruments;
pub mod machine_code;
pub mod page;
pub mod recorder;
pub mod recording;
pub mod tables;
mod text;
pub mod trace;

pub use page::{HeldBuffers, held_buffers};
pub use text::{Print, text_of};
