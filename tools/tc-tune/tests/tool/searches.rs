//! The searchers, on the sweeps of the documents' spaces that were measured on an H100.

use crate::{example, sweep, tune};
use serde_json::Value;

/// The launch alone tells where to start: a build for tests takes long to estimate a whole sweep.
const BY_LAUNCH: [&str; 2] = ["--estimate", "0"];

/// By searcher: the median and the ninetieth percentile of the trials to within 5 % of the best.
fn compared(name: &str, more: &[&str]) -> Vec<(String, u64, u64, f64)> {
    let path = sweep(name);
    let ran = tune(&[&["compare", &example(name), "--records", &path, "--json"], more].concat());
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
fn the_default_searcher_needs_a_third_of_the_trials_that_drawing_needs() {
    let rows = compared("depthwise2d", &[&["--seeds", "60", "--trials", "80"], &BY_LAUNCH[..]].concat());
    let median = |name: &str| rows.iter().find(|row| row.0 == name).expect("a searcher").1;
    assert!(median("random") > 30 && 3 * median("forest") <= median("random"), "{rows:?}");
    assert!(median("annealing") < median("random") && median("evolutionary") < median("random"), "{rows:?}");
}

#[test]
fn sixty_trials_find_a_point_within_a_tenth_of_the_best() {
    let rows = compared("depthwise2d", &[&["--seeds", "20", "--trials", "60"], &BY_LAUNCH[..]].concat());
    let forest = rows.iter().find(|row| row.0 == "forest").expect("the default");
    assert!(forest.3 <= 1.10, "nine of ten seeds: {rows:?}");
}

#[test]
fn no_searcher_is_worse_than_drawing_where_a_space_is_small() {
    let path = sweep("depthwise_nchw");
    let ran = tune(&["compare", &example("depthwise_nchw"), "--records", &path, "--json", "--seeds", "30"]);
    let document: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let sweeps = document.as_array().expect("sweeps");
    assert_eq!(sweeps.len(), 12, "six sizes of two schedules");
    for sweep in sweeps {
        let of = |name: &str| {
            let rows = sweep["searchers"].as_array().expect("rows");
            rows.iter().find(|row| row["searcher"] == name).expect("a searcher")["median"].as_u64()
        };
        assert!(of("forest") <= of("random"), "{sweep:#}");
    }
}

#[test]
fn the_estimate_knows_the_order_of_measured_times() {
    for (name, records, least) in [
        ("depthwise_nchw", "depthwise_nchw", 0.85),
        ("conv2d_hwcn", "conv2d_hwcn", 0.7),
        ("conv2d_hwcn", "h200/conv2d_hwcn", 0.7),
    ] {
        let ran = tune(&["model", &example(name), "--records", &sweep(records), "--json"]);
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        let document: Value = serde_json::from_str(&ran.stdout).expect("JSON");
        for sweep in document.as_array().expect("sweeps") {
            let number = |key: &str| sweep[key].as_f64().expect("a number");
            assert!(
                number("estimate") >= least && number("best_among") <= 0.1 && number("learned") >= 0.85,
                "{} {}",
                sweep["operator"],
                sweep["sizes"]
            );
            for point in sweep["points"].as_array().expect("points") {
                let (bound, us) = (point["bound_us"].as_f64().expect("us"), point["us"].as_f64().expect("us"));
                assert!(bound <= us, "a bound is no bound: {point:#}");
            }
        }
    }
}

#[test]
fn a_search_starts_from_the_points_of_the_least_estimates() {
    let path = sweep("depthwise_nchw");
    let compared = |estimate: &str| {
        let more = ["--estimate", estimate, "--seeds", "10"];
        let ran = tune(&[&["compare", &example("depthwise_nchw"), "--records", &path, "--json"], &more[..]].concat());
        let document: Value = serde_json::from_str(&ran.stdout).expect("JSON");
        let sweeps = document.as_array().expect("sweeps").clone();
        let forest = |sweep: &Value| {
            let rows = sweep["searchers"].as_array().expect("rows").clone();
            rows.into_iter().find(|row| row["searcher"] == "forest").expect("the default")["median"]
                .as_u64()
                .expect("trials")
        };
        sweeps.iter().map(forest).sum::<u64>()
    };
    let (with, without) = (compared("4096"), compared("0"));
    assert!(with < without, "{with} trials, {without} without estimates");
}
