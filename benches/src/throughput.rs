//! Parse, print and cse of a module of a million ops, against `mlir-opt-22` on the same program.
//!
//! Both run on one thread. Ours is timed in this process, the peer by its own `--mlir-timing`, so neither pays for
//! starting up or reading the file. Memory is what the process grew by while it held the module, text excluded.

use crate::{median, program, report};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;
use tc::ir::walk::n_ops;
use tc::ir::{Module, print};

const N_FUNCS: usize = 1000;
const N_GROUPS: usize = 126;
const N_RUNS: usize = 5;

/// Seconds of each step.
struct Times {
    parse: f64,
    print: f64,
    cse: f64,
    /// Bytes an op.
    bytes: f64,
}

pub(crate) fn run() -> Result<(), String> {
    report(&format!(
        "a module of {N_FUNCS} functions, {N_GROUPS} groups of 8 ops each, one thread; medians of {N_RUNS}\n\n"
    ));
    let text = program::tc(N_FUNCS, N_GROUPS);
    let ours = ours(&text)?;
    row("tc", &ours);
    match peer_path() {
        None => report("mlir-opt-22 is not installed (scripts/install-mlir): no ratios\n"),
        Some(path) => {
            let peer = peer(&path)?;
            row("mlir-opt-22", &peer);
            report(&format!(
                "{:<14}{:>11.1}x{:>11.1}x{:>11.1}x{:>11.2}x\n",
                "ratio",
                peer.parse / ours.parse,
                peer.print / ours.print,
                peer.cse / ours.cse,
                peer.bytes / ours.bytes
            ));
        }
    }
    linear_growth()
}

fn row(name: &str, times: &Times) {
    let ms = |seconds: f64| format!("{:.1} ms", seconds * 1e3);
    report(&format!(
        "{name:<14}{:>12}{:>12}{:>12}{:>12}\n",
        format!("parse {}", ms(times.parse)).trim_start_matches("parse "),
        ms(times.print),
        ms(times.cse),
        format!("{:.0} B/op", times.bytes)
    ));
}

fn parse(text: &str) -> Result<Module, String> {
    let registry = tc::dialects::shared_registry();
    let (module, found) = tc::syntax::parse_module("bench.tir", text, &registry, &Default::default());
    if found.has_errors() {
        return Err(tc::support::render::text(&found, &module.sources, false));
    }
    // The peer verifies while it parses; so it is counted here too.
    for item in &module.items {
        if tc::ir::verify::verify(item).has_errors() {
            return Err("the benchmark's program does not verify".to_string());
        }
    }
    Ok(module)
}

fn ours(text: &str) -> Result<Times, String> {
    report(&format!("{:<14}{:>12}{:>12}{:>12}{:>12}\n", "", "parse", "print", "cse", "memory"));
    let (mut parse_s, mut print_s, mut cse_s, mut bytes) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..N_RUNS {
        let before = resident_bytes();
        let start = Instant::now();
        let mut module = parse(text)?;
        parse_s.push(start.elapsed().as_secs_f64());
        let n: usize = module.items.iter().map(n_ops).sum();
        // The module holds a copy of its source text.
        bytes.push((resident_bytes() - before - text.len() as f64) / n as f64);
        let start = Instant::now();
        let printed = print::print_module(&module, &print::PrintOptions::default());
        print_s.push(start.elapsed().as_secs_f64());
        drop(printed);
        let compiler = tc::Compiler { threads: 1, ..tc::Compiler::new() };
        let pipeline = compiler.pipeline("tir.func(cse)", &mut module).map_err(|failure| failure.text())?;
        let options = tc::pass::RunOptions { verify: false, ..compiler.run_options() };
        let mut manager = tc::pass::Manager::new(&compiler.passes, options);
        let start = Instant::now();
        let done = manager.run(&pipeline, &mut module);
        cse_s.push(start.elapsed().as_secs_f64());
        if !done.is_ok() {
            return Err("cse failed".to_string());
        }
    }
    // The first run grows the process; later ones find its memory again.
    let bytes = bytes.first().copied().unwrap_or(f64::NAN);
    Ok(Times { parse: median(parse_s), print: median(print_s), cse: median(cse_s), bytes })
}

