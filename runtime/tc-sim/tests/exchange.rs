//! Reductions across threads and shuffles, phased and threaded.

mod common;

use common::{floats, line, only, output, parse, run_f};
use tc_ir::Module;
use tc_sim::{Arg, DiagnosticKind, RunOptions, RunReport, run};

/// `text` phased, and threaded with its warps run first to last and last to first.
fn all_ways(text: &str, args: &[Arg]) -> [(Module, RunReport); 3] {
    let threaded = text.replacen(") {", ") attributes {threaded} {", 1);
    [(text, false), (&threaded, false), (&threaded, true)].map(|(text, descending)| {
        let (module, options) = (parse(text), RunOptions { descending, ..RunOptions::default() });
        let report = run(&module, "f", args, &options).unwrap_or_else(|error| panic!("{error:?}"));
        (module, report)
    })
}

/// The first output, the same in all ways, none of which finds anything.
#[track_caller]
fn agreed(text: &str, args: &[Arg]) -> Vec<f64> {
    let [phased, threaded, descending] = all_ways(text, args).map(|(_, report)| {
        assert!(report.diagnostics.is_empty(), "{:#?}", report.diagnostics);
        output(&report, args.len() - 1)
    });
    assert_eq!(phased, threaded);
    assert_eq!(phased, descending);
    phased
}

fn numbers(n: usize) -> Vec<f64> {
    (0..n).map(|nth| ((nth * 37 + 11) % 101) as f64 - 50.0).collect()
}

#[test]
fn every_thread_gets_the_sum_of_its_group() {
    for (x, y, axes) in [(100, 1, "threadIdx.x"), (24, 4, "threadIdx.x"), (24, 4, "threadIdx.y"), (8, 3, "threadIdx.y")]
    {
        let n = x * y;
        let text = format!(
            "tir.func @f(A: f32[{n}], B: f32[{n}]) {{
               for ty in 0..{y} bind(threadIdx.y) {{
                 for tx in 0..{x} bind(threadIdx.x) {{
                   s = gpu.all_reduce(A[ty * {x} + tx], axes = [{axes}]) (a: f32, b: f32) {{
                     yield a + b
                   }}
                   B[ty * {x} + tx] = s
                 }}
               }}
             }}"
        );
        let values = numbers(n);
        let same_group = |a: usize, b: usize| if axes.ends_with('x') { a / x == b / x } else { a % x == b % x };
        let wanted: Vec<f64> =
            (0..n).map(|own| (0..n).filter(|&other| same_group(own, other)).map(|other| values[other]).sum()).collect();
        assert_eq!(agreed(&text, &[floats(&values), Arg::Output]), wanted, "{x} x {y} along {axes}");
    }
}

#[test]
fn lower_threads_stand_on_the_left() {
    let text = |result: &str| {
        format!(
            "tir.func @f(A: f32[96], B: f32[96]) {{
               for tz in 0..2 bind(threadIdx.z) {{
                 for ty in 0..3 bind(threadIdx.y) {{
                   for tx in 0..16 bind(threadIdx.x) {{
                     s = gpu.all_reduce(A[tz * 48 + ty * 16 + tx], axes = [threadIdx.z, threadIdx.x])
                       (a: f32, b: f32) {{
                       yield {result}
                     }}
                     B[tz * 48 + ty * 16 + tx] = s
                   }}
                 }}
               }}
             }}"
        )
    };
    let values: Vec<f64> = (0..96).map(f64::from).collect();
    let args = [floats(&values), Arg::Output];
    let first: Vec<f64> = (0..96).map(|own| f64::from(own % 48 / 16 * 16)).collect();
    let last: Vec<f64> = first.iter().map(|first| first + 63.0).collect();
    assert_eq!(agreed(&text("a"), &args), first);
    assert_eq!(agreed(&text("b"), &args), last);
}

#[test]
fn several_values_at_once_in_small_blocks_side_by_side() {
    let text = "tir.func @f(A: f32[512, 5], B: i32[512]) {
       for b in 0..512 bind(blockIdx.x) {
         for t in 0..5 bind(threadIdx.x) {
           top, at = gpu.all_reduce(A[b, t], cast<i32>(t), axes = [threadIdx.x]) (v: f32, i: i32, w: f32, j: i32) {
             let keep = v >= w
             yield select(keep, v, w), select(keep, i, j)
           }
           if t == 0 {
             B[b] = at
           }
         }
       }
     }";
    let values: Vec<f64> = (0..512 * 5).map(|nth| f64::from(nth * 7 % 4)).collect();
    let wanted: Vec<f64> = values
        .chunks(5)
        .map(|row| {
            let top = row.iter().copied().fold(f64::MIN, f64::max);
            row.iter().position(|&value| value == top).expect("one is the largest") as f64
        })
        .collect();
    let tensor = tc_sim::Tensor::from_f64s(tc_ir::Elem::F32, &[512, 5], &values).expect("it fits");
    assert_eq!(agreed(text, &[Arg::Input(tensor), Arg::Output]), wanted);
}

