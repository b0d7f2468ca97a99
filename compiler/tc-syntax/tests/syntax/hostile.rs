//! Texts that mean harm: each ends soon, with an error at a place, or with a tree.

use crate::parse;
use std::time::{Duration, Instant};
use tc_syntax::tree::{BinaryOp, StmtKind};
use tc_syntax::{MAX_DEPTH, MAX_ERRORS};

const MANY: usize = 100_000;

fn inside(text: &str) -> String {
    format!("tir.func @f() {{\n{text}\n}}\n")
}

/// The errors of `text`, which must come soon. The bound is far above what any of these texts takes, and far below
/// what they would take if something were quadratic.
fn errors(text: &str) -> Vec<String> {
    let start = Instant::now();
    let (_, errors) = parse(text);
    assert!(start.elapsed() < Duration::from_secs(20), "took {:?}", start.elapsed());
    errors
}

#[track_caller]
fn assert_too_deep(text: &str) {
    let errors = errors(text);
    assert!(errors.len() == 1 && errors[0].contains("nested too deeply (the limit is 256)"), "{errors:?}");
}

#[test]
fn deep_nesting_is_refused() {
    for (open, close) in [("(", ")"), ("[", "]"), ("f(", ")"), ("A[", "]"), ("-", ""), ("!", ""), ("-(", ")")] {
        assert_too_deep(&inside(&format!("x = {}1{}", open.repeat(MANY), close.repeat(MANY))));
        // Without the end.
        assert_too_deep(&inside(&format!("x = {}", open.repeat(MANY))));
    }
    assert_too_deep(&inside(&format!("{}{}", "init {\n".repeat(MANY), "}".repeat(MANY))));
    assert_too_deep(&inside(&"for i in 0..n {".repeat(MANY)));
    assert_too_deep(&inside(&format!("{} {{ }}", "if a { } else ".repeat(MANY))));
    assert_too_deep(&inside(&format!("f(a = {}", "{a = ".repeat(MANY))));
    assert_too_deep(&inside(&format!("let x: {}1{} = 1", "t<".repeat(MANY), ">".repeat(MANY))));
    assert_too_deep(&inside(&format!("let x: {}", "t<1, ".repeat(MANY))));
    assert_too_deep(&inside(&format!("x = {}1", "-f(".repeat(MANY))));
    // Operators that wait for their right operands nest too.
    assert_too_deep(&inside(&format!("x = {}", "a || b && c == d | e ^ f & g << h + i * (".repeat(40))));
}

#[test]
fn nesting_up_to_the_limit_is_taken() {
    let n = MAX_DEPTH as usize - 1;
    for (open, close) in [("(", ")"), ("[", "]"), ("f(", ")"), ("-", ""), ("!", "")] {
        let text = inside(&format!("x = {}1{}", open.repeat(n), close.repeat(n)));
        assert_eq!(errors(&text), [""; 0]);
        assert_too_deep(&inside(&format!("x = {}1{}", open.repeat(n + 1), close.repeat(n + 1))));
    }
    let chain = |n: usize| inside(&format!("{}{{ }}", "if a { } else ".repeat(n)));
    assert_eq!(errors(&chain(n - 1)), [""; 0]);
    assert_too_deep(&chain(n));
    // What was left does not count.
    let line = format!("x = {}1{} + - - -1\n", "-(".repeat(100), ")".repeat(100));
    let chain = "if a { } else ".repeat(100);
    assert_eq!(errors(&inside(&format!("{chain}{{ }}\n{line}").repeat(100))), [""; 0]);
}

#[test]
fn a_long_chain_is_a_tree_that_leans_to_the_left() {
    let n = 1_000_000;
    let text = inside(&format!("x = a{}", " + b".repeat(n)));
    let mut length = 0;
    let diagnostics = tc_syntax::parse(&text, tc_support::Pos(1), &mut |tree, item| {
        let StmtKind::Assign { value, .. } = tree[tree[item.block].stmts][0].kind else { panic!("an assignment") };
        let mut spine = tree.left_spine(value);
        assert!(spine.by_ref().inspect(|_| length += 1).all(|(_, op, _)| op == BinaryOp::Add));
        assert_eq!(tree[spine.first()].range.of(&text), "a");
        // The walk that dumps it must not recurse either.
        assert!(tree.dump(item, &text).ends_with("b))))\n"));
    });
    assert!(diagnostics.is_empty());
    assert_eq!(length, n);
}

