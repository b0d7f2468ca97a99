//! What holds of the files of the repository.

use crate::{arrows, generate, words};
use std::path::{Path, PathBuf};

/// ARCHITECTURE.md is a page that one reads, so it may have this many lines.
const MAX_ARCHITECTURE: usize = 250;

/// What has no place in a finished text. The list is written so that it does not find itself.
const FORBIDDEN: &[&str] = &[
    concat!("/wo", "rk/"),
    concat!("/fa", "rm/"),
    concat!("todo", "!("),
    concat!("unimplemented", "!("),
    concat!("#[ig", "nore"),
    concat!("dbg", "!("),
    concat!("FIX", "ME"),
];

/// The headings that the page of a pass has.
const PASS_HEADINGS: &[&str] = &["# Input form", "# Output form", "# Example", "# Algorithm", "# Limits", "# Remarks"];

/// The headings that the page of a primitive has.
const PRIMITIVE_HEADINGS: &[&str] = &["# Arguments", "# Legality", "# Rewrite", "# Known elsewhere as"];

/// Files of `tc-passes` that are no passes.
const NOT_PASSES: &[&str] = &["lib", "table", "analysis", "program_schedule"];

/// Files among the primitives that are none.
const NOT_PRIMITIVES: &[&str] = &["mod", "part"];

/// Folders of the corpus of schedules that are about more than one primitive.
const TOPICS: &[&str] = &["calls", "documents", "names", "programs", "sizes"];

/// All that is wrong in the repository at `root`.
pub fn check(root: &Path) -> Vec<String> {
    let mut wrong = arrows::check(root);
    wrong.extend(files(root));
    wrong.extend(passes(root));
    wrong.extend(primitives(root));
    wrong.extend(generate::stale(root));
    wrong
}

/// What is wrong with single files.
pub fn files(root: &Path) -> Vec<String> {
    let mut wrong = Vec::new();
    for path in walk(root) {
        let shown = path.strip_prefix(root).unwrap_or(&path).display().to_string();
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        if shown.ends_with(".rs") && !text.starts_with("//!") {
            wrong.push(format!("{shown}: does not open with `//!`"));
        }
        wrong.extend(words::struck(Path::new(&shown), &text));
        for (idx, line) in text.lines().enumerate() {
            for word in FORBIDDEN.iter().filter(|word| line.contains(**word)) {
                wrong.push(format!("{shown}:{}: `{word}` has no place here", idx + 1));
            }
        }
    }
    match std::fs::read_to_string(root.join("ARCHITECTURE.md")) {
        Ok(text) if text.lines().count() > MAX_ARCHITECTURE => {
            wrong.push(format!("ARCHITECTURE.md has more than {MAX_ARCHITECTURE} lines"));
        }
        Ok(_) => {}
        Err(error) => wrong.push(format!("ARCHITECTURE.md: {error}")),
    }
    wrong
}

/// Row, file, corpus folder and page of every pass.
fn passes(root: &Path) -> Vec<String> {
    let rows: Vec<(String, String)> =
        tc::passes::table::PASSES.iter().map(|info| (info.name.to_string(), info.page.to_string())).collect();
    let layout = Layout {
        kind: "pass",
        source: "passes/tc-passes/src",
        other_files: NOT_PASSES,
        corpus: "filecheck-tests/passes",
        other_folders: Vec::new(),
    };
    let mut wrong = both_ways(root, &rows, &layout);
    wrong.extend(headings("pass", &rows, PASS_HEADINGS));
    wrong
}

/// Row, file, corpus folder and page of every primitive.
fn primitives(root: &Path) -> Vec<String> {
    let rows: Vec<(String, String)> =
        tc::schedule::primitives().iter().map(|info| (info.name.to_string(), info.page.to_string())).collect();
    // A directive that is read and refused has its refusals in a folder too.
    let directives = tc::dialects::sched::ROWS.iter().filter_map(|row| row.short).map(str::to_string);
    let layout = Layout {
        kind: "primitive",
        source: "compiler/tc-schedule/src/primitives",
        other_files: NOT_PRIMITIVES,
        corpus: "filecheck-tests/schedule",
        other_folders: directives.chain(TOPICS.iter().map(|topic| topic.to_string())).collect(),
    };
    let mut wrong = both_ways(root, &rows, &layout);
    wrong.extend(headings("primitive", &rows, PRIMITIVE_HEADINGS));
    wrong
}

/// Where rows of a kind have their files.
struct Layout {
    kind: &'static str,
    /// The folder of the source files.
    source: &'static str,
    /// Files there that belong to no row.
    other_files: &'static [&'static str],
    /// The folder of the corpus folders.
    corpus: &'static str,
    /// Folders there that belong to no row.
    other_folders: Vec<String>,
}

