//! docs/from-tvm.md, held to the tables of the compiler and to the examples.
//!
//! In the tables below *Schedule primitives* and *Passes*, the second column names what stands for a name of TVM: every
//! such name is one of ours, and every one of ours is there. In those below *The documents*, a line is quoted with the item
//! that it stands in, and each section names its file.

use std::collections::BTreeSet;
use std::path::Path;

const PAGE: &str = include_str!("../../../docs/from-tvm.md");

/// The text below the heading of the second level `title`.
fn section(title: &str) -> &'static str {
    let start = PAGE.find(&format!("\n## {title}\n")).unwrap_or_else(|| panic!("no section `{title}`"));
    let rest = &PAGE[start + 1..];
    &rest[..rest.find("\n## ").unwrap_or(rest.len())]
}

/// The cells of the rows of a table; a bar that is code is written `\|`.
fn rows(text: &str) -> Vec<Vec<String>> {
    let lines = text.lines().filter(|line| line.starts_with("| ") || line.starts_with("|-"));
    let cells = |line: &str| -> Vec<String> {
        let line = line.replace("\\|", "\u{1}");
        let inner = line.trim_matches('|').to_string();
        inner.split('|').map(|cell| cell.trim().replace('\u{1}', "|")).collect()
    };
    let all: Vec<Vec<String>> = lines.map(cells).collect();
    // Each table begins with its titles and a rule.
    let is_rule = |row: &Vec<String>| row.iter().all(|cell| cell.chars().all(|c| c == '-'));
    let titles: BTreeSet<usize> =
        (1..all.len()).filter(|&nth| is_rule(&all[nth])).flat_map(|nth| [nth - 1, nth]).collect();
    all.into_iter().enumerate().filter(|(nth, _)| !titles.contains(nth)).map(|(_, row)| row).collect()
}

/// What stands in backticks.
fn code(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

fn compare(title: &str, ours: BTreeSet<&str>) {
    let table = rows(section(title));
    assert!(table.len() > 20, "{title}: {} rows", table.len());
    let mut named: BTreeSet<&str> = BTreeSet::new();
    for row in &table {
        assert_eq!(row.len(), 3, "{title}: {row:?}");
        assert!(!row[0].is_empty() && !row[2].is_empty(), "{title}: {row:?}");
        // A row without one of ours says that there is none.
        assert!(!code(&row[1]).is_empty() || row[2].starts_with("None"), "{title}: {row:?}");
        named.extend(code(&row[1]));
    }
    let unknown: Vec<_> = named.difference(&ours).collect();
    assert!(unknown.is_empty(), "{title}: the page names {unknown:?}, and there is no such thing");
    let missing: Vec<_> = ours.difference(&named).collect();
    assert!(missing.is_empty(), "{title}: the page does not name {missing:?}");
}

#[test]
fn every_primitive_stands_beside_that_of_tvm() {
    compare("Schedule primitives", tc::schedule::primitives().iter().map(|info| info.name).collect());
}

#[test]
fn every_pass_stands_beside_that_of_tvm() {
    compare("Passes", tc::passes::table::PASSES.iter().map(|info| info.name).collect());
}

/// The text of the item `symbol`: from its keyword to the next line that begins one.
fn item<'t>(text: &'t str, symbol: &str) -> Option<&'t str> {
    let begins = |line: &str| line.starts_with("te.") || line.starts_with("schedule ");
    let mut at = 0;
    let mut start = None;
    for line in text.split_inclusive('\n') {
        if begins(line) {
            if let Some(start) = start {
                return Some(&text[start..at]);
            }
            let name = line.split(|c: char| c.is_whitespace() || "(<".contains(c)).find(|word| word.starts_with('@'));
            if name == Some(symbol) {
                start = Some(at);
            }
        }
        at += line.len();
    }
    start.map(|start| &text[start..])
}

#[test]
fn every_quoted_line_stands_in_its_example() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let documents: Vec<&str> = section("The documents, call by call").split("\n### ").skip(1).collect();
    assert_eq!(documents.len(), 5);
    for document in documents {
        let title = document.lines().next().unwrap_or("");
        let file = code(document).into_iter().find(|code| code.starts_with("examples/")).expect(title);
        let text = std::fs::read_to_string(root.join(file)).expect(file);
        let table = rows(document);
        assert!(table.len() > 15, "{title}: {} rows", table.len());
        for row in table {
            let [call, lines, place] = &row[..] else { panic!("{title}: {row:?}") };
            assert!(!call.is_empty(), "{title}: {row:?}");
            let symbol = code(place)[0];
            let item = item(&text, symbol).unwrap_or_else(|| panic!("{file} has no {symbol}"));
            assert!(!code(lines).is_empty(), "{title}: {row:?}");
            for line in code(lines) {
                assert!(item.contains(line), "{file}: {symbol} has no `{line}`");
            }
        }
    }
}
