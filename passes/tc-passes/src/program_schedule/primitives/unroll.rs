//! Unrolls a loop, which is plain and has a constant extent.

use super::super::Item;
use super::super::cx::{Cx, Done};
use super::Primitive;
use super::vectorize::{constant_loop, set_kind};
use tc_dialects::sched;
use tc_ir::{Op, keys};

impl Primitive for sched::Unroll {
    type Legal = Op;

    fn legality(cx: &Cx<'_>) -> Done<Op> {
        constant_loop(cx)
    }

    fn edit(cx: &mut Cx<'_>, op: Op) -> Vec<Item> {
        set_kind(cx, op, keys::UNROLL);
        Vec::new()
    }
}
