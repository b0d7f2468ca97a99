//! Many cases, on several threads, with an eye on those that do not end.

use super::check::Failure;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tc::Compiler;
use tc::support::workers::STACK;
use tc::target::Target;

/// A case whose thread takes more of a processor hangs: one takes far less than a second.
const MOST_TIME: Duration = Duration::from_secs(40);
/// And one that is not done after so long, on a machine with other work to do, waits for something.
const MOST_WAIT: Duration = Duration::from_secs(900);
/// Memory that all cases that run at a time may have together, in bytes. One takes some 100 MiB.
const MOST_MEMORY: u64 = 6 << 30;
/// Failures of one kind that are shrunk; the others are counted.
const SHRUNK_OF_A_KIND: u64 = 2;

/// A kind of random cases.
pub trait RandomCase: Clone + Send + 'static {
    /// What is counted over cases.
    type Tally: Counts;

    /// Case `number` of `seed`.
    fn draw(compiler: &Compiler, seed: u64, number: u64) -> Self;

    /// Runs it; what the compiler refuses leaves the case and is counted.
    fn settle(&mut self, compiler: &Compiler, tally: &mut Self::Tally) -> Result<(), Failure>;

    /// A case that fails as this one does, and from which nothing can be taken.
    fn shrunk(&self, compiler: &Compiler, failure: &Failure) -> Self;

    /// The file as one of the corpus: it says how it is run.
    fn corpus_text(&self, about: &str) -> String;

    /// The case as it was drawn, for people.
    fn shown(&self) -> String;
}

/// What is counted over cases.
pub trait Counts: Clone + Default + Display + Send + 'static {
    /// Adds what another one counted.
    fn add(&mut self, other: &Self);
}

/// Which cases.
#[derive(Clone, Copy, Debug)]
pub struct RandomRun {
    /// The seed of all.
    pub seed: u64,
    /// The number of the first.
    pub first: u64,
    /// How many.
    pub count: u64,
    /// How many run at a time.
    pub jobs: usize,
}

/// A case that failed.
#[derive(Clone, Debug)]
pub struct Failed<C> {
    /// Its number.
    pub number: u64,
    /// What is wrong.
    pub failure: Failure,
    /// The case, as small as it could be made.
    pub case: C,
}

/// What came of many cases.
#[derive(Clone, Debug)]
pub struct Outcome<C: RandomCase> {
    /// What they were made of.
    pub tally: C::Tally,
    /// The first failures of each kind.
    pub failed: Vec<Failed<C>>,
    /// How many failures there were of each kind.
    pub kinds: BTreeMap<String, u64>,
}

struct Shared<C: RandomCase> {
    compiler: Compiler,
    plan: RandomRun,
    next: AtomicU64,
    outcome: Mutex<Outcome<C>>,
    tell: fn(&Failed<C>),
}

/// What a worker is at. None while it shrinks, and at the end.
type At = Arc<Mutex<Option<Under>>>;

/// A running case.
#[derive(Clone, Debug)]
struct Under {
    number: u64,
    since: Instant,
    /// The file in which the system says what its thread takes, if it does, and what that was at the start.
    thread: Option<PathBuf>,
    taken: Duration,
}

impl Under {
    fn begin(number: u64) -> Under {
        let link = std::fs::read_link("/proc/thread-self").ok();
        let thread = link.map(|link| PathBuf::from("/proc").join(link).join("stat"));
        let taken = thread.as_deref().and_then(processor_time).unwrap_or_default();
        Under { number, since: Instant::now(), thread, taken }
    }

    fn is_late(&self) -> bool {
        let waited = self.since.elapsed();
        let taken = self.thread.as_deref().and_then(processor_time).map(|taken| taken.saturating_sub(self.taken));
        waited > MOST_WAIT || (waited > MOST_TIME && taken.unwrap_or(waited) > MOST_TIME)
    }
}

/// The time of a processor that a thread has had.
fn processor_time(stat: &Path) -> Option<Duration> {
    let text = std::fs::read_to_string(stat).ok()?;
    // What stands in brackets is a name, which may hold anything. Times are in hundredths of a second.
    let mut fields = text.rsplit_once(')')?.1.split_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<u64>().ok();
    Some(Duration::from_millis(10 * (ticks()? + ticks()?)))
}

