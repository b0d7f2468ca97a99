//! A search from the command line: what is tuned, from which records it goes on, what it tells.

use crate::args::Args;
use crate::drive::{choose, fail, file, load};
use crate::executor::Executor;
use crate::outside::{self, Proposer};
use crate::records::{self, Appender, Record, Verdict};
use crate::show::Summary;
use crate::start::{self, Starter};
use crate::store::{Folder, Shelf};
use crate::task::{Identity, Points};
use crate::tune::{Ended, Outcome, Progress, Tuner, With, find};
use crate::{FINE, INPUT, finals};
use std::collections::BTreeMap;
use std::time::Duration;
use tc::Compiler;
use tc::support::{Diagnostic, Location, Sources};
use tc::target::Target;
use tc_cli::Session;
use tc_search::{Budget, Kind};

/// What is asked, once the file is read.
pub(crate) struct Tuning<'a, 's> {
    pub(crate) args: &'a Args,
    pub(crate) session: &'a Session<'s>,
    pub(crate) text: String,
    pub(crate) file: String,
}

/// `tc-tune FILE @SCHEDULE`.
pub(crate) fn tune(args: &Args, session: &Session<'_>) -> Result<u8, u8> {
    let file = file(session, &args.task)?;
    let text = session.load(file)?;
    Tuning { args, session, text, file: tc_cli::file_name(file) }.run()
}

impl Tuning<'_, '_> {
    fn run(&self) -> Result<u8, u8> {
        let (session, args) = (self.session, self.args);
        let mut compiler = Compiler::new();
        if let Some(name) = &args.task.target {
            compiler.target = Target::parse(name).map_err(|wrong| session.refuse_with(&wrong))?;
        }
        let parsed = compiler.load(&self.file, &self.text).map_err(|failure| fail(session, &failure))?;
        session.tell(&parsed.warnings, &parsed.module.sources);
        let module = parsed.module;
        let refuse = |wrong: Diagnostic| session.refuse_with(&wrong);
        let names = {
            let task = choose(&compiler, &module, &args.task).map_err(refuse)?;
            let space = task.space().map_err(|failure| fail(session, &failure))?;
            task.identity(&space).map_err(|failure| fail(session, &failure))?
        };
        if let Some(n) = args.search.ask {
            return self.ask(&mut compiler, &module, &names, n as usize);
        }
        let mut executor = self.executor(&names)?;
        // What is compiled for is what the devices are, unless the caller said otherwise.
        if args.task.target.is_none()
            && let Some(target) = executor.target()
        {
            compiler.target = Target::parse(&target).map_err(|wrong| session.refuse_with(&wrong))?;
        }
        let task = choose(&compiler, &module, &args.task).map_err(refuse)?;
        let space = task.space().map_err(|failure| fail(session, &failure))?;
        let identity = task.identity(&space).map_err(|failure| fail(session, &failure))?;
        let points =
            task.points(&space, args.search.seed, self.estimate()).map_err(|failure| fail(session, &failure))?;
        let outcome = self.search(&identity, &points, &mut *executor)?;
        let finals = match outcome.ended {
            Some(Ended::Interrupted) => Vec::new(),
            _ => finals::finals(session, &outcome, &mut *executor)?,
        };
        let summary = Summary {
            identity: &identity,
            device: executor.device(),
            n_points: points.pool.len(),
            is_sample: points.is_sample,
            trials: &outcome.trials,
            start: &outcome.start,
            finals: &finals,
            ended: outcome.ended,
            is_outside: args.search.points.is_some(),
        };
        session.print(&if args.json { format!("{:#}\n", summary.json()) } else { summary.text() });
        match summary.best() {
            Some(_) => Ok(FINE),
            None => Err(INPUT),
        }
    }

    /// Points up to which each is estimated: none where no choice asks for it.
    fn estimate(&self) -> usize {
        let search = &self.args.search;
        let is_fixed = search.points.is_some() || matches!(search.searcher, Kind::Exhaustive | Kind::Random);
        if is_fixed { 0 } else { search.estimate }
    }

    /// Prints what the searcher would try next; the records tell for which target and device.
    fn ask(&self, compiler: &mut Compiler, module: &tc::ir::Module, names: &Identity, n: usize) -> Result<u8, u8> {
        let (session, args) = (self.session, self.args);
        let records = load(session, args.measure.records.as_slice())?;
        let fitting: Vec<&Record> = records.iter().filter(|record| record.task.is_same_but_target(names)).collect();
        if let (None, Some(first)) = (&args.task.target, fitting.first()) {
            compiler.target = Target::parse(&first.task.target).map_err(|wrong| session.refuse_with(&wrong))?;
        }
        let task = choose(compiler, module, &args.task).map_err(|wrong| session.refuse_with(&wrong))?;
        let space = task.space().map_err(|failure| fail(session, &failure))?;
        let points =
            task.points(&space, args.search.seed, self.estimate()).map_err(|failure| fail(session, &failure))?;
        let device = fitting.first().map(|first| first.device.as_str());
        let of_first = fitting.iter().filter(|record| Some(record.device.as_str()) == device);
        let known: Vec<_> =
            of_first.filter_map(|record| Some((find(&points.pool, &record.point)?, record.result.median()))).collect();
        session.print(&outside::ask(&points.pool, (args.search.searcher, args.search.seed), &known, n));
        Ok(FINE)
    }

