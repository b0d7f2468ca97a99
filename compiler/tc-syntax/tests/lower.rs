//! From text to verified IR: the language examples, and what is refused.

use tc_ir::verify::verify;
use tc_support::render;
use tc_syntax::{ParseOptions, parse_module};

fn diagnostics(text: &str, options: &ParseOptions) -> (usize, String) {
    let registry = tc_dialects::shared_registry();
    let (module, mut found) = parse_module("test.tir", text, &registry, options);
    for func in &module.items {
        found.append(verify(func));
    }
    (module.items.len(), render::text(&found, &module.sources, false))
}

#[test]
fn the_examples_of_the_language_are_read_and_verify() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../filecheck-tests/parse/examples");
    let mut n_files = 0;
    let mut names: Vec<_> =
        std::fs::read_dir(folder).expect("the folder is there").map(|entry| entry.expect("readable").path()).collect();
    names.sort();
    for path in names.iter().filter(|path| path.extension().is_some_and(|ext| ext == "tir")) {
        let text = std::fs::read_to_string(path).expect("readable");
        let (n_items, shown) = diagnostics(&text, &ParseOptions { allow_unknown_ops: true });
        assert!(n_items > 0 && shown.is_empty(), "{}: {n_items} items\n{shown}", path.display());
        n_files += 1;
    }
    assert_eq!(n_files, 10);
}

/// Reads `text`, in which the guilty line ends with `// ! message`, and checks that just those diagnostics are made,
/// each on its line.
#[track_caller]
fn refuses(text: &str) {
    let registry = tc_dialects::shared_registry();
    let (module, mut found) = parse_module("test.tir", text, &registry, &ParseOptions::default());
    for func in &module.items {
        found.append(verify(func));
    }
    let mut have: Vec<(u32, String)> = found
        .iter()
        .map(|diagnostic| match &diagnostic.location {
            tc_support::Location::Span(span) => {
                let at = module.sources.line_col(span.start).expect("in the text").1;
                (at.line, diagnostic.message.clone())
            }
            other => panic!("{other:?} is no place: {}", diagnostic.message),
        })
        .collect();
    let mut want: Vec<(u32, String)> = text
        .lines()
        .zip(1..)
        .filter_map(|(line, number)| Some((number, line.split_once("// ! ")?.1.to_string())))
        .collect();
    have.sort();
    want.sort();
    assert_eq!(have, want, "in\n{text}");
    assert!(!want.is_empty(), "the test expects nothing");
}

#[test]
fn every_error_of_a_file_is_found_in_one_run_at_its_line() {
    refuses(
        "tir.func @f(A: f32[8], n: i32, B: f16[4, 4]) {
  A[0] = x                        // ! nothing is called `x` here
  A[0] = 1                        // ! an integer literal is no `f32`
  A[0] = A[n] + n                 // ! `+` takes two numbers of one type, not `f32` and `i32`
  A[0, 1] = 0.0                   // ! `A` has 1 dimension, not 2
  let a = A[0] < B[0, 0]          // ! `<` takes two numbers of one type, not `f32` and `f16`
  let b = B[0]                    // ! `B` has 2 dimensions, not 1
  let c = a + b
  if A[0] {                       // ! a condition must be `bool`, not `f32`
  }
  let d = n && true               // ! a condition must be `bool`, not `i32`
  let e = 300i8                   // ! 300 does not fit `i8`, which holds -128 to 127
  let f = 99999999999999999999    // ! this integer is too large: it takes more than 64 bits
  let h = exq(A[0])               // ! unknown op `exq`
  let j = exp(A[0], A[1])         // ! `exp` takes 1 argument, not 2
  let k = fma(A[0], A[1])         // ! `fma` lacks its argument `c`
  for p in 0..A[0] {              // ! the bounds of a loop must be integers, not `f32`
  }
  for q in 0..8 bnd(threadIdx.x) { // ! there is no kind of loop `bnd`
  }
  n[0] = 1.0                      // ! `n` is `i32`, which has no elements
  A[B[0, 0]] = 1.0                // ! an index must be an integer, not `f16`
  gpu.barier(shared)              // ! unknown op `gpu.barier`
  let m = A[0] attributes {aligned = 16} // ! a `let` has no attributes
}
",
    );
}

