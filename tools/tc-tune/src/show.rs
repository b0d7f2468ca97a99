//! What records hold, for people: tables, the best over trials, what each parameter does.

use crate::drive::load;
use crate::finals::Final;
use crate::records::{self, Record, Time, Verdict};
use crate::task::{Identity, Values};
use crate::tune::Ended;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use tc::support::{Diagnostic, Location, counted};
use tc_cli::{FINE, Session};

/// The class of clocks that nothing is said of.
const OK: &str = "ok";

/// A point as `schedule{param="…"}` reads it.
pub(crate) fn point_text(point: &Values) -> String {
    point.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
}

/// The class of clocks, where it is worth a word.
fn class_text(class: Option<&str>) -> String {
    class.filter(|&class| class != OK).map_or(String::new(), |class| format!(" [{class}]"))
}

fn time_text(time: &Time) -> String {
    format!("{:.2} us ({:.2} to {:.2}, n = {})", time.median, time.low, time.high, time.n)
}

/// An estimate, which is a number and no sample.
fn estimate_text(time: &Time) -> String {
    format!("{:.2} us estimated", time.median)
}

/// The points with a time, the fastest first; of a point that was measured twice, the first time.
pub(crate) fn ranked(trials: &[(Values, records::Result)]) -> Vec<(&Values, &records::Result)> {
    let first = records::by_point(trials.iter().map(|(point, result)| (point, result)));
    let mut ranked: Vec<_> = first.into_iter().filter(|(_, result)| result.median().is_some()).collect();
    let median = |result: &records::Result| result.median().unwrap_or(f64::INFINITY);
    ranked.sort_by(|a, b| median(a.1).total_cmp(&median(b.1)));
    ranked
}

/// How many trials came to each verdict, and why, the most frequent first.
fn reasons(trials: &[(Values, records::Result)]) -> Vec<(String, usize)> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for (_, result) in trials.iter().filter(|(_, result)| result.verdict != Verdict::Ok) {
        let reason = match &result.reason {
            Some(reason) if reason != result.verdict.name() => format!("{}: {reason}", result.verdict.name()),
            _ => result.verdict.name().to_string(),
        };
        *counts.entry(reason).or_default() += 1;
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    counts
}

/// What a search came to.
pub(crate) struct Summary<'s> {
    pub(crate) identity: &'s Identity,
    pub(crate) device: &'s str,
    pub(crate) n_points: usize,
    pub(crate) is_sample: bool,
    pub(crate) trials: &'s [(Values, records::Result)],
    /// The best, measured again in turn, the fastest first.
    pub(crate) finals: &'s [Final],
    pub(crate) ended: Option<Ended>,
}

impl Summary<'_> {
    /// The fastest point, its time, and the class of its clocks.
    pub(crate) fn best(&self) -> Option<(&Values, Time, Option<&str>)> {
        let measured = self.finals.first().map(|best| (&best.point, best.time, best.class.as_deref()));
        measured.or_else(|| {
            let ranked = ranked(self.trials);
            let (point, result) = ranked.first()?;
            Some((*point, result.time_us?, result.class()))
        })
    }

    pub(crate) fn text(&self) -> String {
        let mut out = heading(self.identity, self.device);
        let of = if self.is_sample { format!("a sample of {}", self.n_points) } else { self.n_points.to_string() };
        let ok = self.trials.iter().filter(|(_, result)| result.verdict == Verdict::Ok).count();
        let _ = write!(out, "{} of {of} valid points tried: {ok} ok", self.trials.len());
        for (reason, n) in reasons(self.trials) {
            let _ = write!(out, ", {n} {reason}");
        }
        out.push('\n');
        match self.ended {
            Some(Ended::Time) => out.push_str("ended by its time\n"),
            Some(Ended::Interrupted) => out.push_str("interrupted; the same command goes on from its records\n"),
            None => {}
        }
        let Some((best, time, class)) = self.best() else {
            out.push_str("no point has a time\n");
            return out;
        };
        let is_estimated = records::is_estimated(self.device);
        let text = |time: &Time| if is_estimated { estimate_text(time) } else { time_text(time) };
        let _ = writeln!(out, "\nbest   {}{}\n       {}", text(&time), class_text(class), point_text(best));
        let Some((best, others)) = self.finals.split_first() else { return out };
        for other in others {
            let beside = if is_estimated { String::new() } else { format!(", {}", other.beside(best)) };
            let (time, class) = (text(&other.time), class_text(other.class.as_deref()));
            let _ = writeln!(out, "next   {time}{class}{beside}\n       {}", point_text(&other.point));
        }
        out
    }

    pub(crate) fn json(&self) -> Value {
        let timed = |point: &Values, time: &Time, class: Option<&str>| json!({"point": point, "time_us": time, "clocks": class});
        let finals = self.finals.iter().map(|of| timed(&of.point, &of.time, of.class.as_deref()));
        let rejected: BTreeMap<String, usize> = reasons(self.trials).into_iter().collect();
        json!({
            "tc-tune": records::VERSION,
            "task": self.identity,
            "device": self.device,
            "points": self.n_points,
            "sampled": self.is_sample,
            "trials": self.trials.len(),
            "rejected": rejected,
            "ended": self.ended.map(|ended| match ended {
                Ended::Time => "time",
                Ended::Interrupted => "interrupted",
            }),
            "best": self.best().map(|(point, time, class)| timed(point, &time, class)),
            "finals": finals.collect::<Vec<_>>(),
        })
    }
}

