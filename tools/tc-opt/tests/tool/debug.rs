//! Reproducers and reduction through the tool: the files that they leave behind.

use std::path::{Path, PathBuf};
use std::time::Instant;
use tc_opt::{CALL, FINE, INPUT, Io};

/// No GPU can run it: nothing of it is in a kernel.
const HOST: &str = "tir.func @f(A: f32[64]) {\n  for i in 0..32 + 32 {\n    A[i] = 1.0\n  }\n}\n";
const PIPELINE: &str = "--pass-pipeline=tir.func(simplify,verify-memory,dce)";

struct Ended {
    status: u8,
    out: String,
    err: String,
}

/// Runs the tool on `text` as its standard input, with `temporary` as the folder for files that the caller did not name.
fn run(args: &[&str], text: &str, temporary: Option<&Path>) -> Ended {
    let (mut stdin, mut stdout, mut stderr) = (text.as_bytes(), Vec::new(), Vec::new());
    let io = Io { temporary: temporary.map(PathBuf::from), ..Io::plain(&mut stdin, &mut stdout, &mut stderr) };
    let status = tc_opt::run(std::iter::once("tc-opt").chain(args.iter().copied()).map(Into::into), io);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("the tool writes UTF-8");
    Ended { status, out: text(stdout), err: text(stderr) }
}

/// A folder of its own for one test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("tc-opt-debug-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder");
        Folder(path)
    }

    fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).expect("the folder is there");
        let mut names: Vec<String> =
            entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_string_lossy().into_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_failure_leaves_the_file_that_is_asked_for() {
    let folder = Folder::new("named");
    let named = folder.path("r.tir");
    let ended = run(&["-", PIPELINE, "--reproducer", &named], HOST, Some(&folder.0));
    assert_eq!(ended.status, INPUT, "{}", ended.err);
    assert!(ended.err.contains(&format!("to reproduce it: tc-opt {named} --run-reproducer")), "{}", ended.err);
    let again = run(&[&named, "--run-reproducer"], "", Some(&folder.0));
    assert_eq!(again.status, INPUT);
    assert!(again.err.contains("error[host-access]"), "{}", again.err);
    assert_eq!(folder.files(), ["r.tir"]);
    let text = std::fs::read_to_string(named).expect("it was written");
    assert!(text.contains("// tc-reproducer: pipeline = module(tir.func(verify-memory,dce))\n"), "{text}");
    assert!(text.contains("#\"<stdin>\":3:"), "{text}");
}

#[test]
fn the_line_that_reproduces_it_can_be_pasted() {
    let folder = Folder::new("quoted");
    for (name, quoted) in [("it's here.tir", r"it'\''s here.tir"), ("a b$(x).tir", "a b$(x).tir")] {
        let ended = run(&["-", PIPELINE, "--reproducer", &folder.path(name)], HOST, None);
        let note = format!("to reproduce it: tc-opt '{}' --run-reproducer", folder.path(quoted));
        assert!(ended.err.contains(&note), "{}", ended.err);
    }
}

#[test]
fn none_is_written_where_none_is_wanted() {
    let folder = Folder::new("none");
    let temporary = Some(&*folder.0);
    // The input is at fault, and the message says so.
    assert_eq!(run(&["-", PIPELINE], HOST, temporary).status, INPUT);
    assert_eq!(run(&["-", PIPELINE, "--no-reproducer"], HOST, temporary).status, INPUT);
    assert_eq!(run(&["-", PIPELINE, "--verify-diagnostics"], HOST, temporary).status, INPUT);
    assert_eq!(run(&["-", PIPELINE], "tir.func @f( {\n", temporary).status, INPUT);
    assert_eq!(run(&["-", "--pass-pipeline=tir.func(simplify)"], HOST, temporary).status, FINE);
    assert_eq!(run(&["-", PIPELINE], HOST, None).status, INPUT);
    assert_eq!(folder.files(), [""; 0]);
}

#[test]
fn a_file_that_cannot_be_written_is_a_warning() {
    let ended = run(&["-", PIPELINE, "--reproducer", "/no/such/folder/r.tir"], HOST, None);
    assert_eq!(ended.status, INPUT, "{}", ended.err);
    assert!(ended.err.contains("error[host-access]"), "{}", ended.err);
    let warning = "warning[reproducer]: cannot write the reproducer `/no/such/folder/";
    assert!(ended.err.contains(warning), "{}", ended.err);
}

#[test]
fn an_emitter_that_fails_is_reproduced() {
    let folder = Folder::new("emit");
    let named = folder.path("r.tir");
    let ended = run(&["-", "--pass-pipeline=tir.func(simplify)", "--emit=cuda", "--reproducer", &named], HOST, None);
    assert_ne!(ended.status, FINE);
    let text = std::fs::read_to_string(&named).expect("it was written");
    assert!(text.contains("pipeline = module()\n") && text.contains("emit = cuda\n"), "{text}");
    let again = run(&[&named, "--run-reproducer"], "", None);
    assert_eq!(again.status, ended.status);
    let code = |text: &str| text[text.find("error[").expect("an error")..].split(']').next().map(str::to_string);
    assert_eq!(code(&again.err), code(&ended.err));
}

#[test]
fn each_part_of_a_file_has_its_own() {
    let folder = Folder::new("parts");
    let named = folder.path("r.tir");
    let fine = "tir.func @g(A: f32[4]) {\n}\n";
    let text = format!("{HOST}// -----\n{fine}// -----\n{HOST}");
    let args = ["-", PIPELINE, "--split-input-file", "--reproducer", &named];
    assert_eq!(run(&args, &text, None).status, INPUT);
    let files = folder.files();
    assert!(files.len() == 2 && files.iter().all(|name| name.starts_with("r.") && name.ends_with(".tir")), "{files:?}");
}

#[test]
fn a_command_that_hangs_says_no() {
    let start = Instant::now();
    let ended = run(&["-", "--reduce", "sleep 60; test -f {}", "--command-timeout", "1"], HOST, None);
    assert_eq!(ended.status, CALL);
    assert!(ended.err.contains("does not end with status 0"), "{}", ended.err);
    assert!((1..30).contains(&start.elapsed().as_secs()), "{:?}", start.elapsed());
}

#[test]
fn what_cannot_be_written_ends_the_reduction_and_is_told() {
    let folder = Folder::new("full");
    let args = ["-", "--reduce", "grep -q tir.func", "-o", "/dev/full", "--threads=1"];
    let ended = run(&args, HOST, Some(&folder.0));
    assert_eq!(ended.status, CALL);
    assert!(ended.err.contains("cannot write `/dev/full`"), "{}", ended.err);
}

#[test]
fn every_better_text_is_in_the_file_at_once() {
    let folder = Folder::new("best");
    let (named, seen) = (folder.path("small.tir"), folder.path("seen"));
    // The command keeps a copy of what the tool had written when it asked.
    let command = format!("grep -q 1.0 {{}} && {{ test ! -f '{named}' || cat '{named}' >> '{seen}'; }}");
    let ended = run(&["-", "--reduce", &command, "-o", &named, "--threads=1"], HOST, None);
    assert_eq!((ended.status, ended.out.as_str()), (FINE, ""), "{}", ended.err);
    let small = std::fs::read_to_string(&named).expect("it was written");
    assert!(small.contains("1.0") && !small.contains("for"), "{small}");
    let seen = std::fs::read_to_string(&seen).expect("there were several");
    assert!(seen.contains("for") && seen.contains("1.0"), "{seen}");
}
