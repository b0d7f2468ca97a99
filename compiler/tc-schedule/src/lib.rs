//! Schedules: from an operator and a list of directives to a program.
//!
//! Reading order:
//!
//! - [`graph`]: the stages of an operator, their axes and loops, as plain data.
//! - [`space`]: the points of a schedule that has parameters.
//! - [`calls`]: schedule functions, whose directives are put in the place of calls before anything else.
//! - [`primitives()`]: the directives, a folder each.
//! - [`bounds`]: which part of each tensor a stage computes, and how long each loop is, before there is any program.
//! - [`lower()`]: the program.
//! - [`explain`]: why bounds are what they are.
//! - [`dispatch`]: schedules that choose among others by sizes.
//!
//! Sizes come before anything else: those of an operator over symbols are fixed at the values that the caller defines, or
//! at their defaults; the others stay open, and the program is made for all their values.

mod apply;
pub mod auto;
mod body;
pub mod bounds;
pub mod calls;
mod check;
mod choices;
mod diagnostic;
mod directive;
pub mod dispatch;
pub mod explain;
mod followed;
pub mod graph;
mod inline;
mod lower;
mod operator;
mod origin;
mod params;
mod partial;
mod primitives;
mod remedy;
mod size;
pub mod space;
mod statements;
mod value;
mod walk;
mod written;

pub use bounds::{Bounds, OverLimit};
pub use dispatch::programs;
pub use followed::{has_followed_bounds, with_conditions};
pub use graph::Graph;
pub use inline::inline_into_consumers;
pub use operator::Define;
pub use params::{Param, Point};
pub use primitives::{Layout, PrimitiveInfo, primitives};
pub use size::Size;
pub use space::Space;
pub use tc_dialects::scope::{self, Scope};
pub use value::eval_op as eval_number;

use calls::with_calls;
use check::Extent;
use diagnostic::ScheduleDiagnostics;
use operator::Operator;
use tc_dialects::sched;
use tc_ir::{Func, Loc, Module, Op};
use tc_support::{Diagnostic, Diagnostics, Location, suggest};

/// How to lower.
#[derive(Clone, Default, Debug)]
pub struct Options {
    /// Values of the operator's sizes and of the schedule's parameters, by name; a truth value is 0 or 1.
    pub defines: Vec<Define>,
    /// Sizes that have a default and no value in [`Options::defines`] stay open too, as those without a default do.
    pub symbolic: bool,
}

/// The names that [`Options::defines`] may give a value: the operator's sizes and the schedule's parameters. The sizes of a
/// program stay open.
pub fn definable<'a>(te: &'a Func, schedule: Option<&'a Func>) -> Vec<&'a str> {
    let is_operator = te.header.opcode == tc_dialects::te::FUNC;
    let sizes = te.header.symbols.iter().filter(|_| is_operator).map(|symbol| te.text(symbol.name));
    let params = schedule.into_iter().flat_map(|sched| sched.params().iter().map(|&param| sched.value_text(param)));
    sizes.chain(params).collect()
}

fn prepare<'a>(te: &'a Func, schedule: Option<&Func>, options: &Options) -> Result<Operator<'a>, Diagnostics> {
    if let Some(sched) = schedule
        && sched.header.opcode != sched::ScheduleItem::OPCODE
    {
        let text = format!("`@{}` is no schedule", sched.symbol());
        return Err(Diagnostic::error("not-a-schedule", sched.location(sched.header.loc), text).into());
    }
    check_defines(te, schedule, &options.defines)?;
    Operator::new(te, &options.defines, options.symbolic)
}

/// Refuses a value for what neither `func` nor `schedule` has.
fn check_defines(func: &Func, schedule: Option<&Func>, defines: &[Define]) -> Result<(), Diagnostics> {
    let names = definable(func, schedule);
    let Some((name, _)) = defines.iter().find(|(name, _)| !names.contains(&name.as_str())) else { return Ok(()) };
    let text = format!("`@{}` has no size or parameter `{}`", func.symbol(), suggest::shorten(name));
    let mut diagnostic = Diagnostic::error("unknown-define", Location::None, text);
    diagnostic.help = suggest::did_you_mean(name, names.iter().copied());
    Err(diagnostic.into())
}

