//! The threads that work. Each lane has one, and works in the order in which requests come; what the client gave up is
//! skipped, and of background work on one text only the latest is kept.

use crate::capability::{Cx, Lane, Method, Refusal};
use crate::documents::World;
use crate::server::{Event, Outbox};
use lsp_server::{ErrorCode, RequestId};
use serde_json::Value;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use tc::support::Cancel;

/// So many requests may wait in a lane.
const MAX_WAITING: usize = 1000;

/// A request.
pub(crate) struct Ask {
    pub(crate) id: RequestId,
    pub(crate) method: &'static Method,
    pub(crate) params: Value,
    pub(crate) world: World,
    pub(crate) cancel: Cancel,
    pub(crate) outbox: Outbox,
}

/// Work that answers no request.
type Background = Box<dyn FnOnce() + Send>;

enum Work {
    Answer(Box<Ask>),
    /// With what it is about.
    Background(String, Background),
}

#[derive(Default)]
struct Queue {
    work: VecDeque<Work>,
    is_stopped: bool,
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next piece of work; nothing when all is over.
    fn next(&self) -> Option<Work> {
        let mut queue = self.lock();
        loop {
            if queue.is_stopped {
                return None;
            }
            if let Some(work) = queue.work.pop_front() {
                return Some(work);
            }
            queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// The lanes.
pub(crate) struct Lanes {
    all: Vec<Arc<Shared>>,
}

impl Lanes {
    /// Starts their threads. A lane whose thread does not start refuses its work.
    pub(crate) fn start() -> Lanes {
        let mut all = Vec::new();
        for lane in Lane::ALL {
            let shared = Arc::new(Shared::default());
            let of_thread = shared.clone();
            let builder = std::thread::Builder::new().name(format!("tc-lsp {lane:?}"));
            if builder.spawn(move || work(&of_thread)).is_err() {
                shared.lock().is_stopped = true;
            }
            all.push(shared);
        }
        Lanes { all }
    }

    fn of(&self, lane: Lane) -> &Shared {
        let nth = Lane::ALL.iter().position(|other| *other == lane).unwrap_or(0);
        &self.all[nth]
    }

    /// Lets a request wait for its turn.
    pub(crate) fn answer(&self, ask: Ask) -> Result<(), Refusal> {
        let lane = self.of(ask.method.lane);
        let mut queue = lane.lock();
        queue.work.retain(|work| !matches!(work, Work::Answer(ask) if ask.cancel.is_cancelled()));
        if queue.work.len() >= MAX_WAITING || queue.is_stopped {
            let message = "too many requests wait".to_string();
            return Err(Refusal { code: ErrorCode::ServerCancelled, message });
        }
        queue.work.push_back(Work::Answer(Box::new(ask)));
        lane.changed.notify_one();
        Ok(())
    }

    /// Does `run` when the requests before it are answered, in the place of what waits about `key`.
    pub(crate) fn background(&self, lane: Lane, key: String, run: Background) {
        let lane = self.of(lane);
        let mut queue = lane.lock();
        queue.work.retain(|work| !matches!(work, Work::Background(other, _) if *other == key));
        queue.work.push_back(Work::Background(key, run));
        lane.changed.notify_one();
    }

    /// Lets the threads end. None is waited for: what they are at was cancelled, and what comes of it goes nowhere.
    pub(crate) fn stop(&self) {
        for shared in &self.all {
            shared.lock().is_stopped = true;
            shared.changed.notify_all();
        }
    }
}

fn work(shared: &Shared) {
    while let Some(work) = shared.next() {
        match work {
            // A panic was written to the log of the process, and the next one may fare better.
            Work::Background(_, run) => drop(catch_unwind(AssertUnwindSafe(run))),
            Work::Answer(ask) if ask.cancel.is_cancelled() => {}
            Work::Answer(ask) => answer(*ask),
        }
    }
}

fn answer(ask: Ask) {
    let Ask { id, method, params, world, cancel, outbox } = ask;
    let run = || (method.run)(&Cx { id: &id, world: &world, cancel: &cancel, outbox: &outbox }, params);
    let answer = catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| {
        let message = format!("the server failed at `{}`: this is a defect of it", method.name);
        Err(Refusal { code: ErrorCode::InternalError, message })
    });
    outbox.send(Event::Answer(id, answer));
}
