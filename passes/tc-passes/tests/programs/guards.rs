//! Random nests of guarded loops, with constant, symbolic and thread-dependent bounds: `loop-partition`, `unroll-loop` and
//! `hoist-if` leave their meaning, and the last takes no program from `thread-sync` that it could do before.

use crate::{parse, run_on};
use std::fmt::Write as _;
use tc_ir::Module;
use tc_pass::PassCx;
use tc_sim::{CheckOptions, agree};

/// Numbers that are the same in every run (Steele, Lea and Flood 2014, "Fast splittable pseudorandom number generators").
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % n
    }

    fn pick<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len() as u64) as usize]
    }
}

struct Program {
    text: String,
    random: Random,
    /// Are there blocks and threads?
    threads: bool,
    /// The variables of serial loops in scope.
    loops: Vec<String>,
    n_loops: usize,
}

impl Program {
    fn generate(seed: u64) -> String {
        let mut random = Random(seed);
        let threads = random.below(3) > 0;
        let mut program = Program { text: String::new(), random, threads, loops: Vec::new(), n_loops: 0 };
        program.text.push_str("tir.func @f<n: 1..24 = 13>(A: f32[64], B: f32[256]) attributes {noalias} {\n");
        if threads {
            let hint = program.hint();
            writeln!(program.text, "for bx in 0..4 bind(blockIdx.x){hint} {{").expect("a string takes text");
            program.text.push_str("alloc S: f32[64] in shared\nfor tx in 0..4 bind(threadIdx.x) {\n");
            program.text.push_str("for z in 0..16 {\nS[z * 4 + tx] = A[tx]\n}\n");
            if program.random.below(4) == 0 {
                program.text.push_str("for v in 0..2 bind(vthread) {\n");
                program.loops.push("v".to_string());
                program.block(3);
                program.text.push_str("}\n");
            } else {
                program.block(3);
            }
            program.text.push_str("B[bx * 4 + tx] = B[bx * 4 + tx] + S[tx]\n}\n}\n");
        } else {
            program.block(3);
        }
        program.text.push_str("}\n");
        program.text
    }

    fn hint(&mut self) -> &'static str {
        match self.random.below(4) {
            0 => " attributes {loop_partition_hint = true}",
            _ => "",
        }
    }

    /// A sum of variables in scope.
    fn sum(&mut self) -> String {
        let mut terms: Vec<String> = Vec::new();
        let count = self.loops.len() as u64;
        for _ in 0..1 + self.random.below(2) {
            if count > 0 {
                let at = count - 1 - self.random.below(count.min(3));
                let var = self.loops[at as usize].clone();
                terms.push(match self.random.below(3) {
                    0 => format!("{var} * {}", 2 + self.random.below(3)),
                    _ => var,
                });
            }
        }
        if self.threads && self.random.below(2) == 0 {
            terms.push(self.random.pick(&["tx", "bx", "bx * 4 + tx", "tx * 3"]).to_string());
        }
        if terms.is_empty() {
            terms.push("n".to_string());
        }
        terms.join(" + ")
    }

    fn condition(&mut self) -> String {
        let (lhs, other) = (self.sum(), self.sum());
        let bound = self.random.pick(&["3", "5", "7", "12", "n", "n - 2", "n + 1"]);
        let plain = match self.random.below(9) {
            0..=3 => format!("{lhs} < {bound}"),
            4 => format!("{lhs} >= 2"),
            5 => format!("1 <= {lhs} && {lhs} < {bound}"),
            6 => format!("{lhs} == 2"),
            7 => format!("({lhs}) / 3 < 2"),
            _ => format!("{other} < 6 || {lhs} < {bound}"),
        };
        if self.random.below(2) == 0 { format!("likely({plain})") } else { plain }
    }

    /// A cell that no other thread writes; what is read may be another thread's.
    fn store(&mut self) {
        let (to, from) = (self.sum(), self.sum());
        let old = if self.threads { "(bx * 4 + tx) * 16 + " } else { "" };
        let cell = format!("B[{old}({to}) % 16]");
        let value = match self.random.below(4) {
            0 => format!("if_then_else({}, A[({from}) % 64], 1.0)", self.condition()),
            _ => format!("A[({from}) % 64]"),
        };
        match self.random.below(4) {
            0 if self.threads => {
                let own = self.random.pick(&["tx", "(tx + 1) % 4"]);
                writeln!(self.text, "S[({to}) % 16 * 4 + tx] = S[({from}) % 16 * 4 + {own}] + 1.0")
            }
            1 if self.threads => writeln!(self.text, "{cell} = {cell} + S[({from}) % 16 * 4 + (tx + 1) % 4]"),
            _ => writeln!(self.text, "{cell} = {cell} * 0.5 + {value}"),
        }
        .expect("a string takes text");
    }

    fn block(&mut self, depth: usize) {
        // Mostly one statement, so that guards guard all of a loop.
        for _ in 0..1 + self.random.below(4) / 3 {
            self.statement(depth);
        }
    }

    fn statement(&mut self, depth: usize) {
        match self.random.below(if depth == 0 { 2 } else { 9 }) {
            0 => self.store(),
            1..=3 => self.guarded(depth),
            _ => self.loop_nest(depth),
        }
    }

    fn guarded(&mut self, depth: usize) {
        let condition = self.condition();
        writeln!(self.text, "if {condition} {{").expect("a string takes text");
        if depth == 0 {
            self.store();
        } else {
            self.statement(depth - 1);
        }
        if self.random.below(4) == 0 {
            self.text.push_str("} else {\n");
            self.store();
        }
        self.text.push_str("}\n");
    }

    fn loop_nest(&mut self, depth: usize) {
        let var = format!("k{}", self.n_loops);
        self.n_loops += 1;
        let constant = self.random.below(2) == 0;
        let bounds = match (constant, self.loops.last().cloned(), self.random.below(5)) {
            (true, ..) => self.random.pick(&["0..5", "1..4", "0..8", "2..3"]).to_string(),
            (_, Some(outer), 0) => format!("{outer}..6"),
            (_, _, 1) if self.threads => self.random.pick(&["0..tx + 2", "tx..5", "0..bx + 1"]).to_string(),
            _ => self.random.pick(&["0..n", "0..(n + 3) / 4", "1..n", "0..min(n, 6)"]).to_string(),
        };
        let kind = match self.random.below(6) {
            0 if constant => " unroll",
            1 => " unroll(factor = 3)",
            _ => "",
        };
        let attributes = match self.random.below(6) {
            0 => " attributes {auto_unroll_max_step = 8}",
            1 => " attributes {auto_unroll_max_step = 8, unroll_explicit = false}",
            _ => self.hint(),
        };
        writeln!(self.text, "for {var} in {bounds}{kind}{attributes} {{").expect("a string takes text");
        self.loops.push(var);
        self.block(depth - 1);
        self.loops.pop();
        self.text.push_str("}\n");
    }
}

