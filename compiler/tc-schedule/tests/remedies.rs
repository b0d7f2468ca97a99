//! Helps are true: what one proposes is written into the text, and the schedule then lowers.

mod common;

use common::{lower, parse};

const OPERATOR: &str = "te.func @f(A: f32[64, 32], W: f32[32]) -> f32[64] {
  compute T[i: 64, r: 32] = A[i, r] * W[r]
  compute S[i: 64] = sum[k: 32](T[i, k])
  compute B[i: 64] = S[i] + 1.0
  return B
}
";

/// The helps of the only diagnostic about `line`, which stands between `before` and `after`, as the code in them.
fn helps(before: &str, line: &str, after: &str) -> (String, Vec<String>) {
    let text = format!("{OPERATOR}schedule @s for @f {{\n{before}\n{line}\n{after}\n}}\n");
    let module = parse(&text);
    let found = lower(&module, "f", "s").expect_err("it is refused");
    let errors: Vec<_> = found.iter().filter(|one| one.is_error()).collect();
    let [only] = errors[..] else { panic!("{errors:?}") };
    let help = only.help.clone().unwrap_or_default();
    let code = help.split('`').skip(1).step_by(2).map(str::to_string).collect();
    (help, code)
}

/// Each fix-it is written in the place of `line`, and lowers.
fn lowers(before: &str, line: &str, after: &str, expected: &[&str]) {
    let (help, code) = helps(before, line, after);
    assert_eq!(code, expected, "{help}");
    for proposed in code {
        let results = line.split_once(" = ").filter(|(names, _)| !names.contains('(')).map(|(names, _)| names);
        let replaced = match results {
            Some(results) => format!("{results} = {proposed}"),
            None => proposed.clone(),
        };
        let text = format!("{OPERATOR}schedule @s for @f {{\n{before}\n{replaced}\n{after}\n}}\n");
        let module = parse(&text);
        lower(&module, "f", "s").unwrap_or_else(|found| panic!("{replaced}: {:?}", found.iter().next()));
    }
}

#[test]
fn another_axis_is_proposed_where_it_is_legal() {
    lowers("", "vectorize(S.k)", "", &["vectorize(S.i)"]);
    lowers("io, ii = split(B.i, factor = 8)", "unroll(B.i)", "", &["unroll(ii)", "unroll(io)"]);
    lowers("", "compute_at(T, T.i)", "", &["compute_at(T, S.k)", "compute_at(T, S.i)"]);
    lowers("compute_at(S, B.i)", "compute_at(S, T.i)", "", &["compute_at(S, B.i)"]);
}

#[test]
fn an_inline_that_cannot_be_becomes_an_attachment() {
    let (help, code) = helps("", "inline(S)", "");
    assert_eq!(code, ["compute_at(S, B.i)", "inline"], "{help}");
    let module = parse(&format!("{OPERATOR}schedule @s for @f {{\n  compute_at(S, B.i)\n}}\n"));
    lower(&module, "f", "s").expect("the help holds");
}

#[test]
fn loops_are_put_into_an_order_that_can_be_fused() {
    let (help, code) = helps("", "x = fuse(T.r, T.i)", "unroll(x)");
    assert_eq!(help, "`fuse(T.i, T.r)`; or `reorder(T.r, T.i)` before it");
    for written in [format!("x = {}", code[0]), format!("{}\nx = fuse(T.r, T.i)", code[1])] {
        let module = parse(&format!("{OPERATOR}schedule @s for @f {{\n{written}\nunroll(x)\n}}\n"));
        lower(&module, "f", "s").unwrap_or_else(|found| panic!("{written}: {:?}", found.iter().next()));
    }
}

#[test]
fn what_does_not_lower_is_not_proposed() {
    // The only other loop is bound already.
    let (help, code) = helps("bind(S.i, blockIdx.x)", "vectorize(S.k)", "");
    assert_eq!((help.as_str(), &code[..]), ("loops over the data are `i`", &["i".to_string()][..]));
    // Bound to blocks, `io` gives each block its own `S`; only the inner loops are left once that is local.
    let before = "set_scope(S, local)\nio, ii = split(B.i, factor = 8)\nbind(io, blockIdx.x)\nbind(ii, threadIdx.x)";
    lowers(before, "compute_at(S, io)", "", &["compute_at(S, ii)"]);
}

#[test]
fn a_diagnostic_beside_others_gets_its_help_all_the_same() {
    let text = format!("{OPERATOR}schedule @s for @f {{\n  vectorize(S.k)\n  io, ii = split(B.i, factor = 0)\n}}\n");
    let module = parse(&text);
    let found = lower(&module, "f", "s").expect_err("it is refused");
    let told: Vec<(&str, Option<&str>)> = found.iter().map(|one| (one.code, one.help.as_deref())).collect();
    assert_eq!(told, [("vectorized-reduction", Some("`vectorize(S.i)`")), ("factor", None)]);
}

#[test]
fn a_schedule_of_too_many_directives_is_refused_where_they_end() {
    let mut text = format!("{OPERATOR}schedule @s for @f {{\n");
    (0..100_001).for_each(|_| text += "  pragma(B.i, auto_unroll_max_step = 1)\n");
    text += "}\n";
    let module = parse(&text);
    let found = lower(&module, "f", "s").expect_err("it is refused");
    let told: Vec<(&str, &str)> = found.iter().map(|one| (one.code, one.message.as_str())).collect();
    assert_eq!(told, [("schedule-size", "a schedule runs at most 100000 directives")]);
}
