//! The tool as its users meet it: exit statuses, streams, arrays, hostile input.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tc::runtime::{Array, DType, npy};

pub(crate) struct Ran {
    pub(crate) status: u8,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

fn run_with(args: &[&str], mut input: &[u8], progress: bool) -> Ran {
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let args = std::iter::once("tc-run").chain(args.iter().copied()).map(Into::into);
    let io = tc_run::Io { progress, ..tc_run::Io::plain(&mut input, &mut stdout, &mut stderr) };
    let status = tc_run::run(args, io);
    let text = |bytes| String::from_utf8(bytes).expect("the tool writes UTF-8");
    Ran { status, stdout: text(stdout), stderr: text(stderr) }
}

pub(crate) fn run(args: &[&str], input: &str) -> Ran {
    run_with(args, input.as_bytes(), false)
}

/// A folder of a test, empty.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("tc-run-{}-{name}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("writable");
    folder
}

fn array(path: &Path, dtype: DType, shape: &[u64], values: &[f64]) -> String {
    npy::write(path, &Array::from_f64s(dtype, shape, values).expect("small")).expect("writable");
    path.to_string_lossy().into_owned()
}

const DOUBLE: &str = "
te.func @double(A: f32[4]) -> f32[4] {
  compute B[i: 4] = A[i] * 2.0
  return B
}

schedule @s for @double {
  bind(B.i, threadIdx.x)
}
";

const RACE: &str = "
tir.func @race(A: f32[64], B: f32[64]) attributes {threaded} {
  for tx in 0..64 bind(threadIdx.x) {
    alloc S: f32[64] in shared
    S[tx] = A[tx]
    B[tx] = S[63 - tx]
  }
}
";

#[test]
fn wrong_calls_end_with_two() {
    let calls: &[(&[&str], &str)] = &[
        (&[], "FILE"),
        (&["-", "--no-such-flag"], "--no-such-flag"),
        (&["-", "--device=gpu"], "there is `sim`, `cuda`"),
        (&["-", "--target=sm_81"], "unknown target `sm_81`"),
        (&["-", "--func=@dubble"], "did you mean `@double`?"),
        (&["-", "--schedule=@t"], "there is no schedule `@t`"),
        (&["-", "-D", "n=4"], "there is no size and no parameter `n`"),
        (&["-", "-D", "n=many"], "NAME=VALUE"),
        (&["-", "--seed=-1"], "--seed"),
        (&["-", "--input", "C=c.npy"], "there is no input `C`"),
        (&["-", "--output", "A=a.npy"], "there is no output `A`"),
        (&["-", "--output", "B=/no/such/folder/b.npy"], "/no/such/folder/b.npy"),
        (&["-", "--check", "--output", "B=b.npy"], "--output"),
        (&["-", "--device=cuda"], "definition runs on `sim`"),
        (&["/no/such/file.tir"], "cannot read `/no/such/file.tir`"),
    ];
    for (args, text) in calls {
        let ran = run(args, DOUBLE);
        assert!(ran.status == 2 && ran.stderr.contains(text), "{args:?}: {} {}", ran.status, ran.stderr);
        assert_eq!(ran.stdout, "", "{args:?}");
    }
}

#[test]
fn wrong_input_ends_with_one() {
    let texts: &[(&str, &[&str], &str)] = &[
        ("", &["-"], "the file holds no items"),
        ("// nothing\n", &["-", "--check"], "the file holds no items"),
        ("te.func @f(", &["-"], "<stdin>:1:"),
        ("tir.func @p(A: f32[4]) attributes {implements = @q} { A[0] = 1.0 }", &["-"], "no operator of the file"),
        ("schedule @s for @f {}", &["-"], "is for `@f`, which is not declared"),
    ];
    for (text, args, expected) in texts {
        let ran = run(args, text);
        assert!(ran.status == 1 && ran.stderr.contains(expected), "{text}: {} {}", ran.status, ran.stderr);
    }
    let ran = run_with(&["-"], b"// \xff", false);
    assert!(ran.status == 1 && ran.stderr.contains("byte 0xff at offset 3"), "{}", ran.stderr);
}

