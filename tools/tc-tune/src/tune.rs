//! The search: asks for points, has them measured, records what comes of them.

use crate::executor::{Executor, Job, Report};
use crate::outside::Proposer;
use crate::records::{self, Appender, Record, Start, Trial, Verdict};
use crate::task::{Identity, Values};
use crate::worker::protocol::Ticket;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use tc::support::Diagnostic;
use tc_search::{Batch, Budget, Next, Pool, Search};

/// How long is waited for an answer before the clock and the interrupt are looked at.
const WAIT: Duration = Duration::from_millis(200);

/// What is searched, and how.
pub(crate) struct Tuner<'t> {
    pub(crate) identity: Identity,
    pub(crate) pool: &'t Pool,
    pub(crate) proposer: Proposer,
    pub(crate) seed: u64,
    /// Points up to which the time of each was estimated.
    pub(crate) estimate: usize,
    pub(crate) budget: Budget,
    pub(crate) time: Option<Duration>,
    /// Earlier results of this task on this class of device, by point.
    pub(crate) known: BTreeMap<Values, records::Result>,
    /// Results that the search starts from.
    pub(crate) warm_start: Vec<(Values, records::Result)>,
    /// What its trials call these.
    pub(crate) start: Option<Start>,
    /// The trials of searches that the file holds to which records go.
    pub(crate) recorded: Vec<Record>,
}

/// What a search came to.
pub(crate) struct Outcome {
    /// What came of each trial, in the order in which they were chosen.
    pub(crate) trials: Vec<(Values, records::Result)>,
    /// The results that it started from.
    pub(crate) start: Vec<(Values, records::Result)>,
    /// Why it ended before its budget was spent.
    pub(crate) ended: Option<Ended>,
}

/// Why a search ended early.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ended {
    /// Its time is up.
    Time,
    /// The user ended it.
    Interrupted,
}

/// What a search tells while it goes on.
pub(crate) struct Progress<'p> {
    pub(crate) trials: usize,
    pub(crate) of: usize,
    pub(crate) best: Option<f64>,
    pub(crate) last: &'p records::Result,
    pub(crate) elapsed: Duration,
}

/// What a search is run with.
pub(crate) struct With<'w> {
    pub(crate) executor: &'w mut dyn Executor,
    pub(crate) appender: Option<Appender>,
    pub(crate) progress: &'w mut dyn FnMut(&Progress<'_>),
    pub(crate) is_interrupted: &'w dyn Fn() -> bool,
}

/// The values of a point of `pool` by name.
pub(crate) fn values(pool: &Pool, point: usize) -> Values {
    pool.knobs().iter().map(|knob| knob.name.clone()).zip(pool.point(point).iter().copied()).collect()
}

/// The number of the point with these values.
pub(crate) fn find(pool: &Pool, values: &Values) -> Option<usize> {
    let point: Option<Vec<i64>> = pool.knobs().iter().map(|knob| values.get(&knob.name).copied()).collect();
    pool.find(&point?)
}

/// A search that goes on.
struct Running<'r, 't> {
    tuner: &'r Tuner<'t>,
    with: With<'r>,
    search: Search<'t>,
    start: Instant,
    /// By trial: the point, and what came of it.
    trials: Vec<(usize, Option<records::Result>)>,
    batches: Vec<Batch>,
    answered: usize,
    best: Option<f64>,
}

