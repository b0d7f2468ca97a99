//! The programs of a schedule that chooses among others by open sizes, and the function that chooses.

use super::Alternative;
use crate::Options;
use std::collections::BTreeSet;
use tc_dialects::{algebra, tir};
use tc_ir::{AttrData, Builder, Func, Module, Op, Rewriter, keys};
use tc_support::{Diagnostic, Diagnostics};

/// Lowers `te` by each of `alternatives`; the function that chooses comes first. `header` has its header.
pub(super) fn programs(
    module: &Module,
    te: &Func,
    (mut header, alternatives): (Func, &[Alternative<'_>]),
    options: &Options,
    taken: &mut BTreeSet<String>,
) -> Result<Vec<Func>, Diagnostics> {
    let mut programs = Vec::new();
    for alternative in alternatives {
        let mut program = program(module, alternative, &alternative.operator, options)?;
        if params(&program) != params(&header) {
            // A condition that fixes a size would fix extents of what is passed: the program is one for all sizes then.
            program = self::program(module, alternative, te, options)?;
        }
        program.header.symbol = free_name(module, te, alternative.schedule, taken);
        let unit = program.attr(AttrData::Unit);
        program.header.attrs = program.with_entry(program.header.attrs, keys::PRIVATE, unit);
        programs.push(program);
    }
    choose(&mut header, alternatives, &programs);
    programs.insert(0, header);
    Ok(programs)
}

/// The types of the parameters.
fn params(func: &Func) -> Vec<String> {
    func.params().iter().map(|&param| func.show_type(func.value_type(param))).collect()
}

/// The program of one alternative for the operator `te`, under its name.
pub(super) fn program(
    module: &Module,
    alternative: &Alternative<'_>,
    te: &Func,
    options: &Options,
) -> Result<Func, Diagnostics> {
    let mut options = options.clone();
    options.defines.extend(alternative.values.iter().cloned());
    let program = crate::lower(te, Some(alternative.schedule), Some(module), &options);
    let name = alternative.schedule.symbol();
    program.map_err(|found| {
        let told = |wrong: Diagnostic| wrong.label(alternative.location.clone(), format!("`@{name}` is chosen here"));
        found.into_iter().map(told).collect()
    })
}

/// A name for the program of `te` under `schedule` that no function of the module has.
fn free_name(module: &Module, te: &Func, schedule: &Func, taken: &mut BTreeSet<String>) -> String {
    let base = format!("{}_{}", te.symbol(), schedule.symbol());
    let is_free = |name: &String| module.function(name).is_none() && !taken.contains(name);
    let name = std::iter::once(base.clone()).chain((1..).map(|nth| format!("{base}_{nth}"))).find(is_free);
    let name = name.unwrap_or(base);
    taken.insert(name.clone());
    name
}

/// Makes `chooser` call the first of `programs` whose condition holds.
fn choose(chooser: &mut Func, alternatives: &[Alternative<'_>], programs: &[Func]) {
    clear(chooser);
    let body = chooser.body();
    let mut region = body;
    for (alternative, program) in alternatives.iter().zip(programs) {
        let mut b = Builder::at_end(chooser, region);
        let mut other = None;
        match &alternative.when {
            None => call(&mut b, program),
            Some(when) => {
                let condition = algebra::build(&mut b, when, &mut algebra::Made::default());
                let branch = tir::If::build(&mut b, condition, &[], &[]);
                let [then, or_else] = [0, 1].map(|nth| b.func.op_regions(branch)[nth]);
                b.within(then, |b| {
                    call(b, program);
                    tir::Yield::build(b, &[], &[], &[]);
                });
                other = Some(or_else);
            }
        }
        if region != body {
            tir::Yield::build(&mut b, &[], &[], &[]);
        }
        let Some(other) = other else { break };
        region = other;
    }
}

fn clear(func: &mut Func) {
    let ops: Vec<Op> = func.ops(func.body()).collect();
    let mut rewriter = Rewriter::new(func);
    ops.into_iter().rev().for_each(|op| rewriter.erase(op));
}

/// Calls `program` with the parameters of the function, which are its own. What it says of sizes holds there: its facts are
/// the conditions around the call.
fn call(b: &mut Builder<'_>, program: &Func) {
    let args = b.func.params().to_vec();
    let callee = b.func.attr(AttrData::Symbol(program.symbol().into()));
    let assumed = b.func.attr(AttrData::Bool(true));
    tir::Call::build(b, &args, &[(keys::CALLEE, callee), (keys::ASSUMED, assumed)], &[]);
}
