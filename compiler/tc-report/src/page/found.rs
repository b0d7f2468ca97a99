//! Diagnostics, each with the lines that it points at.

use crate::html::{Html, ansi};
use tc_support::{Diagnostic, Fault, Severity, Sources, render};

/// Diagnostics that a page shows. Where there are more it says so.
const MAX_SHOWN: usize = 200;

pub(super) fn write(html: &mut Html, title: &'static str, found: &[&Diagnostic], sources: &Sources) {
    if found.is_empty() {
        return;
    }
    html.raw("<section class=found><h2>").raw(title).raw(" <small>").text(found.len()).raw("</small></h2>\n");
    for one in found.iter().take(MAX_SHOWN) {
        let (class, name) = match one.severity {
            Severity::Error if one.fault == Fault::Bug => ("<div class=\"diagnostic bad\">", "internal error"),
            Severity::Error => ("<div class=\"diagnostic bad\">", "error"),
            Severity::Warning => ("<div class=\"diagnostic warn\">", "warning"),
            Severity::Remark => ("<div class=\"diagnostic info\">", "remark"),
        };
        html.raw(class).raw("<p class=message><b>").raw(name).raw("</b> <code>").text(one.code).raw("</code> ");
        html.text(&one.message).raw("</p>\n<pre>");
        let shown = render::one(one, sources, true);
        // The first lines are the message, which stands above.
        let n_lines = one.message.lines().count().max(1);
        let rest = shown.match_indices('\n').nth(n_lines - 1).map_or("", |(at, _)| &shown[at + 1..]);
        ansi::coloured(html, rest);
        html.raw("</pre></div>\n");
    }
    if found.len() > MAX_SHOWN {
        html.raw("<p class=note>").text(format_args!("{} more are not shown.", found.len() - MAX_SHOWN)).raw("</p>");
    }
    html.raw("</section>\n");
}
