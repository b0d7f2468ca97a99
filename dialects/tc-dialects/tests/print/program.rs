//! Programs: statements, names, locations.

use crate::support::*;
use tc_dialects::{arith, gpu, tir, wmma};
use tc_ir::print::{PrintOptions, print_func, print_module};
use tc_ir::{AttrData, Builder, Elem, Func, Locs, Module, Value, keys};

/// `conv1d` under its schedule `v5`, as the pass `schedule` leaves it.
fn conv1d() -> Func {
    let mut func = item(tir::FUNC, "conv1d");
    let noalias = func.attr(AttrData::Unit);
    func.header.attrs = func.dict(&[(keys::NOALIAS, noalias)]);
    let a = buffer(&mut func, "A", Elem::F32, &[16384]);
    let w = buffer(&mut func, "W", Elem::F32, &[32]);
    let out = buffer(&mut func, "B", Elem::F32, &[16415]);
    let b = &mut body(&mut func);
    let thread = |axis: &'static str| [("kind", "bind"), ("axis", axis)];
    loop_over(b, "bx", 513, &thread("blockIdx.x"), |b, bx| {
        loop_over(b, "ty", 8, &thread("threadIdx.y"), |b, ty| {
            loop_over(b, "tx", 4, &thread("threadIdx.x"), |b, tx| cell(b, [a, w, out], [bx, ty, tx]));
        });
    });
    func
}

/// What one thread does.
fn cell(b: &mut Builder<'_>, [a, w, out]: [Value; 3], [bx, ty, tx]: [Value; 3]) {
    let (n32, n4) = (b.index(32), b.index(4));
    let (block, thread) = (mul(b, bx, n32), mul(b, ty, n4));
    let at = add(b, block, thread);
    let i = add(b, at, tx);
    b.name(i, "i");
    let bl = alloc(b, "BL", Elem::F32, &[1], "local");
    let (zero, none) = (b.index(0), b.float(0.0, Elem::F32));
    store(b, bl, &[zero], none);
    loop_over(b, "ro", 4, &[], |b, ro| {
        let ws = alloc(b, "WS", Elem::F32, &[8], "shared");
        loop_over(b, "ax0", 8, &[], |b, ax0| {
            let n8 = b.index(8);
            let start = mul(b, ro, n8);
            let from = add(b, start, ax0);
            let value = load(b, w, &[from]);
            store(b, ws, &[ax0], value);
        });
        loop_over(b, "ri", 8, &[("kind", "unroll")], |b, ri| step(b, [a, bl, ws], [i, ro, ri]));
    });
    guarded(b, i, |b| {
        let zero = b.index(0);
        let value = load(b, bl, &[zero]);
        store(b, out, &[i], value);
    });
}

fn guarded(b: &mut Builder<'_>, i: Value, then: impl FnOnce(&mut Builder<'_>)) {
    let end = b.index(16415);
    let inside = cmp(b, "lt", i, end);
    let likely = b.value(arith::LIKELY, &[inside], &[]);
    branch(b, likely, &[], then, |_| {});
}

fn step(b: &mut Builder<'_>, [a, bl, ws]: [Value; 3], [i, ro, ri]: [Value; 3]) {
    guarded(b, i, |b| {
        let n8 = b.index(8);
        let start = mul(b, ro, n8);
        let before = sub(b, i, start);
        let k = sub(b, before, ri);
        b.name(k, "k");
        let zero = b.index(0);
        let sum = load(b, bl, &[zero]);
        let end = b.index(16384);
        let (low, high) = (cmp(b, "le", zero, k), cmp(b, "lt", k, end));
        let inside = bin(b, arith::AND, low, high);
        let ty = b.func.elem_ty(Elem::F32);
        let value = choose(b, inside, ty, |b| load(b, a, &[k]), |b| b.float(0.0, Elem::F32));
        let weight = load(b, ws, &[ri]);
        let product = mul(b, value, weight);
        let next = add(b, sum, product);
        store(b, bl, &[zero], next);
    });
}

