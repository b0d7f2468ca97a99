//! The passes and named pipelines that a run knows.
//!
//! There is no global table: the facade makes one from this repository's passes, and an embedder adds its own.

use crate::options::{OptionError, OptionInfo, RawOption};
use crate::pass::PassInfo;
use std::borrow::Cow;
use tc_ir::form::Form;

/// One line of a named pipeline.
#[derive(Clone, Debug)]
pub struct Step {
    /// A piece of pipeline text, such as `tir.func(storage-flatten,simplify)`.
    pub text: Cow<'static, str>,
    /// Why it stands where it does, as a sentence.
    pub reason: &'static str,
}

impl Step {
    /// The line `text`, which stands where it does for `reason`.
    pub fn new(text: impl Into<Cow<'static, str>>, reason: &'static str) -> Step {
        Step { text: text.into(), reason }
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
    pub steps: fn(&[RawOption]) -> Result<Vec<Step>, OptionError>,
}

/// The name is taken by another pass or pipeline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NameTaken(pub &'static str);

/// The passes and named pipelines that a run knows, in the order in which they are listed.
#[derive(Clone, Default)]
pub struct PassTable {
    passes: Vec<&'static PassInfo>,
    pipelines: Vec<&'static PipelineInfo>,
}

impl PassTable {
    /// A table without rows.
    pub fn new() -> PassTable {
        PassTable::default()
    }

    /// Adds a pass.
    pub fn add_pass(&mut self, info: &'static PassInfo) -> Result<(), NameTaken> {
        self.refuse_taken(info.name)?;
        self.passes.push(info);
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

    /// The passes.
    pub fn passes(&self) -> &[&'static PassInfo] {
        &self.passes
    }

    /// The named pipelines.
    pub fn pipelines(&self) -> &[&'static PipelineInfo] {
        &self.pipelines
    }

    /// The pass called `name`.
    pub fn pass(&self, name: &str) -> Option<&'static PassInfo> {
        self.passes.iter().find(|info| info.name == name).copied()
    }

    /// The named pipeline called `name`.
    pub fn pipeline(&self, name: &str) -> Option<&'static PipelineInfo> {
        self.pipelines.iter().find(|info| info.name == name).copied()
    }

    /// The names of all passes and pipelines.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + Clone + '_ {
        self.passes.iter().map(|info| info.name).chain(self.pipelines.iter().map(|info| info.name))
    }

    /// The passes that establish `form`.
    pub fn establishing(&self, form: &Form) -> impl Iterator<Item = &'static PassInfo> + '_ {
        let name = form.name;
        self.passes.iter().copied().filter(move |info| info.establishes.iter().any(|form| form.name == name))
    }
}
