//! The tool itself: reads, chooses, searches, tells.

use crate::args::{Args, DeviceName, MeasureArgs, TaskArgs, Verb};
use crate::executor::{Executor, Job, Local, Replay, Report, Setup};
use crate::records::{self, Appender, Record, Time};
use crate::show::Summary;
use crate::task::{Identity, Points, Task, Values};
use crate::tune::{Ended, Outcome, Progress, Tuner, With};
use crate::worker::protocol::{Bench, Open, Ticket};
use crate::{BUG, FINE, INPUT, apply, compare, merge, replay, show, worker};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;
use tc::support::{Diagnostic, Diagnostics, Location, Sources};
use tc::target::Target;
use tc::{Compiler, Failure};
use tc_cli::Session;
use tc_search::{Budget, Kind};

/// The best points that are measured once more at the end, in turn.
const FINALISTS: usize = 3;
/// How often: the interval of the median of six is that of 95 %.
const ROUNDS: usize = 6;

/// Runs the tool; returns the exit status.
pub(crate) fn drive(args: &Args, session: &Session<'_>) -> u8 {
    let done = match &args.command {
        None => tune(args, session),
        Some(Verb::Show { records, top }) => show::show(session, args.json, records, *top),
        Some(Verb::Apply { file, records, device }) => apply::apply(session, file, records, device.as_deref()),
        Some(Verb::Replay { file, records }) => replay::replay(session, file, records),
        Some(Verb::Merge { records, output }) => merge::merge(session, records, output.as_deref()),
        Some(Verb::Diff { before, after }) => show::diff(session, before, after),
        Some(Verb::Compare { file, records, seeds, trials, batch }) => {
            let trials = trials.map(|trials| trials as usize);
            let question = compare::Question { file, records, seeds: *seeds, trials, batch: *batch as usize };
            compare::compare(session, args.json, &question)
        }
        Some(Verb::Worker { device }) => {
            let (mut input, mut output) = (std::io::stdin().lock(), std::io::stdout().lock());
            worker::serve(*device, &mut input, &mut output).map(|()| FINE).map_err(|wrong| session.refuse_with(&wrong))
        }
    };
    done.unwrap_or_else(|status| status)
}

/// Tells why a file is at fault; returns the exit status.
pub(crate) fn fail(session: &Session<'_>, failure: &Failure) -> u8 {
    session.tell(&failure.diagnostics, &failure.sources);
    if failure.is_bug() { BUG } else { INPUT }
}

/// Reads records, and tells what was passed over.
pub(crate) fn load(session: &Session<'_>, paths: &[PathBuf]) -> Result<Vec<Record>, u8> {
    let mut all = Vec::new();
    for path in paths {
        let loaded = records::load(path).map_err(|wrong| session.refuse_with(&wrong))?;
        let warnings: Diagnostics = loaded.warnings.into_iter().collect();
        session.tell(&warnings, &Sources::new());
        all.extend(loaded.records);
    }
    Ok(all)
}

/// What is asked, once the file is read.
struct Tuning<'a, 's> {
    args: &'a Args,
    session: &'a Session<'s>,
    text: String,
    file: String,
}

fn tune(args: &Args, session: &Session<'_>) -> Result<u8, u8> {
    let file = args.task.file.clone().unwrap_or_default();
    let text = session.load(&file)?;
    Tuning { args, session, text, file: tc_cli::file_name(&file) }.run()
}

