//! What is told of kernels that are small enough to count by hand.

use tc_dialects::scope::Memory;
use tc_ir::Module;
use tc_perf::{AccessReport, Direction, KernelReport, module};
use tc_target::{Machine, Target, Unit};

/// The report on the one kernel of a program; `body` stands in 2 blocks of 64 threads, with `t` for the thread.
fn report(body: &str) -> KernelReport {
    let text = format!(
        "tir 1
tir.func @f(A: f32[4096], B: f32[4096]) attributes {{noalias}} {{
  @k(A, B)
}}
tir.func @k(A: f32[4096], B: f32[4096]) attributes {{noalias, threaded, device}} {{
  for b in 0..2i32 bind(blockIdx.x) {{
    alloc S: f32[4096] in shared
    alloc L: f32[8] in local
    for t in 0..64i32 bind(threadIdx.x) {{
      {body}
    }}
  }}
}}"
    );
    of(&text)
}

fn of(text: &str) -> KernelReport {
    let mut read = Module::new(std::sync::Arc::new(tc_dialects::registry()));
    let file = read.sources.add("k.tir", text).expect("small");
    let found = tc_syntax::parse_file(&mut read, file, &tc_syntax::ParseOptions::default());
    assert!(!found.has_errors(), "{}", tc_support::render::text(&found, &read.sources, false));
    let target = Target::parse("sm_90").expect("known");
    let mut all = module(&read, &target, &Machine::of(&target), &[])
        .unwrap_or_else(|found| panic!("{}", tc_support::render::text(&found, &read.sources, false)));
    assert_eq!(all.len(), 1);
    all.remove(0)
}

fn access<'r>(report: &'r KernelReport, buffer: &str, direction: Direction) -> &'r AccessReport {
    let found = report.accesses.iter().find(|one| one.buffer == buffer && one.direction == direction);
    found.unwrap_or_else(|| panic!("no such access: {:#?}", report.accesses))
}

fn unit(report: &KernelReport, unit: Unit) -> f64 {
    report.instructions.iter().find(|(of, _)| *of == unit).expect("all units").1
}

#[test]
fn neighbours_fill_sectors_and_a_stride_wastes_them() {
    let row = report("B[t + b * 64] = A[t + b * 64]");
    let load = access(&row, "A", Direction::Load);
    assert_eq!((load.memory, load.bytes, load.lanes, load.sectors), (Memory::Global, 4, 32.0, (4.0, 4.0)));
    // Two warps in each of two blocks.
    assert_eq!(load.requests, 4.0);
    let column = report("B[t + b * 64] = A[t * 32 + b]");
    let load = access(&column, "A", Direction::Load);
    assert_eq!((load.sectors, load.wavefronts.0), ((32.0, 4.0), 32.0));
    assert!(load.excess() == 8.0 && row.time.traffic.l2 < column.time.traffic.l2);
}

#[test]
fn banks_conflict_by_the_stride() {
    for (stride, wavefronts) in [(1, 1.0), (2, 2.0), (8, 8.0), (32, 32.0), (33, 1.0)] {
        let store = report(&format!("S[t * {stride}] = 1.0"));
        let store = access(&store, "S", Direction::Store);
        assert_eq!(store.wavefronts, (wavefronts, 1.0), "stride {stride}");
    }
    let mixed = report("S[(t * 32) ^ (t & 31)] = 1.0");
    assert_eq!(access(&mixed, "S", Direction::Store).wavefronts.0, 1.0, "an exclusive or spreads the banks");
}

#[test]
fn loops_guards_and_idle_lanes_count() {
    let half = report("if (t & 1) == 0i32 {\n for i in 0..5000i32 {\n if b == 0i32 { S[t] = A[(i & 63) + t] } } }");
    let load = access(&half, "A", Direction::Load);
    assert_eq!(load.lanes, 16.0);
    // One block of two, two warps, in all iterations: each of the four warps is followed.
    assert_eq!(load.requests, 10_000.0);
    let empty = report("for i in 0..0i32 { S[t] = 1.0 }");
    assert_eq!(access(&empty, "S", Direction::Store).requests, 0.0);
}

