//! `tc-tune apply`: a file with the best point of each of its schedules bound, as text that a person reviews and commits.
//!
//! The choices of each parameter become the one that won: `block: i32 in [64, 128]` becomes `block: i32 in [128]`. What
//! else stands in the file stays as it is, and the schedule is still a point of the space that was searched.

use crate::drive::{fail, load};
use crate::records::{Record, is_estimated};
use crate::show::{by_task, point_text, ranked};
use crate::task::{Task, Values};
use std::ffi::OsStr;
use std::path::PathBuf;
use tc::Compiler;
use tc::ir::Func;
use tc::space::spaces;
use tc::support::source::shown_name;
use tc::support::{Diagnostic, Diagnostics, Location, Sources};
use tc::target::Target;
use tc_cli::{FINE, INPUT, Session};

pub(crate) fn apply(session: &Session<'_>, file: &OsStr, paths: &[PathBuf], device: Option<&str>) -> Result<u8, u8> {
    let text = session.load(file)?;
    let mut compiler = Compiler::new();
    let parsed = compiler.parse(&tc_cli::file_name(file), &text).map_err(|failure| fail(session, &failure))?;
    let module = parsed.module;
    let records = load(session, paths)?;
    let mut edits: Vec<(usize, usize, String)> = Vec::new();
    for (te, sched) in spaces(&module) {
        let schedule = &module.items[sched];
        let names = (Some(module.items[te].symbol()), Some(schedule.symbol()));
        let best = best(session, &mut compiler, &module, names, &records, device)?;
        let Some((point, why)) = best else {
            let text = format!("no record fits `@{}`: it keeps all its choices", schedule.symbol());
            let told = Diagnostic::warning("records", schedule.location(schedule.header.loc), text);
            session.tell(&told.into(), &module.sources);
            continue;
        };
        let Some(start) = header(schedule, &text) else { continue };
        edits.push((start, start, format!("// {why}\n")));
        edits.extend(bound(&text, start, &point));
    }
    if edits.is_empty() {
        let wrong = Diagnostic::error("records", Location::None, "no record fits a schedule of the file");
        session.tell(&wrong.into(), &Sources::new());
        return Err(INPUT);
    }
    let mut out = text.clone();
    edits.sort_by_key(|edit| std::cmp::Reverse((edit.0, edit.1)));
    for (from, to, new) in edits {
        out.replace_range(from..to, &new);
    }
    session.print(&out);
    Ok(FINE)
}

/// The best recorded point of a schedule, and what is said of it. Only times of one class of device are compared: of the
/// one that is named, or of that of the first record that fits, where a measured one comes before an estimated one.
fn best(
    session: &Session<'_>,
    compiler: &mut Compiler,
    module: &tc::ir::Module,
    names: (Option<&str>, Option<&str>),
    records: &[Record],
    device: Option<&str>,
) -> Result<Option<(Values, String)>, u8> {
    let mut found: Vec<(&str, Values, String)> = Vec::new();
    for (identity, class, group) in by_task(records) {
        if names != (Some(&identity.operator), Some(&identity.schedule)) || device.is_some_and(|name| name != class) {
            continue;
        }
        compiler.target = Target::parse(&identity.target).map_err(|wrong| session.refuse_with(&wrong))?;
        let sizes = identity.sizes.iter().map(|(name, &value)| (name.clone(), value)).collect();
        let Ok(task) = Task::choose(compiler, module, names, sizes) else { continue };
        let Ok(space) = task.space() else { continue };
        if task.identity(&space).map_err(|failure| fail(session, &failure))? != *identity {
            continue;
        }
        let results: Vec<_> = group.iter().map(|record| (record.point.clone(), record.result.clone())).collect();
        if let Some((point, result)) = ranked(&results).first()
            && let Some(time) = result.time_us
        {
            let at =
                if identity.sizes.is_empty() { String::new() } else { format!(" at {}", point_text(&identity.sizes)) };
            // It becomes a comment of the file, and a line break would end that.
            let shown = shown_name(class);
            let why = if is_estimated(class) {
                format!("Estimated by the {shown}{at}, not measured: {:.2} us.", time.median)
            } else {
                format!("Tuned on {shown}{at}: {:.2} us ({:.2} to {:.2}).", time.median, time.low, time.high)
            };
            found.push((class, (*point).clone(), why));
        }
    }
    found.sort_by_key(|(class, ..)| is_estimated(class));
    let Some((class, point, why)) = found.first().cloned() else { return Ok(None) };
    if device.is_none() {
        tell_choice(session, module, names.1.unwrap_or_default(), class, found.iter().map(|(class, ..)| *class));
    }
    Ok(Some((point, why)))
}

