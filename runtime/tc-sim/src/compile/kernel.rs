//! A kernel in the making: registers, constants, sites, buffers.

use crate::cell::Cell;
use crate::code::{BufDecl, BufId, Instr, Kernel, NO_REG, Pc, Preload, Reg, Site, Space, Window};
use crate::domain::Domain;
use std::collections::BTreeMap;
use tc_dialects::tir::Coordinate;
use tc_dialects::update::UpdateKind;
use tc_ir::{Elem, Scalar};
use tc_support::{Location, gcd};

/// Where a value is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Val {
    pub(crate) reg: Reg,
    /// The register of what runs beside it, or `NO_REG`.
    pub(crate) mag: Reg,
    pub(crate) ty: Scalar,
    /// Not the same in all lanes, as far as is known.
    pub(crate) varying: bool,
    /// May come from a read out of range.
    pub(crate) poison: bool,
    /// The register is this value's alone, and is free after its last use.
    pub(crate) owned: bool,
}

/// A kernel in the making.
pub(crate) struct KernelBuilder {
    pub(crate) kernel: Kernel,
    /// What floats are.
    pub(crate) domain: Domain,
    /// An operator is evaluated: poison is followed.
    pub(crate) is_te: bool,
    /// Free registers of each class.
    free: BTreeMap<(bool, u16, bool), Vec<Reg>>,
    constants: BTreeMap<Cell, Reg>,
    coordinates: [Option<Val>; 6],
    host: BTreeMap<usize, Val>,
    globals: BTreeMap<usize, BufId>,
}

impl KernelBuilder {
    pub(crate) fn new(kernel: Kernel, domain: Domain, is_te: bool) -> KernelBuilder {
        KernelBuilder {
            kernel,
            domain,
            is_te,
            free: BTreeMap::new(),
            constants: BTreeMap::new(),
            coordinates: [None; 6],
            host: BTreeMap::new(),
            globals: BTreeMap::new(),
        }
    }

    pub(crate) fn emit(&mut self, instr: Instr) -> Pc {
        self.kernel.code.push(instr);
        self.kernel.code.len() as Pc - 1
    }

    pub(crate) fn pc(&self) -> Pc {
        self.kernel.code.len() as Pc
    }

    pub(crate) fn site(&mut self, location: Location, is_store: bool) -> Site {
        self.kernel.sites.push(location);
        self.kernel.stores.push(is_store);
        self.kernel.site_base + self.kernel.sites.len() as Site - 1
    }

    /// The kernel writes `buf`, or reads it.
    pub(crate) fn mark_accessed(&mut self, buf: BufId, is_store: bool) {
        let list = if is_store { &mut self.kernel.writes } else { &mut self.kernel.reads };
        if let Space::Global(idx) = self.kernel.buffers[buf as usize].space {
            set(list, idx);
        }
    }

    /// The kernel updates `buf` atomically, at `site`.
    pub(crate) fn mark_updated(&mut self, buf: BufId, site: Site, kind: UpdateKind) {
        let elem = self.kernel.buffers[buf as usize].elem;
        self.kernel.update_sites.insert(site, (kind, elem));
        // That it is written is known of the place.
        self.mark_accessed(buf, false);
        if let Space::Global(idx) = self.kernel.buffers[buf as usize].space {
            set(&mut self.kernel.updates, idx);
        }
    }

    pub(crate) fn reg(&mut self, varying: bool, lanes: u16, poison: bool) -> Reg {
        if let Some(reg) = self.free.get_mut(&(varying, lanes, poison)).and_then(Vec::pop) {
            return reg;
        }
        self.kernel.regs.push(if varying { lanes } else { 0 });
        self.kernel.poisoned.push(poison);
        self.kernel.regs.len() as Reg - 1
    }

