//! Matrix fragments of a warp, whose inside is unknown. An op here is one that a warp does as a whole; `fill`, `load`
//! and `store` move a tile, `mma` multiplies two and adds.
//!
//! A tile stands in its buffer as it lies in memory (see [`fragment`](crate::fragment)): `load` and `store` copy, and
//! `layout` names the order; `mma` is told by `a_layout` and `b_layout` which of its factors are transposed.

pub(crate) mod verify;

use tc_ir::opdef::Effect;

/// What the threads of one warp do together.
pub(crate) const WARP: Effect = Effect { convergent: true, ..Effect::NOT_SPECULATABLE };

tc_ir::dialect! {
    /// The rows of `wmma`.
    dialect "wmma" = 6, types = ["wmma.fragment"];

    /// Sets every element of a tile.
    Fill FILL "fill" (fragment: place(Write), value: value)
    { effect: WARP, verify: Some(verify::fill) }

    /// Loads a tile whose rows (or columns, with `col_major`) are `stride` elements apart.
    Load LOAD "load" (fragment: place(Write), tile: place(Read), stride: value key, layout: word key)
    { effect: WARP, verify: Some(verify::load) }

    /// Stores a tile to one whose rows (or columns, with `col_major`) are `stride` elements apart.
    Store STORE "store" (tile: place(Write), fragment: place(Read), stride: value key, layout: word key)
    { effect: WARP, verify: Some(verify::store) }

    /// Adds the product of two tiles to an accumulator; a factor whose layout is `col_major` stands transposed.
    Mma MMA "mma" (accumulator: place(ReadWrite), a: place(Read), b: place(Read), a_layout: word key opt, b_layout: word key opt)
    { effect: WARP, verify: Some(verify::mma) }
}
