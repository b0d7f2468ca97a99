//! Names that Python and TVM's parser let an author give.

use tc_kernel::names::MAX_LENGTH;

/// Words of Python, and names that TVMScript or its printer takes for something else.
const RESERVED: &[&str] = &[
    "False", "I", "Module", "None", "R", "T", "True", "and", "as", "assert", "async", "await", "bool", "break",
    "class", "continue", "def", "del", "elif", "else", "except", "finally", "float", "for", "from", "global", "if",
    "import", "in", "int", "is", "lambda", "list", "max", "min", "nonlocal", "not", "or", "pass", "raise", "range",
    "return", "str", "try", "tuple", "while", "with", "yield",
];

/// `name` as a name of Python; `fallback` where there is none.
pub(crate) fn safe(name: &str, fallback: &str) -> String {
    let keep = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' };
    let mut out: String = name.chars().take(MAX_LENGTH).map(keep).collect();
    if out.is_empty() {
        out.push_str(fallback);
    }
    if out.starts_with(|first: char| first.is_ascii_digit()) {
        out.insert(0, 'v');
    }
    // TVM's parser has variables of its own that begin with two.
    if out.starts_with("__") {
        out.insert(0, 'v');
    }
    if out == "_" || RESERVED.contains(&out.as_str()) {
        out.push('_');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_as_they_are_where_python_lets_them() {
        for (name, want) in [
            ("x", "x"),
            ("i$1", "i_1"),
            ("lambda", "lambda_"),
            ("T", "T_"),
            ("4th", "v4th"),
            ("__x", "v__x"),
            ("_", "__"),
            ("ünder", "_nder"),
            ("", "v"),
        ] {
            assert_eq!(safe(name, "v"), want);
        }
        assert_eq!(safe(&"x".repeat(1 << 20), "v").len(), MAX_LENGTH);
    }
}
