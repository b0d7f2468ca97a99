//! What loads and stores have in common: which cells the lanes access, whether they may, whether they are aligned.

use super::block::{BlockState, Launch};
use super::group::{Group, for_lanes};
use crate::cell::Cell;
use crate::code::{Access, BufDecl};
use std::mem;

/// The cells that the lanes of one component access.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Addr {
    /// All the same.
    One(usize),
    /// Each its own, in `Group::addrs`.
    Each,
}

/// An access in progress: the op, its buffer, the component at hand.
#[derive(Clone, Copy)]
pub(crate) struct At<'a> {
    pub(crate) access: &'a Access,
    pub(crate) decl: &'a BufDecl,
    pub(crate) comp: usize,
    pub(crate) n_comps: usize,
    /// The cells are told by `Group::addrs`, not by the indices.
    pub(crate) spelled: bool,
    /// It is an asynchronous copy that stores.
    pub(crate) copies: bool,
    /// A bulk copy or a product does it in the background: whoever does so looks at what orders it.
    pub(crate) background: bool,
}

/// What a lane has of a register, which holds one cell for all lanes or one for each.
#[inline(always)]
pub(super) fn of_lane(cells: &[Cell], lane: usize) -> Cell {
    if cells.len() == 1 { cells[0] } else { cells[lane] }
}

impl Group {
    /// The cell that a lane accesses.
    #[inline(always)]
    pub(super) fn cell_at(&self, addr: Addr, lane: usize) -> usize {
        match addr {
            Addr::One(cell) => cell,
            Addr::Each => self.addrs[lane],
        }
    }

    pub(super) fn at<'a>(&self, access: &'a Access, launch: &Launch<'a>) -> At<'a> {
        let decl = &launch.kernel.buffers[access.buf as usize];
        At {
            access,
            decl,
            comp: 0,
            n_comps: usize::from(access.index_lanes.max(decl.lanes)),
            spelled: false,
            copies: false,
            background: false,
        }
    }

    /// The index in dimension `dim` of a lane.
    pub(crate) fn index(&self, at: At<'_>, dim: usize, lane: usize) -> i64 {
        let cells = &self.regs[at.access.indices[dim] as usize];
        let is_vector = at.access.index_lanes > 1 && dim + 1 == at.access.indices.len();
        let start = if is_vector { at.comp * self.n } else { 0 };
        (if cells.len() == 1 { cells[0] } else { cells[start + lane] }) as i64
    }

    /// Finds the cells that one component accesses. Lanes that are out of bounds leave `self.live`.
    pub(super) fn address(&mut self, at: At<'_>, launch: &Launch<'_>, block: &mut BlockState) -> Addr {
        self.live.copy_from_slice(&self.mask);
        let (mut fixed, mut bad, mut addr) = (0i64, false, Addr::One(0));
        for (dim, (&extent, &stride)) in at.decl.shape.iter().zip(&at.decl.strides).enumerate() {
            let cells = &self.regs[at.access.indices[dim] as usize];
            if cells.len() == 1 {
                bad |= cells[0] >= extent;
                fixed = fixed.wrapping_add((cells[0] as i64).wrapping_mul(stride));
                continue;
            }
            let is_vector = at.access.index_lanes > 1 && dim + 1 == at.access.indices.len();
            let start = if is_vector { at.comp * self.n } else { 0 };
            let is_first = mem::replace(&mut addr, Addr::Each) != Addr::Each;
            for (addr, &cell) in self.addrs.iter_mut().zip(&cells[start..start + self.n]) {
                bad |= cell >= extent;
                let part = (cell as i64).wrapping_mul(stride) as usize;
                *addr = if is_first { part } else { addr.wrapping_add(part) };
            }
        }
        if bad {
            self.leave_out_of_bounds(at, launch, block);
        }
        let lanes = usize::from(at.decl.lanes);
        let comp = if lanes > 1 { at.comp } else { 0 };
        let fixed = fixed as usize;
        match addr {
            Addr::One(_) => Addr::One(fixed.wrapping_mul(lanes).wrapping_add(comp)),
            Addr::Each => {
                for addr in &mut self.addrs {
                    *addr = addr.wrapping_add(fixed).wrapping_mul(lanes).wrapping_add(comp);
                }
                Addr::Each
            }
        }
    }

    fn leave_out_of_bounds(&mut self, at: At<'_>, launch: &Launch<'_>, block: &mut BlockState) {
        let mut out = mem::take(&mut self.live);
        let active = out.clone();
        for_lanes(&active, |lane| {
            let inside =
                at.decl.shape.iter().enumerate().all(|(dim, &extent)| (self.index(at, dim, lane) as u64) < extent);
            if inside {
                return;
            }
            out[lane / 64] &= !(1 << (lane % 64));
            if at.access.poison.is_none() {
                self.report_out_of_bounds(at, lane, launch, block);
            }
        });
        self.live = out;
    }

    /// Does an access that says so start at a multiple of its alignment, without gaps?
    pub(super) fn check_aligned(
        &self,
        at: At<'_>,
        addr: Addr,
        first: &[usize],
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        let bytes = at.decl.elem.bytes() as usize;
        let aligned = at.access.aligned as usize;
        let start = at.decl.window.map_or(0, |window| window.start_byte);
        for_lanes(&self.live, |lane| {
            let addr = self.cell_at(addr, lane);
            if at.comp == 0 && !(start + addr * bytes).is_multiple_of(aligned) {
                self.report_misaligned(at, lane, start + addr * bytes, launch, block);
            } else if at.comp > 0 && addr != first[lane].wrapping_add(at.comp) {
                self.report_gap(at, lane, launch, block);
            }
        });
    }

    pub(super) fn spelled_out(&self, addr: Addr) -> Vec<usize> {
        match addr {
            Addr::One(addr) => vec![addr; self.n],
            Addr::Each => self.addrs.clone(),
        }
    }
}
