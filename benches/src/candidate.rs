//! One schedule candidate: from the parsed module to CUDA text; and what verifying after each pass adds to that.
//!
//! TVM cannot run here; its times are those of TVM 0.16, lower and build, compiled -O1, on two shared cores.

use crate::budget::{Budget, head, ms, row};
use crate::{median, report};
use std::time::Instant;

/// An example, a schedule of it, and TVM's milliseconds for the same.
const CASES: &[(&str, &str, &str, f64)] = &[
    ("conv2d", include_str!("../../examples/conv2d_hwcn.tir"), "cuda{schedule=tutorial func=conv2d_hwcn}", 46.7),
    ("conv1d v5", include_str!("../../examples/conv1d.tir"), "cuda{schedule=v5}", 46.7),
    ("depthwise2d v4", include_str!("../../examples/depthwise2d.tir"), "cuda{schedule=v4}", 29.8),
    (
        "depthwise 96, 3x3",
        include_str!("../../examples/depthwise_nchw.tir"),
        "cuda{schedule=vthread param=\"num_thread_y=8 num_thread_x=16 num_vthread_y=1 num_vthread_x=2\"}",
        57.0,
    ),
];
const N_RUNS: usize = 200;

/// Compiles the case whose name begins with `name` again and again, for a profiler to look at; tells the time of each pass,
/// and that of the checks around them where the run verifies.
pub(crate) fn repeat(name: &str, n_runs: usize, verify: bool) -> Result<(), String> {
    tc::on_big_stack(|| repeat_here(name, n_runs, verify)).map_err(|failure| failure.text())?
}

fn repeat_here(name: &str, n_runs: usize, verify: bool) -> Result<(), String> {
    let found = CASES.iter().find(|case| case.0.starts_with(name));
    let &(_, text, pipeline, _) = found.ok_or_else(|| format!("there is no candidate `{name}`"))?;
    let compiler = tc::Compiler { threads: 1, verify, ..tc::Compiler::new() };
    let module = compiler.parse("bench.tir", text).map_err(|failure| failure.text())?.module;
    let mut by_pass: Vec<(&str, f64)> = Vec::new();
    let (mut checks_s, mut emit_s, mut all_s) = (0.0, 0.0, 0.0);
    for _ in 0..n_runs {
        let mut candidate = module.clone();
        let start = Instant::now();
        let done = compiler.run(&mut candidate, pipeline).map_err(|failure| failure.text())?;
        let emit = Instant::now();
        compiler.emit_cuda(&candidate).map_err(|failure| failure.text())?;
        emit_s += emit.elapsed().as_secs_f64();
        all_s += start.elapsed().as_secs_f64();
        by_pass.resize(done.records.len(), ("", 0.0));
        for (sum, record) in by_pass.iter_mut().zip(&done.records) {
            *sum = (record.name, sum.1 + record.time.as_secs_f64());
            checks_s += record.verify_time.as_secs_f64();
        }
    }
    by_pass.push(("(checks)", checks_s));
    by_pass.push(("(emit)", emit_s));
    by_pass.push(("(all)", all_s));
    for (pass, seconds) in by_pass {
        report(&format!("{:>9.1} us  {pass}\n", seconds * 1e6 / n_runs as f64));
    }
    Ok(())
}

/// Who compiles many candidates makes all calls on one stack that is large enough (`tc::guard`).
pub(crate) fn run() -> Result<(), String> {
    tc::on_big_stack(run_here).map_err(|failure| failure.text())?
}

fn run_here() -> Result<(), String> {
    report(&format!("\none candidate, parsed module to CUDA text; medians of {N_RUNS}, one thread\n\n"));
    head("TVM 0.16");
    for &(name, text, pipeline, peer_ms) in CASES {
        let compiler = tc::Compiler { threads: 1, verify: false, ..tc::Compiler::new() };
        let module = compiler.parse("bench.tir", text).map_err(|failure| failure.text())?.module;
        let mut times = Vec::with_capacity(N_RUNS);
        for _ in 0..N_RUNS {
            let mut candidate = module.clone();
            let start = Instant::now();
            compiler.run(&mut candidate, pipeline).map_err(|failure| failure.text())?;
            let programs = compiler.emit_cuda(&candidate).map_err(|failure| failure.text())?;
            times.push(start.elapsed().as_secs_f64());
            if programs.manifests.is_empty() {
                return Err(format!("{name}: nothing was emitted"));
            }
        }
        row(name, median(times), Some(peer_ms * 1e-3), &Budget::Faster(100.0), ms);
    }
    Ok(())
}

/// The share of the verifier, and of the checks of forms, in the time of a pipeline that verifies after each pass.
pub(crate) fn verifier() -> Result<(), String> {
    tc::on_big_stack(verifier_here).map_err(|failure| failure.text())?
}

fn verifier_here() -> Result<(), String> {
    report(&format!("\nthe share of the verifier in a pipeline's time; sums of {N_RUNS} runs, one thread\n\n"));
    head("all passes");
    for &(name, text, pipeline, _) in CASES {
        let compiler = tc::Compiler { threads: 1, ..tc::Compiler::new() };
        let module = compiler.parse("bench.tir", text).map_err(|failure| failure.text())?.module;
        // Sums, not medians: what else runs on the machine then takes its part of both alike.
        let (mut checks, mut passes) = (0.0, 0.0);
        for _ in 0..N_RUNS {
            let mut candidate = module.clone();
            let done = compiler.run(&mut candidate, pipeline).map_err(|failure| failure.text())?;
            checks += done.records.iter().map(|record| record.verify_time.as_secs_f64()).sum::<f64>();
            passes += done.records.iter().map(|record| record.time.as_secs_f64()).sum::<f64>();
        }
        row(name, 100.0 * checks / (checks + passes), None, &Budget::Share(2.0), |share| format!("{share:.1} %"));
    }
    Ok(())
}
