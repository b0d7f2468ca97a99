//! The facade as another compiler uses it.

use tc::ir::{AttrData, Func, Rewriter, keys, walk};
use tc::pass::{FuncPass, PassCx, PassInfo, PassKind};
use tc::sim::CheckOptions;
use tc::{Compiler, SemanticsCheck};

const TEXT: &str = "tir.func @f(A: f32[8]) {\n  for i in 0..8 {\n    A[i] = 1.0\n  }\n}\n";

struct CountOps;

impl FuncPass for CountOps {
    fn run(&self, func: &mut Func, cx: &mut PassCx) -> bool {
        cx.count("ops", walk::n_ops(func) as u64);
        assert!(cx.get::<tc::target::Target>().is_some(), "the run lends its target");
        false
    }
}

static COUNT_OPS: PassInfo = PassInfo {
    name: "count-ops",
    page: "Counts ops.\n",
    anchor: "tir.func",
    options: &[],
    requires: &[],
    establishes: &[],
    preserves: &[],
    make: |_| Ok(PassKind::Func(tc::dialects::tir::FUNC, Box::new(CountOps))),
};

#[test]
fn a_pass_of_ones_own_runs_in_a_pipeline() {
    let mut compiler = Compiler::new();
    compiler.passes.add_pass(&COUNT_OPS).expect("the name is free");
    assert!(compiler.passes.add_pass(&COUNT_OPS).is_err());
    let mut module = compiler.parse("f.tir", TEXT).expect("right").module;
    let report = compiler.run(&mut module, "module(tir.func(count-ops,cse))").expect("it runs");
    let counted: Vec<_> = report.records[0].stats.iter().collect();
    assert_eq!(counted, [("ops", walk::n_ops(&module.items[0]) as u64)]);
}

#[test]
fn a_failure_carries_what_is_wrong_and_where() {
    let compiler = Compiler::new();
    let failure = compiler.parse("f.tir", "tir.func @f(A: f32[8]) {\n  A[0] = b\n}\n").expect_err("`b` is nothing");
    assert!(failure.text().contains("f.tir:2:10") && !failure.is_bug(), "{failure}");
    let mut module = compiler.parse("f.tir", TEXT).expect("right").module;
    let failure = compiler.run(&mut module, "simplfy").expect_err("a slip");
    assert!(failure.text().contains("did you mean `simplify`?"), "{failure}");
}

#[test]
fn every_named_pipeline_reads_with_its_defaults() {
    let compiler = Compiler::new();
    for info in compiler.passes.pipelines() {
        let mut module = compiler.parse("f.tir", TEXT).expect("right").module;
        let pipeline = compiler.pipeline(info.name, &mut module).unwrap_or_else(|failure| panic!("{failure}"));
        assert!(pipeline.passes.len() > 1);
        let again = compiler.pipeline(&pipeline.to_string(), &mut module).expect("what is printed reads");
        assert_eq!(again.to_string(), pipeline.to_string());
    }
}

/// Makes every float literal a 3.
struct Spoil;

impl FuncPass for Spoil {
    fn run(&self, func: &mut Func, _: &mut PassCx) -> bool {
        let ops: Vec<_> = walk::all_ops(func).collect();
        let mut rewriter = Rewriter::new(func);
        let three = rewriter.func_mut().attr(AttrData::float(3.0));
        for op in ops {
            let value = rewriter.func().attr_of(op, keys::VALUE);
            if value.is_some_and(|value| matches!(rewriter.func().attr_data(value), AttrData::Float(..))) {
                rewriter.set_attr(op, keys::VALUE, three);
            }
        }
        rewriter.changed()
    }
}

static SPOIL: PassInfo = PassInfo {
    name: "spoil",
    page: "Spoils.\n",
    make: |_| Ok(PassKind::Func(tc::dialects::tir::FUNC, Box::new(Spoil))),
    ..COUNT_OPS
};

#[test]
fn a_pass_that_changes_the_meaning_is_named() {
    let mut compiler = Compiler::new();
    compiler.passes.add_pass(&SPOIL).expect("the name is free");
    let mut module = compiler.parse("f.tir", TEXT).expect("right").module;
    let pipeline = compiler.pipeline("cse,spoil,dce", &mut module).expect("right");
    let mut manager = compiler.manager();
    manager.instrument(SemanticsCheck::new(CheckOptions::default()));
    let report = manager.run(&pipeline, &mut module);
    drop(manager);
    assert_eq!(report.failed, Some(1));
    let failure = tc::Failure { diagnostics: report.diagnostics, sources: module.sources };
    let text = failure.text();
    // It is the pass's bug, not ours.
    assert!(
        !failure.is_bug() && text.contains("`spoil` changed the meaning of `@f`: disagreed: `A[0]` is 3"),
        "{text}"
    );
    assert!(text.contains("`spoil` is no pass of tc: whoever added it has to mend it"), "{text}");
    assert!(text.contains("while running pass 2 of 3, `spoil`"), "{text}");
}
