//! Builds what the tests print.

use tc_dialects::{arith, tir};
use tc_ir::func::ParamDecl;
use tc_ir::print::{PrintOptions, print_func};
use tc_ir::{AttrData, Attrs, Builder, Elem, Func, Name, Op, Opcode, Region, Type, TypeData, Value, keys};

/// An item without parameters.
pub(crate) fn item(opcode: Opcode, symbol: &str) -> Func {
    Func::new(tc_dialects::shared_registry(), opcode, symbol)
}

/// The type of a buffer, or, without a scope, of a tensor.
pub(crate) fn shaped(func: &mut Func, elem: Elem, shape: &[i64], scope: &str) -> Type {
    let elem = func.elem_ty(elem);
    let shape = shape.iter().map(|&extent| func.int_attr(extent)).collect();
    let scope = (!scope.is_empty()).then(|| func.name(scope));
    func.ty(TypeData::Shaped { elem, shape, scope })
}

/// Adds a parameter.
pub(crate) fn param(func: &mut Func, name: &str, ty: Type) -> Value {
    let body = func.body();
    func.header.params.push(ParamDecl { attrs: Attrs::EMPTY, choices: None, default: None });
    func.push_arg(body, ty, Some(name))
}

/// Adds a buffer in global memory.
pub(crate) fn buffer(func: &mut Func, name: &str, elem: Elem, shape: &[i64]) -> Value {
    let ty = shaped(func, elem, shape, "global");
    param(func, name, ty)
}

/// Adds a number.
pub(crate) fn number(func: &mut Func, name: &str, elem: Elem) -> Value {
    let ty = func.elem_ty(elem);
    param(func, name, ty)
}

/// A builder at the end of the body.
pub(crate) fn body(func: &mut Func) -> Builder<'_> {
    let region = func.body();
    Builder::at_end(func, region)
}

/// The pretty text.
pub(crate) fn pretty(func: &Func) -> String {
    valid(func);
    print_func(func, &PrintOptions::default())
}

/// The generic text.
pub(crate) fn generic(func: &Func) -> String {
    valid(func);
    print_func(func, &PrintOptions { generic: true, ..PrintOptions::default() })
}

fn valid(func: &Func) {
    let found: Vec<String> = tc_ir::verify::verify(func).iter().map(|found| found.message.clone()).collect();
    assert!(found.is_empty(), "not a valid function: {found:?}");
}

/// The lines of the body of `text`, a level less indented.
pub(crate) fn lines(text: &str) -> Vec<&str> {
    let all: Vec<&str> = text.lines().collect();
    all[1..all.len() - 1].iter().map(|line| line.strip_prefix("  ").expect("lines of a body are indented")).collect()
}

pub(crate) fn bin(b: &mut Builder<'_>, opcode: Opcode, lhs: Value, rhs: Value) -> Value {
    b.value(opcode, &[lhs, rhs], &[])
}

pub(crate) fn add(b: &mut Builder<'_>, lhs: Value, rhs: Value) -> Value {
    bin(b, arith::ADD, lhs, rhs)
}

pub(crate) fn sub(b: &mut Builder<'_>, lhs: Value, rhs: Value) -> Value {
    bin(b, arith::SUB, lhs, rhs)
}

pub(crate) fn mul(b: &mut Builder<'_>, lhs: Value, rhs: Value) -> Value {
    bin(b, arith::MUL, lhs, rhs)
}

pub(crate) fn cmp(b: &mut Builder<'_>, predicate: &str, lhs: Value, rhs: Value) -> Value {
    let word = b.func.word_attr(predicate);
    b.value(arith::CMP, &[lhs, rhs], &[(keys::PREDICATE, word)])
}

pub(crate) fn cast(b: &mut Builder<'_>, value: Value, to: Elem) -> Value {
    let ty = b.func.elem_ty(to);
    let op = arith::Cast::build(b, value, &[], &[ty]);
    one(b, op)
}

pub(crate) fn load(b: &mut Builder<'_>, buffer: Value, indices: &[Value]) -> Value {
    let op = tir::Load::build(b, buffer, indices, &[], &[]);
    one(b, op)
}

pub(crate) fn store(b: &mut Builder<'_>, buffer: Value, indices: &[Value], value: Value) {
    tir::Store::build(b, buffer, indices, value, &[], &[]);
}

pub(crate) fn alloc(b: &mut Builder<'_>, name: &str, elem: Elem, shape: &[i64], scope: &str) -> Value {
    let ty = shaped(b.func, elem, shape, scope);
    let op = tir::Alloc::build(b, &[], &[ty]);
    let value = one(b, op);
    b.name(value, name)
}

pub(crate) fn one(b: &mut Builder<'_>, op: Op) -> Value {
    b.func.result(op).expect("it has one result")
}

pub(crate) fn region(b: &mut Builder<'_>, op: Op, nth: usize) -> Region {
    b.func.op_regions(op)[nth]
}

pub(crate) fn index_arg(b: &mut Builder<'_>, region: Region, name: &str) -> Value {
    let ty = b.func.index_ty();
    b.arg(region, ty, Some(name))
}

pub(crate) fn word(b: &mut Builder<'_>, key: &str, value: &str) -> (Name, tc_ir::Attr) {
    let value = b.func.word_attr(value);
    (b.func.name(key), value)
}

pub(crate) fn int_attr(b: &mut Builder<'_>, key: &str, value: i64) -> (Name, tc_ir::Attr) {
    let value = b.func.int_attr(value);
    (b.func.name(key), value)
}

pub(crate) fn unit(b: &mut Builder<'_>, key: &str) -> (Name, tc_ir::Attr) {
    let value = b.func.attr(AttrData::Unit);
    (b.func.name(key), value)
}

pub(crate) fn yields(b: &mut Builder<'_>, values: &[Value]) {
    tir::Yield::build(b, values, &[], &[]);
}

/// `for name in 0..extent` with these attributes.
pub(crate) fn loop_over(
    b: &mut Builder<'_>,
    name: &str,
    extent: i64,
    attrs: &[(&str, &str)],
    build: impl FnOnce(&mut Builder<'_>, Value),
) -> Op {
    let attrs: Vec<_> = attrs.iter().map(|(key, value)| word(b, key, value)).collect();
    let (lo, hi) = (b.index(0), b.index(extent));
    let op = tir::For::build(b, lo, hi, &[], &attrs, &[]);
    let region = region(b, op, 0);
    let var = index_arg(b, region, name);
    b.within(region, |b| build(b, var));
    op
}

/// `if c { … } else { … }` with results of these types.
pub(crate) fn branch(
    b: &mut Builder<'_>,
    condition: Value,
    types: &[Type],
    then: impl FnOnce(&mut Builder<'_>),
    otherwise: impl FnOnce(&mut Builder<'_>),
) -> Op {
    let op = tir::If::build(b, condition, &[], types);
    let (first, second) = (region(b, op, 0), region(b, op, 1));
    b.within(first, then);
    b.within(second, otherwise);
    op
}

/// A conditional of one number, both arms of which are built as expressions.
pub(crate) fn choose(
    b: &mut Builder<'_>,
    condition: Value,
    ty: Type,
    then: impl FnOnce(&mut Builder<'_>) -> Value,
    otherwise: impl FnOnce(&mut Builder<'_>) -> Value,
) -> Value {
    let arm = |b: &mut Builder<'_>, value: Value| yields(b, &[value]);
    let op = branch(
        b,
        condition,
        &[ty],
        |b| {
            let value = then(b);
            arm(b, value);
        },
        |b| {
            let value = otherwise(b);
            arm(b, value);
        },
    );
    one(b, op)
}
