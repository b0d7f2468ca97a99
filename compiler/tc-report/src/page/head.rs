//! The top of the page: what was called, how it ended, and in numbers what came of it.

use super::{MAX_SHOWN, Page, Run};
use crate::html::Html;
use crate::tables::millis;
use std::time::Duration;
use tc_support::Severity;

pub(super) fn write(html: &mut Html, page: &Page) {
    html.raw("<header class=top>\n<div class=title><h1>");
    match &page.runs[..] {
        [run] => html.text(&run.name),
        runs => html.text(format_args!("{} texts", runs.len())),
    };
    html.raw("</h1>").html(verdict(&page.runs.iter().collect::<Vec<_>>()));
    html.raw("<button type=button class=theme data-theme-button title=\"light or dark\">Light / dark</button></div>\n");
    html.raw("<div class=call><code>").text(&page.command).raw("</code></div>\n");
    html.raw("<dl class=facts>");
    let total: Duration =
        page.runs.iter().flat_map(|run| &run.records).map(|record| record.time + record.verify_time).sum();
    fact(html, "compiler", format!("tc {}", page.version));
    fact(html, "target", page.target.name.to_string());
    if let [run] = &page.runs[..] {
        fact(html, "passes", passes(run));
        if let (Some(first), Some(last)) = (counted(run, true), counted(run, false)) {
            fact(html, "ops", if first == last { first.to_string() } else { format!("{first} \u{2192} {last}") });
        }
    }
    fact(html, "time in passes", format!("{:.2} ms", millis(total)));
    if page.pipeline != "module()" {
        html.raw("<div class=long><dt>pipeline</dt><dd><details><summary>expanded</summary><code>");
        html.text(&page.pipeline).raw("</code></details></dd></div>");
    }
    html.raw("</dl>\n");
    if page.runs.len() > 1 {
        overview(html, page);
    }
    html.raw("</header>\n");
}

/// How it ended, as a badge.
fn verdict(runs: &[&Run]) -> Html {
    let mut html = Html::default();
    let n_failed = runs.iter().filter(|run| run.failed()).count();
    let n_warnings: usize = runs.iter().map(|run| run.count(Severity::Warning)).sum();
    match (n_failed, runs) {
        (0, _) => html.raw("<span class=\"badge good\">compiled</span>"),
        (_, [run]) => {
            html.raw("<span class=\"badge bad\">");
            match run.recording.steps().iter().rev().find(|step| step.failed) {
                Some(step) => html.text(format_args!("failed in pass {}, {}", step.number, step.name)),
                None if run.recording.steps().is_empty() => html.text("not parsed"),
                None => html.text("failed"),
            };
            html.raw("</span>")
        }
        (n, runs) => {
            html.raw("<span class=\"badge bad\">").text(format_args!("{n} of {} failed", runs.len())).raw("</span>")
        }
    };
    if n_warnings > 0 {
        let s = if n_warnings == 1 { "" } else { "s" };
        html.raw("<span class=\"badge warn\">").text(format_args!("{n_warnings} warning{s}")).raw("</span>");
    }
    html
}

fn fact(html: &mut Html, name: &'static str, value: String) {
    html.raw("<div><dt>").raw(name).raw("</dt><dd>").text(value).raw("</dd></div>");
}

fn passes(run: &Run) -> String {
    let n_changed = run.records.iter().filter(|record| record.changed).count();
    format!("{} of {} ran, {n_changed} changed something", run.records.len(), run.planned.len())
}

/// The number of ops at the beginning or at the end.
fn counted(run: &Run, first: bool) -> Option<usize> {
    if first { Some(run.records.first()?.ops?.before) } else { Some(run.records.last()?.ops?.after) }
}

/// A line for each text.
fn overview(html: &mut Html, page: &Page) {
    html.raw("<div class=scroll><table class=overview><thead><tr><th>text<th>result<th>passes<th class=num>time (ms)</tr></thead><tbody>");
    for (nth, run) in page.runs.iter().enumerate() {
        html.raw("<tr><td>");
        if nth < MAX_SHOWN {
            html.raw("<a href=\"#run-").text(nth).raw("\">").text(&run.name).raw("</a>");
        } else {
            html.text(&run.name);
        }
        html.raw("</td><td>").html(verdict(&[run])).raw("</td>").cell(passes(run));
        let time: Duration = run.records.iter().map(|record| record.time + record.verify_time).sum();
        html.number(format_args!("{:.2}", millis(time))).raw("</tr>\n");
    }
    html.raw("</tbody></table></div>");
    if page.runs.len() > MAX_SHOWN {
        html.raw("<p class=note>").text(format_args!("The first {MAX_SHOWN} texts are shown below.")).raw("</p>");
    }
}
