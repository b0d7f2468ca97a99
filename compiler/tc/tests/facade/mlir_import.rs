//! MLIR as programs: all that the emitter writes comes back, as the same text or as a program that the simulator runs alike;
//! what does not is refused, by a reason that is listed here. Programs that others wrote are right on the simulator.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use tc::Compiler;
use tc::ir::Module;
use tc::mlir::EmitOptions;
use tc::run::{Choice, cases};
use tc::sim::{CheckOptions, agree};
use tc::target::Target;

/// What makes a program of kernels that were read one that the emitter takes: indices get their widths again.
const WRITTEN_BACK: &str = "tir.func(narrow-index,cse,dce)";

/// Texts that do not come back: the reason, and how many.
const REFUSED: &[(&str, usize)] = &[
    // Lines of PTX: kernels with tensor maps, barriers in shared memory, products of warpgroups.
    ("`@tc_tma_load_1d_multicast` is a function that kernels call", 1),
    ("`@tc_tma_load_2d` is a function that kernels call", 4),
    ("`@tc_tma_store_2d` is a function that kernels call", 1),
    // How an f64 becomes a half, rounded once: by way of an f32 that is odd where it is not exact.
    ("`llvm.call_intrinsic` has no counterpart", 1),
    // Registers of `wmma` fragments are not known to belong to one.
    ("`nvvm.wmma.load` has no counterpart", 4),
    // What rounds an f32 to tf32 by its bits.
    ("the bits of numbers are no number of a program", 2),
    // Factors of bytes without a sign.
    ("this product of tiles has no counterpart", 2),
];

/// Programs that take the simulator minutes; `TC_LONG=1` simulates them too.
const LARGE: &[&str] = &["matmul", "mma-sync", "program_product"];

/// Examples that take passes or the simulator many seconds, which `TC_LONG=1` does not leave out.
const LONG: &[&str] = &["attention", "conv2d", "depthwise", "embedding"];

fn is_long() -> bool {
    std::env::var_os("TC_LONG").is_some()
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)
}

/// The files of a folder that end in `extension`, in order, each with its text.
fn files(name: &str, extension: &str) -> Vec<(String, String)> {
    let entries = std::fs::read_dir(folder(name)).expect("the folder is there");
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|of| of == extension));
    paths.sort();
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).expect("a file can be read");
        (path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(), text)
    };
    paths.into_iter().map(read).collect()
}

fn compiler_for(target: &str) -> Compiler {
    Compiler { target: Target::parse(target).expect("one of the targets"), ..Compiler::new() }
}

/// A module that is written as MLIR.
struct Program {
    name: String,
    compiler: Compiler,
    module: Module,
}

/// The corpora of both emitters.
fn corpus() -> Vec<Program> {
    let mut found = Vec::new();
    for (name, text) in ["emit-mlir", "emit-cuda"].iter().flat_map(|of| files(&format!("filecheck-tests/{of}"), "tir"))
    {
        let target = text.split("--target=").nth(1).and_then(|rest| rest.split_whitespace().next()).unwrap_or("sm_80");
        let compiler = compiler_for(target);
        for part in text.split("// -----\n") {
            // Some files show what no emitter takes.
            let Ok(parsed) = compiler.parse(&name, part) else { continue };
            found.push(Program { name: name.clone(), compiler: compiler.clone(), module: parsed.module });
        }
    }
    found
}

/// Every schedule of every example.
fn examples() -> Vec<Program> {
    let compiler = compiler_for("sm_80");
    let mut found = Vec::new();
    for (file, text) in files("examples", "tir") {
        if !is_long() && LONG.iter().any(|long| file.starts_with(long)) {
            continue;
        }
        let module = compiler.parse(&file, &text).unwrap_or_else(|why| panic!("{file}: {why}")).module;
        for case in cases::to_check(&module, Choice::default()).expect("an example has something to check") {
            let Some(schedule) = case.schedule.map(|item| module.items[item].symbol().to_string()) else { continue };
            let func = module.items[case.func].symbol();
            let mut program = module.clone();
            let pipeline = format!("cuda{{func={func} schedule={schedule}}}");
            compiler.run(&mut program, &pipeline).unwrap_or_else(|why| panic!("{file} @{schedule}: {why}"));
            found.push(Program { name: format!("{file} @{schedule}"), compiler: compiler.clone(), module: program });
        }
    }
    found
}

