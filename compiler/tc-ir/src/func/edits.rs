//! Edits of a function, counted: an op linked, unlinked or changed, an operand, a type or a name set.
//!
//! The count bounds a pass: one that goes on for ever edits for ever, and is ended after the same work on every machine,
//! before memory is full. It also tells whether a function is still the one that an analysis was made of.

use super::Func;
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use tc_support::Cancel;

/// What unwinds when the steps of a function are used up; whoever set the limit catches it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StepsUsedUp;

/// The state of a function at a time. Two equal versions are of one function that was not edited in between.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Version {
    lineage: u64,
    n_edits: u64,
    header: u64,
}

impl Version {
    /// What is the same for all versions of a function, and for no other function, its copies among them.
    pub fn lineage(self) -> u64 {
        self.lineage
    }
}

/// The count of a function's edits, and its bound.
#[derive(Debug)]
pub(super) struct Edits {
    /// Tells the function from every other, and from its own copies.
    lineage: u64,
    n: u64,
    limit: u64,
    /// At this count the limit and the request to cancel are looked at.
    next_look: u64,
    cancel: Option<Cancel>,
}

/// So many edits are made between two looks at a request to cancel.
const EDITS_BETWEEN_LOOKS: u64 = 256;

impl Edits {
    pub(super) fn new() -> Edits {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Edits {
            lineage: NEXT.fetch_add(1, Ordering::Relaxed),
            n: 0,
            limit: u64::MAX,
            next_look: u64::MAX,
            cancel: None,
        }
    }
}

/// A copy is another function from then on.
impl Clone for Edits {
    fn clone(&self) -> Edits {
        let limit = self.limit - self.n;
        let mut copy = Edits { limit, cancel: self.cancel.clone(), ..Edits::new() };
        copy.plan_look();
        copy
    }
}

impl Edits {
    fn plan_look(&mut self) {
        let soon = if self.cancel.is_some() { self.n + EDITS_BETWEEN_LOOKS } else { u64::MAX };
        self.next_look = self.limit.min(soon);
    }

    #[cold]
    fn look(&mut self) {
        // A rewriter that is dropped while a panic unwinds may still edit: to unwind once more would abort.
        if std::thread::panicking() {
            return;
        }
        if let Some(cancel) = &self.cancel {
            cancel.check();
        }
        if self.n >= self.limit {
            std::panic::resume_unwind(Box::new(StepsUsedUp));
        }
        self.plan_look();
    }
}

impl Func {
    /// Lets the function be edited so many times more; `None` lifts the limit. The edit after the last one unwinds with
    /// [`StepsUsedUp`], without a panic's message, and leaves the function half changed.
    pub fn limit_steps(&mut self, steps: Option<u64>) {
        self.edits.limit = steps.map_or(u64::MAX, |steps| self.edits.n.saturating_add(steps));
        self.edits.plan_look();
    }

    /// Has edits look every now and then whether `cancel` was asked for: an edit then unwinds with
    /// [`Cancelled`](tc_support::cancel::Cancelled) and leaves the function half changed.
    pub fn cancel_by(&mut self, cancel: Option<Cancel>) {
        self.edits.cancel = cancel;
        self.edits.plan_look();
    }

    /// Unwinds if it was asked to cancel what is done to the function. Work that edits nothing looks by this.
    #[inline]
    pub fn check_cancelled(&self) {
        if let Some(cancel) = &self.edits.cancel {
            cancel.check();
        }
    }

    /// How many edits were made since it was made itself.
    pub fn n_edits(&self) -> u64 {
        self.edits.n
    }

    /// The version of the function: it changes with every edit of the body and with the header. Interning a name, a type or
    /// an attribute is no edit.
    pub fn version(&self) -> Version {
        Version { lineage: self.edits.lineage, n_edits: self.edits.n, header: self.header_hash() }
    }

    /// A hash of the header, which anybody may write to.
    pub(super) fn header_hash(&self) -> u64 {
        let mut hasher = FxHasher::default();
        self.header.hash(&mut hasher);
        hasher.finish()
    }

    /// Counts an edit.
    #[inline]
    pub(crate) fn step(&mut self) {
        if self.edits.n >= self.edits.next_look {
            self.edits.look();
        }
        self.edits.n += 1;
        self.checked.edit();
    }
}
