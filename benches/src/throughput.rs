//! Parse, print and cse of a module of a million ops, against `mlir-opt-22` on the same program.
//!
//! Both run on one thread. Ours is timed in this process, the peer by its own `--mlir-timing`, so neither pays for
//! starting up or reading the file. Memory is what the process grew by while it held the module, text excluded.

use crate::budget::{Budget, head, ms, row};
use crate::{median, program, report};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;
use tc::ir::walk::n_ops;
use tc::ir::{Module, print};

pub(crate) const N_FUNCS: usize = 1000;
pub(crate) const N_GROUPS: usize = 126;
const N_RUNS: usize = 5;

/// Seconds of each step.
struct Times {
    parse: f64,
    print: f64,
    generic: f64,
    cse: f64,
    /// Bytes an op.
    bytes: f64,
}

/// Runs it, `beside` the peer or alone.
pub(crate) fn run(beside: bool) -> Result<(), String> {
    report(&format!(
        "a module of {N_FUNCS} functions, {N_GROUPS} groups of 8 ops each, one thread; medians of {N_RUNS}\n\n"
    ));
    let ours = ours(&program::tc(N_FUNCS, N_GROUPS))?;
    let peer = peer_path().filter(|_| beside).map(|path| peer(&path)).transpose()?;
    if beside && peer.is_none() {
        report("mlir-opt-22 is not installed (scripts/install-mlir): no ratios\n");
    }
    let of_peer = |figure: fn(&Times) -> f64| peer.as_ref().map(figure);
    head("mlir-opt-22");
    row("parse and verify", ours.parse, of_peer(|times| times.parse), &Budget::Faster(4.0), ms);
    row("print", ours.print, of_peer(|times| times.print), &Budget::Faster(10.0), ms);
    row("print, generic form", ours.generic, of_peer(|times| times.generic), &Budget::Faster(10.0), ms);
    row("cse", ours.cse, of_peer(|times| times.cse), &Budget::Faster(10.0), ms);
    row("memory", ours.bytes, of_peer(|times| times.bytes), &Budget::Bytes(96.0), |bytes| format!("{bytes:.0} B/op"));
    Ok(())
}

/// `text`, parsed and verified.
pub(crate) fn parse(text: &str) -> Result<Module, String> {
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
    let (mut parse_s, mut print_s, mut generic_s) = (Vec::new(), Vec::new(), Vec::new());
    let (mut cse_s, mut bytes) = (Vec::new(), Vec::new());
    for _ in 0..N_RUNS {
        let before = resident_bytes();
        let start = Instant::now();
        let mut module = parse(text)?;
        parse_s.push(start.elapsed().as_secs_f64());
        let n: usize = module.items.iter().map(n_ops).sum();
        // The module holds a copy of its source text.
        bytes.push((resident_bytes() - before - text.len() as f64) / n as f64);
        print_s.push(print(&module, false));
        generic_s.push(print(&module, true));
        cse_s.push(cse(&mut module)?);
    }
    // The first run grows the process; later ones find its memory again.
    let bytes = bytes.first().copied().unwrap_or(f64::NAN);
    Ok(Times { parse: median(parse_s), print: median(print_s), generic: median(generic_s), cse: median(cse_s), bytes })
}

/// The seconds of printing `module`.
pub(crate) fn print(module: &Module, generic: bool) -> f64 {
    let start = Instant::now();
    let printed = print::print_module(module, &print::PrintOptions { generic, ..Default::default() });
    let seconds = start.elapsed().as_secs_f64();
    drop(printed);
    seconds
}

/// The seconds of `cse` on `module`.
pub(crate) fn cse(module: &mut Module) -> Result<f64, String> {
    let compiler = tc::Compiler { threads: 1, ..tc::Compiler::new() };
    let pipeline = compiler.pipeline("tir.func(cse)", module).map_err(|failure| failure.text())?;
    let options = tc::pass::RunOptions { verify: false, ..compiler.run_options() };
    let mut manager = tc::pass::Manager::new(&compiler.passes, options);
    let start = Instant::now();
    let done = manager.run(&pipeline, module);
    let seconds = start.elapsed().as_secs_f64();
    if done.is_ok() { Ok(seconds) } else { Err("cse failed".to_string()) }
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
    let (mut parse_s, mut print_s, mut generic_s) = (Vec::new(), Vec::new(), Vec::new());
    let (mut cse_s, mut bytes) = (Vec::new(), Vec::new());
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
        let (report, _) = run(&["--mlir-print-op-generic"])?;
        generic_s.push(timing(&report, "Output")?);
        let (report, _) = run(&["--pass-pipeline=builtin.module(func.func(cse))"])?;
        cse_s.push(timing(&report, "CSE")?);
    }
    Ok(Times {
        parse: median(parse_s),
        print: median(print_s),
        generic: median(generic_s),
        cse: median(cse_s),
        bytes: median(bytes),
    })
}

/// The seconds that the peer's report gives for `what`.
fn timing(report: &str, what: &str) -> Result<f64, String> {
    let line = report.lines().find(|line| line.trim_end().ends_with(what));
    let seconds = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    seconds.ok_or_else(|| format!("mlir-opt's report has no line for {what}:\n{report}"))
}
