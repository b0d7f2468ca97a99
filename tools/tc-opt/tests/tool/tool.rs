//! The tool as its users meet it: exit statuses, streams, files, hostile input.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

struct Ran {
    status: u8,
    stdout: String,
    stderr: String,
}

fn run_bytes(args: &[&str], mut input: &[u8]) -> Ran {
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let args = std::iter::once("tc-opt").chain(args.iter().copied()).map(Into::into);
    let io = tc_opt::Io::plain(&mut input, &mut stdout, &mut stderr);
    let status = tc_opt::run(args, io);
    let text = |bytes| String::from_utf8(bytes).expect("the tool writes UTF-8");
    Ran { status, stdout: text(stdout), stderr: text(stderr) }
}

fn run(args: &[&str], input: &str) -> Ran {
    run_bytes(args, input.as_bytes())
}

/// A folder of a test, empty.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("tc-opt-{}-{name}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("writable");
    folder
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).expect("written")
}

const DOUBLE: &str = "tir 1\n\ntir.func @double(A: f32[8]) {\n  for i in 0..8 {\n    A[i] = A[i] * 2.0\n  }\n}\n";

#[test]
fn a_program_goes_through_unchanged() {
    let ran = run(&["-"], DOUBLE);
    assert_eq!((ran.status, ran.stdout.as_str(), ran.stderr.as_str()), (0, DOUBLE, ""));
    assert_eq!(run(&["-"], "").status, 0);
    let generic = run(&["-", "--generic"], DOUBLE);
    assert!(generic.stdout.contains("tir.store("), "{}", generic.stdout);
    assert_eq!(run(&["-"], &generic.stdout).stdout, DOUBLE);
}

#[test]
fn a_pass_that_comes_too_late_ends_with_two() {
    let body = "S[tx] = A[tx]\n    A[tx] = S[tx]\n";
    let shared = |attrs: &str| format!("    alloc S: f32[32] in shared attributes {{{attrs}}}\n    {body}");
    let apart = "    alloc S: f32[32] in shared.dyn\n    S[tx] = A[tx]\n    A[tx] = S[tx]\n    \
                 alloc T: f32[32] in shared.dyn\n    T[tx] = A[tx]\n    A[tx] = T[tx]\n";
    let sum = "    s = gpu.all_reduce(A[tx], axes = [threadIdx.x]) (a: f32, b: f32) {\n      yield a + b\n    }\n    A[tx] = s\n";
    let late = [
        ("software-pipeline", shared("stages = 2"), "threaded"),
        ("inject-async-copy", shared("async"), "threaded"),
        ("merge-shared-memory", apart.to_string(), "threaded"),
        ("lower-thread-allreduce", sum.to_string(), "form"),
    ];
    for (pass, body, code) in late {
        let head = "tir.func @f(A: f32[32]) attributes {noalias, threaded} {\n  for tx in 0..32 bind(threadIdx.x) {\n";
        let ran = run(
            &["-", &format!("--pass-pipeline=tir.func(storage-flatten,{pass})")],
            &format!("{head}{body}  }}\n}}\n"),
        );
        let is_told = ran.stderr.contains(&format!("error[{code}]")) && ran.stderr.contains("before `thread-sync`");
        assert!(ran.status == 2 && is_told, "{pass}: {} {}", ran.status, ran.stderr);
    }
}

#[test]
fn a_name_of_a_file_stays_on_its_line_and_a_byte_order_mark_is_no_column() {
    let folder = folder("name");
    let path = folder.join("a\nb.tir");
    std::fs::write(&path, "\u{feff}tir 1 x\n").expect("a file system that takes any name");
    let ran = run(&[path.to_str().expect("UTF-8")], "");
    assert!(ran.status == 1 && ran.stderr.contains("a\\nb.tir:1:8\n"), "{}", ran.stderr);
    let ran = run(&["no\nsuch.tir"], "");
    assert!(ran.status == 2 && ran.stderr.contains("cannot read `no\\nsuch.tir`"), "{}", ran.stderr);
    std::fs::remove_dir_all(&folder).expect("it was made here");
}

