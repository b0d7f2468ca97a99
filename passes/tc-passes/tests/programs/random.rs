//! Random programs of threads that share memory: after each pass the simulator finds them to mean the same, and after
//! `thread-sync` no barrier is missing.

use crate::{parse, run_on};
use std::fmt::Write as _;
use tc_pass::PassCx;
use tc_sim::{CheckOptions, agree};

/// Numbers that are the same in every run (Steele, Lea and Flood 2014, "Fast splittable pseudorandom number generators").
pub(crate) struct Random(u64);

impl Random {
    /// Starts from `seed`.
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % n
    }

    pub(crate) fn pick<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len() as u64) as usize]
    }
}

/// Indices that no two of the 16 threads share, into the 32 cells of `S`.
const OWN: &[&str] = &[
    "ty * 4 + tx",
    "tx * 4 + ty",
    "15 - (ty * 4 + tx)",
    "(ty * 4 + tx) * 2",
    "tx / 2 * 8 + tx % 2 + ty * 2",
    "ty * 4 + tx + 16",
];
/// Indices that all threads share.
const SHARED: &[&str] = &["0", "3", "17"];
/// Any index.
const ANY: &[&str] =
    &["ty * 4 + tx", "tx", "ty", "(tx + 1) % 4", "15 - (ty * 4 + tx)", "tx * 8 + ty", "5", "ty * 4 + tx + 16"];

struct Program {
    text: String,
    random: Random,
    /// The loop variables in scope.
    loops: Vec<String>,
    n_loops: usize,
}

