//! Failing runs as data: what an embedder's own pass does wrong is found, reproduced and made small.

use std::time::Duration;
use tc::debug::{Limits, Reproducer, Signature, Stage, Verify};
use tc::ir::walk::all_ops;
use tc::ir::{Func, Role};
use tc::pass::{FuncPass, OptionError, PassCx, PassInfo, PassKind, RawOption};

/// Panics on an `if` in a loop, and never ends on one outside.
struct Broken;

impl FuncPass for Broken {
    fn run(&self, func: &mut Func, _: &mut PassCx) -> bool {
        let Some(op) = all_ops(func).find(|&op| func.role(op) == Role::If) else { return false };
        assert!(func.parent_op(op).is_none(), "an `if` in a loop, number {}", op.as_u32());
        loop {
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

fn make(_: &[RawOption]) -> Result<PassKind, OptionError> {
    Ok(PassKind::Func(tc::dialects::tir::FUNC, Box::new(Broken)))
}

static BROKEN: PassInfo = PassInfo {
    name: "broken",
    page: "Breaks.",
    anchor: "tir.func",
    options: &[],
    requires: &[],
    establishes: &[],
    preserves: &[],
    make,
};

fn compiler() -> tc::Compiler {
    let mut compiler = tc::Compiler::new();
    compiler.passes.add_pass(&BROKEN).expect("the name is free");
    compiler
}

const TEXT: &str = "\
tir.func @fine(A: f32[16]) {
  A[0] = 1.0
}

tir.func @f(A: f32[64, 64], B: f32[64]) {
  for i in 0..64 {
    let sum = B[i] + 2.0
    for j in 0..32 + 32 {
      if j < 17 {
        A[i, j] = exp(sum) * B[j]
      }
    }
  }
}
";

#[test]
fn a_panic_is_reproduced_and_made_small() {
    let compiler = compiler();
    let run = compiler.attempt(TEXT, "module(tir.func(simplify,broken,cse))");
    let rerun = compiler.rerun(&run);
    assert_eq!(rerun.failed, Some(Stage::Pass(1)));
    let made = compiler.narrowed(&run).expect("it fails");
    assert_eq!(made.pipeline, "module(tir.func(broken,cse))");
    assert!(made.program.contains("0..64") && made.program.contains("#\"program.tir\":8"), "{}", made.program);
    let read = Reproducer::parse("r.tir", &made.to_string()).map_err(|(wrong, _)| wrong).expect("it reads back");
    let again = compiler.rerun(&read).signature.expect("it fails again");
    assert!(again.is_like(&rerun.signature.expect("it fails")), "{again}");
    // Candidates with the `if` outside of loops hang; they are given up on, and are not taken.
    let limits = Limits { threads: 2, time: Duration::from_millis(400) };
    let small = compiler.reduce(&made, &limits).expect("it fails");
    assert!(small.after.ops.is_some_and(|n| n < 6), "{}", small.text);
    assert!(small.text.contains("pipeline = module(tir.func(broken))"), "{}", small.text);
    assert!(small.text.contains("fails = foreign-pass pass-panicked in broken"), "{}", small.text);
    assert!(small.text.contains("for") && small.text.contains("if"), "{}", small.text);
}

#[test]
fn what_goes_well_or_does_not_read_has_no_reproducer() {
    let compiler = compiler();
    assert_eq!(compiler.narrowed(&compiler.attempt(TEXT, "module(tir.func(simplify))")), None);
    assert_eq!(compiler.narrowed(&compiler.attempt("tir.func @f( {", "module(tir.func(broken))")), None);
    assert_eq!(compiler.narrowed(&compiler.attempt(TEXT, "module(no-such-pass)")), None);
    let run = Reproducer { target: "sm_1".into(), ..compiler.attempt(TEXT, "module()") };
    assert_eq!(compiler.rerun(&run).failed, Some(Stage::Start));
}

#[test]
fn emitters_and_targets_are_part_of_a_run() {
    let compiler = tc::Compiler::new();
    let run = Reproducer {
        emit: Some("cuda".into()),
        verify: Verify::None,
        target: "sm_90".into(),
        ..compiler.attempt(TEXT, "module(tir.func(simplify))")
    };
    let rerun = compiler.rerun(&run);
    assert_eq!(rerun.failed, Some(Stage::Emit));
    let made = compiler.narrowed(&run).expect("it fails");
    assert_eq!((made.pipeline.as_str(), made.target.as_str()), ("module()", "sm_90"));
    let fails: Option<Signature> = compiler.rerun(&made).signature;
    assert_eq!(fails, rerun.signature);
}
