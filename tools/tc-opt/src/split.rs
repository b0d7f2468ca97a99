//! Files that hold several texts, with lines `// -----` between them.

/// The line between two texts.
pub(crate) const MARKER: &str = "// -----";

/// How many texts a file may hold.
const MAX_PARTS: usize = 10_000;

/// The texts in `text`. Each is led by as many line ends as lines stand before it, so that places keep their lines.
/// The error is the number of texts where that is too large.
pub(crate) fn split(text: &str) -> Result<Vec<String>, usize> {
    let is_marker = |line: &str| line.trim_end() == MARKER;
    let n_parts = text.lines().filter(|line| is_marker(line)).count() + 1;
    if n_parts > MAX_PARTS {
        return Err(n_parts);
    }
    let mut parts = vec![String::new()];
    for (idx, line) in text.split_inclusive('\n').enumerate() {
        if is_marker(line) {
            parts.push("\n".repeat(idx + 1));
        } else if let Some(part) = parts.last_mut() {
            part.push_str(line);
        }
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_keep_their_lines() {
        let parts = split("a\n// -----\nb\nc\n// -----\r\n").expect("few");
        assert_eq!(parts, ["a\n", "\n\nb\nc\n", "\n\n\n\n\n"]);
        assert_eq!(split("// ------\n").expect("few"), ["// ------\n"]);
        assert_eq!(split(&"// -----\n".repeat(20_000)), Err(20_001));
    }
}
