//! `thread-sync`: a barrier where one is needed, none where it is not, and never in divergent control.

use crate::{becomes, parse, refuses, run, run_on};
use tc_pass::PassCx;
use tc_sim::{CheckOptions, agree};

/// The body of a launch nest of one block, before and after.
#[track_caller]
fn syncs(threads: &str, before: &str, after: &str) {
    let nest = |body: &str, attrs: &str| {
        let open: Vec<&str> = threads.split(' ').collect();
        let loops: Vec<String> = open
            .iter()
            .map(|entry| {
                let (dim, extent) = entry.split_once('=').expect("a dimension and its extent");
                format!("for t{dim} in 0..{extent} bind(threadIdx.{dim}) {{\n")
            })
            .collect();
        let allocs = "alloc S: f32[1024] in shared\nalloc L: f32[1] in local\n";
        let loops = loops.join("").replacen("{\n", &format!("{{\n{allocs}"), 1);
        format!(
            "tir.func @f(A: f32[1024], B: f32[1024]) attributes {{noalias{attrs}}} {{
              {loops}
              {body}
              {}
            }}",
            "}".repeat(open.len())
        )
    };
    becomes("thread-sync", &nest(before, ""), &nest(after, ", threaded"));
}

#[test]
fn a_copy_that_all_threads_make_is_fenced_on_both_sides() {
    syncs(
        "x=32",
        "for ro in 0..4 {
          for ax0 in 0..8 {
            S[ax0] = B[ro * 8 + ax0]
          }
          for ri in 0..8 {
            L[0] = L[0] + A[tx + ri] * S[ri]
          }
        }",
        "for ro in 0..4 {
          gpu.barrier(shared)
          for ax0 in 0..8 {
            S[ax0] = B[ro * 8 + ax0]
          }
          gpu.barrier(shared)
          for ri in 0..8 {
            L[0] = L[0] + A[tx + ri] * S[ri]
          }
        }",
    );
}

#[test]
fn what_a_thread_keeps_to_itself_needs_no_barrier() {
    syncs(
        "y=4 x=32",
        "S[ty * 32 + tx] = A[ty * 32 + tx]\nB[ty * 32 + tx] = S[ty * 32 + tx]",
        "S[ty * 32 + tx] = A[ty * 32 + tx]\nB[ty * 32 + tx] = S[ty * 32 + tx]",
    );
    syncs(
        "x=32",
        "for k in 0..4 {\nS[tx * 4 + k] = A[tx]\nB[tx] = S[tx * 4 + k]\n}",
        "for k in 0..4 {\nS[tx * 4 + k] = A[tx]\nB[tx] = S[tx * 4 + k]\n}",
    );
    // Quotient and remainder of a coordinate together tell which thread it is.
    syncs(
        "x=32",
        "S[tx / 8 * 64 + tx % 8] = A[tx]\nB[tx] = S[tx / 8 * 64 + tx % 8]",
        "S[tx / 8 * 64 + tx % 8] = A[tx]\nB[tx] = S[tx / 8 * 64 + tx % 8]",
    );
}

/// The reference compares the innermost coordinate only and would leave this one out.
#[test]
fn one_coordinate_of_two_does_not_tell_a_thread() {
    syncs(
        "y=4 x=32",
        "if ty == 0 {
          S[tx] = A[tx]
        }
        B[ty * 32 + tx] = S[tx]",
        "if ty == 0 {
          S[tx] = A[tx]
        }
        gpu.barrier(shared)
        B[ty * 32 + tx] = S[tx]",
    );
}

#[test]
fn an_index_that_overlaps_its_neighbour_is_no_thread_of_its_own() {
    syncs(
        "y=4 x=32",
        "S[ty * 16 + tx] = A[tx]\nB[tx] = S[ty * 16 + tx]",
        "S[ty * 16 + tx] = A[tx]\ngpu.barrier(shared)\nB[tx] = S[ty * 16 + tx]",
    );
}

#[test]
fn a_read_and_a_write_of_one_statement_are_kept_apart() {
    syncs("x=32", "S[tx] = S[31 - tx]", "let $1 = S[31 - tx]\ngpu.barrier(shared)\nS[tx] = $1");
}

