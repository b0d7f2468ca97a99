//! Buffers: one in all, one a block, one a thread; and what is noted of each cell.

use crate::cell::Cell;
use crate::cells::{CellSet, Trace};
use crate::clock::CellHistory;
use crate::code::Site;
use crate::domain::Domain;
use crate::race::CellShadow;
use crate::tensor::Tensor;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU16, AtomicU64, Ordering::Relaxed};
use tc_ir::Elem;
use tc_support::parallel;

/// At least so many cells are filled by one task.
const CHUNK: usize = 1 << 14;

/// What a buffer that is one in all is to the function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// An argument that holds values when the function starts.
    Input,
    /// An argument that the function has to fill.
    Output,
    /// An alloc.
    Temporary,
}

/// Who accessed a cell: the op's site within its kernel, the thread, the block. 0 is no thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Record(pub(crate) u64);

impl Record {
    const SITE_BITS: u32 = 18;

    pub(crate) fn new(site: u32, thread: u32, block: u64) -> Record {
        let site = u64::from(site.min((1 << Record::SITE_BITS) - 2)) + 1;
        Record(site << 46 | u64::from(thread) << 32 | block)
    }

    pub(crate) fn is_somebody(self) -> bool {
        self.0 != 0
    }

    /// The site, counted from the kernel's first.
    pub(crate) fn site(self) -> u32 {
        (self.0 >> 46) as u32 - 1
    }

    pub(crate) fn thread(self) -> u32 {
        (self.0 >> 32) as u32 & ((1 << 14) - 1)
    }

    pub(crate) fn block(self) -> u64 {
        self.0 & u64::from(u32::MAX)
    }
}

/// A plane of cells that blocks share.
pub(crate) type Plane = Vec<AtomicU64>;

fn plane(n: usize) -> Plane {
    (0..n).map(|_| AtomicU64::new(0)).collect()
}

/// What is noted of the cells of a buffer that the run writes.
#[derive(Debug)]
pub(crate) struct Notes {
    /// Cells written before this launch.
    written: Vec<AtomicU8>,
    /// The last writer of this launch.
    pub(crate) writer: Plane,
    /// Readers since then: the first, and one of another block.
    pub(crate) readers: Option<[Plane; 2]>,
    /// Those who updated them atomically since then: the first, and one of another block.
    pub(crate) updaters: Option<[Plane; 2]>,
    /// The classes of these updates; empty where there are none.
    pub(crate) classes: Vec<AtomicU16>,
}

/// A buffer that is one in all.
#[derive(Debug)]
pub(crate) struct Global {
    pub(crate) elem: Elem,
    /// The extents, the lanes of a vector last.
    pub(crate) shape: Vec<u64>,
    pub(crate) role: Role,
    /// The cells, those between elements that lie apart included.
    pub(crate) cells: Plane,
    /// What its floats are.
    pub(crate) domain: Domain,
    /// Where the elements lie, if not one after another.
    pub(crate) places: Option<Vec<usize>>,
    /// What runs beside the values.
    pub(crate) mags: Option<Plane>,
    /// In an operator: cells whose value came from a read out of range.
    pub(crate) poison: Option<Vec<AtomicU8>>,
    pub(crate) notes: Option<Notes>,
    /// In an operator that is evaluated in part: the cells that there are, one after another.
    pub(crate) kept: Option<CellSet>,
    /// A cell was asked for that is not kept.
    pub(crate) missed: AtomicBool,
    /// The run looks only for which cells are accessed: there are none here.
    pub(crate) trace: Option<Trace>,
}

/// What a buffer is made with.
#[derive(Clone, Copy, Default)]
pub(crate) struct GlobalSpec {
    pub(crate) domain: Domain,
    /// Poison marks.
    pub(crate) poison: bool,
    /// The run writes it.
    pub(crate) writable: bool,
    /// A launch both reads and writes it.
    pub(crate) readable: bool,
    /// A launch updates it atomically.
    pub(crate) updated: bool,
}

impl GlobalSpec {
    /// The bytes that a cell takes.
    pub(crate) fn bytes_per_cell(self) -> u64 {
        let planes = u64::from(self.readable) + u64::from(self.updated);
        let notes = if self.writable { 9 + 16 * planes + 2 * u64::from(self.updated) } else { 0 };
        8 + u64::from(self.domain.has_companions()) * 8 + u64::from(self.poison) + notes
    }
}

