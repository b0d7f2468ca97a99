//! `tc-tune apply`: a file with the best point of each of its schedules bound, as text that a person reviews and commits.
//!
//! The choices of each parameter become the one that won: `block: i32 in [64, 128]` becomes `block: i32 in [128]`. Where there
//! are records at several sizes, the schedule keeps its choices, and another one chooses by size which of them is taken, and
//! which schedule where several of an operator were so measured (`table.rs`). What else stands in the file stays as it is, and what is bound is still a point of the space that was searched.

mod table;
mod text;

use crate::drive::{fail, load};
use crate::records::{self, Record, Time, is_estimated};
use crate::show::{by_task, point_text, ranked};
use crate::task::{Task, Values};
use std::ffi::OsStr;
use std::path::PathBuf;
use tc::Compiler;
use tc::ir::Module;
use tc::space::spaces;
use tc::support::source::shown_name;
use tc::support::{Diagnostic, Diagnostics, Location, Sources};
use tc::target::Target;
use tc_cli::{FINE, INPUT, Session};

/// A schedule, by its symbol, and a point of its space.
type Choice = (String, Values);

/// What was measured of an operator at some sizes.
struct Fit<'r> {
    /// The class of device.
    class: &'r str,
    sizes: Values,
    /// The choices with a time, the fastest first.
    ranked: Vec<(Choice, Time)>,
}

pub(crate) fn apply(session: &Session<'_>, file: &OsStr, paths: &[PathBuf], device: Option<&str>) -> Result<u8, u8> {
    let text = session.load(file)?;
    let mut compiler = Compiler::new();
    let parsed = compiler.load(&tc_cli::file_name(file), &text).map_err(|failure| fail(session, &failure))?;
    let module = parsed.module;
    let records = load(session, paths)?;
    let (mut edits, mut tables): (Vec<text::Edit>, Vec<Table<'_>>) = (Vec::new(), Vec::new());
    let mut all = Vec::new();
    for (te, sched) in spaces(&module) {
        let names = (module.items[te].symbol(), module.items[sched].symbol());
        all.push((sched, names, fits(session, &mut compiler, &module, names, &records, device)?));
    }
    // One that was measured at a single size comes last: it joins a choice that it is better than.
    all.sort_by_key(|(_, _, fits)| fits.len() < 2);
    // A schedule that keeps its choices for one operator keeps them for the others.
    let keeps: Vec<usize> = all.iter().filter(|(_, _, fits)| fits.len() > 1).map(|(sched, ..)| *sched).collect();
    for (sched, names, fits) in all {
        let schedule = &module.items[sched];
        let at = schedule.location(schedule.header.loc);
        let Some(start) = text::header(&module, schedule, &text).filter(|_| !fits.is_empty()) else {
            let text = format!("no record fits `@{}`: it keeps all its choices", schedule.symbol());
            session.tell(&Diagnostic::warning("records", at, text).into(), &module.sources);
            continue;
        };
        let table = tables.iter_mut().find(|(operator, of)| *operator == names.0 && of[0].class == fits[0].class);
        match table {
            Some((_, of)) if keeps.contains(&sched) || is_better(&fits[0], of) => {
                join(of, fits);
                continue;
            }
            None if keeps.contains(&sched) => {
                tables.push((names.0.to_string(), fits));
                continue;
            }
            _ => {}
        }
        if edits.iter().any(|(from, ..)| *from == start) {
            let text = format!("`@{}` is for several operators, and is bound as the first of them has it", names.1);
            session.tell(&Diagnostic::warning("records", at, text).into(), &module.sources);
            continue;
        }
        if let Some((fit, ((_, point), time))) = fits.first().and_then(|fit| Some((fit, fit.ranked.first()?))) {
            edits.push((start, start, format!("// {}\n", told(fit, time))));
            edits.extend(text::bound(&text, start, point));
        }
    }
    if edits.is_empty() && tables.is_empty() {
        let wrong = Diagnostic::error("records", Location::None, "no record fits a schedule of the file");
        session.tell(&wrong.into(), &Sources::new());
        return Err(INPUT);
    }
    let mut taken: Vec<(&str, String)> = Vec::new();
    let mut out = text::edited(&text, edits);
    for (operator, fits) in &tables {
        let name = table::free_name(&module, operator, fits, &taken);
        out.push_str(&table::table(&module, (operator, &name), fits));
        taken.push((operator, name));
    }
    taken.iter().for_each(|(operator, name)| tell_limits(session, &out, operator, name));
    session.print(&out);
    Ok(FINE)
}

/// Tells where the choice `name` in `text` does not serve all sizes: a point may hold for some only.
fn tell_limits(session: &Session<'_>, text: &str, operator: &str, name: &str) {
    let compiler = Compiler::new();
    let Ok(parsed) = compiler.parse("the file with its choices", text) else { return };
    let mut module = parsed.module;
    let pipeline = format!("schedule{{name={name} func={operator} symbolic}}");
    if let Err(failure) = compiler.run(&mut module, &pipeline) {
        let why = failure.diagnostics.iter().next().map_or(String::new(), |first| format!(": {}", first.message));
        let text = format!("`@{name}` does not serve all sizes of `@{operator}`{why}");
        let help = "the sizes that were measured are served; give `when` of each `dispatch` the range in which its point holds, and \
                    the last one a point that holds for all";
        session.tell(&Diagnostic::warning("records", Location::None, text).help(help).into(), &Sources::new());
    }
}

/// An operator, and what its choice by size is made from.
type Table<'r> = (String, Vec<Fit<'r>>);

