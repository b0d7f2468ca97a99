//! A candidate: a text, what it reads as, and the frame that a reproducer has around it.

use super::{Measure, Size};
use crate::reproducer::Reproducer;
use std::sync::Arc;
use tc_ir::print::{PrintOptions, print_module};
use tc_ir::walk::all_ops;
use tc_ir::{Func, Module, Registry, Role};
use tc_syntax::{ParseOptions, parse_module};

/// What is the same for all candidates.
#[derive(Clone, Debug)]
pub struct Frame {
    /// The head of the reproducer, where the input is one.
    pub head: Option<Reproducer>,
    /// The dialects.
    pub registry: Arc<Registry>,
    /// Keep ops that no dialect declares.
    pub allow_unknown_ops: bool,
}

/// A candidate.
#[derive(Clone, Debug)]
pub struct State {
    frame: Arc<Frame>,
    /// The passes of the reproducer, each as a pipeline of its own.
    pub passes: Vec<String>,
    /// The program.
    pub text: String,
    /// What it reads as. None of all candidates if the input does not read.
    pub module: Option<Arc<Module>>,
    /// How it is printed.
    pub print: PrintOptions,
}

impl State {
    /// The state of the input. It need not read.
    pub fn first(frame: Frame, passes: Vec<String>, text: String) -> State {
        let frame = Arc::new(frame);
        let module = read(&frame, &text).map(Arc::new);
        State { frame, passes, text, module, print: PrintOptions::default() }
    }

    /// The same with another text; none if that does not read, though this one does, or does not verify.
    pub fn with_text(&self, text: String) -> Option<State> {
        let module = match &self.module {
            Some(_) => Some(Arc::new(read(&self.frame, &text)?)),
            None => None,
        };
        Some(State { text, module, ..self.clone() })
    }

    /// The same with another program; none if that is none.
    pub fn with_module(&self, module: &Module) -> Option<State> {
        if module.items.iter().any(|item| tc_ir::verify::verify(item).has_errors()) {
            return None;
        }
        self.with_text(print_module(module, &self.print))
    }

    /// The same program in another form.
    pub fn printed(&self, print: PrintOptions) -> Option<State> {
        let module = self.module.clone()?;
        let other = State { print, ..self.clone() };
        other.with_module(&module)
    }

    /// The same, edited: `edit` returns whether it did anything.
    pub fn edited(&self, edit: impl FnOnce(&mut Vec<Func>) -> bool) -> Option<State> {
        let mut module = Module::clone(self.module.as_ref()?);
        if !edit(&mut module.items) {
            return None;
        }
        self.with_module(&module)
    }

    /// The pipeline.
    pub fn pipeline(&self) -> String {
        format!("module({})", self.passes.join(","))
    }

    /// The text that is asked about: with the head of the reproducer, if there is one.
    pub fn file(&self) -> String {
        match &self.frame.head {
            Some(head) => head.text_with(self.pipeline(), self.text.clone()),
            None => self.text.clone(),
        }
    }

    /// How small it is.
    pub fn measure(&self) -> Measure {
        Measure::of(&self.text, &self.passes.join(","))
    }

    /// How large it is, in the words of people.
    pub fn size(&self) -> Size {
        let is_code = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with("//");
        let n_ops = |item: &Func| all_ops(item).filter(|&op| item.role(op) != Role::Constant).count();
        Size {
            ops: self.module.as_ref().map(|module| module.items.iter().map(n_ops).sum()),
            lines: self.text.lines().filter(is_code).count(),
            passes: self.passes.len(),
        }
    }
}

/// The module that `text` is, if it reads and verifies.
fn read(frame: &Frame, text: &str) -> Option<Module> {
    let options = ParseOptions { allow_unknown_ops: frame.allow_unknown_ops };
    let (module, found) = parse_module("candidate.tir", text, &frame.registry, &options);
    let good = !found.has_errors() && !module.items.iter().any(|item| tc_ir::verify::verify(item).has_errors());
    good.then_some(module)
}
