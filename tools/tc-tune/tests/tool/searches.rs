//! The searchers, on the sweeps of the documents' spaces that were measured on an H100.

use crate::{sweep, tune};
use serde_json::Value;

/// By searcher: the median and the ninetieth percentile of the trials to within 5 % of the best.
fn compared(name: &str, more: &[&str]) -> Vec<(String, u64, u64, f64)> {
    let path = sweep(name);
    let ran = tune(&[&["compare", &path, "--json"], more].concat());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let document: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let rows = document[0]["searchers"].as_array().expect("rows");
    let row = |row: &Value| {
        let number = |key: &str| row[key].as_u64().expect("a number");
        let name = row["searcher"].as_str().expect("a name").to_string();
        (name, number("median"), number("ninetieth"), row["best_ninetieth"].as_f64().expect("a ratio"))
    };
    rows.iter().map(row).collect()
}

#[test]
fn the_default_searcher_needs_fewer_trials_than_drawing() {
    let rows = compared("depthwise2d", &["--seeds", "10", "--trials", "120"]);
    let median = |name: &str| rows.iter().find(|row| row.0 == name).expect("a searcher").1;
    assert!(median("forest") < median("random"), "{rows:?}");
    assert!(median("annealing") < median("random"), "{rows:?}");
}

#[test]
fn sixty_trials_find_a_point_within_a_tenth_of_the_best() {
    let rows = compared("depthwise2d", &["--seeds", "10", "--trials", "60"]);
    let forest = rows.iter().find(|row| row.0 == "forest").expect("the default");
    assert!(forest.3 <= 1.10, "nine of ten seeds: {rows:?}");
}