#[test]
fn wrong_calls_end_with_two() {
    let calls: &[(&[&str], &str)] = &[
        (&[], "FILE"),
        (&["-", "--no-such-flag"], "--no-such-flag"),
        (&["-", "--emit=cdua"], "cuda"),
        (&["-", "--target=sm_81"], "unknown target `sm_81`"),
        (&["-", "--pass-pipeline=module(smplify)"], "unknown pass `smplify`"),
        (&["-", "--pass-pipeline="], "the pipeline is empty"),
        (&["-", "--print-ir-after=smplify"], "unknown pass `smplify`"),
        (&["-", "--threads=many"], "many"),
        (&["--help-pass=smplify"], "unknown pass `smplify`"),
        (&["/no/such/file.tir"], "cannot read `/no/such/file.tir`"),
        (&["-", "-o", "/no/such/folder/out.tir"], "cannot write"),
        (&["-", "--dump-dir=/dev/null/x"], "cannot dump into"),
    ];
    for (args, text) in calls {
        let ran = run(args, DOUBLE);
        assert!(ran.status == 2 && ran.stderr.contains(text), "{args:?}: {} {}", ran.status, ran.stderr);
        assert_eq!(ran.stdout, "", "{args:?}");
    }
}

#[test]
fn wrong_input_ends_with_one_and_is_located() {
    let texts: &[(&[u8], &str)] = &[
        (b"tir.func @f(", "<stdin>:1:"),
        (b"\ntir.func @f(A: f32[8]) { A[0] = b }", "<stdin>:2:33"),
        (b"tir.func @f(A: f32[8]) { \0 }", "<stdin>:1:26"),
        (b"// caf\xe9\n", "<stdin>:1:7"),
        (b"// \xff\xfe", "byte 0xff at offset 3"),
    ];
    for (text, place) in texts {
        let ran = run_bytes(&["-"], text);
        assert!(ran.status == 1 && ran.stderr.contains(place), "{place}: {} {}", ran.status, ran.stderr);
        assert_eq!(ran.stdout, "");
    }
}

#[test]
fn hostile_input_ends_soon() {
    let deep = |open: &str, close: &str| {
        format!("tir.func @f(A: f32[8]) {{ A[0] = {}1.0{} }}", open.repeat(100_000), close.repeat(100_000))
    };
    let texts = [
        deep("(", ")"),
        deep("-", ""),
        deep("sqrt(", ")"),
        format!("tir.func @f() {{ {} {} }}", "if true { ".repeat(100_000), "}".repeat(100_000)),
        format!("tir.func @{}() {{ }} x", "y".repeat(1 << 20)),
        format!("tir.func @f(A: f32[{}]) {{ }}", "9".repeat(1000)),
        "{".repeat(1 << 20),
        "// -----\n".repeat(100_000) + "x",
    ];
    for text in &texts {
        let start = Instant::now();
        let ran = run(&["-", "--split-input-file"], text);
        let head: String = text.chars().take(60).collect();
        assert!(matches!(ran.status, 1 | 2), "{head}: {} {}", ran.status, ran.stderr);
        assert!(ran.stderr.len() < 200_000, "{head}: {} bytes of diagnostics", ran.stderr.len());
        assert!(start.elapsed() < Duration::from_secs(20), "{head}: {:?}", start.elapsed());
    }
}

#[test]
fn output_files_are_written_whole_or_not_at_all() {
    let folder = folder("output");
    let out = folder.join("out.tir");
    let path = out.to_str().expect("UTF-8");
    std::fs::write(&out, "old").expect("writable");
    assert_eq!(run(&["-", "-o", path], "tir.func @f(").status, 1);
    assert_eq!(read(&out), "old");
    let ran = run(&["-", "-o", path], DOUBLE);
    assert_eq!((ran.status, ran.stdout.as_str()), (0, ""));
    assert_eq!(read(&out), DOUBLE);
    assert_eq!(std::fs::read_dir(&folder).expect("there").count(), 1);
    assert_eq!(run(&["-", "-o", "-"], DOUBLE).stdout, DOUBLE);
    assert_eq!(run(&["-", "-o", "/dev/null"], DOUBLE).status, 0);
    assert!(!Path::new("/dev/null").is_file());
    std::fs::remove_dir_all(folder).expect("ours");
}

