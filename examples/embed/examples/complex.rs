//! A dialect with operators of its own: complex numbers, which are written `a * b + -c` as other numbers are.
//!
//! `cargo run -p einsum-embed --example complex` prints a program as it was read, and with its complex numbers lowered.

use std::collections::BTreeMap;
use std::io::Write;
use tc::Compiler;
use tc::dialects::{arith, tir};
use tc::ir::attrs::{BinOp, UnOp};
use tc::ir::opdef::{Context, Infer, Results, Role};
use tc::ir::{Attrs, Elem, Func, Op, Rewriter, Type, TypeData, Value, rewrite};
use tc::pass::{FuncPass, PassCx, PassInfo, PassKind};

tc::ir::dialect! {
    /// The rows of `complex`.
    dialect "complex", types = ["complex.number"];

    /// The number `re + im * i`.
    Whole "of" (re: value, im: value)
    { context: Context::Any, results: Results::Count(1), infer: Infer::By(number) }

    /// `a + b`
    Add "add" (a: value, b: value)
    { context: Context::Any, results: Results::Count(1), infer: Infer::Same(0), role: Role::OwnBinary(BinOp::Add) }

    /// `a * b`
    Mul "mul" (a: value, b: value)
    { context: Context::Any, results: Results::Count(1), infer: Infer::Same(0), role: Role::OwnBinary(BinOp::Mul) }

    /// `-a`
    Neg "neg" (a: value)
    { context: Context::Any, results: Results::Count(1), infer: Infer::Same(0), role: Role::OwnUnary(UnOp::Neg) }

    /// The real part.
    Re "re" (a: value)
    { context: Context::Any, results: Results::Count(1), infer: Infer::By(part) }

    /// The imaginary part.
    Im "im" (a: value)
    { context: Context::Any, results: Results::Count(1), infer: Infer::By(part) }
}

fn number(func: &mut Func, _: &[Value], _: Attrs) -> Result<Type, String> {
    let path = func.name("complex.number");
    Ok(func.ty(TypeData::Opaque { path, params: [].into() }))
}

fn part(func: &mut Func, _: &[Value], _: Attrs) -> Result<Type, String> {
    Ok(func.elem_ty(Elem::F32))
}

static LOWER_COMPLEX: PassInfo = PassInfo {
    name: "lower-complex",
    page: "Makes two floats of each complex number.\n",
    anchor: "tir.func",
    make: |_| Ok(PassKind::Func(tir::FUNC, Box::new(LowerComplex))),
    ..PassInfo::BASE
};

struct LowerComplex;

impl FuncPass for LowerComplex {
    fn run(&self, func: &mut Func, _: &mut PassCx) -> bool {
        // Operands are shown before their users, so both parts of each are known by then.
        let (mut parts, mut numbers) = (BTreeMap::new(), Vec::new());
        let changed = rewrite::rewrite_ops(func, |rewriter, op| {
            if let Some(made) = parts_of(rewriter, op, &parts) {
                parts.insert(rewriter.func().result(op).expect("its row has one"), made);
                return numbers.push(op);
            }
            let func = rewriter.func();
            let re = Re::of(func, op).map(|re| parts[&re.a(func)].0);
            if let Some(part) = re.or_else(|| Im::of(func, op).map(|im| parts[&im.a(func)].1)) {
                rewriter.replace_op(op, &[part]);
            }
        });
        // Nothing asks for the numbers any more but numbers that come later.
        let mut rewriter = Rewriter::new(func);
        numbers.iter().rev().for_each(|&op| rewriter.erase(op));
        changed || !numbers.is_empty()
    }
}

type Parts = (Value, Value);

