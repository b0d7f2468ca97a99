//! The programs of a schedule that chooses among others by open sizes, and the function that chooses.

use super::Alternative;
use crate::Options;
use indexmap::IndexSet;
use tc_dialects::algebra::{self, Algebra};
use tc_dialects::tir;
use tc_ir::clone::Importer;
use tc_ir::{AttrData, Builder, Elem, Func, Module, Op, Rewriter, keys};
use tc_support::{Diagnostic, Diagnostics};

/// Lowers `te` by each of `alternatives`; the function that chooses comes first.
pub(super) fn programs(
    module: &Module,
    te: &Func,
    alternatives: &[Alternative<'_>],
    options: &Options,
) -> Result<Vec<Func>, Diagnostics> {
    let mut names = IndexSet::new();
    let mut programs = Vec::new();
    for alternative in alternatives {
        let mut program = program(module, alternative, options)?;
        program.header.symbol = free_name(module, te, alternative.schedule, &mut names);
        programs.push(program);
    }
    programs.insert(0, chooser(te, alternatives, &programs)?);
    Ok(programs)
}

/// The program of one alternative, under the name of the operator.
pub(super) fn program(module: &Module, alternative: &Alternative<'_>, options: &Options) -> Result<Func, Diagnostics> {
    let mut options = options.clone();
    options.defines.extend(alternative.values.iter().cloned());
    let program = crate::lower(&alternative.operator, Some(alternative.schedule), Some(module), &options);
    let name = alternative.schedule.symbol();
    program.map_err(|found| {
        let told = |wrong: Diagnostic| wrong.label(alternative.location.clone(), format!("`@{name}` is chosen here"));
        found.into_iter().map(told).collect()
    })
}

/// A name for the program of `te` under `schedule` that no function of the module has.
fn free_name(module: &Module, te: &Func, schedule: &Func, names: &mut IndexSet<String>) -> String {
    let base = format!("{}_{}", te.symbol(), schedule.symbol());
    let is_free = |name: &String| module.function(name).is_none() && !names.contains(name);
    let name = std::iter::once(base.clone()).chain((1..).map(|nth| format!("{base}_{nth}"))).find(is_free);
    let name = name.unwrap_or(base);
    names.insert(name.clone());
    name
}

/// The function that chooses among `programs`, which have one header but for what they say of sizes.
fn chooser(te: &Func, alternatives: &[Alternative<'_>], programs: &[Func]) -> Result<Func, Diagnostics> {
    let Some((last, n_facts)) = programs.last().zip(alternatives.last().map(|last| last.n_facts)) else {
        return Err(Diagnostic::bug("dispatch", te.location(te.header.loc), "there is nothing to choose from").into());
    };
    let mut chooser = last.clone();
    chooser.header.symbol = te.symbol().to_string();
    // What is known of all sizes comes first.
    chooser.header.facts.truncate(chooser.header.facts.len().saturating_sub(n_facts));
    clear(&mut chooser);
    let mut region = chooser.body();
    for (alternative, program) in alternatives.iter().zip(programs) {
        if alternative.is_last {
            call(&mut Builder::at_end(&mut chooser, region), program);
            break;
        }
        let Some(&condition) = program.header.facts.last() else { break };
        let condition = Importer::new(program).attr(&mut chooser, condition);
        let mut algebra = Algebra::of_func(&chooser);
        let expr = algebra.attr(&chooser, condition);
        let Some(computation) = expr.and_then(|expr| algebra.computation(expr, Elem::Bool)) else {
            let text = format!("`{}` cannot be computed when the program is launched", chooser.show_attr(condition));
            let help = "give the sizes ranges in which its parts fit 64 bits";
            return Err(Diagnostic::error("dispatch", alternative.location.clone(), text).help(help).into());
        };
        let mut b = Builder::at_end(&mut chooser, region);
        let condition = algebra::build(&mut b, &computation, &mut algebra::Made::default());
        let branch = tir::If::build(&mut b, condition, &[], &[]);
        let [then, other] = [0, 1].map(|nth| b.func.op_regions(branch)[nth]);
        b.within(then, |b| {
            call(b, program);
            tir::Yield::build(b, &[], &[], &[]);
        });
        region = other;
    }
    end(&mut chooser);
    Ok(chooser)
}

fn clear(func: &mut Func) {
    let ops: Vec<Op> = func.ops(func.body()).collect();
    let mut rewriter = Rewriter::new(func);
    ops.into_iter().rev().for_each(|op| rewriter.erase(op));
}

/// Ends the regions of conditionals in which the last statement is no end yet.
fn end(chooser: &mut Func) {
    let ops: Vec<Op> = tc_ir::walk::all_ops(chooser).filter(|&op| chooser.opcode(op) == tir::IF).collect();
    for op in ops {
        for region in chooser.op_regions(op).to_vec() {
            if chooser.terminator(region).is_none() {
                tir::Yield::build(&mut Builder::at_end(chooser, region), &[], &[], &[]);
            }
        }
    }
}

/// Calls `program` with the parameters of the function, which are its own.
fn call(b: &mut Builder<'_>, program: &Func) {
    let args = b.func.params().to_vec();
    let callee = b.func.attr(AttrData::Symbol(program.symbol().into()));
    tir::Call::build(b, &args, &[(keys::CALLEE, callee)], &[]);
}
