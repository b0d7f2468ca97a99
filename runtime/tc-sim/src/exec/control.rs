//! Control of a group: branches and loops as masks, buffers made anew, barriers, and where poison spreads to.

use super::block::{BlockState, Launch, WARP, WARPGROUP};
use super::group::{Event, Frame, Group, Mask, first_lane, for_lanes};
use crate::code::{BarrierScope, Instr, Reg, Site, Space};
use crate::lanes;
use std::mem;

impl Group {
    fn bits_of(&self, cond: Reg, bits: &mut [u64]) {
        let cells = &self.regs[cond as usize];
        if cells.len() == 1 {
            return bits.fill(if cells[0] != 0 { u64::MAX } else { 0 });
        }
        for (word, chunk) in bits.iter_mut().zip(cells.chunks(64)) {
            *word = chunk.iter().enumerate().fold(0, |bits, (lane, &cell)| bits | u64::from(cell != 0) << lane);
        }
    }

    /// Branches and loops. Tells whether the run is over its limit.
    pub(super) fn control(&mut self, instr: &Instr, launch: &Launch<'_>, block: &mut BlockState) -> bool {
        match *instr {
            Instr::JumpIfNot { cond, to } if self.regs[cond as usize][0] == 0 => self.pc = to,
            Instr::Jump { to } => self.pc = to,
            Instr::If { cond, otherwise, site } => {
                let mut bits = mem::take(&mut self.scratch);
                self.bits_of(cond, &mut bits);
                self.saved.extend_from_slice(&self.mask);
                self.frames.push(Frame { site, is_branch: true, at: self.pc - 1 });
                for (mask, &bits) in self.mask.iter_mut().zip(&bits) {
                    self.saved.push(*mask & !bits);
                    *mask &= bits;
                }
                self.scratch = bits;
                if first_lane(&self.mask).is_none() {
                    self.pc = otherwise;
                }
            }
            Instr::Else { end } => {
                let at = self.saved.len() - self.words;
                self.mask.copy_from_slice(&self.saved[at..]);
                if first_lane(&self.mask).is_none() {
                    self.pc = end;
                }
            }
            Instr::EndIf => self.restore(),
            Instr::LoopUniform { iv, lo, hi, end, .. } => {
                let (from, to) = (self.regs[lo as usize][0], self.regs[hi as usize][0]);
                self.regs[iv as usize][0] = from;
                if from as i64 >= to as i64 {
                    self.pc = end;
                }
            }
            Instr::NextUniform { iv, hi, body, site } => {
                let next = (self.regs[iv as usize][0] as i64).wrapping_add(1);
                self.regs[iv as usize][0] = next as u64;
                if next < self.regs[hi as usize][0] as i64 {
                    self.pc = body;
                    return block.over_limit(launch, site);
                }
            }
            Instr::LoopVarying { iv, lo, hi, end, site } => {
                let mut cells = mem::take(&mut self.regs[iv as usize]);
                lanes::map1(&mut cells, &self.regs[lo as usize], |lo| lo);
                self.regs[iv as usize] = cells;
                self.saved.extend_from_slice(&self.mask);
                self.frames.push(Frame { site, is_branch: false, at: self.pc - 1 });
                self.keep_below(iv, hi);
                if first_lane(&self.mask).is_none() {
                    self.restore();
                    self.pc = end;
                }
            }
            Instr::NextVarying { iv, hi, body, site } => {
                self.regs[iv as usize].iter_mut().for_each(|cell| *cell = cell.wrapping_add(1));
                self.keep_below(iv, hi);
                if first_lane(&self.mask).is_some() {
                    self.pc = body;
                    return block.over_limit(launch, site);
                }
                self.restore();
            }
            _ => {}
        }
        false
    }

    /// Lanes whose loop variable has come to its end leave.
    fn keep_below(&mut self, iv: Reg, hi: Reg) {
        let (iv, hi) = (&self.regs[iv as usize], &self.regs[hi as usize]);
        for (word, mask) in self.mask.iter_mut().enumerate() {
            let mut left = *mask;
            while left != 0 {
                let bit = left.trailing_zeros() as usize;
                let lane = word * 64 + bit;
                let end = if hi.len() == 1 { hi[0] } else { hi[lane] };
                if iv[lane] as i64 >= end as i64 {
                    *mask &= !(1 << bit);
                }
                left &= left - 1;
            }
        }
    }

    fn restore(&mut self) {
        let Some(frame) = self.frames.pop() else { return };
        let n = if frame.is_branch { 2 * self.words } else { self.words };
        let at = self.saved.len() - n;
        self.mask.copy_from_slice(&self.saved[at..at + self.words]);
        self.saved.truncate(at);
    }

