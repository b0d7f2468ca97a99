//! Matrices that warps hold, moved between where they stand and where they are worked on.

use super::access::{Addr, At};
use super::block::{BlockState, Launch};
use super::group::{Group, for_lanes};
use super::warp::{Crew, Starts};
use crate::cell::Cell;
use crate::code::{NO_REG, Space};
use crate::diagnostic::DiagnosticKind;
use crate::memory::Tiles;
use crate::warp::{Operand, WarpInstr, WarpOp};

/// One matrix a warp, those of the group's warps one after another.
pub(super) struct Matrices {
    pub(super) cells: Vec<Cell>,
    /// Their magnitudes, if they are kept.
    pub(super) mags: Vec<Cell>,
}

impl Matrices {
    pub(super) fn new(n: usize, mags: bool) -> Matrices {
        Matrices { cells: vec![0; n], mags: vec![0; if mags { n } else { 0 }] }
    }
}

impl Group {
    /// An op that warps do as a whole.
    pub(super) fn warp_instr(&mut self, instr: &WarpInstr, launch: &Launch<'_>, block: &mut BlockState) {
        block.steps += (instr.steps() - 1) * self.n as u64;
        block.duplicates.clear();
        let crews = self.crews(instr, launch, block);
        match &instr.op {
            WarpOp::Fill { tile, value, mag } => {
                let mut filled = self.matrices(tile, crews.len(), launch);
                for (warp, &crew) in crews.iter().enumerate() {
                    let part = warp * tile.size..(warp + 1) * tile.size;
                    let value = self.uniform((*value, "value"), crew, instr, launch, block);
                    filled.cells[part.clone()].fill(value);
                    if let (false, true, Some(lane)) = (filled.mags.is_empty(), *mag != NO_REG, crew.speaker()) {
                        filled.mags[part].fill(self.cell(*mag, lane));
                    }
                }
                self.scatter(tile, &filled, (&crews, instr), launch, block);
            }
            WarpOp::Load { tile, from } => {
                let loaded = self.load_memory(from, tile, (&crews, instr), launch, block);
                self.scatter(tile, &loaded, (&crews, instr), launch, block);
            }
            WarpOp::Store { to, tile } => {
                let stored = self.gather(tile, (&crews, instr), launch, block);
                self.store_memory(to, &stored, (&crews, instr), launch, block);
            }
            WarpOp::LoadMatrix { tile, row, row_len, transposed } => {
                let loaded = self.load_rows(tile, (row, *row_len, *transposed), (&crews, instr), launch, block);
                self.scatter(tile, &loaded, (&crews, instr), launch, block);
            }
            WarpOp::Product { sum, a, b, shape, factors, total } => {
                let mut sums = self.gather(sum, (&crews, instr), launch, block);
                let left = self.gather(a, (&crews, instr), launch, block);
                let right = self.gather(b, (&crews, instr), launch, block);
                super::product::add_products(&mut sums, &left, &right, *shape, (*factors, *total), launch.domain);
                self.scatter(sum, &sums, (&crews, instr), launch, block);
            }
            WarpOp::GroupProduct { .. } => self.group_product(instr, &crews, launch, block),
            WarpOp::Meet(meeting) => self.meet(*meeting, &crews, launch, block),
        }
    }

    /// Matrices of zeros, of the extents of `operand`.
    pub(super) fn matrices(&self, operand: &Operand, crews: usize, launch: &Launch<'_>) -> Matrices {
        let is_float = launch.kernel.buffers[operand.region.access.buf as usize].elem.is_float();
        Matrices::new(crews * operand.size, launch.domain.has_companions() && is_float)
    }

    /// What the warps hold.
    pub(super) fn gather(
        &mut self,
        operand: &Operand,
        (crews, instr): (&[Crew], &WarpInstr),
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) -> Matrices {
        let lanes = self.mask.clone();
        let starts = self.starts(&operand.region, &lanes, launch, block);
        self.check_same_start(&starts, (crews, &operand.region), instr, launch, block);
        let at = self.at_region(&operand.region, launch);
        let mut found = self.matrices(operand, crews.len(), launch);
        match (&operand.held, at.decl.space) {
            (Some(held), _) => self.gather_held(at, (operand, held), &starts, (crews, &mut found), launch, block),
            (None, Space::Warp(idx)) => {
                for (warp, crew) in crews.iter().enumerate() {
                    let Some(lane) = crew.speaker() else { continue };
                    let Some(start) = starts.of(lane) else { continue };
                    let (tiles, start) = (&self.tiles[idx], start * usize::from(at.decl.lanes));
                    if let Some(missing) = read_tile(tiles, (warp, start), operand, &mut found) {
                        self.addrs[lane] = missing;
                        self.report_access(DiagnosticKind::Uninitialised, at, lane, launch, block);
                    }
                }
            }
            _ => {}
        }
        found
    }

