//! From a function to kernels: registers for values, flat code for regions, sizes put in.
//!
//! - [`sizes`]: symbols, shapes, extents.
//! - [`liveness`]: where values are used last.
//! - [`kernel`]: a kernel in the making.
//! - [`function`]: the top of a program: launches, what stands between them, arguments.
//! - [`body`]: ops of a region. [`ops`]: arithmetic. [`control`]: loops and branches. [`place`]: buffers and accesses.
//! - [`operator`]: stages of an operator.

mod body;
mod control;
mod exchange;
pub(crate) mod function;
mod kernel;
mod liveness;
pub(crate) mod operator;
mod ops;
mod place;
pub(crate) mod sizes;

use tc_support::Diagnostic;

/// A part of compiling: what is refused is told at once.
pub(crate) type Result<T> = std::result::Result<T, Box<Diagnostic>>;