    pub(super) fn alloc(&mut self, space: Space, block: &mut BlockState) {
        match space {
            // One in all: made before the launch.
            Space::Global(_) => {}
            Space::Local(idx) => {
                let words = self.words;
                for written in self.locals[idx].written.chunks_mut(words) {
                    written.iter_mut().zip(&self.mask).for_each(|(written, &mask)| *written &= !mask);
                }
            }
            Space::Warp(idx) => {
                let mut came: Vec<usize> = Vec::new();
                for_lanes(&self.mask, |lane| {
                    let crew = self.crew_of(lane, self.tiles[idx].threads);
                    came.extend(Some(crew).filter(|crew| came.last() != Some(crew)))
                });
                let tiles = &mut self.tiles[idx];
                came.into_iter().for_each(|warp| tiles.written[warp * tiles.n..(warp + 1) * tiles.n].fill(false));
            }
            Space::Shared(idx) => {
                self.n_made[idx] += 1;
                let shared = &mut block.shared[idx];
                if shared.stamped {
                    // The stamp of what this group writes and reads has changed.
                    return;
                }
                for slot in self.slots() {
                    let lane = (slot - self.slot0) * self.per_block;
                    let lanes = lane..lane + self.per_block;
                    if lanes.into_iter().any(|lane| self.mask[lane / 64] >> (lane % 64) & 1 == 1) {
                        shared.written[slot * shared.n..(slot + 1) * shared.n].fill(0);
                    }
                }
            }
        }
    }

    pub(super) fn barrier(
        &mut self,
        scope: BarrierScope,
        site: Site,
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) -> Option<Event> {
        let missing = |lanes: std::ops::Range<usize>, mask: &Mask, all: &Mask| {
            let is_in = |mask: &Mask, lane: usize| mask[lane / 64] >> (lane % 64) & 1 == 1;
            let there = lanes.clone().find(|&lane| is_in(mask, lane));
            let absent = lanes.into_iter().find(|&lane| is_in(all, lane) && !is_in(mask, lane));
            there.zip(absent)
        };
        let of_cluster = scope == BarrierScope::Cluster && launch.kernel.is_clustered();
        if of_cluster || block.warps > 1 && scope > BarrierScope::Warpgroup {
            if let Some((there, absent)) = missing(0..self.n, &self.mask, &self.all) {
                self.report_divergent((scope, site), there, absent, launch, block);
            }
            return Some(Event::Barrier(scope, site));
        }
        // The warps and warpgroups of a group pass their own barriers side by side.
        let width = match scope {
            BarrierScope::Warp => WARP,
            BarrierScope::Warpgroup => WARPGROUP,
            _ => self.per_block,
        };
        for crew in 0..self.n_crews(width) {
            let lanes = self.lanes_of_crew(crew, width);
            if let Some((there, absent)) = missing(lanes.clone(), &self.mask, &self.all) {
                self.report_divergent((scope, site), there, absent, launch, block);
            }
            let mut came = lanes.filter(|&lane| self.mask[lane / 64] >> (lane % 64) & 1 == 1).peekable();
            let Some(&first) = came.peek() else { continue };
            match scope {
                BarrierScope::Warp | BarrierScope::Warpgroup => {
                    if scope == BarrierScope::Warp {
                        self.warp_epochs[crew] += 1;
                    }
                    let threads: Vec<u32> = came.map(|lane| self.thread_of(lane)).collect();
                    block.pass_crew_barrier(&threads);
                }
                _ => block.pass_barrier(self.slot_of(first), scope),
            }
        }
        None
    }

    /// Poison of results from that of operands.
    pub(super) fn spread(&mut self, instr: &Instr) {
        let dst = match *instr {
            Instr::Poison { dst, .. } | Instr::PoisonSelect { dst, .. } => dst,
            Instr::PoisonCopy { dst, .. } => dst,
            _ => return,
        };
        let mut bits = mem::take(&mut self.poison[dst as usize]);
        let word_of =
            |reg: Reg, word: usize| self.poison.get(reg as usize).and_then(|bits| bits.get(word)).copied().unwrap_or(0);
        match instr {
            Instr::Poison { srcs, .. } => {
                for (word, bits) in bits.iter_mut().enumerate() {
                    *bits = srcs.iter().fold(0, |all, &src| all | word_of(src, word));
                }
            }
            Instr::PoisonSelect { cond, arms: [of_cond, on_true, on_false], .. } => {
                let mut taken = vec![0; self.words];
                self.bits_of(*cond, &mut taken);
                for (word, bits) in bits.iter_mut().enumerate() {
                    let arm = taken[word] & word_of(*on_true, word) | !taken[word] & word_of(*on_false, word);
                    *bits = word_of(*of_cond, word) | arm;
                }
            }
            Instr::PoisonCopy { src, .. } => {
                for (word, bits) in bits.iter_mut().enumerate() {
                    *bits = *bits & !self.mask[word] | word_of(*src, word) & self.mask[word];
                }
            }
            _ => {}
        }
        self.poison[dst as usize] = bits;
    }
}