#[test]
fn parts_of_a_file_are_texts_of_their_own() {
    let text = format!("{DOUBLE}// -----\ntir.func @f(\n// -----\n{DOUBLE}");
    let ran = run(&["-", "--split-input-file"], &text);
    assert_eq!(ran.status, 1);
    assert_eq!(ran.stdout, format!("{DOUBLE}// -----\n{DOUBLE}"));
    assert!(ran.stderr.contains("<stdin>:9:"), "{}", ran.stderr);
}

#[test]
fn expected_diagnostics_are_compared() {
    let text = "tir.func @f(A: f32[8]) {\n  // expected-error@+1 {{nothing is called `b`}}\n  A[0] = b\n}\n";
    let ran = run(&["-", "--verify-diagnostics"], text);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    let ran = run(&["-", "--verify-diagnostics"], &text.replace("= b", "= 1.0"));
    assert!(
        ran.status == 1 && ran.stderr.contains("expected error `nothing is called `b`` on line 3"),
        "{}",
        ran.stderr
    );
    let ran = run(&["-", "--verify-diagnostics"], &text.replace("expected-error@+1", ""));
    assert!(ran.status == 1 && ran.stderr.contains("not expected: "), "{}", ran.stderr);
}

#[test]
fn what_is_known_of_passes_is_told() {
    let ran = run(&["--list-passes"], "");
    assert!(ran.status == 0 && ran.stdout.contains("\n  simplify ") && ran.stdout.contains("\nnamed pipelines:\n"));
    let ran = run(&["--help-pass=unroll-loop"], "");
    assert!(
        ran.status == 0 && ran.stdout.contains("# Input form") && ran.stdout.contains("options:"),
        "{}",
        ran.stdout
    );
    let ran = run(&["--pass-pipeline=simplify,tir.func(cse)", "--dump-pass-pipeline"], "");
    assert_eq!((ran.status, ran.stdout.as_str()), (0, "module(tir.func(simplify,cse))\n"));
    assert_eq!(run(&["--help"], "").status, 0);
}

#[test]
fn the_program_between_passes_is_shown() {
    let folder = folder("dump");
    let path = folder.join("deep/dump");
    let dump = format!("--dump-dir={}", path.display());
    let ran =
        run(&["-", "--pass-pipeline=simplify,cse", "--print-ir-before=cse", "--print-ir-after-all", &dump], DOUBLE);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    for title in ["// before `cse` (2 of 2)\n", "// after `simplify` (1 of 2)\n", "// after `cse` (2 of 2)\n"] {
        assert!(ran.stdout.contains(title), "{}", ran.stdout);
    }
    assert_eq!(read(&path.join("00-parse.tir")), DOUBLE);
    assert_eq!(read(&path.join("02-cse.tir")), DOUBLE);
    std::fs::remove_dir_all(folder).expect("ours");
}

#[test]
fn time_and_statistics_go_to_the_standard_error() {
    let ran = run(&["-", "--pass-pipeline=simplify", "--timing", "--stats"], DOUBLE);
    assert_eq!((ran.status, ran.stdout.as_str()), (0, DOUBLE));
    assert!(ran.stderr.contains("time (ms)") && ran.stderr.contains("simplify (tir.func)"), "{}", ran.stderr);
}

#[test]
fn diagnostics_are_json_where_asked() {
    let ran = run(&["-", "--json"], "tir.func @f(A: f32[8]) { A[0] = b }");
    let line: serde_json::Value = serde_json::from_str(ran.stderr.lines().next().expect("one")).expect("JSON");
    assert_eq!((line["severity"].as_str(), line["location"]["line"].as_i64()), (Some("error"), Some(1)));
}

struct Closed;

impl std::io::Write for Closed {
    fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
        Err(std::io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let (mut stdout, mut stderr) = (Closed, Vec::new());
    let mut input = DOUBLE.as_bytes();
    let io = tc_opt::Io::plain(&mut input, &mut stdout, &mut stderr);
    assert_eq!(tc_opt::run(["tc-opt".into(), "-".into()], io), 0);
    assert!(stderr.is_empty());
}
