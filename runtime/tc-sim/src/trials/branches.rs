//! Sizes for the branches of the host: each that calls something is to be reached, and borders are tried on both sides.

use super::fitting;
use crate::Sizes;
use crate::compile::function::known_at;
use std::collections::BTreeSet;
use tc_dialects::arith::{self, Predicate};
use tc_dialects::tir;
use tc_ir::walk::all_ops;
use tc_ir::{Func, Op, Region, Value};
use tc_support::Location;

/// Borders at most.
const MAX_BORDERS: usize = 16;
/// Trials that are added for branches at most.
const MAX_ADDED: usize = 32;
/// A greater size is not tried: what a product of such sizes takes is more than a check should.
const MAX_SIZE: i64 = 1024;
/// Sets of sizes that are looked at.
const MAX_LOOKED_AT: usize = 2048;

/// A branch that no trial takes.
#[derive(Clone, Debug)]
pub struct Unreached {
    /// Where it calls.
    pub location: Location,
    /// Sizes at which it would be taken, where some were found.
    pub sizes: Option<Sizes>,
}

/// Adds sizes on both sides of each border to `trials`, and small sizes for branches that none takes; tells which are left.
pub(super) fn reach(func: &Func, given: &Sizes, trials: &mut Vec<Sizes>, least: i64) -> Vec<Unreached> {
    let host = Host::of(func);
    if host.branches.is_empty() {
        return Vec::new();
    }
    for &(nth, value) in host.borders.iter().filter(|&&(_, value)| value <= MAX_SIZE).take(MAX_BORDERS) {
        for side in [value.saturating_sub(1), value, value.saturating_add(1)] {
            let wanted = |size: usize| if size == nth { side } else { least };
            let trial = fitting(func, given, &wanted);
            trials.extend(trial.filter(|trial| !trials.contains(trial)));
        }
    }
    let mut missed: Vec<&Branch> = host.branches.iter().collect();
    for sizes in trials.iter() {
        host.leave_taken(&mut missed, sizes);
    }
    let (mut unreached, mut n_added) = (Vec::new(), 0);
    for sizes in host.candidates(given) {
        if missed.is_empty() {
            break;
        }
        let taken = host.leave_taken(&mut missed, &sizes);
        if !taken.is_empty() && sizes.values().all(|&size| size <= MAX_SIZE) && n_added < MAX_ADDED {
            n_added += 1;
            trials.push(sizes);
        } else {
            let told = |branch: &Branch| Unreached { location: branch.location(func), sizes: Some(sizes.clone()) };
            unreached.extend(taken.into_iter().map(told));
        }
    }
    unreached.extend(missed.iter().map(|branch| Unreached { location: branch.location(func), sizes: None }));
    unreached
}

/// A branch of the host that calls something.
struct Branch {
    call: Op,
    /// The conditions around it, by their numbers, each with whether it is to hold.
    path: Vec<(usize, bool)>,
}

impl Branch {
    fn location(&self, func: &Func) -> Location {
        func.op_location(self.call)
    }
}

/// The host's side of a function: its branches, and the integers that decide between them.
struct Host<'f> {
    func: &'f Func,
    conditions: Vec<Value>,
    branches: Vec<Branch>,
    /// What sizes, by their numbers, are compared with.
    borders: BTreeSet<(usize, i64)>,
    /// What anything is compared with.
    numbers: BTreeSet<i64>,
    /// What is divided by, and the like.
    divisors: BTreeSet<i64>,
}

