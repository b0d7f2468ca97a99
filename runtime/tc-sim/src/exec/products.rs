//! Products of warpgroups, which run in the background: begun, put into groups, waited for.
//!
//! A product is computed where it is begun. Its sums may then be accessed by later products only, and its factors not be
//! written, until its warpgroup has waited for its group; a wait covers committed groups only (PTX ISA 8.7,
//! "wgmma.wait_group"). While nothing orders the products of a kernel, as before `inject-wgmma-sync`, they are done at once.
//! Barriers in shared memory order what a product reads as of the wait for it: see [`clock`](crate::clock).

use super::access::{Addr, At};
use super::block::{BlockState, Launch};
use super::factors::Gathered;
use super::group::{Group, for_lanes};
use super::tiles::Matrices;
use super::warp::Crew;
use crate::cell::Cell;
use crate::code::{Instr, Kernel, Site, Space};
use crate::domain::Domain;
use crate::warp::{Meeting, Operand, Source, WarpInstr, WarpOp};
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
    /// Where its sums, and a left factor in registers, are, and which cells of a thread or of the warpgroup they are.
    registers: Vec<(Space, Vec<usize>)>,
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

/// What is noted of the cells of a buffer in registers that products access: those of one warpgroup after those of another.
#[derive(Clone, Default, Debug)]
struct RegisterNotes {
    /// Cells of one warpgroup.
    n: usize,
    /// It holds a left factor, which threads may read meanwhile.
    is_factor: bool,
    /// 0, or the site of an outstanding product that accesses it, plus one.
    outstanding: Vec<Site>,
    /// 0, or how many fences there had been when a thread wrote it last, plus one.
    written: Vec<u32>,
}

/// The products of the warpgroups of a group of threads.
#[derive(Clone, Default, Debug)]
pub(super) struct Products {
    progress: Vec<Progress>,
    outstanding: Vec<OutstandingProduct>,
    notes: BTreeMap<Space, RegisterNotes>,
    /// A product accesses its registers.
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
            let WarpOp::GroupProduct { sum, sides, .. } = &warp.op else { continue };
            let left = if let Source::Registers(left) = &sides[0] { Some(left) } else { None };
            for (operand, is_factor) in left.map(|left| (left, true)).into_iter().chain([(sum, false)]) {
                let space = kernel.buffers[operand.region.access.buf as usize].space;
                // Views lie in the cells of the buffer that they are views of.
                let of_space = kernel.buffers.iter().filter(|decl| decl.space == space);
                let n = of_space.map(|decl| decl.cells).max().unwrap_or(0);
                let all = n * crews;
                let notes = RegisterNotes { n, is_factor, outstanding: vec![0; all], written: vec![0; all] };
                // A buffer that is both is one of sums.
                if !is_factor || !products.notes.contains_key(&space) {
                    products.notes.insert(space, notes);
                }
            }
        }
        products
    }

    pub(super) fn reset(&mut self) {
        self.progress.fill(Progress::default());
        self.outstanding.clear();
        for notes in self.notes.values_mut() {
            notes.outstanding.fill(0);
            notes.written.fill(0);
        }
    }
}

