//! What no caller of the facade may see: a panic, an overflow of a small stack, a program of wrong types.

use tc::ir::Func;
use tc::pass::{FuncPass, PassCx, PassInfo, PassKind};
use tc::support::Fault;
use tc::{Compiler, Failure};

/// A program that is nested as deeply as a text may be, with a kernel in it.
fn nested(depth: usize) -> String {
    let mut text = String::from("tir.func @f(A: f32[64]) {\n  for t in 0..64 bind(threadIdx.x) {\n");
    (0..depth).for_each(|level| text += &format!("if A[t] < {level}.0 {{\n"));
    text + "A[t] = 1.0\n" + &"}\n".repeat(depth) + "}\n}\n"
}

/// An expression that is nested as deeply as a text may be.
fn parentheses(depth: usize) -> String {
    let (open, close) = ("(1.0 + ".repeat(depth), ")".repeat(depth));
    let schedule = "schedule @s for @f {\n  bind(B.i, threadIdx.x)\n}\n";
    format!("te.func @f(A: f32[64]) -> f32[64] {{\n  compute B[i: 64] = {open}A[i]{close}\n  return B\n}}\n{schedule}")
}

fn on_small_stack<T: Send>(run: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(1 << 20).spawn_scoped(scope, run);
        thread.expect("a small thread").join().expect("it ends")
    })
}

#[test]
fn deep_texts_are_compiled_from_a_small_stack() {
    on_small_stack(|| {
        let compiler = Compiler::new();
        let cuda =
            compiler.compile_to_cuda("f.tir", &parentheses(250), "cuda").unwrap_or_else(|failure| panic!("{failure}"));
        assert!(cuda.source.contains("__global__"));
        let mut module = compiler.parse("f.tir", &nested(125)).unwrap_or_else(|failure| panic!("{failure}")).module;
        let printed = compiler.print(&module).expect("it prints");
        assert_eq!(
            compiler.print(&compiler.parse("g.tir", &printed).expect("it parses").module).expect("again"),
            printed
        );
        compiler.run(&mut module, "cuda").unwrap_or_else(|failure| panic!("{failure}"));
        compiler.emit_cuda(&module).unwrap_or_else(|failure| panic!("{failure}"));
    });
}

#[test]
fn texts_that_are_too_deep_are_refused_from_a_small_stack() {
    on_small_stack(|| {
        for text in [nested(5000), parentheses(5000), "(".repeat(1 << 20), "{".repeat(1 << 20)] {
            let failure = Compiler::new().parse("f.tir", &text).expect_err("too deep");
            assert!(!failure.is_bug(), "{failure}");
        }
    });
}

struct Panics;

impl FuncPass for Panics {
    fn run(&self, func: &mut Func, _: &mut PassCx) -> bool {
        panic!("cannot do with @{}", func.symbol())
    }
}

static PANICS: PassInfo = PassInfo {
    name: "panics",
    page: "Panics.\n",
    anchor: "tir.func",
    options: &[],
    requires: &[],
    establishes: &[],
    preserves: &[],
    make: |_| Ok(PassKind::Func(tc::dialects::tir::FUNC, Box::new(Panics))),
};

/// Panics while its options are read, outside of any pass.
static PANICS_EARLY: PassInfo = PassInfo { name: "panics-early", make: |_| panic!("no such options"), ..PANICS };

/// Does `run` with a hook that tells whether it was called on a thread of the compiler.
fn only_on_compiler_threads<T>(run: impl FnOnce() -> T) -> T {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !tc::guard::is_compiler_thread() {
            usual(info);
        }
    }));
    run()
}

fn is_our_bug<T>(made: Result<T, Failure>, text: &str) {
    let Err(failure) = made else { panic!("it went well") };
    assert!(failure.is_bug() && failure.text().contains(text), "{failure}");
    assert!(failure.diagnostics.iter().any(|found| found.fault == Fault::Bug));
}

/// A pass of somebody else's is named, and is no defect of the compiler.
fn is_their_bug<T>(made: Result<T, Failure>, pass: &str, text: &str) {
    let Err(failure) = made else { panic!("it went well") };
    let shown = failure.text();
    assert!(!failure.is_bug() && !shown.contains("internal error"), "{shown}");
    assert!(shown.contains(&format!("error[pass-panicked]: `{pass}` panicked: {text}")), "{shown}");
    assert!(shown.contains(&format!("`{pass}` is no pass of tc: whoever added it has to mend it")), "{shown}");
    assert!(failure.diagnostics.iter().all(|found| found.fault == Fault::ForeignPass));
}

#[test]
fn a_panic_becomes_a_failure() {
    only_on_compiler_threads(|| {
        let mut compiler = Compiler::new();
        compiler.passes.add_pass(&PANICS).expect("the name is free");
        compiler.passes.add_pass(&PANICS_EARLY).expect("the name is free");
        let text = "tir.func @f(A: f32[8]) {\n}\ntir.func @g(A: f32[8]) {\n}\n";
        let mut module = compiler.parse("f.tir", text).expect("right").module;
        is_their_bug(compiler.run(&mut module.clone(), "panics"), "panics", "cannot do with @f");
        is_their_bug(compiler.run(&mut module, "panics-early"), "panics-early", "no such options");
        is_their_bug(compiler.pipeline("panics-early", &mut module), "panics-early", "no such options");
        is_their_bug(compiler.compile_to_cuda("f.tir", text, "panics-early"), "panics-early", "no such options");
        is_our_bug(tc::on_big_stack(|| -> () { panic!("{}", "by the host") }), "by the host");
        assert!(compiler.run(&mut module, "cse").is_ok(), "the compiler goes on");
    });
}

#[test]
fn calls_inside_one_big_stack_stay_there() {
    let outside = std::thread::current().id();
    let (here, inner) = tc::on_big_stack(|| {
        let here = std::thread::current().id();
        (here, tc::on_big_stack(|| std::thread::current().id()).expect("nothing panics"))
    })
    .expect("nothing panics");
    assert!(here == inner && here != outside);
}

/// In the generic form the types of results are written, and may be wrong. (The short form leaves them out.)
#[test]
fn results_of_other_types_than_the_operands_are_refused() {
    let cases = [
        ("arith.add(x, x) : f32[4]", "`arith.add` of `f32` cannot be `f32[4]`"),
        ("arith.cmp(n, n, predicate = lt) : i32", "a comparison gives `bool`, not `i32`"),
        ("arith.select(d, x, x) : f32[8]", "`select` of `f32` cannot be `f32[8]`"),
        ("arith.broadcast(x, lanes = 4) : i32x4", "`arith.broadcast` of `f32` cannot be `i32x4`"),
        ("arith.broadcast(x, lanes = 4) : f32[8]", "`arith.broadcast` of `f32` cannot be `f32[8]`"),
    ];
    let parse = |line: &str| {
        let head = "tir.func @f(A: f32[8], n: i32) {\n  x = A[0]\n  d = arith.cmp(n, n, predicate = lt) : bool\n";
        Compiler::new().parse("f.tir", &format!("{head}  y = {line}\n}}\n"))
    };
    assert!(parse("arith.broadcast(x, lanes = 4) : f32x4").is_ok());
    for (line, want) in cases {
        let text = parse(line).expect_err(line).text();
        assert!(text.contains(want), "{line}: {text}");
    }
}
