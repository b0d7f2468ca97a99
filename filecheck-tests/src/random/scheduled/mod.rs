//! Random programs with schedules: a test of the directives over programs.
//!
//! A case is a program of loop nests over integers, whose nests read what others wrote at nearby places, update in place,
//! reduce, and stand under conditions; and directives, each drawn from the loops and buffers that the program has when its
//! turn comes. What is refused with a message for the author is counted and left out. The program must mean the same after
//! all directives, and again after the pipeline `cuda`; without races, and without a read of what no thread wrote.
//!
//! [`program`] draws programs, [`directives`] directives, [`check`] runs a case.

pub mod check;
pub mod directives;
pub mod program;

use super::check::Failure;
use super::rng::Rng;
use super::run::{Counts, RandomCase};
use std::collections::BTreeMap;
use std::fmt;
use tc::Compiler;

/// A program and a schedule of it.
#[derive(Clone, Debug)]
pub struct Scheduled {
    /// The program, `@f`.
    pub program: String,
    /// The directives of the schedule.
    pub lines: Vec<String>,
    /// Where more directives are drawn from.
    pub more: Option<Rng>,
}

impl Scheduled {
    /// The file.
    pub fn text(&self) -> String {
        let lines: String = self.lines.iter().map(|line| format!("  {line}\n")).collect();
        format!("{}schedule @s for @f {{\n{lines}}}\n", self.program)
    }
}

impl RandomCase for Scheduled {
    type Tally = Tally;

    fn draw(_: &Compiler, seed: u64, number: u64) -> Scheduled {
        let mut rng = Rng::of_case(seed, number);
        let program = program::draw(&mut rng);
        Scheduled { program, lines: Vec::new(), more: Some(rng) }
    }

    fn settle(&mut self, compiler: &Compiler, tally: &mut Tally) -> Result<(), Failure> {
        check::settle(compiler, self, tally)
    }

    fn shrunk(&self, compiler: &Compiler, failure: &Failure) -> Scheduled {
        let mut case = Scheduled { more: None, ..self.clone() };
        let mut at = case.lines.len();
        while at > 0 {
            at -= 1;
            let mut candidate = case.clone();
            candidate.lines.remove(at);
            let fails = check::settle(compiler, &mut candidate, &mut Tally::default());
            if fails.is_err_and(|found| found.key == failure.key) {
                case = candidate;
                at = at.min(case.lines.len());
            }
        }
        case
    }

    fn corpus_text(&self, about: &str) -> String {
        let run = "// RUN: tc-opt %s --pass-pipeline=schedule --verify-each=semantics | FileCheck %s";
        format!("{run}\n// {about}\n\n// CHECK: tir.func @f\n\n{}", self.text())
    }

    fn shown(&self) -> String {
        self.text()
    }
}

/// What cases were made of.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Cases that were run.
    pub cases: u64,
    /// Programs that are at fault before any directive.
    pub at_fault: u64,
    /// Cases that went through `cuda` too.
    pub kernels: u64,
    /// How often each directive was applied, and refused with which codes.
    pub directives: BTreeMap<String, (u64, BTreeMap<String, u64>)>,
    /// What could not be compared, and what `cuda` refused.
    pub left: BTreeMap<String, u64>,
}

impl Counts for Tally {
    fn add(&mut self, other: &Tally) {
        self.cases += other.cases;
        self.at_fault += other.at_fault;
        self.kernels += other.kernels;
        for (name, (applied, refused)) in &other.directives {
            let sum = self.directives.entry(name.clone()).or_default();
            sum.0 += applied;
            for (code, n) in refused {
                *sum.1.entry(code.clone()).or_default() += n;
            }
        }
        for (what, n) in &other.left {
            *self.left.entry(what.clone()).or_default() += n;
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tally { cases, at_fault, kernels, .. } = self;
        writeln!(f, "{cases} cases: {at_fault} at fault before any directive, {kernels} through cuda")?;
        writeln!(f, "\n{:<24} {:>8}  refused", "directives", "applied")?;
        for (name, (applied, refused)) in &self.directives {
            let refused: Vec<String> = refused.iter().map(|(code, n)| format!("{n} {code}")).collect();
            writeln!(f, "  {name:<22} {applied:>8}  {}", refused.join(", "))?;
        }
        for (what, n) in &self.left {
            writeln!(f, "  {n:>8}  {what}")?;
        }
        Ok(())
    }
}
