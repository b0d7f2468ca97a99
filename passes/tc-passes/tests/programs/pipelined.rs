//! Random loops with buffers of several stages: whatever the trip count, the copies and the conditions around them, the
//! pipelined program means what the plain one did, its buffers may share bytes, and no barrier is missing. Copies may be
//! asynchronous, buffers may be made of others, and filled again after they were read.

use crate::random::Random;
use crate::{parse, run_on};
use std::fmt::Write as _;
use tc_pass::PassCx;
use tc_sim::{CheckOptions, agree};

/// Threads of a block.
const THREADS: u64 = 8;

struct Generator {
    text: String,
    random: Random,
    n_buffers: usize,
    /// Copies may be asynchronous, buffers may be made of others, and filled again.
    mixed: bool,
}

impl Generator {
    fn program(seed: u64, mixed: bool) -> String {
        let mut generator = Generator { text: String::new(), random: Random::new(seed), n_buffers: 0, mixed };
        generator.text.push_str(
            "tir.func @f<n: 0..6 = 3>(A: f32[256], B: f32[16], C: f32[1024]) attributes {noalias} {
  for bx in 0..2 bind(blockIdx.x) {
    for tx in 0..8 bind(threadIdx.x) {
      alloc L: f32[1] in local
      L[0] = 0.0
",
        );
        for nth in 0..1 + generator.random.below(2) {
            let guard = generator.random.pick(&["", "", "if bx < 1", "if n < 4"]).to_string();
            if !guard.is_empty() {
                writeln!(generator.text, "{guard} {{").expect("a string takes text");
            }
            generator.pipelined_loop(&format!("i{nth}"), true);
            if !guard.is_empty() {
                generator.text.push_str("}\n");
            }
        }
        generator.text.push_str("B[bx * 8 + tx] = L[0]\n}\n}\n}\n");
        generator.text
    }

    /// A loop whose copies run ahead; with `may_nest`, perhaps with another one inside.
    fn pipelined_loop(&mut self, var: &str, may_nest: bool) {
        let stages = self.random.below(4) + 1;
        let lo = self.random.below(3);
        // No iterations, one, one less than there are stages, as many, and more.
        let hi = match self.random.below(6) {
            0 => lo.to_string(),
            1 => (lo + 1).to_string(),
            2 => (lo + stages - 1).to_string(),
            3 => (lo + stages).to_string(),
            4 => (lo + stages + 1 + self.random.below(2)).to_string(),
            _ => "n".to_string(),
        };
        let kind = self.random.pick(&["", "", "", " unroll(factor = 2)"]);
        writeln!(self.text, "for {var} in {lo}..{hi}{kind} {{").expect("a string takes text");
        let first = self.n_buffers;
        let n_buffers = 1 + self.random.below(2) as usize;
        self.n_buffers += n_buffers;
        let mut names = Vec::new();
        for nth in first..first + n_buffers {
            let scope = self.random.pick(&["shared", "shared", "shared.dyn"]);
            let name = format!("S{nth}");
            let ty = self.random.pick(&["f32", "f32", "f16"]);
            let with = if self.mixed && self.random.below(3) > 0 { ", async = true" } else { "" };
            writeln!(self.text, "alloc {name}: {ty}[19] in {scope} attributes {{stages = {stages}{with}}}")
                .expect("a string takes text");
            names.push((name, ty));
        }
        for (name, ty) in &names {
            self.copy(name, ty, var);
        }
        if self.mixed {
            for _ in 0..self.random.below(3) {
                self.made_of_another(&mut names, stages);
            }
        }
        if may_nest && self.random.below(3) == 0 {
            self.pipelined_loop(&format!("{var}k"), false);
        }
        for (name, ty) in &names {
            self.compute(name, ty, var);
        }
        if self.mixed && self.random.below(2) == 0 {
            let nth = self.random.below(names.len() as u64) as usize;
            let (name, ty) = names[nth].clone();
            let line = match self.random.below(3) {
                0 => format!("{name}[tx] = {name}[tx] * {name}[tx]"),
                1 => format!("if tx < 4 {{\n{name}[11 - tx] = 0.5\n}}"),
                _ => format!("{name}[tx + 8] = cast<{ty}>(A[{var} + tx])"),
            };
            writeln!(self.text, "{line}").expect("a string takes text");
            self.compute(&name, ty, var);
        }
        self.text.push_str("}\n");
    }

    /// A buffer of several stages that is filled from one of `names`, which it joins.
    fn made_of_another(&mut self, names: &mut Vec<(String, &'static str)>, stages: u64) {
        let nth = self.random.below(names.len() as u64) as usize;
        let from = names[nth].0.clone();
        let name = format!("F{}", self.n_buffers);
        self.n_buffers += 1;
        let kind = self.random.below(6);
        let scope = if kind == 0 { "local" } else { "shared" };
        writeln!(self.text, "alloc {name}: f32[19] in {scope} attributes {{stages = {stages}}}")
            .expect("a string takes text");
        let read = |index: &str| format!("cast<f32>({from}[{index}])");
        let lines = match kind {
            0 => format!("for k in 0..16 {{\n{name}[k] = {} * 0.5\n}}", read("k")),
            1 => format!(
                "{name}[tx] = 0.0\n{name}[tx + 8] = 1.0\nfor k in 0..16 {{\n{name}[tx] = {name}[tx] + {}\n}}",
                read("k")
            ),
            2 => format!("{name}[tx] = {} + L[0]\n{name}[tx + 8] = 1.0", read("15 - tx")),
            3 => format!(
                "alloc U{name}: f32[8] in shared\nU{name}[tx] = {}\n{name}[tx] = U{name}[7 - tx]\n{name}[15 - tx] = U{name}[tx]",
                read("15 - tx")
            ),
            4 => format!("let v{name} = {}\n{name}[tx] = v{name}\n{name}[tx + 8] = v{name} * 2.0", read("tx + 8")),
            _ => format!("for a in 0..2 {{\n{name}[a * 8 + tx] = {} * 2.0\n}}", read("15 - a * 8 - tx")),
        };
        writeln!(self.text, "{lines}").expect("a string takes text");
        names.push((name, "f32"));
    }

    /// Fills `name`, from a condition, through a temporary, or element by element; what it reads depends on the loop.
    fn copy(&mut self, name: &str, ty: &str, var: &str) {
        let value = |from: String| if ty == "f32" { from } else { format!("cast<{ty}>({from})") };
        let lines = match self.random.below(6) {
            0 => format!("for a in 0..2 {{\n{name}[a * 8 + tx] = {}\n}}", value(format!("A[{var} * 16 + a * 8 + tx]"))),
            1 => format!(
                "let at{name} = {var} * 16 + tx\nif at{name} < 30 {{\n{name}[tx] = {}\n}} else {{\n{name}[tx] = 0.5\n}}\n{name}[tx + 8] = 1.0",
                value(format!("A[at{name}]"))
            ),
            2 => format!(
                "alloc T{name}: f32[1] in local\nT{name}[0] = A[{var} * 8 + tx]\n{name}[tx] = {}\n{name}[tx + 8] = {}",
                value(format!("T{name}[0] + 1.0")),
                value(format!("T{name}[0]"))
            ),
            3 => format!(
                "for a in 1..3 {{\nfor b in 0..2 {{\nif tx < 4 {{\n{name}[a * 8 - 8 + b * 4 + tx] = {}\n}}\n}}\n}}",
                value(format!("A[{var} * 8 + a * 2 + b + tx * 2]"))
            ),
            4 => format!(
                "for a in 0..2 {{\n{name}[a * 8 + tx] = 0.0\n}}\nfor a in 0..2 {{\n{name}[a * 8 + tx] = {name}[a * 8 + tx] + {}\n}}",
                value(format!("A[{var} * 3 + a]"))
            ),
            _ => format!(
                "{name}[tx * 2] = {}\n{name}[tx * 2 + 1] = {}",
                value(format!("if tx < 5 {{ A[{var} + tx] }} else {{ 2.0 }}")),
                value(format!("A[{var} * 5 + tx]"))
            ),
        };
        // What the condition in brackets cannot say as an expression is said by statements.
        let lines = lines.replace("if tx < 5 {", "if_then_else(tx < 5,").replace(" } else { 2.0 }", ", 2.0)");
        writeln!(self.text, "{lines}").expect("a string takes text");
    }

    /// Reads `name` across threads.
    fn compute(&mut self, name: &str, ty: &str, var: &str) {
        let read =
            |index: &str| if ty == "f32" { format!("{name}[{index}]") } else { format!("cast<f32>({name}[{index}])") };
        let line = match self.random.below(4) {
            0 => format!("for k in 0..16 {{\nL[0] = L[0] + {}\n}}", read("k")),
            1 => format!("L[0] = L[0] + {} * {}", read("15 - tx"), read("tx")),
            2 => format!("if tx < 3 {{\nL[0] = L[0] - {}\n}}", read("tx * 5")),
            _ => format!("C[bx * 512 + {var} * 8 + tx] = {} + L[0]", read(&format!("(tx + {var}) % {THREADS}"))),
        };
        writeln!(self.text, "{line}").expect("a string takes text");
    }
}

/// Runs the passes one by one, comparing after each.
fn all_agree(passes: &[&str], seeds: std::ops::Range<u64>) {
    assert_eq!(n_refused(passes, seeds, false), 0);
}

/// The same; gives the number of programs that are refused because what fills a buffer cannot run ahead.
fn n_refused(passes: &[&str], seeds: std::ops::Range<u64>, mixed: bool) -> u64 {
    let mut n_refused = 0;
    for seed in seeds {
        let text = Generator::program(seed, mixed);
        let mut module = parse(&text);
        for pass in passes {
            let before = module.clone();
            let mut cx = PassCx::default();
            run_on(&mut module, pass, &mut cx);
            if mixed && cx.diagnostics.iter().any(|found| found.is_error() && found.code == "stages") {
                n_refused += 1;
                break;
            }
            assert!(!cx.diagnostics.has_errors(), "seed {seed}, {pass}: {:#?}\n{text}", cx.diagnostics);
            let report = agree(&before, &module, "f", &CheckOptions { serial: true, ..CheckOptions::default() });
            let report = report.unwrap_or_else(|diagnostic| panic!("seed {seed}, {pass}: {diagnostic:#?}\n{text}"));
            assert!(report.agrees(), "seed {seed}, {pass}: {report}\n{text}\n{}", module.items[0]);
        }
    }
    n_refused
}

#[test]
fn loops_are_pipelined_with_peeling_and_registers() {
    all_agree(&["software-pipeline", "hoist-alloc", "merge-shared-memory", "simplify", "cse", "thread-sync"], 0..60);
}

#[test]
fn loops_are_pipelined_without_peeling() {
    let passes = [
        "software-pipeline peel=false",
        "hoist-alloc",
        "merge-shared-memory merge-static",
        "unroll-loop",
        "thread-sync",
    ];
    all_agree(&passes, 1000..1060);
}

#[test]
fn copies_may_go_straight_to_shared_memory() {
    let passes =
        ["software-pipeline register-stage=false", "hoist-alloc", "merge-shared-memory merge-static", "thread-sync"];
    all_agree(&passes, 2000..2060);
}

#[test]
fn what_is_made_of_copies_comes_after_them() {
    let passes = ["inject-async-copy", "software-pipeline", "hoist-alloc", "simplify", "thread-sync"];
    let n_refused = n_refused(&passes, 3000..3150, true);
    assert!(n_refused < 40, "{n_refused} of 150 refused");
}

#[test]
fn buffers_that_are_filled_again_keep_the_order() {
    let passes = ["software-pipeline", "hoist-alloc", "merge-shared-memory", "simplify", "thread-sync"];
    let n_refused = n_refused(&passes, 4000..4100, true);
    assert!(n_refused < 40, "{n_refused} of 100 refused");
}
