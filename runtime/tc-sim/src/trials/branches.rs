//! Sizes for the branches of the host: each that calls something is to be reached, and borders are tried on both sides.

use super::fitting;
use crate::Sizes;
use crate::compile::function::known_at;
use std::collections::BTreeSet;
use tc_dialects::arith::{self, Predicate};
use tc_dialects::tir;
use tc_ir::opdef::Role;
use tc_ir::{Func, Module, Op, Value};
use tc_support::Location;

/// Borders at most.
const MAX_BORDERS: usize = 16;
/// A greater size is not tried: what a product of such sizes takes is more than a check should.
const MAX_SIZE: i64 = 1024;
/// Sets of sizes that are looked at for one branch.
const MAX_LOOKED_AT: usize = 2048;

/// A branch of the host that calls something: the conditionals around the call, and which way each went.
struct Branch {
    path: Path,
    call: Op,
}

/// Conditionals, outermost first, each with the way that it went.
type Path = Vec<(Op, bool)>;

/// A branch that no trial took.
#[derive(Clone, Debug)]
pub struct Unreached {
    /// Where it calls.
    pub location: Location,
    /// Sizes at which it would be taken, where some were found.
    pub sizes: Option<Sizes>,
}

/// Adds sizes on both sides of each border to `trials`, and sizes for each branch that none takes.
pub(super) fn reach(func: &Func, given: &Sizes, trials: &mut Vec<Sizes>, least: i64) {
    let branches = branches(func);
    if branches.is_empty() {
        return;
    }
    let compared = compared(func);
    for &(nth, value) in compared.borders.iter().filter(|&&(_, value)| value <= MAX_SIZE).take(MAX_BORDERS) {
        for side in [value.saturating_sub(1), value, value.saturating_add(1)] {
            let wanted = |size: usize| if size == nth { side } else { least };
            let trial = fitting(func, given, &wanted);
            trials.extend(trial.filter(|trial| !trials.contains(trial)));
        }
    }
    for branch in &branches {
        if !trials.iter().any(|sizes| takes(func, branch, sizes)) {
            let small = |sizes: &Sizes| sizes.values().all(|&size| size <= MAX_SIZE);
            trials.extend(find(func, given, branch, &compared).filter(small));
        }
    }
}

/// The branches of the function of the host `name` that none of `trials` takes, where some of its sizes are not `given`.
pub fn unreached(module: &Module, name: &str, given: &Sizes, trials: &[Sizes]) -> Vec<Unreached> {
    let Some(func) = module.function(name) else { return Vec::new() };
    if func.header.symbols.iter().all(|symbol| given.contains_key(func.text(symbol.name))) {
        return Vec::new();
    }
    let compared = compared(func);
    let missed = branches(func);
    let missed = missed.iter().filter(|branch| !trials.iter().any(|sizes| takes(func, branch, sizes)));
    let told = missed.map(|branch| Unreached {
        location: func.op_location(branch.call),
        sizes: find(func, given, branch, &compared),
    });
    told.collect()
}

fn branches(func: &Func) -> Vec<Branch> {
    let mut found = Vec::new();
    let mut worklist: Vec<(Path, Option<Op>)> = vec![(Vec::new(), func.first_op(func.body()))];
    while let Some((path, at)) = worklist.pop() {
        let Some(op) = at else { continue };
        worklist.push((path.clone(), func.next_op(op)));
        if func.opcode(op) == tir::IF {
            for (nth, &region) in func.op_regions(op).iter().enumerate().rev() {
                let inside = path.iter().copied().chain([(op, nth == 0)]).collect();
                worklist.push((inside, func.first_op(region)));
            }
        }
        let is_first = found.iter().all(|branch: &Branch| branch.path != path);
        if func.opcode(op) == tir::CALL && !path.is_empty() && is_first {
            found.push(Branch { path, call: op });
        }
    }
    found
}

/// Is `branch` taken at `sizes`? Not, where a condition has no value.
fn takes(func: &Func, branch: &Branch, sizes: &Sizes) -> bool {
    let conditions: Vec<Value> = branch.path.iter().map(|&(op, _)| func.operand(op, 0)).collect();
    let Some(values) = known_at(func, sizes, &conditions) else { return false };
    branch.path.iter().zip(values).all(|(&(_, way), value)| value.is_some_and(|value| (value != 0) == way))
}

