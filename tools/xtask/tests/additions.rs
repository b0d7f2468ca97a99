//! An addition touches few files: how many name one thing of each kind, next to what is allowed.
//!
//! Files of tests are left out; what is generated is below `docs/` and the like.

use std::path::{Path, PathBuf};
use xtask::tidy::walk;

/// A kind of addition, things of that kind by the names that the code gives them, and the files that may name each.
const KINDS: &[(&str, &[&str], usize)] =
    &[("a function of one float", &["EXP2", "LOG2", "RSQRT", "TANH", "TAN", "SIN", "COS", "ERF", "CEIL"], 3)];

/// The code of the crates, without that of tests.
fn sources(root: &Path) -> Vec<(String, String)> {
    let is_code = |path: &String| {
        let mut folders = path.split('/');
        path.ends_with(".rs")
            && ["compiler", "dialects", "passes", "runtime", "tools"].contains(&folders.next().unwrap_or_default())
            // Modules of tests stand beside what they test.
            && !folders.any(|part| matches!(part, "tests" | "tests.rs" | "laws.rs"))
    };
    let read = |path: String| {
        let text = std::fs::read_to_string(root.join(&path)).expect("a file of the repository");
        (path, text)
    };
    let shown = |path: PathBuf| path.strip_prefix(root).unwrap_or(&path).display().to_string();
    walk(root).into_iter().map(shown).filter(is_code).map(read).collect()
}

fn names(text: &str, word: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|part| part == word)
}

#[test]
fn each_addition_touches_as_few_files_as_it_says() {
    let sources = sources(&xtask::root());
    assert!(sources.len() > 300, "{} files", sources.len());
    for (kind, examples, allowed) in KINDS {
        for example in *examples {
            let touched: Vec<&String> =
                sources.iter().filter(|(_, text)| names(text, example)).map(|(path, _)| path).collect();
            assert!(!touched.is_empty() && touched.len() <= *allowed, "{kind}, `{example}`: {touched:#?}");
        }
    }
}
