//! A group of threads that run the same instruction at the same time: the block where the program is phased, a
//! warp, or a warpgroup, where it is threaded; small blocks run side by side in one group.

use super::async_copy::Copies;
use super::block::{BlockState, Cells, Launch, WARP};
use super::mbarrier::Waiting;
use super::products::Products;
use crate::cell::{Cell, float_of};
use crate::code::{BarrierScope, Instr, Kernel, Pc, Preload, Reg, Site};
use crate::lanes;
use crate::magnitude;
use crate::memory::{Local, Tiles};
use std::mem;

/// Lanes that take part, a bit each.
pub(crate) type Mask = Vec<u64>;

pub(crate) fn for_lanes(mask: &[u64], mut visit: impl FnMut(usize)) {
    for (word, &bits) in mask.iter().enumerate() {
        let mut left = bits;
        while left != 0 {
            visit(word * 64 + left.trailing_zeros() as usize);
            left &= left - 1;
        }
    }
}

pub(crate) fn first_lane(mask: &[u64]) -> Option<usize> {
    let word = mask.iter().position(|&bits| bits != 0)?;
    Some(word * 64 + mask[word].trailing_zeros() as usize)
}

/// Why a group stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Event {
    /// It is through.
    Done,
    /// It waits at a barrier over the whole block.
    Barrier(BarrierScope, Site),
    /// It waits for a phase of a barrier in shared memory.
    Wait(Waiting),
    /// The run costs too much.
    Abort,
}

impl Event {
    pub(super) fn is_wait(&self) -> bool {
        matches!(self, Event::Wait(_))
    }
}

/// Lanes that wait for a branch or a loop to end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    pub(crate) site: Site,
    pub(super) is_branch: bool,
    /// Where it begins.
    pub(super) at: Pc,
}

/// A group and where it stands.
pub(crate) struct Group {
    pub(crate) n: usize,
    pub(crate) words: usize,
    /// The thread of lane 0 within its block.
    pub(crate) thread0: u32,
    /// Threads of a block in this group.
    pub(crate) per_block: usize,
    /// The first of its blocks, among those that run side by side.
    pub(crate) slot0: usize,
    /// The block of the cluster that a copy is brought to, if it is another.
    pub(super) toward: Option<usize>,
    pub(crate) regs: Vec<Vec<Cell>>,
    pub(crate) poison: Vec<Vec<u64>>,
    pub(crate) mask: Mask,
    /// All lanes that exist.
    pub(crate) all: Mask,
    /// Masks that wait, and the branches and loops they wait for.
    pub(super) saved: Vec<u64>,
    pub(crate) frames: Vec<Frame>,
    pub(super) pc: Pc,
    pub(crate) locals: Vec<Local>,
    pub(crate) tiles: Vec<Tiles>,
    pub(super) copies: Copies,
    pub(super) products: Products,
    /// The lane that a bulk copy is of, whichever lanes carry it out.
    pub(super) speaker: Option<usize>,
    /// How often each shared buffer was made by this group.
    pub(super) n_made: Vec<u64>,
    /// How often this group has come to a reduction across threads.
    pub(super) n_met: usize,
    /// Barriers that each warp alone has passed.
    pub(crate) warp_epochs: Vec<u32>,
    /// Work space: the cells that the lanes access, and the lanes that may.
    pub(crate) addrs: Vec<usize>,
    pub(crate) live: Mask,
    /// In an operator: the read that made a lane's poison.
    pub(crate) culprits: Vec<Site>,
    pub(super) scratch: Mask,
}

impl Group {
    pub(crate) fn new(launch: &Launch<'_>, thread0: u32, per_block: usize, blocks: usize) -> Group {
        let kernel = launch.kernel;
        let n = per_block * blocks;
        let words = n.div_ceil(64);
        let poison = |&is_poison: &bool| vec![0; if is_poison { words } else { 0 }];
        Group {
            n,
            words,
            thread0,
            per_block,
            slot0: 0,
            toward: None,
            regs: kernel.regs.iter().map(|&comps| vec![0; (n * usize::from(comps)).max(1)]).collect(),
            poison: kernel.poisoned.iter().map(poison).collect(),
            mask: vec![0; words],
            all: vec![0; words],
            saved: Vec::new(),
            frames: Vec::new(),
            pc: 0,
            locals: kernel
                .local
                .iter()
                .map(|&buf| Local::new(kernel.buffers[buf as usize].cells, n, launch.domain.has_companions()))
                .collect(),
            tiles: kernel
                .tiles
                .iter()
                .map(|&buf| {
                    let decl = &kernel.buffers[buf as usize];
                    let crews = blocks * per_block.div_ceil(decl.threads);
                    Tiles::new((decl.cells, decl.threads), crews, launch.domain.has_companions())
                })
                .collect(),
            copies: Copies::new(n),
            products: Products::new(kernel, blocks, per_block),
            speaker: None,
            n_made: vec![0; kernel.shared.len()],
            n_met: 0,
            warp_epochs: vec![0; blocks * per_block.div_ceil(WARP)],
            addrs: vec![0; n],
            live: vec![0; words],
            culprits: vec![0; if launch.cells.is_some() { n } else { 0 }],
            scratch: vec![0; words],
        }
    }

