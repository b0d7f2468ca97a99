//! What was counted beside what was estimated, kernel by kernel and line by line.

use super::counters::{self, Line};
use std::collections::BTreeMap;
use tc::dialects::scope::Memory;
use tc::perf::{AccessReport, KernelReport};
use tc::support::{Location, Sources};

/// A case.
pub(super) struct Profiled {
    pub(super) case: String,
    pub(super) kernels: Vec<Beside>,
}

/// A kernel.
pub(super) struct Beside {
    pub(super) counted: counters::Kernel,
    /// What was estimated; nothing where no kernel of the program has that name.
    pub(super) estimated: Option<Estimated>,
    /// The lines of the program, in order.
    pub(super) lines: Vec<Told>,
}

/// What was estimated of a kernel.
pub(super) struct Estimated {
    pub(super) time_us: f64,
    pub(super) bound_us: f64,
    pub(super) dram: f64,
    pub(super) sectors: f64,
    pub(super) wavefronts: f64,
    pub(super) registers: u64,
    /// Warps at once on a multiprocessor.
    pub(super) warps: f64,
}

/// A line.
pub(super) struct Told {
    pub(super) file: String,
    pub(super) line: u32,
    /// What stands there.
    pub(super) text: String,
    pub(super) counted: Line,
    /// Its part of all samples of the kernel.
    pub(super) part: f64,
    /// Sectors and wavefronts, as estimated.
    pub(super) estimated: (f64, f64),
}

pub(super) fn join(
    case: &str,
    counted: &[counters::Kernel],
    estimated: &[KernelReport],
    sources: &Sources,
) -> Profiled {
    let mut left: Vec<&KernelReport> = estimated.iter().collect();
    let kernels = counted.iter().map(|kernel| {
        let at = left.iter().position(|report| report.name == kernel.name);
        let report = at.map(|at| left.remove(at));
        Beside { lines: lines(kernel, report, sources), estimated: report.map(summary), counted: kernel.clone() }
    });
    Profiled { case: case.to_string(), kernels: kernels.collect() }
}

fn summary(report: &KernelReport) -> Estimated {
    let time = &report.time;
    let threads: u64 = report.block.iter().product();
    let total = |memory: Memory, of: fn(&AccessReport) -> f64| -> f64 {
        let accesses = report.accesses.iter().filter(|access| access.memory == memory);
        accesses.map(|access| access.requests * of(access)).sum()
    };
    Estimated {
        time_us: time.estimate_us,
        bound_us: time.bound_us,
        dram: time.traffic.dram,
        sectors: total(Memory::Global, |access| access.sectors.0),
        wavefronts: total(Memory::Shared, |access| access.wavefronts.0),
        registers: report.registers.0,
        warps: time.occupancy.blocks as f64 * threads.div_ceil(32) as f64,
    }
}

/// By file and line.
type Place = (String, u32);

fn lines(kernel: &counters::Kernel, report: Option<&KernelReport>, sources: &Sources) -> Vec<Told> {
    let mut estimated: BTreeMap<Place, (f64, f64)> = BTreeMap::new();
    for access in report.map_or(&[][..], |report| &report.accesses) {
        let Some(place) = place(&access.location, sources) else { continue };
        let sums = estimated.entry(place).or_default();
        match access.memory {
            Memory::Global => sums.0 += access.requests * access.sectors.0,
            Memory::Shared => sums.1 += access.requests * access.wavefronts.0,
            _ => {}
        }
    }
    let all: f64 = kernel.lines.iter().map(|line| line.samples).sum();
    let mut told: Vec<Told> = Vec::new();
    for line in &kernel.lines {
        // ncu knows whole paths; a name in brackets is of a text that was never a file.
        let known = |name: &str| line.file == name || line.file.ends_with(&format!("/{name}"));
        let Some(file) = sources.files().find(|file| known(&file.name)) else { continue };
        told.push(Told {
            file: file.name.clone(),
            line: line.line,
            text: file.line(line.line).trim().to_string(),
            part: if all > 0.0 { line.samples / all } else { 0.0 },
            estimated: estimated.remove(&(file.name.clone(), line.line)).unwrap_or_default(),
            counted: line.clone(),
        });
    }
    told.sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
    told
}

fn place(location: &Location, sources: &Sources) -> Option<Place> {
    match location {
        Location::Span(span) => {
            let (file, at) = sources.line_col(span.start)?;
            Some((file.name.clone(), at.line))
        }
        Location::Point { file, at } => Some((file.to_string(), at.line)),
        Location::None => None,
    }
}