fn headings(kind: &str, rows: &[(String, String)], wanted: &[&str]) -> Vec<String> {
    let mut wrong = Vec::new();
    for (name, page) in rows {
        for heading in wanted.iter().filter(|heading| !page.lines().any(|line| line.trim() == **heading)) {
            wrong.push(format!("the page of the {kind} `{name}` lacks the heading `{heading}`"));
        }
    }
    wrong
}

/// Compares rows with source files and corpus folders, both ways.
fn both_ways(root: &Path, rows: &[(String, String)], layout: &Layout) -> Vec<String> {
    let &Layout { kind, source, other_files, corpus, .. } = layout;
    let mut wrong = Vec::new();
    let snake = |name: &str| name.replace('-', "_");
    for (name, _) in rows {
        let file = root.join(source).join(snake(name));
        if !file.with_extension("rs").is_file() && !file.join("mod.rs").is_file() {
            wrong.push(format!("the {kind} `{name}` has no file `{source}/{}.rs`", snake(name)));
        }
        let basic = format!("{corpus}/{name}/basic.tir");
        if !root.join(&basic).is_file() {
            wrong.push(format!("the {kind} `{name}` has no `{basic}`"));
        }
    }
    for stem in entries(&root.join(source)) {
        let stem = stem.trim_end_matches(".rs");
        if !other_files.contains(&stem) && !rows.iter().any(|(name, _)| snake(name) == stem) {
            wrong.push(format!("`{source}/{stem}` is the file of a {kind} that has no row"));
        }
    }
    for folder in entries(&root.join(corpus)).iter().filter(|folder| root.join(corpus).join(folder).is_dir()) {
        if folder != "snapshots"
            && !layout.other_folders.contains(folder)
            && !rows.iter().any(|(name, _)| name == folder)
        {
            wrong.push(format!("`{corpus}/{folder}` is the folder of a {kind} that has no row"));
        }
    }
    wrong
}

/// The names in a folder, sorted; none if it is not there.
fn entries(folder: &Path) -> Vec<String> {
    let Ok(list) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut names: Vec<String> = list.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    names.sort();
    names
}

/// The files of the repository, what is built and what is hidden left out.
pub fn walk(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut worklist = vec![root.to_path_buf()];
    while let Some(folder) = worklist.pop() {
        for name in entries(&folder) {
            let path = folder.join(&name);
            let hidden = name.starts_with('.') && name != ".ci" && name != ".cargo" && name != ".config";
            if hidden || path.is_symlink() || matches!(name.as_str(), "target" | "corpus" | "artifacts" | "shared") {
                continue;
            }
            if path.is_dir() {
                worklist.push(path);
            } else {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_with_a_file_is_found() {
        let root = std::env::temp_dir().join(format!("xtask-tidy-{}", std::process::id()));
        std::fs::create_dir_all(root.join("src")).expect("writable");
        std::fs::write(root.join("ARCHITECTURE.md"), "line\n".repeat(251)).expect("writable");
        std::fs::write(root.join("src/a.rs"), "fn a() {}\n").expect("writable");
        std::fs::write(root.join("src/b.rs"), format!("//! B.\n// {}\n", FORBIDDEN[0])).expect("writable");
        let wrong = files(&root);
        std::fs::remove_dir_all(&root).expect("ours");
        assert_eq!(wrong.len(), 3, "{wrong:?}");
        assert!(wrong[0].starts_with("src/a.rs: does not open"));
        assert!(wrong[1].starts_with("src/b.rs:2:"));
    }

    #[test]
    fn rows_files_and_folders_are_compared_both_ways() {
        let root = std::env::temp_dir().join(format!("xtask-rows-{}", std::process::id()));
        for folder in ["src", "tests/one-thing", "tests/stray", "tests/topic"] {
            std::fs::create_dir_all(root.join(folder)).expect("writable");
        }
        for file in ["src/one_thing.rs", "src/lib.rs", "src/other.rs", "tests/one-thing/basic.tir"] {
            std::fs::write(root.join(file), "//! X.\n").expect("writable");
        }
        let rows = [("one-thing".to_string(), String::new()), ("lost".to_string(), String::new())];
        let other_folders = vec!["topic".to_string()];
        let layout = Layout { kind: "pass", source: "src", other_files: &["lib"], corpus: "tests", other_folders };
        let wrong = both_ways(&root, &rows, &layout);
        std::fs::remove_dir_all(&root).expect("ours");
        let want = [
            "the pass `lost` has no file `src/lost.rs`",
            "the pass `lost` has no `tests/lost/basic.tir`",
            "`src/other` is the file of a pass that has no row",
            "`tests/stray` is the folder of a pass that has no row",
        ];
        assert_eq!(wrong, want);
    }
}
