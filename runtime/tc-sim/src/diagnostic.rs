//! What a run found, as data.

use crate::code::Site;
use tc_support::{Diagnostic, Severity};

/// The kinds of diagnostics.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum DiagnosticKind {
    /// An access outside a buffer.
    OutOfBounds,
    /// A read of a cell that no thread wrote.
    Uninitialised,
    /// An access that carries `aligned = n` and does not start at a multiple of `n` bytes, or has gaps.
    Misaligned,
    /// Two accesses to one cell that nothing orders, at least one of them a write, and the order matters.
    Race,
    /// The same, but every order gives the same values.
    SameValueRace,
    /// A barrier, or a reduction across threads, that only some threads of the block reach.
    DivergentBarrier,
    /// A shuffle that only some threads of the warp reach.
    DivergentShuffle,
    /// An op of a whole warp that only some of its threads reach, or in whose operands they differ.
    DivergentWarp,
    /// A cell that an outstanding asynchronous copy writes is read or written, or one that it reads is written.
    CopyOutstanding,
    /// Sums of an outstanding product of a warpgroup are read or written, or what it reads is written.
    ProductOutstanding,
    /// A fence is missing: between sums that threads wrote and the product that adds to them, between what threads wrote to
    /// shared memory and the product that reads it, between barriers made ready and the bulk copies that report there.
    MissingFence,
    /// A barrier in shared memory is used as it may not be: before it is ready, with other arrivals or bytes than it expects.
    Mbarrier,
    /// Threads wait for phases that no thread completes.
    Deadlock,
    /// An asynchronous copy that its thread never waits for. Nothing can read what it copies, so it is only a waste.
    NotAwaited,
    /// A cell of an output that one thread wrote and another overwrote with a different value, unread.
    DoubleWrite,
    /// A cell of an output that no thread wrote.
    Unwritten,
    /// Overflow of a signed type, division by zero, a shift out of range, a cast that does not fit.
    Arithmetic,
    /// An operator uses what it read out of range.
    Poison,
    /// In the [field](crate::field): an op whose result is not decided.
    Undecided,
    /// In the field: a comparison or an integer that is not decided, and that may decide about anything.
    UndecidedChoice,
    /// The run was ended because it costs too much.
    Limit,
}

impl DiagnosticKind {
    /// A stable kebab-case name: the code of the diagnostics.
    pub const fn code(self) -> &'static str {
        match self {
            DiagnosticKind::OutOfBounds => "out-of-bounds",
            DiagnosticKind::Uninitialised => "uninitialised-read",
            DiagnosticKind::Misaligned => "misaligned",
            DiagnosticKind::Race => "race",
            DiagnosticKind::SameValueRace => "same-value-race",
            DiagnosticKind::DivergentBarrier => "divergent-barrier",
            DiagnosticKind::DivergentShuffle => "divergent-shuffle",
            DiagnosticKind::DivergentWarp => "divergent-warp",
            DiagnosticKind::CopyOutstanding => "copy-under-way",
            DiagnosticKind::ProductOutstanding => "product-under-way",
            DiagnosticKind::MissingFence => "missing-fence",
            DiagnosticKind::Mbarrier => "mbarrier",
            DiagnosticKind::Deadlock => "deadlock",
            DiagnosticKind::NotAwaited => "copy-not-awaited",
            DiagnosticKind::DoubleWrite => "written-twice",
            DiagnosticKind::Unwritten => "never-written",
            DiagnosticKind::Arithmetic => "arithmetic",
            DiagnosticKind::Poison => "poison",
            DiagnosticKind::Undecided => "undecided",
            DiagnosticKind::UndecidedChoice => "undecided-choice",
            DiagnosticKind::Limit => "limit",
        }
    }

    /// Does it make the program wrong? The others are remarks.
    pub const fn is_error(self) -> bool {
        !matches!(
            self,
            DiagnosticKind::SameValueRace
                | DiagnosticKind::DoubleWrite
                | DiagnosticKind::NotAwaited
                | DiagnosticKind::Undecided
                | DiagnosticKind::UndecidedChoice
        )
    }
}

/// One diagnostic: the first of its kind at its lines, and how often it came.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SimDiagnostic {
    /// What kind of diagnostic it is.
    pub kind: DiagnosticKind,
    /// The buffer it is about.
    pub buffer: Option<String>,
    /// What is to be told, with all lines involved.
    pub diagnostic: Diagnostic,
    /// How often it was found at these lines.
    pub count: u64,
    pub(crate) sites: (Site, Site),
}

/// The diagnostics of a run, in a fixed order.
#[derive(Clone, Default, Debug)]
pub struct SimDiagnostics {
    list: Vec<SimDiagnostic>,
    /// Diagnostics that were dropped because there were too many of their kind.
    dropped: Vec<(DiagnosticKind, u64)>,
}

