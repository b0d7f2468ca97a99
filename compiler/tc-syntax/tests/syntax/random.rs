//! Random texts: the parser ends, without a panic, and what it says has places.

use crate::partial::partial;
use crate::{examples, parse};
use proptest::prelude::*;

/// Pieces of text from which something like the language can come.
const PIECES: &[&str] = &[
    "for",
    "in",
    "if",
    "else",
    "let",
    "alloc",
    "return",
    "yield",
    "where",
    "attributes",
    "cast",
    "compute",
    "true",
    "inf",
    "f32",
    "i32x4",
    "te.func",
    "tir.func @f",
    "schedule @s for @f",
    "a",
    "b$1",
    "x.y",
    "@f",
    "@\"g\"",
    "1",
    "0x1fu8",
    "2.5",
    "1e",
    "\"s\"",
    "\"",
    "#1:2",
    "#",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "{",
    "}",
    ",",
    ":",
    "..",
    "->",
    "=",
    "||",
    "&&",
    "==",
    "<",
    "<=",
    ">",
    ">=",
    ">>",
    "<<",
    "|",
    "^",
    "&",
    "+",
    "-",
    "*",
    "/",
    "%",
    "!",
    "\n",
    "\n",
    ";",
    "é",
    "\0",
    "// c\n",
    "cast<f32>(",
    "A[i] = 1.0\n",
    "x = f(a, k = 1)\n",
    "for i in 0..n {\n",
    "if a {\n",
    "}\n}\n",
    "t<u<1>>",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read_to_its_end(text in "\\PC{0,200}") {
        parse(&text);
        partial(&text);
    }

    #[test]
    fn any_bytes_that_are_text_are_read_to_their_end(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        parse(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn any_tokens_are_read_to_their_end(
        picks in prop::collection::vec((0..PIECES.len(), any::<bool>()), 0..120),
        closed in any::<bool>(),
    ) {
        let mut text = String::from(if closed { "tir.func @f() {\n" } else { "" });
        for (pick, space) in picks {
            text.push_str(PIECES[pick]);
            text.push_str(if space { " " } else { "" });
        }
        parse(&text);
        partial(&text);
    }

    #[test]
    fn a_damaged_example_is_read_to_its_end(
        pick in any::<prop::sample::Index>(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0..PIECES.len(), 0..20usize), 1..6),
    ) {
        let files = examples();
        let mut text = files[pick.index(files.len())].1.clone();
        for (at, piece, cut) in edits {
            let mut at = at.index(text.len());
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            let mut end = (at + cut).min(text.len());
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            text.replace_range(at..end.max(at), PIECES[piece]);
        }
        parse(&text);
        partial(&text);
    }
}

/// A text with an error in one item hands out the others.
#[test]
fn items_without_errors_are_handed_out() {
    let good = |name: &str| format!("tir.func @{name}() {{\n  f(1)\n}}\n");
    let bad = "tir.func @bad() {\n  x = = 1\n}\n";
    let unclosed = "tir.func @open() {\n  if a {\n    f(1)\n}\n";
    let text = [&good("a"), bad, &good("b"), unclosed, &good("c"), "tir.func bad() {\n}\n", &good("d")].concat();
    let mut names = Vec::new();
    let diagnostics = tc_syntax::parse(&text, tc_support::Pos(1), &mut |_, item| names.push(item.name.of(&text)));
    assert_eq!(diagnostics.len(), 3);
    assert_eq!(names, ["@a", "@b", "@c", "@d"]);
}
