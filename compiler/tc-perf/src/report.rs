//! What is told of a kernel.

use crate::counts::{Cost, Counts, count};
use crate::estimate::{self, Time};
use crate::registers;
use crate::touch::{Direction, Touch};
use tc_dialects::scope::Memory;
use tc_ir::walk::all_ops;
use tc_ir::{Func, Module, Op};
use tc_kernel::facts::Facts;
use tc_kernel::host;
use tc_support::{Diagnostics, Location};
use tc_target::{Machine, Resources, Target, Unit};

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
    /// Blocks and threads.
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
    /// The accesses, in the order of the text.
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

/// What can be told of the kernels that a module's functions launch, each launch once, in order.
pub fn module(module: &Module, target: &Target, machine: &Machine, known: &[Resources]) -> Vec<KernelReport> {
    let mut found = Diagnostics::new();
    let hosts = module.items.iter().filter(|item| host::is_host(item));
    let launches = hosts.flat_map(|item| host::read(module, item, &mut found).launches).collect::<Vec<_>>();
    launches.into_iter().map(|launch| kernel(launch.kernel, target, machine, known)).collect()
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
            bytes: touch.width().0 as u64,
            requests: cost.requests * warps,
            lanes: mean(cost.lanes),
            sectors: (mean(cost.sectors), mean(cost.least_sectors)),
            wavefronts: (mean(cost.wavefronts), mean(cost.least_wavefronts)),
            unknown: cost.unknown > 0.0,
        }
    };
    counts.touches.iter().zip(&counts.costs).map(of).collect()
}
