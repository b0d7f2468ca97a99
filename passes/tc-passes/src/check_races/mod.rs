//! Detects races, unordered conflicting accesses of two threads: by proof, by following all threads, by execution.
//!
//! # Input form
//!
//! `scheduled`.
//!
//! # Output form
//!
//! The same program.
//!
//! # Example
//!
//! ```tir
//! tir.func @f(A: f32[4]) {
//!   for tx in 0..32 bind(threadIdx.x) {
//!     A[tx / 8] = cast<f32>(tx)
//!   }
//! }
//! ->
//! warning: cannot prove that no two threads write different values to one cell of `A`
//! ```
//!
//! # Algorithm
//!
//! For each launch nest:
//!
//! 1. prove by dependence tests that no op writes one cell by two threads of a block, and that no two blocks access the
//!    same cell of global memory with at least one write; if all threads write the same value, report the remark
//!    `same-value-race`;
//! 2. in a threaded program, check that a barrier separates any two conflicting accesses of two threads. The method
//!    differs from that of `thread-sync`: the pass follows all threads of a block through the program with numbers for
//!    their integers, and records the cells that each thread accesses between two barriers. It first does so for all
//!    blocks at once, with a symbol for each block coordinate and each open size; if something then depends on the
//!    block, it follows one block after another. A barrier that certainly only some of the threads reach is an error.
//!
//! The oracle of the run executes the function to decide the remaining cases.
//!
//! # Limits
//!
//! The oracle's answer holds for the inputs that it ran. For a nest with more than 512 different accesses of global
//! memory the pass proves nothing between blocks. It follows loops of known trip count, at most 2^24 steps in a nest,
//! and does not distinguish tiles of warps in memory.
//!
//! # Remarks
//!
//! `race-undecided`, a warning, with `strict` an error: two accesses that are not proved independent, with the reason.
//!
//! `same-value-race`: several threads write the same value to one cell. The result does not depend on their order, so
//! the program is correct, and this pass reports a remark. `tc-run --check` reports the same code as a warning: it
//! compares the values only on the inputs of its runs, and others may differ, and redundant writes cost time.
//!
//! # References
//!
//! None.

mod barriers;
mod cells;
mod lanes;
mod places;
mod relevant;
mod trace;

use crate::analysis::access::{Access, NestFacts};
use crate::analysis::dependence::{Between, DependenceTest};
use crate::analysis::launch::{LaunchNests, Nest};
use crate::analysis::warps;
use std::sync::Arc;
use tc_arith::Var;
use tc_dialects::algebra::Algebra;
use tc_dialects::tir::{self, Coordinate, Level};
use tc_ir::opdef::Role;
use tc_ir::verify::is_threaded;
use tc_ir::walk::is_inside;
use tc_ir::{Def, Func, Module, Op, Value};
use tc_pass::{ModulePass, PassCx, PassInfo, PassKind};
use tc_support::{Diagnostic, Diagnostics};

tc_pass::options! {
    /// What `check-races` can be told.
    pub struct Options {
        /// Take what is neither proved nor executed for an error.
        strict: bool = false,
    }
}

/// The row.
pub const INFO: PassInfo = PassInfo {
    name: "check-races",
    page: tc_support::page!("mod.rs"),
    anchor: PassInfo::MODULE,
    options: Options::INFO,
    requires: &[],
    establishes: &[],
    preserves: &[],
    make: |raw| Options::read(raw).map(|options| PassKind::Module(Box::new(CheckRaces { options }))),
};

/// What an oracle found by executing a function.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// No race on the inputs that it ran.
    Clean,
    /// Threads wrote one cell, but the same value; each diagnostic has both accesses.
    SameValue(Diagnostics),
    /// A race; each diagnostic has both accesses, their threads and their lines.
    Race(Diagnostics),
    /// It could not tell, for this reason.
    Unknown(String),
}

/// Executes programs to find races. A run that has one lends it as an [`Oracle`].
pub trait RaceOracle: Send + Sync {
    /// Executes the function `symbol` of `module` on inputs of its choice.
    fn races(&self, module: &Module, symbol: &str) -> Verdict;
}

