//! The grammar for editors, `tools/editor/syntaxes/tir.tmLanguage.json`, made from the rows of ops.
//!
//! It is a flat list of rules without look-around, so that every engine reads it in the same way: at each place the rule
//! that matches first wins, and of several the one that stands first.

use serde_json::{Value, json};

/// Where it stands.
pub const PATH: &str = "tools/editor/syntaxes/tir.tmLanguage.json";

/// What the language calls like ops and no row names.
const CALLED: [&str; 7] = ["sum", "prod", "if_then_else", "cast", "range", "divisors", "thread"];

/// A word of the language.
const WORD: &str = r"[A-Za-z_][A-Za-z0-9_]*(?:\$[0-9]+)?";
const TYPE: &str = r"(?:bool|index|[iu](?:8|16|32|64)|f16|bf16|f32|f64|f8e4m3|f8e5m2|tf32)";
const STRING: &str = r#""(?:[^"\\]|\\.)*""#;

/// The grammar, as text.
pub fn grammar() -> String {
    format!("{:#}\n", document())
}

/// The words of the rows, sorted, the longest of those with one beginning first.
fn words<'r>(list: impl Iterator<Item = &'r str>) -> String {
    let mut words: Vec<String> = list.map(|word| word.replace('.', r"\.")).collect();
    words.sort_unstable_by(|a, b| b.cmp(a));
    words.dedup();
    words.join("|")
}

fn document() -> Value {
    let registry = tc::dialects::registry();
    let rows = || registry.dialects().iter().flat_map(|dialect| dialect.rows.iter());
    let items = words(rows().filter_map(|row| row.item).map(|item| item.keyword));
    let ops = words(rows().map(|row| row.name));
    let dotted = words(rows().filter_map(|row| row.short).filter(|short| short.contains('.')));
    let calls = words(rows().filter_map(|row| row.short).filter(|short| !short.contains('.')).chain(CALLED));
    let rule = |name: &str, pattern: String| json!({"name": format!("{name}.tir"), "match": pattern});
    json!({
        "$schema": "https://raw.githubusercontent.com/martinring/tmlanguage/master/tmlanguage.json",
        "name": "tir",
        "scopeName": "source.tir",
        "fileTypes": ["tir"],
        "patterns": [
            {
                "match": r"(//.*?)(expected-(?:error|warning|remark|note)(?:@[A-Za-z0-9+-]+)?)(.*)$",
                "captures": {
                    "1": {"name": "comment.line.double-slash.tir"},
                    "2": {"name": "comment.line.double-slash.tir keyword.other.expectation.tir"},
                    "3": {"name": "comment.line.double-slash.tir"},
                },
            },
            rule("comment.line.double-slash", "//.*$".to_string()),
            rule("constant.other.location", format!("#(?:{STRING}:)?[0-9]+:[0-9]+")),
            rule("entity.name.function", format!("@(?:{STRING}|{WORD})")),
            rule("string.quoted.double", STRING.to_string()),
            {
                "match": r"^\s*(tir)\s+([0-9]+)\s*$",
                "captures": {"1": {"name": "keyword.other.version.tir"}, "2": {"name": "constant.numeric.tir"}},
            },
            rule("storage.type.item", format!(r"\b(?:{items})\b")),
            rule("variable.language.thread", r"\b(?:blockIdx\.[xyz]|threadIdx\.[xyz]|vthread)\b".to_string()),
            rule("support.function.op", format!(r"\b(?:{ops})\b")),
            rule("support.function", format!(r"\b(?:{dotted})\b")),
            rule("variable.other.member", format!(r"\b{WORD}(?:\.{WORD})+")),
            rule("constant.numeric.float", format!(
                r"\b(?:0x[0-9a-fA-F]+(?:\.[0-9a-fA-F]+)?p[+-]?[0-9]+|[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+){TYPE}?\b"
            )),
            rule("constant.numeric.integer", format!(r"\b(?:0x[0-9a-fA-F]+|[0-9]+){TYPE}?\b")),
            rule("constant.language", format!(r"\b(?:true|false|(?:inf|nan){TYPE}?)\b")),
            rule("storage.type", format!(r"\b{TYPE}(?:x[0-9]+)?\b")),
            rule("keyword.control", r"\b(?:for|in|if|else|return|yield|where)\b".to_string()),
            rule("keyword.declaration", r"\b(?:let|alloc|compute|attributes)\b".to_string()),
            {
                "match": format!(r"\b({calls})(\s*[\[(<{{])"),
                "captures": {"1": {"name": "support.function.tir"}, "2": {"name": "punctuation.tir"}},
            },
            {
                "match": format!(r"\b({WORD})(\s*=)\s"),
                "captures": {"1": {"name": "variable.parameter.tir"}, "2": {"name": "keyword.operator.tir"}},
            },
            rule("variable.other", format!(r"(?:\b{WORD}|\$[0-9]+)")),
            rule("keyword.operator", r"->|\.\.|&&|\|\||==|!=|<=|>=|<<|>>|[-+*/%=<>!&|^]".to_string()),
            rule("punctuation", r"[(){}\[\],:]".to_string()),
        ],
    })
}
