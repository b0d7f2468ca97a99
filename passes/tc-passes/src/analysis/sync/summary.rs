//! What a piece of a program leaves for the barriers around it.

use super::super::access::Access;
use super::pending::Accesses;

/// What a region, or an op, comes to.
#[derive(Clone, Default)]
pub(super) struct Summary {
    pub(super) head: Accesses,
    pub(super) tail: Accesses,
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

    /// Does it order accesses to global, or else to shared memory?
    pub(super) fn orders(self, global: bool) -> bool {
        if global { self.global } else { self.shared }
    }

    fn covers(self, access: &Access) -> bool {
        self.orders(access.global)
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
        self.head.merge(item.head.iter().filter(|access| !self.synced.covers(access)));
        self.pass_barrier(item.synced);
        self.tail.merge(item.tail.iter());
    }

    /// What is pending is ordered by the barrier, as far as it reaches.
    pub(super) fn pass_barrier(&mut self, barrier: Synced) {
        self.tail.pass_barrier(barrier);
        self.synced = self.synced.or(barrier);
    }
}
