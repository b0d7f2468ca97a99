//! What only the binary can show: the environment, real pipes.

use std::io::{Read, Write};
use std::process::{Command, Stdio};

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
