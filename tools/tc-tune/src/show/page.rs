//! Facts as a page of HTML, in the style of the pages of `tc-opt --report`, that can be read without its script.

use super::picture::curve;
use super::{Facts, facts::Effect};
use serde_json::json;
use tc::report::html::Html;
use tc::support::counted;

/// Tasks that a page shows.
pub(super) const MAX_TASKS: usize = 100;
/// Rows of a table.
const MAX_ROWS: usize = 1000;
/// The width of a full bar.
const BAR: f64 = 84.0;

/// The page of all; `records` is what they come from.
pub(super) fn page(records: &str, all: &[Facts]) -> String {
    let mut html = Html::default();
    let title = match all {
        [one] => one.task(),
        all => counted(all.len(), "task"),
    };
    html.raw("<header class=top>\n<div class=title><h1>").text(&title).raw("</h1>");
    html.raw("<button type=button class=theme data-theme-button title=\"light or dark\">Light / dark</button></div>\n");
    html.raw("<div class=call>records: <code>").text(records).raw("</code></div>\n");
    match all {
        [one] => head(&mut html, one),
        all => overview(&mut html, all),
    }
    html.raw("</header>\n<main>\n");
    for (nth, facts) in all.iter().take(MAX_TASKS).enumerate() {
        html.raw("<article class=run id=\"task-").text(nth).raw("\">\n");
        if all.len() > 1 {
            html.raw("<h2 class=run-name>").text(facts.task()).raw("</h2>\n");
            head(&mut html, facts);
        }
        best(&mut html, facts);
        over_trials(&mut html, facts);
        effects(&mut html, facts);
        reasons(&mut html, facts);
        html.raw("</article>\n");
    }
    // The script of the pages shows programs between passes, and here are none.
    html.raw("</main>\n").data("data", &json!({ "runs": [] }));
    html.page(&format!("{title} - tc-tune"))
}

fn fact(html: &mut Html, name: &'static str, value: impl std::fmt::Display) {
    html.raw("<div><dt>").raw(name).raw("</dt><dd>").text(value).raw("</dd></div>");
}

fn head(html: &mut Html, facts: &Facts) {
    html.raw("<dl class=facts>");
    fact(html, "device", &facts.device);
    fact(html, "target", &facts.target);
    fact(html, "attempts", facts.n_attempts);
    fact(html, "points with a time", facts.n_timed);
    fact(html, "best", fastest(facts));
    html.raw("</dl>\n");
}

fn fastest(facts: &Facts) -> String {
    facts.fastest().map_or("no time".to_string(), |time| format!("{time:.2} us"))
}

/// A line for each task.
fn overview(html: &mut Html, all: &[Facts]) {
    html.raw("<div class=scroll><table class=overview><thead><tr><th>task<th>device<th>target<th class=num>attempts");
    html.raw("<th class=num>best</tr></thead><tbody>");
    for (nth, facts) in all.iter().enumerate().take(MAX_ROWS) {
        html.raw("<tr><td>");
        if nth < MAX_TASKS {
            html.raw("<a href=\"#task-").text(nth).raw("\">").text(facts.task()).raw("</a>");
        } else {
            html.text(facts.task());
        }
        html.raw("</td>").cell(&facts.device).cell(&facts.target).number(facts.n_attempts).number(fastest(facts));
        html.raw("</tr>\n");
    }
    html.raw("</tbody></table></div>\n");
    more(html, all.len(), MAX_TASKS, "task");
}

/// What is not shown of `n`.
fn more(html: &mut Html, n: usize, shown: usize, what: &str) {
    if n > shown {
        html.raw("<p class=note>").text(format_args!("{} more: not shown.", counted(n - shown, what))).raw("</p>\n");
    }
}

