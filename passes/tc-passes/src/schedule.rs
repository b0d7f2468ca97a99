//! Lowers operators to programs, by their schedules.
//!
//! # Input form
//!
//! Any. Programs beside the operators are left unchanged.
//!
//! # Output form
//!
//! A `tir.func` of the same name, in the form `scheduled`, replaces each scheduled `te.func` and all its schedules. A
//! program under a schedule replaces the one without.
//! With `keep` they stay, and the program is called `@operator_schedule` and carries `implements`.
//!
//! # Example
//!
//! ```tir
//! te.func @f(A: f32[64]) -> f32[64] {
//!   compute B[i: 64] = A[i] + 1.0
//!   return B
//! }
//! schedule @s for @f {
//!   bind(B.i, threadIdx.x)
//! }
//! ->
//! tir.func @f(A: f32[64], B: f32[64]) attributes {noalias} {
//!   for i in 0..64 bind(threadIdx.x) {
//!     B[i] = A[i] + 1.0
//!   }
//! }
//! ```
//!
//! # Algorithm
//!
//! 1. Put the directives of schedule functions in the place of the calls (`inline-schedule-calls`).
//! 2. For each operator (or only the one that `func` names) choose the schedule called `name`; without a name the only
//!    schedule of the operator, or plain loops if it has none. An operator without a schedule that a program of the
//!    file `implements` stays unchanged.
//! 3. Lower it: apply the directives to the graph of stages, infer bounds, make loops, guard. A schedule that chooses
//!    among others (`dispatch`) is the first whose condition holds; where sizes decide that are open, lower each that may be
//!    taken to a program `@operator_schedule`, and make a function that chooses and calls.
//! 4. Remove the scheduled operators, schedules whose operators are gone, and schedule functions if no schedule is left.
//!
//! # Limits
//!
//! An operator with several schedules needs a name. A
//! size gets its value from `param`, or else its default; a size with neither stays open, and with `symbolic` so does
//! one with a default. Extents of threads, of vectors and of unrolled loops must be constants in any case, and so must
//! the sizes of on-chip buffers, or an upper bound of them.
//!
//! # Remarks
//!
//! None: an illegal directive is refused. The passes that carry out the marks of a schedule report what they miss.
//!
//! # References
//!
//! TVM 0.16, `src/te/schedule`.

pub use crate::analysis::defines::{Defines, read_defines};

use crate::analysis::defines::param_option;
use crate::program_schedule;
use indexmap::IndexMap;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use tc_dialects::{sched, te, tir};
use tc_ir::opdef::SymbolTable;
use tc_ir::{AttrData, Func, Loc, Module, keys};
use tc_pass::{ModulePass, PassCx, PassInfo, PassKind};
use tc_schedule::Define;
use tc_schedule::calls::{Library, prepare_all, with_calls};
use tc_schedule::dispatch::{alternatives, is_dispatch};
use tc_schedule::explain::StageWhy;
use tc_support::{Diagnostic, Diagnostics, Location, Sources, counted, suggest};

tc_pass::options! {
    /// What `schedule` can be told.
    pub struct Options {
        /// The schedule; without it, the only one of the operator.
        name: String = String::new(),
        /// The operator; without it, every one.
        func: String = String::new(),
        /// Values for sizes and parameters, separated by spaces: `block=64 cached=true`.
        param: String = String::new(),
        /// Leave sizes with a default open, as those without one are: the program is made for all their values.
        symbolic: bool = false,
        /// Keep operators and schedules beside the programs.
        keep: bool = false,
    }
}

/// The row.
pub const INFO: PassInfo = PassInfo {
    name: "schedule",
    page: tc_support::page!("schedule.rs"),
    anchor: PassInfo::MODULE,
    options: Options::INFO,
    requires: &[],
    establishes: &[],
    preserves: &[],
    make: |raw| {
        let options = Options::read(raw)?;
        let defines = param_option(raw, &options.param, "block=64 cached=true")?;
        Ok(PassKind::Module(Box::new(Schedule { options, defines, given: Vec::new() })))
    },
};

/// The extension by which a run asks for the program after each line of the schedules that are applied: the text is
/// added here.
#[derive(Clone, Default)]
pub struct Trace(pub Arc<Mutex<String>>);

