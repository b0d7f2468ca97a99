//! What measures points: recorded measurements, the static estimate, processes on this machine, machines elsewhere.

mod local;
mod model;
mod process;
mod replay;

pub(crate) use local::{Local, Setup};
pub(crate) use model::Model;
pub(crate) use replay::Replay;

use crate::records;
use crate::task::Values;
use crate::worker::protocol::Ticket;
use std::time::Duration;
use tc::support::Diagnostic;

/// A point to measure.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Job {
    pub(crate) ticket: Ticket,
    pub(crate) point: Values,
    /// Is it measured again, though what came of it is known? One device measures all such jobs, so that they compare.
    pub(crate) again: bool,
}

/// What came of a job.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Report {
    pub(crate) ticket: Ticket,
    pub(crate) result: records::Result,
}

/// Measures points, in whatever order.
pub(crate) trait Executor {
    /// The class of its devices: times of one class compare.
    fn device(&self) -> &str;

    /// The target that code is made for, where the devices tell.
    fn target(&self) -> Option<String>;

    /// Takes a job; each is answered once.
    fn submit(&mut self, job: Job);

    /// The next answer, waiting so long for it; an error says that nothing can be measured any more.
    fn poll(&mut self, wait: Duration) -> Result<Option<Report>, Diagnostic>;
}
