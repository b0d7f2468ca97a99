//! Numbers of things in messages: `1 point`, `2 points`.

use std::fmt::Display;

/// `n` things that are called `one` if there is one of them: `1 pass`, `3 passes`.
///
/// The number is anything that shows itself as one, so that `1024`, `1,024` and an expression over sizes all serve.
pub fn counted(n: impl Display, one: &str) -> String {
    let n = n.to_string();
    if n == "1" { format!("1 {one}") } else { format!("{n} {}", plural(one)) }
}

/// The plural of an English noun that messages use.
fn plural(one: &str) -> String {
    if let Some(stem) = one.strip_suffix("ex") {
        return format!("{stem}ices");
    }
    if let Some(stem) = one.strip_suffix("xis") {
        return format!("{stem}xes");
    }
    if let Some(stem) = one.strip_suffix('y') {
        return format!("{stem}ies");
    }
    let hisses = ["s", "x", "ch", "sh"].iter().any(|end| one.ends_with(end));
    format!("{one}{}", if hisses { "es" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thing_is_no_plural() {
        assert_eq!((counted(1, "point"), counted(0, "point")), ("1 point".to_string(), "0 points".to_string()));
        assert_eq!(counted("n + 1", "byte"), "n + 1 bytes");
    }

    #[test]
    fn plurals_are_english() {
        let all = ["pass", "copy", "index", "axis", "branch", "choice"].map(plural);
        assert_eq!(all, ["passes", "copies", "indices", "axes", "branches", "choices"]);
    }
}