    /// Makes it ready to run from the start with its first `n_active` lanes.
    pub(crate) fn start(&mut self, launch: &Launch<'_>, blocks: &[u64], n_active: usize) {
        for (word, bits) in self.all.iter_mut().enumerate() {
            let left = n_active.saturating_sub(word * 64).min(64);
            *bits = if left == 64 { u64::MAX } else { (1 << left) - 1 };
        }
        self.mask.copy_from_slice(&self.all);
        self.pc = 0;
        self.saved.clear();
        self.frames.clear();
        self.n_made.fill(0);
        self.n_met = 0;
        self.warp_epochs.fill(0);
        for local in &mut self.locals {
            local.written.fill(0);
        }
        self.tiles.iter_mut().for_each(|tiles| tiles.written.fill(false));
        self.copies.reset();
        self.products.reset();
        for &(reg, preload) in &launch.kernel.preloads {
            let mut cells = mem::take(&mut self.regs[reg as usize]);
            self.preload(launch, blocks, preload, &mut cells);
            self.regs[reg as usize] = cells;
        }
    }

    fn preload(&self, launch: &Launch<'_>, blocks: &[u64], preload: Preload, cells: &mut [Cell]) {
        match preload {
            Preload::Const(value) => cells.fill(value),
            Preload::Host(slot) => self.fill_components(cells, |comp| launch.host[slot + comp]),
            Preload::HostMag(slot, elem) => {
                self.fill_components(cells, |comp| float_of(elem, launch.host[slot + comp]).abs().to_bits());
            }
            Preload::Coordinate(coordinate) => {
                let kernel = launch.kernel;
                let dims = if coordinate.is_thread() { kernel.block } else { kernel.grid };
                let below: u64 = dims[..coordinate.dim()].iter().product();
                for (lane, cell) in cells.iter_mut().enumerate() {
                    let linear = if coordinate.is_thread() {
                        u64::from(self.thread_of(lane))
                    } else {
                        blocks.get(self.slot_of(lane)).copied().unwrap_or(0)
                    };
                    *cell = linear / below % dims[coordinate.dim()];
                }
            }
            Preload::Axis(axis) => match launch.cells {
                Some(Cells::Dense { lows, extents } | Cells::Some { lows, extents, .. }) => {
                    let below: u64 = extents[axis + 1..].iter().product();
                    for (lane, cell) in cells.iter_mut().enumerate() {
                        let nth = blocks[0] + lane as u64;
                        let nth = match launch.cells {
                            Some(Cells::Some { flat, .. }) => flat.get(nth as usize).copied().unwrap_or(0),
                            _ => nth,
                        };
                        let position = nth / below.max(1) % extents[axis].max(1);
                        *cell = lows[axis].wrapping_add(position as i64) as u64;
                    }
                }
                None => {}
            },
        }
    }

    /// Gives each component of a value, which all lanes share, what `cell` says.
    fn fill_components(&self, cells: &mut [Cell], cell: impl Fn(usize) -> Cell) {
        for (comp, cells) in cells.chunks_mut(self.n).enumerate() {
            cells.fill(cell(comp));
        }
    }

    /// The values of the kernel's exports, which the first lane holds.
    pub(crate) fn exports(&self, kernel: &Kernel) -> Vec<Cell> {
        let comps = |reg: Reg| usize::from(kernel.regs[reg as usize]).max(1);
        let cells = |reg: Reg| (0..comps(reg)).map(move |comp| self.regs[reg as usize][comp * self.n]);
        kernel.exports.iter().flat_map(|&reg| cells(reg)).collect()
    }

    /// The number of a thread. The threads of a cluster are counted through its blocks.
    pub(crate) fn thread_of(&self, lane: usize) -> u32 {
        self.thread0 + (lane % self.per_block) as u32
    }