/// Is `fit` faster than all that `of` has at its sizes?
fn is_better(fit: &Fit<'_>, of: &[Fit<'_>]) -> bool {
    let best = |fit: &Fit<'_>| fit.ranked.first().map_or(f64::INFINITY, |(_, time)| time.median);
    of.iter().any(|known| known.sizes == fit.sizes && best(fit) < best(known))
}

/// Adds what was measured of another schedule of the operator.
fn join<'r>(of: &mut Vec<Fit<'r>>, fits: Vec<Fit<'r>>) {
    for fit in fits {
        match of.iter_mut().find(|known| known.sizes == fit.sizes) {
            Some(known) => {
                known.ranked.extend(fit.ranked);
                known.ranked.sort_by(|(_, a), (_, b)| a.median.total_cmp(&b.median));
            }
            None => of.push(fit),
        }
    }
}

/// What is said of a point that was taken.
fn told(fit: &Fit<'_>, time: &Time) -> String {
    let at = if fit.sizes.is_empty() { String::new() } else { format!(" at {}", point_text(&fit.sizes)) };
    // It becomes a comment of the file, and a line break would end that.
    let class = shown_name(fit.class);
    if is_estimated(fit.class) {
        format!("Estimated by the {class}{at}, not measured: {:.2} us.", time.median)
    } else {
        format!("Tuned on {class}{at}: {:.2} us ({:.2} to {:.2}).", time.median, time.low, time.high)
    }
}

/// What was measured of a schedule, by sizes. Only times of one class of device are compared: of the one that is named, or of
/// that of the first record that fits, where a measured one comes before an estimated one.
fn fits<'r>(
    session: &Session<'_>,
    compiler: &mut Compiler,
    module: &Module,
    (operator, schedule): (&str, &str),
    records: &'r [Record],
    device: Option<&str>,
) -> Result<Vec<Fit<'r>>, u8> {
    let mut found: Vec<Fit<'r>> = Vec::new();
    for (identity, class, group) in by_task(records) {
        let is_it = (operator, schedule) == (&identity.operator, &identity.schedule);
        if !is_it || device.is_some_and(|name| name != class) {
            continue;
        }
        compiler.target = Target::parse(&identity.target).map_err(|wrong| session.refuse_with(&wrong))?;
        let sizes = identity.sizes.iter().map(|(name, &value)| (name.clone(), value)).collect();
        let Ok(task) = Task::choose(compiler, module, (Some(operator), Some(schedule)), sizes) else { continue };
        let Ok(space) = task.space() else { continue };
        if task.identity(&space).map_err(|failure| fail(session, &failure))? != *identity {
            continue;
        }
        let results: Vec<(Values, records::Result)> =
            group.iter().map(|record| (record.point.clone(), record.result.clone())).collect();
        let ranked = ranked(&results);
        let ranked = ranked
            .into_iter()
            .filter_map(|(point, result)| Some(((schedule.to_string(), point.clone()), result.time_us?)));
        let ranked: Vec<(Choice, Time)> = ranked.collect();
        let is_new = found.iter().all(|fit| (fit.class, &fit.sizes) != (class, &identity.sizes));
        if !ranked.is_empty() && is_new {
            found.push(Fit { class, sizes: identity.sizes.clone(), ranked });
        }
    }
    found.sort_by_key(|fit| is_estimated(fit.class));
    let Some(class) = found.first().map(|fit| fit.class) else { return Ok(found) };
    if device.is_none() {
        tell_choice(session, module, schedule, class, found.iter().map(|fit| fit.class));
    }
    found.retain(|fit| fit.class == class);
    // A record may know fewer sizes than the others: nothing chooses by those.
    let most = found.iter().map(|fit| fit.sizes.len()).max().unwrap_or(0);
    found.retain(|fit| fit.sizes.len() == most);
    Ok(found)
}

/// Tells which class of device was taken of several, and that nothing was measured where estimates were.
fn tell_choice<'c>(
    session: &Session<'_>,
    module: &Module,
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