/// The memory that is resident for this process.
fn resident_bytes() -> f64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: f64 = statm.split(' ').nth(1).and_then(|pages| pages.parse().ok()).unwrap_or(f64::NAN);
    pages * 4096.0
}

fn peer_path() -> Option<PathBuf> {
    let candidates = ["mlir-opt-22", "/usr/lib/llvm-22/bin/mlir-opt"];
    candidates.into_iter().map(PathBuf::from).find(|path| Command::new(path).arg("--version").output().is_ok())
}

fn peer(path: &Path) -> Result<Times, String> {
    let file = std::env::temp_dir().join(format!("tc-bench-{}.mlir", std::process::id()));
    let text = program::mlir(N_FUNCS, N_GROUPS);
    std::fs::write(&file, &text).map_err(|error| error.to_string())?;
    let result = peer_runs(path, &file, text.len());
    let _ = std::fs::remove_file(&file);
    result
}

fn peer_runs(path: &Path, file: &Path, text_len: usize) -> Result<Times, String> {
    let (mut parse_s, mut print_s, mut cse_s, mut bytes) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..N_RUNS {
        // A shell's `ulimit` is not needed: the kernel tells the peak of the child through /usr/bin/time.
        let run = |args: &[&str]| -> Result<(String, f64), String> {
            let out = Command::new("/usr/bin/time")
                .args(["-f", "peak %M"])
                .arg(path)
                .arg(file)
                .args(["--mlir-disable-threading", "--mlir-timing", "--mlir-timing-display=list", "-o", "/dev/null"])
                .args(args)
                .output()
                .map_err(|error| format!("cannot run /usr/bin/time: {error}"))?;
            let report = String::from_utf8_lossy(&out.stderr).into_owned();
            let peak = report.lines().find_map(|line| line.strip_prefix("peak ")?.trim().parse::<f64>().ok());
            Ok((report, peak.unwrap_or(f64::NAN) * 1024.0))
        };
        let (report, peak) = run(&[])?;
        parse_s.push(timing(&report, "Parser")?);
        print_s.push(timing(&report, "Output")?);
        let n_ops = (N_FUNCS * (N_GROUPS * 8 + 6)) as f64;
        bytes.push((peak - text_len as f64) / n_ops);
        let (report, _) = run(&["--pass-pipeline=builtin.module(func.func(cse))"])?;
        cse_s.push(timing(&report, "CSE")?);
    }
    Ok(Times { parse: median(parse_s), print: median(print_s), cse: median(cse_s), bytes: median(bytes) })
}

/// The seconds that the peer's report gives for `what`.
fn timing(report: &str, what: &str) -> Result<f64, String> {
    let line = report.lines().find(|line| line.trim_end().ends_with(what));
    let seconds = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    seconds.ok_or_else(|| format!("mlir-opt's report has no line for {what}:\n{report}"))
}

/// Twice the program takes twice the time: the seconds an op of modules of a quarter, half and the whole size, and of
/// the whole in one function.
fn linear_growth() -> Result<(), String> {
    report("\nparse, by size (ns an op)\n");
    for (n_funcs, n_groups) in
        [(N_FUNCS / 4, N_GROUPS), (N_FUNCS / 2, N_GROUPS), (N_FUNCS, N_GROUPS), (1, N_FUNCS * N_GROUPS)]
    {
        let text = program::tc(n_funcs, n_groups);
        let start = Instant::now();
        let module = parse(&text)?;
        let seconds = start.elapsed().as_secs_f64();
        let n: usize = module.items.iter().map(n_ops).sum();
        report(&format!("  {n:>9} ops in {n_funcs:>4} functions: {:>6.0}\n", seconds * 1e9 / n as f64));
    }
    Ok(())
}
