//! Facts as SVG: the best over trials, and beside it the effect of each parameter.

use super::Facts;
use super::page::MAX_TASKS;
use tc::report::html::Html;
use tc::support::{counted, suggest::shorten};

/// The size of the curve, in units of its own.
const WIDTH: f64 = 420.0;
const HEIGHT: f64 = 160.0;
const LEFT: f64 = 62.0;
const RIGHT: f64 = 22.0;
const TOP: f64 = 10.0;
/// Steps of a curve that are drawn.
const MAX_STEPS: usize = 1000;

/// The whole picture, and the part of it beside the curve.
const PICTURE: f64 = 900.0;
const BESIDE: f64 = 470.0;
/// What stands above a curve, and the least height of a task.
const HEAD: f64 = 56.0;
const LEAST: f64 = HEAD + HEIGHT + 60.0;
const ROW: f64 = 15.0;
/// Rows of effects of a task.
const MAX_ROWS: usize = 400;

/// The curve of a task.
pub(super) fn curve(html: &mut Html, facts: &Facts) {
    let (Some(&(_, slowest)), Some(&(_, fastest))) = (facts.curve.first(), facts.curve.last()) else { return };
    // Times of one search may lie decades apart.
    let (high, low) = (slowest.log10() + 0.02, fastest.log10() - 0.02);
    let x = |trial: usize| {
        let last = facts.n_attempts.saturating_sub(1).max(1) as f64;
        LEFT + (WIDTH - LEFT - RIGHT) * (trial.saturating_sub(1) as f64 / last)
    };
    let y = |time: f64| TOP + HEIGHT * (high - time.log10()) / (high - low);
    for nth in 0..=4 {
        let log = low + (high - low) * f64::from(nth) / 4.0;
        let at = TOP + HEIGHT * (1.0 - f64::from(nth) / 4.0);
        line(html, (LEFT, at), (WIDTH - RIGHT, at));
        html.raw("<text class=\"y\" x=\"").text(LEFT - 6.0).raw("\" y=\"").text(format_args!("{:.1}", at + 4.0));
        html.raw("\">").text(short(10f64.powf(log))).raw("</text>\n");
    }
    let mut before = 0;
    for nth in 0..=4 {
        let trial = 1 + (facts.n_attempts.saturating_sub(1)) * nth / 4;
        if trial != before {
            html.raw("<text class=\"x\" x=\"").text(format_args!("{:.1}", x(trial))).raw("\" y=\"");
            html.text(TOP + HEIGHT + 18.0).raw("\">").text(trial).raw("</text>\n");
        }
        before = trial;
    }
    html.raw("<path class=\"line\" d=\"M").text(format_args!("{:.1} {:.1}", x(facts.curve[0].0), y(slowest)));
    let step = facts.curve.len().div_ceil(MAX_STEPS).max(1);
    let last = facts.curve.len() - 1;
    let drawn = facts.curve.iter().enumerate().filter(|(nth, _)| nth % step == 0 || *nth == last);
    for (_, &(trial, time)) in drawn {
        html.text(format_args!(" H{:.1} V{:.1}", x(trial), y(time)));
    }
    html.text(format_args!(" H{:.1}", x(facts.n_attempts))).raw("\"/>\n");
    let &(trial, time) = &facts.curve[last];
    html.raw("<circle class=\"mark\" r=\"4\" cx=\"").text(format_args!("{:.1}", x(trial))).raw("\" cy=\"");
    html.text(format_args!("{:.1}", y(time))).raw("\"/>\n");
}

/// All of them, one below the other.
pub(super) fn picture(all: &[Facts]) -> String {
    let mut html = Html::default();
    let mut top = 0.0;
    for facts in all.iter().take(MAX_TASKS) {
        html.raw("<g transform=\"translate(0 ").text(top).raw(")\">\n");
        top += task(&mut html, facts);
        html.raw("</g>\n");
    }
    if all.len() > MAX_TASKS {
        label(&mut html, "", (16.0, top + 20.0), &format!("{} more are not shown", all.len() - MAX_TASKS));
        top += 36.0;
    }
    let title = match all {
        [one] => shorten(&one.task()),
        all => counted(all.len(), "task"),
    };
    html.picture(&title, (PICTURE, top))
}

/// Draws a task; returns its height.
fn task(html: &mut Html, facts: &Facts) -> f64 {
    label(html, "name", (16.0, 24.0), &shorten(&facts.task()));
    let on =
        format!("on {} ({}), {}", shorten(&facts.device), shorten(&facts.target), counted(facts.n_attempts, "attempt"));
    label(html, "", (16.0, 42.0), &on);
    html.raw("<g transform=\"translate(0 ").text(HEAD).raw(")\">\n");
    curve(html, facts);
    let below = match facts.fastest() {
        Some(time) => format!("best over trials (us): {time:.2}"),
        None => "no point has a time".to_string(),
    };
    label(html, "x", ((LEFT + WIDTH) / 2.0, TOP + HEIGHT + 38.0), &below);
    html.raw("</g>\n");
    let rows = effects(html, facts);
    (HEAD + ROW * rows as f64 + 16.0).max(LEAST)
}

/// Draws what parameters do; returns the number of rows.
fn effects(html: &mut Html, facts: &Facts) -> usize {
    let mut rows = 0;
    let y = |row: usize| HEAD + ROW * row as f64 + 10.0;
    for effect in &facts.effects {
        if rows + effect.values.len() + 1 > MAX_ROWS {
            label(html, "", (BESIDE, y(rows)), "more parameters are not shown");
            return rows + 1;
        }
        label(html, "name", (BESIDE, y(rows)), &shorten(&effect.name));
        rows += 1;
        for (value, over) in &effect.values {
            label(html, "y", (BESIDE + 90.0, y(rows)), &value.to_string());
            html.raw("<rect class=\"bar\" height=\"8\" rx=\"2\" x=\"").text(BESIDE + 98.0).raw("\" y=\"");
            html.text(y(rows) - 8.0).raw("\" width=\"").text(format_args!("{:.1}", 240.0 / over)).raw("\"/>\n");
            label(html, "", (BESIDE + 346.0, y(rows)), &format!("{over:.2}"));
            rows += 1;
        }
    }
    rows
}

fn line(html: &mut Html, from: (f64, f64), to: (f64, f64)) {
    html.raw("<line class=\"grid\" x1=\"").text(from.0).raw("\" y1=\"").text(from.1);
    html.raw("\" x2=\"").text(to.0).raw("\" y2=\"").text(to.1).raw("\"/>");
}

fn label(html: &mut Html, class: &'static str, at: (f64, f64), text: &str) {
    html.raw("<text class=\"").raw(class).raw("\" x=\"").text(at.0).raw("\" y=\"").text(at.1).raw("\">");
    html.text(text).raw("</text>\n");
}

/// A time for an axis.
fn short(time: f64) -> String {
    match time {
        time if !(1e-3..1e6).contains(&time) => format!("{time:.1e}"),
        time if time >= 100.0 => format!("{time:.0}"),
        time if time >= 10.0 => format!("{time:.1}"),
        time if time >= 1.0 => format!("{time:.2}"),
        time => format!("{time:.3}"),
    }
}
