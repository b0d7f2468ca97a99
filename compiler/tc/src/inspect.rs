//! What an editor asks of a text: all that can be read of one with errors, and an operator under a schedule with the reasons
//! for what came of it.

use crate::compiler::Compiler;
use crate::failure::Failure;
use crate::guard::guarded;
use crate::run::cases::{is_operator, is_program};
use crate::space::space;
use std::sync::Arc;
use tc_ir::Module;
use tc_pass::parse_pipeline;
use tc_passes::schedule::{Explain, Explained};
use tc_schedule::space::Reject;
use tc_support::{Diagnostic, Diagnostics, Sources};
use tc_syntax::ParseOptions;

/// What could be read of a text.
#[derive(Clone, Debug)]
pub struct Partial {
    /// The items without errors. Where there are errors, they may name others that are not there.
    pub module: Module,
    /// All that was found, errors included.
    pub found: Diagnostics,
}

/// An operator or a program under a schedule.
#[derive(Clone, Debug)]
pub struct Scheduled {
    /// The module after the pass `schedule`: programs.
    pub module: Module,
    /// Why the stages of the operator compute what they do; none of a program.
    pub explained: Vec<Explained>,
    /// Diagnostics that are no errors; a warning `over-limit` where the target has less than the program needs.
    pub remarks: Diagnostics,
}

impl Compiler {
    /// Reads what can be read of a text. Unlike [`Compiler::parse`] it fails only where the compiler does.
    pub fn parse_partial(&self, name: &str, text: &str) -> Result<Partial, Failure> {
        guarded(&format!("reading `{name}`"), &Sources::new(), || {
            let (module, mut found) = tc_syntax::parse_module(name, text, &self.registry, &ParseOptions::default());
            if !found.has_errors() {
                found.append(tc_ir::symbols::verify_module(&module));
            }
            Ok(Partial { module, found })
        })
    }

    /// Runs the pass `schedule` on the operator or program `func` of `module` with its schedule `schedule`, within
    /// [`limits`](Compiler::limits), and explains the bounds of each stage. `module` stays as it is.
    pub fn schedule(&self, module: &Module, func: &str, schedule: &str) -> Result<Scheduled, Failure> {
        guarded("scheduling", &module.sources, || {
            self.accept(module)?;
            let over = self.over_limit(module, func, schedule);
            let mut module = module.clone();
            let text = format!("schedule{{name={schedule} func={func}}}");
            let failed = |diagnostics, module: &Module| Failure { diagnostics, sources: module.sources.clone() };
            let pipeline = parse_pipeline(&text, &self.passes, &self.registry, &mut module.sources)
                .map_err(|found| failed(found, &module))?;
            let explain = Explain::default();
            let mut options = self.run_options();
            options.extensions.push(Arc::new(explain.clone()));
            let report = tc_pass::Manager::new(&self.passes, options).run(&pipeline, &mut module);
            if !report.is_ok() {
                return Err(failed(report.diagnostics, &module));
            }
            let mut remarks = report.diagnostics;
            over.into_iter().for_each(|over| remarks.push(over));
            let explained = explain.0.lock().map(|mut all| std::mem::take(&mut *all)).unwrap_or_default();
            Ok(Scheduled { module, explained, remarks })
        })
    }

    /// A warning where the schedule, at the first point of its space, needs more than the target has.
    fn over_limit(&self, module: &Module, func: &str, schedule: &str) -> Option<Diagnostic> {
        let module = self.without_calls(module).ok()?;
        let item = module.items.iter().find(|item| item.symbol() == func && (is_operator(item) || is_program(item)))?;
        let of_item = |&at: &usize| module.items[at].symbol() == schedule;
        let sched = &module.items[module.schedules_for(func).find(of_item)?];
        let space = space(item, sched, &[]).ok()?;
        let Err(Reject::OverLimit(over)) = space.judge(&space.first().ok()?, &self.target) else { return None };
        let text = format!("`{}` does not allow it: {}", self.target.name, Reject::OverLimit(over).message());
        Some(Diagnostic::warning("over-limit", sched.location(sched.header.loc), text))
    }
}
