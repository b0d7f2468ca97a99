//! The pages of a dump: `index.html` beside the files of one text, and one above the folders of several.

use crate::dump;
use crate::html::Html;
use crate::page::viewer;
use crate::recorder::{Recorder, cannot_write};
use serde_json::json;
use std::path::Path;
use tc_support::Diagnostics;

/// Writes `index.html` beside the files that `recorder` wrote: the program after each pass beside that before it.
/// `title` says what was compiled, `command` how.
pub fn write_index(recorder: &Recorder<'_>, title: &str, command: &str) -> Diagnostics {
    let Some(folder) = recorder.folder() else { return Diagnostics::new() };
    let mut html = Html::default();
    head(&mut html, title, command);
    html.raw("<main><article class=run data-run=0 id=run-0>\n");
    viewer(&mut html, recorder.recording(), true);
    html.raw("</article></main>\n").data("data", &json!({ "runs": [recorder.recording().data()] }));
    write(folder, &html.page(&format!("{title} - passes")))
}

/// A text of a dump of several.
#[derive(Clone, Debug)]
pub struct DumpedText {
    /// What it is called.
    pub name: String,
    /// Its folder, below that of the dump.
    pub folder: String,
    /// Did it compile?
    pub good: bool,
}

/// Writes `index.html` into `folder`, over the folders of `texts`.
pub fn write_overview(folder: &Path, title: &str, command: &str, texts: &[DumpedText]) -> Diagnostics {
    let mut html = Html::default();
    head(&mut html, title, command);
    html.raw("<main><section><h2>Texts</h2><div class=scroll><table class=overview><thead><tr><th>text<th>folder<th>result</tr></thead><tbody>\n");
    for text in texts {
        html.raw("<tr><td><a href=\"").text(&text.folder).raw("/index.html\">").text(&text.name).raw("</a></td>");
        html.raw("<td><code>").text(&text.folder).raw("</code></td><td>").raw(match text.good {
            true => "<span class=\"badge good\">compiled</span>",
            false => "<span class=\"badge bad\">failed</span>",
        });
        html.raw("</td></tr>\n");
    }
    html.raw("</tbody></table></div></section></main>\n").data("data", &json!({ "runs": [] }));
    write(folder, &html.page(&format!("{title} - passes")))
}

fn head(html: &mut Html, title: &str, command: &str) {
    html.raw("<header class=top><div class=title><h1>").text(title).raw("</h1>");
    html.raw("<button type=button class=theme data-theme-button title=\"light or dark\">Light / dark</button></div>");
    html.raw("<div class=call><code>").text(command).raw("</code></div></header>\n");
}

fn write(folder: &Path, text: &str) -> Diagnostics {
    match dump::write(folder, "index.html", text) {
        Ok(()) => Diagnostics::new(),
        Err(error) => cannot_write(&folder.join("index.html"), &error).into(),
    }
}
