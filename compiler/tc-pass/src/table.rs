//! The passes and named pipelines that a run knows.
//!
//! There is no global table: the facade makes one from this repository's passes, and an embedder adds its own.

use crate::options::{OptionError, OptionInfo, RawOption};
use crate::pass::{PassInfo, PassKind};
use crate::pipeline::syntax;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use tc_ir::form::Form;
use tc_support::suggest::{did_you_mean, shorten};

/// One line of a named pipeline.
#[derive(Clone, Debug)]
pub struct PipelineStep {
    /// A piece of pipeline text, such as `tir.func(storage-flatten,simplify)`; empty at a place.
    pub text: Cow<'static, str>,
    /// Why it stands where it does, as a sentence; of a place, what holds there.
    pub reason: &'static str,
    /// The name of a place where an embedder's passes are put ([`PassTable::add_at`]); nothing runs there otherwise.
    pub place: Option<&'static str>,
}

impl PipelineStep {
    /// The line `text`, which stands where it does for `reason`.
    pub fn new(text: impl Into<Cow<'static, str>>, reason: &'static str) -> PipelineStep {
        PipelineStep { text: text.into(), reason, place: None }
    }

    /// The place `name`, where passes of others are put; `reason` says what holds there.
    pub const fn place(name: &'static str, reason: &'static str) -> PipelineStep {
        PipelineStep { text: Cow::Borrowed(""), reason, place: Some(name) }
    }
}

/// The row that declares a named pipeline. In a pipeline string it is used like a module pass.
pub struct PipelineInfo {
    /// The name in pipelines.
    pub name: &'static str,
    /// What it is for, as a sentence.
    pub summary: &'static str,
    /// Its options.
    pub options: &'static [OptionInfo],
    /// Its lines, for these options. They stand inside `module(…)`.
    pub steps: fn(&[RawOption]) -> Result<Vec<PipelineStep>, OptionError>,
}

impl PipelineInfo {
    /// The places for passes of others, with its default options: how many lines stand before each, and its step.
    pub fn places(&self) -> Vec<(usize, PipelineStep)> {
        let (mut n_lines, mut places) = (0, Vec::new());
        for step in (self.steps)(&[]).unwrap_or_default() {
            match step.place {
                Some(_) => places.push((n_lines, step)),
                None => n_lines += 1,
            }
        }
        places
    }
}

/// The name is taken by another pass or pipeline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NameTaken(pub &'static str);

impl fmt::Display for NameTaken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "another pass or pipeline is called `{}`", self.0)
    }
}

impl std::error::Error for NameTaken {}

/// Why passes were not put at a place of a named pipeline.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlaceError {
    /// What is wrong.
    pub message: String,
    /// The help.
    pub help: Option<String>,
}

impl fmt::Display for PlaceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let help = self.help.as_ref().map_or(String::new(), |help| format!(": {help}"));
        write!(f, "{}{help}", self.message)
    }
}

impl std::error::Error for PlaceError {}

/// Makes a pass from its options, as [`PassInfo::make`] does, with a state of its own.
pub type MakePass = Arc<dyn Fn(&[RawOption]) -> Result<PassKind, OptionError> + Send + Sync>;

/// A pass of the table.
#[derive(Clone)]
struct Entry {
    info: &'static PassInfo,
    /// What makes it, where that is not the row.
    make: Option<MakePass>,
}

/// Passes that an embedder put at a place of a named pipeline.
#[derive(Clone)]
struct Placed {
    pipeline: &'static str,
    place: &'static str,
    text: String,
}

/// The passes and named pipelines that a run knows, in the order in which they are listed.
#[derive(Clone, Default)]
pub struct PassTable {
    passes: Vec<Entry>,
    pipelines: Vec<&'static PipelineInfo>,
    placed: Vec<Placed>,
    /// So many passes, from the first on, are the compiler's own.
    n_own: usize,
}

impl PassTable {
    /// A table without rows.
    pub fn new() -> PassTable {
        PassTable::default()
    }

    /// A table of the compiler's own passes and pipelines, whose names differ. Those that are added later are of others,
    /// and so is what goes wrong in them.
    pub fn of_own(passes: &[&'static PassInfo], pipelines: &[&'static PipelineInfo]) -> PassTable {
        PassTable {
            passes: passes.iter().map(|&info| Entry { info, make: None }).collect(),
            pipelines: pipelines.to_vec(),
            placed: Vec::new(),
            n_own: passes.len(),
        }
    }

