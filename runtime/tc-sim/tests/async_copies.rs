//! Asynchronous copies: poison until the wait, a barrier after it for others, and what is wrong with them.

mod common;

use common::{floats, lines, only, output, parse, run_f};
use tc_sim::{Arg, DiagnosticKind, RunOptions, run};

/// Two warps reverse their input by way of shared memory, 8 bytes a thread.
const REVERSE: &str = "tir.func @f(A: f32[128], B: f32[128]) {
  alloc S: f32[128] in shared
  for tx in 0..64 bind(threadIdx.x) {
    gpu.copy_async(&S[tx * 2 : 2], &A[tx * 2 : 2])
    gpu.commit_group()
    gpu.wait_group(pending = 0)
    gpu.barrier(shared)
    B[tx] = S[127 - tx]
    B[64 + tx] = S[63 - tx]
  }
}";

fn threaded(text: &str) -> String {
    text.replacen(") {", ") attributes {threaded} {", 1)
}

fn args() -> [Arg; 2] {
    let values: Vec<f64> = (0..128).map(f64::from).collect();
    [floats(&values), Arg::Output]
}

#[test]
fn what_was_copied_is_there_after_the_wait() {
    let wanted: Vec<f64> = (0..128).rev().map(f64::from).collect();
    let pieces = REVERSE.replace("for tx in 0..64", "for tx in 0..32");
    let pieces = pieces
        .replace("tx * 2 : 2", "tx * 4 : 4")
        .replace("B[tx] = S[127 - tx]", "B[tx] = S[127 - tx]\n B[96 + tx] = S[31 - tx]\n B[32 + tx] = S[95 - tx]");
    for text in [REVERSE, &threaded(REVERSE), &pieces, &threaded(&pieces)] {
        let report = run_f(&parse(text), &args());
        assert!(report.diagnostics.is_empty(), "{:#?}", report.diagnostics);
        assert_eq!(output(&report, 1), wanted);
    }
}

#[test]
fn where_the_condition_fails_zeros_are_written_and_nothing_is_read() {
    for text in [REVERSE, &threaded(REVERSE)] {
        let text = text.replace("&A[tx * 2 : 2])", "&A[tx * 2 + 64 : 2], when = tx * 2 + 64 < 128)");
        let report = run_f(&parse(&text), &args());
        assert!(report.diagnostics.is_empty(), "{:#?}", report.diagnostics);
        let wanted: Vec<f64> = (0..128).rev().map(|nth| if nth < 64 { f64::from(nth) + 64.0 } else { 0.0 }).collect();
        assert_eq!(output(&report, 1), wanted);
    }
}

/// What is found when `from` is replaced, the message and the lines; threaded both ways round.
#[track_caller]
fn found(from: &str, to: &str, kind: DiagnosticKind) -> Vec<(String, Vec<u32>)> {
    let changed = REVERSE.replacen(from, to, 1);
    assert_ne!(changed, REVERSE);
    let ways = [(changed.clone(), false), (threaded(&changed), false), (threaded(&changed), true)];
    let run_one = |(text, descending): (String, bool)| {
        let module = parse(&text);
        let options = RunOptions { descending, ..RunOptions::default() };
        let report = run(&module, "f", &args(), &options).unwrap_or_else(|error| panic!("{error:?}"));
        only(&module, &report, kind)
    };
    ways.into_iter().map(run_one).collect()
}

#[test]
fn a_missing_wait_is_found() {
    // No thread waits, or the wait is for older groups, or the copies belong to none.
    for (from, to) in
        [("gpu.wait_group(pending = 0)\n", "\n"), ("pending = 0", "pending = 1"), ("gpu.commit_group()\n", "\n")]
    {
        for (message, lines) in found(from, to, DiagnosticKind::CopyOutstanding) {
            assert!(message.ends_with("while an asynchronous copy to it is outstanding"), "{message}");
            assert_eq!(lines, [8, 4]);
        }
    }
    for (message, lines) in found("gpu.wait_group", "S[tx * 2] = 0.0\ngpu.wait_group", DiagnosticKind::CopyOutstanding)
    {
        assert!(message.starts_with("thread") && message.contains("writes `S["), "{message}");
        assert_eq!(lines, [6, 4]);
    }
}

#[test]
fn other_threads_need_a_barrier_after_the_wait() {
    for text in ["    gpu.wait_group(pending = 0)\n    gpu.barrier(shared)\n", "    gpu.barrier(shared)\n"] {
        let swapped = match text.contains("wait") {
            true => "    gpu.barrier(shared)\n    gpu.wait_group(pending = 0)\n",
            false => "",
        };
        for descending in [false, true] {
            let module = parse(&threaded(REVERSE).replace(text, swapped));
            let options = RunOptions { descending, ..RunOptions::default() };
            let report = run(&module, "f", &args(), &options).unwrap_or_else(|error| panic!("{error:?}"));
            // Which of the two is met first depends on the order of the warps: both are true.
            let kinds = [DiagnosticKind::Race, DiagnosticKind::CopyOutstanding];
            let found = report.diagnostics.iter().find(|found| kinds.contains(&found.kind));
            let found = found.unwrap_or_else(|| panic!("{:#?}", report.diagnostics));
            let mut lines = lines(&module, &found.diagnostic);
            lines.sort_unstable();
            assert_eq!(lines[0], 4);
        }
    }
    // Within a warp as well.
    let one = threaded(REVERSE).replace("0..64", "0..32").replace("    gpu.barrier(shared)\n", "");
    let one = one.replace("S[127 - tx]", "S[63 - tx]").replace("    B[64 + tx] = S[63 - tx]\n", "");
    let module = parse(&one);
    let report = run_f(&module, &args());
    assert!(report.diagnostics.count(DiagnosticKind::Race) > 0, "{:#?}", report.diagnostics);
}

