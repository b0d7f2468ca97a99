//! What the compiler says of the schedules of a text: errors with their tried changes, bounds, programs.
//!
//! A schedule is judged in a text of its own: the schedule, its operator, and the items that these name ([`Unit`]). So an
//! error elsewhere in the file does not matter, the work does not grow with the file, and what is known of a unit holds as
//! long as its text does ([`FactCache`]): an edit of one schedule is paid for by that schedule.

use crate::analysis::Analysis;
use crate::documents::Snapshot;
use crate::index::{Index, ItemIdx};
use crate::kernel::KernelFacts;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use tc::Compiler;
use tc::ir::opdef::SymbolTable;
use tc::pass::Limits;
use tc::schedule::explain::StageWhy;
use tc::support::{Cancel, Diagnostic, Pos};
use tc::syntax::tree::TextRange;

/// Edits that passes may make for one schedule, before it is given up.
const MAX_STEPS: u64 = 20_000_000;
/// All texts of a file's schedules together have so many bytes at most; schedules beyond that are not judged as one types.
const MAX_UNITS: usize = 32 << 20;
/// What is known of a unit is kept for so many versions after it was last asked for.
const KEPT: u64 = 8;

/// A schedule and what it needs, or a program without one, as a text.
pub(crate) struct Unit {
    pub(crate) schedule: Option<ItemIdx>,
    /// What it is for, or the program.
    pub(crate) operator: ItemIdx,
    pub(crate) text: String,
    /// The pieces of the file that the text is put together of, in order, each with where it begins in the text.
    pieces: Vec<(TextRange, u32)>,
    /// The names of both.
    pub(crate) names: (String, Option<String>),
}

impl Unit {
    fn new(index: &Index, text: &str, (operator, schedule): (ItemIdx, Option<ItemIdx>)) -> Unit {
        let mut items: BTreeSet<ItemIdx> = [operator].into_iter().chain(schedule).collect();
        let mut worklist: Vec<ItemIdx> = items.iter().copied().collect();
        while let Some(item) = worklist.pop() {
            let names = index.items[item].names.iter().copied();
            // Other operators of the schedule are other units.
            let is_other = |name: &ItemIdx| Some(item) == schedule && index.items[item].targets.contains(name);
            worklist.extend(names.filter(|name| !is_other(name)).filter(|&name| items.insert(name)));
        }
        let names = (name_of(index, text, operator), schedule.map(|schedule| name_of(index, text, schedule)));
        let mut unit = Unit { schedule, operator, text: String::new(), pieces: Vec::new(), names };
        for item in items {
            let range = index.items[item].range;
            unit.pieces.push((range, unit.text.len() as u32));
            unit.text.push_str(range.of(text));
            unit.text.push('\n');
        }
        unit
    }

    /// The pass pipeline called `name`, for the operator and the schedule.
    pub(crate) fn pipeline(&self, name: &str) -> String {
        match &self.names {
            (func, Some(schedule)) => format!("{name}{{func={func} schedule={schedule}}}"),
            (_, None) => name.to_string(),
        }
    }

    /// The byte of the file at a byte of the unit.
    pub(crate) fn to_file(&self, offset: u32) -> Option<u32> {
        let next = self.pieces.partition_point(|&(_, start)| start <= offset);
        let (range, start) = self.pieces[next.checked_sub(1)?];
        let at = range.start + (offset - start);
        (at <= range.end).then_some(at)
    }

    /// The byte of the file at a position in the sources of the unit's module.
    pub(crate) fn pos_to_file(&self, pos: Pos) -> Option<u32> {
        // The unit is the first file of its sources, which begins at 1.
        let offset = pos.0.checked_sub(1).filter(|&offset| offset as usize <= self.text.len())?;
        self.to_file(offset)
    }
}

fn name_of(index: &Index, text: &str, item: ItemIdx) -> String {
    index.defs[index.items[item].def].name.of(text).trim_matches('"').to_string()
}

/// What is known of a unit. Places are those of its text.
pub(crate) struct UnitFacts {
    /// What the compiler found.
    pub(crate) found: Vec<Diagnostic>,
    /// Why the stages compute what they do.
    pub(crate) stages: Vec<StageWhy>,
    /// The text after the pass `schedule`.
    pub(crate) program: Option<String>,
    kernel: OnceLock<KernelFacts>,
    /// What a check on the simulator found, once one was asked for.
    checked: OnceLock<Vec<Diagnostic>>,
}

/// What is known of a unit, and the version that last asked for it.
type Cached = (Arc<UnitFacts>, u64);

/// What is known of units, by target and text.
#[derive(Default)]
pub(crate) struct FactCache {
    known: Mutex<BTreeMap<(&'static str, String), Cached>>,
    version: AtomicU64,
}

impl FactCache {
    pub(crate) fn get(&self, compiler: &Compiler, text: &str) -> Option<Arc<UnitFacts>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let (facts, used) = known.get_mut(&(compiler.target.name, text.to_string()))?;
        *used = self.version.load(Ordering::Relaxed);
        Some(facts.clone())
    }

