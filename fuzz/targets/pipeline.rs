//! Any pipeline string: reading it ends; what it dumps reads back as the same pipeline.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    // A pipeline may name a file; the fuzzer is to read none.
    if text.contains('@') {
        return;
    }
    let compiler = tc::Compiler::new();
    let mut module = tc::ir::Module::new(compiler.registry.clone());
    let Ok(pipeline) = compiler.pipeline(text, &mut module) else { return };
    let dumped = pipeline.to_string();
    let again = compiler.pipeline(&dumped, &mut module).unwrap_or_else(|failure| panic!("`{dumped}`: {failure}"));
    assert_eq!(again.to_string(), dumped);
});
