//! What an embedder adds: passes at places of the named pipelines, passes over text, limits; and what becomes of a module
//! on which a run failed.

use std::sync::Mutex;
use tc::dialects::tir;
use tc::ir::{Func, walk};
use tc::pass::{FuncPass, Limits, PassCx, PassInfo, PassKind};
use tc::support::{Cancel, Diagnostic, Fault};
use tc::text_pass::text_pass;
use tc::{Compiler, testing};

const TEXT: &str = "te.func @double<n: 1..1048576 = 1024>(A: f32[n]) -> f32[n] {
  compute B[i: n] = A[i] * 2.0
  return B
}
schedule @threads for @double (block: i32 in [32, 64, 128]) {
  bx, tx = split(B.i, factor = block)
  bind(bx, blockIdx.x)
  bind(tx, threadIdx.x)
}
";

/// Tells of each function that it sees how many ops it has, and whether it is a kernel.
struct Look;

impl FuncPass for Look {
    fn run(&self, func: &mut Func, cx: &mut PassCx) -> bool {
        let text = format!("@{} {}", func.symbol(), func.to_string().contains("device"));
        cx.report(Diagnostic::remark("look", tc::support::Location::None, text));
        cx.count("ops", walk::n_ops(func) as u64);
        false
    }
}

static LOOK: PassInfo = PassInfo {
    name: "look",
    page: "Looks.\n",
    anchor: "tir.func",
    make: |_| Ok(PassKind::Func(tir::FUNC, Box::new(Look))),
    ..PassInfo::BASE
};

#[test]
fn a_pass_of_ones_own_runs_at_every_place_of_cuda() {
    let places: Vec<&str> = tc::passes::table::CUDA.places().iter().filter_map(|(_, step)| step.place).collect();
    let all = ["before-schedule", "after-schedule", "after-storage-flatten", "before-thread-sync", "before-emit"];
    assert_eq!(places, all);
    let plain = testing::cuda("cuda{param=\"block=64\"}", TEXT);
    for place in &places[1..] {
        let mut compiler = Compiler::new();
        compiler.passes.add_pass(&LOOK).expect("the name is free");
        compiler.passes.add_at("cuda", place, "look,tir.func(canonicalize)").expect("it is a place");
        let mut module = compiler.parse("f.tir", TEXT).expect("right").module;
        let report =
            compiler.run(&mut module, "cuda{param=\"block=64\"}").unwrap_or_else(|failure| panic!("{failure}"));
        let seen: Vec<&str> =
            report.diagnostics.iter().filter(|one| one.code == "look").map(|one| &*one.message).collect();
        let wanted: &[&str] =
            if *place == "before-emit" { &["@double false", "@double_kernel true"] } else { &["@double false"] };
        assert_eq!(seen, wanted, "{place}");
        let source = compiler.emit_cuda(&module).unwrap_or_else(|failure| panic!("{failure}")).source;
        assert!(plain.contains(source.split_once('\n').expect("a first line").1), "{place}: {source}");
    }
}

#[test]
fn a_run_is_given_values_beside_those_of_the_pipeline() {
    let mut compiler = Compiler::new();
    compiler.defines = vec![("block".to_string(), 32), ("n".to_string(), 96)];
    let grid = |compiler: &Compiler, pipeline: &str| {
        let cuda = compiler.compile_to_cuda("f.tir", TEXT, pipeline).map_err(|failure| failure.text())?;
        Ok::<_, String>((cuda.manifests[0].kernels[0].grid[0], cuda.manifests[0].kernels[0].block[0]))
    };
    assert_eq!(grid(&compiler, "cuda"), Ok((3, 32)));
    // What the pipeline says goes first.
    assert_eq!(grid(&compiler, "cuda{param=\"block=64\"}"), Ok((2, 64)));
    compiler.defines = vec![("blok".to_string(), 32)];
    let wrong = grid(&compiler, "cuda").expect_err("there is no such parameter");
    assert!(wrong.contains("there is no size and no parameter `blok`") && wrong.contains("did you mean `block`?"));
}

