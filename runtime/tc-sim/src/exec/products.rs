//! Products of warpgroups, which run in the background: begun, put into groups, waited for.
//!
//! A product is computed where it is begun. Its sums may then be accessed by later products only, and its factors not be
//! written, until its warpgroup has waited for its group; a wait covers committed groups only (PTX ISA 8.7,
//! "wgmma.wait_group"). While nothing orders the products of a kernel, as before `inject-wgmma-sync`, they are done at once.
//! Barriers in shared memory order what a product reads as of the wait for it: see [`clock`](crate::clock).

use super::access::{Addr, At};
use super::block::{BlockState, Launch};
use super::group::{Group, for_lanes};
use super::tiles::Matrices;
use super::warp::Crew;
use crate::cell::Cell;
use crate::code::{Instr, Kernel, Site, Space};
use crate::domain::Domain;
use crate::warp::{Meeting, Operand, WarpInstr, WarpOp};
use std::collections::BTreeMap;
use std::mem;
use std::ops::Range;
use tc_ir::Elem;

/// A product of a warpgroup that is not waited for.
#[derive(Clone, Debug)]
struct OutstandingProduct {
    site: Site,
    /// The warpgroup in this group of threads.
    crew: usize,
    /// The number of its group among those of its warpgroup, and its own among the products.
    group: u32,
    number: u32,
    /// Where its sums are, and which cells of a thread or of the warpgroup they are.
    space: Space,
    sums: Vec<usize>,
    /// The shared buffers and cells that it reads, those of all blocks counted.
    reads: [(usize, Vec<usize>); 2],
}

/// What a warpgroup has done.
#[derive(Clone, Copy, Default, Debug)]
struct Progress {
    fences: u32,
    groups: u32,
    products: u32,
}

/// The low bits of an f32 that tf32 has not.
const TF32_LACKS: Cell = (1 << 13) - 1;

/// What is noted of the cells of a buffer of sums: those of one warpgroup after those of another.
#[derive(Clone, Default, Debug)]
struct SumNotes {
    /// Cells of one warpgroup.
    n: usize,
    /// 0, or the site of an outstanding product that adds to it, plus one.
    outstanding: Vec<Site>,
    /// 0, or how many fences there had been when a thread wrote it last, plus one.
    written: Vec<u32>,
}

/// The products of the warpgroups of a group of threads.
#[derive(Clone, Default, Debug)]
pub(super) struct Products {
    progress: Vec<Progress>,
    outstanding: Vec<OutstandingProduct>,
    sums: BTreeMap<Space, SumNotes>,
    /// A product accesses its sums.
    busy: bool,
    /// The threads of a warpgroup.
    width: usize,
}

impl Products {
    /// Of a group of so many blocks, with so many threads of each.
    pub(super) fn new(kernel: &Kernel, blocks: usize, per_block: usize) -> Products {
        let width = kernel.warpgroups.width();
        let crews = blocks * per_block.div_ceil(width);
        let mut products = Products { progress: vec![Progress::default(); crews], width, ..Products::default() };
        if !kernel.warpgroups.ordered {
            return products;
        }
        for instr in &kernel.code {
            let Instr::Warp(warp) = instr else { continue };
            let WarpOp::GroupProduct { sum, .. } = &warp.op else { continue };
            let space = kernel.buffers[sum.region.access.buf as usize].space;
            // Views lie in the cells of the buffer that they are views of.
            let of_space = kernel.buffers.iter().filter(|decl| decl.space == space);
            let n = of_space.map(|decl| decl.cells).max().unwrap_or(0);
            let all = n * crews;
            let notes = SumNotes { n, outstanding: vec![0; all], written: vec![0; all] };
            products.sums.insert(space, notes);
        }
        products
    }

    pub(super) fn reset(&mut self) {
        self.progress.fill(Progress::default());
        self.outstanding.clear();
        for notes in self.sums.values_mut() {
            notes.outstanding.fill(0);
            notes.written.fill(0);
        }
    }
}

impl SumNotes {
    fn mark(&mut self, product: &OutstandingProduct, mark: Site) {
        for &cell in &product.sums {
            self.outstanding[product.crew * self.n + cell] = mark;
        }
    }
}

impl At<'_> {
    /// The cells of its memory that one element, or one component of it, takes.
    pub(super) fn cells(&self, element: usize) -> Range<usize> {
        match self.decl.window {
            Some(window) => {
                let first = window.start + element * window.n_cells;
                first..first + window.n_cells
            }
            None => element..element + 1,
        }
    }
}

