//! The tree of each construct.

use crate::parse;

/// A name, a text, and the dump of its items.
const CASES: &[(&str, &str, &str)] = &[
    (
        "precedence",
        r#"
t.f @f {
  x = a || b && c == d | e ^ f & g << h + i * j
  y = a * b + c << d & e ^ f | g == h && i || j
  z = a - b - c / d / e % f
  w = (a - (b - c)) * -d + !e * - -f >> 2
}
"#,
        r#"
(item t.f @f
  (block
    (assign x (|| a (&& b (== c (| d (^ e (& f (<< g (+ h (* i j))))))))))
    (assign y (|| (&& (== (| (^ (& (<< (+ (* a b) c) d) e) f) g) h) i) j))
    (assign z (- (- a b) (% (/ (/ c d) e) f)))
    (assign w (>> (+ (* (- a (- b c)) (neg d)) (* (not e) (neg (neg f)))) 2))))
"#,
    ),
    (
        "comparisons",
        r#"
t.f @f {
  x = a < b && c >= d || e != f
  y = (a < b) == (c > d)
}
"#,
        r#"
(item t.f @f
  (block
    (assign x (|| (&& (< a b) (>= c d)) (!= e f)))
    (assign y (== (< a b) (> c d)))))
"#,
    ),
    (
        "atoms",
        r#"
t.f @f {
  x = [1, 2.5, "s", @sym, [i, -3], inf, nanf16, true, false, $3, x$1, a.for.b, f32x4[n], f16, {a = 1}]
  y = []
  z = cast<f32x4>(a) + cast < i8 > (b)
}
"#,
        r#"
(item t.f @f
  (block
    (assign x (list 1 2.5 "s" @sym (list i (neg 3)) inf nanf16 true false $3 x$1 a.for.b (element f32x4 (shape n)) (element f16) (dict a=1)))
    (assign y (list))
    (assign z (+ (cast f32x4 a) (cast i8 b)))))
"#,
    ),
    (
        "places",
        r#"
t.f @f {
  A[i, j * 2] = B[] + C[i] - D[(i), 0]
  f(&A, &A[i], &A[i * 16 : 16, 0 : 64,], -&x)
  x = a & b & &c
}
"#,
        r#"
(item t.f @f
  (block
    (store (index A i (* j 2)) (- (+ (index B) (index C i)) (index D i 0)))
    (do (call f (ref A) (ref (index A i)) (ref (index A (slice (* i 16) 16) (slice 0 64))) (neg (ref x))))
    (assign x (& (& a b) (ref c)))))
"#,
    ),
    (
        "reductions",
        r#"
t.f @f {
  compute V, I[i: n, j: 0..m + 1] = argmax[k: m, r: 1..n](A[i, k], where = M[k], init = 0.0f32)
  compute T = sum[k: 4](A[k]) attributes {a}
  compute S[] = 1.0 #3:4
}
"#,
        r#"
(item t.f @f
  (block
    (compute V I (axis i n) (axis j 0 (high (+ m 1))) (reduce argmax (axes (slice k m) (slice r 1 (high n))) (index A i k) where=(index M k) init=0.0f32))
    (compute T (reduce sum (axes (slice k 4)) (index A k)) (attributes a))
    (compute S 1.0 #3:4)))
"#,
    ),
    (
        "lets_and_allocs",
        r#"
t.f @f {
  let x = 1
  let y: f16 = 0.0f16 attributes {a = 1} #"f.tir":3:4
  alloc W: f16[64, n] in shared attributes {align = 128}
  alloc F: wmma.fragment<matrix_a, 16, "s", f16[2], a.b<c<1>>, row_major,>[8] in wmma.matrix_a
  alloc G: t<> in local
  alloc H: token in s.d #1:1
}
"#,
        r#"
(item t.f @f
  (block
    (let x 1)
    (let y (element f16) 0.0f16 (attributes a=1) #"f.tir":3:4)
    (alloc W (element f16 (shape 64 n)) shared (attributes align=128))
    (alloc F (type wmma.fragment (args (type matrix_a) 16 "s" (element f16 (shape 2)) (type a.b (args (type c (args 1)))) (type row_major)) (shape 8)) wmma.matrix_a)
    (alloc G (type t (args)) local)
    (alloc H (type token) s.d #1:1)))
"#,
    ),
    (
        "calls",
        r#"
t.f @f {
  f()
  @g(a, n = 3,) #1:2
  d.op(x, for = 1, f32 = f32, attributes = {in = inf, inf, a.b.c = [1]}, true = false, t = f32[4, n + 1])
  a, _ = pair.of(x)
  b = @other(A) attributes {x}
}
"#,
        r#"
(item t.f @f
  (block
    (do (call f))
    (do (call @g a n=3) #1:2)
    (do (call d.op x for=1 f32=(element f32) attributes=(dict in=inf inf a.b.c=(list 1)) true=false t=(element f32 (shape 4 (+ n 1)))))
    (assign a _ (call pair.of x))
    (assign b (call @other A) (attributes x))))
"#,
    ),
    (
        "ops",
        r#"
t.f @f {
  c0 = arith.constant(value = 0) : index
  a, b = d.op(x) : f32, their.type<f32[4], 3>[7] in shared #12:5
  d.op() : f32[2] in a.b { }
  tir.if(lt) {
    f()
  } (x: f32, y) {
    yield x
  }
  r = @op(x) : f32 () { } #1:1
}
"#,
        r#"
(item t.f @f
  (block
    (op (names c0) (call arith.constant value=0) (result (element index)))
    (op (names a b) (call d.op x) (result (element f32)) (result (type their.type (args (element f32 (shape 4)) 3) (shape 7)) in shared) #12:5)
    (op (call d.op) (result (element f32 (shape 2)) in a.b)
      (region
        (block)))
    (op (call tir.if lt)
      (region
        (block
          (do (call f))))
      (region (param x (element f32)) (param y)
        (block
          (yield x))))
    (op (names r) (call @op x) (result (element f32))
      (region
        (block)) #1:1)))
"#,
    ),
    (
        "loops",
        r#"
t.f @f {
  for i in 0..n { }
  for i in a + 1..b * 2 unroll { f(i) }
  s, m = for i in 0..1024 unroll(factor = 4) a.b carry(acc = 0.0f32, top = -inf) attributes {x.note = "kept"} #12:5 {
    yield acc, m
  }
}
"#,
        r#"
(item t.f @f
  (block
    (for i 0 n
      (block))
    (for i (+ a 1) (* b 2) (kinds unroll)
      (block
        (do (call f i))))
    (for (names s m) i 0 1024 (kinds (call unroll factor=4) a.b (call carry acc=0.0f32 top=(neg inf))) (attributes x.note="kept") #12:5
      (block
        (yield acc m)))))
"#,
    ),
    (
        "conditionals",
        r#"
t.f @f {
  if a { } else { f() }
  if a attributes {likely} { f() } else if b #1:2 { g() } else if c { } else { h() }
  x, y = if likely(i < n) { yield 1, 2 } else { yield 3, 4 }
}
"#,
        r#"
(item t.f @f
  (block
    (if a
      (block)
      else
      (block
        (do (call f))))
    (if a (attributes likely)
      (block
        (do (call f)))
      else-if b #1:2
      (block
        (do (call g)))
      else-if c
      (block)
      else
      (block
        (do (call h))))
    (if (names x y) (call likely (< i n))
      (block
        (yield 1 2))
      else
      (block
        (yield 3 4)))))
"#,
    ),
    (
        "blocks",
        r#"
t.f @f {
  init {
    wmma.fill(C, 0.0)
  }
  te.update { return }
  yield -inf, -1
}
"#,
        r#"
(item t.f @f
  (block
    (path-block init
      (block
        (do (call wmma.fill C 0.0))))
    (path-block te.update
      (block
        (return)))
    (yield (neg inf) (neg 1))))
"#,
    ),
    (
        "item_parts",
        r#"
te.func @"a b" for @x, @y<n = 1024, m: 1..65536, k: -1..n = 4, j,>(A: f32[n], p: i32 in [1, 2], q: bool in d(p), s, B: t in shared attributes {a = 1},) -> (f32[n], C: f32 in a.b attributes {c}, D: t,) where m % 8 == 0, n > 0 attributes {d, e = 1} #3:4 {
}
"#,
        r#"
(item te.func @"a b" (for @x @y)
  (symbol n (default 1024))
  (symbol m (bounds 1 65536))
  (symbol k (bounds (neg 1) n) (default 4))
  (symbol j)
  (params (param A (element f32 (shape n))) (param p (element i32) (in (list 1 2))) (param q (element bool) (in (call d p))) (param s) (param B (type t) (in shared) (attributes a=1)))
  (results (param - (element f32 (shape n))) (param C (element f32) (in a.b) (attributes c)) (param D (type t)))
  (where (== (% m 8) 0) (> n 0)) (attributes d e=1) #3:4
  (block))
"#,
    ),
    (
        "items",
        r#"
tir 1
// A comment.
x @a { }
x @b() -> f32[2] { }
x @c -> t<1>[2] { return a, b }
x @d<>() -> () { }
"#,
        r#"
(item x @a
  (block))
(item x @b
  (params)
  (results (param - (element f32 (shape 2))))
  (block))
(item x @c
  (results (param - (type t (args 1) (shape 2))))
  (block
    (return a b)))
(item x @d
  (params)
  (block))
"#,
    ),
    (
        "closing_angles",
        r#"
x @a(A: t<u<1>>, B: t<u<v<1>>>) -> t<u<f32[a >> 1, b > c]>> { let x: t<u>= a >= b }
"#,
        r#"
(item x @a
  (params (param A (type t (args (type u (args 1))))) (param B (type t (args (type u (args (type v (args 1))))))))
  (results (param - (type t (args (type u (args (element f32 (shape (>> a 1) (> b c)))))))))
  (block
    (let x (type t (args (type u))) (>= a b))))
"#,
    ),
];

#[test]
fn each_construct_has_its_tree() {
    let mut wrong = String::new();
    for &(name, text, expected) in CASES {
        let (dump, errors) = parse(text);
        if dump.trim() != expected.trim() || !errors.is_empty() {
            wrong.push_str(&format!("== {name}\n-- expected{expected}\n-- found\n{dump}\n{}\n", errors.join("\n")));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn ranges_end_where_their_text_ends() {
    use tc_syntax::tree::{ExprKind, StmtKind};

    let text = "t.f @f attributes {a}  {\n  x = (a + (b) ) // no\n\n  y = f(x)  #1:2\n  A[(i)] = -(c)\n  if c {}\n  z = d.op() : f32  \n\n}\n";
    let mut seen = 0;
    let diagnostics = tc_syntax::parse(text, tc_support::Pos(1), &mut |tree, item| {
        assert_eq!(item.range.of(text), text.trim_end());
        let block = tree[item.block];
        let stmts: Vec<&str> = tree[block.stmts].iter().map(|stmt| stmt.range.of(text)).collect();
        assert_eq!(stmts, ["x = (a + (b) )", "y = f(x)  #1:2", "A[(i)] = -(c)", "if c {}", "z = d.op() : f32"],);
        let values: Vec<&str> = tree[block.stmts]
            .iter()
            .filter_map(|stmt| match stmt.kind {
                StmtKind::Assign { value, .. } | StmtKind::Store { value, .. } => Some(tree[value].range.of(text)),
                _ => None,
            })
            .collect();
        assert_eq!(values, ["(a + (b) )", "f(x)", "-(c)"]);
        let StmtKind::Store { place, value } = tree[block.stmts][2].kind else { panic!("a store") };
        let ExprKind::Index { slices, .. } = tree[place].kind else { panic!("a place") };
        assert_eq!(tree[tree[slices][0].first].range.of(text), "i");
        assert_eq!(tree.name(place).of(text), "A");
        let ExprKind::Unary { value, .. } = tree[value].kind else { panic!("a minus") };
        assert_eq!(tree[value].range.of(text), "c");
        seen += 1;
    });
    assert!(diagnostics.is_empty() && seen == 1);
}
