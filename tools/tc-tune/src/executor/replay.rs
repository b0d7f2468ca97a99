//! Recorded measurements in the place of a device.

use super::{Executor, Job, Report};
use crate::records::{self, Record, Verdict};
use crate::task::Values;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;
use tc::support::Diagnostic;

/// Answers from records, at once and in order.
pub(crate) struct Replay {
    device: String,
    target: String,
    results: BTreeMap<Values, records::Result>,
    answers: VecDeque<Report>,
}

impl Replay {
    /// Answers from `records`, which are of one task and one class of device; the first of a point counts.
    pub(crate) fn new(device: &str, target: &str, records: &[Record]) -> Replay {
        let results = records::by_point(records.iter().map(|record| (&record.point, &record.result)));
        let results = results.into_iter().map(|(point, result)| (point.clone(), result.clone())).collect();
        Replay { device: device.to_string(), target: target.to_string(), results, answers: VecDeque::new() }
    }
}

impl Executor for Replay {
    fn device(&self) -> &str {
        &self.device
    }

    fn target(&self) -> Option<String> {
        Some(self.target.clone())
    }

    fn submit(&mut self, job: Job) {
        let result = self.results.get(&job.point).cloned();
        let result = result.unwrap_or_else(|| {
            records::Result::failed(Verdict::Rejected, "not-recorded", "the record that is replayed lacks the point")
        });
        self.answers.push_back(Report { ticket: job.ticket, result });
    }

    fn poll(&mut self, _: Duration) -> Result<Option<Report>, Diagnostic> {
        Ok(self.answers.pop_front())
    }
}