/// What came of texts.
#[derive(Default, Debug)]
struct Counts {
    texts: usize,
    equal: usize,
    simulated: Vec<String>,
    /// Verified by `mlir-opt`, and too large to be simulated in a test.
    large: Vec<String>,
    /// Simulated, and wrong in the first place: what follows an error is not compared.
    at_fault: Vec<String>,
    refused: BTreeMap<String, Vec<String>>,
}

/// Values of the sizes of `@function` that have none.
fn sizes(module: &Module, function: &str) -> BTreeMap<String, i64> {
    let func = module.function(function).expect("it was emitted");
    let value = |symbol: &tc::ir::func::SymbolDecl| {
        let (low, high) = symbol.range.map_or((None, None), |(low, high)| (func.as_int(low), func.as_int(high)));
        40.min(high.map_or(i64::MAX, |high| high - 1)).max(low.unwrap_or(0))
    };
    let open = func.header.symbols.iter().filter(|symbol| symbol.default.is_none());
    open.map(|symbol| (func.text(symbol.name).to_string(), value(symbol))).collect()
}

/// Emits a program, reads the text, and emits it again; texts that differ go to `others`.
fn round_trip(program: &Program, counts: &mut Counts, others: &mut Vec<(String, String)>) {
    let Program { name, compiler, module } = program;
    let emit = |module: &Module| compiler.emit_mlir(module, &EmitOptions::default());
    // What the emitter refuses is the matter of another test.
    let Ok(first) = emit(module) else { return };
    counts.texts += 1;
    let mut read = match compiler.parse_mlir("kernel.mlir", &first.text) {
        Ok(parsed) => parsed.module,
        Err(why) => {
            let said = why.diagnostics.iter().next().expect("a reason");
            assert!(said.code == "no-counterpart" && said.help.is_some(), "{name}: {why}");
            assert!(matches!(said.location, tc::support::Location::Span(_)), "{name}: {why}");
            return counts.refused.entry(said.message.clone()).or_default().push(name.clone());
        }
    };
    compiler.run(&mut read, WRITTEN_BACK).unwrap_or_else(|why| panic!("{name}: {why}"));
    let second = emit(&read).unwrap_or_else(|why| panic!("{name}: {why}"));
    assert_eq!(second.manifests, first.manifests, "{name}");
    if second.text == first.text {
        counts.equal += 1;
        return;
    }
    others.push((name.clone(), second.text));
    if !is_long() && LARGE.iter().any(|large| name.starts_with(large)) {
        return counts.large.push(name.clone());
    }
    let mut options = CheckOptions { real_inputs: 0, in_field: false, serial: true, ..CheckOptions::default() };
    options.sample_above = 20_000;
    options.limits.steps = if is_long() { options.limits.steps } else { 30_000_000 };
    let mut is_at_fault = false;
    for manifest in &first.manifests {
        options.sizes = sizes(module, &manifest.function);
        let report = agree(module, &read, &manifest.function, &options);
        let report = report.unwrap_or_else(|why| panic!("{name} @{}: {why:?}", manifest.function));
        assert!(report.agrees(), "{name} @{}: {report}", manifest.function);
        is_at_fault |= report.fault_before.is_some();
    }
    // Files of the corpus that show text, and are wrong when they run: there is nothing to compare.
    let count = if is_at_fault { &mut counts.at_fault } else { &mut counts.simulated };
    count.push(name.clone());
}

/// `mlir-opt` reads and verifies all texts, in one process.
fn are_verified(texts: &[(String, String)]) {
    let mut all = String::new();
    for (name, text) in texts {
        let _ = writeln!(all, "// {name}\n{text}\n// -----\n");
    }
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("written-back.mlir");
    std::fs::write(&file, &all).expect("a temporary file can be written");
    let ran = Command::new("/usr/lib/llvm-22/bin/mlir-opt").arg(&file).arg("--split-input-file").output();
    let ran = ran.expect("mlir-opt runs");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
}