#[test]
fn a_copy_into_what_others_still_read_is_a_race() {
    let text = threaded(REVERSE).replace(
        "  }\n}",
        "    gpu.copy_async(&S[tx * 2 : 2], &A[tx * 2 : 2])
    gpu.commit_group()
    gpu.wait_group(pending = 0)
  }
}",
    );
    let module = parse(&text);
    let (message, lines) = only(&module, &run_f(&module, &args()), DiagnosticKind::Race);
    assert!(message.starts_with("race on `S["), "{message}");
    assert!(lines.contains(&10), "{lines:?}");
}

#[test]
fn groups_are_waited_for_from_the_oldest_on() {
    let text = "tir.func @f(A: f32[64], B: f32[64]) {
      alloc S: f32[64] in shared
      for tx in 0..32 bind(threadIdx.x) {
        gpu.copy_async(&S[tx : 1], &A[tx : 1])
        gpu.commit_group()
        gpu.copy_async(&S[32 + tx : 1], &A[32 + tx : 1])
        gpu.commit_group()
        gpu.wait_group(pending = 1)
        B[tx] = S[tx]
        gpu.wait_group(pending = 0)
        B[32 + tx] = S[32 + tx]
      }
    }";
    let values: Vec<f64> = (0..64).map(f64::from).collect();
    for text in [text.to_string(), threaded(text)] {
        let report = run_f(&parse(&text), &[floats(&values), Arg::Output]);
        assert!(report.diagnostics.is_empty(), "{:#?}", report.diagnostics);
        assert_eq!(output(&report, 1), values);
        let early = text.replace("pending = 1", "pending = 2");
        let module = parse(&early);
        let (_, lines) =
            only(&module, &run_f(&module, &[floats(&values), Arg::Output]), DiagnosticKind::CopyOutstanding);
        assert_eq!(lines, [9, 4]);
    }
}

#[test]
fn what_is_copied_from_stays_as_it_is() {
    let text = "tir.func @f(A: f32[64]) {
      alloc S: f32[32] in shared
      for tx in 0..32 bind(threadIdx.x) {
        gpu.copy_async(&S[tx], &A[tx])
        gpu.commit_group()
        A[tx] = 1.0
        gpu.wait_group(pending = 0)
        A[32 + tx] = S[tx]
      }
    }";
    let values: Vec<f64> = (0..64).map(f64::from).collect();
    for text in [text.to_string(), threaded(text)] {
        let module = parse(&text);
        let (message, lines) = only(&module, &run_f(&module, &[floats(&values)]), DiagnosticKind::CopyOutstanding);
        assert!(message.ends_with("writes `A[0]` while an asynchronous copy from it is outstanding"), "{message}");
        assert_eq!(lines, [6, 4]);
        let late = text.replace("        A[tx] = 1.0\n", "").replace("A[32 + tx]", "A[tx] = 1.0\nA[32 + tx]");
        assert!(run_f(&parse(&late), &[floats(&values)]).diagnostics.is_empty());
    }
}

#[test]
fn both_ends_are_aligned_to_the_size_and_inside() {
    let odd = REVERSE.replace("&S[tx * 2 : 2]", "&S[tx * 2 + 1 : 2]").replace("f32[128] in", "f32[130] in");
    let odd = odd.replace("S[127 - tx]", "S[128 - tx]").replace("S[63 - tx]", "S[64 - tx]");
    for text in [odd.clone(), threaded(&odd)] {
        let module = parse(&text);
        let (message, _) = only(&module, &run_f(&module, &args()), DiagnosticKind::Misaligned);
        assert_eq!(message, "thread 0 accesses `S[1]` at byte 4, which is no multiple of 8");
    }
    for (message, _) in found("&A[tx * 2 : 2]", "&A[tx + 1 : 2]", DiagnosticKind::Misaligned) {
        assert!(message.contains("accesses `A["), "{message}");
    }
    for (message, _) in found("&A[tx * 2 : 2]", "&A[tx * 2 + 2 : 2]", DiagnosticKind::OutOfBounds) {
        assert_eq!(message, "thread 63 reads [2] elements from `A[128]` on, out of bounds");
    }
}

#[test]
fn copies_that_no_thread_waits_for_are_remarked() {
    let text = REVERSE.replacen("  }\n}", "    gpu.copy_async(&S[tx * 2 : 2], &A[tx * 2 : 2])\n  }\n}", 1);
    let report = run_f(&parse(&text), &args());
    assert!(!report.diagnostics.has_errors(), "{:#?}", report.diagnostics);
    assert_eq!(report.diagnostics.count(DiagnosticKind::NotAwaited), 64);
}

#[test]
fn copies_land_in_views() {
    let text = REVERSE.replace(
        "  alloc S: f32[128] in shared\n",
        "  alloc R: i8[1024] in shared\n  S = tir.view(R, 512) : f32[128] in shared\n",
    );
    for text in [text.clone(), threaded(&text)] {
        let module = parse(&text);
        let report = run_f(&module, &args());
        assert!(report.diagnostics.is_empty(), "{:#?}", report.diagnostics);
        assert_eq!(output(&report, 1)[0], 127.0);
        let late = parse(&text.replace("    gpu.wait_group(pending = 0)\n", ""));
        only(&late, &run_f(&late, &args()), DiagnosticKind::CopyOutstanding);
    }
}
