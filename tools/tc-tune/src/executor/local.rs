//! Worker processes: some that compile, on any core, and one for each device, which checks and times.
//!
//! A point is compiled first; if its code was measured before, under whatever point, that result is its own. A worker that
//! takes too long is killed, one that dies is replaced, and what it worked on gets its verdict; where the device went and
//! not the worker, another one is asked.

use super::process::{Heard, Process, Said};
use super::{Executor, Job, Report};
use crate::records::{self, Verdict};
use crate::worker::now_ms;
use crate::worker::protocol::{DeviceInfo, LOST, Open, Reply, Request, Ticket};
use std::collections::{BTreeMap, VecDeque};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};
use tc::support::{Diagnostic, Location};

/// The worker whose device measures all that is measured again. The final times are compared with one another, and two GPUs
/// of one class may differ by more than these do.
const JUDGE: usize = 0;
/// A worker may fail to start so many times in a row.
const STARTS: u32 = 3;
/// So many devices may be lost with one point: it may be what ends them.
const LOSSES: u32 = 5;
/// How long a worker may take to start: opening a GPU takes seconds.
const START: Duration = Duration::from_secs(60);

/// How workers are started and what they work on.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    /// The command of each worker that compiles; none where the workers of the devices do.
    pub(crate) compile: Vec<Vec<String>>,
    /// The command of the worker of each device.
    pub(crate) measure: Vec<Vec<String>>,
    /// What is measured; the target and the CUDA version are those of the devices.
    pub(crate) open: Open,
    /// How long one point may take to compile, and how long to measure.
    pub(crate) timeout: Duration,
}

/// What a worker does now.
enum State {
    /// It starts.
    Starting(Instant),
    Idle,
    Busy(Job, Instant),
}

struct Worker {
    command: Vec<String>,
    process: Option<Process>,
    generation: u32,
    state: State,
    measures: bool,
    /// Which device it has.
    device_id: Option<String>,
    /// Starts in a row that failed.
    failures: u32,
}

/// Worker processes on this machine, or behind commands that reach others.
pub(crate) struct Local {
    setup: Setup,
    device: Option<DeviceInfo>,
    /// What times compare within.
    class: String,
    workers: Vec<Worker>,
    heard: Receiver<Heard>,
    say: Sender<Heard>,
    to_compile: VecDeque<Job>,
    to_measure: VecDeque<Job>,
    /// What is measured again.
    to_repeat: VecDeque<Job>,
    answers: VecDeque<Report>,
    /// What came of code that was measured.
    by_code: BTreeMap<String, records::Result>,
    /// The code of points that are being measured, and the points that wait for what comes of it.
    waiting: BTreeMap<String, Vec<Ticket>>,
    codes: BTreeMap<Ticket, String>,
    /// When points were compiled.
    compiled_ms: BTreeMap<Ticket, (u64, u64)>,
    /// How often a device was lost with a point.
    losses: BTreeMap<Ticket, u32>,
}

impl Local {
    /// Starts the workers of the devices first, for they say what is compiled for.
    pub(crate) fn start(setup: Setup, known: BTreeMap<String, records::Result>) -> Result<Local, Diagnostic> {
        let (say, heard) = channel();
        let mut local = Local {
            device: None,
            class: String::new(),
            workers: Vec::new(),
            heard,
            say,
            to_compile: VecDeque::new(),
            to_measure: VecDeque::new(),
            to_repeat: VecDeque::new(),
            answers: VecDeque::new(),
            by_code: known,
            waiting: BTreeMap::new(),
            codes: BTreeMap::new(),
            compiled_ms: BTreeMap::new(),
            losses: BTreeMap::new(),
            setup,
        };
        for command in local.setup.measure.clone() {
            local.add(command, true)?;
        }
        while local.device.is_none() {
            local.step(Duration::from_millis(100))?;
        }
        for command in local.setup.compile.clone() {
            local.add(command, false)?;
        }
        Ok(local)
    }

    fn add(&mut self, command: Vec<String>, measures: bool) -> Result<(), Diagnostic> {
        let state = State::Starting(Instant::now());
        let (process, device_id) = (None, None);
        self.workers.push(Worker { command, process, generation: 0, state, measures, device_id, failures: 0 });
        self.launch(self.workers.len() - 1)
    }

    /// Starts the process of a worker, anew where there was one.
    fn launch(&mut self, number: usize) -> Result<(), Diagnostic> {
        let worker = &mut self.workers[number];
        worker.generation += 1;
        worker.state = State::Starting(Instant::now());
        // The old process goes before the new one takes its device.
        worker.process = None;
        let started = Process::start(&worker.command, (number, worker.generation), self.say.clone());
        let process = started.map_err(|error| {
            let text = format!("the worker `{}` cannot be started: {error}", worker.command.join(" "));
            Diagnostic::error("worker", Location::None, text)
        })?;
        worker.process = Some(process);
        Ok(())
    }