/// The program of `te` under `schedule`; without one, every stage is computed at the root by plain loops.
///
/// `module` is where combiners are looked up.
pub fn lower(
    te: &Func,
    schedule: Option<&Func>,
    module: Option<&Module>,
    options: &Options,
) -> Result<Func, Diagnostics> {
    let operator = prepare(te, schedule, options)?;
    let Some(sched) = schedule else {
        return Ok(program(&operator, None, module, operator.graph()?, Extent::Whole)?);
    };
    let point = space::Domain::of(&operator, sched, &options.defines)?.first()?;
    let lowered = apply::apply_at(&operator, sched, &point, None)
        .and_then(|applied| program(&operator, schedule, module, applied.graph, Extent::Whole));
    // Helps are tried where somebody reads them; a search over points asks for bounds.
    let refused = remedy::Refused { operator: &operator, sched, module, point: &point };
    lowered.map_err(|found| with_calls(schedule, refused.with_ways_out(found)))
}

fn program(
    operator: &Operator<'_>,
    schedule: Option<&Func>,
    module: Option<&Module>,
    graph: Graph,
    extent: Extent,
) -> Result<Func, ScheduleDiagnostics> {
    let mut bounds = bounds::infer(operator, schedule, graph, extent)?;
    let statements = statements::statements(operator, &mut bounds);
    Ok(lower::emit(operator, schedule, module, &bounds, &statements)?)
}

/// The bounds of `te` under `schedule`: all that is known of the program before there is one.
pub fn infer_bounds(te: &Func, schedule: Option<&Func>, options: &Options) -> Result<Bounds, Diagnostics> {
    let operator = prepare(te, schedule, options)?;
    let graph = apply::apply(&operator, schedule, &options.defines, None);
    let bounds = graph.and_then(|graph| bounds::infer(&operator, schedule, graph, Extent::Whole));
    bounds.map_err(|found| with_calls(schedule, found.into()))
}

/// Why each stage computes what it does, results first; `defines` as for [`lower`].
pub fn explain_bounds(
    te: &Func,
    schedule: Option<&Func>,
    options: &Options,
) -> Result<Vec<explain::StageWhy>, Diagnostics> {
    let operator = prepare(te, schedule, options)?;
    let graph = apply::apply(&operator, schedule, &options.defines, None)?;
    let mut bounds = bounds::infer(&operator, schedule, graph, Extent::Whole)?;
    let statements = statements::statements(&operator, &mut bounds);
    Ok(explain::explain(&operator, schedule, &mut bounds, &statements))
}

/// A schedule's program after one of its directives.
#[derive(Clone, Debug)]
pub struct Traced {
    /// The directive, in the schedule.
    pub directive: Op,
    /// Where it stands.
    pub loc: Loc,
    /// The program if the schedule ended there, or why there is none yet.
    pub program: Result<Func, Diagnostics>,
}

/// The program after each directive of `schedule`. A cache that is not attached yet is computed whole, before its
/// consumers, although its buffer would not outlive a kernel. Where a directive leaves the schedule in a state that only
/// a later one makes right, the diagnostic stands in the place of the program.
pub fn trace(
    te: &Func,
    schedule: &Func,
    module: Option<&Module>,
    options: &Options,
) -> Result<Vec<Traced>, Diagnostics> {
    let operator = prepare(te, Some(schedule), options)?;
    let mut steps: Vec<Traced> = Vec::new();
    let mut observe = |graph: &Graph, directive: Op| {
        let loc = schedule.op_locs(directive).source;
        let program = program(&operator, Some(schedule), module, graph.clone(), Extent::Partial);
        steps.push(Traced { directive, loc, program: program.map_err(Diagnostics::from) });
    };
    apply::apply(&operator, Some(schedule), &options.defines, Some(&mut observe))?;
    Ok(steps)
}