impl Program {
    fn generate(seed: u64) -> String {
        let mut program = Program { text: String::new(), random: Random(seed), loops: Vec::new(), n_loops: 0 };
        program.text.push_str(
            "tir.func @f(A: f32[64], B: f32[32], C: f32[64]) attributes {noalias} {
  for bx in 0..2 bind(blockIdx.x) {
    alloc L: f32[1] in local
    alloc S: f32[2, 16] in shared
    for ty in 0..4 bind(threadIdx.y) {
      for tx in 0..4 bind(threadIdx.x) {
        L[0] = 0.0
        S[0, ty * 4 + tx] = A[ty * 4 + tx]
        S[1, tx * 4 + ty] = A[bx * 16 + ty]
",
        );
        program.block(3);
        program.text.push_str("B[bx * 16 + ty * 4 + tx] = L[0]\n}\n}\n}\n}\n");
        program.text
    }

    /// A cell of `S` or `C`, given by its flat index.
    fn cell(&mut self, list: &[&str]) -> String {
        let index = self.random.pick(list);
        let index = match self.loops.last() {
            Some(var) if self.random.below(3) == 0 && list != OWN => var.clone(),
            _ => index.to_string(),
        };
        // What threads of a block share lies in shared memory, and sometimes in global memory.
        match self.random.below(5) {
            0 => format!("C[bx * 32 + ({index})]"),
            _ => format!("S[({index}) / 16, ({index}) % 16]"),
        }
    }

    fn block(&mut self, depth: usize) {
        for _ in 0..2 + self.random.below(2) {
            self.statement(depth);
        }
    }

    fn statement(&mut self, depth: usize) {
        let choice = self.random.below(if depth == 0 { 4 } else { 8 });
        match choice {
            0 => {
                let (to, from) = (self.cell(OWN), self.cell(ANY));
                writeln!(self.text, "{to} = {from} + A[tx]").expect("a string takes text");
            }
            1 => {
                // All threads write the same value.
                let (to, from) = (self.cell(SHARED), self.random.pick(&["A[bx]", "A[3] + 1.0"]));
                writeln!(self.text, "{to} = {from}").expect("a string takes text");
            }
            2 | 3 => {
                let from = self.cell(ANY);
                writeln!(self.text, "L[0] = L[0] + {from}").expect("a string takes text");
            }
            4 | 5 => {
                let var = format!("k{}", self.n_loops);
                let kind = self.random.pick(&["", "", " unroll", " unroll(factor = 2)"]);
                let bounds = self.random.pick(&["0..3", "1..4", "0..2"]);
                self.n_loops += 1;
                writeln!(self.text, "for {var} in {bounds}{kind} {{").expect("a string takes text");
                self.loops.push(var);
                self.block(depth - 1);
                self.loops.pop();
                self.text.push_str("}\n");
            }
            6 => {
                let guard = match self.loops.last() {
                    Some(var) => format!("likely({var} < 2)"),
                    None => "bx < 1".to_string(),
                };
                writeln!(self.text, "if {guard} {{").expect("a string takes text");
                self.block(depth - 1);
                self.text.push_str("}\n");
            }
            _ => {
                let (to, from, guard) =
                    (self.cell(OWN), self.cell(ANY), self.random.pick(&["tx < 2", "ty == 1", "tx + ty < 5"]));
                let inner = match self.random.below(2) {
                    0 => format!("L[0] = L[0] + {from}"),
                    _ => format!("{to} = A[ty]"),
                };
                writeln!(self.text, "if {guard} {{\n{inner}\n}}").expect("a string takes text");
            }
        }
    }
}

/// Runs the passes one by one on many programs, comparing after each.
fn all_agree(passes: &[&str], seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let text = Program::generate(seed);
        let mut module = parse(&text);
        for pass in passes {
            let before = module.clone();
            let mut cx = PassCx::default();
            run_on(&mut module, pass, &mut cx);
            assert!(!cx.diagnostics.has_errors(), "seed {seed}, {pass}: {:#?}\n{before:?}", cx.diagnostics);
            let report = agree(&before, &module, "f", &CheckOptions { serial: true, ..CheckOptions::default() });
            let report = report.unwrap_or_else(|diagnostic| panic!("seed {seed}, {pass}: {diagnostic:#?}\n{text}"));
            assert!(report.agrees() && report.cells > 0, "seed {seed}, {pass}: {report}\n{}", module.items[0]);
        }
    }
}

#[test]
fn threads_are_synchronised_where_they_touch_one_cell() {
    all_agree(&["thread-sync", "split-host-device"], 0..300);
}

#[test]
fn loops_and_storage_are_rewritten_without_a_change_of_meaning() {
    all_agree(
        &[
            "loop-partition partition-const-loop=true",
            "storage-flatten",
            "hoist-alloc",
            "unroll-loop auto-max-step=6",
            "simplify",
            "lower-intrin",
            "cse",
            "dce",
            "thread-sync",
        ],
        1000..1040,
    );
}

/// Most barriers are needed: without one the simulator finds a race or another result. Those that it does not miss are
/// where the proof was too weak, or where a cell is written with the value that it has.
#[test]
fn a_barrier_that_is_taken_out_is_missed() {
    let (mut n_barriers, mut n_missed) = (0, 0);
    for seed in 0..40 {
        let mut module = parse(&Program::generate(seed));
        let before = module.clone();
        run_on(&mut module, "thread-sync", &mut PassCx::default());
        let text = module.items[0].to_string();
        let shared = text.match_indices("gpu.barrier(shared)");
        for (at, barrier) in shared.chain(text.match_indices("gpu.barrier(global)")) {
            let without = format!("{}{}", &text[..at], &text[at + barrier.len()..]);
            let options = CheckOptions { serial: true, ..CheckOptions::default() };
            let report = agree(&before, &parse(&without), "f", &options).expect("both run");
            n_barriers += 1;
            n_missed += u32::from(!report.agrees());
        }
    }
    assert!(n_barriers > 100, "{n_barriers} barriers");
    assert!(n_missed * 4 > n_barriers * 3, "of {n_barriers} barriers {n_missed} are missed");
}

/// A function of one size, through a pass, at sizes around the places where it changes.
#[track_caller]
fn agrees_at_sizes(passes: &[&str], text: &str) {
    let before = parse(text);
    let mut after = before.clone();
    let mut cx = PassCx::default();
    passes.iter().for_each(|pass| run_on(&mut after, pass, &mut cx));
    assert!(cx.diagnostics.is_empty() && before.items[0].to_string() != after.items[0].to_string());
    for n in [1, 2, 7, 8, 9, 15, 16, 17, 40] {
        let options = CheckOptions { sizes: [("n".to_string(), n)].into(), serial: true, ..CheckOptions::default() };
        let report =
            agree(&before, &after, "f", &options).unwrap_or_else(|diagnostic| panic!("n = {n}: {diagnostic:#?}"));
        assert!(report.agrees() && report.cells > 0, "n = {n}: {report}\n{}", after.items[0]);
    }
}

#[test]
fn symbolic_loops_are_divided_and_unrolled_at_every_size() {
    let tail = "tir.func @f<n>(A: f32[n], B: f32[n]) attributes {noalias} {
          for i in 0..(n + 7) / 8 {
            for j in 0..8 {
              if likely(i * 8 + j < n) {
                B[i * 8 + j] = A[i * 8 + j] + 1.0
              }
            }
          }
        }";
    agrees_at_sizes(&["loop-partition"], tail);
    agrees_at_sizes(&["loop-partition", "simplify", "storage-flatten", "lower-intrin"], tail);
    agrees_at_sizes(&["loop-partition partition-const-loop=true"], tail);
    let blocks = tail.replace("8 {\n", "8 bind(blockIdx.x) {\n");
    agrees_at_sizes(&["loop-partition"], &blocks.replacen("0..8 bind(blockIdx.x)", "0..8 bind(threadIdx.x)", 1));
    // Both ends: the condition begins to hold late and ceases early.
    agrees_at_sizes(
        &["loop-partition"],
        "tir.func @f<n>(A: f32[n], B: f32[n]) attributes {noalias} {
          for i in 0..n {
            B[i] = 0.0
            if likely(3 <= i && i < n - 4) {
              B[i] = A[i - 3] + A[i + 4]
            }
          }
        }",
    );
    agrees_at_sizes(
        &["unroll-loop", "simplify"],
        "tir.func @f<n>(A: f32[n], B: f32[n]) attributes {noalias} {
          for i in 2..n unroll(factor = 3) {
            B[i] = A[i - 2]
          }
          for i in 0..min(2, n) {
            B[i] = 1.0
          }
        }",
    );
}