impl Tuner<'_> {
    /// Searches until the budget is spent.
    pub(crate) fn run<'r>(&'r self, with: With<'r>) -> Result<Outcome, Diagnostic> {
        let mut search = Search::new(self.pool, self.proposer.searcher(self.seed), self.budget);
        let warm =
            self.warm_start.iter().filter_map(|(point, result)| Some((find(self.pool, point)?, result.median())));
        search.warm_start(warm);
        let running = Running {
            tuner: self,
            with,
            search,
            start: Instant::now(),
            trials: Vec::new(),
            batches: Vec::new(),
            answered: 0,
            best: None,
        };
        running.run()
    }

    /// What a trial is recorded as.
    pub(crate) fn trial(&self, nth: usize, batch: usize) -> Trial {
        Trial {
            nth,
            batch,
            attempt: 0,
            searcher: self.proposer.name().to_string(),
            seed: self.seed,
            trials: self.budget.trials,
            batch_size: self.budget.batch,
            estimate: self.estimate,
            start: self.start.clone(),
        }
    }

    /// `trial` as it is recorded for `point`; nothing where it is recorded already with a result that counts.
    fn to_record(&self, trial: Trial, point: &Values) -> Option<Trial> {
        let is_same = |record: &&Record| {
            record.trial.nth == trial.nth
                && record.point == *point
                && Trial { attempt: trial.attempt, ..record.trial.clone() } == trial
        };
        let mut attempt = 0;
        for record in self.recorded.iter().filter(is_same) {
            if record.result.verdict != Verdict::InvalidClock {
                return None;
            }
            attempt += 1;
        }
        Some(Trial { attempt, ..trial })
    }
}

impl Running<'_, '_> {
    fn run(mut self) -> Result<Outcome, Diagnostic> {
        let mut ended = None;
        loop {
            if ended.is_none() {
                ended = self.ends();
                if ended.is_some() {
                    self.search.stop();
                }
            }
            if ended == Some(Ended::Interrupted) {
                break;
            }
            match self.search.ask() {
                Next::Batch(batch) => self.start_batch(batch)?,
                Next::Wait => {
                    if let Some(report) = self.with.executor.poll(WAIT)? {
                        self.take(report)?;
                    }
                }
                Next::Done => break,
            }
        }
        let trials = self.trials.into_iter();
        let pool = self.tuner.pool;
        let trials = trials.filter_map(|(point, result)| Some((values(pool, point), result?))).collect();
        Ok(Outcome { trials, start: self.tuner.warm_start.clone(), ended })
    }

    fn ends(&self) -> Option<Ended> {
        if (self.with.is_interrupted)() {
            return Some(Ended::Interrupted);
        }
        self.tuner.time.is_some_and(|time| self.start.elapsed() >= time).then_some(Ended::Time)
    }

    /// Has the points of a batch measured whose results are not known.
    fn start_batch(&mut self, batch: Batch) -> Result<(), Diagnostic> {
        self.trials.extend(batch.points.iter().map(|&point| (point, None)));
        let trials = batch.first_trial..;
        let points: Vec<(usize, usize)> = trials.zip(batch.points.iter().copied()).collect();
        self.batches.push(batch);
        for (trial, point) in points {
            let ticket = Ticket { id: trial as u64, attempt: 0 };
            let point = values(self.tuner.pool, point);
            match self.tuner.known.get(&point) {
                Some(result) => self.take(Report { ticket, result: result.clone() })?,
                None => self.with.executor.submit(Job { ticket, point, again: false }),
            }
        }
        Ok(())
    }

    /// Records what came of a trial, and then tells the search.
    fn take(&mut self, report: Report) -> Result<(), Diagnostic> {
        let nth = usize::try_from(report.ticket.id).unwrap_or(usize::MAX);
        let Some((point, slot)) = self.trials.get_mut(nth) else { return Ok(()) };
        if slot.is_some() {
            return Ok(());
        }
        let point = *point;
        *slot = Some(report.result.clone());
        let batch = self.batches.partition_point(|batch| batch.first_trial <= nth) - 1;
        let values = values(self.tuner.pool, point);
        if let Some(appender) = &mut self.with.appender
            && let Some(trial) = self.tuner.to_record(self.tuner.trial(nth, batch), &values)
        {
            appender.append(&Record {
                version: records::VERSION,
                task: self.tuner.identity.clone(),
                device: self.with.executor.device().to_string(),
                compiler: env!("CARGO_PKG_VERSION").to_string(),
                point: values,
                trial,
                result: report.result.clone(),
                copied: false,
            })?;
        }
        self.search.tell(point, report.result.median());
        self.answered += 1;
        self.best = report.result.median().into_iter().chain(self.best).reduce(f64::min);
        (self.with.progress)(&Progress {
            trials: self.answered,
            of: self.tuner.budget.trials.min(self.tuner.pool.len()),
            best: self.best,
            last: &report.result,
            elapsed: self.start.elapsed(),
        });
        Ok(())
    }
}