#[test]
fn a_failed_pass_spoils_the_module_and_a_pipeline_that_cannot_be_read_does_not() {
    let compiler = Compiler::new();
    let mut module = compiler.parse("f.tir", "tir.func @f(A: f32[8]) {\n  A[9] = 1.0\n}\n").expect("right").module;
    compiler.run(&mut module, "no-such-pass").expect_err("there is none");
    assert!(compiler.run(&mut module, "cse").is_ok() && module.spoiled_by.is_none());
    let mut copy = module.clone();
    compiler.run(&mut module, "tir.func(cse,check-bounds)").expect_err("9 is out");
    assert_eq!(module.spoiled_by, Some("check-bounds"));
    let says = |failure: tc::Failure| {
        let text = failure.text();
        assert!(text.contains("error[spoiled-module]: `check-bounds` failed on this module"), "{text}");
        assert!(!failure.is_bug() && text.contains("help: clone a module before a run"), "{text}");
    };
    says(compiler.run(&mut module, "cse").expect_err("spoiled"));
    says(compiler.print(&module).expect_err("spoiled"));
    says(compiler.verify(&module).expect_err("spoiled"));
    says(compiler.emit_cuda(&module).expect_err("spoiled"));
    says(compiler.emit_mlir(&module, &tc::mlir::EmitOptions::default()).expect_err("spoiled"));
    assert!(module.to_string().contains("A[9]"), "it may be looked at");
    assert!(compiler.run(&mut copy, "cse").is_ok());
}

#[test]
fn a_run_that_is_ended_leaves_the_module_as_it_was() {
    let mut compiler = Compiler::new();
    let mut module = compiler.parse("f.tir", TEXT).expect("right").module;
    let (before, whole) = (module.to_string(), "cuda{param=\"block=64\"}");
    let needed = compiler.run(&mut module.clone(), whole).unwrap_or_else(|failure| panic!("{failure}")).steps;
    for steps in [0, 1, needed / 2, needed - 1] {
        compiler.limits = Limits { steps: Some(steps), cancel: None };
        let failure = compiler.run(&mut module, whole).expect_err("too few");
        assert!(failure.is_ended() && !failure.is_bug(), "{failure}");
        assert_eq!((module.to_string(), module.spoiled_by), (before.clone(), None));
    }
    let cancel = Cancel::new();
    cancel.cancel();
    compiler.limits = Limits { steps: None, cancel: Some(cancel) };
    assert!(compiler.run(&mut module, whole).expect_err("cancelled").is_ended());
    compiler.limits = Limits { steps: Some(needed), cancel: None };
    assert!(compiler.run(&mut module, whole).is_ok());
}

static SHOUT: PassInfo = PassInfo { name: "shout", page: "Shouts.\n", ..PassInfo::BASE };