#[test]
fn arrays_go_in_and_come_out() {
    let folder = folder("arrays");
    let input = format!("A={}", array(&folder.join("a.npy"), DType::F32, &[4], &[1.0, -2.0, 0.5, 8.0]));
    let result = folder.join("b.npy");
    let output = format!("B={}", result.display());
    for schedule in [&["--schedule=s"][..], &[]] {
        let _ = std::fs::remove_file(&result);
        let args: Vec<&str> = ["-", "--input", &input, "--output", &output].iter().chain(schedule).copied().collect();
        let ran = run(&args, DOUBLE);
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{}", ran.stdout);
        assert!(ran.stdout.contains("given") && ran.stdout.contains("2 -4 1 16"), "{}", ran.stdout);
        let written = npy::read(&result, DType::F32, Some(&[4])).expect("written");
        assert_eq!(written.to_f64s(), [2.0, -4.0, 1.0, 16.0]);
    }
    let checked = run(&["-", "--check", "--input", &input], DOUBLE);
    assert!(checked.status == 0 && checked.stdout.contains("all 4"), "{}", checked.stdout);
    std::fs::remove_dir_all(&folder).expect("ours");
}

/// One schedule reads elements where they are used, the other copies their row before.
const ROWS: &str = "te.func @rows(A: f32[4, 8], row: i32[3]) -> f32[3, 8] {
  compute B[i: 3, j: 8] = A[row[i], j]
  return B
}
schedule @there for @rows {
  bind(B.i, blockIdx.x)
}
schedule @staged for @rows {
  AS = cache_read(A, shared, [B])
  bind(B.i, blockIdx.x)
  bind(B.j, threadIdx.x)
  compute_at(AS, B.i)
  bind(AS.ax1, threadIdx.x)
}
";

#[test]
fn numbers_out_of_range_are_the_faults_of_who_gave_them() {
    let folder = folder("rows");
    let good = format!("row={}", array(&folder.join("good.npy"), DType::I32, &[3], &[3.0, 0.0, 1.0]));
    let checked = run(&["-", "--check", "--input", &good], ROWS);
    assert!(checked.status == 0 && checked.stdout.contains("2 of 2 cases are right"), "{}", checked.stdout);
    let bad = format!("row={}", array(&folder.join("bad.npy"), DType::I32, &[3], &[3.0, 9.0, 1.0]));
    let checked = run(&["-", "--check", "--input", &bad], ROWS);
    let said = checked.stdout + &checked.stderr;
    assert!(checked.status == 1 && !said.contains("bug of tc"), "{} {said}", checked.status);
    std::fs::remove_dir_all(&folder).expect("ours");
}

#[test]
fn wrong_arrays_end_with_one_and_write_nothing() {
    let folder = folder("wrong-arrays");
    let wrong = [
        (array(&folder.join("shape.npy"), DType::F32, &[5], &[0.0; 5]), "must be `f32[4]`, not `f32[5]`"),
        (array(&folder.join("rank.npy"), DType::F32, &[2, 2], &[0.0; 4]), "must be `f32[4]`, not `f32[2, 2]`"),
        (array(&folder.join("type.npy"), DType::I32, &[4], &[0.0; 4]), "type.npy"),
        (folder.join("missing.npy").to_string_lossy().into_owned(), "missing.npy"),
        (folder.to_string_lossy().into_owned(), "wrong-arrays"),
    ];
    std::fs::write(folder.join("no.npy"), "no array").expect("writable");
    let no_array = folder.join("no.npy").to_string_lossy().into_owned();
    let result = folder.join("b.npy");
    for (path, expected) in wrong.iter().map(|(path, text)| (path, *text)).chain([(&no_array, "no `.npy` file")]) {
        let (input, output) = (format!("A={path}"), format!("B={}", result.display()));
        for args in [&["-", "--input", &input, "--output", &output][..], &["-", "--check", "--input", &input]] {
            let ran = run(args, DOUBLE);
            let said = ran.stdout + &ran.stderr;
            assert!(ran.status == 1 && said.contains(expected), "{path} {args:?}: {} {said}", ran.status);
            assert!(!result.exists(), "{path}");
        }
    }
    std::fs::remove_dir_all(&folder).expect("ours");
}

