//! The generic form, and ops that have no other.

use crate::support::*;
use tc_dialects::{arith, gpu, tir};
use tc_ir::builder::OpSpec;
use tc_ir::{Attr, AttrData, Builder, Elem, Func, Name, Op, Opcode, Type, TypeData, Value, keys};

/// An op without a row.
fn unknown(
    b: &mut Builder<'_>,
    name: &str,
    operands: &[Value],
    attrs: &[(Name, Attr)],
    results: &[Type],
    n: usize,
) -> Op {
    let name = b.func.word_attr(name);
    let mut entries = vec![(keys::OP_NAME, name)];
    entries.extend_from_slice(attrs);
    let attrs = b.func.dict(&entries);
    b.op(OpSpec { opcode: Opcode::UNKNOWN, operands, keyed: 0, attrs, results, n_regions: n })
}

#[test]
fn one_op_a_line_each_in_one_shape() {
    let mut func = item(tir::FUNC, "axpy");
    let x = buffer(&mut func, "X", Elem::F32, &[1024]);
    let y = buffer(&mut func, "Y", Elem::F32, &[1024]);
    let a = number(&mut func, "a", Elem::F32);
    let b = &mut body(&mut func);
    loop_over(b, "bx", 8, &[("kind", "bind"), ("axis", "blockIdx.x")], |b, bx| {
        let i = add(b, bx, bx);
        b.name(i, "i");
        let (left, right) = (load(b, x, &[i]), load(b, y, &[i]));
        let product = mul(b, a, left);
        let sum = add(b, product, right);
        store(b, y, &[i], sum);
        let zero = b.float(-0.0, Elem::F32);
        let less = cmp(b, "lt", sum, zero);
        let ty = b.func.elem_ty(Elem::F32);
        choose(b, less, ty, |_| sum, |_| zero);
        let scope = word(b, "scope", "shared");
        gpu::Barrier::build(b, &[scope], &[]);
    });
    alloc(b, "T", Elem::F16, &[8, 16], "shared");
    let expected = "\
tir.func @axpy(X: f32[1024], Y: f32[1024], a: f32) {
  $1 = arith.constant(value = 0) : index
  $2 = arith.constant(value = 8) : index
  tir.for($1, $2, kind = bind, axis = \"blockIdx.x\") (bx: index) {
    i = arith.add(bx, bx) : index
    $3 = tir.load(X, i) : f32
    $4 = tir.load(Y, i) : f32
    $5 = arith.mul(a, $3) : f32
    $6 = arith.add($5, $4) : f32
    tir.store(Y, i, $6)
    $7 = arith.constant(value = -0.0) : f32
    $8 = arith.cmp($6, $7, predicate = lt) : bool
    $9 = tir.if($8) : f32 {
      tir.yield($6)
    } {
      tir.yield($7)
    }
    gpu.barrier(scope = shared)
  }
  T = tir.alloc() : f16[8, 16] in shared
}
";
    assert_eq!(generic(&func), expected);
    let expected = [
        "for bx in 0..8 bind(blockIdx.x) {",
        "  let i = bx + bx",
        "  let $1 = a * X[i] + Y[i]",
        "  Y[i] = $1",
        "  let $2 = if_then_else($1 < -0.0, $1, -0.0)",
        "  gpu.barrier(shared)",
        "}",
        "alloc T: f16[8, 16] in shared",
    ];
    assert_eq!(lines(&pretty(&func)), expected);
}