#[test]
fn long_lists_are_taken() {
    let n = 200_000;
    assert_eq!(errors(&inside(&format!("f({})", "a, ".repeat(n)))), [""; 0]);
    assert_eq!(errors(&inside(&format!("{}a = f()", "a, ".repeat(n)))), [""; 0]);
    assert_eq!(errors(&inside(&"f() ".repeat(n))), [""; 0]);
    assert_eq!(errors(&"tir.func @f() { }\n".repeat(n)), [""; 0]);
    assert_eq!(errors(&inside(&format!("f(){}", " { }".repeat(n)))), [""; 0]);
}

#[test]
fn a_huge_name_is_a_name_and_is_not_told_in_full() {
    let name = "x".repeat(1 << 20);
    assert_eq!(errors(&inside(&format!("{name} = f({name}, @{name}, \"{name}\", a.{name})"))), [""; 0]);
    let told = errors(&inside(&format!("let x = = {name}\nlet y = f(1 {name})\nlet z = {}", "1".repeat(1 << 20))));
    assert_eq!(told.len(), 2);
    assert!(told.iter().all(|error| error.len() < 400), "{:?}", told.iter().map(String::len).collect::<Vec<_>>());
    let told = errors(&inside(&format!("let x = {}z", "1".repeat(1 << 20))));
    assert!(told.len() == 1 && told[0].len() < 400);
}

#[test]
fn many_errors_end_at_a_limit() {
    let lines = [
        "x = = 1\n",
        "?\n",
        ")\n",
        "\0\n",
        "let 1\n",
        "f(\n",
        "}\n",
        "{\n",
        "a b c\n",
        "\"\n",
        "f({a = })\n",
        "yield\n",
    ];
    for line in lines {
        let told = errors(&inside(&line.repeat(MANY)));
        assert!(!told.is_empty() && told.len() <= MAX_ERRORS + 1, "{line:?}: {}", told.len());
    }
    let told = errors(&inside(&"x = = 1\n".repeat(MANY)));
    assert_eq!(told.len(), MAX_ERRORS + 1);
    assert!(told[MAX_ERRORS].ends_with("too many errors: the first 100 are shown"), "{}", told[MAX_ERRORS]);
}

#[test]
fn recovery_in_the_depth_ends_soon() {
    // Each skipped token makes recovery look through all that is open.
    let deep = "init { f(a, [".repeat(80);
    for rest in [")", "=", "1 ", "]", "} ]", ", ,", "a ", "else", ": "] {
        let told = errors(&inside(&format!("{deep} = {}", rest.repeat(1_000_000))));
        assert!(!told.is_empty() && told.len() <= MAX_ERRORS + 1, "{rest:?}");
    }
    for n in [10, 1000, 3000] {
        let line = format!("\nx = = {}", ")".repeat(n));
        let told = errors(&inside(&format!("{}{}", "init { ".repeat(250), line.repeat(1000))));
        assert!(!told.is_empty() && told.len() <= MAX_ERRORS + 1, "{n}");
    }
}

#[test]
fn odd_texts() {
    for text in ["", "\n\n", "// nothing", "tir 1", "\u{feff}tir 1\n", "\r\n \t\x0c"] {
        assert_eq!(errors(text), [""; 0], "{text:?}");
    }
    for text in ["\0", "\u{202e}", "tir", "1", "{", "}", "@", "\"", "#", "tir 1 1", "tir.func", "@f", "''", "\\"] {
        assert_eq!(errors(text).len(), 1, "{text:?}");
    }
    assert_eq!(errors(&"\0".repeat(1 << 20)), ["1:1: a NUL byte in the text\n  help: is this a text file?"]);
}
