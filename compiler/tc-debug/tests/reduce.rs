//! Texts made small, with closures that say what is interesting.

use std::sync::atomic::{AtomicU64, Ordering};
use tc_debug::reduce::{NotReduced, Options, Progress, reduce};
use tc_debug::{Reduced, Reproducer};

fn run(text: &str, threads: usize, ask: impl Fn(&str) -> bool + Sync) -> Result<Reduced, NotReduced> {
    let options = Options {
        threads,
        registry: tc_dialects::shared_registry(),
        allow_unknown_ops: false,
        watch: &mut |_: &Progress, _: &str| Ok(()),
    };
    reduce(text, options, &|text: &str| Ok(ask(text)))
}

fn reduced(text: &str, ask: impl Fn(&str) -> bool + Sync) -> String {
    run(text, 1, ask).expect("it is interesting").text
}

/// A program of many ops in which one is `erf`.
fn large() -> String {
    let mut text = "tir 1\n\ntir.func @other(X: f32[64]) {\n  X[0] = 1.0\n}\n".to_string();
    text += "\ntir.func @large(first: f32[64, 128], second: f32[64, 128], output: f32[64, 128]) {\n";
    for nth in 0..30 {
        text += &format!("  for row in 0..64 {{\n    for column{nth} in 0..128 {{\n");
        text += &format!("      let sum = first[row, column{nth}] + second[row, column{nth}] * {nth}.5\n");
        text += "      if row < 32 {\n";
        let value = if nth == 17 { "erf(sum - 2.0)" } else { "exp(sum - 2.0)" };
        text += &format!("        output[row, column{nth}] = {value} + sum\n      }}\n    }}\n  }}\n");
    }
    text + "}\n"
}

#[test]
fn an_op_among_hundreds_is_left_alone() {
    let text = reduced(&large(), |text| text.contains("erf("));
    assert_eq!(text, "tir.func @a(b: f32[1, 1]) {\n  b[0, 0] = erf(0.0)\n}\n");
}

#[test]
fn any_number_of_threads_gives_the_same() {
    let ask = |text: &str| text.contains("erf(") && text.contains("for ");
    let one = run(&large(), 1, ask).expect("it is interesting");
    for threads in [2, 3, 8] {
        assert_eq!(run(&large(), threads, ask).expect("it is interesting").text, one.text);
    }
    assert!(one.before.ops.is_some_and(|n| n > 300) && one.after.ops.is_some_and(|n| n < 10), "{one:?}");
}

#[test]
fn everything_that_is_asked_about_reads_and_verifies() {
    let registry = tc_dialects::shared_registry();
    let asked = AtomicU64::new(0);
    let ask = |text: &str| {
        asked.fetch_add(1, Ordering::Relaxed);
        let (module, found) = tc_syntax::parse_module("x", text, &registry, &Default::default());
        assert!(!found.has_errors(), "{text}");
        assert!(module.items.iter().all(|item| tc_ir::verify::verify(item).is_empty()), "{text}");
        text.contains("if ") && text.contains("* ")
    };
    let end = run(&large(), 1, ask).expect("it is interesting");
    assert_eq!(end.asked, asked.into_inner());
    // Nothing can be taken from what is left.
    let again = run(&end.text, 1, |text| text.contains("if ") && text.contains("* ")).expect("it is interesting");
    assert_eq!(again.text, end.text);
}

const OPERATOR: &str = "\
te.func @matmul<m: 1..65536 = 1024, n: 1..65536 = 512, k = 256>(A: f32[m, k], B: f32[k, n]) -> f32[m, n], f32[m, n] {
  compute C[i: m, j: n] = sum[r: k](A[i, r] * B[r, j])
  compute D[i: m, j: n] = max(C[i, j], 0.0)
  return C, D
}

schedule @tuned for @matmul (tile: i32 in [8, 16]) {
  local_copy = cache_write(C, local)
  outer_i, inner_i = split(D.i, factor = 64)
  outer_j, inner_j = split(D.j, factor = 64)
  reorder(outer_i, outer_j, inner_i, inner_j)
  bind(outer_i, blockIdx.x)
  bind(inner_i, threadIdx.x)
  compute_at(local_copy, inner_j)
  unroll(local_copy.r)
}
";

#[test]
fn schedules_lose_directives_and_operators_lose_stages() {
    let text = reduced(OPERATOR, |text| text.contains("bind(") && text.contains("blockIdx.x"));
    let lines = text.lines().filter(|line| !line.is_empty()).count();
    assert!(lines <= 9, "{text}");
    assert!(!text.contains("split") && !text.contains("unroll") && !text.contains("cache_write"), "{text}");
    let text = reduced(OPERATOR, |text| text.contains("sum[") && text.contains("te.func"));
    assert!(!text.contains("schedule") && !text.contains("max") && !text.contains('<'), "{text}");
}

#[test]
fn a_reproducer_loses_passes_too() {
    let reproducer = Reproducer {
        pipeline: "module(schedule{name=tuned},tir.func(simplify,cse{a=1},dce),inline)".into(),
        target: "sm_80".into(),
        program: large(),
        ..Reproducer::default()
    };
    let ask = |text: &str| text.contains("cse") && text.contains("second");
    let end = run(&reproducer.to_string(), 2, ask).expect("it is interesting");
    let small = Reproducer::parse("r.tir", &end.text).map_err(|(wrong, _)| wrong).expect("a reproducer");
    assert_eq!(small.pipeline, "module(tir.func(cse{a=1}))");
    assert_eq!((end.before.passes, end.after.passes), (5, 1));
    assert_eq!(small.program, "tir.func @a(second: f32) {\n}\n");
}

#[test]
fn a_text_that_does_not_read_is_made_small_as_text() {
    let broken = format!("{}\ntir.func @broken(A: f32[8]) {{\n  A[0] = = 3.0\n}}\n", large());
    let text = reduced(&broken, |text| text.contains("= ="));
    assert_eq!(text.trim(), "= =");
    // Nonsense too, and signs that are no letters.
    assert_eq!(reduced("\u{0}§ \"é\n(((", |text| text.contains('§')).trim(), "§");
}

#[test]
fn what_is_boring_is_refused() {
    assert_eq!(run("tir 1\n", 1, |_| false).err(), Some(NotReduced::NotInteresting));
    let wrong = run("// tc-reproducer: colour = red\ntir 1\n", 1, |_| true).err();
    assert!(matches!(&wrong, Some(NotReduced::Head(text)) if text.contains("colour")), "{wrong:?}");
    // What is always interesting becomes nothing, and that ends.
    assert_eq!(reduced(&large(), |_| true), "");
}

#[test]
fn the_best_so_far_is_handed_out_and_an_end_keeps_it() {
    let mut seen = Vec::new();
    let mut watch = |progress: &Progress, text: &str| {
        if progress.better {
            seen.push(text.to_string());
        }
        if seen.len() == 3 { Err("the disk is full".to_string()) } else { Ok(()) }
    };
    let registry = tc_dialects::shared_registry();
    let options = Options { threads: 1, registry, allow_unknown_ops: false, watch: &mut watch };
    let end = reduce(&large(), options, &|text: &str| Ok(text.contains("erf("))).expect("it is interesting");
    assert_eq!(end.stopped.as_deref(), Some("the disk is full"));
    assert_eq!(Some(&end.text), seen.last());
    assert_eq!(seen.len(), 3);
}
