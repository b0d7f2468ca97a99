//! Tiles in global and shared memory, loaded and stored by a warp: its lanes share the elements out, or name rows of them.

use super::access::Addr;
use super::block::{BlockState, Launch};
use super::group::{Group, for_lanes};
use super::tiles::Matrices;
use super::warp::Crew;
use crate::warp::{Memory, Operand, Region, WarpInstr};

/// Pointers to tiles in memory start at multiples of so many bytes.
const TILE_BYTES: usize = 32;
/// Rows of tiles in memory do, counted from the first.
const STRIDE_BYTES: u64 = 16;

/// An element of a tile in memory, the lane that accesses it, and its place among the matrices of all warps.
#[derive(Clone, Copy)]
pub(super) struct Aimed {
    pub(super) lane: usize,
    pub(super) cell: usize,
    pub(super) place: usize,
}

impl Group {
    /// The elements of a tile in memory, dealt out to the lanes of each warp: one a lane in each round.
    fn rounds(
        &mut self,
        memory: &Memory,
        (crews, instr): (&[Crew], &WarpInstr),
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) -> Vec<Vec<Aimed>> {
        let Memory { region, stride, rows, cols } = memory;
        let (rows, cols) = (*rows, *cols);
        let lanes = self.mask.clone();
        let starts = self.starts(region, &lanes, launch, block);
        self.check_same_start(&starts, (crews, region), instr, launch, block);
        let at = self.at_region(region, launch);
        let bytes = at.decl.elem.bytes() as usize;
        let base = at.decl.window.map_or(0, |window| window.start_byte);
        let mut all: Vec<Vec<Aimed>> = Vec::new();
        for (warp, &crew) in crews.iter().enumerate() {
            let Some(speaker) = crew.speaker() else { continue };
            let stride = self.uniform((*stride, "stride"), crew, instr, launch, block) as i64;
            let Some(start) = starts.of(speaker) else { continue };
            let reach = usize::try_from(stride)
                .ok()
                .and_then(|stride| stride.checked_mul(rows - 1)?.checked_add(start + cols))
                .filter(|&end| end <= at.decl.elements());
            if reach.is_none() {
                self.addrs[speaker] = start;
                self.report_reach(at, (speaker, stride), [rows, cols], launch, block);
                continue;
            }
            if !(base + start * bytes).is_multiple_of(TILE_BYTES) {
                let what = format!("a tile of `{}` starts at a multiple of {TILE_BYTES} bytes", instr.name);
                self.addrs[speaker] = start;
                self.report_unaligned(at, speaker, (base + start * bytes, TILE_BYTES), &what, launch, block);
            }
            if !(stride as u64 * bytes as u64).is_multiple_of(STRIDE_BYTES) {
                self.report_stride(instr, (stride, stride as u64 * bytes as u64), launch, block);
            }
            let lanes: Vec<usize> = crew.lanes().map(|(_, lane)| lane).collect();
            for nth in 0..rows * cols {
                let (round, lane) = (nth / lanes.len(), lanes[nth % lanes.len()]);
                if round == all.len() {
                    all.push(Vec::with_capacity(self.n));
                }
                all[round].push(Aimed {
                    lane,
                    cell: start + nth / cols * stride as usize + nth % cols,
                    place: warp * rows * cols + nth,
                });
            }
        }
        all
    }

    pub(super) fn load_memory(
        &mut self,
        from: &Memory,
        tile: &Operand,
        (crews, instr): (&[Crew], &WarpInstr),
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) -> Matrices {
        let mut loaded = self.matrices(tile, crews.len(), launch);
        let mut value = vec![0; self.n];
        let mut mags = vec![0; if loaded.mags.is_empty() { 0 } else { self.n }];
        for round in self.rounds(from, (crews, instr), launch, block) {
            self.aim(&round);
            let at = self.at_region(&from.region, launch);
            self.load_cells(at, Addr::Each, (&mut value, &mut mags), launch, block);
            for Aimed { lane, place, .. } in round {
                loaded.cells[place] = value[lane];
                if !mags.is_empty() {
                    loaded.mags[place] = mags[lane];
                }
            }
        }
        loaded
    }

