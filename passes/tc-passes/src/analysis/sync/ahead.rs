//! One barrier for two conflicts: where one over shared memory has to stand, the next one over global memory may be had as
//! well.

use super::Conflict;
use super::pending::Accesses;
use super::summary::Summary;
use super::walk::Planner;
use tc_ir::{Op, Region};

/// So many items that access memory are looked ahead. Others do not count: text does not tell how many literals there are.
const MAX_AHEAD: u32 = 256;

/// Looks ahead in a region for the next conflict in global memory.
pub(super) struct Ahead<'i> {
    items: &'i [(Op, Summary)],
    region: Region,
    carried: Option<Op>,
    seen: Option<Seen>,
    /// How many items before each one access memory; found when it is asked for first.
    n_before: Vec<u32>,
}

/// What was seen since the last barrier over global memory.
struct Seen {
    /// The first item that was not looked at.
    next: usize,
    /// What is pending there, in global memory.
    pending: Accesses,
    /// The item that conflicts.
    conflict: Option<usize>,
    /// From this item on there has been another barrier over global memory.
    until: usize,
}

impl<'i> Ahead<'i> {
    /// With `carried`, what is pending is of the iteration before of that loop.
    pub(super) fn new(items: &'i [(Op, Summary)], region: Region, carried: Option<Op>) -> Ahead<'i> {
        Ahead { items, region, carried, seen: None, n_before: Vec::new() }
    }

    /// The next conflict in global memory, if `conflict`, before item `nth`, is in shared memory and a barrier there does
    /// for both; else `conflict`.
    pub(super) fn widen(
        &mut self,
        planner: &mut Planner<'_>,
        conflict: Conflict,
        nth: usize,
        pending: &Accesses,
    ) -> Conflict {
        if conflict.barrier().global || !pending.has(true) {
            self.seen = None;
            return conflict;
        }
        let mut seen = self.seen.take().filter(|seen| nth < seen.until).unwrap_or_else(|| Seen {
            next: nth,
            pending: pending.in_global(),
            conflict: None,
            until: usize::MAX,
        });
        self.look(planner, &mut seen, nth);
        // What came between may conflict instead, and gets a barrier of its own there.
        let wider = seen
            .conflict
            .and_then(|at| planner.conflict_in(true, pending, &self.items[at].1.head, self.region, self.carried));
        let Some(mut wider) = wider else {
            self.seen = Some(seen);
            return conflict;
        };
        wider.roots.extend(conflict.roots);
        wider
    }

    fn look(&mut self, planner: &mut Planner<'_>, seen: &mut Seen, nth: usize) {
        if self.n_before.is_empty() {
            self.n_before = self.items.iter().scan(0, count_before).collect();
        }
        let end = self.n_before[nth] + MAX_AHEAD;
        while seen.until == usize::MAX && self.n_before.get(seen.next).is_some_and(|&n| n < end) {
            let at = seen.next;
            let (op, item) = &self.items[at];
            if planner.plan.barriers.get(op).is_some_and(|planned| planned.barrier().global) {
                seen.until = at;
            } else if planner.conflict_in(true, &seen.pending, &item.head, self.region, self.carried).is_some() {
                seen.conflict = Some(at);
                seen.until = at;
            } else if item.synced.global {
                seen.until = at + 1;
            }
            if self.carried.is_none() {
                seen.pending.merge(item.tail.iter_of(true));
            }
            seen.next += 1;
        }
    }
}

/// Goes on from the number of items before `item` that access memory; gives that number.
fn count_before(n: &mut u32, (_, item): &(Op, Summary)) -> Option<u32> {
    let before = *n;
    let accesses = [&item.head, &item.tail].into_iter().any(|all| all.has(true) || all.has(false));
    *n += u32::from(accesses);
    Some(before)
}
