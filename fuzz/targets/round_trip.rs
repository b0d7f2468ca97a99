//! A text that is read and verifies prints so that it reads back, and prints the same again, in both forms.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tc::ir::print::{PrintOptions, print_module};
use tc::syntax::{ParseOptions, parse_module};

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let registry = tc::dialects::shared_registry();
    let options = ParseOptions { allow_unknown_ops: true };
    let (module, found) = parse_module("fuzz.tir", text, &registry, &options);
    if found.has_errors() || module.items.iter().any(|item| tc::ir::verify::verify(item).has_errors()) {
        return;
    }
    for generic in [false, true] {
        let print = PrintOptions { generic, ..PrintOptions::default() };
        let first = print_module(&module, &print);
        let (again, found) = parse_module("printed.tir", &first, &registry, &options);
        assert!(!found.has_errors(), "{first}\n{}", tc::support::render::text(&found, &again.sources, false));
        assert_eq!(print_module(&again, &print), first);
    }
});
