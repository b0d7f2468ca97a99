//! What a pass is.

use crate::analyses::{Analyses, Analysis, Preserved};
use crate::options::{OptionError, OptionInfo, RawOption};
use crate::remarks::Wanted;
use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;
use std::sync::Arc;
use tc_ir::form::Form;
use tc_ir::{Func, Module, Opcode};
use tc_support::{Diagnostic, Diagnostics};

/// Counters of what a pass did, in the order of first use.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Stats {
    counters: IndexMap<&'static str, u64, FxBuildHasher>,
}

impl Stats {
    /// Adds `n` to the counter `name`, such as `loops unrolled`.
    pub fn add(&mut self, name: &'static str, n: u64) {
        *self.counters.entry(name).or_insert(0) += n;
    }

    /// Adds all counters of `other`.
    pub fn merge(&mut self, other: &Stats) {
        for (&name, &n) in &other.counters {
            self.add(name, n);
        }
    }

    /// The counters.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        self.counters.iter().map(|(&name, &n)| (name, n))
    }
}

/// What a run lends to a pass: facts of the run, and a place for diagnostics and counters.
///
/// What it carries of the outside (a target, an oracle that executes programs) comes as an extension, by type,
/// so that this crate need not know it.
#[derive(Default)]
pub struct PassCx {
    /// Diagnostics. An error-severity one fails the pass.
    pub diagnostics: Diagnostics,
    /// Counters.
    pub stats: Stats,
    remarks: Wanted,
    pub(crate) analyses: Analyses,
    extensions: Vec<Arc<dyn std::any::Any + Send + Sync>>,
}

impl PassCx {
    /// A context with these extensions.
    pub fn new(extensions: Vec<Arc<dyn std::any::Any + Send + Sync>>) -> PassCx {
        PassCx { extensions, ..PassCx::default() }
    }

    /// The same context, in which these remarks are wanted.
    pub fn with_remarks(self, remarks: Wanted) -> PassCx {
        PassCx { remarks, ..self }
    }

    /// The same context, with what is known already.
    pub(crate) fn with_analyses(self, analyses: Analyses) -> PassCx {
        PassCx { analyses, ..self }
    }

    /// The analysis `A` of `func` as it is now: the one that an earlier request made, if the function was not edited since
    /// or the passes that edited it preserve the analysis.
    pub fn analysis<A: Analysis>(&mut self, func: &Func) -> Arc<A> {
        self.analyses.get(func)
    }

    /// The extension of type `T`, such as the target.
    pub fn get<T: std::any::Any + Send + Sync>(&self) -> Option<&T> {
        self.extensions.iter().find_map(|extension| extension.downcast_ref::<T>())
    }

    /// Records a diagnostic.
    pub fn report(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    /// Is anybody interested in what the pass decides by itself?
    pub fn wants_missed(&self) -> bool {
        self.remarks == Wanted::All
    }

    /// Tells what the pass left undone though the program did not ask for it in words: `remark` is made only where the run asks for
    /// the remarks of this pass. What somebody asked for is told by [`report`](PassCx::report).
    pub fn missed(&mut self, remark: impl FnOnce() -> Diagnostic) {
        if self.wants_missed() {
            self.report(remark());
        }
    }

    /// Counts.
    pub fn count(&mut self, name: &'static str, n: u64) {
        self.stats.add(name, n);
    }
}

/// A pass over one function at a time. Functions may be given to it in parallel.
pub trait FuncPass: Send + Sync {
    /// Changes `func`; returns whether it did. To return `false` after an edit is a bug, which the manager reports, even if
    /// later edits restored what there was.
    fn run(&self, func: &mut Func, cx: &mut PassCx) -> bool;
}

/// A pass over a whole module.
pub trait ModulePass: Send + Sync {
    /// Changes `module`; returns whether it did, as [`FuncPass::run`].
    fn run(&self, module: &mut Module, cx: &mut PassCx) -> bool;
}

/// A pass, made from its options.
pub enum PassKind {
    /// Over functions of one item row, such as `tir.func`.
    Func(Opcode, Box<dyn FuncPass>),
    /// Over the module.
    Module(Box<dyn ModulePass>),
}

/// The row that declares a pass.
pub struct PassInfo {
    /// The name in pipelines.
    pub name: &'static str,
    /// Its page: what it does, in Markdown. [`tc_support::page!`] takes it from the head of the pass's file.
    pub page: &'static str,
    /// The item that it runs on: `module`, or an item keyword such as `tir.func`.
    pub anchor: &'static str,
    /// Its options.
    pub options: &'static [OptionInfo],
    /// The forms that a function must be in.
    pub requires: &'static [&'static Form],
    /// The forms that a function is in afterwards.
    pub establishes: &'static [&'static Form],
    /// The analyses that still hold after the pass, whatever it edited: `&[preserved::<A>]`.
    pub preserves: &'static [fn() -> Preserved],
    /// Makes the pass.
    pub make: fn(&[RawOption]) -> Result<PassKind, OptionError>,
}

impl PassInfo {
    /// The anchor of a pass over the whole module.
    pub const MODULE: &'static str = "module";

    /// A row on which rows are built by naming what differs: no options, no forms. What makes the pass must be named.
    pub const BASE: PassInfo = PassInfo {
        name: "",
        page: "",
        anchor: PassInfo::MODULE,
        options: &[],
        requires: &[],
        establishes: &[],
        preserves: &[],
        make: |_| {
            let message = "the row of this pass does not say what makes it".to_string();
            Err(OptionError { message, help: None, at: 0..0 })
        },
    };

    /// The first sentence of the page.
    pub fn summary(&self) -> String {
        let paragraph = self.page.split("\n\n").next().unwrap_or("").replace('\n', " ");
        match paragraph.find(". ") {
            Some(end) => paragraph[..=end].to_string(),
            None => paragraph.trim_end().to_string(),
        }
    }
}
