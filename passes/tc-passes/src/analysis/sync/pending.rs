//! Accesses that wait for a barrier.

use super::super::access::Access;
use super::summary::Synced;
use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;
use std::rc::Rc;
use tc_ir::Value;

/// Of one buffer, this many different accesses are told apart; more are taken as an access of all of it.
const MAX_ACCESSES: usize = 128;

/// Different accesses, those to one buffer in the order in which they came: no others share memory with them.
#[derive(Clone, Default)]
pub(super) struct Accesses {
    global: ByBuffer,
    shared: ByBuffer,
}

type ByBuffer = IndexMap<Value, Vec<Rc<Access>>, FxBuildHasher>;

impl Accesses {
    pub(super) fn has(&self, global: bool) -> bool {
        !self.of_kind(global).is_empty()
    }

    fn of_kind(&self, global: bool) -> &ByBuffer {
        if global { &self.global } else { &self.shared }
    }

    /// Those in global memory alone.
    pub(super) fn in_global(&self) -> Accesses {
        Accesses { global: self.global.clone(), shared: ByBuffer::default() }
    }

    /// Those in global memory, or else those in shared memory.
    pub(super) fn iter_of(&self, global: bool) -> impl Iterator<Item = &Rc<Access>> {
        self.of_kind(global).values().flatten()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Rc<Access>> {
        self.iter_of(true).chain(self.iter_of(false))
    }

    /// Those to the buffer of `other`.
    pub(super) fn beside(&self, other: &Access) -> &[Rc<Access>] {
        self.of_kind(other.global).get(&other.buffer).map_or(&[], Vec::as_slice)
    }

    /// Forgets what a barrier orders.
    pub(super) fn pass_barrier(&mut self, barrier: Synced) {
        for global in [true, false] {
            if barrier.orders(global) {
                (if global { &mut self.global } else { &mut self.shared }).clear();
            }
        }
    }

    /// Adds what is not there yet. An access that equals another but for its op conflicts with the same ones.
    pub(super) fn merge<'a>(&mut self, more: impl IntoIterator<Item = &'a Rc<Access>>) {
        for access in more {
            let kind = if access.global { &mut self.global } else { &mut self.shared };
            let list = kind.entry(access.buffer).or_default();
            if list.iter().any(|old| old.is_alike(access) || (old.index.is_none() && of_one_kind(old, access))) {
                continue;
            }
            if list.iter().filter(|old| of_one_kind(old, access)).count() >= MAX_ACCESSES {
                list.retain(|old| !of_one_kind(old, access));
                list.push(Rc::new(Access { index: None, guards: Rc::default(), ..Access::clone(access) }));
                continue;
            }
            list.push(access.clone());
        }
    }
}

/// Do the two differ in nothing but the cells that they touch?
fn of_one_kind(a: &Access, b: &Access) -> bool {
    a.buffer == b.buffer
        && a.window == b.window
        && (a.writes, a.update, a.by_warp, a.begun_before) == (b.writes, b.update, b.by_warp, b.begun_before)
}
