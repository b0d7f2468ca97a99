//! How time grows with the program.
//!
//! Of passes, eight times the program may take at most twelve times the time: each program repeats one thing that a pass
//! looks for, 250 and 2,000 times in one kernel. Of parsing, printing and cse, an op in one function of a million may cost
//! little more than an op in one of a thousand: caches make some difference.

use crate::throughput::{N_FUNCS, N_GROUPS, cse, parse, print};
use crate::{median, program, report};
use std::fmt::Write;
use std::time::Instant;
use tc::ir::Module;
use tc::ir::walk::n_ops;

const FEW: usize = 250;
const MANY: usize = 2_000;

/// How often the time of `FEW` the time of `MANY` may be, which is eight times as many.
const GROWTH: f64 = 12.0;

const N_RUNS: usize = 5;

/// A pass, what its program repeats, and how that is written.
struct Case {
    pass: &'static str,
    what: &'static str,
    program: fn(usize) -> String,
}

const CASES: &[Case] = &[
    Case { pass: "software-pipeline", what: "staged loops", program: staged_loops },
    Case { pass: "thread-sync", what: "conflicts in one buffer", program: conflicts_in_one_buffer },
    Case { pass: "thread-sync", what: "conflicts in a buffer each", program: conflicts_in_many_buffers },
    Case { pass: "loop-partition", what: "loops with guards", program: guarded_loops },
    Case { pass: "hoist-alloc", what: "buffers", program: buffers },
    Case { pass: "merge-shared-memory", what: "buffers in turn", program: buffers_in_turn },
    Case { pass: "merge-shared-memory", what: "buffers at once", program: buffers_at_once },
    Case { pass: ACCESS, what: "loops of a kernel", program: loops_with_accesses },
];

/// The report of `tc-opt --access`, which is no pass.
const ACCESS: &str = "--access";

/// Runs the cases of `only`, a pass, `parse` or `print`; or all.
pub(crate) fn run(only: Option<&str>) -> Result<(), String> {
    million(only)?;
    passes(only)
}

/// What is done to one function of a thousand ops and of a million, and how much more an op of the latter may cost.
const STEPS: [(&str, f64); 3] = [("parse", 1.5), ("print", 1.5), ("cse", 2.0)];

fn million(only: Option<&str>) -> Result<(), String> {
    if only.is_some_and(|only| STEPS.iter().all(|&(step, _)| step != only)) {
        return Ok(());
    }
    report(&format!("one function of a thousand ops and of a million, ns an op; medians of {N_RUNS} and more\n\n"));
    let (few, many) = (ns_an_op(N_GROUPS, only)?, ns_an_op(N_FUNCS * N_GROUPS, only)?);
    for (nth, (step, budget)) in STEPS.iter().enumerate().filter(|(nth, _)| !few[*nth].is_nan()) {
        let ratio = many[nth] / few[nth];
        let verdict = if ratio <= *budget { "OK" } else { "over" };
        report(&format!(
            "{step:<49}{:>9.0} ns{:>10.0} ns{ratio:>8.1}x  budget {budget:.1}x  {verdict}\n",
            few[nth], many[nth]
        ));
    }
    report("\n");
    Ok(())
}

/// The nanoseconds an op of parse, print and cse; small programs are looked at several times. All but `only` are left out
/// where they can be, and not a number then.
fn ns_an_op(n_groups: usize, only: Option<&str>) -> Result<[f64; 3], String> {
    let text = program::tc(1, n_groups);
    let n_runs = (N_FUNCS * N_GROUPS / n_groups).clamp(N_RUNS, 300);
    let mut times = [Vec::new(), Vec::new(), Vec::new()];
    let mut n = 0;
    let is_asked = |step: &str| only.is_none_or(|only| only == step);
    for _ in 0..n_runs {
        let start = Instant::now();
        let mut module = parse(&text)?;
        let seconds = start.elapsed().as_secs_f64();
        n = module.items.iter().map(n_ops).sum();
        if is_asked("parse") {
            times[0].push(seconds);
        }
        if is_asked("print") {
            times[1].push(print(&module, false));
        }
        if is_asked("cse") {
            times[2].push(cse(&mut module)?);
        }
    }
    Ok(times.map(|times| median(times) * 1e9 / n as f64))
}

fn passes(only: Option<&str>) -> Result<(), String> {
    report(&format!(
        "passes, {FEW} and {MANY} of a thing in one kernel, one thread; medians of {N_RUNS}; budget {GROWTH:.0}x\n\n"
    ));
    for case in CASES.iter().filter(|case| only.is_none_or(|pass| pass == case.pass)) {
        let (few, many) = (seconds(case, FEW)?, seconds(case, MANY)?);
        let ratio = many / few;
        let verdict = if ratio <= GROWTH { "OK" } else { "over" };
        report(&format!(
            "{:<21}{:<28}{:>9.2} ms{:>10.2} ms{ratio:>8.1}x  {verdict}\n",
            case.pass,
            case.what,
            few * 1e3,
            many * 1e3
        ));
    }
    Ok(())
}