    fn gather_held(
        &mut self,
        at: At<'_>,
        (operand, held): (&Operand, &[u32]),
        starts: &Starts,
        (crews, found): (&[Crew], &mut Matrices),
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        let mut value = vec![0; self.n];
        let mut mags = vec![0; if found.mags.is_empty() { 0 } else { self.n }];
        for (nth, &cell) in held.iter().enumerate() {
            self.live.copy_from_slice(&starts.inside);
            for_lanes(&starts.inside, |lane| self.addrs[lane] = starts.at[lane] + cell as usize);
            self.load_cells(at, Addr::Each, (&mut value, &mut mags), launch, block);
            for (warp, crew) in crews.iter().enumerate() {
                for (number, lane) in crew.lanes().filter(|&(_, lane)| starts.of(lane).is_some()) {
                    let place = warp * operand.size + operand.at[number * held.len() + nth] as usize;
                    found.cells[place] = value[lane];
                    if !mags.is_empty() {
                        found.mags[place] = mags[lane];
                    }
                }
            }
        }
    }

    /// Puts matrices where the warps hold them.
    pub(super) fn scatter(
        &mut self,
        operand: &Operand,
        matrices: &Matrices,
        (crews, instr): (&[Crew], &WarpInstr),
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        let lanes = self.mask.clone();
        let starts = self.starts(&operand.region, &lanes, launch, block);
        self.check_same_start(&starts, (crews, &operand.region), instr, launch, block);
        let at = self.at_region(&operand.region, launch);
        match (&operand.held, at.decl.space) {
            (Some(held), _) => self.scatter_held(at, (operand, held), &starts, (crews, matrices), launch, block),
            (None, Space::Warp(idx)) => {
                for (warp, crew) in crews.iter().enumerate() {
                    let start = crew.speaker().and_then(|lane| starts.of(lane));
                    let Some(start) = start else { continue };
                    let start = start * usize::from(at.decl.lanes);
                    write_tile(&mut self.tiles[idx], (warp, start), operand, matrices);
                }
            }
            _ => {}
        }
    }

    fn scatter_held(
        &mut self,
        at: At<'_>,
        (operand, held): (&Operand, &[u32]),
        starts: &Starts,
        (crews, matrices): (&[Crew], &Matrices),
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        let mut value = vec![0; self.n];
        let mut mags = vec![0; if matrices.mags.is_empty() { 0 } else { self.n }];
        for (nth, &cell) in held.iter().enumerate() {
            for (warp, crew) in crews.iter().enumerate() {
                for (number, lane) in crew.lanes() {
                    let place = warp * operand.size + operand.at[number * held.len() + nth] as usize;
                    value[lane] = matrices.cells[place];
                    if !mags.is_empty() {
                        mags[lane] = matrices.mags[place];
                    }
                }
            }
            self.live.copy_from_slice(&starts.inside);
            for_lanes(&starts.inside, |lane| self.addrs[lane] = starts.at[lane] + cell as usize);
            self.store_cells(at, Addr::Each, (&value, &mags), launch, block);
        }
    }
}

/// Copies a tile to a matrix; the first cell of the warp that no thread wrote.
fn read_tile(tiles: &Tiles, (warp, start): (usize, usize), operand: &Operand, found: &mut Matrices) -> Option<usize> {
    let mut missing = None;
    for (nth, &cell) in operand.at.iter().enumerate() {
        let place = warp * tiles.n + start + cell as usize;
        if !tiles.written[place] {
            missing.get_or_insert(start + cell as usize);
        }
        found.cells[warp * operand.size + nth] = tiles.cells[place];
        if !found.mags.is_empty() {
            found.mags[warp * operand.size + nth] = tiles.mags[place];
        }
    }
    missing
}

fn write_tile(tiles: &mut Tiles, (warp, start): (usize, usize), operand: &Operand, matrices: &Matrices) {
    for (nth, &cell) in operand.at.iter().enumerate() {
        let place = warp * tiles.n + start + cell as usize;
        tiles.written[place] = true;
        tiles.cells[place] = matrices.cells[warp * operand.size + nth];
        if !matrices.mags.is_empty() {
            tiles.mags[place] = matrices.mags[warp * operand.size + nth];
        }
    }
}