impl Tuning<'_, '_> {
    fn run(&self) -> Result<u8, u8> {
        let (session, args) = (self.session, self.args);
        let mut compiler = Compiler::new();
        if let Some(name) = &args.task.target {
            compiler.target = Target::parse(name).map_err(|wrong| session.refuse_with(&wrong))?;
        }
        let parsed = compiler.parse(&self.file, &self.text).map_err(|failure| fail(session, &failure))?;
        session.tell(&parsed.warnings, &parsed.module.sources);
        let module = parsed.module;
        let refuse = |wrong: Diagnostic| session.refuse_with(&wrong);
        let names = {
            let task = choose(&compiler, &module, &args.task).map_err(refuse)?;
            let space = task.space().map_err(|failure| fail(session, &failure))?;
            task.identity(&space).map_err(|failure| fail(session, &failure))?
        };
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
        let points = task.points(&space, args.search.seed).map_err(|failure| fail(session, &failure))?;
        let outcome = self.search(&identity, &points, &mut *executor)?;
        let finals = match outcome.ended {
            Some(Ended::Interrupted) => Vec::new(),
            _ => self.finals(&outcome, &mut *executor)?,
        };
        let summary = Summary {
            identity: &identity,
            device: executor.device(),
            n_points: points.pool.len(),
            is_sample: points.is_sample,
            trials: &outcome.trials,
            finals: &finals,
            ended: outcome.ended,
        };
        session.print(&if args.json { format!("{:#}\n", summary.json()) } else { summary.text() });
        match summary.best() {
            Some(_) => Ok(FINE),
            None => Err(INPUT),
        }
    }

