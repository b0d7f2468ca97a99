//! Operators of every shape: combiners, several results, sizes, scalars, gathers; and hostile ones.

mod common;

use common::{lower, parse, show, wrong};
use tc_schedule::{Options, inline_into_consumers};

fn by_default(text: &str, operator: &str) -> (tc_ir::Module, tc_ir::Func) {
    let module = parse(text);
    let te = module.function(operator).expect("the operator is there");
    let program = tc_schedule::lower(te, None, Some(&module), &Options::default());
    let program = program.unwrap_or_else(|found| panic!("{:?}", found.iter().next()));
    let found = tc_ir::verify::verify(&program);
    assert!(found.is_empty(), "{found:?}");
    (module, program)
}

const ARGMAX: &str = "te.combiner @argmax(lv: f32, li: i32, rv: f32, ri: i32) -> (f32, i32) {
  identity {
    yield -inf, -1
  }
  yield select(lv >= rv, lv, rv), select(lv >= rv, li, ri)
}
te.func @rowmax<n = 5, m = 7>(A: f32[n, m]) -> (f32[n], i32[n]) {
  compute V, I[i: n] = argmax[k: m](A[i, k], cast<i32>(k))
  return V, I
}
schedule @s for @rowmax {
  VL = cache_write(V, local)
  io, ii = split(V.i, factor = 2)
  bind(io, blockIdx.x)
  bind(ii, threadIdx.x)
  compute_at(VL, ii)
  ko, ki = split(VL.k, factor = 4)
}";

#[test]
fn a_user_combiner_with_two_results_is_written_out() {
    let (module, program) = by_default(ARGMAX, "rowmax");
    assert_eq!(wrong(&module, "rowmax", program), None);
    let program = lower(&module, "rowmax", "s").expect("the schedule is legal");
    let text = show(&program);
    assert!(text.contains("alloc VL: f32[1] in local") && text.contains("alloc VL_1: i32[1] in local"), "{text}");
    assert_eq!(wrong(&module, "rowmax", program), None);
}

#[test]
fn reductions_start_from_their_identities() {
    for (combiner, ty, expected) in [
        ("sum", "f32", "0.0"),
        ("prod", "f32", "1.0"),
        ("min", "f32", "inf"),
        ("max", "f32", "-inf"),
        ("max", "i32", "-2147483648"),
        ("min", "u8", "255"),
        ("sum", "i64", "0"),
    ] {
        let text = format!(
            "te.func @f(A: {ty}[3, 4]) -> {ty}[3] {{\n  compute S[i: 3] = {combiner}[k: 4](A[i, k])\n  return S\n}}"
        );
        let (module, program) = by_default(&text, "f");
        let shown = show(&program);
        assert!(shown.contains(&format!("S[i] = {expected}\n")), "{combiner} of {ty}:\n{shown}");
        assert_eq!(wrong(&module, "f", program), None, "{combiner} of {ty}");
    }
}

#[test]
fn axes_may_start_anywhere_and_loops_start_at_0() {
    let text = "te.func @f(A: f32[20]) -> f32[9] {
  compute T[i: 3..12] = sum[k: 2..5](A[i + k])
  compute B[j: 9] = T[j] + 1.0
  return B
}
schedule @s for @f {
  jo, ji = split(B.j, factor = 4)
  compute_at(T, jo)
}";
    let (module, program) = by_default(text, "f");
    assert_eq!(wrong(&module, "f", program), None);
    let program = lower(&module, "f", "s").expect("the schedule is legal");
    assert_eq!(wrong(&module, "f", program), None);
}

#[test]
fn gathers_and_lets_of_the_operator() {
    let text = "te.func @f<n = 6>(A: f32[n], X: i32[n]) -> f32[n] {
  let half = n / 2
  compute B[i: n] = A[min(max(cast<index>(X[i]), 0), n - 1)] + A[i % half]
  return B
}
schedule @s for @f {
  AC = cache_read(A, local)
  compute_at(AC, B.i)
}";
    let (module, program) = by_default(text, "f");
    assert_eq!(wrong(&module, "f", program), None);
    // What is gathered may be anywhere, so the copy holds all.
    let program = lower(&module, "f", "s").expect("the schedule is legal");
    assert!(show(&program).contains("alloc AC: f32[6] in local"), "{}", show(&program));
    assert_eq!(wrong(&module, "f", program), None);
}

#[test]
fn scalar_arguments_are_arguments_of_the_program() {
    let text = "te.func @f(A: f32[4], s: f32) -> f32[4] {
  let twice = s * 2.0
  compute B[i: 4] = A[i] * twice + s
  return B
}";
    let (_, program) = by_default(text, "f");
    let expected = "tir.func @f(A: f32[4], s: f32, B: f32[4]) attributes {noalias} {
  let twice = s * 2.0
  for i in 0..4 {
    B[i] = A[i] * twice + s
  }
}
";
    assert_eq!(show(&program), expected);
}

#[test]
fn a_tensor_without_axes() {
    let (module, program) =
        by_default("te.func @f(A: f32[8]) -> f32 {\n  compute S = sum[k: 8](A[k])\n  return S\n}", "f");
    assert_eq!(wrong(&module, "f", program), None);
}