fn best(html: &mut Html, facts: &Facts) {
    html.raw("<section><h2>Best points <small>").text(facts.n_timed).raw("</small></h2>\n");
    html.raw(
        "<div class=scroll><table class=best><thead><tr><th class=num>#<th class=num>time (us)<th class=num>x best",
    );
    let has_classes = facts.best.iter().any(|best| !best.class.is_empty());
    html.raw("<th>point").raw(if has_classes { "<th>clocks" } else { "" }).raw("</tr></thead><tbody>\n");
    for (nth, best) in facts.best.iter().take(MAX_ROWS).enumerate() {
        html.raw("<tr>").number(nth + 1).number(format_args!("{:.2}", best.time));
        html.number(format_args!("{:.2}", best.over)).raw("<td><code>").text(&best.point).raw("</code></td>");
        if has_classes {
            html.cell(&best.class);
        }
        html.raw("</tr>\n");
    }
    html.raw("</tbody></table></div>\n");
    if !facts.classes.is_empty() {
        html.raw("<p class=note>Times under other clocks do not compare (").text(facts.classes.join(", "));
        html.raw("): \u{201c}x best\u{201d} is that of each.</p>\n");
    }
    more(html, facts.n_timed, facts.best.len().min(MAX_ROWS), "point");
    html.raw("</section>\n");
}

fn over_trials(html: &mut Html, facts: &Facts) {
    html.raw("<section><h2>Best over trials</h2>\n");
    if facts.curve.is_empty() {
        html.raw("<p class=note>No point has a time.</p></section>\n");
        return;
    }
    html.raw("<div class=columns><figure><svg class=plot viewBox=\"0 0 420 196\" role=img ");
    html.raw("aria-label=\"the best time over trials\">\n");
    curve(html, facts);
    html.raw("</svg><figcaption>The best time (us) over trials, in the order of the records</figcaption></figure>\n");
    html.raw("<div><table class=limits><thead><tr><th class=num>trial<th class=num>best (us)</tr></thead><tbody>\n");
    for (trial, time) in facts.curve.iter().take(MAX_ROWS) {
        html.raw("<tr>").number(trial).number(format_args!("{time:.2}")).raw("</tr>\n");
    }
    html.raw("</tbody></table>");
    more(html, facts.curve.len(), MAX_ROWS, "trial");
    html.raw("</div></div></section>\n");
}

fn effects(html: &mut Html, facts: &Facts) {
    if facts.effects.is_empty() {
        return;
    }
    html.raw("<section><h2>Parameters</h2>\n<p class=note>The best time with each value, over the best of all.</p>\n");
    html.raw("<div class=columns>\n");
    for effect in facts.effects.iter().take(MAX_ROWS) {
        parameter(html, effect);
    }
    html.raw("</div>\n");
    more(html, facts.effects.len(), MAX_ROWS, "parameter");
    html.raw("</section>\n");
}

fn parameter(html: &mut Html, effect: &Effect) {
    html.raw("<div><h3><code>").text(&effect.name).raw("</code></h3>\n<table class=limits><tbody>\n");
    for (value, over) in effect.values.iter().take(MAX_ROWS) {
        html.raw("<tr>").number(value);
        share(html, 1.0 / over, format_args!("{over:.2}"));
        html.raw("</tr>\n");
    }
    html.raw("</tbody></table>");
    more(html, effect.values.len(), MAX_ROWS, "value");
    html.raw("</div>\n");
}

/// A cell with a bar.
fn share(html: &mut Html, share: f64, text: impl std::fmt::Display) {
    html.raw("<td class=share><span class=bar style=\"width:");
    html.text(format_args!("{:.1}", BAR * share)).raw("px\"></span><span>").text(text).raw("</span></td>");
}

fn reasons(html: &mut Html, facts: &Facts) {
    let Some(&(_, most)) = facts.reasons.first() else { return };
    html.raw("<section><h2>Attempts without a time</h2>\n<table class=limits><tbody>\n");
    for (reason, n) in facts.reasons.iter().take(MAX_ROWS) {
        html.raw("<tr>").cell(reason);
        share(html, *n as f64 / most.max(1) as f64, n);
        html.raw("</tr>\n");
    }
    html.raw("</tbody></table>");
    more(html, facts.reasons.len(), MAX_ROWS, "reason");
    html.raw("</section>\n");
}
