//! The grammar for editors, read as a TextMate engine reads a flat grammar: at each place the rule that matches first
//! wins, of several the one that stands first.

use regex::Regex;
use serde_json::Value;
use std::path::PathBuf;

struct Rule {
    pattern: Regex,
    /// The scope of each capture; the first is that of the whole.
    scopes: Vec<Option<String>>,
}

fn rules() -> Vec<Rule> {
    let grammar: Value = serde_json::from_str(&xtask::editor::grammar()).expect("JSON");
    let rule = |rule: &Value| {
        let pattern = Regex::new(rule["match"].as_str().expect("a flat rule")).expect("a plain expression");
        let mut scopes = vec![None; pattern.captures_len()];
        scopes[0] = rule["name"].as_str().map(str::to_string);
        for (nth, capture) in rule["captures"].as_object().into_iter().flatten() {
            let nth: usize = nth.parse().expect("a number");
            scopes[nth] = capture["name"].as_str().map(str::to_string);
        }
        Rule { pattern, scopes }
    };
    grammar["patterns"].as_array().expect("a list").iter().map(rule).collect()
}

/// The pieces of a line with their scopes; `-` where there is none.
fn scopes<'l>(rules: &[Rule], line: &'l str) -> Vec<(&'l str, String)> {
    let (mut list, mut at) = (Vec::new(), 0);
    let mut push = |range: std::ops::Range<usize>, scope: Option<&String>| {
        let text = line[range].trim();
        if !text.is_empty() {
            list.push((text, scope.map_or("-".to_string(), |scope| scope.trim_end_matches(".tir").to_string())));
        }
    };
    while at < line.len() {
        let found = rules.iter().filter_map(|rule| rule.pattern.captures_at(line, at).map(|found| (rule, found)));
        let Some((rule, found)) = found.min_by_key(|(_, found)| found.get(0).map_or(line.len(), |all| all.start()))
        else {
            break;
        };
        let all = found.get(0).expect("a match").range();
        push(at..all.start, None);
        let mut from = all.start;
        for (nth, scope) in rule.scopes.iter().enumerate().skip(1) {
            if let (Some(part), Some(_)) = (found.get(nth), scope) {
                push(from..part.start(), rule.scopes[0].as_ref());
                push(part.range(), scope.as_ref());
                from = part.end();
            }
        }
        push(from..all.end, rule.scopes[0].as_ref());
        assert!(all.end > at, "a rule matches nothing at {at} of `{line}`");
        at = all.end;
    }
    push(at..line.len(), None);
    list
}

#[test]
fn lines_have_the_scopes_that_editors_colour() {
    let rules = rules();
    let lines: &[(&str, &[(&str, &str)])] = &[
        ("tir 1", &[("tir", "keyword.other.version"), ("1", "constant.numeric")]),
        (
            "te.func @blur<n = 4096>(A: f32[n]) -> f32[n - 2] {",
            &[
                ("te.func", "storage.type.item"),
                ("@blur", "entity.name.function"),
                ("<", "keyword.operator"),
                ("n", "variable.parameter"),
                ("=", "keyword.operator"),
                ("4096", "constant.numeric.integer"),
                (">", "keyword.operator"),
                ("(", "punctuation"),
                ("A", "variable.other"),
                (":", "punctuation"),
                ("f32", "storage.type"),
                ("[", "punctuation"),
                ("n", "variable.other"),
                ("]", "punctuation"),
                (")", "punctuation"),
                ("->", "keyword.operator"),
                ("f32", "storage.type"),
                ("[", "punctuation"),
                ("n", "variable.other"),
                ("-", "keyword.operator"),
                ("2", "constant.numeric.integer"),
                ("]", "punctuation"),
                ("{", "punctuation"),
            ],
        ),
        (
            "  compute B[i: n] = sum[r: 3](A[i + r]) // why",
            &[
                ("compute", "keyword.declaration"),
                ("B", "variable.other"),
                ("[", "punctuation"),
                ("i", "variable.other"),
                (":", "punctuation"),
                ("n", "variable.other"),
                ("]", "punctuation"),
                ("=", "keyword.operator"),
                ("sum", "support.function"),
                ("[", "punctuation"),
                ("r", "variable.other"),
                (":", "punctuation"),
                ("3", "constant.numeric.integer"),
                ("]", "punctuation"),
                ("(", "punctuation"),
                ("A", "variable.other"),
                ("[", "punctuation"),
                ("i", "variable.other"),
                ("+", "keyword.operator"),
                ("r", "variable.other"),
                ("]", "punctuation"),
                (")", "punctuation"),
                ("// why", "comment.line.double-slash"),
            ],
        ),
        (
            "bind(B.i, threadIdx.x)",
            &[
                ("bind", "support.function"),
                ("(", "punctuation"),
                ("B.i", "variable.other.member"),
                (",", "punctuation"),
                ("threadIdx.x", "variable.language.thread"),
                (")", "punctuation"),
            ],
        ),
        (
            "// expected-error@+1 {{no}}",
            &[
                ("//", "comment.line.double-slash"),
                ("expected-error@+1", "comment.line.double-slash.tir keyword.other.expectation"),
                ("{{no}}", "comment.line.double-slash"),
            ],
        ),
        (
            "x$1 = -inff32 + 1.5e3f16 * 0x1fu8 #\"a.tir\":3:4",
            &[
                ("x$1", "variable.parameter"),
                ("=", "keyword.operator"),
                ("-", "keyword.operator"),
                ("inff32", "constant.language"),
                ("+", "keyword.operator"),
                ("1.5e3f16", "constant.numeric.float"),
                ("*", "keyword.operator"),
                ("0x1fu8", "constant.numeric.integer"),
                ("#\"a.tir\":3:4", "constant.other.location"),
            ],
        ),
    ];
    for (line, expected) in lines {
        let expected: Vec<(&str, String)> = expected.iter().map(|(text, scope)| (*text, scope.to_string())).collect();
        assert_eq!(scopes(&rules, line), expected, "{line}");
    }
}

#[test]
fn every_op_is_known() {
    let rules = rules();
    for dialect in tc::dialects::registry().dialects() {
        for row in dialect.rows {
            let scope = scopes(&rules, row.name);
            let known = ["support.function.op", "storage.type.item"].map(|scope| vec![(row.name, scope.to_string())]);
            assert!(known.contains(&scope), "`{}`: {scope:?}", row.name);
            if let Some(short) = row.short {
                let call = format!("{short}(x)");
                assert_eq!(scopes(&rules, &call)[0], (short, "support.function".to_string()));
            }
        }
    }
}

#[test]
fn all_that_stands_in_the_examples_has_a_scope() {
    let rules = rules();
    let folder: PathBuf = xtask::root().join("examples");
    let (mut n_pieces, mut n_comments) = (0, 0);
    for entry in std::fs::read_dir(folder).expect("there") {
        let path = entry.expect("readable").path();
        if path.extension().is_none_or(|extension| extension != "tir") {
            continue;
        }
        for line in std::fs::read_to_string(&path).expect("text").lines() {
            for (text, scope) in scopes(&rules, line) {
                assert_ne!(scope, "-", "{}: `{text}` of `{line}`", path.display());
                n_pieces += 1;
                n_comments += usize::from(scope.starts_with("comment"));
            }
        }
    }
    assert!(n_pieces > 5_000 && n_comments > 20, "{n_pieces} pieces, {n_comments} comments");
}
