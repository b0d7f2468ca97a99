//! What ncu counted: metrics of kernels, and of the lines of each.

use super::Pages;
use super::csv::{number, values};
use std::collections::BTreeMap;
use tc::support::{Diagnostic, Location};

/// Nanoseconds of a launch.
const DURATION: &str = "gpu__time_duration.sum";
const INSTRUCTIONS: &str = "smsp__inst_executed.sum";
const DRAM_READ: &str = "dram__bytes_read.sum";
const DRAM_WRITTEN: &str = "dram__bytes_write.sum";
const WAVEFRONTS: &str = "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum";

/// The metrics that are asked for by name.
pub(super) const METRICS: [&str; 5] = [DURATION, INSTRUCTIONS, DRAM_READ, DRAM_WRITTEN, WAVEFRONTS];

/// What the sections of a profile bring.
const SECTORS: &str = "memory_l2_theoretical_sectors_global";
const REGISTERS: &str = "launch__registers_per_thread";
const WARPS: &str = "sm__warps_active.avg.per_cycle_active";
const STALLED: (&str, &str) = ("smsp__average_warps_issue_stalled_", "_per_issue_active.ratio");

/// A launch of a kernel, as it was counted.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Kernel {
    pub(super) name: String,
    /// The GPU.
    pub(super) device: String,
    /// What it took, in microseconds; its first, cold launch, under a profiler.
    pub(super) time_us: f64,
    /// Instructions of warps.
    pub(super) instructions: f64,
    /// Bytes from and to the device's memory.
    pub(super) dram: f64,
    /// Sectors that accesses to global memory ask for.
    pub(super) sectors: f64,
    /// Wavefronts of shared memory.
    pub(super) wavefronts: f64,
    /// Registers of a thread.
    pub(super) registers: f64,
    /// Warps at once on a multiprocessor, in the mean.
    pub(super) warps: f64,
    /// Why warps waited, each with its part of the cycles, the greatest first.
    pub(super) stalls: Vec<(String, f64)>,
    pub(super) lines: Vec<Line>,
}

/// A line of the program.
#[derive(Clone, PartialEq, Default, Debug)]
pub(super) struct Line {
    pub(super) file: String,
    pub(super) line: u32,
    /// How often a warp was seen there.
    pub(super) samples: f64,
    /// Instructions of warps.
    pub(super) instructions: f64,
    /// Sectors of global memory, and how many would do.
    pub(super) sectors: (f64, f64),
    /// Wavefronts of shared memory, and how many would do.
    pub(super) wavefronts: (f64, f64),
}

/// The kernels that the pages tell of, in the order of their launches.
pub(super) fn read(pages: &Pages) -> Result<Vec<Kernel>, Diagnostic> {
    let mut lines = lines(&pages.source);
    let mut rows = pages.raw.lines().filter(|line| line.starts_with('"')).map(values);
    let Some(names) = rows.next() else { return Ok(Vec::new()) };
    if !names.iter().any(|name| name == DURATION) {
        let text = "ncu tells no times: its report is not what this version of tc-run reads";
        return Err(Diagnostic::error("profile", Location::None, text).help("use ncu 2025.3, or another near it"));
    }
    // The second row has the units.
    let kernels = rows.skip(1).map(|row| {
        let metrics: BTreeMap<&str, &str> =
            names.iter().map(String::as_str).zip(row.iter().map(String::as_str)).collect();
        let text = |name: &str| metrics.get(name).copied().unwrap_or_default().to_string();
        let of = |name: &str| number(metrics.get(name).copied().unwrap_or_default());
        let name = text("Kernel Name");
        Kernel {
            time_us: of(DURATION) / 1e3,
            instructions: of(INSTRUCTIONS),
            dram: of(DRAM_READ) + of(DRAM_WRITTEN),
            sectors: of(SECTORS),
            wavefronts: of(WAVEFRONTS),
            registers: of(REGISTERS),
            warps: of(WARPS),
            device: text("device__attribute_display_name"),
            stalls: stalls(&metrics),
            // A kernel that is launched twice has its lines twice.
            lines: lines.iter().position(|(of, _)| *of == name).map(|at| lines.remove(at).1).unwrap_or_default(),
            name,
        }
    });
    Ok(kernels.collect())
}

/// Why warps waited, as parts of all cycles in which one waited or was issued.
fn stalls(metrics: &BTreeMap<&str, &str>) -> Vec<(String, f64)> {
    let reason = |name: &str| Some(name.strip_prefix(STALLED.0)?.strip_suffix(STALLED.1)?.replace('_', " "));
    let found = metrics.iter().filter_map(|(name, value)| Some((reason(name)?, number(value))));
    let mut found: Vec<(String, f64)> = found.filter(|(_, value)| *value > 0.0).collect();
    let all: f64 = found.iter().map(|(_, value)| value).sum();
    found.iter_mut().for_each(|(_, value)| *value /= all);
    found.retain(|(name, _)| name != "selected");
    found.sort_by(|a, b| b.1.total_cmp(&a.1));
    found
}

/// The lines of each launch. The page has a table for each file that a kernel has lines of; in it, a row with a number is a
/// line, and rows without one are the instructions that it became.
fn lines(page: &str) -> Vec<(String, Vec<Line>)> {
    let mut found: Vec<(String, Vec<Line>)> = Vec::new();
    let (mut file, mut kernel) = (String::new(), String::new());
    let mut columns: Vec<String> = Vec::new();
    for row in page.lines().filter(|line| line.starts_with('"')).map(values) {
        match row[0].as_str() {
            "File Path" => file = row.get(1).cloned().unwrap_or_default(),
            "Function Name" | "Kernel Name" => kernel = row.get(1).cloned().unwrap_or_default(),
            "Line No" => columns = row,
            "" => {}
            nth => {
                let Ok(line) = nth.parse() else { continue };
                let of = |name: &str| {
                    let at = columns.iter().position(|column| column == name);
                    at.and_then(|at| row.get(at)).map_or(0.0, |text| number(text))
                };
                let counted = Line {
                    file: file.clone(),
                    line,
                    samples: of("# Samples"),
                    instructions: of("Instructions Executed"),
                    sectors: (of("L2 Theoretical Sectors Global"), of("L2 Theoretical Sectors Global Ideal")),
                    wavefronts: (of("L1 Wavefronts Shared"), of("L1 Wavefronts Shared Ideal")),
                };
                // A line that comes again is one of the next launch of the kernel.
                let is_it = |(name, lines): &&mut (String, Vec<Line>)| {
                    *name == kernel && lines.iter().all(|other| (&other.file, other.line) != (&counted.file, line))
                };
                match found.iter_mut().find(is_it) {
                    Some((_, lines)) => lines.push(counted),
                    None => found.push((kernel.clone(), vec![counted])),
                }
            }
        }
    }
    found
}