/// Tells which class of device was taken of several, and that nothing was measured where estimates were.
fn tell_choice<'c>(
    session: &Session<'_>,
    module: &tc::ir::Module,
    schedule: &str,
    taken: &str,
    found: impl Iterator<Item = &'c str>,
) {
    let mut others: Vec<&str> = Vec::new();
    for class in found.filter(|class| *class != taken) {
        if !others.contains(&class) {
            others.push(class);
        }
    }
    let mut told = Diagnostics::new();
    if is_estimated(taken) {
        let text = format!("no measured time fits `@{schedule}`: its choices are those of the least estimate");
        let help = "measure points on a GPU: `tc-tune FILE --records RECORDS`";
        told.push(Diagnostic::warning("records", Location::None, text).help(help));
    }
    if let Some(first) = others.first() {
        let names: Vec<String> = others.iter().map(|class| format!("`{class}`")).collect();
        let text = format!("`@{schedule}` takes times of `{taken}`; there are also those of {}", names.join(", "));
        let help = format!("`--device '{first}'` takes those of another class");
        told.push(Diagnostic::warning("records", Location::None, text).help(help));
    }
    session.tell(&told, &module.sources);
}

/// Where the text of `schedule` begins.
fn header(schedule: &Func, text: &str) -> Option<usize> {
    let name = format!("@{}", schedule.symbol());
    let is_name_end = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    let mut from = 0;
    while let Some(at) = text[from..].find("schedule").map(|at| at + from) {
        let line_start = text[..at].rfind('\n').map_or(0, |end| end + 1);
        let rest = text[at + "schedule".len()..].trim_start();
        if text[line_start..at].trim().is_empty() && rest.strip_prefix(&name).is_some_and(is_name_end) {
            return Some(at);
        }
        from = at + 1;
    }
    None
}

/// The edits that leave each parameter the one choice of `point`.
fn bound(text: &str, start: usize, point: &Values) -> Vec<(usize, usize, String)> {
    let mut edits = Vec::new();
    let Some(open) = text[start..].find('(').map(|at| at + start + 1) else { return edits };
    for (from, to) in parts(text, open) {
        let part = &text[from..to];
        let Some((name, domain)) = part.split_once(':') else { continue };
        let name = name.rsplit('\n').next().unwrap_or(name).trim();
        let Some(&value) = point.get(name) else { continue };
        let shown = if domain.trim_start().starts_with("bool") { (value != 0).to_string() } else { value.to_string() };
        match part.find(" in ") {
            Some(at) => edits.push((from + at, from + part.trim_end().len(), format!(" in [{shown}]"))),
            None => edits.push((from + part.trim_end().len(), from + part.trim_end().len(), format!(" in [{shown}]"))),
        }
    }
    edits
}

/// The parts of a list in brackets that commas part, from `open` to the bracket that closes it. Comments do not count.
fn parts(text: &str, open: usize) -> Vec<(usize, usize)> {
    let (mut parts, mut depth, mut from) = (Vec::new(), 0usize, open);
    let bytes = text.as_bytes();
    let mut at = open;
    while at < bytes.len() {
        match bytes[at] {
            b'/' if bytes.get(at + 1) == Some(&b'/') => {
                at += text[at..].find('\n').unwrap_or(text.len() - at);
                continue;
            }
            b'(' | b'[' => depth += 1,
            b')' | b']' if depth == 0 => {
                parts.push((from, at));
                break;
            }
            b')' | b']' => depth -= 1,
            b',' if depth == 0 => {
                parts.push((from, at));
                from = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    parts
}