    /// A fresh value. Only a plain number can be uniform.
    pub(crate) fn value(&mut self, ty: Scalar, varying: bool, poison: bool) -> Val {
        let varying = varying || ty.lanes > 1;
        let reg = self.reg(varying, ty.lanes, poison);
        let mag = if self.domain.has_companions() && ty.elem.is_float() {
            self.reg(varying, ty.lanes, false)
        } else {
            NO_REG
        };
        Val { reg, mag, ty, varying, poison, owned: true }
    }

    pub(crate) fn release(&mut self, value: Val) {
        if value.owned {
            self.free.entry((value.varying, value.ty.lanes, value.poison)).or_default().push(value.reg);
            if value.mag != NO_REG {
                self.free.entry((value.varying, value.ty.lanes, false)).or_default().push(value.mag);
            }
        }
    }

    fn preloaded(&mut self, preload: Preload, varying: bool) -> Reg {
        self.preloaded_lanes(preload, u16::from(varying))
    }

    /// A register of `comps` components, or a uniform one for 0.
    fn preloaded_lanes(&mut self, preload: Preload, comps: u16) -> Reg {
        self.kernel.regs.push(comps);
        self.kernel.poisoned.push(false);
        let reg = self.kernel.regs.len() as Reg - 1;
        self.kernel.preloads.push((reg, preload));
        reg
    }

    /// The literal of type `elem` that `cell` is in the domain of numbers.
    pub(crate) fn constant(&mut self, elem: Elem, cell: Cell) -> Val {
        let (cell, companion) = self.domain.literal(elem, cell);
        let reg = self.constant_reg(cell);
        let has_companion = self.domain.has_companions() && elem.is_float();
        let mag = if has_companion { self.constant_reg(companion) } else { NO_REG };
        Val { reg, mag, ty: Scalar::of(elem), varying: false, poison: false, owned: false }
    }

    fn constant_reg(&mut self, cell: Cell) -> Reg {
        if let Some(&reg) = self.constants.get(&cell) {
            return reg;
        }
        let reg = self.preloaded(Preload::Const(cell), false);
        self.constants.insert(cell, reg);
        reg
    }

    /// A coordinate of the launch, counted from 0.
    pub(crate) fn coordinate(&mut self, coordinate: Coordinate) -> Val {
        if let Some(known) = self.coordinates[coordinate.index()] {
            return known;
        }
        let dims = if coordinate.is_thread() { self.kernel.block } else { self.kernel.grid };
        let value = if dims[coordinate.dim()] <= 1 {
            self.constant(Elem::Index, 0)
        } else {
            let varying = coordinate.is_thread() || self.kernel.batch > 1;
            let reg = self.preloaded(Preload::Coordinate(coordinate), varying);
            Val { reg, mag: NO_REG, ty: Scalar::of(Elem::Index), varying, poison: false, owned: false }
        };
        self.coordinates[coordinate.index()] = Some(value);
        value
    }

    /// An axis of a stage of an operator.
    pub(crate) fn axis(&mut self, axis: usize) -> Val {
        let reg = self.preloaded(Preload::Axis(axis), true);
        Val { reg, mag: NO_REG, ty: Scalar::of(Elem::Index), varying: true, poison: false, owned: false }
    }

    /// A number or a vector that was computed before the launch.
    pub(crate) fn host_value(&mut self, slot: usize, ty: Scalar) -> Val {
        if let Some(&known) = self.host.get(&slot) {
            return known;
        }
        // Only a plain number can be uniform.
        let varying = ty.lanes > 1;
        let comps = if varying { ty.lanes } else { 0 };
        let reg = self.preloaded_lanes(Preload::Host(slot), comps);
        let mut value = Val { reg, mag: NO_REG, ty, varying, poison: false, owned: false };
        if self.domain.has_companions() && ty.elem.is_float() {
            // Ranges are computed before the launch as well, and have the slots that follow.
            let companion = match self.domain {
                Domain::Field => Preload::Host(slot + usize::from(ty.lanes.max(1))),
                Domain::Numbers | Domain::Magnitudes => Preload::HostMag(slot, ty.elem),
            };
            value.mag = self.preloaded_lanes(companion, comps);
        }
        self.host.insert(slot, value);
        value
    }

