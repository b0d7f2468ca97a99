//! Atomic updates, of threads and of bulk copies: none conflicts with another of its class, and each does with all else.
//!
//! Lanes, and blocks, come in the order of their numbers, so that a run gives the same sums each time.

use super::access::{Addr, At, of_lane};
use super::block::{BlockState, Launch};
use super::group::{Group, for_lanes};
use crate::cell::{Cell, int_of, of_int};
use crate::code::{Access, FloatOp, IntOp, MagRule, NO_REG, Space};
use crate::diagnostic::DiagnosticKind;
use crate::domain::Domain;
use crate::field::{self, Number};
use crate::lanes;
use crate::magnitude;
use crate::memory::{Record, foreign, keep};
use crate::race::Classes;
use crate::watch::AccessKind;
use std::mem;
use std::sync::atomic::Ordering::Relaxed;
use tc_dialects::update::UpdateKind;
use tc_ir::Elem;

/// A number, and what runs beside it.
type Both = (Cell, Cell);

impl Group {
    pub(crate) fn update(&mut self, access: &Access, kind: UpdateKind, launch: &Launch<'_>, block: &mut BlockState) {
        let at = self.at(access, launch);
        let addr = self.address(at, launch, block);
        let value = self.regs[access.value as usize].clone();
        let mags = if access.mag == NO_REG { Vec::new() } else { self.regs[access.mag as usize].clone() };
        self.update_cells((at, kind), addr, (&value, &mags), launch, block);
    }