#[test]
fn sizes_are_fixed_at_defaults_or_as_defined() {
    let text = "te.func @f<n: 1..64 = 4>(A: f32[n]) -> f32[n * 2] where n % 2 == 0 {
  compute B[i: n * 2] = A[i / 2]
  return B
}
te.func @g<n>(A: f32[n]) -> f32[n] {
  compute B[i: n] = A[i]
  return B
}";
    let module = parse(text);
    let f = module.function("f").expect("there");
    let with = |n: i64| {
        let defines = vec![("n".to_string(), n)];
        tc_schedule::lower(f, None, None, &Options { defines, ..Options::default() })
    };
    assert!(show(&with(6).expect("fits")).contains("B: f32[12]"));
    let code = |n: i64| with(n).expect_err("refused").iter().next().expect("a diagnostic").code;
    assert_eq!((code(5), code(100)), ("size-fact", "size-range"));
    let g = module.function("g").expect("there");
    let open = show(&tc_schedule::lower(g, None, None, &Options::default()).expect("for all sizes"));
    assert!(open.contains("@g<n>(A: f32[n], B: f32[n])"), "{open}");
    let symbolic = Options { symbolic: true, ..Options::default() };
    let open = show(&tc_schedule::lower(f, None, None, &symbolic).expect("for all sizes"));
    assert!(open.contains("@f<n: 1..64 = 4>(A: f32[n], B: f32[n * 2]) where n % 2 == 0"), "{open}");
    assert!(open.contains("for i in 0..n * 2 {"), "{open}");
}

#[test]
fn what_an_operator_returns_is_computed_once_and_by_it() {
    for (text, why) in [
        ("te.func @f(A: f32[4]) -> f32[4] {\n  return A\n}", "an argument"),
        ("te.func @f(A: f32[4]) -> (f32[4], f32[4]) {\n  compute B[i: 4] = A[i]\n  return B, B\n}", "returned twice"),
    ] {
        let module = parse(text);
        let te = module.function("f").expect("there");
        let found = tc_schedule::lower(te, None, None, &Options::default()).expect_err("refused");
        assert!(found.iter().any(|found| found.message.contains(why)), "{found:?}");
    }
}

#[test]
fn huge_numbers_are_refused_and_do_not_panic() {
    let big = i64::MAX;
    for (schedule, code) in [
        (format!("a, b = split(B.i, factor = {big})"), None),
        (format!("a, b = split(B.i, nparts = {big})\n  bind(a, threadIdx.x)"), Some("extent-overflow")),
        (
            format!(
                "a, b = split(B.i, factor = {big})\n  bind(b, threadIdx.x)\n  c, d = split(B.j, factor = {big})\n  bind(d, threadIdx.y)"
            ),
            Some("extent-overflow"),
        ),
        (format!("a, b = split(B.i, factor = {big} + 1)"), Some("schedule-number")),
        (
            format!(
                "AC = cache_read(A, local)\n  compute_at(AC, B.i)\n  storage_align(AC.ax0, factor = {big}, offset = {big})"
            ),
            Some("extent-overflow"),
        ),
    ] {
        let text = format!(
            "te.func @f(A: f32[8, 8]) -> f32[8, 8] {{\n  compute B[i: 8, j: 8] = A[i, j]\n  return B\n}}\nschedule @s for @f {{\n  {schedule}\n}}"
        );
        let module = parse(&text);
        let found = lower(&module, "f", "s").err().map(|found| found.iter().next().expect("a diagnostic").code);
        assert_eq!(found, code, "{schedule}");
    }
}

#[test]
fn inlining_that_explodes_is_refused_in_time() {
    let mut text = String::from("te.func @f(A: f32[4]) -> f32[4] {\n  compute T0[i: 4] = A[i]\n");
    for nth in 1..40 {
        text += &format!("  compute T{nth}[i: 4] = T{0}[i] * T{0}[i]\n", nth - 1);
    }
    text += "  compute B[i: 4] = T39[i]\n  return B\n}\nschedule @s for @f {\n";
    (0..40).for_each(|nth| text += &format!("  inline(T{nth})\n"));
    text += "}";
    let module = parse(&text);
    let found = lower(&module, "f", "s").expect_err("too large");
    assert_eq!(found.iter().next().expect("a diagnostic").code, "inline-size");
}

#[test]
fn deep_expressions_and_long_schedules_cost_no_stack() {
    let sum = vec!["A[i]"; 20_000].join(" + ");
    let mut text = format!(
        "te.func @f(A: f32[4]) -> f32[4] {{\n  compute B[i: 4] = {sum}\n  return B\n}}\nschedule @s for @f {{\n"
    );
    text += "  o0, n0 = split(B.i, factor = 4)\n";
    for nth in 1..500 {
        text += &format!("  o{nth}, n{nth} = split(n{}, factor = 4)\n", nth - 1);
    }
    text += "}";
    let module = parse(&text);
    let program = lower(&module, "f", "s").expect("the schedule is legal");
    assert_eq!(wrong(&module, "f", program), None);
}

#[test]
fn a_stage_is_inlined_in_the_operator_itself() {
    let text = "te.func @f(A: f32[6]) -> f32[4] {
  compute T[i: 6] = A[i] * 2.0
  compute B[i: 4] = T[i] + T[i + 2]
  return B
}";
    let module = parse(text);
    let mut te = module.function("f").expect("there").clone();
    let compute =
        te.ops(te.body()).find(|&op| te.opcode(op) == tc_dialects::te::Compute::OPCODE).expect("the first stage");
    assert_eq!(inline_into_consumers(&mut te, compute), Some(2));
    let found = tc_ir::verify::verify(&te);
    assert!(found.is_empty(), "{found:?}");
    let program = tc_schedule::lower(&te, None, None, &Options::default()).expect("an operator");
    assert!(!show(&program).contains("alloc"));
    assert_eq!(wrong(&module, "f", program), None);
}