#[test]
fn the_program_of_the_first_page() {
    let expected = "\
tir.func @conv1d(A: f32[16384], W: f32[32], B: f32[16415]) attributes {noalias} {
  for bx in 0..513 bind(blockIdx.x) {
    for ty in 0..8 bind(threadIdx.y) {
      for tx in 0..4 bind(threadIdx.x) {
        let i = bx * 32 + ty * 4 + tx
        alloc BL: f32[1] in local
        BL[0] = 0.0
        for ro in 0..4 {
          alloc WS: f32[8] in shared
          for ax0 in 0..8 {
            WS[ax0] = W[ro * 8 + ax0]
          }
          for ri in 0..8 unroll {
            if likely(i < 16415) {
              let k = i - ro * 8 - ri
              BL[0] = BL[0] + if_then_else(0 <= k && k < 16384, A[k], 0.0) * WS[ri]
            }
          }
        }
        if likely(i < 16415) {
          B[i] = BL[0]
        }
      }
    }
  }
}
";
    assert_eq!(pretty(&conv1d()), expected);
    assert_eq!(conv1d().to_string(), expected);
}

#[test]
fn a_module_opens_with_its_version_and_parts_items_by_empty_lines() {
    let mut module = Module::new(tc_dialects::shared_registry());
    assert_eq!(module.to_string(), "tir 1\n");
    module.items.push(item(tir::FUNC, "f"));
    module.items.push(item(tir::FUNC, "g h"));
    assert_eq!(module.to_string(), "tir 1\n\ntir.func @f() {\n}\n\ntir.func @\"g h\"() {\n}\n");
}

#[test]
fn reads_stay_behind_writes() {
    let mut func = item(tir::FUNC, "f");
    let a = buffer(&mut func, "A", Elem::F32, &[8]);
    let b = &mut body(&mut func);
    let (zero, one_) = (b.index(0), b.index(1));
    // A read before a write of what is stored after it, and one before a loop that reads only.
    let first = load(b, a, &[zero]);
    let second = load(b, a, &[one_]);
    store(b, a, &[one_], second);
    store(b, a, &[zero], first);
    let third = load(b, a, &[zero]);
    loop_over(b, "i", 8, &[], |b, i| {
        let value = load(b, a, &[i]);
        b.name(value, "v");
    });
    let fourth = load(b, a, &[one_]);
    loop_over(b, "i", 8, &[], |b, i| {
        loop_over(b, "j", 8, &[], |b, _| {
            let value = b.float(2.0, Elem::F32);
            store(b, a, &[i], value);
        });
    });
    let sum = add(b, third, fourth);
    store(b, a, &[zero], sum);
    let text = pretty(&func);
    let expected = [
        "let $1 = A[0]",
        "A[1] = A[1]",
        "A[0] = $1",
        "let $2 = A[0]",
        "for i in 0..8 {",
        "  let v = A[i]",
        "}",
        "let $3 = A[1]",
        "for i in 0..8 {",
        "  for j in 0..8 {",
        "    A[i] = 2.0",
        "  }",
        "}",
        "A[0] = $2 + $3",
    ];
    assert_eq!(lines(&text), expected);
}

#[test]
fn nothing_that_waits_for_others_or_makes_a_buffer_moves() {
    let mut func = item(tir::FUNC, "f");
    let a = buffer(&mut func, "A", Elem::F32, &[8]);
    let b = &mut body(&mut func);
    let zero = b.index(0);
    let value = load(b, a, &[zero]);
    let scope = word(b, "scope", "shared");
    gpu::Barrier::build(b, &[scope], &[]);
    store(b, a, &[zero], value);
    let again = load(b, a, &[zero]);
    alloc(b, "T", Elem::F32, &[4], "local");
    store(b, a, &[zero], again);
    let text = pretty(&func);
    let expected = ["let $1 = A[0]", "gpu.barrier(shared)", "A[0] = $1", "alloc T: f32[4] in local", "A[0] = A[0]"];
    assert_eq!(lines(&text), expected);
}