#[test]
fn a_wrong_program_writes_no_result() {
    let folder = folder("wrong-program");
    let result = folder.join("b.npy");
    let ran = run(&["-", "--output", &format!("B={}", result.display())], RACE);
    assert!(ran.status == 1 && ran.stdout.contains("race"), "{}", ran.stdout);
    assert!(!result.exists());
    std::fs::remove_dir_all(&folder).expect("ours");
}

#[test]
fn what_is_read_is_not_written_over() {
    let folder = folder("written-over");
    let (program, a) = (folder.join("p.tir"), folder.join("a.npy"));
    std::fs::write(&program, DOUBLE).expect("writable");
    let input = format!("A={}", array(&a, DType::F32, &[4], &[1.0, 2.0, 3.0, 4.0]));
    let linked = folder.join("link.npy");
    std::os::unix::fs::symlink(&a, &linked).expect("writable");
    let before = (std::fs::read(&program).expect("there"), std::fs::read(&a).expect("there"));
    for (path, of) in [(&program, "the program"), (&a, "`--input A`"), (&linked, "`--input A`")] {
        let output = format!("B={}", path.display());
        let ran = run(&[&program.to_string_lossy(), "--input", &input, "--output", &output], "");
        assert!(ran.status == 2 && ran.stderr.contains("would overwrite") && ran.stderr.contains(of), "{}", ran.stderr);
        assert_eq!((std::fs::read(&program).expect("there"), std::fs::read(&a).expect("there")), before);
    }
    std::fs::remove_dir_all(&folder).expect("ours");
}

#[test]
fn results_are_told_as_json() {
    let ran = run(&["-", "--check", "--bench", "--json"], DOUBLE);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    let document: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!((&document["tc-run"], &document["device"]), (&1.into(), &"sim".into()));
    let result = &document["results"][0];
    assert_eq!((&result["func"], &result["schedule"], &result["ok"]), (&"double".into(), &"s".into(), &true.into()));
    assert_eq!((&result["check"]["cells"], &result["check"]["races"]), (&4.into(), &"clean".into()));
    assert!(result["timing"]["median_us"].as_f64().is_some_and(|us| us > 0.0));
    let ran = run(&["-", "--check", "--bench", "--json"], RACE);
    assert_eq!(ran.status, 1);
    let document: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let result = &document["results"][0];
    assert_eq!((&result["ok"], &result["timing"]), (&false.into(), &serde_json::Value::Null));
    let race = &result["diagnostics"][0];
    assert_eq!((&race["code"], &race["severity"]), (&"race".into(), &"error".into()));
    let lines = [&race["location"]["line"], &race["labels"][0]["location"]["line"]];
    assert!(lines == [5, 6] || lines == [6, 5], "{race}");
    let ran = run(&["-", "--func=x", "--json"], DOUBLE);
    let wrong: serde_json::Value = serde_json::from_str(&ran.stderr).expect("one object a line");
    assert_eq!((ran.status, &wrong["severity"]), (2, &"error".into()));
}