/// The extension by which a run asks why the stages of what is scheduled compute what they do: it is added here.
#[derive(Clone, Default)]
pub struct Explain(pub Arc<Mutex<Vec<Explained>>>);

/// The stages of one operator under its schedule.
#[derive(Clone, Debug)]
pub struct Explained {
    /// The operator.
    pub operator: String,
    /// The schedule.
    pub schedule: Option<String>,
    /// Why each stage computes what it does, results first.
    pub stages: Vec<StageWhy>,
}

/// The pass.
pub struct Schedule {
    /// What it was given.
    pub options: Options,
    /// The values that `param` gives.
    pub defines: Vec<Define>,
    /// Values that the run gives, each for the operators and schedules that know the name.
    given: Vec<Define>,
}

impl ModulePass for Schedule {
    fn run(&self, module: &mut Module, cx: &mut PassCx) -> bool {
        let library = cx.get::<Library>().cloned().unwrap_or_default();
        let prepared = match prepare_all(module, library.items()) {
            Ok(changed) => changed,
            Err(found) => {
                cx.diagnostics.append(found);
                return false;
            }
        };
        let scheduled = match cx.get::<Defines>().filter(|given| !given.0.is_empty()) {
            Some(given) => match self.with(&given.0, module) {
                Ok(all) => all.run_told(module, cx),
                Err(unknown) => {
                    cx.report(unknown);
                    false
                }
            },
            None => self.run_told(module, cx),
        };
        prepared || scheduled
    }
}

impl Schedule {
    /// The same pass, told what a run gives as well. A name that nothing in the module has is refused.
    fn with(&self, given: &[Define], module: &Module) -> Result<Schedule, Diagnostic> {
        let names = definable(module);
        let is_left = |name: &str| self.defines.iter().all(|(other, _)| other != name);
        let mut all = Schedule { options: self.options.clone(), defines: self.defines.clone(), given: Vec::new() };
        for (name, value) in given.iter().filter(|(name, _)| is_left(name)) {
            if !names.contains(&name.as_str()) {
                let text = format!("there is no size and no parameter `{}`", suggest::shorten(name));
                let mut unknown = Diagnostic::assumption("unknown-define", Location::None, text);
                unknown.help = suggest::did_you_mean(name, names);
                return Err(unknown);
            }
            all.given.push((name.clone(), *value));
        }
        Ok(all)
    }

    fn run_told(&self, module: &mut Module, cx: &mut PassCx) -> bool {
        if let Some(Trace(text)) = cx.get::<Trace>()
            && let Ok(mut text) = text.lock()
        {
            self.trace(module, &mut text);
        }
        if let Some(Explain(explained)) = cx.get::<Explain>()
            && let Ok(mut explained) = explained.lock()
        {
            self.explain(module, &mut explained);
        }
        let programs = match self.programs(module) {
            Ok(programs) => programs,
            Err(found) => {
                cx.diagnostics.append(found);
                return false;
            }
        };
        if programs.is_empty() {
            return false;
        }
        cx.count("operators scheduled", programs.len() as u64);
        if self.options.keep { keep(module, programs, cx) } else { replace(module, programs) }
    }
}

/// The programs of the operator at an index.
type Programs = IndexMap<usize, Lowered>;

/// An operator, a schedule of it, and what that is given.
type Applied<'m> = (Func, Option<&'m Func>, tc_schedule::Options);

/// What an operator became.
struct Lowered {
    /// The program that stands for it, and those that it chooses from.
    programs: Vec<Func>,
    /// The name of its schedule.
    schedule: Option<String>,
}