/// Ops of strangers: types, attributes of every kind, regions with arguments.
fn strangers() -> Func {
    let mut func = item(tir::FUNC, "f");
    let a = buffer(&mut func, "A", Elem::F32, &[8]);
    let n = number(&mut func, "n", Elem::Index);
    let b = &mut body(&mut func);
    let path = b.func.name("gpu.token");
    let token = b.func.ty(TypeData::Opaque { path, params: [].into() });
    let inner = b.func.name("their.type");
    let f32x4 = shaped(b.func, Elem::F32, &[4], "");
    let params = [tc_ir::TypeParam::Type(f32x4), tc_ir::TypeParam::Int(-3), tc_ir::TypeParam::Str("s".into())];
    let opaque = b.func.ty(TypeData::Opaque { path: inner, params: params.into() });
    let two = b.func.int_attr(2);
    let scope = Some(b.func.name("shared"));
    let array = b.func.ty(TypeData::Shaped { elem: opaque, shape: [two].into(), scope });
    let attrs = attributes(b);
    let one_ = b.index(1);
    let sum = add(b, n, one_);
    let op = unknown(b, "their.op", &[a, sum], &attrs, &[token, array], 2);
    let first = region(b, op, 0);
    index_arg(b, first, "i");
    let ty = shaped(b.func, Elem::F16, &[2], "local");
    b.arg(first, ty, None);
    let second = region(b, op, 1);
    b.within(second, |b| {
        let value = b.index(7);
        yields(b, &[value]);
    });
    unknown(b, "weird op", &[], &[], &[], 0);
    let callee = b.func.attr(AttrData::Symbol("other".into()));
    let f32 = b.func.elem_ty(Elem::F32);
    let note = int_attr(b, "n", 3);
    tir::Call::build(b, &[a, n], &[(keys::CALLEE, callee), note], &[f32]);
    let plus = b.index(2);
    let op = arith::Add::build(b, n, plus, &[note], &[]);
    let noted = one(b, op);
    b.name(noted, "noted");
    func
}

fn attributes(b: &mut Builder<'_>) -> Vec<(Name, Attr)> {
    let entries = [int_attr(b, "a", 1), unit(b, "b.c")];
    let dict = b.func.dict(&entries);
    let (one_, half) = (b.func.int_attr(1), b.func.attr(AttrData::float(2.5)));
    let list = [
        b.func.attr(AttrData::List([one_, half].into())),
        b.func.attr(AttrData::Dict(dict)),
        b.func.attr(AttrData::Symbol("sym bol".into())),
        b.func.str_attr("a \"b\"\n"),
        b.func.attr(AttrData::Float(1.5f64.to_bits(), Some(Elem::F16))),
        b.func.attr(AttrData::Int(-1, Some(Elem::I64))),
        b.func.word_attr("dotted.enum.value"),
        b.func.word_attr("for"),
        b.func.attr(AttrData::Unit),
    ];
    let keys = ["list", "dict", "x.sym", "text", "half", "minus", "kind", "in", "flag"];
    list.into_iter().zip(keys).map(|(attr, key)| (b.func.name(key), attr)).collect()
}

#[test]
fn what_has_no_sugar_prints_in_the_one_shape_with_expressions_for_operands() {
    let attrs = "list = [1, 2.5], dict = {a = 1, b.c}, x.sym = @\"sym bol\", text = \"a \\\"b\\\"\\n\", half = 1.5f16, \
                 minus = -1i64, kind = dotted.enum.value, in = \"for\", flag = true";
    let types = "gpu.token, their.type<f32[4], -3, \"s\">[2] in shared";
    let func = strangers();
    let text = print_unchecked(&func, false);
    let expected = [
        format!("$1, $2 = their.op(A, n + 1, {attrs}) : {types} (i: index, $3: f16[2] in local) {{"),
        "} {".to_string(),
        "  yield 7".to_string(),
        "}".to_string(),
        "xweird_op()".to_string(),
        "$3 = @other(A, n, n = 3) : f32".to_string(),
        "noted = arith.add(n, 2, n = 3)".to_string(),
    ];
    assert_eq!(lines(&text), expected);
    let text = print_unchecked(&func, true);
    let expected = [
        "$1 = arith.constant(value = 1) : index".to_string(),
        "$2 = arith.add(n, $1) : index".to_string(),
        format!("$3, $4 = their.op(A, $2, {attrs}) : {types} (i: index, $5: f16[2] in local) {{"),
        "} {".to_string(),
        "  $5 = arith.constant(value = 7) : index".to_string(),
        "  tir.yield($5)".to_string(),
        "}".to_string(),
        "xweird_op()".to_string(),
        "$5 = tir.call(A, n, callee = @other, n = 3) : f32".to_string(),
        "$6 = arith.constant(value = 2) : index".to_string(),
        "noted = arith.add(n, $6, n = 3) : index".to_string(),
    ];
    assert_eq!(lines(&text), expected);
}

/// The text of a function that carries attributes which the verifier does not know.
fn print_unchecked(func: &Func, generic: bool) -> String {
    tc_ir::print::print_func(func, &tc_ir::print::PrintOptions { generic, ..Default::default() })
}
