//! One schedule candidate: from the parsed module to CUDA text.
//!
//! TVM cannot run here; its times are those of TVM 0.16, lower and build, compiled -O1, on two shared cores.

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

pub(crate) fn run() -> Result<(), String> {
    report(&format!("\none candidate, parsed module to CUDA text; medians of {N_RUNS}, one thread\n\n"));
    report(&format!("{:<18}{:>12}{:>14}{:>10}\n", "", "tc", "TVM 0.16", "ratio"));
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
        let ms = median(times) * 1e3;
        report(&format!("{name:<18}{:>9.3} ms{:>11.1} ms{:>9.0}x\n", ms, peer_ms, peer_ms / ms));
    }
    Ok(())
}
