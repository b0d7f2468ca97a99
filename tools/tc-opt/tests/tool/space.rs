//! Spaces and bounds, as the tool tells them.

use std::fmt::Write as _;

struct Ran {
    status: u8,
    stdout: String,
    stderr: String,
}

fn run(args: &[&str], text: &str) -> Ran {
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let args = ["tc-opt", "-"].iter().chain(args).map(Into::into);
    let mut input = text.as_bytes();
    let io = tc_opt::Io::plain(&mut input, &mut stdout, &mut stderr);
    let status = tc_opt::run(args, io);
    let text = |bytes| String::from_utf8(bytes).expect("the tool writes UTF-8");
    Ran { status, stdout: text(stdout), stderr: text(stderr) }
}

const BLUR: &str = "te.func @blur<n = 4096>(A: f32[n]) -> f32[n - 2] {
  compute B[i: n - 2] = sum[r: 3](A[i + r])
  return B
}
schedule @tuned for @blur (block: i32 in [64, 256, 2048], unrolled: bool in [true, false]) where block < n {
  AS = cache_read(A, shared)
  bx, tx = split(B.i, factor = block)
  bind(bx, blockIdx.x)
  bind(tx, threadIdx.x)
  compute_at(AS, bx)
  if unrolled {
    unroll(B.r)
  }
}
schedule @by_hand for @blur {
  copy = cache_read(A, shared)
  b, t = split(B.i, factor = 256)
  bind(b, blockIdx.x)
  compute_at(copy, b)
  bind(t, threadIdx.x)
}
schedule @plain for @blur {
  unroll(B.r)
}
";

#[test]
fn a_space_is_told_with_why_points_are_rejected() {
    let ran = run(&["--list-space"], BLUR);
    let expected = "\
@tuned for @blur: 6 points
  block: i32 in 64, 256 and 2048
  unrolled: bool in true and false
  where block < n
  valid on sm_80: 4
  rejected, threads > 1024: 2, such as block=2048 unrolled=true: threads 2048 > 1024, block 2048 > 1024
";
    assert_eq!((ran.status, ran.stdout.as_str(), ran.stderr.as_str()), (0, expected, ""));
    // A size decides what the condition admits.
    let small = run(&["--list-space=@tuned", "-D", "n=200"], BLUR);
    assert!(small.stdout.starts_with("@tuned for @blur: 2 points\n"), "{}", small.stdout);
    let fixed = run(&["--list-space", "-Dunrolled=false"], BLUR);
    assert!(
        fixed.stdout.contains("3 points\n") && fixed.stdout.contains("unrolled: bool in false\n"),
        "{}",
        fixed.stdout
    );
}

#[test]
fn points_are_lines_that_the_pipeline_reads() {
    let ran = run(&["--list-space-points"], BLUR);
    let expected = "\
block=64 unrolled=true
block=64 unrolled=false
block=256 unrolled=true
block=256 unrolled=false
";
    assert_eq!((ran.status, ran.stdout.as_str()), (0, expected));
    for point in ran.stdout.lines() {
        let pipeline = format!("--pass-pipeline=schedule{{name=tuned param=\"{point}\"}}");
        let lowered = run(&[&pipeline], BLUR);
        assert_eq!((lowered.status, lowered.stderr.as_str()), (0, ""), "{point}");
        let block = point.trim_start_matches("block=").split(' ').next().expect("a value");
        assert!(lowered.stdout.contains(&format!("in 0..{block} bind(threadIdx.x)")), "{}", lowered.stdout);
    }
    let json = run(&["--list-space-points", "--json", "--space-limit=1"], BLUR);
    assert_eq!(json.stdout, "{\"block\":64,\"unrolled\":true}\n");
}

#[test]
fn a_space_is_told_as_json() {
    let ran = run(&["--list-space", "--json"], BLUR);
    let value: serde_json::Value = serde_json::from_str(&ran.stdout).expect("one document a line");
    assert_eq!((&value["count"], &value["valid"], &value["exact"]), (&6.into(), &4.into(), &true.into()));
    assert_eq!(value["rejected"][0]["example"]["block"], 2048);
    assert_eq!(value["params"][1]["type"], "bool");
}

#[test]
fn a_space_beyond_the_limit_is_counted_and_not_listed() {
    let text = BLUR.replace("[64, 256, 2048]", "range(64, 1000000000)").replace("where block < n ", "");
    let ran = run(&["--list-space", "--space-limit=100"], &text);
    assert!(ran.stdout.starts_with("@tuned for @blur: 1999999872 points\n"), "{}", ran.stdout);
    assert!(ran.stdout.contains("valid on sm_80 of the first 100: 100\n"), "{}", ran.stdout);
    // A condition on both: neither counted nor listed to the end.
    let held = text.replace("[true, false])", "[true, false]) where block % 2 == 0 || unrolled");
    let ran = run(&["--list-space", "--space-limit=100"], &held);
    assert!(ran.stdout.contains(": at least "), "{}", ran.stdout);
}

