//! Pages of HTML and pictures: what is written by us stands apart from what comes from outside.
//!
//! [`Html`] takes markup only from constants; whatever is made at run time goes in as text and is escaped. A page is one
//! file: its style and its script stand in it, and its policy forbids it to load anything. A picture is one too, without a
//! script.

pub(crate) mod ansi;

use std::fmt::{Display, Write as _};

/// The colours of pages and pictures, light and dark.
const COLOURS: &str = include_str!("colours.css");
/// The style of what is drawn.
const PLOT: &str = include_str!("plot.css");

/// Markup under construction.
#[derive(Default, Debug)]
pub struct Html {
    out: String,
}

impl Html {
    /// Adds markup.
    pub fn raw(&mut self, markup: &'static str) -> &mut Html {
        self.out.push_str(markup);
        self
    }

    /// Adds text; what has a meaning in markup loses it. It may stand between tags and in quoted attributes.
    pub fn text(&mut self, text: impl Display) -> &mut Html {
        let _ = write!(Escape(&mut self.out), "{text}");
        self
    }

    /// Adds markup that was made apart.
    pub fn html(&mut self, other: Html) -> &mut Html {
        self.out.push_str(&other.out);
        self
    }

    /// Adds a cell of a table.
    pub fn cell(&mut self, text: impl Display) -> &mut Html {
        self.raw("<td>").text(text).raw("</td>")
    }

    /// Adds a cell with a number.
    pub fn number(&mut self, text: impl Display) -> &mut Html {
        self.raw("<td class=num>").text(text).raw("</td>")
    }

    /// Adds data for the script `id`. No text in it can end the element.
    pub fn data(&mut self, id: &'static str, data: &serde_json::Value) -> &mut Html {
        let json =
            data.to_string().replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029");
        let _ = writeln!(self.out, "<script type=\"application/json\" id=\"{id}\">{json}</script>");
        self
    }

    /// The page: `self` is its body, which the script `page.js` makes live.
    pub fn page(self, title: &str) -> String {
        let mut page = Html::default();
        page.raw("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
        page.raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
        page.raw("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; ");
        page.raw("style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">\n");
        page.raw("<link rel=\"icon\" href=\"data:,\">\n<title>").text(title).raw("</title>\n<style>\n");
        page.raw(COLOURS).raw(include_str!("page.css")).raw(PLOT).raw("</style>\n</head>\n<body>\n").html(self);
        page.raw("<script>\n").raw(include_str!("page.js")).raw("</script>\n</body>\n</html>\n");
        page.out
    }

    /// A picture of its own, so many units wide and high: `self` is what is drawn, well-formed as XML wants it.
    pub fn picture(self, title: &str, (width, height): (f64, f64)) -> String {
        let mut picture = Html::default();
        picture.raw("<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" width=\"").text(width);
        picture.raw("\" height=\"").text(height).raw("\" viewBox=\"0 0 ").text(width).raw(" ").text(height);
        picture.raw("\" font-family=\"system-ui, 'DejaVu Sans', sans-serif\">\n<title>").text(title);
        picture.raw("</title>\n<style>\n").raw(COLOURS).raw(PLOT).raw("</style>\n");
        picture
            .raw("<g class=\"plot\">\n<rect class=\"panel\" width=\"100%\" height=\"100%\"/>\n")
            .html(self)
            .raw("</g>\n</svg>\n");
        picture.out
    }
}

struct Escape<'o>(&'o mut String);

impl std::fmt::Write for Escape<'_> {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        for c in text.chars() {
            match c {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                // Neither HTML nor XML has a way to write these.
                '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{7f}' | '\u{fffe}' | '\u{ffff}' => {
                    self.0.push('\u{fffd}');
                }
                c => self.0.push(c),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_no_markup() {
        let mut html = Html::default();
        html.raw("<b title=\"").text("\"'><script>").raw("\">").text("a & b\0\u{1b}\u{ffff}\n").raw("</b>");
        assert_eq!(html.out, "<b title=\"&quot;&#39;&gt;&lt;script&gt;\">a &amp; b\u{fffd}\u{fffd}\u{fffd}\n</b>");
        let mut html = Html::default();
        html.data("x", &serde_json::json!("</script><!--"));
        assert!(html.out.contains("\"\\u003c/script>\\u003c!--\""), "{}", html.out);
    }

    #[test]
    fn a_page_names_no_other_address() {
        let page = Html::default().page("t");
        for address in ["http:", "https:", "src=", "@import", "url("] {
            assert!(!page.contains(address), "{address}");
        }
        // That of a name space is no address to load from; a style ends nowhere but at its end.
        let picture = Html::default().picture("</title>", (2.0, 1.0));
        let rest = picture.replacen("xmlns=\"http://www.w3.org/2000/svg\"", "", 1);
        for address in ["http:", "https:", "src=", "href", "@import", "url(", "<script"] {
            assert!(!rest.contains(address), "{address}");
        }
        assert!(rest.contains("<title>&lt;/title&gt;</title>"));
        assert!(![COLOURS, PLOT].concat().contains(['<', '&']), "a style stands in XML as it is");
    }
}
