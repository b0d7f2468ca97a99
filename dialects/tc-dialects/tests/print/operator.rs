//! Operators, combiners and intrinsics.

use crate::support::*;
use tc_dialects::{arith, te, wmma};
use tc_ir::attrs::BinOp;
use tc_ir::func::{ResultDecl, SymbolDecl};
use tc_ir::{AttrData, Attrs, Builder, Elem, Func, Type, TypeData, Value};

/// The tensor that is computed over `axes` by the expression that `build` gives.
fn compute(
    b: &mut Builder<'_>,
    name: &str,
    axes: &[(&str, Value, Value)],
    ty: Type,
    build: impl FnOnce(&mut Builder<'_>, &[Value]) -> Vec<Value>,
) -> Value {
    let bounds: Vec<Value> = axes.iter().flat_map(|&(_, lo, hi)| [lo, hi]).collect();
    let op = te::Compute::build(b, &bounds, &[], &[ty]);
    let body = region(b, op, 0);
    let vars: Vec<Value> = axes.iter().map(|(name, _, _)| index_arg(b, body, name)).collect();
    b.within(body, |b| {
        let values = build(b, &vars);
        yields(b, &values);
    });
    let value = b.func.results(op).next().expect("it has a result");
    b.name(value, name)
}

/// `combiner[axis: extent](…)`: `build` gives the values, then the condition if there is one.
fn reduce(
    b: &mut Builder<'_>,
    combiner: &str,
    (axis, extent): (&str, Value),
    inits: &[Value],
    (types, has_where): (&[Type], bool),
    build: impl FnOnce(&mut Builder<'_>, Value) -> Vec<Value>,
) -> Vec<Value> {
    let mut args = vec![b.index(0), extent];
    args.extend_from_slice(inits);
    let mut attrs = vec![int_attr(b, "n_axes", 1), word(b, "combiner", combiner)];
    if has_where {
        attrs.push(unit(b, "has_where"));
    }
    let op = te::Reduce::build(b, &args, &attrs, types);
    let body = region(b, op, 0);
    let var = index_arg(b, body, axis);
    b.within(body, |b| {
        let values = build(b, var);
        yields(b, &values);
    });
    b.func.results(op).collect()
}

fn read(b: &mut Builder<'_>, tensor: Value, indices: &[Value]) -> Value {
    let op = te::Read::build(b, tensor, indices, &[], &[]);
    one(b, op)
}

fn returns(b: &mut Builder<'_>, values: &[Value]) {
    te::Return::build(b, values, &[], &[]);
}

fn tensor(func: &mut Func, name: &str, elem: Elem, shape: &[i64]) -> Value {
    let ty = shaped(func, elem, shape, "");
    param(func, name, ty)
}

fn result(func: &mut Func, elem: Elem, shape: &[i64]) {
    let ty = shaped(func, elem, shape, "");
    func.header.results.push(ResultDecl { name: None, ty, attrs: Attrs::EMPTY });
}

#[test]
fn the_operator_of_the_first_page() {
    let mut func = item(te::FUNC, "conv1d");
    let a = tensor(&mut func, "A", Elem::F32, &[16384]);
    let w = tensor(&mut func, "W", Elem::F32, &[32]);
    result(&mut func, Elem::F32, &[16415]);
    let b = &mut body(&mut func);
    let (zero, extent) = (b.index(0), b.index(16415));
    let ty = shaped(b.func, Elem::F32, &[16415], "");
    let f32 = b.func.elem_ty(Elem::F32);
    let out = compute(b, "B", &[("i", zero, extent)], ty, |b, axes| {
        let n32 = b.index(32);
        reduce(b, "sum", ("r", n32), &[], (&[f32], false), |b, r| {
            let (zero, end) = (b.index(0), b.index(16384));
            let (first, second) = (sub(b, axes[0], r), sub(b, axes[0], r));
            let (low, high) = (cmp(b, "le", zero, first), cmp(b, "lt", second, end));
            let inside = bin(b, arith::AND, low, high);
            let value = choose(
                b,
                inside,
                f32,
                |b| {
                    let at = sub(b, axes[0], r);
                    read(b, a, &[at])
                },
                |b| b.float(0.0, Elem::F32),
            );
            let weight = read(b, w, &[r]);
            vec![mul(b, value, weight)]
        })
    });
    returns(b, &[out]);
    let expected = "\
te.func @conv1d(A: f32[16384], W: f32[32]) -> f32[16415] {
  compute B[i: 16415] = sum[r: 32](if_then_else(0 <= i - r && i - r < 16384, A[i - r], 0.0) * W[r])
  return B
}
";
    assert_eq!(pretty(&func), expected);
}

#[test]
fn sizes_facts_and_reductions_with_conditions() {
    let mut func = item(te::FUNC, "masked");
    let [n, m] = ["n", "m"].map(|name| func.name(name));
    let [n_word, one_, large, thousand] =
        [AttrData::Word(n), AttrData::int(1), AttrData::int(65536), AttrData::int(1000)].map(|data| func.attr(data));
    let twice = func.attr(AttrData::Binary(BinOp::Mul, n_word, large));
    func.header.symbols = vec![
        SymbolDecl { name: n, range: Some((one_, large)), default: Some(thousand) },
        SymbolDecl { name: m, range: Some((n_word, twice)), default: None },
    ];
    let index = func.index_ty();
    let top = func.body();
    let (size, _) = (func.push_arg(top, index, Some("n")), func.push_arg(top, index, Some("m")));
    let fact = divides_by_four(n_word, &mut func);
    func.header.facts.push(fact);
    let elem = func.elem_ty(Elem::F16);
    let ty = func.ty(TypeData::Shaped { elem, shape: [n_word].into(), scope: None });
    let a = param(&mut func, "A", ty);
    let scalar = func.ty(TypeData::Shaped { elem, shape: [].into(), scope: None });
    func.header.results.push(ResultDecl { name: None, ty: elem, attrs: Attrs::EMPTY });
    let note = func.int_attr(1);
    let key = func.name("x.note");
    func.header.attrs = func.dict(&[(key, note)]);
    let b = &mut body(&mut func);
    let two = b.index(2);
    let half = bin(b, arith::DIV, size, two);
    b.name(half, "half");
    let f16 = b.func.elem_ty(Elem::F16);
    let s = compute(b, "S", &[], scalar, |b, _| {
        let init = b.float(1.0, Elem::F16);
        reduce(b, "sum", ("k", half), &[init], (&[f16], true), |b, k| {
            let value = read(b, a, &[k]);
            let zero = b.index(0);
            vec![value, cmp(b, "gt", k, zero)]
        })
    });
    // The extent from 1 to n.
    let first = b.index(1);
    compute(b, "T", &[("k", first, size)], ty, |b, axes| {
        let before = b.index(1);
        let at = sub(b, axes[0], before);
        let (value, limit) = (read(b, a, &[at]), b.float(2.0, Elem::F16));
        vec![bin(b, arith::MAX, limit, value)]
    });
    returns(b, &[s]);
    let expected = "\
te.func @masked<n: 1..65536 = 1000, m: n..(n * 65536)>(A: f16[n]) -> f16 where n % 4 == 0 attributes {x.note = 1} {
  let half = n / 2
  compute S[] = sum[k: half](A[k], where = k > 0, init = 1.0)
  compute T[k: 1..n] = max(2.0, A[k - 1])
  return S
}
";
    assert_eq!(pretty(&func), expected);
}