impl Schedule {
    fn programs(&self, module: &Module) -> Result<Programs, Diagnostics> {
        let wanted = symbol(&self.options.func);
        let operators: Vec<usize> = (0..module.items.len())
            .filter(|&idx| is_scheduled(module, &module.items[idx]))
            .filter(|&idx| wanted.is_empty() || module.items[idx].symbol() == wanted)
            .collect();
        if operators.is_empty() && !wanted.is_empty() {
            return Err(unknown_operator(module, wanted).into());
        }
        let (mut programs, mut found) = (Programs::new(), Diagnostics::new());
        let mut named = 0;
        let mut taken = BTreeSet::new();
        for idx in operators {
            let choice = match self.choose(module, idx) {
                Ok(choice) => choice,
                Err(diagnostic) => {
                    found.push(diagnostic);
                    continue;
                }
            };
            // A name is given: operators that have no schedule of that name are not meant.
            if choice.is_none() && !self.options.name.is_empty() {
                continue;
            }
            // A program of the file is what stands for it.
            if choice.is_none() && wanted.is_empty() && is_implemented(module, module.items[idx].symbol()) {
                continue;
            }
            named += 1;
            let schedule = choice.map(|schedule| &module.items[schedule]);
            match self.lower(module, &module.items[idx], schedule, &mut taken) {
                Ok(lowered) => drop(programs.insert(idx, lowered)),
                Err(more) => found.append(more),
            }
        }
        if named == 0 && found.is_empty() && !self.options.name.is_empty() {
            found.push(unknown_schedule(module, symbol(&self.options.name), wanted));
        }
        if named == 0 && found.is_empty() {
            self.defines.iter().for_each(|(name, _)| found.push(unused_define(module, name)));
        }
        if found.has_errors() { Err(found) } else { Ok(programs) }
    }

    fn lower(
        &self,
        module: &Module,
        te: &Func,
        schedule: Option<&Func>,
        taken: &mut BTreeSet<String>,
    ) -> Result<Lowered, Diagnostics> {
        let options = self.lowering(te, schedule);
        let programs = match schedule {
            Some(schedule) if te.header.opcode == tir::FUNC => {
                vec![
                    program_schedule::space(te, schedule, &options.defines)
                        .and_then(|space| space.lower(&space.first()?, None))
                        .map_err(|found| with_calls(Some(schedule), found))?,
                ]
            }
            _ => tc_schedule::programs(te, schedule, module, &options, taken)?,
        };
        Ok(Lowered { programs, schedule: schedule.map(|item| item.symbol().to_string()) })
    }

    /// The schedules that are applied, each with what it is applied to and with: of one that chooses, all that it may take.
    fn applied<'m>(&self, module: &'m Module, te: &Func, schedule: Option<&'m Func>) -> Vec<Applied<'m>> {
        let options = self.lowering(te, schedule);
        let Some(chooser) = schedule.filter(|schedule| is_dispatch(schedule)) else {
            return vec![(te.clone(), schedule, options)];
        };
        let alternatives = alternatives(module, te, chooser, &options).unwrap_or_default();
        let applied = alternatives.into_iter().map(|alternative| {
            let mut options = options.clone();
            options.defines.extend(alternative.values);
            (alternative.operator, Some(alternative.schedule), options)
        });
        applied.collect()
    }

    /// Writes the program after each directive. What cannot be scheduled is told by the pass itself.
    fn trace(&self, module: &Module, text: &mut String) {
        let wanted = symbol(&self.options.func);
        for (idx, operator) in module.items.iter().enumerate() {
            if !is_scheduled(module, operator) || !(wanted.is_empty() || operator.symbol() == wanted) {
                continue;
            }
            let Ok(Some(schedule)) = self.choose(module, idx) else { continue };
            if operator.header.opcode == tir::FUNC {
                self.trace_program(module, operator, &module.items[schedule], text);
                continue;
            }
            for (operator, schedule, options) in self.applied(module, operator, Some(&module.items[schedule])) {
                let Some(schedule) = schedule else { continue };
                let Ok(steps) = tc_schedule::trace(&operator, schedule, Some(module), &options) else { continue };
                for step in steps {
                    text.push_str(&title(schedule, step.loc, &module.sources));
                    match step.program {
                        Ok(program) => text.push_str(&program.to_string()),
                        Err(found) => {
                            let why = found.iter().next().map_or("", |first| first.message.as_str());
                            text.push_str(&format!("// no program yet: {why}\n"));
                        }
                    }
                }
            }
        }
    }

    /// The same of a program.
    fn trace_program(&self, module: &Module, func: &Func, schedule: &Func, text: &mut String) {
        let options = self.lowering(func, Some(schedule));
        let Ok(space) = program_schedule::space(func, schedule, &options.defines) else { return };
        let Ok(point) = space.first() else { return };
        for (directive, program) in program_schedule::trace(func, schedule, &point).unwrap_or_default() {
            text.push_str(&title(schedule, schedule.op_locs(directive).source, &module.sources));
            text.push_str(&program.to_string());
        }
    }

