//! A thousand candidates of a search space, from parsed modules to CUDA text.
//!
//! The space is that of `examples/depthwise_nchw.tir`: schedules with parameters, at several sizes of the operator. TVM's
//! time is that of one candidate of TVM 0.16, lower and build, on two shared cores.

use crate::report;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

const TEXT: &str = include_str!("../../examples/depthwise_nchw.tir");
const N_CANDIDATES: usize = 1000;
const N_THREADS: usize = 2;
/// What varies: the size of a channel, of the filter, and the multiplier.
const SIZES: &[(i64, i64, i64)] = &[(32, 3, 1), (64, 3, 1), (96, 3, 1), (96, 5, 1), (96, 3, 2), (96, 5, 2)];
const TVM_MS: f64 = 57.0;

pub(crate) fn run() -> Result<(), String> {
    let compiler = tc::Compiler { threads: 1, verify: false, ..tc::Compiler::new() };
    let module = compiler.parse("depthwise_nchw.tir", TEXT).map_err(|failure| failure.text())?.module;
    let pipelines = candidates(&module)?;
    let next = AtomicUsize::new(0);
    let start = Instant::now();
    let work_here = || -> Result<usize, String> {
        let mut bytes = 0;
        while let Some(pipeline) = pipelines.get(next.fetch_add(1, Ordering::Relaxed)) {
            let mut candidate = module.clone();
            compiler.run(&mut candidate, pipeline).map_err(|failure| format!("{pipeline}: {}", failure.text()))?;
            let emitted =
                compiler.emit_cuda(&candidate).map_err(|failure| format!("{pipeline}: {}", failure.text()))?;
            bytes += emitted.source.len();
        }
        Ok(bytes)
    };
    let work = || tc::on_big_stack(work_here).map_err(|failure| failure.text())?;
    let bytes = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..N_THREADS).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_fold(0, |sum, worker| match worker.join() {
            Ok(bytes) => Ok(sum + bytes?),
            Err(_) => Err("a worker panicked".to_string()),
        })
    })?;
    let seconds = start.elapsed().as_secs_f64();
    let each = seconds * 1e3 / pipelines.len() as f64;
    report(&format!(
        "\n{} candidates of the depthwise space, {N_THREADS} threads: {seconds:.2} s, {each:.3} ms each \
         ({} bytes of CUDA); TVM 0.16 {TVM_MS} ms each, {:.0}x; budget 2 s\n",
        pipelines.len(),
        bytes,
        TVM_MS / each
    ));
    Ok(())
}

/// The pipelines of the first candidates: every point of both schedules, size by size, as often as it takes.
fn candidates(module: &tc::ir::Module) -> Result<Vec<String>, String> {
    let mut pipelines = Vec::new();
    for channels in 1.. {
        for &(hw, k, m) in SIZES {
            for schedule in ["threads", "vthread"] {
                for point in points(module, schedule)? {
                    let sizes = format!("hw={hw} k={k} m={m} ch={}", 32 * channels);
                    pipelines.push(format!("cuda{{schedule={schedule} func=depthwise param=\"{sizes} {point}\"}}"));
                    if pipelines.len() == N_CANDIDATES {
                        return Ok(pipelines);
                    }
                }
            }
        }
    }
    Ok(pipelines)
}

/// The points of the schedule called `name`, as the option `param` takes them.
fn points(module: &tc::ir::Module, name: &str) -> Result<Vec<String>, String> {
    let item = |symbol: &str| {
        module.items.iter().find(|item| item.symbol() == symbol).ok_or_else(|| format!("there is no `@{symbol}`"))
    };
    let (operator, schedule) = (item("depthwise")?, item(name)?);
    let space = tc::schedule::Space::of(operator, schedule, &[])
        .map_err(|found| found.iter().map(|one| one.message.clone()).collect::<Vec<String>>().join("; "))?;
    space.points(u64::MAX).map(|point| point.map(|point| space.show(&point)).map_err(|found| found.message)).collect()
}