/// What is run, one by one, each on the program as it was.
const PASSES: &[&str] = &[
    "loop-partition",
    "loop-partition partition-const-loop=true",
    "loop-partition partition-const-loop=true no-unroll-loop-with-extent-one=true",
    "loop-partition unroll-loop-with-partition-hint-no-interval=true",
    "unroll-loop auto-max-step=8",
    "unroll-loop auto-max-extent=4 auto-max-depth=1",
    "unroll-loop auto-max-step=16 explicit-unroll=false",
    "hoist-if",
    "hoist-if support-block-scope-hoisting=true",
    "hoist-if support-block-scope-hoisting=true hoist-expressions=true",
];

fn after(module: &Module, pass: &str) -> (Module, bool) {
    let mut module = module.clone();
    let mut cx = PassCx::default();
    run_on(&mut module, pass, &mut cx);
    (module, !cx.diagnostics.has_errors())
}

/// Both write the same; gives the number of cells.
#[track_caller]
fn agrees(what: &str, before: &Module, after: &Module, sizes: &[i64]) -> u64 {
    let mut cells = 0;
    for &n in sizes {
        let options = CheckOptions { sizes: [("n".to_string(), n)].into(), serial: true, ..CheckOptions::default() };
        let report = agree(before, after, "f", &options);
        let report = report.unwrap_or_else(|found| panic!("{what}, n = {n}: {found:#?}\n{}", before.items[0]));
        let (old, new) = (&before.items[0], &after.items[0]);
        assert!(report.agrees(), "{what}, n = {n}: {report}\n{old}\n{new}");
        cells += report.cells as u64;
    }
    cells
}

/// Does the program run at all sizes?
fn runs(module: &Module, sizes: &[i64]) -> bool {
    sizes.iter().all(|&n| {
        let options = CheckOptions { sizes: [("n".to_string(), n)].into(), serial: true, ..CheckOptions::default() };
        agree(module, module, "f", &options).is_ok_and(|report| report.agrees())
    })
}

fn all_agree(seeds: std::ops::Range<u64>) {
    let sizes = [1, 6, 13];
    let (mut n_run, mut n_changed, mut n_synced, mut n_cells) = (0, [0; PASSES.len()], 0, 0);
    for seed in seeds {
        let module = parse(&Program::generate(seed));
        if !runs(&module, &sizes) {
            continue;
        }
        n_run += 1;
        // `thread-sync` refuses what needs a barrier where threads part.
        let synced = after(&module, "thread-sync").1;
        for (nth, pass) in PASSES.iter().enumerate() {
            let (new, done) = after(&module, pass);
            assert!(done, "seed {seed}, {pass}\n{}", module.items[0]);
            let what = format!("seed {seed}, {pass}");
            n_changed[nth] += u32::from(new.items[0].to_string() != module.items[0].to_string());
            n_cells += agrees(&what, &module, &new, &sizes);
            if synced && seed % 4 == 0 {
                let (ordered, done) = after(&new, "thread-sync");
                // Of copies it cannot always prove what it proved of a loop; `hoist-if` makes nothing harder.
                let must = pass.starts_with("hoist-if");
                assert!(done || !must, "{what}: `thread-sync` refuses\n{}\n{}", module.items[0], new.items[0]);
                if !done {
                    continue;
                }
                n_synced += 1;
                agrees(&format!("{what}, thread-sync"), &module, &ordered, &sizes[2..]);
            }
        }
    }
    assert!(n_cells > 10_000, "{n_cells} cells");
    assert!(n_run > 20 && n_synced > 20, "{n_run} ran, {n_synced} were synchronised");
    assert!(n_changed.iter().all(|&count| count > 2), "{n_changed:?} of {n_run}");
}

#[test]
fn guarded_loops_are_divided_copied_and_freed_of_conditions_without_a_change_of_meaning() {
    all_agree(0..60);
}
