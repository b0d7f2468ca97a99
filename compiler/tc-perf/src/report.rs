//! What is told of a kernel.

use crate::counts::{Cost, Counts, count};
use crate::estimate::{self, Time};
use crate::registers;
use crate::touch::{Direction, Touch};
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;
use tc_dialects::forms::DEVICE;
use tc_dialects::fragment::Family;
use tc_dialects::scope::Memory;
use tc_dialects::threads::{Meeting, begins_bulk_copy, is_by_mbarrier, meeting};
use tc_ir::verify::verify;
use tc_ir::walk::all_ops;
use tc_ir::{Func, Module, Op};
use tc_kernel::facts::Facts;
use tc_kernel::{host, job};
use tc_support::{Diagnostic, Diagnostics, Location};
use tc_target::{Machine, Resources, Target, Unit};

/// How the threads of a warpgroup meet in a product.
const BY_WARPGROUPS: Meeting = Meeting::Tiles(Family::Wgmma);

/// An access of a kernel to memory.
#[derive(Clone, Debug)]
pub struct AccessReport {
    /// The line of the operator, or of the program.
    pub location: Location,
    /// The directive of the schedule that made it, if one did.
    pub directive: Option<Location>,
    /// The name of the buffer.
    pub buffer: String,
    /// Global or shared memory.
    pub memory: Memory,
    /// Load or store.
    pub direction: Direction,
    /// Bytes that a lane accesses at a time.
    pub bytes: u64,
    /// Requests by a warp, in the whole launch.
    pub requests: f64,
    /// Lanes that take part in a request, in the mean.
    pub lanes: f64,
    /// Of global memory: sectors of a request, and how many its bytes would fill.
    pub sectors: (f64, f64),
    /// Of shared memory: wavefronts of a request, and how many there would be without conflicts of banks.
    pub wavefronts: (f64, f64),
    /// Do addresses depend on data?
    pub unknown: bool,
}

/// What is told of one launch of a kernel.
#[derive(Clone, Debug)]
pub struct KernelReport {
    /// Its name.
    pub name: String,
    /// The GPU that times are of.
    pub machine: Machine,
    /// Blocks.
    pub grid: [u64; 3],
    /// Threads of a block.
    pub block: [u64; 3],
    /// Bytes of shared memory.
    pub shared: u64,
    /// Registers of a thread, and whether an assembler told them.
    pub registers: (u64, bool),
    /// Floating-point operations; a product and a sum are two.
    pub flops: f64,
    /// Barriers that a block comes to.
    pub barriers: f64,
    /// Instructions of warps in the whole launch, by unit; of tensor cores, products of two f16 and their like.
    pub instructions: Vec<(Unit, f64)>,
    /// The accesses, in the order of the text; those of one line to one buffer, of one width, are one.
    pub accesses: Vec<AccessReport>,
    /// How long it takes.
    pub time: Time,
    /// Are blocks not known, because sizes are open?
    pub open: bool,
}

impl KernelReport {
    /// Floating-point operations for each byte of the device's memory.
    pub fn intensity(&self) -> f64 {
        if self.time.traffic.dram > 0.0 { self.flops / self.time.traffic.dram } else { 0.0 }
    }
}

/// What can be told of the kernels that a module's functions launch, each launch once, in order. Functions that launch
/// nothing, and kernels that no emitter would take, are errors; so are those of whose speed nothing is known.
pub fn module(
    module: &Module,
    target: &Target,
    machine: &Machine,
    known: &[Resources],
) -> Result<Vec<KernelReport>, Diagnostics> {
    let mut found = Diagnostics::new();
    let mut launched: Vec<&Func> = Vec::new();
    for host in job::hosts(module)? {
        launched.extend(host::read(module, host, &mut found).launches.iter().map(|launch| launch.kernel));
    }
    for (nth, kernel) in launched.iter().enumerate() {
        if !launched[..nth].iter().any(|other| std::ptr::eq(*other, *kernel)) {
            found.append(verify(kernel));
            DEVICE.check(kernel).into_iter().for_each(|wrong| found.push(wrong));
            Facts::new(kernel, target, &mut found);
            unknown(kernel).into_iter().for_each(|wrong| found.push(wrong));
        }
    }
    if found.has_errors() {
        return Err(found);
    }
    Ok(launched.into_iter().map(|func| kernel(func, target, machine, known)).collect())
}

