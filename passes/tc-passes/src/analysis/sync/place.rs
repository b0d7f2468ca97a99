//! Where in a region barriers stand.

use super::Conflict;
use super::ahead::Ahead;
use super::summary::Summary;
use super::walk::{Open, Planner};
use tc_ir::effects::{accesses, summary};
use tc_ir::{Func, Op, Region};

/// Of the barriers of one loop body, no more than these are tried to be done without.
const MAX_TRIED: usize = 8;

impl Planner<'_> {
    /// Goes through the items in order, planning what conflicts within one run of the region.
    pub(super) fn pass(&mut self, region: Region, items: &[(Op, Summary)], open: Open) -> Summary {
        let mut sum = Summary::default();
        let mut ahead = Ahead::new(items, region, None);
        for (nth, (op, item)) in items.iter().enumerate() {
            if let Some(planned) = self.plan.barriers.get(op) {
                sum.pass_barrier(planned.barrier());
            }
            if let Some(conflict) = self.conflict(&sum.tail, &item.head, region, None) {
                let conflict = ahead.widen(self, conflict, nth, &sum.tail);
                let conflict = self.with_own_reads(conflict, &items[..=nth], region);
                let barrier = conflict.barrier();
                if let Some(at) = self.add(items, nth, open, conflict) {
                    sum.pass_barrier(barrier);
                    // The barrier may stand before reads that belong to the same statement.
                    for (_, read) in &items[at..nth] {
                        sum.tail.merge(read.tail.iter());
                    }
                }
            }
            sum.follow(item);
        }
        sum
    }

    /// The first item of the body that conflicts with what the iteration before left pending.
    pub(super) fn carried_conflict(
        &mut self,
        loop_op: Op,
        items: &[(Op, Summary)],
        sum: &Summary,
    ) -> Option<(usize, Conflict)> {
        let region = self.func.region_of(loop_op)?;
        let mut before = Summary { tail: sum.tail.clone(), ..Summary::default() };
        for (nth, (op, item)) in items.iter().enumerate() {
            if let Some(planned) = self.plan.barriers.get(op) {
                before.pass_barrier(planned.barrier());
            }
            if let Some(conflict) = self.conflict(&before.tail, &item.head, region, Some(loop_op)) {
                let mut ahead = Ahead::new(items, region, Some(loop_op));
                return Some((nth, ahead.widen(self, conflict, nth, &before.tail)));
            }
            before.pass_barrier(item.synced);
        }
        None
    }

    /// `conflict`, before which a barrier is planned that may stand before reads that belong to the statement of the last item.
    /// Where one of these conflicts with the item itself, the barrier has to stand behind it.
    fn with_own_reads(&mut self, mut conflict: Conflict, items: &[(Op, Summary)], region: Region) -> Conflict {
        let Some(((op, item), before)) = items.split_last() else { return conflict };
        let mut last = None;
        loop {
            let start = statement_start(self.func, *op, &conflict);
            if last.replace(start) == Some(start) {
                return conflict;
            }
            let Some(at) = before.iter().rposition(|(other, _)| *other == start) else { return conflict };
            let mut reads = Summary::default();
            before[at..].iter().for_each(|(_, read)| reads.tail.merge(read.tail.iter()));
            match self.conflict(&reads.tail, &item.head, region, None) {
                Some(own) => conflict.roots.extend(own.roots),
                None => return conflict,
            }
        }
    }

    /// Plans a barrier before item `nth`; gives the item it stands before, or `None` if none may stand there.
    pub(super) fn add(&mut self, items: &[(Op, Summary)], nth: usize, open: Open, conflict: Conflict) -> Option<usize> {
        if !open.block {
            self.plan.stuck.push(conflict);
            return None;
        }
        let op = statement_start(self.func, items[nth].0, &conflict);
        match self.plan.barriers.get_mut(&op) {
            // One barrier does for both; it keeps the wider reason.
            Some(planned) if planned.barrier().global => {}
            Some(planned) => *planned = conflict,
            None => drop(self.plan.barriers.insert(op, conflict)),
        }
        items[..=nth].iter().rposition(|(other, _)| *other == op).or(Some(nth))
    }

    /// Takes out barriers of the body of `loop_op` that those planned later made needless: what they keep apart within an
    /// iteration, another one keeps apart as well. Gives what the region then comes to, if one was taken out.
    pub(super) fn drop_needless(&mut self, region: Region, items: &[(Op, Summary)], loop_op: Op) -> Option<Summary> {
        let planned: Vec<Op> =
            items.iter().map(|(op, _)| *op).filter(|op| self.plan.barriers.contains_key(op)).collect();
        let mut sum = None;
        if planned.len() < 2 || planned.len() > MAX_TRIED {
            return sum;
        }
        for op in planned.into_iter().rev() {
            let Some(at) = self.plan.barriers.get_index_of(&op) else { continue };
            let Some((_, conflict)) = self.plan.barriers.shift_remove_index(at) else { continue };
            match self.without_conflict(region, items, loop_op) {
                Some(settled) => sum = Some(settled),
                None => drop(self.plan.barriers.shift_insert(at, op, conflict)),
            }
        }
        sum
    }

    /// What the body of `loop_op` comes to with the barriers that are planned, if these are enough.
    fn without_conflict(&mut self, region: Region, items: &[(Op, Summary)], loop_op: Op) -> Option<Summary> {
        let mut sum = Summary::default();
        for (op, item) in items {
            if let Some(planned) = self.plan.barriers.get(op) {
                sum.pass_barrier(planned.barrier());
            }
            if self.conflict(&sum.tail, &item.head, region, None).is_some() {
                return None;
            }
            sum.follow(item);
        }
        self.carried_conflict(loop_op, items, &sum).is_none().then_some(sum)
    }
}

/// Where the statement that `op` belongs to begins: before the arithmetic and the reads that feed it, as far as these
/// are not what it conflicts with.
fn statement_start(func: &Func, op: Op, conflict: &Conflict) -> Op {
    let mut start = op;
    while let Some(prev) = func.prev_op(start) {
        let sum = summary(func, prev);
        let reads_it = accesses(func, prev)
            .iter()
            .any(|&(place, _)| conflict.roots.contains(&tc_ir::effects::root_buffer(func, place)));
        let named = func.results(prev).any(|value| func.value_name(value).is_some());
        if !sum.only_reads() || named || reads_it || !func.op_regions(prev).is_empty() {
            break;
        }
        start = prev;
    }
    start
}