fn heading(identity: &Identity, device: &str) -> String {
    let sizes = if identity.sizes.is_empty() { String::new() } else { format!(", {}", point_text(&identity.sizes)) };
    format!("{} @{}{sizes} on {device} ({})\n", identity.operator, identity.schedule, identity.target)
}

/// The records of each task and class of device.
pub(crate) fn by_task(records: &[Record]) -> Vec<(&Identity, &str, Vec<&Record>)> {
    let mut groups: Vec<(&Identity, &str, Vec<&Record>)> = Vec::new();
    for record in records {
        match groups.iter_mut().find(|(task, device, _)| **task == record.task && *device == record.device) {
            Some((_, _, list)) => list.push(record),
            None => groups.push((&record.task, &record.device, vec![record])),
        }
    }
    groups
}

fn results(records: &[&Record]) -> Vec<(Values, records::Result)> {
    records.iter().map(|record| (record.point.clone(), record.result.clone())).collect()
}

/// `tc-tune show`.
pub(crate) fn show(session: &Session<'_>, json: bool, paths: &[PathBuf], top: usize) -> Result<u8, u8> {
    let records = load(session, paths)?;
    let groups = by_task(&records);
    if groups.is_empty() {
        return Err(session.refuse_with(&Diagnostic::error("records", Location::None, "there are no records")));
    }
    let (mut out, mut documents) = (String::new(), Vec::new());
    for (identity, device, records) in groups {
        let trials = results(&records);
        let summary = Summary {
            identity,
            device,
            n_points: trials.len(),
            is_sample: false,
            trials: &trials,
            finals: &[],
            ended: None,
        };
        documents.push(summary.json());
        out.push_str(&heading(identity, device));
        table(&mut out, &trials, top);
        curve(&mut out, &trials);
        effects(&mut out, &trials);
        out.push('\n');
    }
    session.print(&if json { format!("{:#}\n", Value::from(documents)) } else { out });
    Ok(FINE)
}

fn table(out: &mut String, trials: &[(Values, records::Result)], top: usize) {
    let ranked = ranked(trials);
    // By class of clocks: the best time. Where clocks are not known, nothing is known to have held them down.
    let mut best: BTreeMap<&str, f64> = BTreeMap::new();
    for (_, result) in &ranked {
        best.entry(result.class().unwrap_or(OK)).or_insert(result.median().unwrap_or(1.0));
    }
    let _ = writeln!(out, "\n    {:>10} {:>6}  point", "time (us)", "x best");
    for (nth, (point, result)) in ranked.iter().take(top).enumerate() {
        let time = result.median().unwrap_or(f64::NAN);
        let over = time / best.get(result.class().unwrap_or(OK)).copied().unwrap_or(time);
        let (point, class) = (point_text(point), class_text(result.class()));
        let _ = writeln!(out, "{:>3} {time:>10.2} {over:>6.2}  {point}{class}", nth + 1);
    }
    if best.len() > 1 {
        let classes: Vec<&str> = best.keys().copied().collect();
        let _ =
            writeln!(out, "times under other clocks do not compare ({}): `x best` is that of each", classes.join(", "));
    }
    for (reason, n) in reasons(trials) {
        let _ = writeln!(out, "{n:>6} {reason}");
    }
}

