//! The record of a run as tables and as JSON: time and statistics.

use serde_json::{Value, json};
use std::fmt::Write as _;
use std::time::Duration;
use tc_pass::PassRecord;

/// How long each pass took, as a table: milliseconds, percent of the whole, checks apart, and the number of ops.
pub fn timing_text(records: &[PassRecord]) -> String {
    let total: Duration = records.iter().map(|record| record.time + record.verify_time).sum();
    let checks: Duration = records.iter().map(|record| record.verify_time).sum();
    let counted = records.iter().any(|record| record.ops.is_some());
    let ops = |before: &str, after: &str| if counted { format!("{before:>9}  {after:>7}  ") } else { String::new() };
    let head = ops("ops", "change");
    let mut out = format!("{:>10}  {:>6}  {:>10}  {head}pass\n", "time (ms)", "%", "check (ms)");
    for record in records {
        let share = percent(record.time + record.verify_time, total);
        let (time, check) = (millis(record.time), millis(record.verify_time));
        let counts = record.ops.map_or(ops("", ""), |n| ops(&n.after.to_string(), &delta(n.before, n.after)));
        let _ = writeln!(out, "{time:>10.3}  {share:>6.1}  {check:>10.3}  {counts}{} ({})", record.name, record.anchor);
    }
    let counts = ops("", "");
    let _ = writeln!(out, "{:>10.3}  {:>6.1}  {:>10.3}  {counts}total", millis(total - checks), 100.0, millis(checks));
    out
}

/// The same as JSON: a list with an object for each pass.
pub fn timing_json(records: &[PassRecord]) -> Value {
    let row = |record: &PassRecord| {
        json!({
            "pass": record.name, "anchor": record.anchor, "items": record.n_items, "changed": record.changed,
            "start_ms": millis(record.start), "ms": millis(record.time), "check_ms": millis(record.verify_time),
            "ops_before": record.ops.map(|ops| ops.before), "ops_after": record.ops.map(|ops| ops.after),
        })
    };
    records.iter().map(row).collect()
}

/// What the passes counted, as a table. A pass that counted nothing is left out.
pub fn stats_text(records: &[PassRecord]) -> String {
    let mut out = String::new();
    for (nth, record) in records.iter().enumerate() {
        for (name, n) in record.stats.iter() {
            let _ = writeln!(out, "{n:>10}  {}. {}: {name}", nth + 1, record.name);
        }
    }
    if out.is_empty() {
        out.push_str("no pass counted anything\n");
    }
    out
}

/// The same as JSON: a list with an object for each pass.
pub fn stats_json(records: &[PassRecord]) -> Value {
    let row = |record: &PassRecord| {
        let counters: serde_json::Map<String, Value> =
            record.stats.iter().map(|(name, n)| (name.to_string(), n.into())).collect();
        json!({ "pass": record.name, "counters": counters })
    };
    records.iter().map(row).collect()
}

pub(crate) fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

pub(crate) fn percent(part: Duration, whole: Duration) -> f64 {
    if whole.is_zero() { 0.0 } else { 100.0 * part.as_secs_f64() / whole.as_secs_f64() }
}

/// A change with its sign; nothing where there is none.
pub(crate) fn delta(before: usize, after: usize) -> String {
    match before.cmp(&after) {
        std::cmp::Ordering::Equal => String::new(),
        std::cmp::Ordering::Less => format!("+{}", after - before),
        std::cmp::Ordering::Greater => format!("-{}", before - after),
    }
}