impl SimDiagnostics {
    /// The diagnostics.
    pub fn iter(&self) -> std::slice::Iter<'_, SimDiagnostic> {
        self.list.iter()
    }

    /// What it was that a limit ended.
    pub(crate) fn limit(&self) -> Option<Box<Diagnostic>> {
        let at_limit = self.iter().find(|found| found.kind == DiagnosticKind::Limit);
        at_limit.map(|found| Box::new(found.diagnostic.clone()))
    }

    /// The first that makes a function wrong. That it costs too much does not.
    pub(crate) fn fault(&self) -> Option<Box<Diagnostic>> {
        let fault = self.iter().find(|found| found.kind.is_error() && found.kind != DiagnosticKind::Limit);
        fault.map(|found| Box::new(found.diagnostic.clone()))
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// How many diagnostics of `kind` there were, dropped ones included.
    pub fn count(&self, kind: DiagnosticKind) -> u64 {
        let kept: u64 = self.list.iter().filter(|found| found.kind == kind).map(|found| found.count).sum();
        kept + self.dropped.iter().filter(|entry| entry.0 == kind).map(|entry| entry.1).sum::<u64>()
    }

    /// Does one of them make the program wrong?
    pub fn has_errors(&self) -> bool {
        self.list.iter().any(|found| found.kind.is_error())
    }

    /// The diagnostics as text for people, each with how often it came.
    pub fn with_counts(&self) -> impl Iterator<Item = Diagnostic> + '_ {
        self.list.iter().map(|found| Self::with_count(found.diagnostic.clone(), found.count, 1))
    }

    /// The same, at the places that `place` moves them to. Races of equal values on one buffer that come to one place are
    /// one diagnostic: the copies of an unrolled loop are many lines of a program, and one of its schedule.
    pub fn with_counts_at(&self, place: impl Fn(Diagnostic) -> Diagnostic) -> Vec<Diagnostic> {
        let mut placed: Vec<(&SimDiagnostic, Diagnostic, u64, usize)> = Vec::new();
        for found in &self.list {
            let diagnostic = place(found.diagnostic.clone());
            let is_alike = |(other, at, ..): &&mut (&SimDiagnostic, Diagnostic, u64, usize)| {
                found.kind == DiagnosticKind::SameValueRace
                    && (other.kind, &other.buffer, &at.location) == (found.kind, &found.buffer, &diagnostic.location)
            };
            match placed.iter_mut().find(is_alike) {
                Some((_, _, count, n_lines)) => (*count, *n_lines) = (*count + found.count, *n_lines + 1),
                None => placed.push((found, diagnostic, found.count, 1)),
            }
        }
        placed.into_iter().map(|(_, diagnostic, count, n_lines)| Self::with_count(diagnostic, count, n_lines)).collect()
    }

    fn with_count(found: Diagnostic, count: u64, n_lines: usize) -> Diagnostic {
        match (count, n_lines) {
            (1, _) => found,
            (n, 1) => found.note(format!("found {n} times at these lines")),
            (n, n_lines) => found.note(format!("found {n} times, at {n_lines} lines of the program")),
        }
    }

    /// Counts a diagnostic at `sites`; `build` is asked for its text if it is the first there.
    pub(crate) fn add(
        &mut self,
        kind: DiagnosticKind,
        sites: (Site, Site),
        cap: usize,
        build: impl FnOnce() -> (Option<String>, Diagnostic),
    ) {
        let known = self.list.iter_mut().find(|found| found.kind == kind && found.sites == sites);
        if let Some(found) = known {
            found.count += 1;
            return;
        }
        if self.list.iter().filter(|found| found.kind == kind).count() >= cap {
            return self.drop_one(kind, 1);
        }
        let (buffer, mut diagnostic) = build();
        if !kind.is_error() {
            diagnostic.severity = Severity::Remark;
        }
        self.list.push(SimDiagnostic { kind, buffer, diagnostic, count: 1, sites });
    }

    fn drop_one(&mut self, kind: DiagnosticKind, n: u64) {
        match self.dropped.iter_mut().find(|entry| entry.0 == kind) {
            Some(entry) => entry.1 += n,
            None => self.dropped.push((kind, n)),
        }
    }

    /// Adds the diagnostics of a later part of the run.
    pub(crate) fn merge(&mut self, other: SimDiagnostics, cap: usize) {
        for found in other.list {
            let is_same = |own: &SimDiagnostic| own.kind == found.kind && own.sites == found.sites;
            let n_of_kind = self.list.iter().filter(|own| own.kind == found.kind).count();
            match self.list.iter().position(is_same) {
                Some(own) => self.list[own].count += found.count,
                None if n_of_kind >= cap => self.drop_one(found.kind, found.count),
                None => self.list.push(found),
            }
        }
        for (kind, n) in other.dropped {
            self.drop_one(kind, n);
        }
    }
}