fn with_text_pass(
    run: impl Fn(&mut tc::text_pass::TextCall<'_>) -> Result<Option<String>, String> + Send + Sync + 'static,
) -> Compiler {
    let mut compiler = Compiler::new();
    compiler.passes.add_pass_with(&SHOUT, text_pass("shout", run)).expect("the name is free");
    compiler
}

const TWO: &str = "tir.func @f(A: f32[8]) {\n  A[0] = 1.0\n}\ntir.func @g(A: f32[8]) {\n  A[0] = 2.0\n}\n";

#[test]
fn a_text_pass_changes_what_it_changes_and_leaves_the_rest_alone() {
    let seen = Mutex::new(0);
    let compiler = with_text_pass(move |call| {
        *seen.lock().expect("one at a time") += 1;
        Ok(Some(call.text.replace("2.0", "3.0")))
    });
    let mut module = compiler.parse("f.tir", TWO).expect("right").module;
    let versions = |module: &tc::ir::Module| module.items.iter().map(Func::version).collect::<Vec<_>>();
    let before = versions(&module);
    let report = compiler.run(&mut module, "shout").unwrap_or_else(|failure| panic!("{failure}"));
    assert!(report.records[0].changed);
    assert!(module.to_string().contains("3.0"));
    let after = versions(&module);
    assert!(after[0] == before[0] && after[1] != before[1], "`@f` is the function that it was");
    let report = compiler.run(&mut module, "shout").unwrap_or_else(|failure| panic!("{failure}"));
    assert!(!report.records[0].changed);
}

#[test]
fn what_a_text_pass_gives_is_checked_and_what_it_reports_has_a_place() {
    let refused = |compiler: &Compiler| {
        let mut module = compiler.parse("f.tir", TWO).expect("right").module;
        let failure = compiler.run(&mut module, "shout").expect_err("wrong");
        assert!(failure.diagnostics.iter().filter(|one| one.is_error()).all(|one| one.fault != Fault::Bug));
        failure.text()
    };
    let shown = refused(&with_text_pass(|call| Ok(Some(call.text.replace("2.0", "b")))));
    assert!(shown.contains("<after shout>:8:10") && shown.contains("while running pass 1 of 1, `shout`"), "{shown}");
    let shown = refused(&with_text_pass(|_| Err("no voice".to_string())));
    assert!(shown.contains("error[text-pass]: `shout` failed: no voice"), "{shown}");
    let shown = refused(&with_text_pass(|call| {
        let at = call.text.find("2.0").ok_or("it is there")?;
        let found = Diagnostic::error("too-loud", call.span(at..at + 3), "this is too loud");
        call.report(found);
        Ok(None)
    }));
    assert!(shown.contains("error[too-loud]: this is too loud") && shown.contains("<before shout>:8:10"), "{shown}");
    let shown = refused(&with_text_pass(|_| panic!("hoarse")));
    assert!(shown.contains("error[pass-panicked]: `shout` panicked: hoarse"), "{shown}");
}

tc::ir::dialect! {
    /// The rows of `mine`.
    dialect "mine";

    /// Twice a number.
    Twice "twice" (value: value)
    { context: tc::ir::opdef::Context::Any, results: tc::ir::opdef::Results::Count(1), infer: tc::ir::opdef::Infer::Same(0) }
}

mod other {
    tc::ir::dialect! {
        /// The rows of `other`.
        dialect "other";

        /// Half of a number.
        Half "half" (value: value)
        { context: tc::ir::opdef::Context::Any, results: tc::ir::opdef::Results::Count(1), infer: tc::ir::opdef::Infer::Same(0) }
    }
}

#[test]
fn numbers_of_dialects_are_allotted_in_any_order() {
    let text = "tir.func @f(A: f32[8]) {\n  A[0] = mine.twice(other.half(A[1]))\n}\n";
    for order in [[DIALECT, other::DIALECT], [other::DIALECT, DIALECT]] {
        let mut compiler = Compiler::new();
        order.into_iter().for_each(|dialect| compiler.add_dialect(dialect).expect("the name is free"));
        assert!(compiler.add_dialect(DIALECT).is_err(), "its name is taken");
        let module = compiler.parse("f.tir", text).unwrap_or_else(|failure| panic!("{failure}")).module;
        let func = &module.items[0];
        let count = |is: &dyn Fn(tc::ir::Op) -> bool| walk::all_ops(func).filter(|&op| is(op)).count();
        assert_eq!(count(&|op| Twice::of(func, op).is_some()), 1);
        assert_eq!(count(&|op| other::Half::of(func, op).is_some()), 1);
        assert_ne!(Twice::opcode_in(&compiler.registry), other::Half::opcode_in(&compiler.registry));
        assert!(compiler.print(&module).is_ok_and(|printed| printed.contains("A[0] = mine.twice(other.half(A[1]))")));
    }
}

#[test]
fn a_compiler_that_lacks_the_dialect_of_a_module_says_so() {
    let mut compiler = Compiler::new();
    compiler.add_dialect(DIALECT).expect("the name is free");
    let mut module =
        compiler.parse("f.tir", "tir.func @f(A: f32[8]) {\n  A[0] = mine.twice(A[1])\n}\n").expect("right").module;
    let plain = Compiler::new();
    let text = plain.run(&mut module, "cse").expect_err("it lacks `mine`").text();
    assert!(text.contains("error[missing-dialect]: `@f` holds ops of the dialect `mine`, which this compiler lacks"));
    assert!(text.contains("f.tir:2:10") && text.contains("help: add it with `Compiler::add_dialect`"), "{text}");
    assert!(plain.emit_cuda(&module).is_err() && plain.verify(&module).is_err());
    // What holds nothing of it is any compiler's.
    let mut module = compiler.parse("f.tir", TWO).expect("right").module;
    assert!(plain.run(&mut module, "cse").is_ok());
    assert!(compiler.run(&mut module, "cse").is_ok());
}