/// The extension by which a run lends its oracle to this pass.
#[derive(Clone)]
pub struct Oracle(pub Arc<dyn RaceOracle>);

/// The pass.
pub struct CheckRaces {
    /// What it was given.
    pub options: Options,
}

impl ModulePass for CheckRaces {
    fn run(&self, module: &mut Module, cx: &mut PassCx) -> bool {
        let oracle = cx.get::<Oracle>().cloned();
        for func in module.items.iter().filter(|item| item.header.opcode == tir::FUNC) {
            let nests = cx.analysis::<LaunchNests>(func);
            let found: Vec<Open> = nests.iter().flat_map(|nest| open_questions(func, nest)).collect();
            let (told, open): (Vec<Open>, Vec<Open>) = found.into_iter().partition(|open| open.kind != Kind::Open);
            cx.count("same-value races", told.iter().filter(|told| told.kind == Kind::SameValue).count() as u64);
            cx.count("accesses not proved free of races", open.len() as u64);
            let is_race = told.iter().any(|told| told.kind == Kind::Race);
            told.into_iter().for_each(|told| cx.report(told.diagnostic));
            if open.is_empty() || is_race {
                continue;
            }
            match oracle.as_ref().map(|oracle| oracle.0.races(module, func.symbol())) {
                // What was executed are some sizes and some inputs.
                Some(Verdict::Clean) => {
                    let is_open = |open: &Open| open.reason.is_some() || !func.header.symbols.is_empty();
                    let open = open.into_iter().filter(is_open).collect();
                    self.tell(open, Some("executing it for some sizes and inputs showed no race"), cx);
                }
                Some(Verdict::SameValue(found)) => cx.diagnostics.append(found),
                Some(Verdict::Race(found)) => cx.diagnostics.append(as_errors(found)),
                Some(Verdict::Unknown(reason)) => {
                    self.tell(open, Some(&format!("it could not be executed either: {reason}")), cx);
                }
                None => self.tell(open, None, cx),
            }
        }
        false
    }
}

impl CheckRaces {
    fn tell(&self, open: Vec<Open>, note: Option<&str>, cx: &mut PassCx) {
        for Open { mut diagnostic, reason, .. } in open {
            if self.options.strict {
                diagnostic.severity = tc_support::Severity::Error;
            }
            diagnostic.notes.extend(reason);
            diagnostic.notes.extend(note.map(str::to_string));
            cx.report(diagnostic);
        }
    }
}

/// What a race is at the end, whatever the oracle called it.
fn as_errors(found: Diagnostics) -> Diagnostics {
    let raise = |mut diagnostic: Diagnostic| {
        diagnostic.severity = tc_support::Severity::Error;
        diagnostic
    };
    found.into_iter().map(raise).collect()
}

/// What is to be told.
struct Open {
    diagnostic: Diagnostic,
    kind: Kind,
    /// Why following the threads did not decide it.
    reason: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// It is not proved that there is no race.
    Open,
    /// Only one value can be written.
    SameValue,
    /// A race, for certain.
    Race,
}

const BLOCKS: [Coordinate; 3] = Level::Block.coordinates();
const THREADS: [Coordinate; 3] = Level::Thread.coordinates();

/// Pairs of at most this many accesses are looked at; of more nothing is proved.
const MAX_PAIRED: usize = 512;

fn open_questions(func: &Func, nest: &Nest) -> Vec<Open> {
    let mut facts = NestFacts::new(func, nest);
    let ops = nest.ops(func);
    let accesses: Vec<Access> = ops.flat_map(|op| facts.accesses(op)).collect();
    let mut open: Vec<Open> =
        accesses.iter().filter(|access| access.writes).filter_map(|access| within_block(&mut facts, access)).collect();
    let distinct = distinct_global(&accesses);
    for access in distinct.iter().filter(|access| access.writes) {
        open.extend(between_blocks(&mut facts, access, &distinct, nest.op));
    }
    if is_threaded(func) {
        open.extend(barriers::missing(func, nest, facts.is_noalias()));
    }
    open
}

