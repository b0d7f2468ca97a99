//! A kernel without all that does not tell which cells it accesses.
//!
//! A slice keeps the accesses that are asked for, with what their addresses and the control around them depend on; the
//! values that are loaded and stored there are not computed. It is found backwards, as dead code is: a register is live
//! where a kept instruction uses it later. Memory on the chip counts as a whole: where a kept instruction needs the
//! content of a buffer, all stores to that buffer are kept. What is live around a loop, and which loops hold anything, is
//! found by repeating until nothing changes: sets only grow. A loop whose iterations all make the same accesses is left
//! after the first.
//!
//! A slice is run phased, whatever the kernel is: barriers order nothing there.

use crate::code::{Access, Instr, Kernel, NO_REG, Pc, Reg, Space, Warpgroups};
use crate::warp::{BulkWay, Memory, Operand, Region, WarpInstr, WarpOp};
use std::collections::{BTreeMap, BTreeSet};

/// Which accesses to buffers that are one in all a slice is for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<'a> {
    /// The buffers whose reads are wanted.
    pub(crate) reads: &'a BTreeSet<usize>,
    /// The buffers whose writes are.
    pub(crate) writes: &'a BTreeSet<usize>,
}

/// The part of a kernel that says which cells it accesses.
#[derive(Debug)]
pub(crate) struct Slice {
    pub(crate) kernel: Kernel,
    /// The buffers, of those that are one in all, whose content it depends on.
    pub(crate) needs: BTreeSet<usize>,
}

/// A set of registers.
type Live = Vec<u64>;

/// The part of `kernel` that makes the `wanted` accesses.
pub(crate) fn slice(kernel: &Kernel, wanted: Wanted<'_>) -> Slice {
    let mut scan = Scan {
        kernel,
        wanted,
        live: Vec::new(),
        at: targets(kernel),
        branches: Vec::new(),
        kept: vec![false; kernel.code.len()],
        spaces: BTreeSet::new(),
        exchanges: false,
        needs: BTreeSet::new(),
        changed: true,
    };
    while std::mem::take(&mut scan.changed) {
        scan.backwards();
    }
    scan.finish()
}

/// The places that are jumped to, with nothing live there yet.
fn targets(kernel: &Kernel) -> BTreeMap<Pc, Live> {
    let of = |instr: &Instr| match *instr {
        Instr::JumpIfNot { to, .. }
        | Instr::Jump { to }
        | Instr::LoopUniform { end: to, .. }
        | Instr::LoopVarying { end: to, .. }
        | Instr::NextUniform { body: to, .. }
        | Instr::NextVarying { body: to, .. } => Some((to, vec![0; kernel.regs.len().div_ceil(64)])),
        _ => None,
    };
    kernel.code.iter().filter_map(of).collect()
}

struct Scan<'a> {
    kernel: &'a Kernel,
    wanted: Wanted<'a>,
    live: Live,
    /// What is live at the places that are jumped to.
    at: BTreeMap<Pc, Live>,
    /// What is live after each branch that is being walked, and where its second arm starts.
    branches: Vec<[Live; 2]>,
    /// The instructions that do something, control left out.
    kept: Vec<bool>,
    /// Buffers on the chip whose content is needed.
    spaces: BTreeSet<(u8, usize)>,
    /// What threads lay out for one another is needed.
    exchanges: bool,
    needs: BTreeSet<usize>,
    changed: bool,
}

fn on_chip(space: Space) -> Option<(u8, usize)> {
    match space {
        Space::Global(_) => None,
        Space::Shared(idx) => Some((0, idx)),
        Space::Warp(idx) => Some((1, idx)),
        Space::Local(idx) => Some((2, idx)),
    }
}

fn join(into: &mut Live, other: &Live) {
    into.iter_mut().zip(other).for_each(|(word, other)| *word |= other);
}

