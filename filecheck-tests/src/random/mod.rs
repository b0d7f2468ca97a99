//! Random operators, schedules and pipelines, and random programs: a test of the whole compiler.
//!
//! A case is an operator, a schedule of it and a pipeline, all drawn from a seed. The program has to agree with the
//! operator's definition after every pass, without a race or an access out of bounds, and the emitter has to take what
//! comes out. What the compiler refuses with a message for the author is dropped, counted, and the case goes on
//! without it; a panic, a diagnostic that calls itself a bug, a hang or a disagreement is a failure.
//!
//! - [`choices`]: what a generator asks; [`rng`]: numbers from a seed as an answer.
//! - [`programs`]: programs of the language in place of operators with schedules.
//! - [`scheduled`]: programs under schedules.
//! - [`expr`], [`operator`], [`directive`], [`passes`]: a case as data, and its text.
//! - [`operators`], [`schedules`]: what is drawn.
//! - [`check`]: one case through the compiler; [`shrink`]: a failing one made small.
//! - [`device`]: a case as a file for a machine with a GPU.
//! - [`run`](mod@run): many cases; [`tally`]: what they were made of.

pub mod check;
pub mod choices;
pub mod device;
pub mod directive;
pub mod expr;
pub mod operator;
pub mod operators;
pub mod passes;
pub mod programs;
pub mod rng;
pub mod run;
pub mod scheduled;
pub mod schedules;
pub mod shrink;
pub mod tally;

use check::Failure;
use directive::Schedule;
use operator::Operator;
use passes::Pass;
use rng::Rng;
use run::RandomCase;
use tally::Tally;
use tc::Compiler;

/// An operator, a schedule and a pipeline.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Case {
    /// The operator, `@op`.
    pub operator: Operator,
    /// A schedule of it, `@s`.
    pub schedule: Schedule,
    /// The condition on sizes by which `@by` chooses between `@s` and `@s`, where there is one.
    pub choice: Option<String>,
    /// The passes.
    pub passes: Vec<Pass>,
}

impl Case {
    /// Case `number` of `seed`.
    pub fn new(compiler: &Compiler, seed: u64, number: u64) -> Case {
        let mut rng = Rng::of_case(seed, number);
        let operator = operators::operator(&mut rng);
        let schedule = schedules::schedule(&operator, &mut rng);
        let mut passes = passes::passes(&compiler.passes, &mut rng);
        let choice = schedules::choice(&operator, &mut rng);
        if choice.is_some() {
            passes.iter_mut().for_each(passes::choose);
        }
        Case { operator, schedule, choice, passes }
    }

    /// The file.
    pub fn text(&self) -> String {
        let choice = self.choice.as_ref().map_or(String::new(), |when| {
            format!("\nschedule @by for @op {{\n  dispatch(@s, when = {when})\n  dispatch(@s)\n}}\n")
        });
        format!("{}\n{}{choice}{}", self.operator.text(), self.schedule.text(), self.schedule.intrinsics())
    }

    /// The case without a choice.
    pub fn unchosen(&self) -> Case {
        let mut case = Case { choice: None, ..self.clone() };
        case.passes.iter_mut().for_each(passes::choose_nothing);
        case
    }

    /// The line of the first directive in the file, from 1.
    pub fn first_directive_line(&self) -> usize {
        self.operator.text().lines().count() + 3
    }
}

impl RandomCase for Case {
    type Tally = Tally;

    fn draw(compiler: &Compiler, seed: u64, number: u64) -> Case {
        Case::new(compiler, seed, number)
    }

    fn settle(&mut self, compiler: &Compiler, tally: &mut Tally) -> Result<(), Failure> {
        check::settle(compiler, self, tally)
    }

    fn shrunk(&self, compiler: &Compiler, failure: &Failure) -> Case {
        shrink::shrink(compiler, self, failure)
    }

    fn corpus_text(&self, about: &str) -> String {
        let pipeline = passes::text(&self.passes);
        let run = format!(
            "// RUN: tc-opt %s --target=sm_90a --pass-pipeline='{pipeline}' --verify-each=semantics | FileCheck %s"
        );
        format!("{run}\n// {about}\n\n// CHECK: tir.func @op\n\n{}", self.text())
    }

    fn shown(&self) -> String {
        format!("{}\n// {}", self.text(), passes::text(&self.passes))
    }
}
