//! The page at the head of a source file, taken out of it when it is compiled, so that programs carry no source.

/// The text at the head of a file of Rust: its `//!` lines, without the marks.
///
/// ```
/// assert!(tc_support::page!("../src/page.rs").starts_with("The page at the head"));
/// ```
#[macro_export]
macro_rules! page {
    ($file:expr) => {{
        const SOURCE: &str = include_str!($file);
        const PAGE: [u8; $crate::page::size(SOURCE)] = $crate::page::bytes(SOURCE);
        match core::str::from_utf8(&PAGE) {
            Ok(page) => page,
            Err(_) => panic!("lines of text are text"),
        }
    }};
}

const MARK: &[u8] = b"//!";

/// How many bytes the page of `source` has.
pub const fn size(source: &str) -> usize {
    copy::<0>(source).1
}

/// The page of `source`, which has `N` bytes.
pub const fn bytes<const N: usize>(source: &str) -> [u8; N] {
    copy::<N>(source).0
}

/// As much of the page of `source` as there is room for, and its size.
const fn copy<const N: usize>(source: &str) -> ([u8; N], usize) {
    let (text, mut page) = (source.as_bytes(), [0; N]);
    let (mut at, mut n) = (0, 0);
    while at + MARK.len() <= text.len() && text[at] == MARK[0] && text[at + 1] == MARK[1] && text[at + 2] == MARK[2] {
        at += MARK.len();
        if at < text.len() && text[at] == b' ' {
            at += 1;
        }
        loop {
            let byte = if at < text.len() { text[at] } else { b'\n' };
            at += 1;
            if n < N {
                page[n] = byte;
            }
            n += 1;
            if byte == b'\n' {
                break;
            }
        }
    }
    (page, n)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_what_is_marked_at_the_head() {
        const SOURCE: &str = "//! One.\n//!\n//!  Two é.\n\n//! Not this.\n";
        const PAGE: [u8; size(SOURCE)] = bytes(SOURCE);
        assert_eq!(std::str::from_utf8(&PAGE), Ok("One.\n\n Two é.\n"));
        assert_eq!((size("fn f() {}"), size(""), size("//! End")), (0, 0, 4));
    }
}
