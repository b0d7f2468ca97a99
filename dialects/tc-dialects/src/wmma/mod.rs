//! Matrix fragments of a warp. An op here is one a warp does as a whole; `fill`, `load` and `store` move a tile,
//! `mma` multiplies two and adds.

use tc_ir::opdef::Effect;

const WARP: Effect = Effect { convergent: true, ..Effect::PINNED };

tc_ir::dialect! {
    /// The rows of `wmma`.
    dialect "wmma" = 6;

    /// Sets every element of a fragment.
    Fill FILL "fill" (fragment: place(Write), value: value)
    { effect: WARP }

    /// Loads a fragment from a tile whose rows (or columns) are `stride` elements apart.
    Load LOAD "load" (fragment: place(Write), tile: place(Read), stride: value key, layout: word key)
    { effect: WARP }

    /// Stores a fragment to a tile whose rows (or columns) are `stride` elements apart.
    Store STORE "store" (tile: place(Write), fragment: place(Read), stride: value key, layout: word key)
    { effect: WARP }

    /// Adds the product of two fragments to an accumulator.
    Mma MMA "mma" (accumulator: place(ReadWrite), a: place(Read), b: place(Read))
    { effect: WARP }
}