    pub(super) fn store_memory(
        &mut self,
        to: &Memory,
        stored: &Matrices,
        (crews, instr): (&[Crew], &WarpInstr),
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        let mut value = vec![0; self.n];
        let mut mags = vec![0; if stored.mags.is_empty() { 0 } else { self.n }];
        for round in self.rounds(to, (crews, instr), launch, block) {
            self.aim(&round);
            for &Aimed { lane, place, .. } in &round {
                value[lane] = stored.cells[place];
                if !mags.is_empty() {
                    mags[lane] = stored.mags[place];
                }
            }
            let at = self.at_region(&to.region, launch);
            self.store_cells(at, Addr::Each, (&value, &mags), launch, block);
        }
    }

    /// Lets the lanes of a round access their cells, and no others.
    pub(super) fn aim(&mut self, round: &[Aimed]) {
        self.live.fill(0);
        for &Aimed { lane, cell, .. } in round {
            self.addrs[lane] = cell;
            self.live[lane / 64] |= 1 << (lane % 64);
        }
    }

    /// The rows of 8 x 8 matrices that the lanes name, and what each lane gets of them: an element a cell, those of one
    /// lane after those of another.
    pub(super) fn load_rows(
        &mut self,
        tile: &Operand,
        (row, row_len, transposed): (&Region, usize, bool),
        (crews, instr): (&[Crew], &WarpInstr),
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) -> Matrices {
        let n_matrices = tile.size / (8 * row_len);
        let mut naming = vec![0; self.words];
        for crew in crews {
            for (_, lane) in crew.lanes().filter(|&(number, _)| number < 8 * n_matrices) {
                naming[lane / 64] |= 1 << (lane % 64);
            }
        }
        let starts = self.starts(row, &naming, launch, block);
        let at = self.at_region(row, launch);
        let bytes = at.decl.elem.bytes() as usize;
        let base = at.decl.window.map_or(0, |window| window.start_byte);
        for_lanes(&starts.inside, |lane| {
            let byte = base + starts.at[lane] * bytes;
            if !byte.is_multiple_of(16) {
                self.addrs[lane] = starts.at[lane];
                let what = format!("a row of `{}` starts at a multiple of 16 bytes", instr.name);
                self.report_unaligned(at, lane, (byte, 16), &what, launch, block);
            }
        });
        let mut loaded = self.matrices(tile, crews.len(), launch);
        let mut value = vec![0; self.n];
        let mut mags = vec![0; if loaded.mags.is_empty() { 0 } else { self.n }];
        let (packed, per_lane) = (row_len / 4, tile.size / 32);
        for nth in 0..row_len {
            self.live.copy_from_slice(&starts.inside);
            for_lanes(&starts.inside, |lane| self.addrs[lane] = starts.at[lane] + nth);
            self.load_cells(at, Addr::Each, (&mut value, &mut mags), launch, block);
            for (warp, crew) in crews.iter().enumerate() {
                for (number, lane) in crew.lanes().filter(|&(_, lane)| starts.of(lane).is_some()) {
                    let (matrix, line) = (number / 8, number % 8);
                    // The lane that gets this element, and which of those of a word it is.
                    let (taker, inner) = match transposed {
                        true => (nth * 4 + line / 2, line % 2),
                        false => (line * 4 + nth / packed, nth % packed),
                    };
                    let place = warp * tile.size + taker * per_lane + matrix * packed + inner;
                    if number < 8 * n_matrices {
                        loaded.cells[place] = value[lane];
                        if !mags.is_empty() {
                            loaded.mags[place] = mags[lane];
                        }
                    }
                }
            }
        }
        loaded
    }
}
