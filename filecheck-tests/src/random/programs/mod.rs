//! Random programs and pipelines: a test of what passes do to programs that no schedule makes.
//!
//! A case is a text of one or more programs and a pipeline, both drawn. Programs are at fault nowhere by construction:
//! the generator keeps the interval of every integer expression, whose cells every buffer's are, and where threads
//! part. What the simulator finds at fault all the same is dropped, and counted by what it found.
//!
//! - [`interval`]: what integers may be, by arithmetic of its own.
//! - `draw`: the state; `ints`, `floats`, `truths`: expressions; `access`: reads and writes; `statements`, `loops`,
//!   `storage`, `exchange`, `tiles`: statements; `kernel`, `function`: what is around them.
//! - [`passes`]: pipelines in legal order; [`check`]: one case through its passes; [`tally`]: what came of them.
//! - [`shrink`]: a failing case made small; [`device`]: a case as a file for a machine with a GPU.

mod access;
pub mod check;
pub mod device;
mod draw;
mod exchange;
mod floats;
mod function;
pub mod interval;
mod ints;
mod kernel;
mod loops;
pub mod passes;
pub mod shrink;
mod statements;
mod storage;
pub mod tally;
mod tiles;
mod truths;

use super::check::Failure;
use super::choices::Choices;
use super::passes::{Pass, text};
use super::rng::Rng;
use super::run::RandomCase;
use draw::{Draw, Style};
use std::collections::BTreeSet;
use tally::Tally;
use tc::Compiler;
use tc::pass::PassTable;

/// What programs are drawn for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Purpose {
    /// The simulator, which compares floats within a tolerance.
    #[default]
    Simulator,
    /// A GPU, which has to give the same bits: launches only, sums and products of small integers.
    Device,
}

/// Programs and a pipeline.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Programs {
    /// The file.
    pub text: String,
    /// The passes.
    pub passes: Vec<Pass>,
    /// What the programs are made of.
    pub made: BTreeSet<&'static str>,
}

impl Programs {
    /// What `choices` say.
    pub fn draw(table: &PassTable, choices: &mut dyn Choices, purpose: Purpose) -> Programs {
        let exact = purpose == Purpose::Device;
        let style = Style { exact, reals: !exact && choices.chance(20) };
        let mut draw = Draw::new(choices, style);
        if draw.choices.chance(8) {
            draw.tensor_cores();
        } else {
            draw.function("f");
            if !exact && draw.choices.chance(15) {
                draw.made("several functions");
                draw.line("");
                draw.function("g");
            }
        }
        let (text, made) = (draw.take(), std::mem::take(&mut draw.made));
        let passes = passes::passes(table, choices, made.contains("host"), purpose);
        Programs { text, passes, made }
    }
}

impl RandomCase for Programs {
    type Tally = Tally;

    fn draw(compiler: &Compiler, seed: u64, number: u64) -> Programs {
        Programs::draw(&compiler.passes, &mut Rng::of_case(seed, number), Purpose::Simulator)
    }

    fn settle(&mut self, compiler: &Compiler, tally: &mut Tally) -> Result<(), Failure> {
        check::settle(compiler, self, tally)
    }

    fn shrunk(&self, compiler: &Compiler, failure: &Failure) -> Programs {
        shrink::shrink(compiler, self, failure)
    }

    fn corpus_text(&self, about: &str) -> String {
        let pipeline = text(&self.passes);
        let run = format!(
            "// RUN: tc-opt %s --target=sm_90a --pass-pipeline='{pipeline}' --verify-each=semantics | FileCheck %s"
        );
        let body = self.text.strip_prefix("tir 1\n").unwrap_or(&self.text).trim_start();
        format!("{run}\n// {about}\n\n// CHECK: tir.func @\n\n{body}")
    }

    fn shown(&self) -> String {
        format!("{}\n// {}", self.text, text(&self.passes))
    }
}

#[cfg(test)]
mod tests {
    use super::super::choices::Bytes;
    use super::*;

    #[test]
    fn any_bytes_are_programs_that_parse() {
        let compiler = Compiler { threads: 1, ..Compiler::new() };
        for length in 0..60usize {
            let bytes: Vec<u8> = (0..length * 3).map(|at| (at * 89 + length * 31) as u8).collect();
            let drawn = Programs::draw(&compiler.passes, &mut Bytes(bytes.iter()), Purpose::Simulator);
            let read = compiler.parse("case.tir", &drawn.text);
            assert!(read.is_ok(), "{}\n{}", drawn.text, read.err().map_or(String::new(), |failure| failure.text()));
        }
    }

    #[test]
    fn most_that_is_drawn_is_at_fault_nowhere() {
        let compiler = Compiler { threads: 1, ..Compiler::new() };
        let mut at_fault = 0;
        for number in 0..60 {
            let drawn = <Programs as RandomCase>::draw(&compiler, 5, number);
            let read = compiler.parse("case.tir", &drawn.text);
            let read = read.unwrap_or_else(|failure| panic!("{}\n{}", failure.text(), drawn.text));
            at_fault += usize::from(check::fault(&read.module).is_some());
        }
        assert!(at_fault <= 3, "{at_fault} of 60 are at fault");
    }
}