/// `n % 4 == 0`
fn divides_by_four(n: tc_ir::Attr, func: &mut Func) -> tc_ir::Attr {
    let (four, zero) = (func.int_attr(4), func.int_attr(0));
    let rest = func.attr(AttrData::Binary(BinOp::Mod, n, four));
    func.attr(AttrData::Binary(BinOp::Eq, rest, zero))
}

#[test]
fn a_reduction_of_two_values_by_a_combiner() {
    let mut func = item(te::FUNC, "rowmax");
    let a = tensor(&mut func, "A", Elem::F32, &[4, 8]);
    result(&mut func, Elem::F32, &[4]);
    result(&mut func, Elem::I32, &[4]);
    let b = &mut body(&mut func);
    let (zero, n4) = (b.index(0), b.index(4));
    let types = [shaped(b.func, Elem::F32, &[4], ""), shaped(b.func, Elem::I32, &[4], "")];
    let op = te::Compute::build(b, &[zero, n4], &[], &types);
    let inside = region(b, op, 0);
    let i = index_arg(b, inside, "i");
    b.within(inside, |b| {
        let n8 = b.index(8);
        let inits = [b.float(f64::NEG_INFINITY, Elem::F32), b.int(-1, Elem::I32)];
        let types = [b.func.elem_ty(Elem::F32), b.func.elem_ty(Elem::I32)];
        let values = reduce(b, "argmax", ("k", n8), &inits, (&types, false), |b, k| {
            let value = read(b, a, &[i, k]);
            vec![value, cast(b, k, Elem::I32)]
        });
        yields(b, &values);
    });
    let results: Vec<Value> = b.func.results(op).collect();
    b.name(results[0], "V");
    returns(b, &results);
    let expected = "\
te.func @rowmax(A: f32[4, 8]) -> (f32[4], i32[4]) {
  compute V, $1[i: 4] = argmax[k: 8](A[i, k], cast<i32>(k), init = [-inf, -1i32])
  return V, $1
}
";
    assert_eq!(pretty(&func), expected);
    let expected = "\
te.func @rowmax(A: f32[4, 8]) -> (f32[4], i32[4]) {
  $1 = arith.constant(value = 0) : index
  $2 = arith.constant(value = 4) : index
  V, $3 = te.compute($1, $2) : f32[4], i32[4] (i: index) {
    $4 = arith.constant(value = 8) : index
    $5 = arith.constant(value = -inf) : f32
    $6 = arith.constant(value = -1) : i32
    $7 = arith.constant(value = 0) : index
    $8, $9 = te.reduce($7, $4, $5, $6, n_axes = 1, combiner = argmax) : f32, i32 (k: index) {
      $10 = te.read(A, i, k) : f32
      $11 = arith.cast(k) : i32
      tir.yield($10, $11)
    }
    tir.yield($8, $9)
  }
  te.return(V, $3)
}
";
    assert_eq!(generic(&func), expected);
}