/// Runs the cases; `tell` hears of each failure that was shrunk.
pub fn run<C: RandomCase>(plan: RandomRun, tell: fn(&Failed<C>)) -> Outcome<C> {
    // What schedules ask for is nowhere refused for want of it.
    let target = Target::parse("sm_90a").expect("one of the targets");
    let compiler = Compiler { threads: 1, target, ..Compiler::new() };
    let next = AtomicU64::new(plan.first);
    let outcome = Outcome { tally: C::Tally::default(), failed: Vec::new(), kinds: BTreeMap::new() };
    let shared = Arc::new(Shared { compiler, plan, next, outcome: Mutex::new(outcome), tell });
    let mut workers: Vec<_> = (0..plan.jobs.max(1)).filter_map(|_| start(&shared)).collect();
    while !workers.is_empty() {
        std::thread::sleep(Duration::from_millis(20));
        if resident().is_some_and(|bytes| bytes > MOST_MEMORY) {
            // Which case it is that takes all of it is not known: all that run are reported, and nothing is begun.
            shared.next.store(u64::MAX / 2, Ordering::Relaxed);
            let running = workers.iter().filter_map(|(_, at)| Some(locked(at).as_ref()?.number));
            running.for_each(|number| too_much(&shared, number, "memory", "needs too much memory, it or another one"));
            break;
        }
        for at in 0..workers.len() {
            let (_, is_at) = &workers[at];
            let late = locked(is_at).take_if(|at| at.is_late());
            if let Some(Under { number, .. }) = late {
                let text = format!("takes more than {} s of a processor", MOST_TIME.as_secs());
                too_much(&shared, number, "hang", &text);
                // The thread cannot be ended; another one takes its place.
                workers.extend(start(&shared));
                workers.remove(at);
                break;
            }
        }
        workers.retain(|(thread, _)| !thread.is_finished());
    }
    locked(&shared.outcome).clone()
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn start<C: RandomCase>(shared: &Arc<Shared<C>>) -> Option<(std::thread::JoinHandle<()>, At)> {
    let at = At::default();
    let (shared, is_at) = (shared.clone(), at.clone());
    let work = move || worker(&shared, &is_at);
    Some((std::thread::Builder::new().stack_size(STACK).spawn(work).ok()?, at))
}

/// The memory that the process has, in bytes; nothing where the system does not say.
fn resident() -> Option<u64> {
    let pages = std::fs::read_to_string("/proc/self/statm").ok()?;
    Some(pages.split_whitespace().nth(1)?.parse::<u64>().ok()? * 4096)
}

fn worker<C: RandomCase>(shared: &Shared<C>, at: &At) {
    loop {
        let number = shared.next.fetch_add(1, Ordering::Relaxed);
        if number >= shared.plan.first + shared.plan.count {
            return;
        }
        *locked(at) = Some(Under::begin(number));
        let mut case = C::draw(&shared.compiler, shared.plan.seed, number);
        let mut tally = C::Tally::default();
        let ended = case.settle(&shared.compiler, &mut tally);
        // Whoever was given up on is not heard any more.
        if locked(at).take().is_none() {
            return;
        }
        locked(&shared.outcome).tally.add(&tally);
        if let Err(failure) = ended {
            failed(shared, number, case, failure);
        }
    }
}

fn failed<C: RandomCase>(shared: &Shared<C>, number: u64, mut case: C, failure: Failure) {
    let n = {
        let mut outcome = locked(&shared.outcome);
        let n = outcome.kinds.entry(failure.key.clone()).or_default();
        *n += 1;
        *n
    };
    if n > SHRUNK_OF_A_KIND {
        return;
    }
    case = case.shrunk(&shared.compiler, &failure);
    let failed = Failed { number, failure, case };
    (shared.tell)(&failed);
    locked(&shared.outcome).failed.push(failed);
}

/// Case `number` takes too much of something.
fn too_much<C: RandomCase>(shared: &Shared<C>, number: u64, kind: &str, text: &str) {
    let case = C::draw(&shared.compiler, shared.plan.seed, number);
    let text = format!("case {number} {text}");
    let failed = Failed { number, failure: Failure { key: kind.to_string(), text }, case };
    (shared.tell)(&failed);
    let mut outcome = locked(&shared.outcome);
    *outcome.kinds.entry(kind.to_string()).or_default() += 1;
    outcome.failed.push(failed);
}
