//! Files that hold several texts, with lines `// -----` between them.

use std::ops::Range;

/// The line between two texts.
pub(crate) const MARKER: &str = "// -----";

/// The texts in `text`: the number of the first line of each, from 1, and its bytes.
pub(crate) fn split(text: &str) -> Vec<(u32, Range<usize>)> {
    let (mut parts, mut first_line, mut start, mut at) = (Vec::new(), 1, 0, 0);
    for (line, number) in text.split_inclusive('\n').zip(1u32..) {
        let end = at + line.len();
        if line.trim_end() == MARKER {
            parts.push((first_line, start..at));
            (first_line, start) = (number + 1, end);
        }
        at = end;
    }
    parts.push((first_line, start..at));
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_keep_their_lines() {
        let text = "a\n// -----\nb\nc\n// -----\r\n";
        let parts: Vec<(u32, &str)> = split(text).into_iter().map(|(line, range)| (line, &text[range])).collect();
        assert_eq!(parts, [(1, "a\n"), (3, "b\nc\n"), (6, "")]);
        assert_eq!(split("// ------\n"), [(1, 0..10)]);
        assert_eq!(split(""), [(1, 0..0)]);
        assert_eq!(split(&"// -----\n".repeat(20_000)).len(), 20_001);
    }
}
