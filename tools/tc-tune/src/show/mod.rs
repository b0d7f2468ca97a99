//! What records hold, for people.
//!
//! - [`Facts`]: what is shown of the records of a task and class of device. `text`, `page` and `picture` show it as text, as
//!   a page of HTML and as SVG, and compute nothing of their own, so that they agree.
//! - [`Summary`]: what a search came to; `diff`: two files compared.

mod diff;
mod facts;
mod page;
mod picture;
mod summary;
mod text;

pub(crate) use diff::diff;
pub(crate) use facts::Facts;
pub(crate) use summary::Summary;

use crate::drive::load;
use crate::records::{self, Record, Time, Verdict};
use crate::task::{Identity, Values};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tc::support::source::shown_name;
use tc::support::{Diagnostic, Location, Sources};
use tc_cli::{FINE, FileId, INPUT, Session, write_whole};

/// The class of clocks that nothing is said of.
const OK: &str = "ok";

/// A point as `schedule{param="…"}` reads it. Names may come from strangers.
pub(crate) fn point_text(point: &Values) -> String {
    let shown = |(name, value): (&String, &i64)| format!("{}={value}", shown_name(name));
    point.iter().map(shown).collect::<Vec<_>>().join(" ")
}

/// The class of clocks, where it is worth a word.
pub(crate) fn class_text(class: Option<&str>) -> String {
    class.filter(|&class| class != OK).map_or(String::new(), |class| format!(" [{}]", shown_name(class)))
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

/// What was tuned, and for what.
fn heading(identity: &Identity, device: &str) -> String {
    let sizes = if identity.sizes.is_empty() { String::new() } else { format!(", {}", point_text(&identity.sizes)) };
    let [operator, schedule, device, target] =
        [&identity.operator, &identity.schedule, device, &identity.target].map(shown_name);
    format!("{operator} @{schedule}{sizes} on {device} ({target})\n")
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

/// Where `tc-tune show` writes besides the standard output.
pub(crate) struct Outputs<'o> {
    pub(crate) html: Option<&'o Path>,
    pub(crate) svg: Option<&'o Path>,
}

/// `tc-tune show`.
pub(crate) fn show(
    session: &Session<'_>,
    json: bool,
    (paths, top): (&[PathBuf], usize),
    outputs: &Outputs<'_>,
) -> Result<u8, u8> {
    let mut files: Vec<FileId> = paths.iter().filter_map(|path| FileId::of(path)).collect();
    for path in outputs.html.into_iter().chain(outputs.svg) {
        let Some(file) = FileId::of(path) else { continue };
        if files.contains(&file) {
            let text = format!("{} is named twice: it would be written over", path.display());
            let wrong = Diagnostic::error("call", Location::None, text);
            return Err(session.refuse_with(&wrong.help("name another file for the page or the picture")));
        }
        files.push(file);
    }
    let records = load(session, paths)?;
    let groups = by_task(&records);
    if groups.is_empty() {
        return Err(session.refuse_with(&Diagnostic::error("records", Location::None, "there are no records")));
    }
    let (mut all, mut documents) = (Vec::new(), Vec::new());
    for (identity, device, records) in groups {
        let trials = results(&records);
        let summary = Summary {
            identity,
            device,
            n_points: trials.len(),
            is_sample: false,
            trials: &trials,
            start: &[],
            finals: &[],
            ended: None,
            is_outside: false,
        };
        documents.push(summary.json());
        all.push(Facts::of((identity, device), &trials, top));
    }
    let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    for (path, text) in [
        (outputs.html, outputs.html.map(|_| page::page(&names.join(" "), &all))),
        (outputs.svg, outputs.svg.map(|_| picture::picture(&all))),
    ] {
        let (Some(path), Some(text)) = (path, text) else { continue };
        write_whole(path, &text).map_err(|error| {
            let wrong = format!("cannot write {}: {error}", path.display());
            let wrong = Diagnostic::error("records", Location::None, wrong);
            session.tell(&wrong.help("name a file in a folder that is there").into(), &Sources::new());
            INPUT
        })?;
    }
    session.print(&if json { format!("{:#}\n", Value::from(documents)) } else { text::text(&all) });
    Ok(FINE)
}
