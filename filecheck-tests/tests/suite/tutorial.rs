//! docs/tutorial.md and its pages, held to the programs and examples that they quote: a line of a page stands in the file.
//!
//! Each page names a program of `python/tests/te/programs/` and a file of `examples/`. What its blocks `python` and `tir` show is
//! in them (or in `spaces.py`), as lines that follow each other, indentation and empty lines aside. That program and example mean the same is a test of
//! the Python package (`python/tests/te/test_documents.py`).

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The lines of a text, without what a page may do differently.
fn lines(text: &str) -> Vec<&str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect()
}

fn is_quoted(block: &str, file: &str) -> bool {
    let (block, file) = (lines(block), lines(file));
    !block.is_empty() && file.windows(block.len()).any(|window| window == block)
}

/// The first path in backticks that begins and ends so.
fn named<'p>(page: &'p str, start: &str, end: &str) -> &'p str {
    let mut code = page.split('`').skip(1).step_by(2);
    code.find(|code| code.starts_with(start) && code.ends_with(end)).unwrap_or_else(|| panic!("no {start}…{end}"))
}

/// The pages, in the order in which docs/tutorial.md has them.
fn pages() -> Vec<(String, String)> {
    let text = read("docs/tutorial.md");
    let mut names: Vec<&str> =
        text.match_indices("(tutorial/").filter_map(|(at, _)| text[at + 1..].split([')', '#']).next()).collect();
    names.dedup();
    names.iter().take(5).map(|name| (name.to_string(), read(&format!("docs/{name}")))).collect()
}

#[test]
fn pages_quote_programs_and_examples() {
    let pages = pages();
    let folder = std::fs::read_dir(root().join("docs/tutorial")).expect("the folder of the pages");
    assert_eq!((pages.len(), folder.count()), (5, 5));
    let mut wrong = String::new();
    for (name, page) in &pages {
        // The templates of AutoTVM have a file of their own.
        let program =
            read(named(page, "python/tests/te/programs/", ".py")) + &read("python/tests/te/programs/spaces.py");
        let example = read(named(page, "examples/", ".tir"));
        let (mut n_python, mut n_tir) = (0, 0);
        for block in page.split("```").skip(1).step_by(2) {
            let (kind, text) = block.split_once('\n').expect("a block has lines");
            let (count, file) = match kind {
                "python" => (&mut n_python, &program),
                "tir" => (&mut n_tir, &example),
                _ => continue,
            };
            *count += 1;
            if !is_quoted(text, file) {
                wrong += &format!("---- {name}: no such lines in its {kind} file\n{text}");
            }
        }
        assert!(n_python >= 4 && n_tir >= n_python, "{name}: {n_python} blocks of Python, {n_tir} of the text");
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn times_are_those_of_the_page_of_performance() {
    // The words of the tables of both, to find a number of one in the other.
    let performance = read("docs/performance.md");
    let known: Vec<&str> = performance.split([' ', '|', '\n']).collect();
    let tuned: String = ["conv1d", "depthwise2d", "depthwise_nchw", "conv2d_hwcn", "conv2d_tensorcore"]
        .iter()
        .map(|name| read(&format!("examples/tuned/{name}.tir")))
        .collect();
    let best: Vec<f64> = tuned
        .lines()
        .filter_map(|line| line.strip_prefix("// Tuned on")?.split(": ").nth(1)?.split(' ').next()?.parse().ok())
        .collect();
    let mut n_times = 0;
    for (name, page) in pages() {
        let table = page.split("## Measured").nth(1).unwrap_or_else(|| panic!("{name} has no times"));
        let rows = table.lines().filter(|line| line.starts_with("| ") && line.contains(|c: char| c.is_ascii_digit()));
        let ours = titles(table).iter().position(|title| *title == "tc").expect("a column of ours");
        for row in rows.filter_map(|row| row.split('|').map(str::trim).nth(ours)).filter(|cell| !cell.is_empty()) {
            n_times += 1;
            let is_best = row.parse().is_ok_and(|time: f64| best.iter().any(|best| (best - time).abs() < 0.06));
            assert!(known.contains(&row) || is_best, "{name}: {row} us is measured nowhere");
        }
    }
    assert!(n_times > 20, "only {n_times} times were found");
}

/// The titles of the first table of a text.
fn titles(text: &str) -> Vec<&str> {
    text.lines()
        .find(|line| line.starts_with('|'))
        .map(|line| line.split('|').map(str::trim).collect())
        .unwrap_or_default()
}