    fn put(&self, compiler: &Compiler, text: &str, facts: Arc<UnitFacts>) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.version.load(Ordering::Relaxed);
        known.retain(|_, (_, used)| *used + KEPT > now);
        known.insert((compiler.target.name, text.to_string()), (facts, now));
    }
}

/// The schedules of one version of a text.
pub(crate) struct Facts {
    /// In the order of the schedules.
    pub(crate) units: Vec<Unit>,
}

impl Facts {
    /// The units of a text.
    pub(crate) fn new(snapshot: &Snapshot, analysis: &Analysis) -> Facts {
        snapshot.cache.version.fetch_add(1, Ordering::Relaxed);
        let index = &analysis.index;
        let (mut units, mut bytes) = (Vec::new(), 0);
        let scheduled: BTreeSet<ItemIdx> = index.items.iter().flat_map(|item| item.targets.iter().copied()).collect();
        for (idx, item) in index.items.iter().enumerate() {
            let wanted: Vec<(ItemIdx, Option<ItemIdx>)> = match item.table {
                Some(SymbolTable::Schedules) => item.targets.iter().map(|&target| (target, Some(idx))).collect(),
                _ if item.keyword.of(&snapshot.text) == "tir.func" && !scheduled.contains(&idx) => vec![(idx, None)],
                _ => Vec::new(),
            };
            for pair in wanted {
                let unit = Unit::new(index, &snapshot.text, pair);
                bytes += unit.text.len();
                if bytes > MAX_UNITS {
                    return Facts { units };
                }
                units.push(unit);
            }
        }
        Facts { units }
    }

    /// The units of a schedule.
    pub(crate) fn of_schedule(&self, schedule: ItemIdx) -> impl Iterator<Item = &Unit> {
        self.units.iter().filter(move |unit| unit.schedule == Some(schedule))
    }
}

/// What is known of `unit`; nothing where `cancel` was asked for first.
pub(crate) fn facts_of(snapshot: &Snapshot, compiler: &Compiler, unit: &Unit) -> Option<Arc<UnitFacts>> {
    if let Some(known) = snapshot.cache.get(compiler, &unit.text) {
        return Some(known);
    }
    let facts = Arc::new(find(snapshot.name(), &limited(compiler, &snapshot.cancel), unit)?);
    snapshot.cache.put(compiler, &unit.text, facts.clone());
    Some(facts)
}

/// The compiler, within the limits of what runs while one types.
pub(crate) fn limited(compiler: &Compiler, cancel: &Cancel) -> Compiler {
    let limits = Limits { steps: Some(MAX_STEPS), cancel: Some(cancel.clone()) };
    Compiler { limits, ..compiler.clone() }
}

fn find(name: &str, compiler: &Compiler, unit: &Unit) -> Option<UnitFacts> {
    let is_cancelled = || compiler.limits.cancel.as_ref().is_some_and(Cancel::is_cancelled);
    if is_cancelled() {
        return None;
    }
    let mut facts = UnitFacts {
        found: Vec::new(),
        stages: Vec::new(),
        program: None,
        kernel: OnceLock::new(),
        checked: OnceLock::new(),
    };
    let (func, Some(schedule)) = &unit.names else { return Some(facts) };
    // What is wrong with the text is told of the file.
    let Ok(parsed) = compiler.parse(name, &unit.text) else { return Some(facts) };
    match compiler.schedule(&parsed.module, func, schedule) {
        Ok(scheduled) => {
            facts.stages = scheduled.explained.into_iter().flat_map(|explained| explained.stages).collect();
            facts.found = scheduled.remarks.into_iter().collect();
            facts.program = Some(scheduled.module.to_string());
        }
        Err(failure) if failure.is_ended() && is_cancelled() => return None,
        Err(failure) => facts.found = failure.diagnostics.into_iter().collect(),
    }
    Some(facts)
}

impl UnitFacts {
    /// All that is wrong with the unit.
    pub(crate) fn diagnostics(&self) -> impl Iterator<Item = &Diagnostic> {
        self.found.iter().chain(self.checked.get().into_iter().flatten())
    }

    /// Keeps what a check found, as long as the unit stays as it is.
    pub(crate) fn set_checked(&self, found: Vec<Diagnostic>) {
        // A second check of one text finds the same.
        let _ = self.checked.set(found);
    }

    /// What the whole pipeline makes of the unit; nothing where `cancel` was asked for first.
    pub(crate) fn kernel(&self, snapshot: &Snapshot, compiler: &Compiler, unit: &Unit) -> Option<&KernelFacts> {
        if let Some(known) = self.kernel.get() {
            return Some(known);
        }
        let facts = KernelFacts::find(snapshot.name(), &limited(compiler, &snapshot.cancel), unit);
        if snapshot.cancel.is_cancelled() {
            return None;
        }
        Some(self.kernel.get_or_init(|| facts))
    }
}