impl Group {
    pub(super) fn group_product(
        &mut self,
        instr: &WarpInstr,
        crews: &[Crew],
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        let WarpOp::GroupProduct { sum, sides, shape, factors, total } = &instr.op else { return };
        self.products.busy = true;
        let cells = self.sum_cells(sum, crews, launch, block);
        self.check_sums(sum, (&cells, instr), launch, block);
        let mut sums = self.gather(sum, (crews, instr), launch, block);
        let [left, right] = [0, 1].map(|side| self.gather_factor(&sides[side], (crews, instr), launch, block));
        // The hardware does not look at the bits that tf32 lacks.
        let cut = *factors == Elem::F32 && launch.domain != Domain::Field;
        let of = |matrices: &Matrices| {
            let cells = matrices.cells.iter().map(|&cell| if cut { cell & !TF32_LACKS } else { cell }).collect();
            Matrices { cells, mags: matrices.mags.clone() }
        };
        let (a, b) = (of(&left.matrices), of(&right.matrices));
        super::product::add_products(&mut sums, &a, &b, *shape, (*factors, *total), launch.domain);
        self.scatter(sum, &sums, (crews, instr), launch, block);
        self.products.busy = false;
        let space = launch.kernel.buffers[sum.region.access.buf as usize].space;
        for (crew, came) in crews.iter().enumerate().filter(|(_, came)| came.speaker().is_some()) {
            let progress = &mut self.products.progress[crew];
            progress.products += 1;
            let reads = [&left, &right].map(|side| (side.shared, side.places[crew].clone()));
            let product = OutstandingProduct {
                site: instr.site,
                crew,
                group: progress.groups,
                number: progress.products,
                space,
                sums: cells[crew].clone(),
                reads,
            };
            self.begin_product(product, *came, launch, block);
        }
    }

    fn begin_product(&mut self, product: OutstandingProduct, came: Crew, launch: &Launch<'_>, block: &mut BlockState) {
        if !launch.kernel.warpgroups.ordered {
            return self.see_products(came, product.number, block);
        }
        for (shared, places) in &product.reads {
            block.shared[*shared].begin_reading(places, product.site);
        }
        if let Some(notes) = self.products.sums.get_mut(&product.space) {
            notes.mark(&product, product.site + 1);
        }
        self.products.outstanding.push(product);
    }

    /// The threads of a warpgroup have seen what its products did, up to the one with this number.
    fn see_products(&self, came: Crew, number: u32, block: &mut BlockState) {
        let Some(clocks) = &mut block.clocks else { return };
        let actor = clocks.products(self.warpgroup_of(came));
        came.lanes().for_each(|(_, lane)| clocks.learn(self.thread_of(lane), actor, number));
    }

    /// The number of a warpgroup in its block.
    pub(super) fn warpgroup_of(&self, crew: Crew) -> usize {
        self.thread_of(crew.first) as usize / self.products.width
    }

    /// The number of the product that a warpgroup begins next.
    pub(super) fn next_product(&self, crew: usize) -> u32 {
        self.products.progress[crew].products + 1
    }

    /// The number in its block of warpgroup number `crew` of this group.
    pub(super) fn warpgroup_number(&self, crew: usize) -> usize {
        let width = self.products.width;
        self.lanes_of_crew(crew, width).next().map_or(0, |lane| self.thread_of(lane) as usize / width)
    }

    /// What a warpgroup comes to besides products.
    pub(super) fn meet(&mut self, meeting: Meeting, crews: &[Crew], launch: &Launch<'_>, block: &mut BlockState) {
        for (crew, came) in crews.iter().enumerate().filter(|(_, came)| came.speaker().is_some()) {
            let progress = &mut self.products.progress[crew];
            match meeting {
                Meeting::Fence => progress.fences += 1,
                Meeting::Commit => progress.groups += 1,
                Meeting::Wait(pending) if launch.kernel.warpgroups.ordered => {
                    let done = progress.groups.saturating_sub(pending);
                    self.end_products((crew, *came), done, block);
                }
                Meeting::Wait(_) | Meeting::Registers => {}
            }
        }
    }

    /// The products of the groups before number `done` are there.
    fn end_products(&mut self, (crew, came): (usize, Crew), done: u32, block: &mut BlockState) {
        let is_done = |product: &OutstandingProduct| product.crew == crew && product.group < done;
        let (over, left) = mem::take(&mut self.products.outstanding).into_iter().partition(is_done);
        self.products.outstanding = left;
        let over: Vec<OutstandingProduct> = over;
        for product in &over {
            product.reads.iter().for_each(|(shared, places)| block.shared[*shared].end_reading(places));
            if let Some(notes) = self.products.sums.get_mut(&product.space) {
                notes.mark(product, 0);
            }
        }
        // Younger products may add to the same sums.
        let Products { outstanding, sums, .. } = &mut self.products;
        for product in outstanding.iter().filter(|product| product.crew == crew) {
            if let Some(notes) = sums.get_mut(&product.space) {
                notes.mark(product, product.site + 1);
            }
        }
        if let Some(number) = over.iter().map(|product| product.number).max() {
            self.see_products(came, number, block);
        }
    }