fn unproved(func: &Func, text: String, at: &Access, other: &Access) -> Open {
    let done = |access: &Access| if access.writes { "written" } else { "read" };
    let mut diagnostic = Diagnostic::warning("race-undecided", func.op_location(at.op), text);
    if other.op != at.op {
        diagnostic = diagnostic.label(func.op_location(other.op), format!("{} here", done(other)));
    }
    Open { diagnostic, kind: Kind::Open, reason: None }
}

/// One op, two threads of a block.
fn within_block(facts: &mut NestFacts<'_>, access: &Access) -> Option<Open> {
    let func = facts.func;
    let same = |facts: &NestFacts<'_>, var: Var| {
        let value = Algebra::value(var);
        facts.uniform.is(value) && is_visible(facts.func, value, access.op)
    };
    // The threads of one warp do such an op together.
    let warps = warps::told_apart_by(&facts.nest).filter(|_| access.by_warp);
    let own = Access { by_warp: access.by_warp && warps.is_none(), ..access.clone() };
    let between = Between::Coordinates(warps.unwrap_or(&THREADS));
    if facts.is_independent(&DependenceTest {
        first: &own,
        second: &own,
        between,
        same: &same,
        carried: None,
        reversed: None,
    }) {
        return None;
    }
    let name = func.value_text(access.root);
    let stored = (func.role(access.op) == Role::Store).then(|| func.operands(access.op).last().copied()).flatten();
    if stored.is_some_and(|value| facts.uniform.is(value)) {
        let text = format!("several threads write the same value to one cell of `{name}`");
        let diagnostic = Diagnostic::remark("same-value-race", func.op_location(access.op), text);
        return Some(Open { diagnostic, kind: Kind::SameValue, reason: None });
    }
    let text = format!("cannot prove that no two threads write different values to one cell of `{name}`");
    Some(unproved(func, text, access, access))
}

/// The accesses of global memory, of those that touch the same cells in the same way only the first.
fn distinct_global(accesses: &[Access]) -> Vec<Access> {
    let mut distinct: Vec<Access> = Vec::new();
    for access in accesses.iter().filter(|access| access.global) {
        if distinct.len() <= MAX_PAIRED && !distinct.iter().any(|old| old.is_alike(access)) {
            distinct.push(access.clone());
        }
    }
    distinct
}

/// Two blocks: barriers do not help. One diagnostic an access is enough.
fn between_blocks(facts: &mut NestFacts<'_>, access: &Access, all: &[Access], nest: Op) -> Option<Open> {
    if !BLOCKS.into_iter().any(|coordinate| facts.nest.varies(coordinate)) {
        return None;
    }
    let func = facts.func;
    let same = |facts: &NestFacts<'_>, var: Var| is_outside(facts.func, Algebra::value(var), nest);
    let between = Between::Coordinates(&BLOCKS);
    let many = all.len() > MAX_PAIRED;
    let mut may_overlap = |second: &Access| {
        !facts.is_independent(&DependenceTest {
            first: access,
            second,
            between,
            same: &same,
            carried: None,
            reversed: None,
        })
    };
    let other = all.iter().find(|other| (many && access.may_share_memory(other)) || may_overlap(other))?;
    let name = func.value_text(access.root);
    let text = format!("cannot prove that no two blocks touch one cell of `{name}`");
    Some(unproved(func, text, access, other))
}

/// Is `value` defined in a region around `op`, or in its own?
fn is_visible(func: &Func, value: Value, op: Op) -> bool {
    let region = match func.def(value) {
        Def::Arg(region, _) => Some(region),
        Def::Result(def, _) => func.region_of(def),
    };
    region.is_some_and(|region| {
        region == func.body()
            || func.region_of(op) == Some(region)
            || func.region_parent(region).is_some_and(|parent| is_inside(func, op, parent))
    })
}

fn is_outside(func: &Func, value: Value, nest: Op) -> bool {
    match func.def(value) {
        Def::Arg(region, _) => {
            func.region_parent(region).is_none_or(|parent| parent != nest && !is_inside(func, parent, nest))
        }
        Def::Result(def, _) => !is_inside(func, def, nest),
    }
}
