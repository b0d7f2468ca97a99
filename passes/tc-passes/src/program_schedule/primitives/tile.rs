//! Splits two loops and puts the outer parts outside.

use super::Primitive;
use super::super::Item;
use super::super::cx::{Cx, Done};
use super::reorder::{Order, reorder};
use super::split::{MAX_FACTOR, Parts, split};
use tc_dialects::sched;

impl Primitive for sched::Tile {
    type Legal = (Parts, Parts, Order);

    fn legality(cx: &Cx<'_>) -> Done<(Parts, Parts, Order)> {
        let x = cx.plain_loop(cx.operand(0))?;
        let y = cx.plain_loop(cx.operand(1))?;
        let x_factor = cx.number(cx.operand(2), "factor", MAX_FACTOR)?;
        let y_factor = cx.number(cx.operand(3), "factor", MAX_FACTOR)?;
        // The part of `x` moves into `y`: as far as accesses tell, as if the two changed places.
        let order = Order::of(cx, &[y, x])?;
        Ok((Parts::new(x, x_factor), Parts::new(y, y_factor), order))
    }

    fn edit(cx: &mut Cx<'_>, (x, y, _): (Parts, Parts, Order)) -> Vec<Item> {
        let [x_outer, x_inner] = split(cx, &x, [0, 2]);
        let [y_outer, y_inner] = split(cx, &y, [1, 3]);
        let order = Order { loops: vec![x_outer, x_inner, y_outer, y_inner], order: vec![x_outer, y_outer, x_inner, y_inner] };
        reorder(cx, order);
        [x_outer, y_outer, x_inner, y_inner].map(Item::Loop).to_vec()
    }
}
