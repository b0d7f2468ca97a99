//! Puts the named loops of a perfect nest, in this order, into the places they had; the others stay.
//!
//! # Legality
//!
//! - The loops stand in one another, with nothing between but conditions and values, which move inside; no bounds follow a
//!   variable of the nest.
//! - No dependence goes back in the new order: of two conflicting accesses the one that was first stays first. The steps of
//!   an update, `X[i] = X[i] + e` or with `*`, `min`, `max`, `fma` and the bitwise operators, count as free among themselves.
//!
//! What is refused shows the two accesses and their distance in the variables of the nest, `*` where it is not known.

use super::super::Item;
use super::super::cx::{Cx, Done};
use super::super::dependences::Serial;
use super::super::nest::Chain;
use super::Primitive;
use tc_dialects::sched;
use tc_ir::walk::is_inside;
use tc_ir::{Op, Rewriter};

/// A perfect nest, and the order that it gets.
pub(super) struct Order {
    pub(super) loops: Vec<Op>,
    pub(super) order: Vec<Op>,
}

impl Order {
    /// The nest of `wanted`, which take in this order the places they have; refused if accesses forbid it.
    pub(super) fn of(cx: &Cx<'_>, wanted: &[Op]) -> Done<Order> {
        let func = cx.func();
        for (nth, &op) in wanted.iter().enumerate() {
            if wanted[..nth].contains(&op) {
                return Err(cx.mistyped(format!("`{}` names the loop `{}` twice", cx.by, cx.loop_name(op))).into());
            }
        }
        let outer =
            wanted.iter().copied().find(|&op| wanted.iter().all(|&other| other == op || is_inside(func, other, op)));
        let inner =
            wanted.iter().copied().find(|&op| wanted.iter().all(|&other| other == op || is_inside(func, op, other)));
        let (Some(outer), Some(inner)) = (outer, inner) else {
            let names: Vec<String> = wanted.iter().map(|&op| format!("`{}`", cx.loop_name(op))).collect();
            let text = format!("`{}` takes loops that stand in one another", cx.by);
            return Err(cx.error("not-nested", text).note(format!("{} do not", names.join(", "))).into());
        };
        let chain = Chain::between(func, outer, inner).map_err(|why| cx.imperfect(outer, inner, why))?;
        if let Some(&op) = wanted.iter().find(|op| !chain.loops.contains(op)) {
            return Err(cx.imperfect(op, inner, super::super::nest::Imperfect::Outside));
        }
        let mut rest = wanted.iter();
        let place = |&op: &Op| if wanted.contains(&op) { *rest.next().unwrap_or(&op) } else { op };
        let order: Vec<Op> = chain.loops.iter().map(place).collect();
        if let Some(obstacle) = Serial::around(func, outer).permutation(&chain.loops, &order) {
            let names: Vec<String> = order.iter().map(|&op| format!("`{}`", cx.loop_name(op))).collect();
            let text = format!("the loops cannot run in the order {}", names.join(", "));
            return Err(cx.forbidden("dependence", text, &obstacle).into());
        }
        Ok(Order { loops: chain.loops, order })
    }
}

impl Order {
    /// The nest of two loops that change places, whichever is the outer one.
    pub(super) fn exchanged(cx: &Cx<'_>, one: Op, other: Op) -> Done<Order> {
        if is_inside(cx.func(), one, other) { Order::of(cx, &[one, other]) } else { Order::of(cx, &[other, one]) }
    }
}

impl Primitive for sched::Reorder {
    type Legal = Order;

    fn legality(cx: &Cx<'_>) -> Done<Order> {
        let wanted = cx.sched.operands(cx.at).iter().map(|&value| cx.a_loop(value)).collect::<Done<Vec<Op>>>()?;
        if wanted.is_empty() {
            return Err(cx.mistyped("`reorder` takes loops").into());
        }
        Order::of(cx, &wanted)
    }

    fn edit(cx: &mut Cx<'_>, order: Order) -> Vec<Item> {
        reorder(cx, order);
        Vec::new()
    }
}

/// Lets the loops of a perfect nest stand in another order.
pub(super) fn reorder(cx: &mut Cx<'_>, Order { loops, order }: Order) {
    if loops == order {
        return;
    }
    Chain { loops }.put_in_order(&mut Rewriter::new(&mut cx.program.func), &order);
}