impl Scan<'_> {
    fn is_live(&self, reg: Reg) -> bool {
        self.live.get(reg as usize / 64).is_some_and(|word| word >> (reg % 64) & 1 == 1)
    }

    fn use_reg(&mut self, reg: Reg) {
        if reg != NO_REG {
            self.live[reg as usize / 64] |= 1 << (reg % 64);
        }
    }

    fn kill(&mut self, reg: Reg) {
        self.live[reg as usize / 64] &= !(1 << (reg % 64));
    }

    fn keep(&mut self, pc: usize) {
        self.changed |= !std::mem::replace(&mut self.kept[pc], true);
    }

    fn join_at(&mut self, pc: Pc) {
        if let Some(at) = self.at.get(&pc) {
            join(&mut self.live, at);
        }
    }

    fn space(&self, access: &Access) -> Space {
        self.kernel.buffers[access.buf as usize].space
    }

    fn is_needed(&self, access: &Access) -> bool {
        on_chip(self.space(access)).is_some_and(|space| self.spaces.contains(&space))
    }

    fn is_wanted(&self, access: &Access, is_store: bool) -> bool {
        let list = if is_store { self.wanted.writes } else { self.wanted.reads };
        matches!(self.space(access), Space::Global(idx) if list.contains(&idx))
    }

    /// The content of what `access` reads is needed.
    fn need(&mut self, access: &Access) {
        match (self.space(access), on_chip(self.space(access))) {
            (Space::Global(idx), _) => self.changed |= self.needs.insert(idx),
            (_, Some(space)) => self.changed |= self.spaces.insert(space),
            _ => {}
        }
    }

    fn use_place(&mut self, access: &Access) {
        access.indices.iter().chain(access.poison.iter().flatten()).for_each(|&reg| self.use_reg(reg));
    }

    fn backwards(&mut self) {
        let kernel = self.kernel;
        self.live = vec![0; kernel.regs.len().div_ceil(64)];
        kernel.exports.iter().for_each(|&reg| self.use_reg(reg));
        for pc in (0..kernel.code.len()).rev() {
            self.instr(pc, &kernel.code[pc]);
            if let Some(at) = self.at.get_mut(&(pc as Pc)) {
                let before = at.clone();
                join(at, &self.live);
                self.changed |= *at != before;
            }
        }
    }

    /// Is anything kept from one place to another?
    fn holds_any(&self, from: Pc, to: usize) -> bool {
        self.kept[from as usize..to].contains(&true)
    }

    fn instr(&mut self, pc: usize, instr: &Instr) {
        match instr {
            Instr::End | Instr::Barrier { .. } | Instr::CommitGroup | Instr::WaitGroup { .. } => {}
            Instr::Alloc { .. } | Instr::PoisonUse { .. } => {}
            Instr::Jump { to } => {
                self.live.fill(0);
                self.join_at(*to);
            }
            Instr::JumpIfNot { cond, to } => {
                self.join_at(*to);
                if self.holds_any(pc as Pc, self.end_of_branch(pc)) {
                    self.use_reg(*cond);
                }
            }
            // The arms are run one after the other, each by its lanes: of a lane, one of them is.
            Instr::EndIf => self.branches.push([self.live.clone(), self.live.clone()]),
            Instr::Else { .. } => {
                if let Some([after, second]) = self.branches.last_mut() {
                    *second = std::mem::replace(&mut self.live, after.clone());
                }
            }
            Instr::If { cond, .. } => {
                if let Some([_, second]) = self.branches.pop() {
                    join(&mut self.live, &second);
                }
                if self.holds_any(pc as Pc, self.end_of_branch(pc)) {
                    self.use_reg(*cond);
                }
            }
            Instr::NextUniform { hi, body, .. } | Instr::NextVarying { hi, body, .. } => {
                self.join_at(*body);
                if self.holds_any(*body, pc) {
                    self.use_reg(*hi);
                }
            }
            Instr::LoopUniform { iv, lo, hi, end, .. } | Instr::LoopVarying { iv, lo, hi, end, .. } => {
                self.kill(*iv);
                self.join_at(*end);
                if self.holds_any(pc as Pc, *end as usize) {
                    self.use_reg(*lo);
                    self.use_reg(*hi);
                }
            }
            Instr::Load(access) => {
                let is_used = self.is_live(access.value);
                self.kill(access.value);
                if is_used {
                    self.need(access);
                }
                if is_used || self.is_wanted(access, false) {
                    self.keep(pc);
                    self.use_place(access);
                }
            }
            Instr::Store(access) | Instr::Update { access, .. } => {
                let content = self.is_needed(access);
                let reads = matches!(instr, Instr::Update { .. }) && self.is_wanted(access, false);
                if content || reads || self.is_wanted(access, true) {
                    self.keep(pc);
                    self.use_place(access);
                }
                if content {
                    self.use_reg(access.value);
                }
            }
            Instr::Warp(warp) => self.warp(pc, warp),
            Instr::AsyncCopy(copy) => self.copy(pc, (&copy.to, &copy.from), copy.when, false),
            Instr::BulkCopy(copy) => {
                let updates = matches!(copy.way, BulkWay::Store { update: Some(_), .. });
                self.copy(pc, (&copy.to, &copy.from), NO_REG, updates);
            }
            Instr::Mbarrier(_) | Instr::BulkStep(_) => {}
            Instr::Shuffle(shuffle) => {
                if self.is_live(shuffle.dst) {
                    self.kill(shuffle.dst);
                    self.keep(pc);
                    self.use_reg(shuffle.lane);
                    self.use_reg(shuffle.value);
                }
            }
            Instr::Take { values, nth, .. } => {
                if values.iter().any(|&value| self.is_live(value)) {
                    self.keep(pc);
                    self.changed |= !std::mem::replace(&mut self.exchanges, true);
                    values.iter().for_each(|&value| self.kill(value));
                    self.use_reg(*nth);
                }
            }
            Instr::Offer { values, .. } => {
                if self.exchanges {
                    self.keep(pc);
                    values.iter().for_each(|&value| self.use_reg(value));
                }
            }
            _ => self.compute(pc, instr),
        }
    }

    /// The place after both arms of the branch at `pc`: of one that lanes take differently, its `end if`.
    fn end_of_branch(&self, pc: usize) -> usize {
        let code = &self.kernel.code;
        match code[pc] {
            Instr::If { otherwise, .. } => match code.get(otherwise as usize) {
                Some(Instr::Else { end }) => *end as usize,
                _ => otherwise as usize,
            },
            // The first arm ends with the jump over the second.
            Instr::JumpIfNot { to, .. } => match code[to as usize - 1] {
                Instr::Jump { to: end } => end as usize,
                _ => to as usize,
            },
            _ => pc,
        }
    }

    /// Arithmetic, and the poison of what it gives.
    fn compute(&mut self, pc: usize, instr: &Instr) {
        let Some((dst, sources)) = computed(instr) else { return };
        if !self.is_live(dst) {
            return;
        }
        self.keep(pc);
        // Poison is noted beside a value.
        let is_beside = matches!(instr, Instr::Poison { .. } | Instr::PoisonSelect { .. } | Instr::PoisonCopy { .. });
        if !is_beside {
            self.kill(dst);
        }
        sources.into_iter().for_each(|reg| self.use_reg(reg));
    }

    fn warp(&mut self, pc: usize, warp: &WarpInstr) {
        let into = |scan: &Scan<'_>, tile: &Operand| scan.is_needed(&tile.region.access);
        let (keeps, content) = match &warp.op {
            WarpOp::Fill { tile, .. } => (into(self, tile), into(self, tile)),
            WarpOp::Load { tile, from } => {
                let content = into(self, tile);
                (content || self.is_wanted(&from.region.access, false), content)
            }
            WarpOp::LoadMatrix { tile, row, .. } => {
                let content = into(self, tile);
                (content || self.is_wanted(&row.access, false), content)
            }
            WarpOp::Store { to, .. } => {
                let content = self.is_needed(&to.region.access);
                (content || self.is_wanted(&to.region.access, true), content)
            }
            WarpOp::Product { sum, .. } | WarpOp::GroupProduct { sum, .. } => (into(self, sum), into(self, sum)),
            // Nothing is read or written by what orders threads, and a slice runs them in lockstep.
            WarpOp::Meet(_) => (false, false),
        };
        if !keeps {
            return;
        }
        self.keep(pc);
        warp.regions().into_iter().for_each(|region| self.use_place(&region.access));
        if let WarpOp::Load { from: Memory { stride, .. }, .. } | WarpOp::Store { to: Memory { stride, .. }, .. } =
            warp.op
        {
            self.use_reg(stride);
        }
        if !content {
            return;
        }
        match &warp.op {
            WarpOp::Fill { value, .. } => self.use_reg(*value),
            WarpOp::Load { from, .. } => self.need(&from.region.access),
            WarpOp::LoadMatrix { row, .. } => self.need(&row.access),
            WarpOp::Store { tile, .. } => self.need(&tile.region.access),
            WarpOp::Product { sum, a, b, .. } => {
                [sum, a, b].map(|tile| self.need(&tile.region.access)).into_iter().collect()
            }
            WarpOp::GroupProduct { sum, sides: [a, b], .. } => {
                [&sum.region, a.region(), b.region()].map(|region| self.need(&region.access)).into_iter().collect()
            }
            WarpOp::Meet(_) => {}
        }
    }

    /// A copy, which reads what it goes to as well where it `updates` that.
    fn copy(&mut self, pc: usize, (to, from): (&Region, &Region), when: Reg, updates: bool) {
        let content = self.is_needed(&to.access);
        let wanted = self.is_wanted(&to.access, true)
            || self.is_wanted(&from.access, false)
            || updates && self.is_wanted(&to.access, false);
        if !content && !wanted {
            return;
        }
        self.keep(pc);
        self.use_place(&to.access);
        self.use_place(&from.access);
        self.use_reg(when);
        if content {
            self.need(&from.access);
        }
    }

    /// Does each iteration of the loop whose body is `body..next` make the same accesses? Nothing there depends on the
    /// loop's variable, or on what an iteration before computed.
    fn repeats_itself(&self, iv: Reg, (body, next): (Pc, usize)) -> bool {
        let Some(live) = self.at.get(&body) else { return false };
        let is_live = |reg: Reg| live.get(reg as usize / 64).is_some_and(|word| word >> (reg % 64) & 1 == 1);
        let carries = |instr: &Instr| match instr {
            Instr::Load(access) => is_live(access.value),
            Instr::Shuffle(shuffle) => is_live(shuffle.dst),
            Instr::Take { values, .. } => values.iter().any(|&value| is_live(value)),
            instr => computed(instr).is_some_and(|(dst, _)| is_live(dst)),
        };
        let kept = self.kept[body as usize..next].iter().zip(&self.kernel.code[body as usize..next]);
        let in_memory = !self.spaces.is_empty() || self.exchanges;
        !in_memory && !is_live(iv) && !kept.filter(|(kept, _)| **kept).any(|(_, instr)| carries(instr))
    }

    /// The kernel of what is kept.
    fn finish(self) -> Slice {
        let kernel = self.kernel;
        let code = &kernel.code;
        // Loops and branches that hold nothing go as a whole.
        let mut stays = vec![true; code.len()];
        for (pc, instr) in code.iter().enumerate() {
            let last = match instr {
                Instr::LoopUniform { end, .. } | Instr::LoopVarying { end, .. } => *end as usize - 1,
                Instr::If { .. } => self.end_of_branch(pc),
                Instr::JumpIfNot { .. } => self.end_of_branch(pc) - 1,
                _ => continue,
            };
            if !self.holds_any(pc as Pc, last + 1) {
                stays[pc..=last].fill(false);
            }
        }
        for (pc, instr) in code.iter().enumerate() {
            stays[pc] &= is_control(instr) || self.kept[pc];
        }
        for (pc, instr) in code.iter().enumerate() {
            if let Instr::NextUniform { iv, body, .. } = *instr {
                stays[pc] &= !self.repeats_itself(iv, (body, pc));
            }
        }
        let mut new_pc = Vec::with_capacity(code.len() + 1);
        let mut n: Pc = 0;
        for &stays in &stays {
            new_pc.push(n);
            n += Pc::from(stays);
        }
        new_pc.push(n);
        let moved = |(pc, instr): (usize, &Instr)| {
            let mut instr = match *instr {
                // One iteration tells all: its lanes come back as after a branch.
                Instr::NextVarying { iv, body, .. } if self.repeats_itself(iv, (body, pc)) => Instr::EndIf,
                _ => instr.clone(),
            };
            match &mut instr {
                Instr::If { otherwise: to, .. }
                | Instr::Else { end: to }
                | Instr::JumpIfNot { to, .. }
                | Instr::Jump { to }
                | Instr::LoopUniform { end: to, .. }
                | Instr::LoopVarying { end: to, .. }
                | Instr::NextUniform { body: to, .. }
                | Instr::NextVarying { body: to, .. } => *to = new_pc[*to as usize],
                _ => {}
            }
            instr
        };
        let kept = code.iter().enumerate().zip(&stays).filter(|(_, stays)| **stays);
        let code = kept.map(|(place, _)| moved(place)).collect();
        let warpgroups = Warpgroups { lone: kernel.warpgroups.lone, ..Warpgroups::default() };
        let kernel = Kernel { code, threaded: false, warpgroups, ..kernel.clone() };
        Slice { kernel, needs: self.needs }
    }
}

