//! What a run found, as data.

use crate::code::Site;
use tc_support::{Diagnostic, Severity};

/// The kinds of findings.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum FindingKind {
    /// An access outside a buffer.
    OutOfBounds,
    /// A read of a cell that nobody wrote.
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
    /// A cell that an asynchronous copy is under way to is read or written, or one that it copies from is written.
    UnderWay,
    /// An asynchronous copy that its thread never waits for. Nothing can read what it copies, so it is only a waste.
    NotAwaited,
    /// A cell of an output that one thread wrote and another overwrote with a different value, unread.
    DoubleWrite,
    /// A cell of an output that nobody wrote.
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

impl FindingKind {
    /// A stable kebab-case name: the code of the diagnostics.
    pub const fn code(self) -> &'static str {
        match self {
            FindingKind::OutOfBounds => "out-of-bounds",
            FindingKind::Uninitialised => "uninitialised-read",
            FindingKind::Misaligned => "misaligned",
            FindingKind::Race => "race",
            FindingKind::SameValueRace => "same-value-race",
            FindingKind::DivergentBarrier => "divergent-barrier",
            FindingKind::DivergentShuffle => "divergent-shuffle",
            FindingKind::DivergentWarp => "divergent-warp",
            FindingKind::UnderWay => "copy-under-way",
            FindingKind::NotAwaited => "copy-not-awaited",
            FindingKind::DoubleWrite => "written-twice",
            FindingKind::Unwritten => "never-written",
            FindingKind::Arithmetic => "arithmetic",
            FindingKind::Poison => "poison",
            FindingKind::Undecided => "undecided",
            FindingKind::UndecidedChoice => "undecided-choice",
            FindingKind::Limit => "limit",
        }
    }

    /// Does it make the program wrong? The others are remarks.
    pub const fn is_error(self) -> bool {
        !matches!(
            self,
            FindingKind::SameValueRace
                | FindingKind::DoubleWrite
                | FindingKind::NotAwaited
                | FindingKind::Undecided
                | FindingKind::UndecidedChoice
        )
    }
}

/// One finding: the first of its kind at its lines, and how often it came.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// What kind of finding it is.
    pub kind: FindingKind,
    /// The buffer it is about.
    pub buffer: Option<String>,
    /// What is to be told, with all lines involved.
    pub diagnostic: Diagnostic,
    /// How often it was found at these lines.
    pub count: u64,
    pub(crate) sites: (Site, Site),
}

/// The findings of a run, in a fixed order.
#[derive(Clone, Default, Debug)]
pub struct Findings {
    list: Vec<Finding>,
    /// Findings that were dropped because there were too many of their kind.
    dropped: Vec<(FindingKind, u64)>,
}

impl Findings {
    /// The findings.
    pub fn iter(&self) -> std::slice::Iter<'_, Finding> {
        self.list.iter()
    }

    /// What it was that a limit ended.
    pub(crate) fn limit(&self) -> Option<Box<Diagnostic>> {
        let at_limit = self.iter().find(|finding| finding.kind == FindingKind::Limit);
        at_limit.map(|finding| Box::new(finding.diagnostic.clone()))
    }

    /// The first that makes a function wrong. That it costs too much does not.
    pub(crate) fn fault(&self) -> Option<Box<Diagnostic>> {
        let fault = self.iter().find(|finding| finding.kind.is_error() && finding.kind != FindingKind::Limit);
        fault.map(|finding| Box::new(finding.diagnostic.clone()))
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// How many findings of `kind` there were, dropped ones included.
    pub fn count(&self, kind: FindingKind) -> u64 {
        let kept: u64 = self.list.iter().filter(|finding| finding.kind == kind).map(|finding| finding.count).sum();
        kept + self.dropped.iter().filter(|entry| entry.0 == kind).map(|entry| entry.1).sum::<u64>()
    }

    /// Does one of them make the program wrong?
    pub fn has_errors(&self) -> bool {
        self.list.iter().any(|finding| finding.kind.is_error())
    }

    /// The findings as diagnostics, each with how often it came.
    pub fn diagnostics(&self) -> impl Iterator<Item = Diagnostic> + '_ {
        self.list.iter().map(|finding| match finding.count {
            1 => finding.diagnostic.clone(),
            n => finding.diagnostic.clone().note(format!("found {n} times at these lines")),
        })
    }

    /// Counts a finding at `sites`; `build` is asked for its text if it is the first there.
    pub(crate) fn add(
        &mut self,
        kind: FindingKind,
        sites: (Site, Site),
        cap: usize,
        build: impl FnOnce() -> (Option<String>, Diagnostic),
    ) {
        let known = self.list.iter_mut().find(|finding| finding.kind == kind && finding.sites == sites);
        if let Some(finding) = known {
            finding.count += 1;
            return;
        }
        if self.list.iter().filter(|finding| finding.kind == kind).count() >= cap {
            return self.drop_one(kind, 1);
        }
        let (buffer, mut diagnostic) = build();
        if !kind.is_error() {
            diagnostic.severity = Severity::Remark;
        }
        self.list.push(Finding { kind, buffer, diagnostic, count: 1, sites });
    }

    fn drop_one(&mut self, kind: FindingKind, n: u64) {
        match self.dropped.iter_mut().find(|entry| entry.0 == kind) {
            Some(entry) => entry.1 += n,
            None => self.dropped.push((kind, n)),
        }
    }

    /// Adds the findings of a later part of the run.
    pub(crate) fn merge(&mut self, other: Findings, cap: usize) {
        for finding in other.list {
            let is_same = |own: &Finding| own.kind == finding.kind && own.sites == finding.sites;
            let n_of_kind = self.list.iter().filter(|own| own.kind == finding.kind).count();
            match self.list.iter().position(is_same) {
                Some(own) => self.list[own].count += finding.count,
                None if n_of_kind >= cap => self.drop_one(finding.kind, finding.count),
                None => self.list.push(finding),
            }
        }
        for (kind, n) in other.dropped {
            self.drop_one(kind, n);
        }
    }
}