#[test]
fn warps_that_run_ahead_do_not_overwrite_what_others_still_take() {
    let text = "tir.func @f(A: f32[128], B: f32[128]) {
       for t in 0..128 bind(threadIdx.x) {
         total = for k in 0..5 carry(sum = 0.0) {
           s = gpu.all_reduce(A[t] * cast<f32>(k), axes = [threadIdx.x]) (a: f32, b: f32) {
             yield a + b
           }
           m = gpu.all_reduce(A[t] - cast<f32>(k), axes = [threadIdx.x]) (a: f32, b: f32) {
             yield max(a, b)
           }
           yield sum + s + m
         }
         B[t] = total
       }
     }";
    let values = numbers(128);
    let (sum, top): (f64, f64) = (values.iter().sum(), values.iter().copied().fold(f64::MIN, f64::max));
    let wanted = (0..5).map(|k| sum * f64::from(k) + top - f64::from(k)).sum::<f64>();
    assert_eq!(agreed(text, &[floats(&values), Arg::Output]), vec![wanted; 128]);
}

/// Threads read what their neighbours wrote, with `between` in between.
fn neighbours(between: &str) -> String {
    format!(
        "tir.func @f(A: f32[64], B: f32[64]) attributes {{threaded}} {{
           for t in 0..64 bind(threadIdx.x) {{
             alloc S: f32[64] in shared
             S[t] = A[t]
             {between}
             B[t] = S[63 - t]
           }}
         }}"
    )
}

#[test]
fn a_reduction_orders_memory_and_a_shuffle_does_not() {
    let reduction = "s = gpu.all_reduce(A[t], axes = [threadIdx.x]) (a: f32, b: f32) { yield a + b }";
    let args = [floats(&numbers(64)), Arg::Output];
    let report = run_f(&parse(&neighbours(reduction)), &args);
    assert!(report.diagnostics.is_empty(), "{:#?}", report.diagnostics);
    let module = parse(&neighbours("s = gpu.shuffle(A[t], 1, xor)"));
    let report = run_f(&module, &args);
    let race = report.diagnostics.iter().find(|found| found.kind == DiagnosticKind::Race).expect("nothing orders them");
    assert!(race.diagnostic.message.starts_with("race on `S["), "{:?}", race.diagnostic);
}

/// A reduction that only threads under `condition` reach.
fn guarded(condition: &str) -> String {
    format!(
        "tir.func @f(A: f32[64], B: f32[64]) {{
           for t in 0..64 bind(threadIdx.x) {{
             B[t] = 0.0
             if {condition} {{
               s = gpu.all_reduce(A[t], axes = [threadIdx.x]) (a: f32, b: f32) {{
                 yield a + b
               }}
               B[t] = s
             }}
           }}
         }}"
    )
}

#[test]
fn a_reduction_that_not_all_threads_reach_is_found() {
    for (condition, absent) in [("t < 16", 16), ("t < 32", 32)] {
        let reports = all_ways(&guarded(condition), &[floats(&[1.0; 64]), Arg::Output]);
        for (nth, (module, report)) in reports.into_iter().enumerate() {
            let (message, lines) = only(&module, &report, DiagnosticKind::DivergentBarrier);
            let by_warps = condition == "t < 32" && nth > 0;
            let what = if by_warps { "waits here, and" } else { "is here, and" };
            let end = if by_warps { "does not come" } else { "is not" };
            assert_eq!(
                message,
                format!("reduction across threads in divergent code: thread 0 {what} thread {absent} {end}")
            );
            assert_eq!(lines[0], 5);
        }
    }
}

/// Each lane stores what it reads by `shuffle` from `A`.
fn shuffled(n: usize, shuffle: &str) -> Vec<f64> {
    let text = format!(
        "tir.func @f(A: f32[{n}], B: f32[{n}]) {{
           for t in 0..{n} bind(threadIdx.x) {{
             v = gpu.shuffle(A[t], {shuffle})
             B[t] = v
           }}
         }}"
    );
    let values: Vec<f64> = (0..n).map(|nth| nth as f64).collect();
    agreed(&text, &[floats(&values), Arg::Output])
}

#[test]
fn shuffles_stay_within_their_groups() {
    let lanes =
        |n: usize, from: &dyn Fn(usize) -> usize| -> Vec<f64> { (0..n).map(|lane| from(lane) as f64).collect() };
    let keep = |own: usize, ok: bool, other: usize| if ok { other } else { own };
    assert_eq!(shuffled(64, "5, down"), lanes(64, &|t| keep(t, t % 32 + 5 < 32, t + 5)));
    assert_eq!(shuffled(64, "5, up"), lanes(64, &|t| keep(t, t % 32 >= 5, t.wrapping_sub(5))));
    assert_eq!(shuffled(64, "6, xor"), lanes(64, &|t| t ^ 6));
    assert_eq!(shuffled(64, "3, idx"), lanes(64, &|t| t / 32 * 32 + 3));
    assert_eq!(shuffled(64, "3, down, width = 8"), lanes(64, &|t| keep(t, t % 8 + 3 < 8, t + 3)));
    assert_eq!(shuffled(64, "3, up, width = 8"), lanes(64, &|t| keep(t, t % 8 >= 3, t.wrapping_sub(3))));
    assert_eq!(shuffled(64, "7, idx, width = 8"), lanes(64, &|t| t / 8 * 8 + 7));
    assert_eq!(shuffled(64, "31 - t % 32, idx"), lanes(64, &|t| t / 32 * 32 + 31 - t % 32));
}