impl<'f> Host<'f> {
    fn of(func: &'f Func) -> Host<'f> {
        let (borders, numbers, divisors) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        let mut host = Host { func, conditions: Vec::new(), branches: Vec::new(), borders, numbers, divisors };
        let mut regions: BTreeSet<Region> = BTreeSet::new();
        let mut ifs: std::collections::BTreeMap<Op, usize> = std::collections::BTreeMap::new();
        for call in all_ops(func).filter(|&op| func.opcode(op) == tir::CALL) {
            let Some(choices) = tir::choices(func, call).filter(|choices| !choices.is_empty()) else { continue };
            if !func.region_of(call).is_some_and(|region| regions.insert(region)) {
                continue;
            }
            let mut number = |branch: Op| {
                *ifs.entry(branch).or_insert_with(|| {
                    host.conditions.push(func.operand(branch, 0));
                    host.conditions.len() - 1
                })
            };
            let path = choices.into_iter().map(|(branch, holds)| (number(branch), holds)).collect();
            host.branches.push(Branch { call, path });
        }
        host.compare();
        host
    }

    /// Collects the integers in the conditions.
    fn compare(&mut self) {
        let func = self.func;
        let size_of = |value: Value| {
            // Compared as a kernel takes it.
            let cast = func.def_op(value).filter(|&op| func.opcode(op) == arith::CAST).map(|op| func.operand(op, 0));
            let sizes = &func.region_args(func.body())[..func.header.symbols.len()];
            sizes.iter().position(|&size| size == cast.unwrap_or(value))
        };
        let mut seen: BTreeSet<Op> = BTreeSet::new();
        let mut worklist = self.conditions.clone();
        while let Some(value) = worklist.pop() {
            let Some(op) = func.def_op(value).filter(|&op| seen.insert(op)) else { continue };
            let operands = func.operands(op);
            worklist.extend(operands);
            let &[lhs, rhs] = operands else { continue };
            if Predicate::of(func, op).is_none() {
                self.divisors.extend(func.const_int(rhs).filter(|&by| (2..=4096).contains(&by)));
                continue;
            }
            for (side, bound) in [(lhs, rhs), (rhs, lhs)] {
                let Some(bound) = func.const_int(bound) else { continue };
                self.numbers.insert(bound);
                self.borders.extend(size_of(side).map(|size| (size, bound)));
            }
        }
    }

    /// Takes those branches out of `missed` that are taken at `sizes`, and gives them.
    fn leave_taken<'b>(&self, missed: &mut Vec<&'b Branch>, sizes: &Sizes) -> Vec<&'b Branch> {
        let values = known_at(self.func, sizes, &self.conditions).unwrap_or_default();
        let holds = |&(nth, wanted): &(usize, bool)| {
            // A condition without a value is not decided.
            values.get(nth).copied().flatten().is_some_and(|value| (value != 0) == wanted)
        };
        let (taken, left) = missed.iter().partition(|branch| branch.path.iter().all(holds));
        *missed = left;
        taken
    }

    /// Sizes next to what conditions compare with and at multiples of what they divide by, small ones first.
    fn candidates(&self, given: &Sizes) -> Vec<Sizes> {
        let mut values: BTreeSet<i64> = [1, 2, 3, 4, 7, 8, 16, 31, 32, 33, 64, 100, 128, 256, 512, 1024].into();
        for &border in &self.numbers {
            values.extend([border.saturating_sub(1), border, border.saturating_add(1)]);
            for &by in &self.divisors {
                let multiple = border.saturating_div(by).saturating_mul(by);
                values.extend([multiple, multiple.saturating_add(by)]);
            }
            if values.len() > MAX_LOOKED_AT {
                break;
            }
        }
        values.extend(self.divisors.iter().flat_map(|&by| [by, by.saturating_add(1)]));
        let values: Vec<i64> = values.into_iter().filter(|&value| value >= 0).collect();
        let symbols = &self.func.header.symbols;
        let open: Vec<usize> =
            (0..symbols.len()).filter(|&nth| !given.contains_key(self.func.text(symbols[nth].name))).collect();
        let all = u32::try_from(open.len()).ok().and_then(|n| values.len().checked_pow(n));
        let mut found: Vec<Sizes> = Vec::new();
        for nth in 0..all.unwrap_or(usize::MAX).min(MAX_LOOKED_AT) {
            // The first open size runs fastest.
            let wanted = |size: usize| {
                let place = open.iter().position(|&nth| nth == size).and_then(|place| u32::try_from(place).ok());
                let power = place.and_then(|place| values.len().checked_pow(place)).unwrap_or(usize::MAX);
                values[nth / power % values.len()]
            };
            found.extend(fitting(self.func, given, &wanted));
        }
        let cost = |sizes: &Sizes| sizes.values().fold(1i128, |cost, &size| cost.saturating_mul(size.max(1).into()));
        found.sort_by_cached_key(|sizes| (sizes.values().any(|&size| size > MAX_SIZE), cost(sizes)));
        found.dedup();
        found
    }
}
