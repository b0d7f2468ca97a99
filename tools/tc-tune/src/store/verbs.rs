//! `tc-tune store put`, `get` and `list`.

use super::shelf::{Row, Told};
use super::{CODE, Folder, Shelf, Wanted};
use crate::args::TaskArgs;
use crate::drive::{identified, load};
use crate::records::{Appender, Record, distinct};
use crate::show::{class_text, point_text};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use tc::support::source::shown_name;
use tc::support::{Diagnostic, Location, Sources, counted};
use tc_cli::{FINE, INPUT, Session};

fn open(folder: &Path) -> Shelf {
    Shelf::new(Box::new(Folder::new(folder)))
}

/// What `told` is, once the session was told what was passed over.
fn heard<T>(session: &Session<'_>, told: Result<Told<T>, Diagnostic>) -> Result<T, u8> {
    let told = told.map_err(|wrong| session.refuse_with(&wrong))?;
    session.tell(&told.warnings.into_iter().collect(), &Sources::new());
    Ok(told.is)
}

/// `tc-tune store put`.
pub(crate) fn put(session: &Session<'_>, json: bool, folder: &Path, paths: &[PathBuf]) -> Result<u8, u8> {
    let records = load(session, paths)?;
    if records.is_empty() {
        let wrong = Diagnostic::error("records", Location::None, "there are no records");
        session.tell(&wrong.into(), &Sources::new());
        return Err(INPUT);
    }
    let n_all = distinct(&records).len();
    let n_put = heard(session, open(folder).put(&records))?;
    session.print(&if json {
        format!("{:#}\n", json!({ "put": n_put, "there": n_all - n_put }))
    } else {
        format!("{} put; {} were there\n", counted(n_put, "record"), n_all - n_put)
    });
    Ok(FINE)
}

/// `tc-tune store get`.
pub(crate) fn get(
    session: &Session<'_>,
    json: bool,
    (folder, device): (&Path, Option<&str>),
    args: &TaskArgs,
    output: &Path,
) -> Result<u8, u8> {
    let (identity, _) = identified(session, args)?;
    let wanted = Wanted { task: &identity, is_of_target: args.target.is_some(), device };
    let got = heard(session, open(folder).get(&wanted))?;
    if got.is_empty() {
        let text = format!("no record of the store fits `{} @{}`", identity.operator, identity.schedule);
        let wrong = Diagnostic::error(CODE, Location::None, text);
        let wrong = wrong.help("`tc-tune store list` tells what there is; another text or size is another task");
        session.tell(&wrong.into(), &Sources::new());
        return Err(INPUT);
    }
    let mut appender = Appender::open(output).map_err(|wrong| session.refuse_with(&wrong))?;
    let there = load(session, &[output.to_path_buf()])?;
    let (n_got, new) = (got.len(), copies(&there, got));
    appender.append_all(&new).map_err(|wrong| session.refuse_with(&wrong))?;
    session.print(&if json {
        format!("{:#}\n", json!({ "fit": n_got, "appended": new.len() }))
    } else {
        format!("{} fit; {} were there\n", counted(n_got, "record"), n_got - new.len())
    });
    Ok(FINE)
}

/// Those of `records` that are not among `there`, as copies.
pub(crate) fn copies(there: &[Record], records: Vec<Record>) -> Vec<Record> {
    let mut seen: BTreeSet<String> = there.iter().map(Record::original).collect();
    let new = records.into_iter().filter(|record| seen.insert(record.original()));
    new.map(|record| Record { copied: true, ..record }).collect()
}

/// `tc-tune store list`.
pub(crate) fn list(session: &Session<'_>, json: bool, folder: &Path) -> Result<u8, u8> {
    let rows = heard(session, open(folder).list())?;
    let documents = || Value::from(rows.iter().map(document).collect::<Vec<_>>());
    session.print(&if json { format!("{:#}\n", documents()) } else { table(&rows) });
    Ok(FINE)
}

fn document(row: &Row) -> Value {
    let best = row.best.as_ref();
    json!({
        "task": row.task,
        "device": row.device,
        "folder": row.place.task,
        "attempts": row.attempts,
        "best": best.map(|(point, time, class)| json!({"point": point, "time_us": time, "clocks": class})),
    })
}

fn table(rows: &[Row]) -> String {
    if rows.is_empty() {
        return "the store holds no records\n".to_string();
    }
    let head = ["operator", "schedule", "sizes", "device", "target", "attempts", "best (us)", "folder"];
    let mut lines: Vec<[String; 8]> = vec![head.map(str::to_string)];
    for row in rows {
        let best = row
            .best
            .as_ref()
            .map_or("-".to_string(), |(_, time, class)| format!("{:.2}{}", time.median, class_text(class.as_deref())));
        let sizes = if row.task.sizes.is_empty() { "-".to_string() } else { point_text(&row.task.sizes) };
        let schedule = format!("@{}", row.task.schedule);
        let folder = row.place.task.get(..8).unwrap_or_default().to_string();
        let (operator, target) = (row.task.operator.clone(), row.task.target.clone());
        let line = [operator, schedule, sizes, row.device.clone(), target, row.attempts.to_string(), best, folder];
        // Names come from strangers, and a terminal would obey what it is shown.
        lines.push(line.map(|cell| shown_name(&cell).into_owned()));
    }
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let mut out = String::new();
    for line in &lines {
        let cells = line.iter().zip(&widths).enumerate().map(|(column, (cell, &width))| match column {
            5 | 6 => format!("{cell:>width$}"),
            _ => format!("{cell:<width$}"),
        });
        out.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        out.push('\n');
    }
    out
}
