//! A case as a file for a machine with a GPU: the program that the pipeline left.
//!
//! What it meant before is compared here, on the simulator. There `scripts/device/random_programs.py` runs the file on the
//! simulator and on the GPU, on the same inputs, and compares the bytes of all results.

use super::check::settle;
use super::tally::Tally;
use super::{Programs, Purpose};
use crate::random::passes::text;
use crate::random::rng::Rng;
use tc::Compiler;

/// The file of case `number` of `seed`; none where the case has no kernel, or has failed already.
pub fn file(compiler: &Compiler, seed: u64, number: u64) -> Option<String> {
    let mut case = Programs::draw(&compiler.passes, &mut Rng::of_case(seed, number), Purpose::Device);
    let mut tally = Tally::default();
    settle(compiler, &mut case, &mut tally).ok()?;
    if tally.emitted == 0 {
        return None;
    }
    let mut module = compiler.parse("case.tir", &case.text).ok()?.module;
    compiler.run(&mut module, &text(&case.passes)).ok()?;
    let program = compiler.print(&module).ok()?;
    let program = program.strip_prefix("tir 1\n").unwrap_or(&program);
    Some(format!("tir 1\n\n// Case {number} of seed {seed}.\n// {}\n{program}", text(&case.passes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_a_program_that_can_be_launched() {
        let compiler = Compiler { threads: 1, ..Compiler::new() };
        let files: Vec<String> = (0..12).filter_map(|number| file(&compiler, 1, number)).collect();
        assert!(files.len() > 3);
        for text in files {
            let parsed = compiler.parse("case.tir", &text);
            let module = parsed.unwrap_or_else(|failure| panic!("{}\n{text}", failure.text())).module;
            let emitted = compiler.emit_cuda(&module).unwrap_or_else(|failure| panic!("{}\n{text}", failure.text()));
            assert!(emitted.source.contains("__global__"), "{text}");
        }
    }
}
