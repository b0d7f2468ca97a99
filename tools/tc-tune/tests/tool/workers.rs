//! Workers that fail: the search goes on, and chooses as it would have.

use crate::{example, folder, shown, tune};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;

fn worker(faults: &str) -> String {
    format!("python3 {}/tests/worker.py {faults}", env!("CARGO_MANIFEST_DIR"))
}

/// The records of a search with these workers, in the order of their points.
fn search(workers: &[&str], name: &str) -> Vec<Value> {
    let folder = folder(name);
    let path = shown(&folder.join("r.jsonl"));
    let file = example("conv1d");
    let mut args = vec![
        file.as_str(),
        "@autotvm",
        "--estimate",
        "0",
        "--trials",
        "24",
        "--seed",
        "5",
        "--timeout",
        "2",
        "--records",
        &path,
    ];
    for worker in workers {
        args.extend(["--worker", worker]);
    }
    let ran = tune(&args);
    assert_eq!(ran.status, 0, "{}{}", ran.stdout, ran.stderr);
    let text = fs::read_to_string(&path).expect("written");
    let mut records: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("a record")).collect();
    records.sort_by_key(|record| record["trial"]["nth"].as_u64());
    fs::remove_dir_all(&folder).ok();
    records
}

/// Records as lines, without which device measured when.
fn lines(mut records: Vec<Value>) -> Vec<String> {
    for record in &mut records {
        let fields = record.as_object_mut().expect("a record");
        fields.remove("device_id").expect("every record tells its device");
        fields.remove("device_ms").expect("every record tells its time of day");
    }
    records.iter().map(Value::to_string).collect()
}

fn records(workers: &[&str], name: &str) -> Vec<String> {
    lines(search(workers, name))
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

#[test]
fn a_point_whose_device_is_lost_is_measured_on_another() {
    let locks = folder("lost-locks");
    let lost = records(&[&worker(&format!("exit=9,lost=2,locks={}", shown(&locks)))], "lost");
    assert!(fs::read_dir(&locks).expect("there").count() > 1, "some device was lost");
    let not_lost = records(&[&worker("exit=9")], "not-lost");
    assert_eq!(lost, not_lost);
    fs::remove_dir_all(&locks).ok();
    // As a batch system ends the processes of a job, in any order.
    let locks = folder("told-locks");
    let told = records(&[&worker(&format!("exit=9,told=2,locks={}", shown(&locks)))], "told");
    assert!(fs::read_dir(&locks).expect("there").count() > 1, "some worker was told to end");
    assert_eq!(told, not_lost);
    fs::remove_dir_all(&locks).ok();
}

#[test]
fn a_point_that_loses_each_device_gets_a_verdict() {
    let lines = records(&[&worker("lost=2")], "lost-always");
    assert_eq!(lines.len(), 24, "nothing is lost");
    let is_lost = |line: &&String| line.contains("\"verdict\":\"faulted\"");
    let lost: Vec<&String> = lines.iter().filter(is_lost).collect();
    assert!(!lost.is_empty() && lost.iter().all(|line| line.contains("its device was lost 5 times")), "{lines:#?}");
}

#[test]
fn records_tell_which_device_was_taken_when() {
    let faults = |device: &str| format!("env FAKE_HOST={device} {}", worker("exit=9,rubbish=4,slow=5"));
    let records = search(&[&faults("one"), &faults("two")], "intervals");
    let mut taken: BTreeMap<&str, Vec<(u64, u64)>> = BTreeMap::new();
    for record in &records {
        let at = |nth: usize| record["device_ms"][nth].as_u64().expect("a time");
        taken.entry(record["device_id"].as_str().expect("a device")).or_default().push((at(0), at(1)));
    }
    assert_eq!(taken.keys().collect::<Vec<_>>(), [&"one/0", &"two/0"]);
    for (device, mut times) in taken {
        times.sort_unstable();
        assert!(times.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{device} is taken once at a time: {times:?}");
    }
}