#[test]
fn what_the_emitter_writes_comes_back() {
    let (mut counts, mut others) = (Counts::default(), Vec::new());
    corpus().iter().chain(&examples()).for_each(|program| round_trip(program, &mut counts, &mut others));
    are_verified(&others);
    let refused: Vec<(&str, usize)> = counts.refused.iter().map(|(why, names)| (why.as_str(), names.len())).collect();
    let reasons = |list: &[(&str, usize)]| list.iter().map(|(why, _)| why.to_string()).collect::<Vec<_>>();
    assert_eq!(reasons(&refused), reasons(REFUSED));
    assert!(is_long() || refused == REFUSED, "{counts:#?}");
    let n_refused: usize = refused.iter().map(|(_, n)| n).sum();
    assert_eq!(
        counts.texts,
        counts.equal + counts.simulated.len() + counts.large.len() + counts.at_fault.len() + n_refused
    );
    assert!(counts.equal >= 40 && counts.texts >= 100 && counts.at_fault.len() <= 16, "{counts:#?}");
}

/// What the examples compute.
const DEFINITIONS: &[(&str, &str)] = &[
    (
        "saxpy",
        "tir.func @saxpy(a: f32, x: f32[1000000], y: f32[1000000], z: f32[1000000]) {\n  \
         for i in 0..1000000 {\n    z[i] = a * x[i] + y[i]\n  }\n}\n",
    ),
    (
        "matmul",
        "te.func @matmul(A: f32[256, 512], B: f32[512, 128]) -> f32[256, 128] {\n  \
         compute C[i: 256, j: 128] = sum[k: 512](A[i, k] * B[k, j])\n  return C\n}\n",
    ),
    (
        "row_sum",
        "te.func @row_sum<x_1>(x: f32[64, x_1]) -> f32[64] {\n  compute s[i: 64] = sum[k: x_1](x[i, k])\n  return s\n}\n",
    ),
];

#[test]
fn examples_compute_what_they_say_before_and_after_the_pipeline() {
    let compiler = compiler_for("sm_80");
    let texts: BTreeMap<String, String> = files("examples/mlir", "mlir").into_iter().collect();
    assert_eq!(texts.len(), DEFINITIONS.len());
    for (name, definition) in DEFINITIONS {
        let text = &texts[&format!("{name}.mlir")];
        let defined = compiler.parse(name, definition).unwrap_or_else(|why| panic!("{name}: {why}")).module;
        let program = compiler.parse_mlir(name, text).unwrap_or_else(|why| panic!("{name}: {why}")).module;
        let mut compiled = program.clone();
        compiler.run(&mut compiled, "cuda").unwrap_or_else(|why| panic!("{name}: {why}"));
        let mut options = CheckOptions { real_inputs: 0, in_field: false, ..CheckOptions::default() };
        if *name == "matmul" {
            options.sample_above = 1_000_000;
        }
        if *name == "row_sum" {
            options.sizes.insert("x_1".to_string(), 77);
        }
        for module in [&program, &compiled] {
            let report = agree(&defined, module, name, &options).unwrap_or_else(|why| panic!("{name}: {why:?}"));
            assert!(report.agrees() && report.cells > 0, "{name}: {report}");
        }
        let ptx = compiler.emit_ptx(&compiled, tc::Via::Mlir).unwrap_or_else(|why| panic!("{name}: {why}"));
        assert!(ptx.text.contains(&format!(".entry {name}_kernel")), "{}", ptx.text);
    }
}

#[test]
fn what_is_no_text_of_mlir_is_refused_at_its_place() {
    let compiler = compiler_for("sm_80");
    let deep = "(".repeat(100_000);
    for (text, wanted) in [
        ("module {", "MLIR refuses this text"),
        ("module {}", "there is no kernel here"),
        ("module {\0}", "there is a zero in this text"),
        (deep.as_str(), "brackets may be nested 512 deep"),
        ("", "there is no kernel here"),
    ] {
        let why = compiler.parse_mlir("k.mlir", text).expect_err("it is refused");
        let first = why.diagnostics.iter().next().expect("a reason");
        assert!(first.message.contains(wanted), "{why}");
        assert!(matches!(first.location, tc::support::Location::Span(_)), "{why}");
    }
}
