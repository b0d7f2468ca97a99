//! Text with colours for a terminal, as markup.

use super::Html;

/// Adds `text`, whose colours become classes. What else a terminal would obey is dropped.
pub(crate) fn coloured(html: &mut Html, text: &str) {
    let mut pieces = text.split('\x1b');
    html.text(pieces.next().unwrap_or(""));
    let mut open = false;
    for piece in pieces {
        let Some((codes, rest)) = piece.strip_prefix('[').and_then(|piece| piece.split_once('m')) else { continue };
        if !codes.bytes().all(|byte| byte.is_ascii_digit() || byte == b';') {
            continue;
        }
        for code in codes.split(';') {
            let class = match code {
                "" | "0" => None,
                "1" => Some("<span class=ansi-bold>"),
                "31" | "91" => Some("<span class=ansi-red>"),
                "32" | "92" => Some("<span class=ansi-green>"),
                "33" | "93" => Some("<span class=ansi-yellow>"),
                "34" | "94" => Some("<span class=ansi-blue>"),
                "36" | "96" => Some("<span class=ansi-cyan>"),
                _ => continue,
            };
            match class {
                None => {
                    if open {
                        html.raw("</span></span>");
                    }
                    open = false;
                }
                // Two deep: bold and a colour may come one after the other.
                Some(class) if open => {
                    html.raw("</span>").raw(class);
                }
                Some(class) => {
                    html.raw("<span>").raw(class);
                    open = true;
                }
            }
        }
        html.text(rest);
    }
    if open {
        html.raw("</span></span>");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_become_classes() {
        let mut html = Html::default();
        coloured(&mut html, "a\x1b[1m\x1b[91m<b>\x1b[0m c\x1b[2J\x1b[31md");
        let want = "a<span><span class=ansi-bold></span><span class=ansi-red>&lt;b&gt;</span></span> c\
                    <span><span class=ansi-red>d</span></span>";
        assert_eq!(html.out, want);
    }
}