impl Global {
    /// A buffer of `n` cells; the caller has compared their number with the limit.
    pub(crate) fn new((elem, n): (Elem, usize), shape: Vec<u64>, role: Role, spec: GlobalSpec) -> Global {
        let bytes = |n: usize| (0..n).map(|_| AtomicU8::new(0)).collect::<Vec<_>>();
        let notes = spec.writable.then(|| Notes {
            written: bytes(n),
            writer: plane(n),
            readers: spec.readable.then(|| [plane(n), plane(n)]),
            updaters: spec.updated.then(|| [plane(n), plane(n)]),
            classes: (0..if spec.updated { n } else { 0 }).map(|_| AtomicU16::new(0)).collect(),
        });
        Global {
            elem,
            shape,
            role,
            cells: plane(n),
            places: None,
            domain: spec.domain,
            mags: spec.domain.has_companions().then(|| plane(n)),
            poison: spec.poison.then(|| bytes(n)),
            notes,
            kept: None,
            missed: AtomicBool::new(false),
            trace: None,
        }
    }

    /// A buffer without cells, of which accesses are noted.
    pub(crate) fn traced(elem: Elem, shape: Vec<u64>, trace: Trace) -> Global {
        let mut global = Global::new((elem, 0), shape, Role::Temporary, GlobalSpec::default());
        global.trace = Some(trace);
        global
    }

    /// Where the cell of an operator's tensor lies; `None` where it is not kept. A traced tensor notes it.
    pub(crate) fn find(&self, cell: usize) -> Option<usize> {
        if let Some(trace) = &self.trace {
            trace.note(cell, 0);
            return None;
        }
        let Some(kept) = &self.kept else { return Some(cell) };
        let place = kept.position(cell);
        if place.is_none() {
            self.missed.store(true, Relaxed);
        }
        place
    }

    /// The number of elements, the lanes of vectors counted.
    pub(crate) fn n_elements(&self) -> usize {
        self.places.as_ref().map_or(self.cells.len(), Vec::len)
    }

    /// The cell of an element.
    pub(crate) fn place(&self, idx: usize) -> usize {
        self.places.as_ref().map_or(idx, |places| places[idx])
    }

    /// The value of an element.
    pub(crate) fn value(&self, idx: usize) -> Cell {
        self.cells[self.place(idx)].load(Relaxed)
    }

    /// Fills it from an array of as many elements.
    pub(crate) fn fill(&self, tensor: &Tensor) {
        parallel::for_each(self.n_elements(), CHUNK, |idx| {
            let place = self.place(idx);
            let (cell, companion) = self.domain.input(self.elem, tensor.cell(idx));
            self.cells[place].store(cell, Relaxed);
            if let Some(mags) = &self.mags {
                mags[place].store(companion, Relaxed);
            }
            if let Some(notes) = &self.notes {
                notes.written[place].store(1, Relaxed);
            }
        });
    }

    pub(crate) fn tensor(&self) -> Tensor {
        Tensor::from_cells(self.elem, self.shape.clone(), (0..self.n_elements()).map(|idx| self.value(idx)))
    }

    /// Was the element written, by whomever?
    pub(crate) fn is_written(&self, idx: usize) -> bool {
        self.notes.as_ref().is_none_or(|notes| notes.is_written(self.place(idx)))
    }

    /// A launch is over: all it wrote is there for the next one, which races with nothing before it.
    pub(crate) fn end_launch(&self) {
        let Some(notes) = &self.notes else { return };
        for (written, writer) in notes.written.iter().zip(&notes.writer) {
            if writer.load(Relaxed) != 0 {
                written.store(1, Relaxed);
                writer.store(0, Relaxed);
            }
        }
        for (nth, classes) in notes.classes.iter().enumerate() {
            if notes.is_updated(nth) {
                notes.written[nth].store(1, Relaxed);
            }
            classes.store(0, Relaxed);
        }
        for record in notes.readers.iter().chain(&notes.updaters).flatten().flatten() {
            record.store(0, Relaxed);
        }
    }
}

/// Keeps who accessed a cell, besides `writer`: the first, and one of another block.
pub(crate) fn keep([first, other]: &[Plane; 2], cell: usize, record: Record) {
    let seen = Record(first[cell].load(Relaxed));
    if !seen.is_somebody() {
        first[cell].store(record.0, Relaxed);
    } else if seen.block() != record.block() {
        other[cell].store(record.0, Relaxed);
    }
}