#[test]
fn what_only_the_verifier_sees_is_located_too() {
    refuses(
        "tir.func @f(A: f32[8]) {
  for i in 0..8 bind(threadIdx.w) {   // ! there is no launch coordinate `threadIdx.w`
  }
  alloc S: f32[4] in shred            // ! there is no scope `shred`
  alloc T: f32[9223372036854775807, 9223372036854775807] in local // ! the extents overflow: the buffer has more than 2^63 bytes
  let i = exp(3i32)                   // ! `arith.exp` takes floats, not `i32`
  gpu.barrier(everywhere)             // ! there is no barrier over `everywhere`; there are shared, global, warp, warpgroup, cluster
  A[0] = select(true, 1.0, 2.0)
}
",
    );
}

#[test]
fn headers_operators_and_schedules_are_checked() {
    refuses(
        "te.func @f(A: f32[n]) -> f32[8] {          // ! no size is called `n`
  compute B[i: 8] = A[i]
  return B
}
te.fnc @g() { }                               // ! a file holds no `te.fnc`
te.func @h(A: f32[8]) -> f32[8] {
  compute C[i: 8] = sum[8](A[i])              // ! an axis of a reduction is `name: extent`
  compute D[i: 8] = A[i, i]                   // ! `A` has 1 dimension, not 2
  return B                                    // ! nothing is called `B` here
}
te.func @k(A: f32[8]) -> f32[8] {
  compute B[i: 8] = sum[k: 8](A[k]) + A[i]    // ! a reduction stands at the top of what is computed, not inside an expression
  return B
}
te.func @m(A: f32[8]) -> f32[8] {
  compute B[i: 8] = A[i]
}                                             // ! an operator returns its results
schedule @s {                                 // ! a schedule is for an operator
}
schedule @t for @f {
  bx, tx = split(B.i, factr = 8)              // ! `split` has no argument `factr`
  bind(B.i, blockIdx.q)
  a, b, c = split(B.i, factor = 4)            // ! 3 names for 2 results
}
schedule @u for @f {
  bx, tx = split(B.i)                         // ! `split` takes one of `factor = …` and `nparts = …`
  bind(bx, blockIdx.q)                        // ! there is no launch coordinate `blockIdx.q`
  reorder(B)                                  // ! `reorder` takes an axis here, and `B` is `stage`
}
",
    );
}

#[test]
fn the_examples_read_back_as_they_print() {
    use tc_ir::print::{PrintOptions, print_module};
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../filecheck-tests/parse/examples");
    let registry = tc_dialects::shared_registry();
    let options = ParseOptions { allow_unknown_ops: true };
    for entry in std::fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("readable").path();
        if path.extension().is_none_or(|ext| ext != "tir") {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("readable");
        for generic in [false, true] {
            let print = PrintOptions { generic, ..PrintOptions::default() };
            let (module, found) = parse_module("test.tir", &text, &registry, &options);
            assert!(!found.has_errors());
            let first = print_module(&module, &print);
            let (again, found) = parse_module("printed.tir", &first, &registry, &options);
            assert!(found.is_empty(), "{}\n{first}\n{}", path.display(), render::text(&found, &again.sources, false));
            for func in &again.items {
                let found = verify(func);
                assert!(
                    found.is_empty(),
                    "{}\n{first}\n{}",
                    path.display(),
                    render::text(&found, &again.sources, false)
                );
            }
            let second = print_module(&again, &print);
            assert!(second == first, "{}\n{}", path.display(), difference(&first, &second));
        }
    }
}

/// The first lines in which two texts differ.
fn difference(a: &str, b: &str) -> String {
    let at = a.lines().zip(b.lines()).take_while(|(a, b)| a == b).count();
    let show = |text: &str| text.lines().skip(at.saturating_sub(2)).take(6).collect::<Vec<_>>().join("\n");
    format!("line {}\n{}\n---\n{}", at + 1, show(a), show(b))
}
