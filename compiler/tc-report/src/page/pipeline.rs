//! The passes as a table with times and numbers of ops, and the place where the script shows the program between them.

use super::Run;
use crate::html::Html;
use crate::recording::Recording;
use crate::tables::{delta, millis, percent};
use std::time::Duration;

pub(super) fn write(html: &mut Html, run: &Run) {
    if run.planned.is_empty() {
        return;
    }
    let total: Duration = run.records.iter().map(|record| record.time + record.verify_time).sum();
    let most = run.records.iter().map(|record| record.time + record.verify_time).max().unwrap_or_default();
    html.raw("<section><h2>Pipeline</h2>\n<div class=scroll><table class=passes><thead><tr>");
    html.raw("<th class=num>#<th>pass<th>on<th>changed<th class=num>lines<th class=num>ops<th class=num>change");
    html.raw("<th class=num>time (ms)<th class=num>check (ms)<th class=share>share<th>counted</tr></thead><tbody>\n");
    for (nth, (name, anchor)) in run.planned.iter().enumerate() {
        let step = run.recording.steps().iter().find(|step| step.number == nth + 1);
        let Some(record) = run.records.get(nth) else {
            html.raw("<tr class=idle>").number(nth + 1).cell(name).cell(anchor).cell("did not run");
            html.raw("<td colspan=7></td></tr>\n");
            continue;
        };
        let failed = step.is_some_and(|step| step.failed);
        html.raw(match (failed, record.changed) {
            (true, _) => "<tr class=failed",
            (_, true) => "<tr class=changed",
            (_, false) => "<tr class=same",
        });
        html.raw(" data-pass=\"").text(nth + 1).raw("\">").number(nth + 1);
        html.raw("<td><a href=\"#pass-").text(nth + 1).raw("\">").text(name).raw("</a></td>").cell(anchor);
        html.raw(match (failed, record.changed) {
            (true, _) => "<td><span class=\"badge bad\">failed</span></td>",
            (_, true) => "<td><span class=\"badge good\">yes</span></td>",
            (_, false) => "<td>no</td>",
        });
        let changes = step.map(|step| step.changes).unwrap_or_default();
        html.raw("<td class=num>");
        if (changes.added, changes.removed) != (0, 0) {
            html.raw("<span class=plus>+").text(changes.added).raw("</span> <span class=minus>\u{2212}");
            html.text(changes.removed).raw("</span>");
        }
        html.raw("</td>");
        let (ops, change) = record.ops.map_or((String::new(), String::new()), |ops| {
            (ops.after.to_string(), delta(ops.before, ops.after).replace('-', "\u{2212}"))
        });
        html.number(ops).number(change).number(format_args!("{:.3}", millis(record.time)));
        html.number(format_args!("{:.3}", millis(record.verify_time)));
        let time = record.time + record.verify_time;
        html.raw("<td class=share><span class=bar style=\"width:").text(format_args!("{:.1}", percent(time, most)));
        html.raw("%\"></span><span>").text(format_args!("{:.1} %", percent(time, total))).raw("</span></td>");
        let counted: Vec<String> = record.stats.iter().map(|(name, n)| format!("{name} {n}")).collect();
        html.cell(counted.join(", ")).raw("</tr>\n");
    }
    html.raw("</tbody></table></div></section>\n");
}

/// The place for the program between passes. Its list is markup, the program is put in by the script. `files` links those
/// that lie beside the page.
pub(crate) fn viewer(html: &mut Html, recording: &Recording, files: bool) {
    if recording.steps().is_empty() {
        return;
    }
    html.raw("<section class=viewer><h2>Program between passes</h2>\n<div class=panes>\n<nav class=steps aria-label=passes><ol>\n");
    for (nth, step) in recording.steps().iter().enumerate() {
        let changes = step.changes;
        let changed = (changes.added, changes.removed) != (0, 0);
        html.raw("<li><button type=button data-step=\"").text(nth).raw("\" class=\"");
        html.raw(match (step.failed, changed, step.number) {
            (true, ..) => "failed",
            (_, _, 0) => "first",
            (_, true, _) => "changed",
            (_, false, _) => "same",
        });
        html.raw("\"><span class=number>").text(step.number).raw("</span><span class=name>");
        html.text(&step.name).raw("</span><span class=delta>");
        if step.failed {
            html.raw("failed");
        } else if changed {
            html.raw("<span class=plus>+").text(changes.added).raw("</span> <span class=minus>\u{2212}");
            html.text(changes.removed).raw("</span>");
        } else if step.number == 0 {
            html.text(step.n_lines).raw(" lines");
        }
        html.raw("</span></button>");
        if let Some(file) = step.file.as_ref().filter(|_| files) {
            html.raw("<a class=file href=\"").text(file).raw("\" title=\"").text(file).raw("\">file</a>");
        }
        html.raw("</li>\n");
    }
    html.raw("</ol></nav>\n<div class=stage></div>\n</div>\n");
    html.raw("<noscript><p class=note>The program between passes is put together by a script; without it the page shows all else.</p></noscript>");
    html.raw("</section>\n");
}
