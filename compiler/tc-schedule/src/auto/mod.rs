//! A schedule made by rules for any operator.
//!
//! What is inlined and which stages a kernel computes is decided first (`kernels`); then each kernel gets the directives of
//! the rule that fits it:
//!
//! | kernel | rule |
//! |---|---|
//! | product of two matrices on tensor cores | a function of the library, by the target (`tensor`) |
//! | sum of such products, each taken in with other numbers, on Hopper | a function of the library (`scaled`) |
//! | rows: numbers of a row, and what is computed of them element by element | a block a row, which lies in shared memory (`rows`) |
//! | convolution with channels last, on Hopper | a function of the library (`convolution`) |
//! | sum of products of 16 x 16 matrices that lie in one piece | tiles by warps (`blocked`) |
//! | reductions of what is read along one axis and what is read along another | tiles in shared memory and in registers (`tiles`) |
//! | reductions of long rows | threads reduce together (`reduce`) |
//! | anything else | a thread an element, or a vector of them (`threads`) |
//!
//! The schedule is an item like any other: it prints, and an author may go on from there. A rule that turns out not to be legal
//! gives way to a simpler one, so there is a schedule for every operator. Sizes that stay open are taken to be large.

mod blocked;
mod convolution;
mod facts;
mod kernels;
mod reduce;
mod rows;
mod scaled;
mod tensor;
mod threads;
mod tiles;
mod writer;

use crate::calls::{Functions, inline_calls};
use crate::operator::Operator;
use crate::{Options, definable, lower, prepare};
use facts::Facts;
use kernels::{Kernel, Kernels};
use tc_dialects::sched::{CALL, callee};
use tc_ir::opdef::SymbolTable;
use tc_ir::walk::all_ops;
use tc_ir::{Func, Module};
use tc_support::Diagnostics;
use tc_target::Target;
use writer::Writer;

/// The name of the schedule.
pub const NAME: &str = "auto";

/// How far the rules may go.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Level {
    /// All of them.
    All,
    /// None that needs tensor cores.
    NoTensorCores,
    /// A kernel for each stage, by threads.
    Plain,
}

impl Level {
    /// All, those that ask most first.
    pub const ALL: [Level; 3] = [Level::All, Level::NoTensorCores, Level::Plain];

    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Level::All => "all",
            Level::NoTensorCores => "no-tensor-cores",
            Level::Plain => "plain",
        }
    }
}

/// What the rules may do.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// How far they go at first.
    pub from: Level,
    /// May they round the factors of products in f32 to tf32, which keeps 10 bits behind the point?
    pub allow_tf32: bool,
}

/// The schedule `@auto` for `te` on `target`, legal for the sizes that `options` give: of the levels from that of `rules` on the first
/// that gives one. It may call functions of `library`; combiners are looked up in `module`.
///
/// # Errors
///
/// That the operator itself cannot be lowered.
pub fn schedule(
    te: &Func,
    module: &Module,
    library: &[Func],
    target: &Target,
    rules: Rules,
    options: &Options,
) -> Result<Func, Diagnostics> {
    let operator = prepare(te, None, options)?;
    let mut last = Diagnostics::new();
    for level in Level::ALL.into_iter().filter(|&level| level >= rules.from) {
        let sched = at_level(&operator, target, Rules { from: level, ..rules })?;
        let none = Module::new(module.registry.clone());
        let inlined = inline_calls(&sched, Functions::of(&none, library))?.into_owned();
        match is_legal(te, &inlined, module, target, options) {
            // The library is meant, not a function of the file that has the same name.
            Ok(()) if is_hidden(&sched, module) => return Ok(inlined),
            Ok(()) => return Ok(sched),
            Err(found) => last = found,
        }
    }
    Err(last)
}

fn at_level(operator: &Operator<'_>, target: &Target, rules: Rules) -> Result<Func, Diagnostics> {
    let Rules { from: level, allow_tf32 } = rules;
    let mut facts = Facts::of(operator, allow_tf32)?;
    let kernels = Kernels::of(&mut facts, target, level)?;
    let mut writer = Writer::new(operator.te, NAME);
    for &stage in &kernels.inlined {
        let stage = writer.stage(&facts.graph[stage].name);
        writer.inline(stage);
    }
    for kernel in &kernels.list {
        write(&mut writer, &facts, kernel, target, level);
    }
    Ok(writer.finish())
}

/// The directives of one kernel.
fn write(writer: &mut Writer, facts: &Facts<'_>, kernel: &Kernel, target: &Target, level: Level) {
    let done = (level == Level::All && tensor::write(writer, facts, kernel, target))
        || (level != Level::Plain
            && (rows::write(writer, facts, kernel, target)
                || tiles::write(writer, facts, kernel)
                || reduce::write(writer, facts, kernel)));
    if !done {
        threads::write(writer, facts, kernel);
    }
}

/// Does `sched` call a function whose name `module` has, too?
fn is_hidden(sched: &Func, module: &Module) -> bool {
    let calls = all_ops(sched).filter(|&op| sched.opcode(op) == CALL);
    let mut names = calls.filter_map(|op| callee(sched, op));
    names.any(|name| module.find(SymbolTable::ScheduleFunctions, name).is_some())
}

/// Does `sched` lower, within the limits of `target`?
fn is_legal(te: &Func, sched: &Func, module: &Module, target: &Target, options: &Options) -> Result<(), Diagnostics> {
    let known = definable(te, Some(sched));
    let defines = options.defines.iter().filter(|(name, _)| known.contains(&name.as_str())).cloned().collect();
    let options = Options { defines, symbolic: options.symbolic };
    lower(te, Some(sched), Some(module), &options)?;
    let bounds = crate::infer_bounds(te, Some(sched), &options)?;
    match bounds.limits(target).first() {
        None => Ok(()),
        Some(over) => {
            let text = format!("{} is {}, over the limit {}", over.what, over.needed, over.limit);
            Err(tc_support::Diagnostic::error("auto", te.location(te.header.loc), text).into())
        }
    }
}