    /// The buffer of this kernel that stands for the function's global number `idx`.
    pub(crate) fn global(&mut self, idx: usize, decl: &BufDecl) -> BufId {
        if let Some(&known) = self.globals.get(&idx) {
            return known;
        }
        self.kernel.buffers.push(decl.clone());
        let buf = self.kernel.buffers.len() as BufId - 1;
        self.globals.insert(idx, buf);
        buf
    }

    /// A buffer that is one a block or one a thread.
    pub(crate) fn on_chip(&mut self, mut decl: BufDecl) -> BufId {
        let buf = self.kernel.buffers.len() as BufId;
        let list = match decl.space {
            Space::Shared(_) => &mut self.kernel.shared,
            Space::Warp(_) => &mut self.kernel.tiles,
            _ => &mut self.kernel.local,
        };
        match &mut decl.space {
            Space::Shared(idx) | Space::Warp(idx) | Space::Local(idx) | Space::Global(idx) => *idx = list.len(),
        }
        list.push(buf);
        self.kernel.buffers.push(decl);
        buf
    }

    /// Divides the memory of buffers that lie inside one another into cells that all elements are made of.
    pub(crate) fn settle_windows(&mut self) {
        let kernel = &mut self.kernel;
        let mut accessed = vec![false; kernel.buffers.len()];
        for instr in &kernel.code {
            match instr {
                Instr::Load(access) | Instr::Store(access) | Instr::Update { access, .. } => {
                    accessed[access.buf as usize] = true;
                }
                Instr::Warp(warp) => {
                    warp.regions().into_iter().for_each(|region| accessed[region.access.buf as usize] = true);
                }
                Instr::AsyncCopy(copy) => {
                    [&copy.to, &copy.from].into_iter().for_each(|region| accessed[region.access.buf as usize] = true);
                }
                Instr::BulkCopy(copy) => {
                    [&copy.to, &copy.from].into_iter().for_each(|region| accessed[region.access.buf as usize] = true);
                }
                _ => {}
            }
        }
        for list in [&kernel.shared, &kernel.local] {
            for &base in list {
                let space = kernel.buffers[base as usize].space;
                let inside = |decl: &BufDecl| decl.space == space;
                if !kernel.buffers.iter().any(|decl| inside(decl) && decl.window.is_some()) {
                    continue;
                }
                let mut cell_bytes = 0;
                for (decl, _) in kernel.buffers.iter().zip(&accessed).filter(|(decl, used)| **used && inside(decl)) {
                    let start = decl.window.map_or(0, |window| window.start_byte);
                    cell_bytes = gcd(gcd(cell_bytes, decl.elem.bytes() as usize), start);
                }
                let cell_bytes = cell_bytes.max(1);
                for decl in kernel.buffers.iter_mut().filter(|decl| decl.space == space) {
                    let start_byte = decl.window.map_or(0, |window| window.start_byte);
                    let n_cells = decl.elem.bytes() as usize / cell_bytes;
                    decl.window = Some(Window { start_byte, start: start_byte / cell_bytes, cell_bytes, n_cells });
                }
                let base = &mut kernel.buffers[base as usize];
                base.cells = base.bytes().div_ceil(cell_bytes);
            }
        }
    }

    /// Sets the target of a jump to the next instruction.
    pub(crate) fn land(&mut self, at: Pc) {
        let here = self.pc();
        match &mut self.kernel.code[at as usize] {
            Instr::If { otherwise: to, .. }
            | Instr::Else { end: to }
            | Instr::JumpIfNot { to, .. }
            | Instr::Jump { to }
            | Instr::LoopUniform { end: to, .. }
            | Instr::LoopVarying { end: to, .. } => *to = here,
            _ => {}
        }
    }
}
fn set(list: &mut Vec<bool>, idx: usize) {
    list.resize(list.len().max(idx + 1), false);
    list[idx] = true;
}