#[test]
fn a_combiner() {
    let mut func = item(te::COMBINER, "argmax");
    let [lv, li, rv, ri] = [("lv", Elem::F32), ("li", Elem::I32), ("rv", Elem::F32), ("ri", Elem::I32)]
        .map(|(name, elem)| number(&mut func, name, elem));
    for elem in [Elem::F32, Elem::I32] {
        let ty = func.elem_ty(elem);
        func.header.results.push(ResultDecl { name: None, ty, attrs: Attrs::EMPTY });
    }
    let b = &mut body(&mut func);
    let op = te::Identity::build(b, &[], &[]);
    let inside = region(b, op, 0);
    b.within(inside, |b| {
        let values = [b.float(f64::NEG_INFINITY, Elem::F32), b.int(-1, Elem::I32)];
        yields(b, &values);
    });
    let first = cmp(b, "ge", lv, rv);
    let value = b.value(arith::SELECT, &[first, lv, rv], &[]);
    let second = cmp(b, "ge", lv, rv);
    let at = b.value(arith::SELECT, &[second, li, ri], &[]);
    yields(b, &[value, at]);
    let expected = "\
te.combiner @argmax(lv: f32, li: i32, rv: f32, ri: i32) -> (f32, i32) {
  identity {
    yield -inf, -1
  }
  yield select(lv >= rv, lv, rv), select(lv >= rv, li, ri)
}
";
    assert_eq!(pretty(&func), expected);
}