#[test]
fn a_schedule_is_asked_whether_it_is_a_point() {
    let ran = run(&["--member-of=@tuned"], BLUR);
    let (first, rest) = ran.stdout.split_once('\n').expect("lines");
    assert_eq!(first, "@by_hand is the point block=256 unrolled=false of @tuned");
    let expected = "\
@plain is no point of @tuned: all 6 points differ
  nearest is block=64 unrolled=true
  only @tuned has `cache_read(A, shared)` (line 6)
";
    assert_eq!((ran.status, rest), (1, expected));
    let alone = run(&["--member-of=@tuned", "--member=by_hand"], BLUR);
    assert_eq!((alone.status, alone.stdout.lines().count()), (0, 1));
    let json = run(&["--member-of=@tuned", "--member=@plain", "--json"], BLUR);
    let value: serde_json::Value = serde_json::from_str(&json.stdout).expect("one document a line");
    assert_eq!((&value["point"], &value["nearest"]["only_there"]["line"]), (&serde_json::Value::Null, &6.into()));
}

#[test]
fn wrong_questions_end_with_two_and_wrong_spaces_with_one() {
    let calls: &[(&[&str], &str)] = &[
        (&["--list-space=@tunned"], "no schedule `@tunned` has parameters; did you mean `tuned`?"),
        (&["--list-space", "-D", "m=3"], "there is no size and no parameter `m`"),
        (&["--list-space", "-D", "block"], "NAME=VALUE"),
        (&["--member-of=tuned", "--member=@nothing"], "has no schedule `@nothing`"),
        (&["--list-space", "--pass-pipeline=schedule"], "cannot be used with"),
    ];
    for (args, message) in calls {
        let ran = run(args, BLUR);
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{args:?}");
        assert!(ran.stderr.contains(message), "{args:?}: {}", ran.stderr);
    }
    let ran = run(&["--list-space"], "te.func @f(A: f32[4]) -> f32[4] {\n  compute B[i: 4] = A[i]\n  return B\n}\n");
    assert!(ran.status == 2 && ran.stderr.contains("no schedule of the file has parameters"), "{}", ran.stderr);
    let mut two = BLUR.to_string();
    let _ = write!(two, "schedule @other for @blur (p: i32 in [1]) {{\n  unroll(B.r)\n}}\n");
    let ran = run(&["--list-space-points"], &two);
    assert!(ran.status == 2 && ran.stderr.contains("`@tuned`, `@other`"), "{}", ran.stderr);
    let wrong = BLUR.replace("where block < n", "where n % (block - 64) < n");
    let ran = run(&["--list-space"], &wrong);
    assert!(
        ran.status == 1 && ran.stderr.contains("`n % (block - 64)` divides by zero with block = 64"),
        "{}",
        ran.stderr
    );
}

#[test]
fn bounds_are_explained() {
    let schedule = "--pass-pipeline=schedule{name=by_hand}";
    let ran = run(&[schedule, "--explain-bounds=copy"], BLUR);
    let expected = "\
blur @by_hand:

`copy`, in shared memory, computed at `b` of `B` (line 19)
  buffer: [258], 1032 bytes
  read 1: by `B` (line 2)
    stand still, outside or at the attach point: `B.b`
    run, inside the attach point: `B.r`
    run, for they share the buffer: `B.t`
  `ax0`, of 0..4096: 258 from b * 256
    read 1 asks for b * 256 to b * 256 + 257
    rule: as it is read
  loop `ax0`: 258, the axis itself (line 16)
  guard: ax0 < 4096 (line 19)
";
    assert_eq!((ran.status, ran.stdout.as_str(), ran.stderr.as_str()), (0, expected, ""));
    let all = run(&[schedule, "--explain-bounds"], BLUR);
    assert!(all.stdout.contains("guard: i < 4094 (line 17)\n"), "{}", all.stdout);
    let json = run(&[schedule, "--explain-bounds=copy", "--json"], BLUR);
    let value: serde_json::Value = serde_json::from_str(&json.stdout).expect("one document");
    let stage = &value["explain-bounds"][0]["stages"][0];
    assert_eq!((&stage["shape"][0], &stage["dims"][0]["min"]), (&258.into(), &"b * 256".into()));
    assert_eq!(stage["reads"][0]["loops"][0], serde_json::json!({"loop": "B.r", "taken": "inside"}));
}

#[test]
fn what_cannot_be_explained_is_refused() {
    let ran = run(&["--pass-pipeline=schedule{name=by_hand}", "--explain-bounds=copi"], BLUR);
    assert!(ran.status == 2 && ran.stderr.contains("no stage `copi`; did you mean `copy`?"), "{}", ran.stderr);
    let ran = run(&["--pass-pipeline=simplify", "--explain-bounds"], BLUR);
    assert!(ran.status == 2 && ran.stderr.contains("a pipeline with `schedule`"), "{}", ran.stderr);
    assert_eq!(run(&["--explain-bounds"], BLUR).status, 2);
    // A schedule that is refused is refused as ever.
    let wrong = BLUR.replace("bind(t, threadIdx.x)", "bind(B.i, threadIdx.x)");
    let ran = run(&["--pass-pipeline=schedule{name=by_hand}", "--explain-bounds"], &wrong);
    assert!(ran.status == 1 && ran.stderr.contains("error[axis-consumed]"), "{}", ran.stderr);
}