#[test]
fn names_that_meet_are_numbered_and_numbers_are_free_again_after_their_region() {
    let mut func = item(tir::FUNC, "f");
    let x = number(&mut func, "x", Elem::Index);
    let b = &mut body(&mut func);
    let n1 = b.index(1);
    for name in ["x", "for", "f32x4", "x$7", "a b", "_", "1st", "nan", ""] {
        let value = add(b, x, n1);
        b.name(value, name);
    }
    for _ in 0..2 {
        loop_over(b, "x", 4, &[], |b, i| {
            let square = mul(b, i, i);
            mul(b, square, square);
        });
    }
    let (dead, named) = (mul(b, x, x), mul(b, x, x));
    b.name(named, "x");
    let _ = dead;
    let text = pretty(&func);
    let expected = [
        "let x$1 = x + 1",
        "let xfor = x + 1",
        "let xf32x4 = x + 1",
        "let x$2 = x + 1",
        "let xa_b = x + 1",
        "let x_ = x + 1",
        "let x1st = x + 1",
        "let xnan = x + 1",
        "let x$3 = x + 1",
        "for x$4 in 0..4 {",
        "  let $1 = x$4 * x$4",
        "  let $2 = $1 * $1",
        "}",
        "for x$4 in 0..4 {",
        "  let $1 = x$4 * x$4",
        "  let $2 = $1 * $1",
        "}",
        "let $1 = x * x",
        "let x$4 = x * x",
    ];
    assert_eq!(lines(&text), expected);
}

#[test]
fn loops() {
    let mut func = item(tir::FUNC, "f");
    let n = number(&mut func, "n", Elem::I32);
    let b = &mut body(&mut func);
    let (lo, hi) = (b.int(2, Elem::I32), b.int(8, Elem::I32));
    let attrs = [word(b, "kind", "unroll"), int_attr(b, "factor", 4), word(b, "x.note", "kept")];
    for (lo, hi) in [(lo, hi), (lo, n)] {
        let op = tir::For::build(b, lo, hi, &[], &attrs, &[]);
        let region = region(b, op, 0);
        let ty = b.func.elem_ty(Elem::I32);
        b.arg(region, ty, None);
    }
    loop_over(b, "v", 4, &[("kind", "vectorize")], |_, _| {});
    loop_over(b, "t", 2, &[("kind", "bind"), ("axis", "vthread")], |_, _| {});
    loop_over(b, "s", 2, &[("kind", "serial")], |_, _| {});
    carried(b);
    let text = pretty(&func);
    let expected = [
        "for $1 in 2..8i32 unroll(factor = 4) attributes {x.note = kept} {",
        "}",
        "for $1 in 2..n unroll(factor = 4) attributes {x.note = kept} {",
        "}",
        "for v in 0..4 vectorize {",
        "}",
        "for t in 0..2 bind(vthread) {",
        "}",
        "for s in 0..2 {",
        "}",
        "s, m = for i in 0..16 carry(acc = 0.0f16, top = -inf) {",
        "  yield acc + 1.0, max(top, 2.0)",
        "}",
        "let t = s + 0.5",
        "let u = m * m",
    ];
    assert_eq!(lines(&text), expected);
}

/// A loop that carries two numbers, and what comes of them.
fn carried(b: &mut Builder<'_>) {
    let (lo, hi) = (b.index(0), b.index(16));
    let (none, least) = (b.float(0.0, Elem::F16), b.float(f64::NEG_INFINITY, Elem::F32));
    let (f16, f32) = (b.func.elem_ty(Elem::F16), b.func.elem_ty(Elem::F32));
    let op = tir::For::build(b, lo, hi, &[none, least], &[], &[f16, f32]);
    let inside = region(b, op, 0);
    index_arg(b, inside, "i");
    let (acc, top) = (b.arg(inside, f16, Some("acc")), b.arg(inside, f32, Some("top")));
    b.within(inside, |b| {
        let (step, floor) = (b.float(1.0, Elem::F16), b.float(2.0, Elem::F32));
        let (next, high) = (add(b, acc, step), bin(b, arith::MAX, top, floor));
        yields(b, &[next, high]);
    });
    let results: Vec<Value> = b.func.results(op).collect();
    b.name(results[0], "s");
    b.name(results[1], "m");
    let half = b.float(0.5, Elem::F16);
    let (t, u) = (add(b, results[0], half), mul(b, results[1], results[1]));
    b.name(t, "t");
    b.name(u, "u");
}

