//! The examples of this repository: what the server says of texts that are right.

use crate::client::{Client, URI, edited, text_of};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// All examples, with the target that they are for.
fn examples() -> Vec<(PathBuf, String, &'static str)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut all = Vec::new();
    for (folder, target) in [("", "sm_80"), ("hopper", "sm_90a")] {
        let files = std::fs::read_dir(root.join(folder)).expect("a folder of examples");
        let mut paths: Vec<PathBuf> = files.map(|entry| entry.expect("readable").path()).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "tir"));
        paths.sort();
        for path in paths {
            let text = std::fs::read_to_string(&path).expect("a text");
            all.push((path, text, target));
        }
    }
    assert!(all.len() > 40, "where are the examples?");
    all
}

#[test]
fn examples_have_no_errors_and_are_formatted() {
    for (path, text, target) in examples() {
        let mut client = Client::with_options(json!({"target": target}));
        client.open_text(&text);
        let found = client.diagnostics();
        let errors: Vec<&Value> = found.iter().filter(|one| one["severity"] == 1).collect();
        assert!(errors.is_empty(), "{}: {errors:#?}", path.display());
        let options = json!({"textDocument": {"uri": URI}, "options": {"tabSize": 2, "insertSpaces": true}});
        let edits = client.ask("textDocument/formatting", options).expect("it answers");
        let laid_out = edited(&text, &edits);
        // Records of its search are of its text as it is.
        if path.ends_with("hopper/product.tir") {
            continue;
        }
        for (old, new) in text.lines().zip(laid_out.lines()) {
            assert_eq!(old, new, "{}", path.display());
        }
    }
}

#[test]
fn names_of_examples_are_resolved() {
    let mut n_names = 0;
    for (path, text, target) in examples() {
        let mut client = Client::with_options(json!({"target": target}));
        client.open_text(&text);
        let legend = 8; // variables
        let data = client.ask_document("textDocument/semanticTokens/full")["data"].as_array().expect("a list").clone();
        let (mut line, mut start) = (0, 0);
        for (nth, token) in data.chunks(5).enumerate() {
            let number = |nth: usize| token[nth].as_u64().expect("a number");
            start = if number(0) > 0 { number(1) } else { start + number(1) };
            line += number(0);
            // A sample: each of them in debug builds takes too long.
            if number(3) != legend || nth % 17 != 0 {
                continue;
            }
            n_names += 1;
            let at = json!({"line": line, "character": start});
            let found = client.ask_at("textDocument/definition", &at, json!({})).expect("it answers");
            let length = number(2);
            let here = json!({"start": at, "end": {"line": line, "character": start + length}});
            let (used, defined) = (text_of(&text, &here), text_of(&text, &found["range"]));
            assert_eq!(used, defined, "{}:{}", path.display(), line + 1);
        }
    }
    assert!(n_names > 300, "only {n_names} names");
}