/// Notes at the registers of `product` that it is outstanding, or not.
fn mark(notes: &mut BTreeMap<Space, RegisterNotes>, product: &OutstandingProduct, mark: Site) {
    for (space, cells) in &product.registers {
        if let Some(notes) = notes.get_mut(space) {
            cells.iter().for_each(|&cell| notes.outstanding[product.crew * notes.n + cell] = mark);
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
        let mut registers = vec![self.register_cells(sum, crews, launch, block)];
        self.check_registers(sum, (&registers[0].1, instr), launch, block);
        if let Source::Registers(left) = &sides[0] {
            let cells = self.register_cells(left, crews, launch, block);
            self.check_registers(left, (&cells.1, instr), launch, block);
            registers.push(cells);
        }
        let mut sums = self.gather(sum, (crews, instr), launch, block);
        let [left, right] = [0, 1].map(|side| match &sides[side] {
            Source::Memory(factor) => self.gather_factor(factor, (crews, instr), launch, block),
            Source::Registers(operand) => {
                let matrices = self.gather(operand, (crews, instr), launch, block);
                Gathered { matrices, shared: 0, places: vec![Vec::new(); crews.len()] }
            }
        });
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
        for (crew, came) in crews.iter().enumerate().filter(|(_, came)| came.speaker().is_some()) {
            let progress = &mut self.products.progress[crew];
            progress.products += 1;
            let reads = [&left, &right].map(|side| (side.shared, side.places[crew].clone()));
            let product = OutstandingProduct {
                site: instr.site,
                crew,
                group: progress.groups,
                number: progress.products,
                registers: registers.iter().map(|(space, cells)| (*space, cells[crew].clone())).collect(),
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
        mark(&mut self.products.notes, &product, product.site + 1);
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
            mark(&mut self.products.notes, product, 0);
        }
        // Younger products may add to the same sums, and read the same factor.
        let Products { outstanding, notes, .. } = &mut self.products;
        outstanding.iter().filter(|product| product.crew == crew).for_each(|product| {
            mark(notes, product, product.site + 1);
        });
        if let Some(number) = over.iter().map(|product| product.number).max() {
            self.see_products(came, number, block);
        }
    }

    /// The cells of a thread, or of the warpgroup, that an operand in registers is, for each warpgroup.
    fn register_cells(
        &mut self,
        operand: &Operand,
        crews: &[Crew],
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) -> (Space, Vec<Vec<usize>>) {
        let lanes = self.mask.clone();
        let starts = self.starts(&operand.region, &lanes, launch, block);
        let at = self.at_region(&operand.region, launch);
        let of = |crew: &Crew| {
            let Some(start) = crew.speaker().and_then(|lane| starts.of(lane)) else { return Vec::new() };
            let offsets = operand.held.as_ref().unwrap_or(&operand.at);
            let mut cells: Vec<usize> = offsets.iter().flat_map(|&cell| at.cells(start + cell as usize)).collect();
            cells.sort_unstable();
            cells
        };
        (at.decl.space, crews.iter().map(of).collect())
    }

    /// May a product access these registers? Threads that wrote them must have come to a fence since, and what is outstanding
    /// must add to the same sums.
    fn check_registers(
        &self,
        operand: &Operand,
        (cells, instr): (&[Vec<usize>], &WarpInstr),
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        let at = self.at_region(&operand.region, launch);
        let Some(notes) = self.products.notes.get(&at.decl.space) else { return };
        for (crew, cells) in cells.iter().enumerate().filter(|(_, cells)| !cells.is_empty()) {
            let fences = self.products.progress[crew].fences;
            let is_stored = |&&cell: &&usize| notes.written[crew * notes.n + cell] > fences;
            if fences == 0 || cells.iter().any(|cell| is_stored(&cell)) {
                self.report_missing_fence((at, instr.site), (crew, notes.is_factor), launch, block);
            }
            let overlaps = |product: &&OutstandingProduct| {
                let (space, sums) = &product.registers[0];
                let is_other = (product.crew, *space) == (crew, at.decl.space) && sums != cells;
                is_other && cells.iter().any(|cell| sums.binary_search(cell).is_ok())
            };
            if let Some(other) = self.products.outstanding.iter().find(overlaps) {
                self.report_other_sums((at, instr.site), (crew, other.site), launch, block);
            }
        }
    }

    /// A read of what an outstanding product may access.
    #[inline]
    pub(super) fn check_registers_read(&self, at: At<'_>, addr: Addr, launch: &Launch<'_>, block: &mut BlockState) {
        if !self.products.outstanding.is_empty() && !self.products.busy {
            self.check_registers_accessed(at, addr, false, launch, block);
        }
    }

    /// A write by threads of what products access.
    #[inline]
    pub(super) fn note_registers_written(
        &mut self,
        at: At<'_>,
        addr: Addr,
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        if self.products.busy || !self.products.notes.contains_key(&at.decl.space) {
            return;
        }
        if !self.products.outstanding.is_empty() {
            self.check_registers_accessed(at, addr, true, launch, block);
        }
        let mut all = mem::take(&mut self.products.notes);
        if let Some(notes) = all.get_mut(&at.decl.space) {
            for_lanes(&self.live, |lane| {
                let crew = self.crew_of(lane, self.products.width);
                let mark = self.products.progress[crew].fences + 1;
                at.cells(self.cell_at(addr, lane)).for_each(|cell| notes.written[crew * notes.n + cell] = mark);
            });
        }
        self.products.notes = all;
    }

    fn check_registers_accessed(
        &self,
        at: At<'_>,
        addr: Addr,
        writes: bool,
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        let notes = self.products.notes.get(&at.decl.space).filter(|notes| writes || !notes.is_factor);
        let Some(notes) = notes else { return };
        let has = if notes.is_factor { "reads" } else { "adds to" };
        for_lanes(&self.live, |lane| {
            let first = self.crew_of(lane, self.products.width) * notes.n;
            let product =
                at.cells(self.cell_at(addr, lane)).find_map(|cell| notes.outstanding[first + cell].checked_sub(1));
            if let Some(product) = product {
                self.report_product((at, lane), (product, writes, has), launch, block);
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