    /// The cells of a thread, or of the warpgroup, that the sums of each warpgroup are.
    fn sum_cells(
        &mut self,
        sum: &Operand,
        crews: &[Crew],
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) -> Vec<Vec<usize>> {
        let lanes = self.mask.clone();
        let starts = self.starts(&sum.region, &lanes, launch, block);
        let at = self.at_region(&sum.region, launch);
        let of = |crew: &Crew| {
            let Some(start) = crew.speaker().and_then(|lane| starts.of(lane)) else { return Vec::new() };
            let offsets = sum.held.as_ref().unwrap_or(&sum.at);
            let mut cells: Vec<usize> = offsets.iter().flat_map(|&cell| at.cells(start + cell as usize)).collect();
            cells.sort_unstable();
            cells
        };
        crews.iter().map(of).collect()
    }

    /// May the sums be added to? Threads that wrote them must have come to a fence since, and what is outstanding must add
    /// to the same sums.
    fn check_sums(
        &self,
        sum: &Operand,
        (cells, instr): (&[Vec<usize>], &WarpInstr),
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        let at = self.at_region(&sum.region, launch);
        let Some(notes) = self.products.sums.get(&at.decl.space) else { return };
        for (crew, cells) in cells.iter().enumerate().filter(|(_, cells)| !cells.is_empty()) {
            let fences = self.products.progress[crew].fences;
            let is_stored = |&&cell: &&usize| notes.written[crew * notes.n + cell] > fences;
            if fences == 0 || cells.iter().any(|cell| is_stored(&cell)) {
                self.report_missing_fence((at, instr.site), crew, launch, block);
            }
            let overlaps = |product: &&OutstandingProduct| {
                let is_other = (product.crew, product.space) == (crew, at.decl.space) && product.sums != *cells;
                is_other && cells.iter().any(|cell| product.sums.binary_search(cell).is_ok())
            };
            if let Some(other) = self.products.outstanding.iter().find(overlaps) {
                self.report_other_sums((at, instr.site), (crew, other.site), launch, block);
            }
        }
    }

    /// A read of sums of an outstanding product.
    #[inline]
    pub(super) fn check_sums_read(&self, at: At<'_>, addr: Addr, launch: &Launch<'_>, block: &mut BlockState) {
        if !self.products.outstanding.is_empty() && !self.products.busy {
            self.check_sums_accessed(at, addr, false, launch, block);
        }
    }

    /// A write of sums by threads.
    #[inline]
    pub(super) fn note_sums_written(&mut self, at: At<'_>, addr: Addr, launch: &Launch<'_>, block: &mut BlockState) {
        if self.products.busy || self.products.sums.is_empty() || !self.products.sums.contains_key(&at.decl.space) {
            return;
        }
        if !self.products.outstanding.is_empty() {
            self.check_sums_accessed(at, addr, true, launch, block);
        }
        let mut sums = mem::take(&mut self.products.sums);
        if let Some(notes) = sums.get_mut(&at.decl.space) {
            for_lanes(&self.live, |lane| {
                let crew = self.crew_of(lane, self.products.width);
                let mark = self.products.progress[crew].fences + 1;
                at.cells(self.cell_at(addr, lane)).for_each(|cell| notes.written[crew * notes.n + cell] = mark);
            });
        }
        self.products.sums = sums;
    }

    fn check_sums_accessed(&self, at: At<'_>, addr: Addr, writes: bool, launch: &Launch<'_>, block: &mut BlockState) {
        let Some(notes) = self.products.sums.get(&at.decl.space) else { return };
        for_lanes(&self.live, |lane| {
            let first = self.crew_of(lane, self.products.width) * notes.n;
            let product =
                at.cells(self.cell_at(addr, lane)).find_map(|cell| notes.outstanding[first + cell].checked_sub(1));
            if let Some(product) = product {
                self.report_product((at, lane), (product, writes, "adds to"), launch, block);
            }
        });
    }

    /// The program is over: products that their warpgroup has not waited for are reported.
    pub(super) fn report_unawaited_products(&self, launch: &Launch<'_>, block: &mut BlockState) {
        for product in &self.products.outstanding {
            self.report_product_not_awaited(product.site, product.crew, launch, block);
        }
    }
}
