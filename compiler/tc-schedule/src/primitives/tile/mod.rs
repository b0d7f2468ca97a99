//! Splits two loops and moves the outer parts outside: the loops run over tiles, then within a tile.
//!
//! # Arguments
//!
//! `xo, yo, xi, yi = tile(x, y, fx, fy)`: the extents of a tile are `fx` and `fy`.
//!
//! # Legality
//!
//! As for two `split`s by factor and a `reorder` of the four parts: two different loops of one stage, factors of at
//! least 1.
//!
//! # Rewrite
//!
//! ```tir
//! for x in 0..8 { for y in 0..8 { A[x, y] = 0.0 } }
//! ->
//! for xo in 0..2 { for yo in 0..2 { for xi in 0..4 { for yi in 0..4 {
//!   A[xo * 4 + xi, yo * 4 + yi] = 0.0
//! } } } }
//! ```
//!
//! # Known elsewhere as
//!
//! `tile` (TVM, Halide), blocking.

use super::reorder::{check_list, reorder};
use super::split::{Factor, split};
use super::{Compared, Primitive};
use crate::directive::{Cx, Done, Item};
use tc_dialects::sched::Tile;

impl Primitive for Tile {
    const COMPARED: Compared = Compared::Graph;
    type Legal = [Factor; 2];

    fn legality(cx: &Cx<'_>) -> Done<[Factor; 2]> {
        let &[x, y, x_factor, y_factor] = cx.sched.operands(cx.at) else {
            return Err(cx.mistyped("`tile` takes two axes and two factors").into());
        };
        let (x, y) = (cx.leaf(x)?, cx.leaf(y)?);
        check_list(cx, &[x, y])?;
        cx.check_plain(x)?;
        cx.check_plain(y)?;
        let (x_factor, y_factor) = (cx.positive(x_factor, "first factor")?, cx.positive(y_factor, "second factor")?);
        let by = |axis, factor| Factor { axis, factor, nparts: false };
        Ok([by(x, x_factor), by(y, y_factor)])
    }

    fn edit(cx: &mut Cx<'_>, [x, y]: [Factor; 2]) -> Vec<Item> {
        // Names: results 0 and 1 are the outer parts, 2 and 3 the inner ones.
        let (xo, xi) = split(cx, &x, 0, 2);
        let (yo, yi) = split(cx, &y, 1, 3);
        let order = [xo, yo, xi, yi];
        reorder(cx, &order);
        order.map(Item::Axis).to_vec()
    }
}
