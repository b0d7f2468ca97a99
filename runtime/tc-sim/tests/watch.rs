//! One block watched: accesses in order, their values, their races.

mod common;

use common::parse;
use tc_sim::CheckOptions;
use tc_sim::watch::{AccessKind, Subject, Watched, watch};

/// Each block reverses its part by way of shared memory.
const REVERSE: &str = "tir.func @f(A: f32[128], B: f32[128]) attributes {threaded} {
  for bx in 0..4 bind(blockIdx.x) {
    for tx in 0..32 bind(threadIdx.x) {
      alloc S: f32[32] in shared
      S[tx] = A[bx * 32 + tx]
      gpu.barrier(shared)
      B[bx * 32 + tx] = S[31 - tx]
    }
  }
}";

fn seen(text: &str, block: u64, buffer: Option<&str>) -> Watched {
    let subject = Subject { launch: 0, block, buffer };
    watch(&parse(text), "f", &CheckOptions::default(), subject).unwrap_or_else(|why| panic!("{why:?}"))
}

#[test]
fn every_access_of_the_block_is_told_in_order() {
    let watched = seen(REVERSE, 2, None);
    assert_eq!((watched.launches, watched.grid, watched.block), (1, [4, 1, 1], [32, 1, 1]));
    assert_eq!(watched.buffers[watched.watched].name, "S");
    assert_eq!(watched.buffers[watched.watched].memory, "shared");
    assert_eq!((watched.accesses.len(), watched.dropped), (64, 0));
    for (nth, access) in watched.accesses.iter().enumerate() {
        let thread = nth as u32 % 32;
        let (kind, barriers, cell) =
            if nth < 32 { (AccessKind::Write, 0, thread) } else { (AccessKind::Read, 1, 31 - thread) };
        assert_eq!((access.thread, access.kind, access.barriers), (thread, kind, barriers));
        assert_eq!(access.place, format!("S[{cell}]"));
        assert!(access.race.is_none());
        // What is read was written by another thread.
        assert_eq!(access.value, watched.accesses[cell as usize].value);
    }
    assert!(watched.accesses.iter().any(|access| access.value != "0"));
}

#[test]
fn values_are_those_of_the_block() {
    let (shared, input) = (seen(REVERSE, 3, Some("S")), seen(REVERSE, 3, Some("A")));
    let values = |watched: &Watched| watched.accesses.iter().map(|access| access.value.clone()).collect::<Vec<_>>();
    assert_eq!(values(&shared)[..32], values(&input)[..]);
    assert_eq!(input.accesses[5].place, "A[101]");
    assert!(seen(REVERSE, 0, Some("A")).accesses.iter().all(|access| access.cell < 32));
}

#[test]
fn both_accesses_of_a_race_are_marked() {
    let racy = REVERSE.replace("      gpu.barrier(shared)\n", "").replace("0..32 bind", "0..64 bind");
    let racy = racy.replace("f32[32] in", "f32[64] in").replace("bx * 32", "bx * 64").replace("[31 -", "[63 -");
    let racy = racy.replace("0..4", "0..2");
    let watched = seen(&racy, 1, None);
    assert_eq!(watched.accesses.len(), 128);
    for access in &watched.accesses {
        let rival = access.race.as_ref().unwrap_or_else(|| panic!("no race of {access:?}"));
        assert_eq!((rival.thread, rival.same), (63 - access.thread, false));
        assert_ne!(rival.location, access.location);
    }
    assert!(watched.diagnostics.has_errors());
}

#[test]
fn threads_that_one_op_makes_write_one_cell_race() {
    let one = "tir.func @f(A: f32[64], B: f32[1]) {\n  for tx in 0..64 bind(threadIdx.x) {\n    B[0] = A[tx]\n  }\n}";
    let watched = seen(one, 0, Some("B"));
    let racing: Vec<u32> =
        watched.accesses.iter().filter(|access| access.race.is_some()).map(|access| access.thread).collect();
    assert_eq!(racing.len(), 64, "{racing:?}");
    assert!(!watched.threaded);
}

#[test]
fn what_is_not_there_is_refused() {
    let module = parse(REVERSE);
    let refused = |subject: Subject<'_>| {
        watch(&module, "f", &CheckOptions::default(), subject).expect_err("there is none").message
    };
    let subject = Subject { launch: 0, block: 0, buffer: None };
    assert_eq!(refused(Subject { launch: 1, ..subject }), "`@f` has 1 launch, so there is none with number 1");
    assert_eq!(refused(Subject { block: 4, ..subject }), "the launch has 4 blocks, so there is none with number 4");
    let other = refused(Subject { buffer: Some("SS"), ..subject });
    assert!(other.starts_with("the launch has no buffer `SS`; "), "{other}");
}

#[test]
fn a_long_run_is_cut() {
    let long = "tir.func @f(A: f32[4]) attributes {threaded} {\n  for tx in 0..4 bind(threadIdx.x) {\n    for i in 0..100000 {\n      A[tx] = 1.0\n    }\n  }\n}";
    let watched = seen(long, 0, None);
    assert_eq!((watched.accesses.len(), watched.dropped), (1 << 16, 400_000 - (1 << 16)));
}