    /// The number of a thread in its block.
    pub(super) fn thread_in_block(&self, lane: usize, launch: &Launch<'_>) -> u32 {
        match launch.cells {
            Some(_) => self.thread_of(lane),
            None => self.thread_of(lane) % launch.kernel.threads().max(1) as u32,
        }
    }

    /// The warps, or warpgroups, of `width` threads of this group, those that lack lanes included.
    pub(super) fn n_crews(&self, width: usize) -> usize {
        self.n / self.per_block * self.per_block.div_ceil(width)
    }

    /// The block of a lane, or that which it brings something to, among those that run side by side.
    pub(crate) fn slot_of(&self, lane: usize) -> usize {
        self.toward.unwrap_or(self.own_slot(lane))
    }

    /// The block of a lane.
    pub(super) fn own_slot(&self, lane: usize) -> usize {
        self.slot0 + lane / self.per_block
    }

    /// The blocks of the group, among those that run side by side.
    pub(super) fn slots(&self) -> std::ops::Range<usize> {
        self.slot0..self.slot0 + self.n / self.per_block
    }

    /// Runs until something stops it.
    pub(crate) fn run(&mut self, launch: &Launch<'_>, block: &mut BlockState) -> Event {
        let code = &launch.kernel.code[..];
        loop {
            let instr = &code[self.pc as usize];
            self.pc += 1;
            block.steps += self.n as u64;
            match instr {
                Instr::If { .. }
                | Instr::Else { .. }
                | Instr::EndIf
                | Instr::JumpIfNot { .. }
                | Instr::Jump { .. }
                | Instr::LoopUniform { .. }
                | Instr::NextUniform { .. }
                | Instr::LoopVarying { .. }
                | Instr::NextVarying { .. } => {
                    if self.control(instr, launch, block) {
                        return Event::Abort;
                    }
                }
                Instr::Load(access) => self.load(access, launch, block),
                Instr::Store(access) => self.store(access, launch, block),
                Instr::Update { access, kind } => self.update(access, *kind, launch, block),
                Instr::Alloc { buf } => self.alloc(launch.kernel.buffers[*buf as usize].space, block),
                Instr::Barrier { scope, site } => {
                    if let Some(event) = self.barrier(*scope, *site, launch, block) {
                        return event;
                    }
                }
                Instr::Shuffle(shuffle) => self.shuffle(shuffle, launch, block),
                Instr::Warp(instr) => self.warp_instr(instr, launch, block),
                Instr::AsyncCopy(copy) => self.async_copy(copy, launch, block),
                Instr::BulkCopy(copy) => self.bulk_copy(copy, launch, block),
                Instr::Mbarrier(instr) => {
                    if let Some(event) = self.mbarrier(instr, launch, block) {
                        return event;
                    }
                }
                Instr::BulkStep(step) => self.bulk_step(*step, block),
                Instr::CommitGroup => self.commit_group(),
                Instr::WaitGroup { pending } => self.wait_group(*pending, launch, block),
                Instr::Offer { values, site } => {
                    self.offer(values, launch, block);
                    if let Some(event) = self.barrier(BarrierScope::Reduction, *site, launch, block) {
                        return event;
                    }
                }
                Instr::Take { values, nth, axes } => self.take(values, *nth, *axes, launch, block),
                Instr::End => {
                    self.report_unawaited(launch, block);
                    self.report_unawaited_products(launch, block);
                    return Event::Done;
                }
                Instr::PoisonUse { cond, site } => self.poison_use(*cond, *site, launch, block),
                Instr::Poison { .. } | Instr::PoisonSelect { .. } | Instr::PoisonCopy { .. } => {
                    self.spread(instr);
                }
                Instr::Field(instr) => self.field(instr, launch, block),
                _ => self.compute(instr, launch, block),
            }
        }
    }