#[test]
fn conditionals() {
    let mut func = item(tir::FUNC, "f");
    let n = number(&mut func, "n", Elem::Index);
    let a = buffer(&mut func, "A", Elem::F16, &[8]);
    let b = &mut body(&mut func);
    let set = |b: &mut Builder<'_>, value: f64| {
        let (zero, value) = (b.index(0), b.float(value, Elem::F16));
        store(b, a, &[zero], value);
    };
    let is = |b: &mut Builder<'_>, value: i64| {
        let value = b.index(value);
        cmp(b, "eq", n, value)
    };
    let first = is(b, 0);
    branch(
        b,
        first,
        &[],
        |b| set(b, 1.0),
        |b| {
            let second = is(b, 1);
            branch(b, second, &[], |b| set(b, 2.0), |b| set(b, 3.0));
        },
    );
    let third = is(b, 2);
    branch(b, third, &[], |_| {}, |b| set(b, 4.0));
    // Two results: no expression. The third branch has a statement of its own, so it does not go on with `else if`.
    let f16 = b.func.elem_ty(Elem::F16);
    let arms = |b: &mut Builder<'_>, lo: f64, hi: f64| {
        let values = [b.float(lo, Elem::F16), b.float(hi, Elem::F16)];
        yields(b, &values);
    };
    let fourth = is(b, 3);
    branch(
        b,
        fourth,
        &[f16, f16],
        |b| arms(b, 0.0, 1.0),
        |b| {
            let fifth = is(b, 4);
            let inner = branch(
                b,
                fifth,
                &[f16, f16],
                |b| arms(b, 2.0, 3.0),
                |b| {
                    let sixth = is(b, 5);
                    let innermost = branch(b, sixth, &[f16, f16], |b| arms(b, 4.0, 5.0), |b| arms(b, 6.0, 7.0));
                    set(b, 8.0);
                    let values: Vec<Value> = b.func.results(innermost).collect();
                    yields(b, &values);
                },
            );
            let values: Vec<Value> = b.func.results(inner).collect();
            yields(b, &values);
        },
    );
    let text = pretty(&func);
    let expected = [
        "if n == 0 {",
        "  A[0] = 1.0",
        "} else if n == 1 {",
        "  A[0] = 2.0",
        "} else {",
        "  A[0] = 3.0",
        "}",
        "if n == 2 {",
        "} else {",
        "  A[0] = 4.0",
        "}",
        "$1, $2 = if n == 3 {",
        "  yield 0.0f16, 1.0f16",
        "} else if n == 4 {",
        "  yield 2.0, 3.0",
        "} else {",
        "  $3, $4 = if n == 5 {",
        "    yield 4.0f16, 5.0f16",
        "  } else {",
        "    yield 6.0, 7.0",
        "  }",
        "  A[0] = 8.0",
        "  yield $3, $4",
        "}",
    ];
    assert_eq!(lines(&text), expected);
}

#[test]
fn places_and_what_lies_in_them() {
    let mut func = item(tir::FUNC, "f");
    let a = buffer(&mut func, "A", Elem::F16, &[64, 64]);
    let b = &mut body(&mut func);
    let t = alloc(b, "T", Elem::F16, &[64, 64], "shared");
    let align = int_attr(b, "align", 128);
    let ty = shaped(b.func, Elem::F16, &[4, 16, 16], "wmma.matrix_a");
    let op = tir::Alloc::build(b, &[align], &[ty]);
    let c = one(b, op);
    loop_over(b, "i", 4, &[], |b, i| {
        let (n16, zero) = (b.index(16), b.index(0));
        let row = mul(b, i, n16);
        let (n16_attr, n64_attr) = (b.func.int_attr(16), b.func.int_attr(64));
        let list = b.func.attr(AttrData::List([n16_attr, n64_attr].into()));
        let lengths = b.func.name("lengths");
        let rows = b.value(tir::REGION, &[a, row, zero], &[(lengths, list)]);
        let element = b.value(tir::REF, &[t, i, zero], &[]);
        let whole = b.value(tir::REF, &[t], &[]);
        let tile = b.value(tir::REF, &[c, i], &[]);
        let layout = word(b, "layout", "row_major");
        wmma::Load::build(b, tile, element, n16, &[layout], &[]);
        let first = b.value(tir::REF, &[c, zero], &[]);
        wmma::Load::build(b, first, whole, n16, &[layout], &[]);
        let last = b.value(tir::REF, &[c, i], &[]);
        wmma::Load::build(b, last, rows, n16, &[layout], &[]);
        let one_ = b.float(1.0, Elem::F16);
        let filled = b.value(tir::REF, &[c, i], &[]);
        wmma::Fill::build(b, filled, one_, &[], &[]);
        // A reference that is read through needs a name.
        let row_ref = b.value(tir::REF, &[t, i], &[]);
        let value = load(b, row_ref, &[zero]);
        let aligned = int_attr(b, "aligned", 16);
        tir::Store::build(b, t, &[i, zero], value, &[aligned], &[]);
        let op = tir::Load::build(b, t, &[i, i], &[aligned], &[]);
        let wide = one(b, op);
        b.name(wide, "wide");
    });
    let text = pretty(&func);
    let expected = [
        "alloc T: f16[64, 64] in shared",
        "alloc $1: f16[4, 16, 16] in wmma.matrix_a attributes {align = 128}",
        "for i in 0..4 {",
        "  wmma.load(&$1[i], &T[i, 0], stride = 16, layout = row_major)",
        "  wmma.load(&$1[0], &T, stride = 16, layout = row_major)",
        "  wmma.load(&$1[i], &A[i * 16 : 16, 0 : 64], stride = 16, layout = row_major)",
        "  wmma.fill(&$1[i], 1.0f16)",
        "  let $2 = &T[i]",
        "  T[i, 0] = $2[0] attributes {aligned = 16}",
        "  let wide = tir.load(T, i, i, aligned = 16)",
        "}",
    ];
    assert_eq!(lines(&text), expected);
}

