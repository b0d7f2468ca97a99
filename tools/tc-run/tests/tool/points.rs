//! Points of search spaces: checked by sample, and defined by hand.

struct Ran {
    status: u8,
    stdout: String,
    stderr: String,
}

fn run(args: &[&str], text: &str) -> Ran {
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let args = ["tc-run", "-"].iter().chain(args).map(Into::into);
    let mut input = text.as_bytes();
    let io = tc_run::Io::plain(&mut input, &mut stdout, &mut stderr);
    let status = tc_run::run(args, io);
    let text = |bytes| String::from_utf8(bytes).expect("the tool writes UTF-8");
    Ran { status, stdout: text(stdout), stderr: text(stderr) }
}

const SPACE: &str = "te.func @f<n = 96>(A: f32[n]) -> f32[n] {
  compute B[i: n] = A[i] + 1.0
  return B
}
schedule @s for @f (block: i32 in [16, 32, 2048], inner: i32 in divisors(block), c: bool in [true, false])
    where block * inner <= 2048, c || inner > 1 {
  bx, t = split(B.i, factor = block)
  tx, ti = split(t, factor = inner)
  bind(bx, blockIdx.x)
  bind(tx, threadIdx.x)
  if c {
    unroll(ti)
  }
}
schedule @fixed for @f {
  bind(B.i, threadIdx.x)
}
";

/// The cases of a table.
fn cases(ran: &Ran) -> Vec<String> {
    let rows = ran.stdout.lines().skip(2).take_while(|line| !line.is_empty());
    rows.map(|row| row.split("  ").next().unwrap_or("").to_string()).collect()
}

#[test]
fn points_that_the_seed_chooses_are_checked() {
    let ran = run(&["--check", "--points", "6"], SPACE);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{}", ran.stdout);
    let first = cases(&ran);
    assert_eq!(first.len(), 7, "{}", ran.stdout);
    assert!(first[..6].iter().all(|case| case.starts_with("f @s block=")), "{first:?}");
    // 2048 threads in a block are none of them: no target has so many.
    assert!(first.iter().all(|case| !case.contains("block=2048 inner=1 ")), "{first:?}");
    assert_eq!(first[6], "f @fixed");
    let mut different = first[..6].to_vec();
    different.dedup();
    assert_eq!(different.len(), 6);
    assert_eq!(cases(&run(&["--check", "--points", "6"], SPACE)), first);
    assert_ne!(cases(&run(&["--check", "--points", "6", "--seed", "1"], SPACE)), first);
}

#[test]
fn more_points_than_there_are_is_all_of_them() {
    let ran = run(&["--check", "--points", "100", "--schedule", "@s", "-D", "block=16"], SPACE);
    // Divisors 1 to 16 of 16, each unrolled or not, but for the last of which `c` must hold.
    assert_eq!((ran.status, cases(&ran).len()), (0, 9), "{}", ran.stdout);
    assert!(ran.stdout.contains("9 of 9 cases are right"), "{}", ran.stdout);
}

#[test]
fn a_space_without_a_valid_point_is_refused() {
    let none = SPACE.replace("[16, 32, 2048]", "[2048]").replace("divisors(block)", "[1]");
    let ran = run(&["--check", "--points", "3", "--schedule=s"], &none);
    assert_eq!(ran.status, 1);
    assert!(ran.stdout.contains("no point of `@s` that was drawn is valid on sm_80"), "{}", ran.stdout);
    assert!(ran.stdout.contains("threads 2048 > 1024"), "{}", ran.stdout);
}

#[test]
fn wrong_values_are_refused_with_the_reason() {
    let cases: &[(&[&str], &str)] = &[
        (&["-D", "block=17"], "`block` cannot be 17"),
        (&["-D", "block=17"], "its choices are 16, 32 and 2048"),
        (&["-D", "block=16", "-D", "inner=3"], "`inner` cannot be 3 with block = 16"),
        (
            &["-D", "block=32", "-D", "inner=1", "-D", "c=false"],
            "`c || inner > 1` does not hold with block = 32, inner = 1, c = false",
        ),
        (
            &["-D", "inner=2048"],
            "no values of the other parameters of `@s` satisfy `block * inner <= 2048` with inner = 2048",
        ),
        (&["-D", "c=2"], "`c` cannot be 2"),
    ];
    for (defines, message) in cases {
        let args: Vec<&str> = ["--check", "--schedule=s"].iter().chain(*defines).copied().collect();
        let ran = run(&args, SPACE);
        assert_eq!(ran.status, 1, "{defines:?}: {}", ran.stdout);
        assert!(ran.stdout.contains(message), "{defines:?}: {}", ran.stdout);
    }
    for (define, message) in [("blok=16", "did you mean `block`?"), ("block=x", "NAME=VALUE")] {
        let ran = run(&["--check", "-D", define], SPACE);
        assert_eq!(ran.status, 2, "{}", ran.stdout);
        assert!(ran.stderr.contains(message), "{}", ran.stderr);
    }
    assert_eq!(run(&["--check", "--points", "0"], SPACE).status, 2);
}