    /// Arithmetic.
    fn compute(&mut self, instr: &Instr, launch: &Launch<'_>, block: &mut BlockState) {
        let dst_reg = match *instr {
            Instr::Int { dst, .. }
            | Instr::Float { dst, .. }
            | Instr::And { dst, .. }
            | Instr::Or { dst, .. }
            | Instr::Not { dst, .. }
            | Instr::Unary { dst, .. }
            | Instr::Fma { dst, .. }
            | Instr::Cmp { dst, .. }
            | Instr::Select { dst, .. }
            | Instr::Cast { dst, .. }
            | Instr::Ramp { dst, .. }
            | Instr::Broadcast { dst, .. }
            | Instr::Mag { dst, .. }
            | Instr::Copy { dst, .. } => dst,
            _ => return,
        };
        // The compiler gives no op a result in the register of one of its operands.
        let mut taken = mem::take(&mut self.regs[dst_reg as usize]);
        let dst = &mut taken[..];
        let reg = |reg: Reg| &self.regs[reg as usize][..];
        let mut bad = false;
        match *instr {
            Instr::Int { op, elem, a, b, .. } => bad = lanes::int(op, elem, dst, reg(a), reg(b)),
            Instr::Float { op, elem, a, b, .. } => lanes::float(op, elem, dst, reg(a), reg(b)),
            Instr::And { a, b, .. } => lanes::map2(dst, reg(a), reg(b), |a, b| a & b),
            Instr::Or { a, b, .. } => lanes::map2(dst, reg(a), reg(b), |a, b| a | b),
            Instr::Not { a, .. } => lanes::map1(dst, reg(a), |a| a ^ 1),
            Instr::Unary { op, elem, a, .. } => bad = lanes::unary(op, elem, dst, reg(a)),
            Instr::Fma { elem, a, b, c, .. } => {
                let at = |cells: &[Cell], lane: usize| if cells.len() == 1 { cells[0] } else { cells[lane] };
                for (lane, d) in dst.iter_mut().enumerate() {
                    *d = lanes::fma_one(elem, at(reg(a), lane), at(reg(b), lane), at(reg(c), lane));
                }
            }
            Instr::Cmp { predicate, elem, a, b, .. } => lanes::cmp(predicate, elem, dst, reg(a), reg(b)),
            Instr::Select { cond, a, b, .. } => select(dst, reg(cond), reg(a), reg(b)),
            Instr::Cast { from, to, a, .. } => bad = lanes::cast(from, to, dst, reg(a)),
            Instr::Ramp { elem, base, stride, lanes: n_lanes, .. } => {
                bad = ramp(elem, usize::from(n_lanes), dst, reg(base), reg(stride));
            }
            Instr::Broadcast { a, .. } => {
                let a = reg(a);
                dst.chunks_mut(a.len()).for_each(|part| part.copy_from_slice(a));
            }
            Instr::Mag { rule, elem, value, args, mags, .. } => {
                magnitude::apply(
                    rule,
                    elem,
                    dst,
                    reg(value),
                    args.map(|arg| self.optional(arg)),
                    mags.map(|mag| self.optional(mag)),
                );
            }
            Instr::Copy { src, .. } => self.copy(dst, reg(src)),
            _ => {}
        }
        self.regs[dst_reg as usize] = taken;
        if bad {
            self.report_arithmetic(instr, launch, block);
        }
    }

    fn optional(&self, reg: Reg) -> &[Cell] {
        self.regs.get(reg as usize).map_or(&[], |cells| &cells[..])
    }

    /// A copy in the lanes that take part.
    fn copy(&self, dst: &mut [Cell], src: &[Cell]) {
        if self.mask == self.all {
            return lanes::map1(dst, src, |a| a);
        }
        if dst.len() == 1 {
            dst[0] = src[0];
            return;
        }
        for part in 0..dst.len() / self.n {
            let start = part * self.n;
            for_lanes(&self.mask, |lane| dst[start + lane] = if src.len() == 1 { src[0] } else { src[start + lane] });
        }
    }
}

fn select(dst: &mut [Cell], cond: &[Cell], a: &[Cell], b: &[Cell]) {
    let at = |cells: &[Cell], lane: usize| if cells.len() == 1 { cells[0] } else { cells[lane] };
    // A condition of one lane chooses all components of a vector.
    let n = cond.len();
    for (lane, d) in dst.iter_mut().enumerate() {
        *d = if cond[lane % n] != 0 { at(a, lane) } else { at(b, lane) };
    }
}

fn ramp(elem: tc_ir::Elem, n_lanes: usize, dst: &mut [Cell], base: &[Cell], stride: &[Cell]) -> bool {
    let n = dst.len() / n_lanes;
    let mut bad = false;
    for (comp, part) in dst.chunks_mut(n).enumerate() {
        for (lane, d) in part.iter_mut().enumerate() {
            let at = |cells: &[Cell]| if cells.len() == 1 { cells[0] } else { cells[lane] };
            match lanes::ramp_one(elem, at(base), at(stride), comp) {
                Some(value) => *d = value,
                None => (*d, bad) = (0, true),
            }
        }
    }
    bad
}
