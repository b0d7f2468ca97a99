//! A failing run made small: reproducers, reduction of the input, bisection of the pipeline.
//!
//! - [`reproducer`]: a text that fails by itself: the program before the pass that failed, the rest of the pipeline and
//!   what else the run was given, in comment lines at its head.
//! - [`replay`]: the program as it was before a pass, made by running the passes before it once more.
//! - [`mod@reduce`]: a text made small while someone finds it interesting.
//! - [`mod@bisect`]: the first pass after which an answer changes.
//! - `command`: a shell command as the one who answers, on systems that have a shell.
//!
//! Nothing here is kept while a run goes well: all that a reproducer holds is made again after the failure.

pub mod bisect;
#[cfg(unix)]
pub mod command;
pub mod reduce;
pub mod replay;
pub mod reproducer;
pub mod signature;

pub use bisect::{Bisected, bisect};
#[cfg(unix)]
pub use command::{Asked, Command};
pub use reduce::{Reduced, reduce};
pub use replay::{PrintedBefore, text_before};
pub use reproducer::{Reproducer, Verify};
pub use signature::{Signature, shape};