    fn search(&self, identity: &Identity, points: &Points, executor: &mut dyn Executor) -> Result<Outcome, u8> {
        let (session, search) = (self.session, &self.args.search);
        let n = points.pool.len();
        let usual = if search.searcher == Kind::Exhaustive { n } else { 200.min(n) };
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
        let warm = load(session, &search.warm_start)?;
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
        let mut known = BTreeMap::new();
        for record in recorded.iter().filter(fits) {
            known.entry(record.point.clone()).or_insert_with(|| record.result.clone());
        }
        let tuner = Tuner {
            identity: identity.clone(),
            pool: &points.pool,
            searcher: search.searcher,
            seed: search.seed,
            budget,
            time: search.time.map(Duration::from_secs_f64),
            known,
            warm_start: warm.iter().filter(fits).map(|record| (record.point.clone(), record.result.clone())).collect(),
            recorded: recorded.iter().filter(fits).map(|record| record.trial.clone()).collect(),
        };
        let mut tell = |progress: &Progress<'_>| self.progress(progress);
        let interrupt = session.interrupt();
        let is_interrupted = || interrupt.status().is_some();
        let with = With { executor, appender, progress: &mut tell, is_interrupted: &is_interrupted };
        let outcome = tuner.run(with).map_err(|wrong| session.refuse_with(&wrong))?;
        if session.progress {
            session.note("\r\x1b[2K");
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

    /// The best few, measured again in turn: what chance made fast is not fast again.
    fn finals(&self, outcome: &Outcome, executor: &mut dyn Executor) -> Result<Vec<(Values, Time)>, u8> {
        let mut ranked = show::ranked(&outcome.trials);
        ranked.truncate(FINALISTS);
        let points: Vec<Values> = ranked.into_iter().map(|(point, _)| point.clone()).collect();
        let mut medians = vec![Vec::new(); points.len()];
        for round in 0..ROUNDS {
            for (nth, point) in points.iter().enumerate() {
                let ticket = Ticket { id: (round * FINALISTS + nth) as u64, attempt: 1 };
                executor.submit(Job { ticket, point: point.clone(), again: true });
            }
        }
        let mut left = ROUNDS * points.len();
        while left > 0 {
            let answer = executor.poll(Duration::from_secs(1)).map_err(|wrong| self.session.refuse_with(&wrong))?;
            let Some(Report { ticket, result }) = answer else { continue };
            if ticket.attempt == 1 {
                left -= 1;
                medians[ticket.id as usize % FINALISTS].extend(result.median());
            }
        }
        let time = |samples: Vec<f64>| {
            let timing = tc::runtime::Timing::from_samples(samples, 1, tc::runtime::L2::Kept)?;
            Some(Time { median: timing.median_us, low: timing.low_us, high: timing.high_us, n: timing.n })
        };
        let mut finals: Vec<(Values, Time)> =
            points.into_iter().zip(medians).filter_map(|(point, samples)| Some((point, time(samples)?))).collect();
        finals.sort_by(|a, b| a.1.median.total_cmp(&b.1.median));
        Ok(finals)
    }

    fn executor(&self, names: &Identity) -> Result<Box<dyn Executor>, u8> {
        let (session, measure) = (self.session, &self.args.measure);
        let replays: Vec<&PathBuf> = measure
            .devices
            .iter()
            .filter_map(|device| match device {
                DeviceName::Replay(path) => Some(path),
                DeviceName::Cuda(_) => None,
            })
            .collect();
        if let ([path], true) = (&replays[..], measure.workers.is_empty()) {
            if measure.devices.len() > 1 {
                return Err(session.refuse("what is replayed shares its work with no other device"));
            }
            return Ok(Box::new(self.replayed(path, names)?));
        }
        let setup = self.setup(names, measure).map_err(|wrong| session.refuse_with(&wrong))?;
        let local = Local::start(setup, BTreeMap::new()).map_err(|wrong| session.refuse_with(&wrong))?;
        Ok(Box::new(local))
    }

    /// The measurements of one task, target and class of device.
    fn replayed(&self, path: &PathBuf, names: &Identity) -> Result<Replay, u8> {
        let all = load(self.session, std::slice::from_ref(path))?;
        let is_task = |record: &&Record| {
            let (a, b) = (&record.task, names);
            (&a.operator_hash, &a.schedule_hash, &a.sizes) == (&b.operator_hash, &b.schedule_hash, &b.sizes)
        };
        let fitting: Vec<Record> = all.iter().filter(is_task).cloned().collect();
        let Some(first) = fitting.first() else {
            let text = format!("no record of {} is of this operator, schedule and sizes", path.display());
            return Err(self.session.refuse_with(&Diagnostic::error("records", Location::None, text)));
        };
        let (device, target) = (first.device.clone(), first.task.target.clone());
        let of_first = |record: &Record| record.device == device && record.task.target == target;
        let fitting: Vec<Record> = fitting.into_iter().filter(of_first).collect();
        Ok(Replay::new(&device, &target, &fitting))
    }

    fn setup(&self, names: &Identity, measure: &MeasureArgs) -> Result<Setup, Diagnostic> {
        let failed = |text: String| Diagnostic::error("worker", Location::None, text);
        let program =
            std::env::current_exe().map_err(|error| failed(format!("tc-tune does not find itself: {error}")))?;
        let worker = |device: &str| {
            vec![program.display().to_string(), "worker".to_string(), "--device".to_string(), device.to_string()]
        };
        let mut commands: Vec<Vec<String>> = measure
            .devices
            .iter()
            .filter_map(|device| match device {
                DeviceName::Cuda(ordinal) => Some(worker(&format!("cuda:{ordinal}"))),
                DeviceName::Replay(_) => None,
            })
            .collect();
        if !measure.workers.is_empty() {
            let words = |command: &String| command.split_whitespace().map(str::to_string).collect();
            commands = measure.workers.iter().map(words).collect();
        }
        let cache = measure.cache.clone().unwrap_or_else(|| std::env::temp_dir().join("tc-tune-cache"));
        std::fs::create_dir_all(&cache)
            .map_err(|error| failed(format!("the folder {} cannot be made: {error}", cache.display())))?;
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let n_compile = measure.compilers.map_or(cores, |n| n as usize);
        Ok(Setup {
            compile: vec![worker("none"); if measure.workers.is_empty() { n_compile } else { 0 }],
            measure: commands,
            open: Open {
                file: self.file.clone(),
                text: self.text.clone(),
                func: names.operator.clone(),
                schedule: names.schedule.clone(),
                defines: self.args.task.defines.iter().cloned().collect(),
                target: self.args.task.target.clone().unwrap_or_default(),
                seed: self.args.search.seed,
                cache: Some(cache),
                cuda: None,
                bench: Bench {
                    repeat: measure.repeat as usize,
                    min_sample_us: measure.min_time,
                    warm_up_ms: 20.0,
                    flush: measure.flush,
                    check: !measure.no_check,
                },
            },
            timeout: Duration::from_secs_f64(measure.timeout),
        })
    }
}

/// The task that the command line names.
fn choose<'t>(compiler: &'t Compiler, module: &'t tc::ir::Module, args: &TaskArgs) -> Result<Task<'t>, Diagnostic> {
    Task::choose(compiler, module, (args.func.as_deref(), args.schedule.as_deref()), args.defines.clone())
}
