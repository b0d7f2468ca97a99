//! What the command-line tools share: their streams, files that are written whole or not at all, exit statuses, how
//! diagnostics are reported, and how inputs are loaded.
//!
//! A tool is a function from a command line and an [`Io`] to an exit status, so that a test can call it in process.

mod about;
mod file_id;
mod interrupt;
mod load;
mod out;
mod session;
mod shell;
mod status;
mod tell;
mod whole;

pub use about::{AboutArgs, Shell, complete};
pub use file_id::{FileId, full_path};
pub use interrupt::Interrupt;
pub use load::{file_name, load};
pub use out::Out;
pub use session::{Io, Session};
pub use shell::{CommandLine, main, run};
pub use status::{BUG, CALL, FINE, INPUT, status_of};
pub use tell::Tell;
pub use whole::write_whole;