    fn search(&self, identity: &Identity, points: &Points, executor: &mut dyn Executor) -> Result<Outcome, u8> {
        let (session, search) = (self.session, &self.args.search);
        let n = points.pool.len();
        let proposer = match &search.points {
            Some(path) => {
                Proposer::Outside(outside::read(path, &points.pool).map_err(|wrong| session.refuse_with(&wrong))?)
            }
            None => Proposer::Ours(search.searcher),
        };
        let usual = match &proposer {
            Proposer::Outside(points) => points.len(),
            Proposer::Ours(Kind::Exhaustive) => n,
            Proposer::Ours(_) => 200.min(n),
        };
        let budget = Budget {
            trials: search.trials.map_or(usual, |trials| trials as usize).min(n),
            batch: search.batch as usize,
            patience: search.patience.map(|patience| patience as usize),
        };
        let (mut recorded, mut warnings) = (Vec::new(), Vec::new());
        let mut appender = None;
        if let Some(path) = &self.args.measure.records {
            // Locked before it is read, so that nothing comes in between.
            appender = Some(Appender::open(path).map_err(|wrong| session.refuse_with(&wrong))?);
            recorded = load(session, std::slice::from_ref(path))?;
        }
        let device = executor.device().to_string();
        let fits = |record: &&Record| record.task == *identity && record.device == device;
        // A file may hold records of many tasks: what is worth a word is one that looks like this and is none.
        let is_like = |record: &&Record| {
            (&record.task.operator, &record.task.schedule) == (&identity.operator, &identity.schedule)
        };
        if recorded.iter().any(|record| is_like(&record)) && !recorded.iter().any(|record| fits(&record)) {
            let text = format!(
                "the records of `{} @{}` are of another text, size, target or device: nothing is taken from them",
                identity.operator, identity.schedule
            );
            warnings.push(Diagnostic::warning("records", Location::None, text));
        }
        session.tell(&warnings.into_iter().collect(), &Sources::new());
        let shelf = search.store.as_deref().map(|folder| Shelf::new(Box::new(Folder::new(folder))));
        let mut tuner = Tuner {
            identity: identity.clone(),
            pool: &points.pool,
            proposer,
            seed: search.seed,
            estimate: self.estimate(),
            budget,
            time: search.time.map(Duration::from_secs_f64),
            known: BTreeMap::new(),
            warm_start: Vec::new(),
            start: None,
            recorded: Vec::new(),
        };
        let starter = Starter {
            session,
            identity,
            device: &device,
            files: &search.warm_start,
            shelf: shelf.as_ref(),
            trial: tuner.trial(0, 0),
        };
        let started = starter.start(&mut recorded, appender.as_mut())?;
        tuner.start = started.name;
        tuner.warm_start = started.records.into_iter().map(|record| (record.point, record.result)).collect();
        // Points whose clock was invalid are measured again.
        let counts = |record: &&Record| fits(record) && record.result.verdict != Verdict::InvalidClock;
        for record in recorded.iter().filter(counts) {
            tuner.known.entry(record.point.clone()).or_insert_with(|| record.result.clone());
        }
        tuner.recorded = recorded.iter().filter(fits).filter(|record| !record.copied).cloned().collect();
        let mut tell = |progress: &Progress<'_>| self.progress(progress);
        let interrupt = session.interrupt();
        let is_interrupted = || interrupt.status().is_some();
        let with = With { executor, appender, progress: &mut tell, is_interrupted: &is_interrupted };
        let outcome = tuner.run(with).map_err(|wrong| session.refuse_with(&wrong))?;
        if session.progress {
            session.note("\r\x1b[2K");
        }
        if let (Some(shelf), Some(path)) = (&shelf, &self.args.measure.records) {
            let recorded = records::load(path).map_err(|wrong| session.refuse_with(&wrong))?.records;
            let own: Vec<Record> = recorded.into_iter().filter(|record| fits(&record)).collect();
            start::put(session, shelf, &own, path);
        }
        Ok(outcome)
    }

    /// Shows how far the search is, in a line that the next one replaces.
    fn progress(&self, at: &Progress<'_>) {
        if !self.session.progress {
            return;
        }
        let seconds = at.elapsed.as_secs_f64();
        let rate = at.trials as f64 / seconds.max(1e-3);
        let left = at.of.saturating_sub(at.trials) as f64 / rate.max(1e-3);
        let best = at.best.map_or("none yet".to_string(), |best| format!("{best:.2} us"));
        let last = at.last.median().map_or(at.last.verdict.name().to_string(), |time| format!("{time:.2} us"));
        let text = format!("{}/{}  best {best}  last {last}  {rate:.1} trials/s  {left:.0} s left", at.trials, at.of);
        self.session.note(&format!("\r\x1b[2K{text}"));
    }
}