#[test]
fn locations_are_printed_on_request() {
    let mut module = Module::new(tc_dialects::shared_registry());
    let own = module.sources.add("a.tir", "one\ntwo\n").expect("small");
    let other = module.sources.add("b.tir", "x").expect("small");
    let (own, other) = (module.sources.file(own).start(), module.sources.file(other).start());
    let mut func = item(tir::FUNC, "f");
    func.header.loc = tc_ir::Loc::pos(own);
    let a = buffer(&mut func, "A", Elem::F32, &[8]);
    let named = func.named_loc(Some("c \"d\".tir"), tc_support::LineCol { line: 3, col: 9 });
    let here = func.named_loc(None, tc_support::LineCol { line: 7, col: 1 });
    let b = &mut body(&mut func);
    let at = |source| Locs { source, directive: tc_ir::Loc::NONE };
    b.locs = at(tc_ir::Loc::pos(tc_support::Pos(own.0 + 5)));
    loop_over(b, "i", 8, &[], |b, i| {
        b.locs = at(tc_ir::Loc::pos(other));
        let v = load(b, a, &[i]);
        b.name(v, "v");
        b.locs = at(named);
        let inside = cmp(b, "gt", v, v);
        branch(b, inside, &[], |b| store(b, a, &[i], v), |_| {});
        b.locs = at(here);
        store(b, a, &[i], v);
    });
    module.items.push(func);
    let options = PrintOptions { locations: true, ..PrintOptions::default() };
    let expected = "\
tir 1

tir.func @f(A: f32[8]) #1:1 {
  for i in 0..8 #2:2 {
    let v = A[i] #\"b.tir\":1:1
    if v > v #\"c \\\"d\\\".tir\":3:9 {
      A[i] = v #\"c \\\"d\\\".tir\":3:9
    }
    A[i] = v #7:1
  }
}
";
    assert_eq!(print_module(&module, &options), expected);
    let alone = print_func(&module.items[0], &options);
    assert!(alone.starts_with("tir.func @f(A: f32[8]) {\n  for i in 0..8 {\n    let v = A[i]\n"), "{alone}");
}

#[test]
fn no_nesting_is_too_deep() {
    let mut func = item(tir::FUNC, "f");
    let mut inner = func.body();
    for _ in 0..10_000 {
        let b = &mut Builder::at_end(&mut func, inner);
        let op = loop_over(b, "i", 4, &[], |_, _| {});
        inner = region(b, op, 0);
    }
    for text in [print_func(&func, &PrintOptions::default()), generic(&func)] {
        assert_eq!(text.lines().filter(|line| line.trim_start().starts_with('}')).count(), 10_001);
        assert!(text.len() < 60_000_000);
    }
}
