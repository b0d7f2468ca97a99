//! Instructions that emitters write as PTX: one table of lines and operands, whatever stands around a line.
//!
//! In a line `%n` is operand `n`, as C++ has it. Both emitters make a small function of each row, of the same name.
//!
//! - [`bulk`] is bulk copies by tensor maps, and barriers in shared memory;
//! - [`wgmma`] is what a warpgroup multiplies.

pub mod bulk;
pub mod wgmma;
