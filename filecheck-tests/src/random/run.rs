//! Many cases, on several threads, with an eye on those that do not end.

use super::Case;
use super::check::{Failure, settle};
use super::shrink::shrink;
use super::tally::Tally;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tc::Compiler;

/// The stack of a worker: parts of the compiler recurse over what may be deep.
const STACK: usize = 64 << 20;
/// A case that takes longer hangs. One takes far less than a second of a processor, but on a machine with other work to
/// do it may have to wait for that.
const MOST_TIME: Duration = Duration::from_secs(60);
/// Failures of one kind that are shrunk; the others are counted.
const SHRUNK_OF_A_KIND: u64 = 2;

/// Which cases.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
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
pub struct Failed {
    /// Its number.
    pub number: u64,
    /// What is wrong.
    pub failure: Failure,
    /// The case, as small as it could be made.
    pub case: Case,
}

/// What came of many cases.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// What they were made of.
    pub tally: Tally,
    /// The first failures of each kind.
    pub failed: Vec<Failed>,
    /// How many failures there were of each kind.
    pub kinds: BTreeMap<String, u64>,
}

struct Shared {
    compiler: Compiler,
    plan: Plan,
    next: AtomicU64,
    outcome: Mutex<Outcome>,
    tell: fn(&Failed),
}

/// What a worker is at: the number of a case, and since when. None while it shrinks, and at the end.
type At = Arc<Mutex<Option<(u64, Instant)>>>;

/// Runs the cases; `tell` hears of each failure that was shrunk.
pub fn run(plan: Plan, tell: fn(&Failed)) -> Outcome {
    let compiler = Compiler { threads: 1, ..Compiler::new() };
    let next = AtomicU64::new(plan.first);
    let shared = Arc::new(Shared { compiler, plan, next, outcome: Mutex::default(), tell });
    let mut workers: Vec<_> = (0..plan.jobs.max(1)).filter_map(|_| start(&shared)).collect();
    while !workers.is_empty() {
        std::thread::sleep(Duration::from_millis(20));
        for at in 0..workers.len() {
            let (_, is_at) = &workers[at];
            let late = locked(is_at).filter(|(_, since)| since.elapsed() > MOST_TIME);
            if let Some((number, _)) = late {
                hangs(&shared, number);
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

fn start(shared: &Arc<Shared>) -> Option<(std::thread::JoinHandle<()>, At)> {
    let at = At::default();
    let (shared, is_at) = (shared.clone(), at.clone());
    let work = move || worker(&shared, &is_at);
    Some((std::thread::Builder::new().stack_size(STACK).spawn(work).ok()?, at))
}

fn worker(shared: &Shared, at: &At) {
    loop {
        let number = shared.next.fetch_add(1, Ordering::Relaxed);
        if number >= shared.plan.first + shared.plan.count {
            return;
        }
        *locked(at) = Some((number, Instant::now()));
        let mut case = Case::new(&shared.compiler, shared.plan.seed, number);
        let mut tally = Tally::default();
        let ended = settle(&shared.compiler, &mut case, &mut tally);
        // Whoever was given up on is not heard any more.
        if locked(at).take().is_none_or(|(_, since)| since.elapsed() > MOST_TIME) {
            return;
        }
        locked(&shared.outcome).tally.add(&tally);
        if let Err(failure) = ended {
            failed(shared, number, case, failure);
        }
    }
}

fn failed(shared: &Shared, number: u64, mut case: Case, failure: Failure) {
    let n = {
        let mut outcome = locked(&shared.outcome);
        let n = outcome.kinds.entry(failure.key.clone()).or_default();
        *n += 1;
        *n
    };
    if n > SHRUNK_OF_A_KIND {
        return;
    }
    case = shrink(&shared.compiler, &case, &failure);
    let failed = Failed { number, failure, case };
    (shared.tell)(&failed);
    locked(&shared.outcome).failed.push(failed);
}

fn hangs(shared: &Shared, number: u64) {
    let case = Case::new(&shared.compiler, shared.plan.seed, number);
    let text = format!("case {number} runs for more than {} s", MOST_TIME.as_secs());
    let failed = Failed { number, failure: Failure { key: "hang".to_string(), text }, case };
    (shared.tell)(&failed);
    let mut outcome = locked(&shared.outcome);
    *outcome.kinds.entry("hang".to_string()).or_default() += 1;
    outcome.failed.push(failed);
}
