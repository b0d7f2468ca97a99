//! Clocks: what is kept of them, what compares, and what is measured again.

use crate::{Ran, example, folder, shown, tune};
use serde_json::Value;
use std::fs;

fn worker(options: &str) -> String {
    format!("python3 {}/tests/clocks.py {options}", env!("CARGO_MANIFEST_DIR"))
}

/// A search of twelve trials with these workers.
fn search(workers: &[&str], records: &str, more: &[&str]) -> Ran {
    let file = example("conv1d");
    let mut args = vec![file.as_str(), "@autotvm", "--trials", "12", "--searcher", "random", "--records", records];
    for worker in workers {
        args.extend(["--worker", worker]);
    }
    args.extend(more);
    let ran = tune(&args);
    assert!(ran.status < 2, "{}{}", ran.stdout, ran.stderr);
    ran
}

fn lines(path: &str) -> Vec<Value> {
    let text = fs::read_to_string(path).expect("written");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[test]
fn clocks_are_kept_with_the_times_and_shown_where_they_matter() {
    let folder = folder("clocks");
    let path = shown(&folder.join("r.jsonl"));
    let ran = search(&[&worker("class=power_cap")], &path, &[]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("n = 6) [power cap]"), "{}", ran.stdout);
    let record = &lines(&path)[0];
    assert_eq!((&record["clocks"]["class"], &record["clocks"]["sm_mhz"]), (&"power cap".into(), &1755.into()));
    let table = tune(&["show", &path]).stdout;
    assert!(table.contains(" [power cap]\n") && !table.contains("do not compare"), "{table}");
    fs::remove_dir_all(&folder).ok();
}

#[test]
fn times_under_other_clocks_are_not_compared() {
    let folder = folder("classes");
    let (path, other) = (shown(&folder.join("r.jsonl")), shown(&folder.join("other.jsonl")));
    let ran = search(&[&worker("class=ok,odd=power_cap")], &path, &[]);
    assert!(ran.stdout.contains("not compared: its clocks are `"), "{}", ran.stdout);
    let table = tune(&["show", &path]).stdout;
    assert!(table.contains("times under other clocks do not compare (ok, power cap)"), "{table}");
    assert_eq!(table.matches("   1.00  ").count(), 2, "a best of each class: {table}");
    search(&[&worker("class=power_cap")], &other, &[]);
    let diff = tune(&["diff", &path, &other]).stdout;
    assert!(diff.contains("of them ran under clocks of two classes, and are not compared"), "{diff}");
    fs::remove_dir_all(&folder).ok();
}

#[test]
fn a_point_whose_clock_was_invalid_is_measured_again_by_the_same_command() {
    let folder = folder("invalid");
    let (path, hot) = (shown(&folder.join("r.jsonl")), shown(&folder.join("hot")));
    fs::write(&hot, "").expect("writable");
    let worker = worker(&format!("invalid={hot}"));
    let ran = search(&[&worker], &path, &[]);
    assert_eq!(ran.status, 1, "no point has a time: {}", ran.stdout);
    assert!(ran.stdout.contains("12 invalid clock: thermal"), "{}", ran.stdout);
    let table = tune(&["show", &path]).stdout;
    assert!(table.contains("12 invalid clock: thermal"), "{table}");
    fs::remove_file(&hot).expect("ours");
    let ran = search(&[&worker], &path, &[]);
    assert!(ran.status == 0 && ran.stdout.contains("12 of 1404 valid points tried: 12 ok"), "{}", ran.stdout);
    let attempts: Vec<u64> = lines(&path).iter().filter_map(|record| record["trial"]["attempt"].as_u64()).collect();
    assert_eq!(attempts, [[0; 12], [1; 12]].concat(), "nothing is lost");
    let replayed = tune(&["replay", &example("conv1d"), "--records", &path]);
    assert!(replayed.stdout.contains("random with seed 0: the same 12 choices"), "{}", replayed.stdout);
    // What has a time is not measured a third time.
    search(&[&worker], &path, &[]);
    assert_eq!(lines(&path).len(), 24);
    fs::remove_dir_all(&folder).ok();
}

#[test]
fn the_best_are_measured_again_on_one_device() {
    let folder = folder("one-judge");
    let path = shown(&folder.join("r.jsonl"));
    let ran = search(&[&worker("plus=1000"), &worker("plus=3000")], &path, &["--json"]);
    let summary: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let finals = summary["finals"].as_array().expect("finals");
    assert_eq!(finals.len(), 3);
    for of in finals {
        let time = &of["time_us"];
        assert_eq!((&time["low"], &time["n"]), (&time["high"], &6.into()), "one device, six rounds: {summary:#}");
        assert!(time["median"].as_f64().is_some_and(|us| us < 3000.0), "the first device: {summary:#}");
    }
    fs::remove_dir_all(&folder).ok();
}

#[test]
fn times_of_another_state_of_the_cache_are_not_taken_for_known() {
    let folder = folder("cache-state");
    let path = shown(&folder.join("r.jsonl"));
    for more in [&[][..], &["--flush"], &["--rotate"], &["--flush"]] {
        search(&[&worker("")], &path, more);
    }
    let mut devices: Vec<String> = lines(&path).iter().map(|record| record["device"].to_string()).collect();
    assert_eq!(devices.len(), 36);
    devices.dedup();
    assert_eq!(devices, ["\"fake\"", "\"fake, L2 flushed\"", "\"fake, L2 rotated\""]);
    fs::remove_dir_all(&folder).ok();
}

#[test]
fn an_interval_is_a_percentage() {
    let of = |interval: &str| tune(&["f.tir", "--interval", interval]).stderr;
    for wrong in ["101%", "wide", "200%", "nan"] {
        assert!(of(wrong).contains("--interval"), "{}", of(wrong));
    }
    for right in ["1%", "0.5", "none"] {
        assert!(of(right).contains("f.tir") && !of(right).contains("--interval"), "{}", of(right));
    }
}
