//! Any bytes: reading them ends, without a panic, and every error has a place in the text.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tc::support::Location;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let registry = tc::dialects::shared_registry();
    let (module, found) = tc::syntax::parse_module("fuzz.tir", &text, &registry, &Default::default());
    for diagnostic in found.iter() {
        assert!(matches!(diagnostic.location, Location::Span(_)), "{diagnostic:?}");
    }
    tc::support::render::text(&found, &module.sources, false);
});