#[test]
fn the_same_seed_gives_the_same_results() {
    let evaluate = |seed: &str| {
        let ran = run(&["-", "--seed", seed], DOUBLE);
        assert_eq!(ran.status, 0);
        ran.stdout.lines().skip(1).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(evaluate("3"), evaluate("3"));
    assert_ne!(evaluate("3"), evaluate("4"));
}

#[test]
fn progress_is_shown_on_a_terminal_only() {
    let shown = run_with(&["-", "--check"], DOUBLE.as_bytes(), true);
    assert!(shown.stderr.contains("[1/1] double @s on sim"), "{}", shown.stderr);
    assert!(shown.stderr.ends_with("\r\x1b[2K"), "the line is taken away again");
    assert_eq!(run(&["-", "--check"], DOUBLE).stderr, "");
}

#[test]
fn a_missing_gpu_is_told() {
    if tc::runtime::CudaDevice::count().is_ok_and(|n| n > 0) {
        let ran = run(&["-", "--check", "--device=cuda"], DOUBLE);
        assert!(ran.status == 0 && ran.stdout.contains("all 4"), "{}{}", ran.stdout, ran.stderr);
        return;
    }
    let ran = run(&["-", "--check", "--device=cuda"], DOUBLE);
    assert!(ran.status == 2 && ran.stderr.starts_with("error"), "{} {}", ran.status, ran.stderr);
    assert_eq!(ran.stdout, "");
}

#[test]
fn costly_programs_end_at_their_limits() {
    let limited = |args: &[&str], text: &str| {
        let ran = run(args, DOUBLE);
        assert!(ran.status == 1 && ran.stdout.contains(text), "{args:?}: {} {}", ran.status, ran.stdout);
    };
    limited(&["-", "--step-limit=3"], "raise `--step-limit`");
    limited(&["-", "--check", "--step-limit=3"], "raise `--step-limit`");
    limited(&["-", "--check", "--step-limit=3"], "-      -");
    limited(&["-", "--check", "--memory-limit=10"], "raise `--memory-limit`");
}

#[test]
fn hostile_input_ends_soon() {
    let start = Instant::now();
    let deep = format!(
        "te.func @f(A: f32[8]) -> f32[8] {{ compute B[i: 8] = {}A[i]{} return B }}",
        "(".repeat(100_000),
        ")".repeat(100_000)
    );
    let huge = "te.func @f(A: f32[8]) -> f32[9223372036854775807] { compute B[i: 9223372036854775807] = A[i % 8] return B }\nschedule @s for @f { bind(B.i, blockIdx.x) }";
    let endless =
        "te.func @f(A: f32[8]) -> f32[8] { compute B[i: 8] = sum[k: 1000000000000](A[i] * cast<f32>(k)) return B }";
    let name = format!("te.func @{} ", "x".repeat(1 << 20));
    for text in [&deep, huge, endless, &name, "\0\0\0", "tir 9\n"] {
        for args in [&["-", "--step-limit=1000000"][..], &["-", "--check", "--step-limit=1000000"]] {
            let ran = run(args, text);
            let head: String = text.chars().take(60).collect();
            assert!(matches!(ran.status, 1 | 2), "{head} {args:?}: {} {}", ran.status, ran.stdout);
        }
    }
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

#[test]
fn times_stand_beside_others_and_sizes_follow_one_another() {
    let folder = folder("beside");
    let peer = folder.join("peer.json");
    std::fs::write(&peer, r#"{"double @b n=64": 1e9}"#).expect("writable");
    let text = "tir 1
te.func @double<n = 32>(A: f32[n]) -> f32[n] {
  compute B[i: n] = A[i] * 2.0
  return B
}
schedule @a for @double { bind(B.i, blockIdx.x) }
schedule @b for @double { bind(B.i, threadIdx.x) }
";
    let peer = peer.to_string_lossy();
    let ran = run(&["-", "--bench", "--sizes", "n=32,64", "--peer", &peer, "--json"], text);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let document: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let rows = document["results"].as_array().expect("rows");
    assert_eq!(rows.len(), 4);
    let has: Vec<bool> = rows.iter().map(|row| row["over_first"].is_number()).collect();
    assert_eq!(has, [false, true, false, true], "each size has its own first schedule");
    assert!(rows[3]["over_peer"].as_f64().is_some_and(|times| times > 1.0) && rows[1]["over_peer"].is_null());
    assert!(!ran.stderr.contains("peer"), "{}", ran.stderr);
    // A name that no row has is told, and is no failure.
    std::fs::write(&*peer, r#"{"double @c n=64": 1e9}"#).expect("writable");
    let ran = run(&["-", "--bench", "--sizes", "n=32,64", "--peer", &peer], text);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    for part in ["warning[peer]: no row takes the peer's time of `double @c n=64`", "did you mean `double @a n=64`?"] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
    let table = run(&["-", "--bench", "--sizes", "n=32,64"], text).stdout;
    assert!(table.contains("double @b n=64") && table.contains("over previous"), "{table}");
    for (args, told) in [
        (&["-", "--bench", "--sizes", "m=2"][..], "there is no size and no parameter `m`"),
        (&["-", "--bench", "--sizes", "n=2", "-D", "n=3"], "`-D n` is given twice"),
        (&["-", "--bench", "--peer", "no.json"], "cannot read `no.json`"),
    ] {
        let ran = run(args, text);
        assert!(ran.status == 2 && ran.stderr.contains(told), "{}", ran.stderr);
    }
}