#[test]
fn a_conflict_with_the_next_iteration_is_found() {
    syncs(
        "x=32",
        "S[tx] = 0.0
        for k in 0..4 {
          B[tx] = S[(tx + k) % 32]
          gpu.barrier(shared)
          S[tx] = A[k]
        }",
        "S[tx] = 0.0
        for k in 0..4 {
          gpu.barrier(shared)
          B[tx] = S[(tx + k) % 32]
          gpu.barrier(shared)
          S[tx] = A[k]
        }",
    );
}

#[test]
fn two_halves_of_a_buffer_do_not_overlap() {
    syncs("x=32", "S[tx] = A[tx]\nB[tx] = S[63 - tx]", "S[tx] = A[tx]\nB[tx] = S[63 - tx]");
    syncs("x=32", "S[2 * tx] = A[tx]\nB[tx] = S[63 - 2 * tx]", "S[2 * tx] = A[tx]\nB[tx] = S[63 - 2 * tx]");
}

#[test]
fn a_uniform_condition_may_hold_a_barrier_and_a_divergent_one_may_not() {
    syncs(
        "x=32",
        "for k in 0..4 {
          if k < 2 {
            S[tx] = A[tx]
            B[tx] = S[31 - tx]
          }
        }",
        "for k in 0..4 {
          gpu.barrier(shared)
          if k < 2 {
            S[tx] = A[tx]
            gpu.barrier(shared)
            B[tx] = S[31 - tx]
          }
        }",
    );
    refuses(
        "thread-sync",
        "tir.func @f(A: f32[32], B: f32[32]) {
          for tx in 0..32 bind(threadIdx.x) {
            alloc S: f32[32] in shared
            if tx < 16 {
              S[tx] = A[tx]
              B[tx] = S[15 - tx]
            }
          }
        }",
        "under a condition that differs between threads",
    );
}

#[test]
fn coordinates_that_two_loops_name_are_one() {
    syncs(
        "y=4",
        "for k in 0..4 {
          for tx in 0..32 bind(threadIdx.x) {
            S[ty * 32 + tx] = A[k]
          }
          for u in 0..32 bind(threadIdx.x) {
            B[ty * 32 + u] = S[ty * 32 + u]
          }
        }",
        "for k in 0..4 {
          for tx in 0..32 bind(threadIdx.x) {
            S[ty * 32 + tx] = A[k]
          }
          for u in 0..32 bind(threadIdx.x) {
            B[ty * 32 + u] = S[ty * 32 + u]
          }
        }",
    );
}

#[test]
fn threads_conflict_in_global_memory_too() {
    becomes(
        "thread-sync",
        "tir.func @f(A: f32[32], B: f32[32]) attributes {noalias} {
          for tx in 0..32 bind(threadIdx.x) {
            A[tx] = 1.0
            B[tx] = A[31 - tx]
          }
        }",
        "tir.func @f(A: f32[32], B: f32[32]) attributes {noalias, threaded} {
          for tx in 0..32 bind(threadIdx.x) {
            A[tx] = 1.0
            gpu.barrier(global)
            B[tx] = A[31 - tx]
          }
        }",
    );
}

/// A barrier over shared memory orders nothing else; one over global memory orders both.
#[test]
fn one_barrier_over_global_memory_does_for_both() {
    let program = |first: &str, second: &str, threaded: &str| {
        format!(
            "tir.func @f(A: f32[64], B: f32[32]) attributes {{noalias{threaded}}} {{
              for tx in 0..32 bind(threadIdx.x) {{
                alloc S: f32[32] in shared
                for k in 0..2 {{
                  {second}
                  S[tx] = B[tx]
                  A[tx] = B[tx]
                  {first}
                  B[tx] = S[31 - tx] + A[31 - tx]
                }}
              }}
            }}"
        )
    };
    becomes("thread-sync", &program("", "", ""), &program("gpu.barrier(global)", "gpu.barrier(global)", ", threaded"));
    // A barrier that is there but orders shared memory only does not do.
    becomes(
        "thread-sync",
        &program("gpu.barrier(shared)", "gpu.barrier(global)", ""),
        &program("gpu.barrier(shared)\ngpu.barrier(global)", "gpu.barrier(global)", ", threaded"),
    );
}

#[test]
fn a_call_whose_effect_is_unknown_is_refused() {
    let (_, found) = run(
        "thread-sync",
        "tir.func @g(A: f32[32]) {
          A[0] = 0.0
        }
        tir.func @f(A: f32[32]) {
          for tx in 0..32 bind(threadIdx.x) {
            tir.call(A, callee = @g)
          }
        }",
    );
    assert!(found.iter().any(|diagnostic| diagnostic.message.contains("touches is not known")), "{found:#?}");
}

