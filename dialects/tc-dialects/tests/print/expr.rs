//! Expressions: precedence, literals and their types, what is cut.

use crate::support::*;
use tc_dialects::{arith, tir};
use tc_ir::print::{PrintOptions, print_func};
use tc_ir::{Builder, Elem, Value};

/// What `build` gives, as the right side of a `let`.
fn shown(params: &[(&str, Elem)], build: impl FnOnce(&mut Builder<'_>, &[Value]) -> Value) -> String {
    let mut func = item(tir::FUNC, "f");
    let values: Vec<Value> = params.iter().map(|&(name, elem)| number(&mut func, name, elem)).collect();
    let b = &mut body(&mut func);
    let result = build(b, &values);
    b.name(result, "r");
    let text = pretty(&func);
    let all = lines(&text);
    assert_eq!(all.len(), 1, "{text}");
    all[0].strip_prefix("let r = ").expect("a definition").to_string()
}

const INDICES: &[(&str, Elem)] = &[("i", Elem::Index), ("j", Elem::Index), ("k", Elem::Index)];

#[test]
fn parentheses_stand_where_they_are_needed() {
    let text = shown(INDICES, |b, v| {
        let sum = add(b, v[0], v[1]);
        let left = sub(b, sum, v[2]);
        let (product, right) = (mul(b, v[0], v[1]), sub(b, v[1], v[2]));
        let nested = sub(b, product, right);
        mul(b, left, nested)
    });
    assert_eq!(text, "(i + j - k) * (i * j - (j - k))");
    let text = shown(INDICES, |b, v| {
        let (low, high) = (cmp(b, "le", v[0], v[1]), cmp(b, "lt", v[1], v[2]));
        let both = bin(b, arith::AND, low, high);
        let other = cmp(b, "ne", v[0], v[2]);
        let either = bin(b, arith::OR, other, both);
        let again = cmp(b, "eq", v[0], v[0]);
        let all = bin(b, arith::AND, either, again);
        b.value(arith::NOT, &[all], &[])
    });
    assert_eq!(text, "!((i != k || i <= j && j < k) && i == i)");
    let text = shown(INDICES, |b, v| {
        let (low, high) = (cmp(b, "lt", v[0], v[1]), cmp(b, "lt", v[1], v[2]));
        let same = cmp(b, "eq", low, high);
        let opposite = b.value(arith::NOT, &[same], &[]);
        let reversed = cmp(b, "lt", v[1], v[0]);
        cmp(b, "eq", opposite, reversed)
    });
    assert_eq!(text, "!((i < j) == (j < k)) == (j < i)");
}

#[test]
fn a_negative_literal_is_not_a_negated_one() {
    let text = shown(INDICES, |b, v| {
        let (minus, literal) = (b.index(-1), b.index(1));
        let negated = b.value(arith::NEG, &[literal], &[]);
        let (twice, of_negative) = (b.value(arith::NEG, &[v[0]], &[]), b.value(arith::NEG, &[minus], &[]));
        let twice = b.value(arith::NEG, &[twice], &[]);
        let sum = add(b, minus, negated);
        let sum = sub(b, sum, minus);
        let sum = add(b, sum, twice);
        mul(b, sum, of_negative)
    });
    assert_eq!(text, "(-1 + -(1) - -1 + --i) * --1");
}

#[test]
fn literals_carry_their_type_where_the_context_does_not_give_it() {
    let params = &[("n", Elem::I32), ("h", Elem::F16), ("x", Elem::F32)];
    let text = shown(params, |b, v| {
        let one_ = b.int(1, Elem::I32);
        let sum = add(b, one_, v[0]);
        let limit = b.int(8, Elem::I32);
        cmp(b, "lt", limit, sum)
    });
    assert_eq!(text, "8 < 1 + n");
    let text = shown(params, |b, _| {
        let (one_, two) = (b.int(1, Elem::I32), b.int(2, Elem::I32));
        let sum = add(b, one_, two);
        mul(b, sum, two)
    });
    assert_eq!(text, "(1i32 + 2) * 2");
    let text = shown(params, |b, _| b.float(f64::NEG_INFINITY, Elem::F16));
    assert_eq!(text, "-inff16");
    let text = shown(params, |b, v| {
        let (wide, zero) = (cast(b, v[1], Elem::F32), b.float(0.1f32.into(), Elem::F32));
        let larger = bin(b, arith::MAX, zero, wide);
        let tiny = b.float(1e-30, Elem::F64);
        let narrow = cast(b, tiny, Elem::F32);
        add(b, larger, narrow)
    });
    assert_eq!(text, "max(0.1, cast<f32>(h)) + cast<f32>(1e-30f64)");
    let text = shown(params, |b, v| {
        let zero = b.float(0.0, Elem::F16);
        let inside = cmp(b, "gt", v[1], zero);
        b.value(arith::SELECT, &[inside, zero, v[1]], &[])
    });
    assert_eq!(text, "select(h > 0.0, 0.0, h)");
    let text = shown(params, |b, _| {
        let zero = b.int(3, Elem::U8);
        let lanes = int_attr(b, "lanes", 4);
        b.value(arith::BROADCAST, &[zero], &[lanes])
    });
    assert_eq!(text, "broadcast(3u8, 4)");
}

#[test]
fn an_index_literal_of_another_type_says_so() {
    let mut func = item(tir::FUNC, "f");
    let a = buffer(&mut func, "A", Elem::F16, &[8, 8]);
    let n = number(&mut func, "n", Elem::I32);
    let b = &mut body(&mut func);
    let (zero, half) = (b.int(0, Elem::I32), b.float(0.5, Elem::F16));
    let at = add(b, n, zero);
    store(b, a, &[zero, at], half);
    assert_eq!(lines(&pretty(&func)), ["A[0i32, n + 0] = 0.5"]);
}

#[test]
fn what_is_evaluated_only_if_need_be() {
    let mut func = item(tir::FUNC, "f");
    let a = buffer(&mut func, "A", Elem::Bool, &[8]);
    let i = number(&mut func, "i", Elem::Index);
    let b = &mut body(&mut func);
    let ty = b.func.bool_ty();
    let n8 = b.index(8);
    let inside = cmp(b, "lt", i, n8);
    let outside = cmp(b, "ge", i, n8);
    let and = choose(b, inside, ty, |b| load(b, a, &[i]), |b| b.bool(false));
    let or = choose(b, outside, ty, |b| b.bool(true), |b| load(b, a, &[i]));
    let both = bin(b, arith::AND, and, or);
    store(b, a, &[i], both);
    // An arm that is more than one expression is a block.
    let late = cmp(b, "lt", i, n8);
    let twice = choose(
        b,
        late,
        ty,
        |b| {
            let value = load(b, a, &[i]);
            cmp(b, "eq", value, value)
        },
        |b| b.bool(false),
    );
    store(b, a, &[i], twice);
    let text = pretty(&func);
    let expected = [
        // This one evaluates both sides, as `&&` would not.
        "A[i] = arith.and(i < 8 && A[i], i >= 8 || A[i])",
        "$1 = if i < 8 {",
        "  let $2 = A[i]",
        "  yield $2 == $2",
        "} else {",
        "  yield false",
        "}",
        "A[i] = $1",
    ];
    assert_eq!(lines(&text), expected);
}

#[test]
fn long_chains_stay_whole_and_deep_trees_are_cut() {
    let mut func = item(tir::FUNC, "f");
    let i = number(&mut func, "i", Elem::Index);
    let b = &mut body(&mut func);
    let mut sum = i;
    for _ in 0..1000 {
        sum = add(b, sum, i);
    }
    b.name(sum, "sum");
    let text = pretty(&func);
    assert_eq!(lines(&text), [format!("let sum = i{}", " + i".repeat(1000))]);

    let mut func = item(tir::FUNC, "f");
    let i = number(&mut func, "i", Elem::Index);
    let b = &mut body(&mut func);
    let mut nested = i;
    for _ in 0..20 {
        nested = sub(b, i, nested);
    }
    b.name(nested, "r");
    let text = print_func(&func, &PrintOptions { max_inline_depth: 8, ..PrintOptions::default() });
    let deep = "i - (".repeat(8);
    let close = ")".repeat(8);
    let expected = [
        "let $1 = i - (i - i)".to_string(),
        format!("let $2 = {deep}i - $1{close}"),
        format!("let r = {deep}i - $2{close}"),
    ];
    assert_eq!(lines(&text), expected);
}