/// The trials at which the best became better.
fn curve(out: &mut String, trials: &[(Values, records::Result)]) {
    let mut best = f64::INFINITY;
    let mut steps = Vec::new();
    for (nth, (_, result)) in trials.iter().enumerate() {
        if let Some(time) = result.median().filter(|&time| time < best) {
            best = time;
            steps.push((nth + 1, time));
        }
    }
    let _ = writeln!(out, "\nthe best over trials, in the order of the records:");
    for (trial, time) in steps {
        let _ = writeln!(out, "{trial:>6} {time:>10.2} us");
    }
}

/// For each value of each parameter, the best time with it.
fn effects(out: &mut String, trials: &[(Values, records::Result)]) {
    let ranked = ranked(trials);
    let Some((first, fastest)) = ranked.first() else { return };
    let fastest = fastest.median().unwrap_or(1.0);
    let _ = writeln!(out, "\nthe best time with each value, over the best of all:");
    for name in first.keys() {
        let mut by_value: BTreeMap<i64, f64> = BTreeMap::new();
        for (point, result) in &ranked {
            if let (Some(&value), Some(time)) = (point.get(name), result.median()) {
                let least = by_value.entry(value).or_insert(time);
                *least = least.min(time);
            }
        }
        let shown: Vec<String> =
            by_value.iter().map(|(value, time)| format!("{value}: {:.2}", time / fastest)).collect();
        let _ = writeln!(out, "  {name:<16} {}", shown.join("  "));
    }
}

/// `tc-tune diff`: the points that two files have, by how their times changed.
pub(crate) fn diff(session: &Session<'_>, before: &Path, after: &Path) -> Result<u8, u8> {
    let before = load(session, &[before.to_path_buf()])?;
    let after = load(session, &[after.to_path_buf()])?;
    let mut out = String::new();
    for (identity, device, records) in by_task(&before) {
        let Some((_, _, others)) =
            by_task(&after).into_iter().find(|(task, class, _)| *task == identity && *class == device)
        else {
            continue;
        };
        let (before, after) = (results(&records), results(&others));
        let after: BTreeMap<&Values, &records::Result> = ranked(&after).into_iter().collect();
        let mut changed: Vec<(f64, &Values, Time, Time)> = Vec::new();
        let (mut common, mut other_clocks) = (0, 0);
        for (point, result) in ranked(&before) {
            let Some(later) = after.get(point) else { continue };
            let (Some(old), Some(new)) = (result.time_us, later.time_us) else { continue };
            common += 1;
            if let (Some(this), Some(other)) = (result.class(), later.class())
                && this != other
            {
                other_clocks += 1;
                continue;
            }
            if new.high < old.low || old.high < new.low {
                changed.push((new.median / old.median, point, old, new));
            }
        }
        changed.sort_by(|a, b| a.0.total_cmp(&b.0));
        out.push_str(&heading(identity, device));
        let at = if records::is_estimated(device) { "" } else { " at 95 %" };
        let _ = writeln!(out, "{} in both, {} of them differ{at}", counted(common, "point"), changed.len());
        if other_clocks > 0 {
            let _ = writeln!(out, "{other_clocks} of them ran under clocks of two classes, and are not compared");
        }
        for (ratio, point, old, new) in changed {
            let _ = writeln!(out, "{ratio:>6.2} {:>10.2} {:>10.2}  {}", old.median, new.median, point_text(point));
        }
    }
    if out.is_empty() {
        out.push_str("the files have no task and class of device in common\n");
    }
    session.print(&out);
    Ok(FINE)
}