    /// Hands jobs to workers that are idle.
    fn dispatch(&mut self) {
        for (number, worker) in self.workers.iter_mut().enumerate() {
            if !matches!(worker.state, State::Idle) {
                continue;
            }
            let queue = match worker.measures {
                true if number == JUDGE && !self.to_repeat.is_empty() => &mut self.to_repeat,
                true => &mut self.to_measure,
                false => &mut self.to_compile,
            };
            let (Some(process), Some(job)) = (&mut worker.process, queue.pop_front()) else { continue };
            let (ticket, point) = (job.ticket, job.point.clone());
            process.send(&match worker.measures {
                true => Request::Measure { ticket, point },
                false => Request::Compile { ticket, point },
            });
            worker.state = State::Busy(job, Instant::now());
        }
    }

    /// Hears one thing, or sees that a worker takes too long.
    fn step(&mut self, wait: Duration) -> Result<(), Diagnostic> {
        self.dispatch();
        match self.heard.recv_timeout(wait) {
            Ok((number, generation, said)) if self.workers[number].generation == generation => {
                self.hear(number, said)?
            }
            Ok(_) | Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
        }
        for number in 0..self.workers.len() {
            let late = |since: &Instant, limit: Duration| since.elapsed() > limit;
            match &self.workers[number].state {
                State::Busy(_, since) if late(since, self.setup.timeout) => {
                    let limit = self.setup.timeout.as_secs_f64();
                    self.lose(number, Verdict::Hung, &format!("it took more than {limit} s"))?;
                }
                State::Starting(since) if late(since, START) => {
                    self.lose(number, Verdict::Faulted, "it did not start")?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn hear(&mut self, number: usize, said: Said) -> Result<(), Diagnostic> {
        match said {
            Said::Hello(hello) => {
                if self.workers[number].measures {
                    self.meet(number, hello.device)?;
                }
                let mut open = self.setup.open.clone();
                if let Some(device) = &self.device {
                    open.cuda = open.cuda.or(device.cuda);
                    if open.target.is_empty() {
                        open.target.clone_from(&device.target);
                    }
                }
                if let Some(process) = &mut self.workers[number].process {
                    process.send(&Request::Open(Box::new(open)));
                }
            }
            Said::Reply(Reply::Opened) => {
                self.workers[number].state = State::Idle;
            }
            Said::Reply(Reply::Done { ticket, result }) => self.done(number, ticket, *result),
            Said::Reply(Reply::Refused { message }) => {
                let text = format!("the worker `{}` refuses: {message}", self.workers[number].command.join(" "));
                return Err(Diagnostic::error("worker", Location::None, text));
            }
            Said::Rubbish(text) => {
                let what = format!("the worker answered with what is no answer: {text}");
                self.lose(number, Verdict::Faulted, &what)?;
            }
            Said::Ended => {
                let status = self.workers[number].process.as_mut().and_then(Process::end);
                if status.is_some_and(is_lost) {
                    return self.put_again(number);
                }
                let how = status.map_or("it is lost".to_string(), |status| status.to_string());
                self.lose(number, Verdict::Faulted, &format!("the worker ended: {how}"))?;
            }
        }
        Ok(())
    }

    /// Only devices of one class are compared.
    fn meet(&mut self, number: usize, device: Option<DeviceInfo>) -> Result<(), Diagnostic> {
        let refuse = |text: String| Err(Diagnostic::error("worker", Location::None, text));
        let command = self.workers[number].command.join(" ");
        let Some(device) = device else { return refuse(format!("the worker `{command}` has no device")) };
        match &self.device {
            Some(first) if first.class != device.class => refuse(format!(
                "the devices differ, and times of one do not compare with those of the other: {} and {}",
                first.class, device.class
            )),
            _ => {
                self.class = self.setup.open.bench.class(&device.class);
                self.workers[number].device_id.clone_from(&device.id);
                self.device = Some(device);
                Ok(())
            }
        }
    }

    fn done(&mut self, number: usize, ticket: Ticket, result: records::Result) {
        let worker = &mut self.workers[number];
        let State::Busy(job, _) = &worker.state else { return };
        if job.ticket != ticket {
            return;
        }
        let job = job.clone();
        worker.state = State::Idle;
        worker.failures = 0;
        if worker.measures {
            let device_id = worker.device_id.clone();
            self.measured(ticket, records::Result { device_id, ..result });
        } else {
            self.compiled(job, result);
        }
    }

    /// Tells what came of a point, and when it was compiled.
    fn answer(&mut self, ticket: Ticket, result: records::Result) {
        let compile_ms = self.compiled_ms.remove(&ticket).or(result.compile_ms);
        self.answers.push_back(Report { ticket, result: records::Result { compile_ms, ..result } });
    }

    fn compiled(&mut self, job: Job, result: records::Result) {
        if let Some(when) = result.compile_ms {
            self.compiled_ms.insert(job.ticket, when);
        }
        let Some(code) = result.code.clone().filter(|_| result.verdict == Verdict::Ok) else {
            self.answer(job.ticket, result);
            return;
        };
        if let Some(known) = self.by_code.get(&code) {
            let known = known.clone();
            self.answer(job.ticket, known);
        } else if let Some(waiting) = self.waiting.get_mut(&code) {
            waiting.push(job.ticket);
        } else {
            self.waiting.insert(code.clone(), Vec::new());
            self.codes.insert(job.ticket, code);
            self.to_measure.push_back(job);
        }
    }

    fn measured(&mut self, ticket: Ticket, mut result: records::Result) {
        let code = self.codes.remove(&ticket);
        if code.is_some() {
            result.code.clone_from(&code);
        }
        self.answer(ticket, result.clone());
        let Some(code) = code else { return };
        for other in self.waiting.remove(&code).unwrap_or_default() {
            // The device was taken once.
            self.answer(other, result.without_device());
        }
        // What an invalid clock says of the code is nothing.
        if result.verdict != Verdict::InvalidClock {
            self.by_code.insert(code, result.without_device());
        }
    }

    /// Starts a worker anew whose device is gone, and puts what it worked on again.
    fn put_again(&mut self, number: usize) -> Result<(), Diagnostic> {
        let worker = &mut self.workers[number];
        if let State::Busy(job, _) = &worker.state {
            let losses = self.losses.entry(job.ticket).or_default();
            *losses += 1;
            if *losses == LOSSES {
                return self.lose(number, Verdict::Faulted, &format!("its device was lost {LOSSES} times"));
            }
            let queue = match (worker.measures, job.again) {
                (true, true) => &mut self.to_repeat,
                (true, false) => &mut self.to_measure,
                (false, _) => &mut self.to_compile,
            };
            queue.push_front(job.clone());
        }
        self.launch(number)
    }

    /// Gives what a worker works on its verdict, and starts the worker anew.
    fn lose(&mut self, number: usize, verdict: Verdict, message: &str) -> Result<(), Diagnostic> {
        let worker = &mut self.workers[number];
        let measures = worker.measures;
        match std::mem::replace(&mut worker.state, State::Idle) {
            State::Busy(job, since) => {
                let mut result = records::Result::failed(verdict, verdict.name(), message);
                if measures {
                    let (elapsed, now) = (since.elapsed().as_millis(), now_ms());
                    result.device_id.clone_from(&worker.device_id);
                    result.device_ms = Some((now.saturating_sub(u64::try_from(elapsed).unwrap_or(0)), now));
                    self.measured(job.ticket, result);
                } else {
                    self.answer(job.ticket, result);
                }
            }
            State::Starting(_) => {
                worker.failures += 1;
                if worker.failures >= STARTS {
                    let text = format!("the worker `{}` does not start: {message}", worker.command.join(" "));
                    return Err(Diagnostic::error("worker", Location::None, text));
                }
            }
            State::Idle => {}
        }
        self.launch(number)
    }
}

impl Executor for Local {
    fn device(&self) -> &str {
        &self.class
    }

    fn target(&self) -> Option<String> {
        self.device.as_ref().map(|device| device.target.clone())
    }

    fn submit(&mut self, job: Job) {
        let queue = match (job.again, self.setup.compile.is_empty()) {
            (true, _) => &mut self.to_repeat,
            (false, true) => &mut self.to_measure,
            (false, false) => &mut self.to_compile,
        };
        queue.push_back(job);
    }

    fn poll(&mut self, wait: Duration) -> Result<Option<Report>, Diagnostic> {
        let until = Instant::now() + wait;
        loop {
            if let Some(report) = self.answers.pop_front() {
                return Ok(Some(report));
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            self.step(left.min(Duration::from_millis(50)))?;
        }
    }
}

/// Did the worker go for reasons that are not its point's? Nothing that a kernel does sends SIGTERM; a batch system that ends a job
/// does, to its processes in any order.
fn is_lost(status: ExitStatus) -> bool {
    const SIGTERM: i32 = 15;
    status.code() == Some(LOST) || status.signal() == Some(SIGTERM)
}