#[test]
fn instructions_are_counted_by_unit() {
    let sum = report("L[0i32] = 0.0\n for i in 0..100i32 { L[0i32] = fma(A[t], 2.0, L[0i32]) }\n B[t] = exp(L[0i32])");
    assert_eq!(unit(&sum, Unit::F32), 100.0 * 4.0 * 32.0);
    assert_eq!(sum.flops, (200.0 + 1.0) * 128.0);
    assert_eq!(unit(&sum, Unit::Special), 4.0 * 32.0);
    // The load does not move: its value stays in a register.
    assert_eq!(access(&sum, "A", Direction::Load).requests, 4.0);
}

#[test]
fn a_sum_in_one_cell_waits_for_itself_and_others_do_not() {
    let sums = |cells: &[i32]| {
        let each = |i: i32| format!("L[{0}i32] = exp(L[{0}i32])", cells[i as usize % cells.len()]);
        let body: Vec<String> = (0..4).map(each).collect();
        report(&format!("for i in 0..16i32 {{ {} }}\n B[t] = L[0i32]", body.join("\n"))).time.chain
    };
    let (one, four) = (sums(&[0]), sums(&[0, 1, 2, 3]));
    assert!(one > 2.0 * four, "{one} {four}");
}

#[test]
fn barriers_stop_loads_from_running_ahead() {
    let copy = |barrier: &str| {
        report(&format!(
            "for i in 0..16i32 {{\n {barrier}\n S[t] = A[t + i * 64]\n {barrier}\n B[t + i * 64] = S[63 - t] }}"
        ))
    };
    let (with, without) = (copy("gpu.barrier(shared)"), copy(""));
    assert_eq!(with.barriers, 32.0);
    assert!(with.time.chain > 3.0 * without.time.chain, "{} {}", with.time.chain, without.time.chain);
}

/// A kernel of one warp that goes so often through `bytes` of `A`, and then again.
fn stream(rounds: u64, bytes: u64) -> KernelReport {
    let n = bytes / 128;
    of(&format!(
        "tir 1
tir.func @f(A: f32[33554432], B: f32[32]) attributes {{noalias}} {{
  @k(A, B)
}}
tir.func @k(A: f32[33554432], B: f32[32]) attributes {{noalias, threaded, device}} {{
  for t in 0..32i32 bind(threadIdx.x) {{
    for k in 0..{rounds}i32 {{
      for r in 0..{n}i32 {{
        B[t] = B[t] + A[r * 32 + t]
      }}
    }}
  }}
}}"
    ))
}

#[test]
fn what_fits_l1_is_fast_again_and_what_does_not_is_not() {
    let ratio = |bytes| stream(2, bytes).time.chain / stream(1, bytes).time.chain;
    assert!(ratio(1 << 27) > 1.9, "{}", ratio(1 << 27));
    assert!(ratio(1 << 13) < 1.7, "{}", ratio(1 << 13));
}

#[test]
fn a_load_waits_for_l2_where_it_comes_to_new_sectors() {
    let of = |index: &str| report(&format!("for r in 0..1024i32 {{ B[t] = B[t] + A[{index}] }}")).time.chain;
    // A sector has eight elements, also where the position is no multiple of the variable.
    let (row, sectors, few) = (of("r"), of("r * 4"), of("r & 7"));
    assert!(few < row && row < sectors, "{few} {row} {sectors}");
}

