//! Workers that fail: the search goes on, and chooses as it would have.

use crate::{example, folder, shown, tune};
use std::fs;

fn worker(faults: &str) -> String {
    format!("python3 {}/tests/worker.py {faults}", env!("CARGO_MANIFEST_DIR"))
}

/// The sorted records of a search with these workers, their times of day aside.
fn records(workers: &[&str], name: &str) -> Vec<String> {
    let folder = folder(name);
    let path = shown(&folder.join("r.jsonl"));
    let file = example("conv1d");
    let mut args =
        vec![file.as_str(), "@autotvm", "--trials", "24", "--seed", "5", "--timeout", "2", "--records", &path];
    for worker in workers {
        args.extend(["--worker", worker]);
    }
    let ran = tune(&args);
    assert_eq!(ran.status, 0, "{}{}", ran.stdout, ran.stderr);
    let mut lines: Vec<String> = fs::read_to_string(&path).expect("written").lines().map(str::to_string).collect();
    lines.sort_unstable();
    fs::remove_dir_all(&folder).ok();
    lines
}

#[test]
fn two_workers_choose_as_one_does() {
    let one = worker("");
    assert_eq!(records(&[&one], "one"), records(&[&one, &one], "two"));
}

#[test]
fn a_point_that_ends_its_worker_gets_a_verdict_and_the_search_goes_on() {
    let faults = worker("exit=1,wrong=2,rubbish=3");
    let lines = records(&[&faults], "faults");
    assert_eq!(lines.len(), 24, "nothing is lost");
    let count = |what: &str| lines.iter().filter(|line| line.contains(what)).count();
    assert!(count("\"verdict\":\"ok\"") > 10, "{lines:#?}");
    assert!(count("\"verdict\":\"faulted\"") + count("\"verdict\":\"wrong\"") > 0, "{lines:#?}");
    assert_eq!(lines, records(&[&faults, &faults, &faults], "faults-of-three"));
}

#[test]
fn a_point_that_hangs_is_ended_by_its_limit() {
    // All that can hang: every point, at one residue after the other, until one of the first trials does.
    let hung = (0..16).map(|residue| records(&[&worker(&format!("hang={residue}"))], "hang"));
    let first = hung.into_iter().find(|lines| lines.iter().any(|line| line.contains("\"verdict\":\"hung\"")));
    let lines = first.expect("some point has each residue");
    assert!(lines.iter().any(|line| line.contains("it took more than 2 s")), "{lines:#?}");
}

#[test]
fn a_worker_that_does_not_start_is_told() {
    let ran = tune(&[&example("conv1d"), "@autotvm", "--worker", "false"]);
    assert_eq!(ran.status, 2);
    assert!(
        ran.stderr.contains("the worker `false` does not start: the worker ended: exit status: 1"),
        "{}",
        ran.stderr
    );
    let ran = tune(&[&example("conv1d"), "@autotvm", "--worker", "echo hello"]);
    assert!(ran.stderr.contains("what is no answer: hello"), "{}", ran.stderr);
}

#[test]
fn a_call_without_a_file_says_what_to_name() {
    let ran = tune(&[]);
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("no file is named: `tc-tune FILE @SCHEDULE`"), "{}", ran.stderr);
}