    /// Adds a pass.
    pub fn add_pass(&mut self, info: &'static PassInfo) -> Result<(), NameTaken> {
        self.add(Entry { info, make: None })
    }

    /// Adds a pass that `make` makes instead of its row: one that has a state of its own.
    pub fn add_pass_with(&mut self, info: &'static PassInfo, make: MakePass) -> Result<(), NameTaken> {
        self.add(Entry { info, make: Some(make) })
    }

    fn add(&mut self, entry: Entry) -> Result<(), NameTaken> {
        self.refuse_taken(entry.info.name)?;
        self.passes.push(entry);
        Ok(())
    }

    /// Adds a named pipeline.
    pub fn add_pipeline(&mut self, info: &'static PipelineInfo) -> Result<(), NameTaken> {
        self.refuse_taken(info.name)?;
        self.pipelines.push(info);
        Ok(())
    }

    fn refuse_taken(&self, name: &'static str) -> Result<(), NameTaken> {
        let taken = self.pass(name).is_some() || self.pipeline(name).is_some();
        if taken { Err(NameTaken(name)) } else { Ok(()) }
    }

    /// Puts the passes that `text` names at a place of a named pipeline, after those that were put there before. `text` is
    /// read where the pipeline is, so the passes may be added later.
    pub fn add_at(&mut self, pipeline: &str, place: &str, text: impl Into<String>) -> Result<(), PlaceError> {
        let Some(info) = self.pipeline(pipeline) else {
            let message = format!("there is no pipeline `{}`", shorten(pipeline));
            return Err(PlaceError {
                message,
                help: did_you_mean(pipeline, self.pipelines.iter().map(|info| info.name)),
            });
        };
        let known: Vec<&'static str> = info.places().into_iter().map(|(_, step)| step.place.unwrap_or("")).collect();
        let Some(&place) = known.iter().find(|known| **known == place) else {
            let message = format!("the pipeline `{}` has no place `{}`", info.name, shorten(place));
            let help = did_you_mean(place, known.iter().copied()).unwrap_or_else(|| "it has none".to_string());
            return Err(PlaceError { message, help: Some(help) });
        };
        let text = text.into();
        if let Err(error) = syntax::parse(&text) {
            let message = format!("`{}` is no pipeline: {}", shorten(&text), error.message);
            return Err(PlaceError { message, help: error.help });
        }
        self.placed.push(Placed { pipeline: info.name, place, text });
        Ok(())
    }

    /// The pipeline texts of a line of the pipeline `info`: its own, or what was put at the place that it is.
    pub fn texts<'t>(&'t self, info: &'static PipelineInfo, step: &'t PipelineStep) -> Vec<&'t str> {
        let Some(place) = step.place else { return vec![&step.text] };
        let here = self.placed.iter().filter(|placed| placed.pipeline == info.name && placed.place == place);
        here.map(|placed| &*placed.text).collect()
    }

    /// The passes.
    pub fn passes(&self) -> impl ExactSizeIterator<Item = &'static PassInfo> + Clone + '_ {
        self.passes.iter().map(|entry| entry.info)
    }

    /// Was this pass added to those of the compiler?
    pub fn is_foreign(&self, info: &PassInfo) -> bool {
        !self.passes[..self.n_own].iter().any(|entry| entry.info.name == info.name)
    }

    /// Makes a pass of the table from its options.
    pub(crate) fn make(&self, info: &'static PassInfo, options: &[RawOption]) -> Result<PassKind, OptionError> {
        let entry = self.passes.iter().find(|entry| entry.info.name == info.name);
        match entry.and_then(|entry| entry.make.as_ref()) {
            Some(make) => make(options),
            None => (info.make)(options),
        }
    }

    /// The named pipelines.
    pub fn pipelines(&self) -> &[&'static PipelineInfo] {
        &self.pipelines
    }

    /// The pass called `name`.
    pub fn pass(&self, name: &str) -> Option<&'static PassInfo> {
        self.passes().find(|info| info.name == name)
    }

    /// The named pipeline called `name`.
    pub fn pipeline(&self, name: &str) -> Option<&'static PipelineInfo> {
        self.pipelines.iter().find(|info| info.name == name).copied()
    }

    /// The names of all passes and pipelines.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + Clone + '_ {
        self.passes().map(|info| info.name).chain(self.pipelines.iter().map(|info| info.name))
    }

    /// The passes that establish `form`.
    pub fn establishing(&self, form: &Form) -> impl Iterator<Item = &'static PassInfo> + '_ {
        let name = form.name;
        self.passes().filter(move |info| info.establishes.iter().any(|form| form.name == name))
    }
}
