//! Runs a pipeline over a module.
//!
//! Around each pass the manager checks the forms that the pass requires and establishes, verifies what changed,
//! lets instruments look, and keeps the record that timing and statistics are printed from. An error-severity
//! diagnostic always fails the pass that made it; the error says which pass of how many that was, and on which
//! function. A panic in a pass becomes a diagnostic too.
//!
//! Functions of a func pass run in parallel. What comes out does not depend on the number of threads: each function
//! owns its storage, and diagnostics and counters are put together in the order of the functions.

mod apply;
mod forms;
mod guard;
mod run;

pub(crate) use guard::{disown, panicked};

use crate::limits::Limits;
use crate::options::RawOption;
use crate::pass::Stats;
use crate::pipeline::{Pipeline, Planned};
use crate::remarks::Remarks;
use crate::table::PassTable;
use std::any::Any;
use std::sync::Arc;
use std::time::Duration;
use tc_ir::Module;
use tc_support::Diagnostics;

/// How a pipeline is run.
#[derive(Clone)]
pub struct RunOptions {
    /// How many functions run at a time, four a core at the most; 0 stands for as many as there are cores.
    pub threads: usize,
    /// Verify the module at first, and what a pass changed after it.
    pub verify: bool,
    /// Which remarks of passes are reported.
    pub remarks: Remarks,
    /// What passes can ask the run for, by type: a target, an oracle.
    pub extensions: Vec<Arc<dyn Any + Send + Sync>>,
    /// What ends a run from outside.
    pub limits: Limits,
    /// Count the ops before and after each pass, for its record. It costs a walk over what has changed.
    pub count_ops: bool,
}

impl Default for RunOptions {
    fn default() -> RunOptions {
        let (remarks, limits) = (Remarks::default(), Limits::default());
        RunOptions { threads: 0, verify: true, remarks, extensions: Vec::new(), limits, count_ops: false }
    }
}

/// A pass at its place in a run.
#[derive(Clone, Copy)]
pub struct PassAt<'p> {
    /// Its number, from 1.
    pub number: usize,
    /// How many passes the pipeline has.
    pub total: usize,
    /// Its name.
    pub name: &'static str,
    /// What it runs on: `module`, or an item keyword.
    pub anchor: &'static str,
    /// Its options as they were given.
    pub options: &'p [RawOption],
}

impl<'p> PassAt<'p> {
    fn new(pipeline: &'p Pipeline, idx: usize) -> PassAt<'p> {
        let Planned { info, options, .. } = &pipeline.passes[idx];
        PassAt { number: idx + 1, total: pipeline.passes.len(), name: info.name, anchor: info.anchor, options }
    }
}

/// What a pass did.
#[derive(Clone, Debug)]
pub struct PassRecord {
    /// Its name.
    pub name: &'static str,
    /// What it ran on: `module`, or an item keyword.
    pub anchor: &'static str,
    /// How many items it was given: functions, or one module.
    pub n_items: usize,
    /// Did it change anything?
    pub changed: bool,
    /// Its counters, summed over the functions.
    pub stats: Stats,
    /// When it began, counted from the beginning of the run.
    pub start: Duration,
    /// How long it took. Functions that ran side by side count once: this is the time that was waited.
    pub time: Duration,
    /// How long checks of forms and the verifier took.
    pub verify_time: Duration,
    /// The ops of the module before and after it, where [`RunOptions::count_ops`] asks for them.
    pub ops: Option<OpCounts>,
}

/// How many ops a module had before a pass and after it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OpCounts {
    /// Before.
    pub before: usize,
    /// After; of a pass that failed, as it left them.
    pub after: usize,
}

/// Looks on while a pipeline runs. What it reports is added to the diagnostics of the run; an error ends it.
pub trait Instrument {
    /// Before a pass.
    fn before_pass(&mut self, at: &PassAt<'_>, module: &Module) -> Diagnostics {
        let _ = (at, module);
        Diagnostics::new()
    }

    /// After a pass that did not fail.
    fn after_pass(&mut self, at: &PassAt<'_>, module: &Module, record: &PassRecord) -> Diagnostics {
        let _ = (at, module, record);
        Diagnostics::new()
    }

    /// After a pass that failed, or that an instrument found fault with. The module is as the pass left it: it may break
    /// rules that the verifier checks. `found` is what was found.
    fn pass_failed(&mut self, at: &PassAt<'_>, module: &Module, found: &Diagnostics) {
        let _ = (at, module, found);
    }
}

/// What came of a run.
#[derive(Clone, Debug)]
pub struct Report {
    /// All diagnostics. If one is an error, the module is as the failing pass left it, and good for nothing.
    pub diagnostics: Diagnostics,
    /// What the passes did, as far as they ran.
    pub records: Vec<PassRecord>,
    /// The index of the pass that failed, or before which the run was ended.
    pub failed: Option<usize>,
    /// How many edits the passes made.
    pub steps: u64,
}

impl Report {
    /// Did everything go well?
    pub fn is_ok(&self) -> bool {
        !self.diagnostics.has_errors()
    }
}

/// What a run does not change.
struct Settings<'m> {
    table: &'m PassTable,
    options: RunOptions,
}

/// Runs pipelines.
pub struct Manager<'m> {
    settings: Settings<'m>,
    instruments: Vec<Box<dyn Instrument + 'm>>,
}

impl<'m> Manager<'m> {
    /// A manager without instruments. `table` is asked which pass establishes a form that another one misses.
    pub fn new(table: &'m PassTable, options: RunOptions) -> Manager<'m> {
        Manager { settings: Settings { table, options }, instruments: Vec::new() }
    }

    /// Adds an instrument; they are asked in the order in which they were added.
    pub fn instrument(&mut self, instrument: impl Instrument + 'm) -> &mut Manager<'m> {
        self.instruments.push(Box::new(instrument));
        self
    }

    /// Runs `pipeline` over `module`. A pass that fails leaves its name in [`Module::spoiled_by`].
    pub fn run(&mut self, pipeline: &Pipeline, module: &mut Module) -> Report {
        run::run(&self.settings, &mut self.instruments, pipeline, module)
    }
}
