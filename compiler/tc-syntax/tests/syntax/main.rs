//! The parser as its callers see it: trees, errors, and what it does with texts that mean harm.

mod dump;
mod errors;
mod hostile;
mod partial;
mod random;

use std::path::PathBuf;
use tc_support::{Location, Sources};

/// The dumps of all items of `text`, and its errors as `line:column: message`, with labels and helps on lines after it.
fn parse(text: &str) -> (String, Vec<String>) {
    let mut sources = Sources::new();
    let id = sources.add("test.tir", text).expect("a small file");
    let mut dump = String::new();
    let diagnostics = tc_syntax::parse(text, sources.file(id).start(), &mut |tree, item| {
        dump.push_str(&tree.dump(item, text));
    });
    let place = |location: &Location| match location {
        Location::Span(span) => {
            let (_, at) = sources.line_col(span.start).expect("a place in the file");
            assert!(span.end >= span.start && sources.line_col(span.end).is_some());
            format!("{}:{}", at.line, at.col)
        }
        other => panic!("an error without a place: {other:?}"),
    };
    let mut errors = Vec::new();
    for diagnostic in diagnostics.iter() {
        assert!(diagnostic.is_error());
        assert_eq!(diagnostic.code, "syntax");
        let mut text = format!("{}: {}", place(&diagnostic.location), diagnostic.message);
        for label in &diagnostic.labels {
            text.push_str(&format!("\n  {}: {}", place(&label.location), label.text));
        }
        if let Some(help) = &diagnostic.help {
            text.push_str(&format!("\n  help: {help}"));
        }
        errors.push(text);
    }
    (dump, errors)
}

/// The example files.
fn examples() -> Vec<(String, String)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../filecheck-tests/parse/examples");
    let mut files: Vec<_> = std::fs::read_dir(&folder)
        .expect("the folder of examples")
        .map(|entry| entry.expect("a readable folder").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "tir"))
        .collect();
    files.sort();
    assert!(files.len() >= 10, "where are the examples?");
    let read = |path: PathBuf| {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).expect("a file has a name");
        (name, std::fs::read_to_string(&path).expect("a readable example"))
    };
    files.into_iter().map(read).collect()
}

#[test]
fn every_example_parses() {
    for (name, text) in examples() {
        let (dump, errors) = parse(&text);
        assert_eq!(errors, [""; 0], "{name}");
        // An item's kind and symbol stand at the start of a line, and nothing else does.
        let n_items =
            text.lines().filter(|line| line.starts_with(|c: char| c.is_alphabetic()) && line.contains('@')).count();
        assert_eq!(dump.lines().filter(|line| line.starts_with("(item")).count(), n_items, "{name}");
    }
}
