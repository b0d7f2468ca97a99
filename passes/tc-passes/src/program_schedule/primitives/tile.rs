//! Splits two loops and puts the outer parts outside: `xo, yo, xi, yi = tile(X, Y, x_factor, y_factor)`.
//!
//! # Legality
//!
//! One of the two stands directly in the other, and they may change places (`reorder`).

use super::super::Item;
use super::super::cx::{Cx, Done};
use super::super::nest::Chain;
use super::Primitive;
use super::reorder::Order;
use super::split::{MAX_FACTOR, Parts, split};
use tc_dialects::sched;
use tc_ir::Rewriter;

/// How two loops are split.
pub(super) struct Tiles {
    x: Parts,
    y: Parts,
    x_is_outer: bool,
}

impl Primitive for sched::Tile {
    type Legal = Tiles;

    fn legality(cx: &Cx<'_>) -> Done<Tiles> {
        let x = cx.plain_loop(cx.operand(0))?;
        let y = cx.plain_loop(cx.operand(1))?;
        let x_factor = cx.number(cx.operand(2), "factor", MAX_FACTOR)?;
        let y_factor = cx.number(cx.operand(3), "factor", MAX_FACTOR)?;
        cx.check_parts(&Parts::new(x, x_factor))?;
        cx.check_parts(&Parts::new(y, y_factor))?;
        // Where the two may change places, no dependence goes back along either, so none goes back along their parts.
        let order = Order::exchanged(cx, x, y)?;
        if order.loops.len() != 2 {
            let text = "`tile` takes two loops of which one stands directly in the other";
            let between = cx.place(order.loops[1]);
            return Err(cx.error("not-nested", text).label(between, "this one is between them").into());
        }
        Ok(Tiles { x: Parts::new(x, x_factor), y: Parts::new(y, y_factor), x_is_outer: order.loops[0] == x })
    }

    fn edit(cx: &mut Cx<'_>, Tiles { x, y, x_is_outer }: Tiles) -> Vec<Item> {
        let [x_outer, x_inner] = split(cx, &x, [0, 2]);
        let [y_outer, y_inner] = split(cx, &y, [1, 3]);
        let loops = match x_is_outer {
            true => vec![x_outer, x_inner, y_outer, y_inner],
            false => vec![y_outer, y_inner, x_outer, x_inner],
        };
        let order = [x_outer, y_outer, x_inner, y_inner];
        Chain { loops }.put_in_order(&mut Rewriter::new(&mut cx.program.func), &order);
        order.map(Item::Loop).to_vec()
    }
}