    /// Explains the bounds of what is scheduled. What cannot be is told by the pass itself.
    fn explain(&self, module: &Module, explained: &mut Vec<Explained>) {
        let wanted = symbol(&self.options.func);
        for (idx, operator) in module.items.iter().enumerate() {
            if operator.header.opcode != te::FUNC || !(wanted.is_empty() || operator.symbol() == wanted) {
                continue;
            }
            let Ok(choice) = self.choose(module, idx) else { continue };
            if choice.is_none() && !self.options.name.is_empty() {
                continue;
            }
            let schedule = choice.map(|schedule| &module.items[schedule]);
            for (operator, schedule, options) in self.applied(module, operator, schedule) {
                let Ok(stages) = tc_schedule::explain_bounds(&operator, schedule, &options) else { continue };
                let schedule = schedule.map(|schedule| schedule.symbol().to_string());
                explained.push(Explained { operator: operator.symbol().to_string(), schedule, stages });
            }
        }
    }

    fn lowering(&self, te: &Func, schedule: Option<&Func>) -> tc_schedule::Options {
        let mut defines = self.defines.clone();
        if !self.given.is_empty() {
            let known = tc_schedule::definable(te, schedule);
            defines.extend(self.given.iter().filter(|(name, _)| known.contains(&name.as_str())).cloned());
        }
        tc_schedule::Options { defines, symbolic: self.options.symbolic }
    }

    /// The schedule for the operator `idx`.
    fn choose(&self, module: &Module, idx: usize) -> Result<Option<usize>, Diagnostic> {
        let operator = &module.items[idx];
        let schedules: Vec<usize> = module.schedules_for(operator.symbol()).collect();
        let name = symbol(&self.options.name);
        if !name.is_empty() {
            return Ok(schedules.into_iter().find(|&schedule| module.items[schedule].symbol() == name));
        }
        match schedules[..] {
            [] => Ok(None),
            [only] => Ok(Some(only)),
            _ => {
                let names: Vec<String> =
                    schedules.iter().map(|&schedule| format!("`{}`", module.items[schedule].symbol())).collect();
                let text =
                    format!("`@{}` has {}: {}", operator.symbol(), counted(names.len(), "schedule"), names.join(", "));
                let first = module.items[schedules[0]].symbol();
                let help =
                    format!("choose one: `schedule{{name={first}}}`, or `cuda{{schedule={first}}}` in that pipeline");
                Err(Diagnostic::error("which-schedule", operator.location(operator.header.loc), text).help(help))
            }
        }
    }
}

/// Is `item` an operator, or a program that has a schedule?
fn is_scheduled(module: &Module, item: &Func) -> bool {
    item.header.opcode == te::FUNC
        || (item.header.opcode == tir::FUNC && module.schedules_for(item.symbol()).next().is_some())
}

/// Does a program of `module` say that it computes `operator`?
fn is_implemented(module: &Module, operator: &str) -> bool {
    let implements = |item: &Func| {
        let attr = item.entry(item.header.attrs, keys::IMPLEMENTS)?;
        Some(matches!(item.attr_data(attr), AttrData::Symbol(name) if &**name == operator))
    };
    module.items.iter().any(|item| item.header.opcode == tir::FUNC && implements(item) == Some(true))
}

/// The comment over the program after the directive at `loc`.
fn title(schedule: &Func, loc: Loc, sources: &Sources) -> String {
    match schedule.location(loc) {
        Location::Span(span) => match sources.line_col(span.start) {
            Some((file, at)) => format!("// after line {}: {}\n", at.line, file.line(at.line).trim()),
            None => "// after a directive\n".to_string(),
        },
        Location::Point { at, .. } => format!("// after line {}\n", at.line),
        Location::None => "// after a directive\n".to_string(),
    }
}

/// A symbol may be given with its `@`.
fn symbol(text: &str) -> &str {
    text.strip_prefix('@').unwrap_or(text)
}

