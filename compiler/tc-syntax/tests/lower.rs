//! From text to verified IR: the language examples, and what is refused.

use tc_ir::verify::verify;
use tc_support::render;
use tc_syntax::{ParseOptions, parse_module};

fn findings(text: &str, options: &ParseOptions) -> (usize, String) {
    let registry = tc_dialects::shared_registry();
    let (module, mut found) = parse_module("test.tir", text, &registry, options);
    for func in &module.items {
        found.append(verify(func));
    }
    (module.items.len(), render::text(&found, &module.sources, false))
}

#[test]
fn the_examples_of_the_language_are_read_and_verify() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../filecheck-tests/parse/examples");
    let mut n_files = 0;
    let mut names: Vec<_> = std::fs::read_dir(folder).expect("the folder is there").map(|entry| entry.expect("readable").path()).collect();
    names.sort();
    for path in names.iter().filter(|path| path.extension().is_some_and(|ext| ext == "tir")) {
        let text = std::fs::read_to_string(path).expect("readable");
        let (n_items, shown) = findings(&text, &ParseOptions { allow_unknown_ops: true });
        assert!(n_items > 0 && shown.is_empty(), "{}: {n_items} items\n{shown}", path.display());
        n_files += 1;
    }
    assert_eq!(n_files, 10);
}
