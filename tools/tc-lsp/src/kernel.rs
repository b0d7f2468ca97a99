//! What the whole pipeline makes of a schedule or a program: barriers, conflicts of banks, what a launch takes.

use crate::facts::Unit;
use tc::Compiler;
use tc::dialects::scope::Memory;
use tc::pass::Remarks;
use tc::perf::{AccessReport, KernelReport};
use tc::support::{Cancel, Diagnostic, Diagnostics, Location, Pos, counted};
use tc::target::Machine;

/// The pass that inserts barriers, and the code of its remark on each.
const SYNC: (&str, &str) = ("thread-sync", "barrier");
/// A request of more wavefronts than this, for each that it needs, conflicts.
const CONFLICT: f64 = 1.01;

/// What is told of a place.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Told {
    /// The position in the sources of the unit.
    pub(crate) at: Pos,
    pub(crate) label: String,
    pub(crate) tooltip: String,
}

/// What the pipeline made.
#[derive(Clone, Default, Debug)]
pub(crate) struct KernelFacts {
    /// A barrier before each of these.
    pub(crate) barriers: Vec<Told>,
    /// Accesses to shared memory whose lanes wait for each other.
    pub(crate) conflicts: Vec<Told>,
    /// A line for each launch.
    pub(crate) launches: Vec<String>,
}

impl KernelFacts {
    /// Runs the pipeline. Where that fails nothing is told: it is no error of the text that one types.
    pub(crate) fn find(name: &str, compiler: &Compiler, unit: &Unit) -> KernelFacts {
        let mut facts = KernelFacts::default();
        let compiler = Compiler { remarks: Remarks::Of(vec![SYNC.0.to_string()]), ..compiler.clone() };
        let Ok(parsed) = compiler.parse(name, &unit.text) else { return facts };
        let mut module = parsed.module;
        let Ok(report) = compiler.run(&mut module, &unit.pipeline("cuda")) else { return facts };
        facts.barriers = barriers(&report.diagnostics);
        let is_cancelled = compiler.limits.cancel.as_ref().is_some_and(Cancel::is_cancelled);
        if is_cancelled {
            return facts;
        }
        let reports = compiler.performance(&module, &Machine::of(&compiler.target), &[]).unwrap_or_default();
        facts.conflicts = reports.iter().flat_map(|report| report.accesses.iter().filter_map(conflict)).collect();
        facts.launches = reports.iter().map(launch).collect();
        facts
    }
}

fn barriers(found: &Diagnostics) -> Vec<Told> {
    let of_pass = |one: &&Diagnostic| one.code == SYNC.1;
    let told = |one: &Diagnostic| {
        let Location::Span(span) = one.location else { return None };
        Some(Told { at: span.start, label: "barrier".to_string(), tooltip: one.message.clone() })
    };
    found.iter().filter(of_pass).filter_map(told).collect()
}

/// An access whose lanes fall into the same banks.
fn conflict(access: &AccessReport) -> Option<Told> {
    let (wavefronts, needed) = access.wavefronts;
    if access.memory != Memory::Shared || access.unknown || needed <= 0.0 || wavefronts <= needed * CONFLICT {
        return None;
    }
    let Location::Span(span) = access.directive.clone().unwrap_or_else(|| access.location.clone()) else { return None };
    let degree = wavefronts / needed;
    let direction = match access.direction {
        tc::perf::Direction::Load => "read",
        tc::perf::Direction::Store => "written",
    };
    let label = format!("{degree:.1}-way conflict");
    let tooltip = format!(
        "`{}` is {direction} by {wavefronts:.1} wavefronts a request, and {needed:.1} would do without conflicts of banks",
        access.buffer
    );
    Some(Told { at: span.start, label, tooltip })
}

fn launch(report: &KernelReport) -> String {
    let dims = |all: [u64; 3]| all.map(|one| one.to_string()).join(" x ");
    format!(
        "`{}`: grid {}, block {}, {} shared, {} a thread{}",
        report.name,
        dims(report.grid),
        dims(report.block),
        counted(report.shared, "byte"),
        counted(report.registers.0, "register"),
        if report.registers.1 { "" } else { " (estimated)" },
    )
}
