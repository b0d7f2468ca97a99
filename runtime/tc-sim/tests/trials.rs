//! The sizes that programs are tried at.

mod common;

use common::parse;
use tc_sim::{Sizes, sizes_to_try};

fn trials(text: &str, given: &[(&str, i64)]) -> Vec<String> {
    let module = parse(text);
    let given: Sizes = given.iter().map(|&(name, value)| (name.to_string(), value)).collect();
    let show = |sizes: Sizes| sizes.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ");
    sizes_to_try(&module, "f", &given).into_iter().map(show).collect()
}

#[test]
fn sizes_next_to_tiles_come_first() {
    let text = "tir.func @f<n: 1..1000 = 500>(A: f32[n]) {
  for io in 0..(n + 15) / 16 bind(blockIdx.x) {
    for ii in 0..16 bind(threadIdx.x) {
      if io * 16 + ii < n {
        A[io * 16 + ii] = 0.0
      }
    }
  }
}";
    assert_eq!(trials(text, &[]), ["n=35", "n=16", "n=15", "n=17", "n=1", "n=500"]);
    assert_eq!(trials(text, &[("n", 7)]), ["n=7"]);
}

#[test]
fn ranges_and_facts_hold() {
    let text = "tir.func @f<n: 1..1000, m: 3..5>(A: f32[n]) where n % 4 == 0 {\n}";
    for trial in trials(text, &[]) {
        let (m, n) = trial.split_once(' ').expect("two sizes");
        assert!(["m=3", "m=4"].contains(&m), "{trial}");
        let n: i64 = n.trim_start_matches("n=").parse().expect("a number");
        assert_eq!(n % 4, 0, "{trial}");
    }
    assert!(trials("tir.func @f<n: 1..1000>(A: f32[n]) where n < 0 {\n}", &[]).is_empty());
}

/// Two programs, and `@f`, which chooses by `condition`.
fn choosing(condition: &str) -> String {
    let program = |name: &str, add: &str| {
        format!(
            "tir.func @{name}<n: 1..100000>(A: f32[n]) {{\n  for b in 0..n bind(blockIdx.x) {{\n    A[b] = {add}\n  }}\n}}\n"
        )
    };
    let (one, two) = (program("one", "1.0"), program("two", "2.0"));
    format!(
        "{one}{two}tir.func @f<n: 1..100000>(A: f32[n]) {{\n  if {condition} {{\n    @one(A)\n  }} else {{\n    @two(A)\n  }}\n}}\n"
    )
}

#[test]
fn borders_are_tried_on_both_sides_and_branches_are_reached() {
    let of = |condition: &str| trials(&choosing(condition), &[]);
    let has = |found: &[String], wanted: &[&str]| wanted.iter().all(|size| found.iter().any(|trial| trial == size));
    assert!(has(&of("n <= 300"), &["n=299", "n=300", "n=301"]));
    // 256 is the least that is above 200 and that 64 divides.
    assert!(has(&of("n % 64 == 0 && n > 200"), &["n=256"]), "{:?}", of("n % 64 == 0 && n > 200"));
    assert!(has(&of("n * n > 400000"), &["n=1024"]), "{:?}", of("n * n > 400000"));
    // With a value there is nothing to choose.
    assert_eq!(trials(&choosing("n <= 300"), &[("n", 7)]), ["n=7"]);
}

#[test]
fn a_branch_that_no_trial_takes_is_told_with_sizes_that_do() {
    let told = |condition: &str, given: &[(&str, i64)]| {
        let module = parse(&choosing(condition));
        let given: Sizes = given.iter().map(|&(name, value)| (name.to_string(), value)).collect();
        let found = tc_sim::plan(&module, "f", &given).unreached;
        found.into_iter().map(|branch| branch.sizes.map(|sizes| sizes["n"])).collect::<Vec<_>>()
    };
    assert_eq!(told("n <= 300", &[]), []);
    assert_eq!(told("n <= 5000", &[]), [Some(5001)]);
    assert_eq!(told("n <= 5000", &[("n", 7)]), []);
    // No size comes there at all.
    assert_eq!(told("n < 1", &[]), [None]);
}
