//! Ops that a warp does as a whole: who comes to them, and where each of their operands starts.

use super::access::At;
use super::block::{BlockState, Launch};
use super::group::{Group, Mask, for_lanes};
use crate::cell::Cell;
use crate::code::Reg;
use crate::warp::{Region, WarpInstr};

/// The lanes of one warp, or of one warpgroup, that come to an op: the number of the first lane there is, and a bit for
/// each that comes.
#[derive(Clone, Copy)]
pub(super) struct Crew {
    pub(super) first: usize,
    bits: u128,
}

impl Crew {
    /// The lanes that come, each with its number in the warp.
    pub(super) fn lanes(self) -> impl Iterator<Item = (usize, usize)> {
        (0..128).filter(move |nth| self.bits >> nth & 1 == 1).map(move |nth| (nth, self.first + nth))
    }

    /// The lane that speaks for all.
    pub(super) fn speaker(self) -> Option<usize> {
        (self.bits != 0).then(|| self.first + self.bits.trailing_zeros() as usize)
    }

    pub(super) fn n(self) -> usize {
        self.bits.count_ones() as usize
    }
}

/// Where a part of a buffer starts, by lane: an element. Lanes for which it is out of bounds are not in `inside`.
pub(super) struct Starts {
    pub(super) at: Vec<usize>,
    pub(super) inside: Mask,
}

impl Starts {
    /// Where it starts for the lane.
    pub(super) fn of(&self, lane: usize) -> Option<usize> {
        (self.inside[lane / 64] >> (lane % 64) & 1 == 1).then(|| self.at[lane])
    }
}

impl Group {
    /// The warps or warpgroups of this group, as far as they come to `instr`; those that do not come as a whole are reported.
    pub(super) fn crews(&self, instr: &WarpInstr, launch: &Launch<'_>, block: &mut BlockState) -> Vec<Crew> {
        let mut crews = Vec::with_capacity(self.n_crews(instr.width));
        for slot in (0..self.n).step_by(self.per_block) {
            for first in (slot..slot + self.per_block).step_by(instr.width) {
                let lanes = first..(first + instr.width).min(slot + self.per_block);
                let is_in = |mask: &[u64], lane: usize| mask[lane / 64] >> (lane % 64) & 1 == 1;
                let bits = |mask: &[u64]| {
                    lanes.clone().fold(0, |bits, lane| bits | u128::from(is_in(mask, lane)) << (lane - first))
                };
                let crew = Crew { first, bits: bits(&self.mask) };
                if crew.bits != 0 && crew.n() != instr.width {
                    let there = bits(&self.all).count_ones() as usize;
                    self.report_partial_warp(instr, first, [crew.n(), there], launch, block);
                }
                crews.push(crew);
            }
        }
        crews
    }

    /// The warp, or warpgroup, of `width` threads of this group that the lane belongs to.
    pub(super) fn crew_of(&self, lane: usize, width: usize) -> usize {
        lane / self.per_block * self.per_block.div_ceil(width) + lane % self.per_block / width
    }

    /// An access to cells of `region` that are told one by one.
    pub(super) fn at_region<'a>(&self, region: &'a Region, launch: &Launch<'a>) -> At<'a> {
        At { spelled: true, ..self.at(&region.access, launch) }
    }

    /// Where `region` starts in each lane of `lanes`. Lanes for which it does not lie in its buffer are reported.
    pub(super) fn starts(
        &mut self,
        region: &Region,
        lanes: &[u64],
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) -> Starts {
        let at = self.at(&region.access, launch);
        let mut starts = Starts { at: vec![0; self.n], inside: lanes.to_vec() };
        let mut out: Vec<usize> = Vec::new();
        for (dim, (&extent, &length)) in at.decl.shape.iter().zip(&region.lengths).enumerate() {
            let cells = &self.regs[region.access.indices[dim] as usize];
            let stride = at.decl.strides[dim];
            for_lanes(lanes, |lane| {
                let index = if cells.len() == 1 { cells[0] } else { cells[lane] };
                if length > extent || index > extent - length {
                    out.push(lane);
                }
                starts.at[lane] = starts.at[lane].wrapping_add((index as i64).wrapping_mul(stride) as usize);
            });
        }
        for lane in out {
            if starts.of(lane).is_some() {
                starts.inside[lane / 64] &= !(1 << (lane % 64));
                self.report_region_out_of_bounds(at, &region.lengths, lane, launch, block);
            }
        }
        starts
    }

    /// The lanes of a warp name the same place.
    pub(super) fn check_same_start(
        &self,
        starts: &Starts,
        (crews, region): (&[Crew], &Region),
        instr: &WarpInstr,
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        for crew in crews {
            let Some(speaker) = crew.speaker() else { continue };
            let other = crew.lanes().find(|&(_, lane)| starts.at[lane] != starts.at[speaker]);
            if let Some((_, other)) = other {
                let what = format!("place in `{}`", launch.kernel.buffers[region.access.buf as usize].name);
                self.report_not_uniform(instr, &what, [speaker, other], launch, block);
            }
        }
    }

    /// The number that all lanes of the warp have in `reg`.
    pub(super) fn uniform(
        &self,
        (reg, what): (Reg, &str),
        crew: Crew,
        instr: &WarpInstr,
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) -> Cell {
        let Some(speaker) = crew.speaker() else { return 0 };
        let value = self.cell(reg, speaker);
        if let Some((_, other)) = crew.lanes().find(|&(_, lane)| self.cell(reg, lane) != value) {
            self.report_not_uniform(instr, what, [speaker, other], launch, block);
        }
        value
    }
}