#[test]
fn blocks_that_begin_one_a_cycle_are_the_limit_of_short_ones() {
    let launched = of("tir 1
tir.func @f(B: f32[3200000]) attributes {noalias} {
  @k(B)
}
tir.func @k(B: f32[3200000]) attributes {noalias, threaded, device} {
  for b in 0..100000i32 bind(blockIdx.x) {
    for t in 0..32i32 bind(threadIdx.x) {
      if b < 1 {
        B[t] = 0.0
      }
    }
  }
}");
    assert_eq!(launched.time.limiter.name(), "launch");
    assert!(launched.time.estimate_us > 50.0, "{}", launched.time.estimate_us);
}

#[test]
fn addresses_from_data_are_told() {
    let gathered = report("B[t] = A[cast<i32>(A[t])]");
    let load = gathered.accesses.iter().find(|one| one.unknown).expect("it depends on data");
    assert_eq!((load.buffer.as_str(), load.sectors.0), ("A", 32.0));
}

#[test]
fn an_array_whose_positions_no_loop_makes_literal_is_in_local_memory() {
    let local = |position: &str| {
        let told = report(&format!("L[{position}] = A[t]\n B[t] = L[0i32]"));
        told.accesses.iter().any(|one| one.memory == Memory::Registers)
    };
    assert!(!local("3i32"));
    let varied = report("for i in 0..4000i32 { L[i & 7] = A[t + (i & 63)] }\n B[t] = L[0i32]");
    assert!(varied.accesses.iter().any(|one| one.memory == Memory::Registers), "{:#?}", varied.accesses);
}

#[test]
fn an_array_at_positions_by_thread_block_or_data_is_in_local_memory() {
    let is_local = |body: &str| {
        let told = report(body);
        told.accesses.iter().any(|one| one.memory == Memory::Registers)
    };
    for position in ["t & 7", "b & 7", "cast<i32>(A[0i32]) & 7"] {
        assert!(is_local(&format!("L[{position}] = A[t]\n B[t] = L[0i32]")), "{position}");
    }
    // Literals in a loop that is unrolled, and what cancels out.
    for position in ["i", "7 - i", "(t + i) - t", "tdiv(i, 2)"] {
        assert!(!is_local(&format!("for i in 0..8i32 {{ L[{position}] = A[t + i] }}\n B[t] = L[0i32]")), "{position}");
    }
    // A position that a loop carries is a literal as long as all its iterations are in the code.
    let carried =
        |n: u32| format!("c = for i in 0..{n}i32 carry(c = 0i32) {{ L[c & 7] = A[t]\n yield c + 3 }}\n B[t] = L[0i32]");
    assert!(!is_local(&carried(8)) && is_local(&carried(4000)));
}

#[test]
fn vectors_of_positions_are_computed_element_by_element() {
    let sectors = |position: &str| {
        let told = report(&format!("B[t] = cast<f32>(t)\n let v = A[{position}]\n B[ramp(t * 4, 1, 4)] = v"));
        let load = access(&told, "A", Direction::Load).clone();
        assert!(!load.unknown, "{position}");
        load.sectors.0
    };
    // Four requests each: of neighbours 4 apart, which fill 16 sectors; of those of one sum; of rows of 32.
    assert_eq!(sectors("ramp(t * 4, 1, 4) + broadcast(8, 4)"), 16.0);
    assert_eq!(sectors("ramp(t, 1, 4) + ramp(0i32, 31, 4)"), 4.0);
    assert_eq!(sectors("ramp(0i32, t, 4) & broadcast(7, 4)"), 1.0);
    assert_eq!(sectors("ramp(t * 2, 1, 4) * broadcast(16, 4)"), 32.0);
    assert_eq!(sectors("tdiv(ramp(t * 8, 1, 4), broadcast(8, 4))"), 4.0);
}

#[test]
fn a_bound_counts_the_work_of_lanes_that_take_part() {
    let work = |body: &str| report(&format!("L[0i32] = 0.0\n {body}\n B[t] = L[0i32]")).time;
    let sums = |condition: &str| {
        let each = "L[0i32] = fma(L[0i32], 1.5, 1.0)";
        work(&format!("for i in 0..100000i32 {{ if {condition} {{ {each} }} }}"))
    };
    let (all, one) = (sums("t >= 0"), sums("(t & 31) == 0"));
    assert!((all.bound_us / one.bound_us - 32.0).abs() < 1e-6, "{} {}", all.bound_us, one.bound_us);
    assert_eq!(all.bound_by.name(), "f32");
    // The idle lanes take their turn all the same.
    let f32s = |time: &tc_perf::Time| time.units.iter().find(|(by, _)| by.name() == "f32").expect("all units").1;
    assert_eq!(f32s(&all), f32s(&one));
    // What data decides may not be done at all; a quotient may be a product.
    assert_eq!(sums("A[t] > 0.0").bound_by.name(), "memory");
    let quotients = work("for i in 0..100000i32 { L[0i32] = L[0i32] / 2.0 }");
    assert!((quotients.bound_us / all.bound_us - 1.0).abs() < 1e-6);
}

#[test]
fn a_bound_counts_a_buffer_once() {
    let bytes = |body: &str| {
        let KernelReport { time, machine, .. } = report(body);
        assert_eq!(time.bound_by.name(), "memory");
        // They fit L2.
        time.bound_us * machine.cycles_per_us() * machine.l2_per_clock * machine.sms as f64
    };
    let bytes = |body: &str| bytes(body).round();
    // 128 cells are read and written; a second look at them, or at others between, adds none.
    let once = bytes("B[t + b * 64] = A[t + b * 64]");
    assert_eq!(once, 1024.0);
    // An address or a condition from data may be any.
    assert_eq!(bytes("B[t + b * 64] = A[t + b * 64] + A[cast<i32>(A[t + b * 64])]"), once);
    assert_eq!(bytes("if A[t + b * 64] > 0.0 { B[t + b * 64] = 1.0 }"), once / 2.0);
    assert_eq!(bytes("B[t + b * 64] = A[t + b * 64] + A[t + b * 64 + 0] * A[127 - t - b * 64]"), once);
    assert_eq!(bytes("B[t + b * 64] = A[t + b * 64] + A[tdiv(t, 2) + b * 64]"), once);
}

#[test]
fn estimates_are_above_bounds_and_the_same_each_time() {
    let text = "for i in 0..32i32 { S[t] = A[t + i * 64]\n B[t + i * 64] = S[t] + 1.0 }";
    let (one, other) = (report(text), report(text));
    assert_eq!(one.time, other.time);
    assert!(one.time.bound_us <= one.time.estimate_us);
    assert!(one.time.occupancy.blocks >= 1 && one.registers.0 >= 16);
}

#[test]
fn numbers_that_do_not_fit_are_no_panic() {
    for body in [
        "for i in 0..2000000000i32 { for j in 0..2000000000i32 { S[(i + j) & 63] = 1.0 } }",
        "for i in -2000000000..2000000000i32 { if tmod(i, 7) == 3i32 { S[i & 63] = 1.0 } }",
        "for i in 0..t { S[i] = A[i] }",
        "S[tdiv(t, 64)] = A[tmod(t, 3) + tdiv(t, 5)]",
    ] {
        let told = report(body);
        assert!(told.time.estimate_us.is_finite(), "{body}");
    }
}

#[test]
fn what_is_no_kernel_is_refused() {
    let refused = |text: &str| {
        let mut read = Module::new(std::sync::Arc::new(tc_dialects::registry()));
        let file = read.sources.add("k.tir", text).expect("small");
        let found = tc_syntax::parse_file(&mut read, file, &tc_syntax::ParseOptions::default());
        assert!(!found.has_errors(), "{found:?}");
        let target = Target::default();
        module(&read, &target, &Machine::of(&target), &[]).err().map(|found| found.iter().next().expect("why").code)
    };
    assert_eq!(refused("tir 1\ntir.func @f(A: f32[4]) {\n  A[0] = 1.0\n}"), Some("no-emitter"));
    assert_eq!(refused("tir 1"), Some("no-function"));
}
