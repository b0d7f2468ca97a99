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
