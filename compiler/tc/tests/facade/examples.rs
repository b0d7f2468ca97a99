//! Every schedule of every example: it is right on the simulator, compiles for three generations of GPUs, and the same
//! input gives the same bytes.

use std::path::Path;
use tc::ir::Module;
use tc::run::{Case, CheckOptions, Choice, Machine, cases, check};
use tc::runtime::nvrtc;
use tc::sim::FieldVerdict;
use tc::target::{Feature, Target};
use tc::{Compiler, Failure};

/// An example: its file, its text, and its schedules.
struct Example {
    file: String,
    text: String,
    module: Module,
    cases: Vec<Case>,
}

/// Examples that take the simulator half a minute and more, even if only some blocks are run.
const LARGE: &[&str] = &["depthwise_nchw.tir", "conv2d"];

/// Examples on tensor cores, which not all targets have: tests/tensorcore.rs runs them at small sizes, and says which
/// targets are told so.
const TENSOR_CORES: &[&str] = &[
    "attention",
    "conv2d_f32_t",
    "conv2d_t",
    "matmul_bf16",
    "matmul_f16",
    "matmul_f32",
    "matmul_i8",
    "matmul_tf32",
    "program_product",
];

impl Example {
    fn is_one_of(&self, files: &[&str]) -> bool {
        files.iter().any(|file| self.file.starts_with(file))
    }
}

/// All examples, in the order of their names.
fn examples(compiler: &Compiler) -> Vec<Example> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let entries = std::fs::read_dir(&folder).expect("the examples are there");
    let mut files: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.ends_with(".tir"))
        .collect();
    files.sort();
    let read = |file: String| {
        let text = std::fs::read_to_string(folder.join(&file)).expect("an example can be read");
        let module = compiler.parse(&file, &text).unwrap_or_else(|why| panic!("{file}: {why}")).module;
        let mut found = cases::to_check(&module, Choice::default()).expect("an example has something to check");
        found.retain(|case| case.schedule.is_some());
        let is_elsewhere = TENSOR_CORES.iter().any(|one| file.starts_with(one));
        assert!(!found.is_empty() || is_elsewhere, "{file} has no schedule");
        Example { file, text, module, cases: found }
    };
    let found: Vec<Example> = files.into_iter().map(read).collect();
    assert!(found.len() >= 13, "{} examples", found.len());
    found
}

fn compiles_for(target: &str) {
    let target = Target::parse(target).expect("one of the targets");
    let compiler = Compiler { target, ..Compiler::new() };
    let has_all = target.has(Feature::Bf16);
    for example in examples(&compiler).into_iter().filter(|example| has_all || !example.is_one_of(TENSOR_CORES)) {
        for case in &example.cases {
            let name = format!("{} of {} for {target}", case.name(&example.module), example.file);
            let symbol = |item: usize| example.module.items[item].symbol();
            let schedule = case.schedule.map_or("", symbol);
            let pipeline = format!("cuda{{func={} schedule={schedule}}}", symbol(case.func));
            let emit = || -> Result<String, Failure> {
                Ok(compiler.compile_to_cuda(&example.file, &example.text, &pipeline)?.source)
            };
            let source = emit().unwrap_or_else(|why| panic!("{name}: {why}"));
            assert_eq!(Some(&source), emit().ok().as_ref(), "{name}");
            let compiled = nvrtc::compile(&source, &example.file, &target, &nvrtc::Options::default());
            assert!(compiled.is_ok(), "{name}: {:?}\n{source}", compiled.err());
        }
    }
}

#[test]
fn every_schedule_compiles_for_sm_70_and_is_emitted_alike_twice() {
    compiles_for("sm_70");
}

#[test]
fn every_schedule_compiles_for_sm_80_and_is_emitted_alike_twice() {
    compiles_for("sm_80");
}

#[test]
fn every_schedule_compiles_for_sm_90_and_is_emitted_alike_twice() {
    compiles_for("sm_90");
}

#[test]
fn every_schedule_is_right_on_the_simulator() {
    let compiler = Compiler::new();
    let options = CheckOptions::default();
    let is_small = |example: &Example| !example.is_one_of(LARGE) && !example.is_one_of(TENSOR_CORES);
    for example in examples(&compiler).into_iter().filter(is_small) {
        for case in &example.cases {
            let name = format!("{} of {}", case.name(&example.module), example.file);
            let checked = check(&compiler, &example.module, case, &mut Machine::Simulator, &options);
            let checked = checked.unwrap_or_else(|why| panic!("{name}: {why}"));
            assert!(checked.ok, "{name}: {:?}", checked.diagnostics);
            assert!(checked.cells.is_some_and(|cells| cells > 0), "{name} compares nothing");
            assert_eq!(checked.field, Some(FieldVerdict::Equal), "{name}: {:?}", checked.diagnostics);
        }
    }
}