#[test]
fn an_intrinsic_and_the_program_that_stands_for_it() {
    let mut func = item(te::INTRIN, "gemm");
    let a_ty = shaped(&mut func, Elem::F16, &[16, 16], "wmma.matrix_a");
    let a = param(&mut func, "A", a_ty);
    let b_ty = shaped(&mut func, Elem::F16, &[16, 16], "wmma.matrix_b");
    let right = param(&mut func, "B", b_ty);
    let c_ty = shaped(&mut func, Elem::F32, &[16, 16], "wmma.accumulator");
    let align = func.int_attr(32);
    let attrs = func.dict(&[(tc_ir::keys::ALIGN, align)]);
    let name = Some(func.name("C"));
    func.header.results.push(ResultDecl { name, ty: c_ty, attrs });
    let b = &mut body(&mut func);
    let (zero, n16) = (b.index(0), b.index(16));
    let f32 = b.func.elem_ty(Elem::F32);
    let c = compute(b, "C", &[("i", zero, n16), ("j", zero, n16)], c_ty, |b, axes| {
        let n16 = b.index(16);
        reduce(b, "sum", ("k", n16), &[], (&[f32], false), |b, k| {
            let (left, right) = (read(b, a, &[axes[0], k]), read(b, right, &[k, axes[1]]));
            let (left, right) = (cast(b, left, Elem::F32), cast(b, right, Elem::F32));
            vec![mul(b, left, right)]
        })
    });
    let op = te::Init::build(b, &[], &[]);
    let inside = region(b, op, 0);
    b.within(inside, |b| {
        let none = b.float(0.0, Elem::F32);
        wmma::Fill::build(b, c, none, &[], &[]);
    });
    let op = te::Update::build(b, &[], &[]);
    let inside = region(b, op, 0);
    b.within(inside, |b| {
        wmma::Mma::build(b, c, a, right, &[], &[]);
        loop_over(b, "i", 2, &[], |b, i| {
            let value = load(b, c, &[i, i]);
            store(b, c, &[i, i], value);
        });
    });
    let expected = "\
te.intrin @gemm(A: f16[16, 16] in wmma.matrix_a, B: f16[16, 16] in wmma.matrix_b) -> (C: f32[16, 16] in wmma.accumulator attributes {align = 32}) {
  compute C[i: 16, j: 16] = sum[k: 16](cast<f32>(A[i, k]) * cast<f32>(B[k, j]))
  init {
    wmma.fill(C, 0.0)
  }
  update {
    wmma.mma(C, A, B)
    for i in 0..2 {
      C[i, i] = C[i, i]
    }
  }
}
";
    assert_eq!(pretty(&func), expected);
}

#[test]
fn what_is_no_tree_of_expressions_has_the_generic_form() {
    let mut func = item(te::FUNC, "f");
    let a = tensor(&mut func, "A", Elem::F16, &[8]);
    result(&mut func, Elem::F16, &[8]);
    let b = &mut body(&mut func);
    let (zero, n8) = (b.index(0), b.index(8));
    let ty = shaped(b.func, Elem::F16, &[8], "");
    let f16 = b.func.elem_ty(Elem::F16);
    let square = compute(b, "S", &[("i", zero, n8)], ty, |b, axes| {
        let value = read(b, a, &[axes[0]]);
        vec![mul(b, value, value)]
    });
    let sum = compute(b, "T", &[("i", zero, n8)], ty, |b, axes| {
        let values = reduce(b, "sum", ("r", n8), &[], (&[f16], false), |b, r| {
            let value = read(b, square, &[r]);
            b.name(value, "v");
            vec![value]
        });
        let _ = axes;
        values
    });
    returns(b, &[sum]);
    let expected = [
        "S = te.compute(0, 8) : f16[8] (i: index) {",
        "  let $1 = A[i]",
        "  yield $1 * $1",
        "}",
        "T = te.compute(0, 8) : f16[8] (i: index) {",
        "  $1 = te.reduce(0, 8, n_axes = 1, combiner = sum) : f16 (r: index) {",
        "    let v = S[r]",
        "    yield v",
        "  }",
        "  yield $1",
        "}",
        "return T",
    ];
    assert_eq!(lines(&pretty(&func)), expected);
}