    /// Updates a cell in each lane of `self.live`.
    pub(super) fn update_cells(
        &mut self,
        (at, kind): (At<'_>, UpdateKind),
        addr: Addr,
        (value, mags): (&[Cell], &[Cell]),
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        let watched = self.watch(at, addr, AccessKind::Update, launch, block);
        self.watch_values(watched, value, launch);
        let live = mem::take(&mut self.live);
        for_lanes(&live, |lane| {
            let cell = self.cell_at(addr, lane);
            let mag = if mags.is_empty() { 0 } else { of_lane(mags, lane) };
            let by = (kind, (of_lane(value, lane), mag));
            match at.decl.space {
                Space::Global(idx) => self.update_global((at, idx), (lane, cell), by, launch, block),
                _ => self.update_shared(at, (lane, cell), by, launch, block),
            }
        });
        self.live = live;
    }

    fn update_global(
        &self,
        (at, idx): (At<'_>, usize),
        (lane, cell): (usize, usize),
        (kind, new): (UpdateKind, Both),
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        let global = &launch.globals[idx];
        let slot = self.slot_of(lane);
        let own = block.blocks[slot];
        if let Some(trace) = &global.trace {
            return trace.note(cell, own);
        }
        let Some(notes) = &global.notes else { return };
        if let Some(copy) = block.copied_from(idx, slot, cell) {
            self.report_source_changed(at, lane, copy, launch, block);
        }
        if !notes.is_written(cell) {
            self.report_access(DiagnosticKind::Uninitialised, at, lane, launch, block);
        }
        let mag = global.mags.as_ref().map_or(0, |plane| plane[cell].load(Relaxed));
        let old = (global.cells[cell].load(Relaxed), mag);
        let (sum, mag) = combined(kind, (at.decl.elem, launch.domain), old, new);
        global.cells[cell].store(sum, Relaxed);
        if let Some(plane) = &global.mags {
            plane[cell].store(mag, Relaxed);
        }
        let writer = Record(notes.writer[cell].load(Relaxed));
        if writer.is_somebody() && writer.block() != own {
            self.report_blocks(at, lane, writer, (true, false), launch, block);
        } else if let Some(reader) = foreign(&notes.readers, cell, own).next() {
            self.report_blocks(at, lane, reader, (false, false), launch, block);
        }
        if let Some(updaters) = &notes.updaters {
            let site = at.access.site - launch.kernel.site_base;
            let mut classes = Classes(notes.classes[cell].load(Relaxed));
            let class = (kind, at.decl.elem);
            // One of another class, rather.
            let of_other_class = |record: &Record| {
                launch.kernel.update_sites.get(&(record.site() + launch.kernel.site_base)) != Some(&class)
            };
            if classes.are_mixed_by(class)
                && let others = foreign(&notes.updaters, cell, own)
                && let Some(updater) = others.clone().find(of_other_class).or_else(|| others.clone().next())
            {
                self.report_blocks(at, lane, updater, (true, false), launch, block);
            }
            notes.classes[cell].store(classes.0, Relaxed);
            keep(updaters, cell, Record::new(site, self.thread_in_block(lane, launch), own));
        }
        if launch.kernel.threaded && self.per_block * block.warps > 1 {
            let who = self.accessor(at, lane);
            if let Some(conflict) = block.global_update((idx, slot, cell), who, (kind, at.decl.elem), launch) {
                self.report_conflict(at, lane, conflict, true, launch, block);
            }
        }
    }

    /// The same on the chip: a load and a store, whose races are looked for here.
    fn update_shared(
        &mut self,
        at: At<'_>,
        (lane, cell): (usize, usize),
        (kind, new): (UpdateKind, Both),
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        let at = At { background: true, ..at };
        self.live = vec![0; self.words];
        self.live[lane / 64] |= 1 << (lane % 64);
        let has_mags = launch.domain.has_companions() && at.decl.elem.is_float();
        let (mut value, mut mags) = (vec![0; self.n], vec![0; if has_mags { self.n } else { 0 }]);
        self.load_cells(at, Addr::One(cell), (&mut value, &mut mags), launch, block);
        let old = (value[lane], mags.get(lane).copied().unwrap_or(0));
        let (sum, mag) = combined(kind, (at.decl.elem, launch.domain), old, new);
        value[lane] = sum;
        if let Some(place) = mags.get_mut(lane) {
            *place = mag;
        }
        // Two lanes that update one element by one op do not disagree.
        block.duplicates.clear();
        self.store_cells(at, Addr::One(cell), (&value, &mags), launch, block);
        let Space::Shared(idx) = at.decl.space else { return };
        let cells: Vec<usize> = at.cells(cell).collect();
        let by_thread = At { background: false, ..at };
        self.note_writer_of(by_thread, lane, (idx, cells[0], cells.len()), launch, block);
        if !launch.kernel.threaded {
            return;
        }
        let found = cells.into_iter().filter_map(|cell| {
            block.shared_update((idx, self.slot_of(lane), cell), self.accessor(at, lane), (kind, at.decl.elem))
        });
        if let Some(conflict) = found.last() {
            self.report_conflict(at, lane, conflict, true, launch, block);
        }
    }
}

/// What an update leaves behind.
fn combined(kind: UpdateKind, (elem, domain): (Elem, Domain), old: Both, new: Both) -> Both {
    let op = match kind {
        UpdateKind::Min => FloatOp::Min,
        UpdateKind::Max => FloatOp::Max,
        _ => FloatOp::Add,
    };
    if !elem.is_float() {
        return (integer(kind, elem, old.0, new.0), 0);
    }
    if domain == Domain::Field {
        let sum = field::binary(op, elem, Number::decode(old.0, old.1), Number::decode(new.0, new.1));
        return (sum.value.encode(), sum.range.encode());
    }
    let (mut sum, mut mag) = ([0], [0]);
    lanes::float(op, elem, &mut sum, &[old.0], &[new.0]);
    let (args, mags) = ([&[old.0][..], &[new.0], &[]], [&[old.1][..], &[new.1], &[]]);
    magnitude::apply(MagRule::Binary(op), elem, &mut mag, &sum, args, mags);
    (sum[0], mag[0])
}

/// Of integers: sums wrap.
fn integer(kind: UpdateKind, elem: Elem, old: Cell, new: Cell) -> Cell {
    let op = match kind {
        UpdateKind::Add => {
            let sum = int_of(elem, old).wrapping_add(int_of(elem, new));
            return of_int(elem.wrap(sum));
        }
        UpdateKind::Min => IntOp::Min,
        UpdateKind::Max => IntOp::Max,
        UpdateKind::And => IntOp::And,
        UpdateKind::Or => IntOp::Or,
        UpdateKind::Xor => IntOp::Xor,
    };
    lanes::int_one(op, elem, old, new).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_integers_wrap_and_those_of_floats_are_rounded() {
        let numbers = |elem| (elem, Domain::Numbers);
        let add = |elem, a: Cell, b: Cell| combined(UpdateKind::Add, numbers(elem), (a, 0), (b, 0)).0;
        assert_eq!(int_of(Elem::I32, add(Elem::I32, of_int(i32::MAX.into()), of_int(1))), i128::from(i32::MIN));
        assert_eq!(int_of(Elem::U64, add(Elem::U64, of_int(u64::MAX.into()), of_int(2))), 1);
        assert_eq!(int_of(Elem::I64, add(Elem::I64, of_int(i64::MIN.into()), of_int(-1))), i128::from(i64::MAX));
        let half = |x: f64| crate::cell::of_float(Elem::F16, x);
        assert_eq!(add(Elem::F16, half(2048.0), half(1.0)), half(2048.0));
    }
}