/// Of those who accessed a cell, those of other blocks than `own`.
pub(crate) fn foreign(
    planes: &Option<[Plane; 2]>,
    cell: usize,
    own: u64,
) -> impl Iterator<Item = Record> + Clone + use<'_> {
    let records = planes.iter().flatten().map(move |plane| Record(plane[cell].load(Relaxed)));
    records.filter(move |record| record.is_somebody() && record.block() != own)
}

/// Forgets who accessed a cell, and tells whether there was an access.
pub(crate) fn forget(planes: &Option<[Plane; 2]>, cell: usize) -> bool {
    let mut had = false;
    for plane in planes.iter().flatten() {
        had |= Record(plane[cell].swap(0, Relaxed)).is_somebody();
    }
    had
}

impl Notes {
    pub(crate) fn is_written(&self, idx: usize) -> bool {
        self.written[idx].load(Relaxed) != 0 || self.writer[idx].load(Relaxed) != 0 || self.is_updated(idx)
    }

    fn is_updated(&self, idx: usize) -> bool {
        self.updaters.as_ref().is_some_and(|[first, _]| first[idx].load(Relaxed) != 0)
    }
}

/// How the order of accesses is followed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Follow {
    /// The program is phased.
    Nothing,
    /// By barriers of the block: [`crate::race`].
    Epochs,
    /// By barriers in shared memory too: [`crate::clock`].
    Clocks,
}

/// A buffer that is one a block, for the blocks that a group runs side by side.
#[derive(Clone, Debug)]
pub(crate) struct Shared {
    /// Cells of one block.
    pub(crate) n: usize,
    pub(crate) cells: Vec<Cell>,
    pub(crate) mags: Vec<Cell>,
    /// By cell: 0, or the [stamp](Shared::stamp) of the group that wrote it last.
    pub(crate) written: Vec<u64>,
    /// Each group of threads belongs to one block.
    pub(crate) stamped: bool,
    /// In threaded programs.
    pub(crate) shadow: Vec<CellShadow>,
    /// By cell: 0, or the site of the outstanding asynchronous copy to it, plus one; empty until there is a copy.
    pub(crate) copies: Vec<Site>,
    /// In place of `shadow` where barriers in shared memory order threads.
    pub(crate) history: Vec<CellHistory>,
    /// By cell: how many outstanding products of warpgroups read it, and the site of one; empty until there is one.
    pub(crate) product_reads: Vec<(u32, Site)>,
    /// By cell: a bulk copy wrote it last; empty until there is one.
    pub(crate) by_bulk: Vec<bool>,
}

impl Shared {
    pub(crate) fn new(n: usize, blocks: usize, mags: bool, follow: Follow) -> Shared {
        let all = n * blocks;
        let is_shadowed = follow == Follow::Epochs;
        Shared {
            n,
            cells: vec![0; all],
            mags: vec![0; if mags { all } else { 0 }],
            written: vec![0; all],
            stamped: blocks == 1 || follow == Follow::Clocks,
            shadow: vec![CellShadow::default(); if is_shadowed { all } else { 0 }],
            copies: Vec::new(),
            history: vec![CellHistory::default(); if follow == Follow::Clocks { all } else { 0 }],
            product_reads: Vec::new(),
            by_bulk: Vec::new(),
        }
    }

    /// The outstanding copy to a cell.
    pub(crate) fn outstanding_copy(&self, place: usize) -> Option<Site> {
        self.copies.get(place).and_then(|site| site.checked_sub(1))
    }

    /// Which of the buffers that the alloc has made a group sees that has come to it `n_made` times. Warps come there one
    /// after another, and one that lags behind still reads what was written before. Where a group runs several blocks,
    /// each alloc empties those of its blocks, and there is one stamp.
    pub(crate) fn stamp(&self, n_made: u64) -> u64 {
        if self.stamped { n_made + 1 } else { 1 }
    }

    /// As it is for a block that has not run.
    pub(crate) fn reset(&mut self) {
        self.written.fill(0);
        self.shadow.fill(CellShadow::default());
        self.copies.fill(0);
        self.history.iter_mut().for_each(CellHistory::clear);
        self.product_reads.fill((0, 0));
        self.by_bulk.fill(false);
    }

    /// The outstanding product that reads a cell.
    pub(crate) fn product_reading(&self, place: usize) -> Option<Site> {
        self.product_reads.get(place).and_then(|&(n, site)| (n > 0).then_some(site))
    }