/// The error of a kernel whose speed is not known: the ways of warps say when each comes to an op, and neither how long a
/// bulk copy or a product of a warpgroup runs in the background nor which role waits for which.
fn unknown(func: &Func) -> Option<Diagnostic> {
    let op = all_ops(func).find(|&op| {
        begins_bulk_copy(func, op) || is_by_mbarrier(func, op) || meeting(func, op) == Some(BY_WARPGROUPS)
    })?;
    let text = format!("the speed of `@{}` is not known, for it has `{}`", func.symbol(), func.op_name(op));
    let help = "measure it: `tc-run --device cuda --bench`";
    Some(Diagnostic::error("speed-unknown", func.op_location(op), text).help(help))
}

/// What can be told of the kernel `func`; `known` is what an assembler told, if one was asked.
pub fn kernel(func: &Func, target: &Target, machine: &Machine, known: &[Resources]) -> KernelReport {
    let facts = Facts::new(func, target, &mut Diagnostics::new());
    let ops: Vec<Op> = all_ops(func).collect();
    let counts = count(func, &facts, &ops);
    let exact = known.iter().find(|one| one.kernel == func.symbol()).map(|one| one.registers);
    let registers = exact.unwrap_or_else(|| registers::estimate(func, target));
    let launch = estimate::launch(&facts, registers);
    let time = estimate::time(func, &counts, &launch, target, machine);
    let all = launch.blocks * launch.warps;
    KernelReport {
        name: func.symbol().to_string(),
        machine: *machine,
        grid: facts.grid,
        block: facts.block,
        shared: launch.usage.shared,
        registers: (registers, exact.is_some()),
        flops: counts.flops * all,
        barriers: counts.barriers,
        instructions: Unit::ALL.into_iter().map(|unit| (unit, counts.units[unit as usize] * all)).collect(),
        accesses: accesses(func, &counts, all),
        time,
        open: facts.formulas.iter().any(Option::is_some),
    }
}

fn accesses(func: &Func, counts: &Counts, warps: f64) -> Vec<AccessReport> {
    let of = |(touch, cost): (&Touch, &Cost)| {
        let mean = |sum: f64| if cost.requests > 0.0 { sum / cost.requests } else { 0.0 };
        AccessReport {
            location: func.op_location(touch.op),
            directive: func.directive_location(touch.op),
            buffer: func.value_text(touch.root).to_string(),
            memory: touch.memory,
            direction: touch.direction,
            bytes: (if cost.lanes > 0.0 { cost.bytes / cost.lanes } else { 0.0 }).round() as u64,
            requests: cost.requests * warps,
            lanes: mean(cost.lanes),
            sectors: (mean(cost.sectors), mean(cost.least_sectors)),
            wavefronts: (mean(cost.wavefronts), mean(cost.least_wavefronts)),
            unknown: cost.unknown > 0.0,
        }
    };
    let mut all: Vec<AccessReport> = Vec::new();
    let mut places: FxHashMap<Kind, usize> = FxHashMap::default();
    for one in counts.touches.iter().zip(&counts.costs).map(of) {
        match places.entry(one.kind()) {
            Entry::Occupied(like) => all[*like.get()].join(&one),
            Entry::Vacant(place) => {
                place.insert(all.len());
                all.push(one);
            }
        }
    }
    all
}

/// What accesses have in common that are one in a report: lines, buffer, memory, direction and width.
type Kind = (Location, Option<Location>, String, &'static str, Direction, u64);

impl AccessReport {
    fn kind(&self) -> Kind {
        let Self { location, directive, buffer, direction, bytes, .. } = self;
        (location.clone(), directive.clone(), buffer.clone(), self.place_name(), *direction, *bytes)
    }

    fn join(&mut self, other: &AccessReport) {
        let all = self.requests + other.requests;
        if all == 0.0 {
            return;
        }
        let mean = |a: f64, b: f64| (a * self.requests + b * other.requests) / all;
        let pair = |a: (f64, f64), b: (f64, f64)| (mean(a.0, b.0), mean(a.1, b.1));
        self.lanes = mean(self.lanes, other.lanes);
        self.sectors = pair(self.sectors, other.sectors);
        self.wavefronts = pair(self.wavefronts, other.wavefronts);
        self.unknown |= other.unknown;
        self.requests = all;
    }

    /// Where it goes: `global`, `shared`, or `local` for an array of a thread that no registers hold.
    pub fn place_name(&self) -> &'static str {
        match self.memory {
            Memory::Global => "global",
            Memory::Shared => "shared",
            Memory::Registers => "local",
        }
    }

    /// How many times as many sectors, or wavefronts of shared memory, it takes as its bytes would.
    pub fn excess(&self) -> f64 {
        let (is, least) = if self.memory == Memory::Global { self.sectors } else { self.wavefronts };
        if least > 0.0 { is / least } else { 1.0 }
    }
}