#[test]
fn a_lane_that_is_not_there_gives_the_own_value() {
    let lanes = |from: &dyn Fn(usize) -> usize| -> Vec<f64> { (0..44).map(|lane| from(lane) as f64).collect() };
    let keep = |own: usize, other: usize| if other < 44 { other } else { own };
    assert_eq!(shuffled(44, "8, down"), lanes(&|t| if t % 32 + 8 < 32 { keep(t, t + 8) } else { t }));
    assert_eq!(shuffled(44, "16, xor"), lanes(&|t| keep(t, t ^ 16)));
    assert_eq!(shuffled(44, "20, idx"), lanes(&|t| keep(t, t / 32 * 32 + 20)));
}

#[test]
fn shuffles_in_small_blocks_side_by_side() {
    let text = "tir.func @f(A: f32[2560], B: f32[2560]) {
       for b in 0..512 bind(blockIdx.x) {
         for t in 0..5 bind(threadIdx.x) {
           v = gpu.shuffle(A[b * 5 + t], 1, down)
           B[b * 5 + t] = v
         }
       }
     }";
    let values: Vec<f64> = (0..2560).map(f64::from).collect();
    let wanted: Vec<f64> = (0..2560).map(|nth| f64::from(if nth % 5 < 4 { nth + 1 } else { nth })).collect();
    assert_eq!(agreed(text, &[floats(&values), Arg::Output]), wanted);
}

#[test]
fn a_shuffle_where_a_warp_has_parted_is_found() {
    let text = "tir.func @f(A: f32[64], B: f32[64]) {
       for t in 0..64 bind(threadIdx.x) {
         B[t] = 0.0
         if t < 40 {
           v = gpu.shuffle(A[t], 1, xor)
           B[t] = v
         }
       }
     }";
    for (module, report) in all_ways(text, &[floats(&[1.0; 64]), Arg::Output]) {
        let (message, lines) = only(&module, &report, DiagnosticKind::DivergentShuffle);
        assert_eq!(message, "shuffle in divergent code: thread 32 is here, and thread 40 of its warp is not");
        assert_eq!(lines, [5, 4]);
    }
    // Whole warps may stay away.
    let whole = text.replace("t < 40", "t < 32");
    for (_, report) in all_ways(&whole, &[floats(&[1.0; 64]), Arg::Output]) {
        assert!(report.diagnostics.is_empty(), "{:#?}", report.diagnostics);
    }
}

#[test]
fn a_lane_outside_its_group_is_found() {
    let text = "tir.func @f(A: f32[32], B: f32[32]) {
       for t in 0..32 bind(threadIdx.x) {
         v = gpu.shuffle(A[t], t + 3, idx)
         B[t] = v
       }
     }";
    for (module, report) in all_ways(text, &[floats(&[1.0; 32]), Arg::Output]) {
        let found = report.diagnostics.iter().find(|found| found.kind == DiagnosticKind::Arithmetic).expect("one");
        assert_eq!(
            found.diagnostic.message,
            "a shuffle by 32 within groups of 32 lanes, outside 0 to 31, in thread 29"
        );
        assert_eq!((line(&module, &found.diagnostic.location), found.count), (3, 3));
    }
}

/// The sum of 32 threads by a reduction, less that by shuffles of which the last goes `last` lanes far.
fn difference(last: u32) -> String {
    let mut text = "tir.func @f(A: f32[32], B: f32[32]) {
       for t in 0..32 bind(threadIdx.x) {
         total = gpu.all_reduce(A[t], axes = [threadIdx.x]) (a: f32, b: f32) {
           yield a + b
         }
         let s0 = A[t]
"
    .to_string();
    for (nth, bit) in [16, 8, 4, 2, last].into_iter().enumerate() {
        text += &format!("let s{} = s{nth} + gpu.shuffle(s{nth}, {bit}, xor)\n", nth + 1);
    }
    text + "B[t] = total - s5\n}\n}"
}

#[test]
fn rounding_is_told_from_error_where_threads_exchange_values() {
    let zero = "tir.func @f(A: f32[32], B: f32[32]) {
       for t in 0..32 bind(threadIdx.x) {
         B[t] = A[t] - A[t]
       }
     }";
    let agree = |before: &str, after: &str| {
        tc_sim::agree(&parse(before), &parse(after), "f", &tc_sim::CheckOptions::default()).expect("both run")
    };
    // The two sums are rounded differently, and what is left is nothing next to what was summed.
    let report = agree(&difference(1), &difference(1).replace("total - s5", "s5 - total"));
    assert!(report.agrees(), "{report}");
    let report = agree(&difference(1), zero);
    assert!(report.agrees(), "{report}");
    // Half of the values twice is something else.
    let report = agree(&difference(2), zero);
    assert!(!report.agrees(), "{report}");
}