/// Small sizes at which `branch` is taken, next to what conditions compare with and multiples of what they divide by.
fn find(func: &Func, given: &Sizes, branch: &Branch, compared: &Compared) -> Option<Sizes> {
    let mut values: BTreeSet<i64> = [1, 2, 3, 4, 7, 8, 16, 31, 32, 33, 64, 100, 128, 256, 512, 1024].into();
    for &border in compared.borders.iter().map(|(_, border)| border).chain(&compared.numbers) {
        values.extend([border.saturating_sub(1), border, border.saturating_add(1)]);
        for &by in compared.divisors.iter().filter(|&&by| by > 0) {
            let multiple = border.saturating_div(by).saturating_mul(by);
            values.extend([multiple, multiple.saturating_add(by)]);
        }
    }
    values.extend(compared.divisors.iter().flat_map(|&by| [by, by.saturating_add(1)]));
    let values: Vec<i64> = values.into_iter().filter(|&value| value >= 0).collect();
    let n_open = func.header.symbols.iter().filter(|symbol| !given.contains_key(func.text(symbol.name))).count();
    let mut best: Option<(i128, Sizes)> = None;
    // All combinations, the first size running fastest; as many as there is time for.
    let total = values.len().checked_pow(u32::try_from(n_open).ok()?).unwrap_or(usize::MAX).min(MAX_LOOKED_AT);
    for nth in 0..total {
        let wanted = |size: usize| {
            let power = values.len().saturating_pow(u32::try_from(size).unwrap_or(u32::MAX));
            values[nth / power.max(1) % values.len()]
        };
        let Some(sizes) = fitting(func, given, &wanted) else { continue };
        let cost: i128 = sizes.values().fold(1, |cost: i128, &size| cost.saturating_mul(size.max(1).into()));
        if best.as_ref().is_none_or(|(least, _)| cost < *least) && takes(func, branch, &sizes) {
            best = Some((cost, sizes));
        }
    }
    best.map(|(_, sizes)| sizes)
}

/// The integers in the conditions of the host.
struct Compared {
    /// What sizes are compared with, by their numbers.
    borders: BTreeSet<(usize, i64)>,
    /// What anything is compared with.
    numbers: BTreeSet<i64>,
    /// What is divided by.
    divisors: BTreeSet<i64>,
}

fn compared(func: &Func) -> Compared {
    let size_of = |value: Value| {
        // Compared as a kernel takes it.
        let cast = func.def_op(value).filter(|&op| func.opcode(op) == arith::CAST).map(|op| func.operand(op, 0));
        let sizes = &func.region_args(func.body())[..func.header.symbols.len()];
        sizes.iter().position(|&size| size == cast.unwrap_or(value))
    };
    let mut found = Compared { borders: BTreeSet::new(), numbers: BTreeSet::new(), divisors: BTreeSet::new() };
    let mut seen: BTreeSet<u32> = BTreeSet::new();
    let mut worklist: Vec<Value> = branches(func)
        .iter()
        .flat_map(|branch| branch.path.iter().map(|&(op, _)| func.operand(op, 0)).collect::<Vec<_>>())
        .collect();
    while let Some(value) = worklist.pop() {
        let Some(op) = func.def_op(value).filter(|&op| seen.insert(op.as_u32())) else { continue };
        let operands = func.operands(op);
        if let &[lhs, rhs] = operands {
            if Predicate::of(func, op).is_some() {
                for (side, bound) in [(lhs, rhs), (rhs, lhs)] {
                    let Some(bound) = func.const_int(bound) else { continue };
                    found.numbers.insert(bound);
                    found.borders.extend(size_of(side).map(|size| (size, bound)));
                }
            } else if !matches!(func.role(op), Role::Compare) {
                found.divisors.extend(func.const_int(rhs).filter(|&by| (2..=4096).contains(&by)));
            }
        }
        worklist.extend(operands);
    }
    found
}