fn is_control(instr: &Instr) -> bool {
    matches!(
        instr,
        Instr::If { .. }
            | Instr::Else { .. }
            | Instr::EndIf
            | Instr::JumpIfNot { .. }
            | Instr::Jump { .. }
            | Instr::LoopUniform { .. }
            | Instr::NextUniform { .. }
            | Instr::LoopVarying { .. }
            | Instr::NextVarying { .. }
            | Instr::End
    )
}

/// The register that arithmetic fills, and those that it takes.
fn computed(instr: &Instr) -> Option<(Reg, Vec<Reg>)> {
    Some(match *instr {
        Instr::Int { dst, a, b, .. }
        | Instr::Float { dst, a, b, .. }
        | Instr::And { dst, a, b }
        | Instr::Or { dst, a, b }
        | Instr::Cmp { dst, a, b, .. }
        | Instr::Ramp { dst, base: a, stride: b, .. } => (dst, vec![a, b]),
        Instr::Not { dst, a }
        | Instr::Unary { dst, a, .. }
        | Instr::Cast { dst, a, .. }
        | Instr::Broadcast { dst, a }
        | Instr::Copy { dst, src: a }
        | Instr::PoisonCopy { dst, src: a } => (dst, vec![a]),
        Instr::Fma { dst, a, b, c, .. } | Instr::Select { dst, cond: a, a: b, b: c } => (dst, vec![a, b, c]),
        Instr::Mag { dst, value, args, mags, .. } => {
            (dst, std::iter::once(value).chain(args).chain(mags).filter(|&reg| reg != NO_REG).collect())
        }
        Instr::Poison { dst, ref srcs } => (dst, srcs.to_vec()),
        Instr::PoisonSelect { dst, cond, arms } => {
            (dst, std::iter::once(cond).chain(arms).filter(|&reg| reg != NO_REG).collect())
        }
        _ => return None,
    })
}