/// The two parts of the number that `op` makes, if it makes one.
fn parts_of(rewriter: &mut Rewriter<'_>, op: Op, parts: &BTreeMap<Value, Parts>) -> Option<Parts> {
    let func = rewriter.func();
    if let Some(of) = Whole::of(func, op) {
        return Some((of.re(func), of.im(func)));
    }
    if let Some(neg) = Neg::of(func, op) {
        let (re, im) = parts[&neg.a(func)];
        let mut b = rewriter.before(op);
        return Some((b.value(arith::NEG, &[re], &[]), b.value(arith::NEG, &[im], &[])));
    }
    if let Some(add) = Add::of(func, op) {
        let (x, y) = (parts[&add.a(func)], parts[&add.b(func)]);
        let mut b = rewriter.before(op);
        return Some((b.value(arith::ADD, &[x.0, y.0], &[]), b.value(arith::ADD, &[x.1, y.1], &[])));
    }
    let mul = Mul::of(func, op)?;
    let (x, y) = (parts[&mul.a(func)], parts[&mul.b(func)]);
    let mut b = rewriter.before(op);
    let mut product = |x, y| b.value(arith::MUL, &[x, y], &[]);
    let (real, square, first, second) = (product(x.0, y.0), product(x.1, y.1), product(x.0, y.1), product(x.1, y.0));
    Some((b.value(arith::SUB, &[real, square], &[]), b.value(arith::ADD, &[first, second], &[])))
}

const PROGRAM: &str = "tir.func @square(A: f32[2], B: f32[2]) {
  let z = complex.of(A[0], A[1])
  let w = z * z + -z
  B[0] = complex.re(w)
  B[1] = complex.im(w)
}
";

/// tc, with the dialect and the pass of this file.
fn compiler() -> Compiler {
    let mut compiler = Compiler::new();
    compiler.add_dialect(DIALECT).expect("the name is free");
    compiler.passes.add_pass(&LOWER_COMPLEX).expect("the name is free");
    compiler
}

fn main() {
    let compiler = compiler();
    for pipeline in ["", "tir.func(lower-complex,cse)"] {
        let shown = tc::testing::with(&compiler).after(pipeline, PROGRAM);
        let _ = writeln!(std::io::stdout(), "{shown}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tc::ir::print::{PrintOptions, print_module};
    use tc::run::{CheckOptions, Choice, Machine, cases, evaluate};
    use tc::runtime::{Array, DType};

    fn after(pipeline: &str, text: &str) -> String {
        tc::testing::with(&compiler()).after(pipeline, text)
    }

    #[test]
    fn operators_read_and_print_as_they_are_written() {
        let shown = after("", PROGRAM);
        assert!(shown.contains("z * z + -z"), "{shown}");
        assert_eq!(after("", &shown), shown);
        let module = compiler().parse("square.tir", PROGRAM).unwrap_or_else(|failure| panic!("{failure}")).module;
        let generic = print_module(&module, &PrintOptions { generic: true, ..PrintOptions::default() });
        assert!(generic.contains("complex.mul(") && generic.contains("complex.neg("), "{generic}");
        assert_eq!(after("", &generic), shown);
    }

    #[test]
    fn what_is_lowered_squares() {
        let (compiler, shown) = (compiler(), after("tir.func(lower-complex)", PROGRAM));
        assert!(shown.starts_with("tir 1") && !shown.contains("complex"), "{shown}");
        // (3 + 2i)(3 + 2i) - (3 + 2i) = 2 + 10i
        let module = compiler.parse("square.tir", &shown).unwrap_or_else(|failure| panic!("{failure}")).module;
        let array = Array::from_f64s(DType::F32, &[2], &[3.0, 2.0]).expect("it fits");
        let options = CheckOptions { inputs: vec![("A".to_string(), array)], ..CheckOptions::default() };
        let case = cases::to_evaluate(&module, Choice::default()).expect("one function").remove(0);
        let made = evaluate(&compiler, &module, &case, &mut Machine::Simulator, &options);
        let made = made.unwrap_or_else(|failure| panic!("{failure}"));
        let result = made.arguments.iter().find(|argument| argument.name == "B").expect("a result");
        assert_eq!(result.array.to_f64s(), [2.0, 10.0]);
    }

    #[test]
    fn an_operator_that_the_dialect_lacks_is_refused_at_its_place() {
        for wrong in ["z / z", "z < z", "z && z"] {
            let shown = after("", &PROGRAM.replace("z * z", wrong));
            assert!(shown.starts_with("error[type]") && shown.contains("input.tir:3:"), "{shown}");
        }
    }
}
