//! Facts as text.

use super::Facts;
use std::fmt::Write as _;

/// All of them.
pub(super) fn text(all: &[Facts]) -> String {
    let mut out = String::new();
    for facts in all {
        let _ = writeln!(out, "{} on {} ({})", facts.task(), facts.device, facts.target);
        table(&mut out, facts);
        curve(&mut out, facts);
        effects(&mut out, facts);
        out.push('\n');
    }
    out
}

fn table(out: &mut String, facts: &Facts) {
    let _ = writeln!(out, "\n    {:>10} {:>6}  point", "time (us)", "x best");
    for (nth, best) in facts.best.iter().enumerate() {
        let class = if best.class.is_empty() { String::new() } else { format!(" {}", best.class) };
        let _ = writeln!(out, "{:>3} {:>10.2} {:>6.2}  {}{class}", nth + 1, best.time, best.over, best.point);
    }
    if !facts.classes.is_empty() {
        let classes = facts.classes.join(", ");
        let _ = writeln!(out, "times under other clocks do not compare ({classes}): `x best` is that of each");
    }
    for (reason, n) in &facts.reasons {
        let _ = writeln!(out, "{n:>6} {reason}");
    }
}

fn curve(out: &mut String, facts: &Facts) {
    let _ = writeln!(out, "\nthe best over trials, in the order of the records:");
    for (trial, time) in &facts.curve {
        let _ = writeln!(out, "{trial:>6} {time:>10.2} us");
    }
}

fn effects(out: &mut String, facts: &Facts) {
    if facts.n_timed == 0 {
        return;
    }
    let _ = writeln!(out, "\nthe best time with each value, over the best of all:");
    for effect in &facts.effects {
        let shown: Vec<String> = effect.values.iter().map(|(value, over)| format!("{value}: {over:.2}")).collect();
        let _ = writeln!(out, "  {:<16} {}", effect.name, shown.join("  "));
    }
}
