//! What a piece of a program leaves for the barriers around it.

use super::super::access::Access;
use std::rc::Rc;

/// Of one buffer, this many different accesses are told apart; more are taken as an access of all of it.
const MAX_ACCESSES: usize = 128;

/// What a region, or an op, comes to.
#[derive(Clone, Default)]
pub(super) struct Summary {
    pub(super) head: Vec<Rc<Access>>,
    pub(super) tail: Vec<Rc<Access>>,
    pub(super) synced: Synced,
}

/// Which memory every way through has a barrier for.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Synced {
    shared: bool,
    pub(super) global: bool,
}

impl Synced {
    pub(super) const ALL: Synced = Synced { shared: true, global: true };

    /// What a barrier over global, or else over shared memory orders.
    pub(super) fn by(global: bool) -> Synced {
        Synced { shared: true, global }
    }

    pub(super) fn covers(self, access: &Access) -> bool {
        if access.global { self.global } else { self.shared }
    }

    pub(super) fn or(self, other: Synced) -> Synced {
        Synced { shared: self.shared || other.shared, global: self.global || other.global }
    }

    pub(super) fn and(self, other: Synced) -> Synced {
        Synced { shared: self.shared && other.shared, global: self.global && other.global }
    }
}

impl Summary {
    /// Adds `item` behind it, with which it has no conflict.
    pub(super) fn follow(&mut self, item: &Summary) {
        merge(&mut self.head, item.head.iter().filter(|access| !self.synced.covers(access)));
        self.pass_barrier(item.synced);
        merge(&mut self.tail, &item.tail);
    }

    /// What is pending is ordered by the barrier, as far as it reaches.
    pub(super) fn pass_barrier(&mut self, barrier: Synced) {
        self.tail.retain(|access| !barrier.covers(access));
        self.synced = self.synced.or(barrier);
    }
}

/// Adds what is not there yet. An access that equals another but for its op conflicts with the same ones.
pub(super) fn merge<'a>(into: &mut Vec<Rc<Access>>, more: impl IntoIterator<Item = &'a Rc<Access>>) {
    for access in more {
        if into.iter().any(|old| old.is_alike(access) || (old.index.is_none() && of_one_kind(old, access))) {
            continue;
        }
        if into.iter().filter(|old| of_one_kind(old, access)).count() >= MAX_ACCESSES {
            into.retain(|old| !of_one_kind(old, access));
            into.push(Rc::new(Access { index: None, guards: Rc::default(), ..Access::clone(access) }));
            continue;
        }
        into.push(access.clone());
    }
}

/// Do the two differ in nothing but the cells that they touch?
fn of_one_kind(a: &Access, b: &Access) -> bool {
    a.buffer == b.buffer
        && a.window == b.window
        && (a.writes, a.by_warp, a.begun_before) == (b.writes, b.by_warp, b.begun_before)
}
