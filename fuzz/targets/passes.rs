//! A program and a pipeline that the bytes choose, as `tc-random --programs` draws them from a seed: the meaning stays the same
//! after every pass.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tc_filetest::random::choices::Bytes;
use tc_filetest::random::programs::{Programs, Purpose};
use tc_filetest::random::run::RandomCase;

fuzz_target!(|bytes: &[u8]| {
    let compiler = tc::Compiler { threads: 1, ..tc::Compiler::new() };
    let mut case = Programs::draw(&compiler.passes, &mut Bytes(bytes.iter()), Purpose::Simulator);
    if let Err(failure) = case.settle(&compiler, &mut Default::default()) {
        panic!("{}\n{}\n{}", failure.key, failure.text, case.corpus_text("found by fuzzing"));
    }
});
