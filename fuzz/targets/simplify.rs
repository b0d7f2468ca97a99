//! A program that is read: `simplify`, `cse` and the other passes of the algebra keep it valid.

#![no_main]

use libfuzzer_sys::fuzz_target;

const PASSES: &[&str] = &["simplify", "canonicalize", "cse", "dce", "remove-no-op", "unroll-loop", "loop-partition", "storage-flatten"];

fuzz_target!(|bytes: &[u8]| {
    let Some((&choice, bytes)) = bytes.split_first() else { return };
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let compiler = tc::Compiler::new();
    let Ok(mut parsed) = compiler.parse("fuzz.tir", text) else { return };
    let pass = PASSES[usize::from(choice) % PASSES.len()];
    // A pass may refuse; it may not panic or leave a broken program, which the manager tells as a bug.
    if let Err(failure) = compiler.run(&mut parsed.module, pass) {
        assert!(!failure.is_bug(), "{pass}: {failure}");
    }
});
