//! Random operators, schedules and pipelines: a test of the whole compiler.
//!
//! A case is an operator, a schedule of it and a pipeline, all drawn from a seed. The program has to agree with the
//! operator's definition after every pass, without a race or an access out of bounds, and the emitter has to take what
//! comes out. What the compiler refuses with a message for the author is dropped, counted, and the case goes on
//! without it; a panic, a finding that calls itself a bug, a hang or a disagreement is a failure.
//!
//! - [`rng`]: the numbers; [`expr`], [`operator`], [`directive`], [`passes`]: a case as data, and its text.
//! - [`operators`], [`schedules`]: what is drawn.
//! - [`check`]: one case through the compiler; [`shrink`]: a failing one made small.
//! - [`device`]: a case as a file for a machine with a GPU.
//! - [`run`](mod@run): many cases; [`tally`]: what they were made of.

pub mod check;
pub mod device;
pub mod directive;
pub mod expr;
pub mod operator;
pub mod operators;
pub mod passes;
pub mod rng;
pub mod run;
pub mod schedules;
pub mod shrink;
pub mod tally;

use directive::Schedule;
use operator::Operator;
use passes::Pass;
use rng::Rng;
use tc::Compiler;

/// An operator, a schedule and a pipeline.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Case {
    /// The operator, `@op`.
    pub operator: Operator,
    /// A schedule of it, `@s`.
    pub schedule: Schedule,
    /// The passes.
    pub passes: Vec<Pass>,
}

impl Case {
    /// Case `number` of `seed`.
    pub fn new(compiler: &Compiler, seed: u64, number: u64) -> Case {
        let mut rng = Rng::of_case(seed, number);
        let operator = operators::operator(&mut rng);
        let schedule = schedules::schedule(&operator, &mut rng);
        let passes = passes::passes(&compiler.passes, &mut rng);
        Case { operator, schedule, passes }
    }

    /// The file.
    pub fn text(&self) -> String {
        format!("{}\n{}{}", self.operator.text(), self.schedule.text(), self.schedule.intrinsics())
    }

    /// The line of the first directive in the file, from 1.
    pub fn first_directive_line(&self) -> usize {
        self.operator.text().lines().count() + 3
    }

    /// The file as one of the corpus: it says how it is run.
    pub fn corpus_text(&self, about: &str) -> String {
        let pipeline = passes::text(&self.passes);
        let run = format!("// RUN: tc-opt %s --pass-pipeline='{pipeline}' --verify-each=semantics | FileCheck %s");
        format!("{run}\n// {about}\n\n// CHECK: tir.func @op\n\n{}", self.text())
    }
}
