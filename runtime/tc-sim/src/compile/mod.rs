//! From a function to kernels: registers for values, flat code for regions, sizes put in.
//!
//! - [`sizes`]: symbols, shapes, extents.
//! - [`liveness`]: where values are used last.
//! - [`kernel`]: a kernel in the making.
//! - [`function`]: the top of a program: launches, what stands between them, arguments.
//! - [`body`]: ops of a region. [`ops`]: arithmetic. [`control`]: loops and branches. [`place`]: buffers and accesses.
//! - [`region`]: references to parts of buffers. [`tiles`], [`copies`]: what a warp does as a whole, and asynchronous
//!   copies, which take them.
//! - [`warpgroups`], [`bulk`], [`mbarrier`]: what a warpgroup does, bulk copies, barriers in shared memory.
//! - [`operator`]: stages of an operator.

mod body;
mod bulk;
mod control;
mod copies;
mod exchange;
pub(crate) mod function;
mod kernel;
mod liveness;
mod mbarrier;
pub(crate) mod operator;
mod ops;
mod place;
mod region;
pub(crate) mod sizes;
mod tiles;
mod warpgroups;

use tc_support::Diagnostic;

/// A part of compiling: what is refused is reported at once.
pub(crate) type Result<T> = std::result::Result<T, Box<Diagnostic>>;