/// A loop that runs zero times proves nothing: neither does its barrier order what surrounds it, nor are the sizes in
/// its bounds such that it runs.
#[test]
fn a_loop_that_may_not_run_proves_nothing() {
    // Were `k` below 1, as it is where the loop over `u` runs, the two halves would not overlap.
    let halves = |before: &str, between: &str| {
        format!(
            "for k in 0..2 {{
              for u in 0..1 - k {{
                B[tx] = A[tx]
              }}
              {before}
              S[k * 32 + tx] = A[tx]
              {between}
              B[32 + tx] = S[63 - tx]
            }}"
        )
    };
    syncs("x=32", &halves("", ""), &halves("gpu.barrier(shared)", "gpu.barrier(shared)"));
    // The barrier in the loop is there for its own iterations.
    let inner = |around: &str, inside: &str| {
        format!(
            "for k in 0..2 {{
              S[tx] = A[tx]
              for u in 0..k {{
                {inside}
                for v in 0..8 {{
                  S[32 + v] = A[v]
                }}
              }}
              {around}
              B[tx] = S[31 - tx] + S[63 - tx]
            }}"
        )
    };
    let (text, found) = run("thread-sync", &nest_of_32(&inner("", "")));
    assert!(found.is_empty(), "{found:#?}");
    let after_loop = text.rfind("gpu.barrier(shared)").expect("a barrier");
    assert!(after_loop > text.find("for v").expect("the loop"), "{text}");
}

fn nest_of_32(body: &str) -> String {
    format!(
        "tir.func @f(A: f32[1024], B: f32[1024]) attributes {{noalias}} {{
          for tx in 0..32 bind(threadIdx.x) {{
            alloc S: f32[1024] in shared
            {body}
          }}
        }}"
    )
}

/// Whatever stands before, in and after a loop that may run zero times, at every size: the threaded program is the
/// phased one, and no thread races another.
#[test]
fn barriers_suffice_around_loops_of_zero_iterations() {
    let bounds = ["0..n", "0..n - k", "k..n", "0..1 - k", "0..(1 - k) / 2 + n - 1", "0..min(k, n) - 1"];
    let cells = ["tx", "7 - tx", "k * 8 + tx", "15 - tx", "n * 8 + tx", "u * 8 + 7 - tx"];
    for nth in 0..bounds.len() * cells.len() * cells.len() {
        let (bound, first) = (bounds[nth % bounds.len()], cells[nth / bounds.len() % cells.len()]);
        let second = cells[nth / bounds.len() / cells.len()];
        // Where `u` is not in scope, its place is its first value's.
        let (outer, third) = (first.replace("u *", "0 *"), second.replace("u *", "1 *"));
        let text = format!(
            "tir.func @f<n: 0..3 = 0>(A: f32[64], B: f32[64]) attributes {{noalias}} {{
              for tx in 0..8 bind(threadIdx.x) {{
                alloc S: f32[64] in shared
                alloc L: f32[1] in local
                L[0] = 0.0
                for i in 0..8 {{
                  S[tx * 8 + i] = A[tx * 8 + i]
                }}
                for k in 0..3 {{
                  S[{outer}] = A[tx] + cast<f32>(k)
                  for u in {bound} {{
                    L[0] = L[0] + S[{second}]
                    S[{first}] = A[tx + 8]
                  }}
                  L[0] = L[0] + S[{third}] * 2.0
                }}
                B[tx] = L[0]
              }}
            }}"
        );
        let before = parse(&text);
        let mut after = before.clone();
        let mut cx = PassCx::default();
        run_on(&mut after, "thread-sync", &mut cx);
        assert!(!cx.diagnostics.has_errors(), "{:#?}\n{text}", cx.diagnostics);
        for n in 0..3 {
            let options =
                CheckOptions { sizes: [("n".to_string(), n)].into(), serial: true, ..CheckOptions::default() };
            let report = agree(&before, &after, "f", &options);
            let report = report.unwrap_or_else(|diagnostic| panic!("n = {n}: {diagnostic:#?}\n{text}"));
            assert!(report.agrees(), "n = {n}: {report}\n{}", after.items[0]);
        }
    }
}
