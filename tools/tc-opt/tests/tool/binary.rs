//! What only the binary can show: the environment, real pipes.

use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const TEXT: &str = "tir 1\n\ntir.func @f(A: f32[8]) {\n  A[0] = 1.0\n}\n";

#[test]
fn the_environment_names_a_folder_for_dumps() {
    let folder = std::env::temp_dir().join(format!("tc-opt-env-{}", std::process::id()));
    let mut tool = Command::new(env!("CARGO_BIN_EXE_tc-opt"));
    tool.args(["-", "--pass-pipeline=cse"]).env("TC_DUMP_IR", &folder).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = tool.spawn().expect("the tool starts");
    child.stdin.take().expect("piped").write_all(TEXT.as_bytes()).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success());
    assert_eq!(output.stdout, TEXT.as_bytes());
    assert_eq!(std::fs::read_to_string(folder.join("00-parse.tir")).expect("dumped"), TEXT);
    assert_eq!(std::fs::read_to_string(folder.join("01-cse.tir")).expect("dumped"), TEXT);
    std::fs::remove_dir_all(folder).expect("ours");
}

/// Runs the tool with `mode` over a command that answers `n` times and then no more, and sends `signal` once it waits, after one that it
/// was told to ignore.
/// What comes back: the exit status, the outputs, the names left in the folder for temporary files.
fn interrupted(name: &str, mode: &[&str], signal: &str, n: usize) -> (Option<i32>, String, String, Vec<String>) {
    let folder = std::env::temp_dir().join(format!("tc-opt-{name}-{}", std::process::id()));
    let temporary = folder.join("tmp");
    std::fs::create_dir_all(&temporary).expect("writable");
    let (go, pid) = (folder.join("go"), folder.join("pid"));
    let input = folder.join("in.tir");
    std::fs::write(&input, TEXT).expect("writable");
    let command = format!(
        "echo $$ > '{pid}'; if test \"$(wc -l < '{go}')\" -ge {n}; then exec sleep 600; fi; echo >> '{go}'; grep -q 'A: f32' {{}}",
        pid = pid.display(),
        go = go.display(),
    );
    std::fs::write(&go, "").expect("writable");
    // As `nohup` starts it.
    let mut tool = Command::new("sh");
    tool.args(["-c", "trap '' HUP; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_tc-opt")])
        .arg(&input)
        .args(mode)
        .arg(&command)
        .args(["--threads=1", "--command-timeout=600"]);
    tool.env("TMPDIR", &temporary).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = tool.spawn().expect("the tool starts");
    let start = Instant::now();
    let lines = || std::fs::read_to_string(&go).map_or(0, |text| text.lines().count());
    let asked = || lines() >= n && std::fs::read_to_string(&pid).is_ok_and(|text| !text.is_empty());
    while !asked() && start.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(10));
    }
    std::thread::sleep(Duration::from_millis(500));
    let shell = |line: String| Command::new("sh").arg("-c").arg(line).status().expect("sh starts").success();
    assert!(shell(format!("kill -s HUP {}", child.id())), "it runs still");
    std::thread::sleep(Duration::from_millis(300));
    assert!(shell(format!("kill -s {signal} {}", child.id())), "it runs still");
    let output = child.wait_with_output().expect("it ends");
    assert!(start.elapsed() < Duration::from_secs(120), "{:?}", start.elapsed());
    let leader = std::fs::read_to_string(&pid).expect("it was asked");
    assert!(!shell(format!("kill -s 0 -- -{} 2> /dev/null", leader.trim())), "the command runs still");
    let names = std::fs::read_dir(&temporary).expect("there");
    let names = names.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    std::fs::remove_dir_all(folder).expect("ours");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code(), text(output.stdout), text(output.stderr), names)
}

#[test]
fn an_interrupted_reduction_hands_over_the_best_and_tidies_up() {
    for (signal, status) in [("INT", 130), ("TERM", 143)] {
        let (ended, out, err, left) = interrupted(&format!("reduce-{signal}"), &["--reduce"], signal, 2);
        assert_eq!(ended, Some(status), "{err}");
        assert!(out.contains("A: f32"), "{out}");
        assert!(err.contains("error[call]: interrupted: what is written is the best so far"), "{err}");
        assert_eq!(left, [""; 0]);
    }
}

#[test]
fn an_interrupted_bisection_tidies_up() {
    let mode = ["--pass-pipeline=tir.func(cse,simplify,dce)", "--bisect"];
    let (ended, out, err, left) = interrupted("bisect", &mode, "INT", 1);
    assert_eq!(ended, Some(130), "{err}");
    assert!(err.contains("error[call]: interrupted: no pass was found yet"), "{err}");
    assert_eq!(out, "");
    assert_eq!(left, [""; 0]);
}

#[test]
fn all_of_the_standard_error_is_json_where_asked() {
    let full = || Stdio::from(std::fs::OpenOptions::new().write(true).open("/dev/full").expect("a device"));
    let calls: [(&[&str], i32); 4] = [
        (&["--json", "-"], 2),
        (&["--json", "-", "--reduce", "grep -q 1.0", "--threads=1"], 2),
        (&["--json", "-", "--no-such-flag"], 2),
        (&["--json", "-", "--run-reproducer"], 1),
    ];
    for (args, status) in calls {
        let mut tool = Command::new(env!("CARGO_BIN_EXE_tc-opt"));
        tool.args(args).stdin(Stdio::piped()).stdout(full()).stderr(Stdio::piped());
        let mut child = tool.spawn().expect("the tool starts");
        // One that refuses the call reads nothing.
        let _ = child.stdin.take().expect("piped").write_all(TEXT.as_bytes());
        let output = child.wait_with_output().expect("it ends");
        let told = String::from_utf8(output.stderr).expect("UTF-8");
        assert_eq!(output.status.code(), Some(status), "{args:?}: {told}");
        assert!(!told.is_empty());
        for line in told.lines() {
            let value: serde_json::Value = serde_json::from_str(line).unwrap_or_else(|why| panic!("{why}: {line}"));
            assert!(value.is_object(), "{line}");
        }
        if let Some(path) = told.split("which is in `").nth(1).and_then(|rest| rest.split('`').next()) {
            let folder = std::path::Path::new(path).parent().expect("a folder");
            std::fs::remove_dir_all(folder).expect("ours");
        }
    }
}

#[test]
fn a_reader_that_closes_the_pipe_causes_no_panic() {
    let stores = "  A[0] = 1.0\n".repeat(100_000);
    let text = format!("tir.func @f(A: f32[8]) {{\n{stores}}}\n");
    let mut tool = Command::new(env!("CARGO_BIN_EXE_tc-opt"));
    tool.arg("-").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = tool.spawn().expect("the tool starts");
    drop(child.stdout.take());
    child.stdin.take().expect("piped").write_all(text.as_bytes()).expect("it reads");
    let mut stderr = String::new();
    child.stderr.take().expect("piped").read_to_string(&mut stderr).expect("UTF-8");
    assert!(child.wait().expect("it ends").success());
    assert_eq!(stderr, "");
}