    /// The product at `site` reads these cells until it is waited for.
    pub(crate) fn begin_reading(&mut self, places: &[usize], site: Site) {
        self.product_reads.resize(self.cells.len(), (0, 0));
        for &place in places {
            let entry = &mut self.product_reads[place];
            *entry = (entry.0 + 1, site);
        }
    }

    pub(crate) fn end_reading(&mut self, places: &[usize]) {
        places.iter().for_each(|&place| self.product_reads[place].0 -= 1);
    }
}

/// A buffer that is one a warp, or a warpgroup, for those of a group: all cells of one after those of another.
#[derive(Clone, Debug)]
pub(crate) struct Tiles {
    /// Cells of one warp.
    pub(crate) n: usize,
    /// The threads that have one.
    pub(crate) threads: usize,
    pub(crate) cells: Vec<Cell>,
    pub(crate) mags: Vec<Cell>,
    pub(crate) written: Vec<bool>,
}

impl Tiles {
    pub(crate) fn new((n, threads): (usize, usize), warps: usize, mags: bool) -> Tiles {
        let all = n * warps;
        Tiles { n, threads, cells: vec![0; all], mags: vec![0; if mags { all } else { 0 }], written: vec![false; all] }
    }
}

/// A buffer that is one a thread: all lanes of cell 0, then of cell 1, and so on.
#[derive(Clone, Debug)]
pub(crate) struct Local {
    pub(crate) cells: Vec<Cell>,
    pub(crate) mags: Vec<Cell>,
    /// A bit for each lane of each cell.
    pub(crate) written: Vec<u64>,
}

impl Local {
    pub(crate) fn new(n: usize, lanes: usize, mags: bool) -> Local {
        Local {
            cells: vec![0; n * lanes],
            mags: vec![0; if mags { n * lanes } else { 0 }],
            written: vec![0; n * lanes.div_ceil(64)],
        }
    }
}

/// A map from cells to small numbers that is emptied at no cost.
#[derive(Clone, Default, Debug)]
pub(crate) struct CellMap {
    slots: Vec<(u64, u32, u32)>,
    generation: u32,
    len: usize,
}

impl CellMap {
    pub(crate) fn clear(&mut self) {
        self.len = 0;
        self.generation = self.generation.wrapping_add(1);
        if self.generation == 0 {
            self.slots.fill((0, 0, 0));
            self.generation = 1;
        }
    }

    /// The number at `key`; `value` is put there if there is none.
    pub(crate) fn get_or_insert(&mut self, key: u64, value: u32) -> u32 {
        if self.generation == 0 {
            self.clear();
        }
        if self.len * 2 >= self.slots.len() {
            self.grow();
        }
        let at = self.find(key);
        if self.slots[at].1 != self.generation {
            self.slots[at] = (key, self.generation, value);
            self.len += 1;
        }
        self.slots[at].2
    }

    fn find(&self, key: u64) -> usize {
        let mask = self.slots.len() - 1;
        // The multiplier is 2^64 divided by the golden ratio (Knuth, volume 3, 6.4).
        let mut at = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & mask;
        while self.slots[at].1 == self.generation && self.slots[at].0 != key {
            at = (at + 1) & mask;
        }
        at
    }

    fn grow(&mut self) {
        let old = std::mem::take(&mut self.slots);
        self.slots = vec![(0, 0, 0); (old.len() * 2).max(64)];
        for entry in old.into_iter().filter(|entry| entry.1 == self.generation) {
            let at = self.find(entry.0);
            self.slots[at] = entry;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_tells_who_it_was() {
        let record = Record::new(70_000, 1023, u64::from(u32::MAX) - 1);
        assert_eq!((record.site(), record.thread(), record.block()), (70_000, 1023, u64::from(u32::MAX) - 1));
        assert!(Record::new(0, 0, 0).is_somebody());
        assert!(!Record(0).is_somebody());
    }

    #[test]
    fn a_cell_map_keeps_the_first_and_forgets_all_at_once() {
        let mut map = CellMap::default();
        for round in 0..3 {
            map.clear();
            for key in 0..1000u64 {
                assert_eq!(map.get_or_insert(key * 7919, key as u32 + round), key as u32 + round);
                assert_eq!(map.get_or_insert(key * 7919, 5), key as u32 + round);
            }
        }
    }
}
