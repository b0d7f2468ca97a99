//! `tc-tune replay`: chooses again from what is recorded, and compares with what was chosen.

use crate::drive::{fail, load};
use crate::executor::Replay;
use crate::outside::Proposer;
use crate::records::{Record, Trial};
use crate::show::{by_task, point_text};
use crate::task::Task;
use crate::tune::{Tuner, With, find};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::PathBuf;
use tc::Compiler;
use tc::ir::Module;
use tc::support::{Diagnostic, counted};
use tc::target::Target;
use tc_cli::{FINE, INPUT, Session};
use tc_search::{Budget, Kind};

pub(crate) fn replay(session: &Session<'_>, file: &OsStr, path: &PathBuf) -> Result<u8, u8> {
    let text = session.load(file)?;
    let mut compiler = Compiler::new();
    let parsed = compiler.load(&tc_cli::file_name(file), &text).map_err(|failure| fail(session, &failure))?;
    let records = load(session, std::slice::from_ref(path))?;
    let (mut out, mut status) = (String::new(), FINE);
    let n_copied = records.iter().filter(|record| record.copied).count();
    if n_copied > 0 {
        let _ = writeln!(out, "of other files, and not chosen again: {}", counted(n_copied, "record"));
    }
    for (identity, device, group) in by_task(&records) {
        compiler.target = Target::parse(&identity.target).map_err(|wrong| session.refuse_with(&wrong))?;
        for run in searches(&group) {
            let first = run.first().map(|record| record.trial.clone());
            let Some(trial) = first else { continue };
            let name =
                format!("{} @{}, {} with seed {}", identity.operator, identity.schedule, trial.searcher, trial.seed);
            let wrong = again(session, (&compiler, &parsed.module), (device, &group), &run)?;
            match wrong {
                None => {
                    let _ = writeln!(out, "{name}: the same {}", counted(run.len(), "choice"));
                }
                Some(wrong) => {
                    status = INPUT;
                    let _ = writeln!(out, "{name}: {wrong}");
                }
            }
        }
    }
    session.print(&out);
    Ok(status)
}

/// The records of each search, in the order of its trials. The last of a trial is what the search went on from: others were
/// of an invalid clock, or of a search before it.
fn searches<'r>(records: &[&'r Record]) -> Vec<Vec<&'r Record>> {
    // Trials of one search differ in their numbers only.
    let mut runs: BTreeMap<Vec<String>, BTreeMap<usize, &Record>> = BTreeMap::new();
    for record in records.iter().filter(|record| !record.copied) {
        let Trial { searcher, seed, trials, batch_size, estimate, nth, start, .. } = &record.trial;
        let start = start.as_ref().map_or(String::new(), |start| start.hash.clone());
        let of = [seed.to_string(), trials.to_string(), batch_size.to_string(), estimate.to_string(), searcher.clone()];
        let of = [&of[..], &[start]].concat();
        let run = runs.entry(of).or_default();
        run.insert(*nth, record);
    }
    runs.into_values().map(|run| run.into_values().collect()).collect()
}

/// Searches again; tells the first choice that differs.
fn again(
    session: &Session<'_>,
    (compiler, module): (&Compiler, &Module),
    (device, group): (&str, &[&Record]),
    run: &[&Record],
) -> Result<Option<String>, u8> {
    let Some(first) = run.first() else { return Ok(None) };
    let (identity, trial) = (&first.task, &first.trial);
    let names = (Some(identity.operator.as_str()), Some(identity.schedule.as_str()));
    let sizes = identity.sizes.iter().map(|(name, &value)| (name.clone(), value)).collect();
    let task = Task::choose(compiler, module, names, sizes).map_err(|wrong| session.refuse_with(&wrong))?;
    let space = task.space().map_err(|failure| fail(session, &failure))?;
    let now = task.identity(&space).map_err(|failure| fail(session, &failure))?;
    if now != *identity {
        return Ok(Some("the operator, the schedule or the sizes are not those of the record".to_string()));
    }
    let warm = match &trial.start {
        None => Vec::new(),
        Some(start) => match start.find(group.iter().copied()) {
            Some(warm) => warm,
            None => {
                let text = "the results that the search started from are not the first of these records";
                return Ok(Some(text.to_string()));
            }
        },
    };
    let points = task.points(&space, trial.seed, trial.estimate).map_err(|failure| fail(session, &failure))?;
    // What was chosen outside is what is recorded.
    let listed = || run.iter().filter_map(|record| find(&points.pool, &record.point)).collect();
    let proposer = Kind::parse(&trial.searcher).map_or_else(|| Proposer::Outside(listed()), Proposer::Ours);
    let tuner = Tuner {
        identity: now,
        pool: &points.pool,
        proposer,
        seed: trial.seed,
        estimate: trial.estimate,
        budget: Budget { trials: trial.trials, batch: trial.batch_size, patience: None },
        time: None,
        known: BTreeMap::new(),
        warm_start: warm.iter().map(|record| (record.point.clone(), record.result.clone())).collect(),
        start: trial.start.clone(),
        recorded: Vec::new(),
    };
    let recorded: Vec<Record> = run.iter().map(|&record| record.clone()).collect();
    let mut executor = Replay::new(device, &identity.target, &recorded);
    let with = With { executor: &mut executor, appender: None, progress: &mut |_| {}, is_interrupted: &|| false };
    let outcome = tuner.run(with).map_err(|wrong: Diagnostic| session.refuse_with(&wrong))?;
    for (record, (point, _)) in run.iter().zip(&outcome.trials) {
        if record.point != *point {
            let (then, now) = (point_text(&record.point), point_text(point));
            return Ok(Some(format!("trial {} was {then}, and is {now}", record.trial.nth)));
        }
    }
    Ok(None)
}
