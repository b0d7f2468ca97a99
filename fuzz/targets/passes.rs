//! A program and a pipeline that the bytes choose, as `tc-random --programs` draws them from a seed: the meaning stays the same
//! after every pass.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tc_filetest::random::choices::Choices;
use tc_filetest::random::programs::{Programs, Purpose};
use tc_filetest::random::run::RandomCase;

struct Bytes<'b>(std::slice::Iter<'b, u8>);

impl Choices for Bytes<'_> {
    fn below(&mut self, n: usize) -> usize {
        self.0.next().map_or(n.saturating_sub(1), |&byte| usize::from(byte) % n.max(1))
    }
}

fuzz_target!(|bytes: &[u8]| {
    let compiler = tc::Compiler { threads: 1, ..tc::Compiler::new() };
    let mut case = Programs::draw(&compiler.passes, &mut Bytes(bytes.iter()), Purpose::Simulator);
    if let Err(failure) = case.settle(&compiler, &mut Default::default()) {
        panic!("{}\n{}\n{}", failure.key, failure.text, case.corpus_text("found by fuzzing"));
    }
});
