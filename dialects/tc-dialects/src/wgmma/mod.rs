//! Products of a warpgroup, which run in the background.
//!
//! A warpgroup is four warps whose numbers follow each other, the first a multiple of four; its threads come to an op
//! together. A product `m64nNkK` adds to 64 x N sums in registers, of which it is known which thread holds which. Its
//! right factor lies in shared memory, the left one there or in registers. In shared memory they are regions of buffers, or,
//! once `storage-flatten` has run, the first element and a *descriptor*: how the 16-byte pieces of a factor lie, as
//! [`Descriptor`] tells.
//!
//! A product reads its factors and writes its sums at any time between its issue and the `wait_group` for its group. Until
//! then the sums may neither be read nor written, but by later products of the same shape, and the factors not be
//! written. `fence` orders what the thread did with the sums, and with a left factor in registers, before the products that
//! follow.

mod descriptor;
mod verify;

use tc_ir::opdef::Effect;

pub use descriptor::{Descriptor, Major, Side, factor_extents, mixed};
pub use verify::{
    Shape, TILE_COLUMNS, TILE_ROWS, WARPGROUP, holds_steps, left_in_registers, major, rows_of_left, shape,
};

/// The most groups that a warpgroup may leave outstanding.
pub const MAX_PENDING: i64 = 7;

/// Nothing that accesses memory moves across it.
const ORDERED: Effect = Effect { synchronises: true, convergent: true, ..Effect::NOT_SPECULATABLE };
const WARPGROUP_WIDE: Effect = Effect { convergent: true, ..Effect::NOT_SPECULATABLE };

tc_ir::dialect! {
    /// The rows of `wgmma`.
    dialect "wgmma" = 8;

    /// Orders what the threads did with sums in registers before the products that follow.
    Fence FENCE "fence" ()
    { effect: ORDERED }

    /// Begins to add the product of two tiles to an accumulator; both lie in shared memory, or the left one in registers; a factor whose layout is `col_major` stands transposed. A descriptor lists three numbers of bytes: the leading offset, the stride offset, and the width of the swizzle or 0. With `a_rows = [bits, base, shift]` row r of the left factor is that row of the region whose number is r with `bits` bits from bit `base` on XOR those `shift` higher.
    Mma MMA "mma" (accumulator: place(ReadWrite), a: place(Read), b: place(Read), a_layout: word key opt, b_layout: word key opt, a_descriptor: any key opt, b_descriptor: any key opt, a_rows: any key opt)
    { effect: WARPGROUP_WIDE, verify: Some(verify::mma) }

    /// Makes one group of the products that the warpgroup has begun since the last group.
    Commit COMMIT "commit_group" ()
    { effect: ORDERED }

    /// Waits until at most `pending` of the youngest groups of the warpgroup are outstanding: the sums of the others are there, and their factors may be written again.
    Wait WAIT "wait_group" (pending: int key)
    { effect: ORDERED, verify: Some(verify::wait_group) }
}
