//! docs/manifest.md has every field that tc writes and reads, and no other; docs/bundles.md has every status.

use tc::target::OBJECTS;
use tc::target::sizes::FORMULA_OPS;

const MANIFEST: &str = include_str!("../../../../docs/manifest.md");
const BUNDLES: &str = include_str!("../../../../docs/bundles.md");
const HEADER: &str = include_str!("../../src/c/head.h");

/// The names in the first cells of the table whose head begins with `head`.
fn table(head: &str) -> Vec<String> {
    let mut lines = MANIFEST.lines().skip_while(|line| !line.starts_with(&format!("| {head} |")));
    assert!(lines.next().is_some(), "there is no table `{head}`");
    let rows = lines.skip(1).take_while(|line| line.starts_with("| "));
    let cells = rows.filter_map(|row| row.split(" | ").next());
    cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).map(str::to_string).collect()
}

#[test]
fn the_page_of_the_manifest_has_every_field() {
    for (name, keys) in OBJECTS {
        assert_eq!(table(&format!("field of a {name}")), keys, "{name}");
    }
    let n_tables = MANIFEST.matches("\n| field of a ").count();
    assert_eq!(n_tables, OBJECTS.len() + 2, "two are of the document of a bundle");
    let mut operators = table("operators");
    operators.sort();
    let mut known = FORMULA_OPS.map(|(_, name)| name);
    known.sort_unstable();
    assert_eq!(operators, known);
}

#[test]
fn the_page_of_the_manifest_has_every_version() {
    let versions: Vec<u64> = (1..=tc::target::manifest::VERSION).collect();
    let rows = MANIFEST.lines().skip_while(|line| !line.starts_with("| version |")).skip(2);
    let rows = rows.take_while(|line| line.starts_with("| "));
    let numbers: Vec<u64> = rows.map(|row| row[2..3].parse().expect("a number")).collect();
    assert_eq!(numbers, versions);
}

#[test]
fn the_page_of_bundles_has_every_status() {
    let declared = HEADER.lines().filter_map(|line| line.trim().strip_prefix("BUNDLE_")?.split_once(" = "));
    let mut n_declared = 0;
    for (name, rest) in declared {
        let number: String = rest.chars().take_while(char::is_ascii_digit).collect();
        assert!(BUNDLES.contains(&format!("| `{name}` | {number} |")), "{name} = {number}");
        n_declared += 1;
    }
    assert_eq!(n_declared, 16);
}