/// The seconds of the pass on a program of `n`.
fn seconds(case: &Case, n: usize) -> Result<f64, String> {
    let text = (case.program)(n);
    let compiler = tc::Compiler { threads: 1, ..tc::Compiler::new() };
    let mut times = Vec::new();
    for _ in 0..N_RUNS {
        let mut module = compiler.parse("growth.tir", &text).map_err(|failure| failure.text())?.module;
        times.push(run_once(&compiler, case.pass, &mut module)?);
    }
    Ok(median(times))
}

fn run_once(compiler: &tc::Compiler, pass: &str, module: &mut Module) -> Result<f64, String> {
    if pass == ACCESS {
        let start = Instant::now();
        let told = compiler.performance(module, &tc::target::Machine::of(&compiler.target), &[]);
        let seconds = start.elapsed().as_secs_f64();
        return told.map(|_| seconds).map_err(|failure| failure.text());
    }
    let pipeline = compiler.pipeline(&format!("tir.func({pass})"), module).map_err(|failure| failure.text())?;
    let options = tc::pass::RunOptions { verify: false, ..compiler.run_options() };
    let mut manager = tc::pass::Manager::new(&compiler.passes, options);
    let start = Instant::now();
    let done = manager.run(&pipeline, module);
    let seconds = start.elapsed().as_secs_f64();
    if done.is_ok() { Ok(seconds) } else { Err(format!("{pass} failed on its program")) }
}

/// A kernel of one block of 32 threads, with `body` in it, over buffers of `cells` elements.
fn kernel(cells: usize, body: &str) -> String {
    format!(
        "tir.func @f<n, m>(A: f32[{cells}], B: f32[{cells}]) attributes {{noalias}} {{\n\
         for tx in 0..32 bind(threadIdx.x) {{\n{body}}}\n}}\n"
    )
}

fn staged_loops(n: usize) -> String {
    let mut body = String::new();
    for k in 0..n {
        let _ = writeln!(
            body,
            "for i in 0..8 {{ alloc S: f32[32] in shared attributes {{stages = 2}}\n\
             S[tx] = A[{k} * 256 + i * 32 + tx]\nB[{k} * 256 + i * 32 + tx] = S[31 - tx] }}"
        );
    }
    kernel(n * 256, &body)
}

fn conflicts_in_one_buffer(n: usize) -> String {
    let mut body = "alloc S: f32[32] in shared\n".to_string();
    for k in 0..n {
        let _ = writeln!(body, "S[tx] = A[{k} * 32 + tx]\nB[{k} * 32 + tx] = S[31 - tx]");
    }
    kernel(n * 32, &body)
}

fn conflicts_in_many_buffers(n: usize) -> String {
    let mut body = String::new();
    for k in 0..n {
        let _ = writeln!(
            body,
            "alloc S{k}: f32[32] in shared\nS{k}[tx] = A[{k} * 32 + tx]\nB[{k} * 32 + tx] = S{k}[31 - tx]"
        );
    }
    kernel(n * 32, &body)
}

fn guarded_loops(n: usize) -> String {
    let mut body = String::new();
    for k in 0..n {
        let _ = writeln!(body, "for i in 0..n {{ if likely(i < m) {{ B[{k} * 32 + tx] = A[{k} * 32 + tx] }} }}");
    }
    kernel(n * 32, &body)
}

fn buffers(n: usize) -> String {
    let mut body = String::new();
    for k in 0..n {
        let _ = writeln!(
            body,
            "for i in 0..4 {{ alloc S: f32[4] in local\nS[i] = A[{k} * 32 + tx]\nB[{k} * 32 + tx] = S[i] }}"
        );
    }
    kernel(n * 32, &body)
}

fn buffers_in_turn(n: usize) -> String {
    let mut body: String = (0..n).map(|k| format!("alloc S{k}: f32[32] in shared.dyn\n")).collect();
    for k in 0..n {
        let _ = writeln!(body, "S{k}[tx] = A[{k} * 32 + tx]\nB[{k} * 32 + tx] = S{k}[31 - tx]");
    }
    kernel(n * 32, &body)
}

/// A kernel as emitters take it: each loop sums in a register of its own what a row of a buffer holds.
fn loops_with_accesses(n: usize) -> String {
    let mut body = String::new();
    for k in 0..n {
        let _ = writeln!(body, "for r{k} in 0..1000i32 {{ L[0i32] = L[0i32] + A[r{k} + t] }}\nB[t + {k}] = L[0i32]");
    }
    let params = format!("A: f32[2048], B: f32[{}]", n + 64);
    format!(
        "tir.func @f({params}) attributes {{noalias}} {{\n@k(A, B)\n}}\n\
         tir.func @k({params}) attributes {{noalias, threaded, device}} {{\nfor b in 0..2i32 bind(blockIdx.x) {{\n\
         alloc L: f32[1] in local\nfor t in 0..64i32 bind(threadIdx.x) {{\n{body}}}\n}}\n}}\n"
    )
}

fn buffers_at_once(n: usize) -> String {
    let mut body: String = (0..n).map(|k| format!("alloc S{k}: f32[1] in shared.dyn\n")).collect();
    (0..n).for_each(|k| body.push_str(&format!("S{k}[0] = A[{k}]\n")));
    (0..n).for_each(|k| body.push_str(&format!("B[{k}] = S{k}[0]\n")));
    kernel(n, &body)
}