fn unknown_operator(module: &Module, wanted: &str) -> Diagnostic {
    let names: Vec<&str> = operators(module).map(Func::symbol).collect();
    let text = format!("there is no operator `@{}`", suggest::shorten(wanted));
    let mut diagnostic = Diagnostic::assumption("unknown-operator", Location::None, text);
    diagnostic.help = suggest::did_you_mean(wanted, names);
    diagnostic
}

fn unknown_schedule(module: &Module, name: &str, operator: &str) -> Diagnostic {
    let names: Vec<&str> = operators(module)
        .filter(|func| operator.is_empty() || func.symbol() == operator)
        .flat_map(|func| module.schedules_for(func.symbol()))
        .map(|schedule| module.items[schedule].symbol())
        .collect();
    let of = if operator.is_empty() { "no operator".to_string() } else { format!("`@{operator}`") };
    let verb = if operator.is_empty() { "has a" } else { "has no" };
    let text = format!("{of} {verb} schedule `{}`", suggest::shorten(name));
    let mut diagnostic = Diagnostic::assumption("unknown-schedule", Location::None, text);
    diagnostic.help = suggest::did_you_mean(name, names);
    diagnostic
}

/// A value for `name`, where no operator is scheduled that could have it.
fn unused_define(module: &Module, name: &str) -> Diagnostic {
    let text = format!("no operator is scheduled, so nothing takes a value for `{}`", suggest::shorten(name));
    let mut diagnostic = Diagnostic::assumption("unknown-define", Location::None, text);
    diagnostic.help = suggest::did_you_mean(name, definable(module));
    diagnostic.note("`param` gives values to sizes of operators and to parameters of their schedules, not to programs")
}

/// All sizes and parameters of the operators of a module.
fn definable(module: &Module) -> Vec<&str> {
    let of_operator = |te| {
        let schedules = module.schedules_for(Func::symbol(te)).map(|at| Some(&module.items[at]));
        schedules.chain([None]).flat_map(move |schedule| tc_schedule::definable(te, schedule))
    };
    operators(module).flat_map(of_operator).collect()
}

fn operators(module: &Module) -> impl Iterator<Item = &Func> {
    module.items.iter().filter(|item| is_scheduled(module, item))
}

/// Puts programs in the places of operators. A schedule is then for the operators that are left, and is taken out where
/// there are none.
fn replace(module: &mut Module, programs: Programs) -> bool {
    let done: Vec<String> = programs.keys().map(|&idx| module.items[idx].symbol().to_string()).collect();
    for (idx, lowered) in programs.into_iter().rev() {
        let mut programs = lowered.programs;
        // Callees come before what calls them.
        programs.rotate_left(1);
        module.items.splice(idx..=idx, programs);
    }
    for item in module.items.iter_mut().filter(|item| item.header.opcode == sched::SCHEDULE) {
        item.header.targets.retain(|target| !done.contains(target));
    }
    module.items.retain(|item| item.header.opcode != sched::SCHEDULE || !item.header.targets.is_empty());
    // What schedules call has no use without one.
    let none_left = module.items.iter().all(|item| item.header.opcode != sched::SCHEDULE);
    module.items.retain(|item| !none_left || item.header.opcode != sched::SCHEDULE_FUNC);
    true
}

/// Adds programs behind their operators, each under a name of its own.
fn keep(module: &mut Module, programs: Programs, cx: &mut PassCx) -> bool {
    let mut changed = false;
    for (idx, Lowered { mut programs, schedule }) in programs.into_iter().rev() {
        let Some(program) = programs.first_mut() else { continue };
        let operator = module.items[idx].symbol().to_string();
        let name = format!("{operator}_{}", schedule.as_deref().unwrap_or("default"));
        if module.find(SymbolTable::Functions, &name).is_some() {
            let text = format!("there is a function `@{name}` already");
            let location = module.items[idx].location(module.items[idx].header.loc);
            cx.report(Diagnostic::error("symbol-taken", location, text));
            continue;
        }
        program.header.symbol = name;
        // What a program implements, it implements under a schedule too.
        if module.items[idx].header.opcode == te::FUNC {
            let implements = program.attr(AttrData::Symbol(operator.into()));
            program.header.attrs = program.with_entry(program.header.attrs, keys::IMPLEMENTS, implements);
        }
        programs.rotate_left(1);
        module.items.splice(idx + 1..idx + 1, programs);
        changed = true;
    }
    changed
}
