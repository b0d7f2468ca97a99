//! Items with errors in their bodies, as editors see them: what parses is there, and what does not is left out.

/// The dumps of all items of `text`, those with errors included.
pub(crate) fn partial(text: &str) -> String {
    let mut dump = String::new();
    tc_syntax::parse_partial(text, tc_support::Pos(1), &mut |tree, item| dump.push_str(&tree.dump(item, text)));
    dump
}

/// The lines of the dump of `text` that say something.
fn lines(text: &str) -> Vec<String> {
    partial(text).lines().map(|line| line.trim().to_string()).filter(|line| !line.is_empty()).collect()
}

#[test]
fn statements_around_a_broken_one_are_there() {
    let text = "tir.func @f(A: f32[8]) {\n  for i in 0..8 {\n    a = g(1)\n    b = = 2\n    c = g(3)\n  }\n}\n";
    let whole = lines(&text.replace("    b = = 2\n", ""));
    let mut found = lines(text);
    // What stands in its place.
    found.retain(|line| line != "(do )");
    assert_eq!(found, whole);
}

#[test]
fn a_broken_statement_in_an_open_block_takes_no_other_item_along() {
    let text =
        "schedule @s for @f {\n  x, y = split(B.i, factor = 8)\n  bind(x, \n}\nschedule @t for @f {\n  inline(C)\n}\n";
    let found = partial(text);
    assert!(found.contains("split") && found.contains("(item schedule @t"), "{found}");
}

#[test]
fn an_item_without_a_head_is_left_out() {
    assert_eq!(partial("tir.func f() {\n  g(1)\n}\n"), "");
}
