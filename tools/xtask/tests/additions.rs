//! An addition touches few files: how many name one thing of each kind, next to what is allowed.
//!
//! Files of tests are left out; what is generated is below `docs/` and the like.

use std::path::{Path, PathBuf};

/// A kind of addition, things of that kind by the names that the code gives them, and the files that may name each.
const KINDS: &[(&str, &[&str], usize)] =
    &[("a function of one float", &["EXP2", "LOG2", "RSQRT", "TANH", "TAN", "SIN", "COS", "ERF", "CEIL"], 3)];

/// All files of code of the crates, without those of tests.
fn sources(root: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut pending: Vec<PathBuf> =
        ["compiler", "dialects", "passes", "runtime", "tools"].map(|part| root.join(part)).into();
    while let Some(folder) = pending.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder of the repository") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                let is_of_tests = path.file_name().is_some_and(|name| name == "tests" || name == "target");
                pending.extend(Some(path).filter(|_| !is_of_tests));
            } else if path.extension().is_some_and(|extension| extension == "rs") && !is_module_of_tests(&path) {
                let text = std::fs::read_to_string(&path).expect("a file of the repository");
                found.push((path, text));
            }
        }
    }
    found
}

/// Modules of tests stand beside what they test.
fn is_module_of_tests(path: &Path) -> bool {
    path.file_stem().is_some_and(|stem| stem == "laws" || stem == "tests")
}

fn names(text: &str, word: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|part| part == word)
}

#[test]
fn each_addition_touches_as_few_files_as_it_says() {
    let files = sources(&xtask::root());
    assert!(files.len() > 300, "{} files", files.len());
    for (kind, examples, allowed) in KINDS {
        for example in *examples {
            let touched: Vec<&Path> =
                files.iter().filter(|(_, text)| names(text, example)).map(|(path, _)| path.as_path()).collect();
            assert!(!touched.is_empty() && touched.len() <= *allowed, "{kind}, `{example}`: {touched:#?}");
        }
    }
}
