//! Products of tiles of which is known which thread of a warp holds which element, in which of its registers.
//!
//! An operand is a tile in a scope `mma.…`, or, once `distribute-fragments` has run, what one thread holds of it: a
//! stretch of a buffer in `local`, in the order of [`fragment::element`](crate::fragment::element).

mod verify;

use crate::wmma::WARP;

pub use verify::{held, transposed};

tc_ir::dialect! {
    /// The rows of `mma`.
    dialect "mma" = 7;

    /// Loads a tile by 8 x 8 matrices of 16-bit pieces: thread `8 * i + j` names row `j` of matrix `i`, 16 bytes in shared memory that start at a multiple of 16. With `transposed` each matrix is transposed on the way. `layout` is that of the tile.
    LoadMatrix LDMATRIX "ldmatrix" (tile: place(Write), row: place(Read), layout: word key opt, transposed: any key opt)
    { effect: WARP, verify: Some(verify::ldmatrix) }

    /// Adds the product of two tiles to an accumulator; a factor whose layout is `col_major` stands transposed. Factors of 32 bits are rounded to tf32.
    Sync SYNC "sync" (accumulator: place(ReadWrite), a: place(Read), b: place(Read), a_layout: word key opt, b_layout: word key opt)
    { effect: WARP, verify: Some(verify::sync) }
}
