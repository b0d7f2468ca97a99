//! Records of attempts: JSON lines, one attempt a line, which concatenation merges.

mod file;
mod start;

pub(crate) use file::{Appender, MAX_FILE, load, parse};
pub(crate) use start::{Start, distinct};

use crate::task::{Identity, Values};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The version of the format.
pub(crate) const VERSION: u32 = 1;

/// What the class of device begins with where times are the static estimate, and nothing was measured.
const MODEL: &str = "model of ";

/// The class of device of the estimates for the machine `name`.
pub(crate) fn model_of(name: &str) -> String {
    format!("{MODEL}{name}")
}

/// Are the times of this class of device estimates?
pub(crate) fn is_estimated(device: &str) -> bool {
    device.starts_with(MODEL)
}

/// What an attempt came to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, Debug)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Verdict {
    /// It was checked, and timed.
    Ok,
    /// The compiler refused it.
    Rejected,
    /// It computes something else than the operator.
    Wrong,
    /// It did not end in time.
    Hung,
    /// It broke the device's context, or its worker.
    Faulted,
    /// The GPU was too hot, or its clock did not rise, whenever it was timed: that says nothing of the point.
    #[serde(rename = "invalid clock")]
    InvalidClock,
}

impl Verdict {
    /// The name in records and tables.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Verdict::Ok => "ok",
            Verdict::Rejected => "rejected",
            Verdict::Wrong => "wrong",
            Verdict::Hung => "hung",
            Verdict::Faulted => "faulted",
            Verdict::InvalidClock => "invalid clock",
        }
    }
}

/// A time: the median of samples and its 95 % confidence interval, in microseconds.
#[derive(Clone, Copy, PartialEq, Serialize, Deserialize, Debug)]
pub(crate) struct Time {
    pub(crate) median: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// Samples.
    pub(crate) n: usize,
}

/// The clocks under which a point was timed, as NVML tells them: medians of what was read around the samples.
#[derive(Clone, PartialEq, Serialize, Deserialize, Debug)]
pub(crate) struct Clocks {
    /// What times compare within, besides the class of device: `ok`, `power cap`; `idle clock` and `thermal` do not count.
    pub(crate) class: String,
    /// The clock of the multiprocessors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) sm_mhz: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) memory_mhz: Option<u32>,
    /// The power at the instants of the readings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) power_w: Option<f64>,
    /// What held the clocks down at any time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) reasons: Vec<String>,
}

impl Clocks {
    pub(crate) fn of(clocks: &tc::runtime::Clocks) -> Clocks {
        Clocks {
            class: clocks.class.name().to_string(),
            sm_mhz: clocks.sm_mhz,
            memory_mhz: clocks.memory_mhz,
            power_w: clocks.power_w,
            reasons: clocks.reasons().into_iter().map(str::to_string).collect(),
        }
    }
}

/// What came of a point.
#[derive(Clone, PartialEq, Serialize, Deserialize, Debug)]
pub(crate) struct Result {
    pub(crate) verdict: Verdict,
    /// The diagnostic code, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
    /// What is wrong, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) time_us: Option<Time>,
    /// The clocks of the time, where they could be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) clocks: Option<Box<Clocks>>,
    /// The hash of the emitted code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) code: Option<String>,
    /// Registers of a thread, by kernel in launch order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) registers: Vec<u64>,
    /// Which device it was, with its host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) device_id: Option<String>,
    /// Milliseconds since 1970 at which the device was taken and left, by the clock of its host; by the tuner's where the
    /// worker ended before it could tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) device_ms: Option<(u64, u64)>,
    /// The same of the core that compiled it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) compile_ms: Option<(u64, u64)>,
}

impl Result {
    /// A result of a point that is right, without its time.
    pub(crate) fn ok() -> Result {
        Result {
            verdict: Verdict::Ok,
            reason: None,
            message: None,
            time_us: None,
            clocks: None,
            code: None,
            registers: Vec::new(),
            device_id: None,
            device_ms: None,
            compile_ms: None,
        }
    }

    /// A result without a time.
    pub(crate) fn failed(verdict: Verdict, reason: &str, message: &str) -> Result {
        Result { verdict, reason: Some(reason.to_string()), message: Some(message.to_string()), ..Result::ok() }
    }

    /// What is known of another point with the same code, for which no device was taken.
    pub(crate) fn without_device(&self) -> Result {
        Result { device_id: None, device_ms: None, compile_ms: None, ..self.clone() }
    }

    /// The time in microseconds, of a point that is right.
    pub(crate) fn median(&self) -> Option<f64> {
        self.time_us.filter(|_| self.verdict == Verdict::Ok).map(|time| time.median)
    }

    /// The class of the clocks, where they could be read.
    pub(crate) fn class(&self) -> Option<&str> {
        self.clocks.as_ref().map(|clocks| clocks.class.as_str())
    }
}

/// By point, the first result. One whose clock was invalid gives way to a later one.
pub(crate) fn by_point<'r>(
    results: impl IntoIterator<Item = (&'r Values, &'r Result)>,
) -> BTreeMap<&'r Values, &'r Result> {
    let mut by_point = BTreeMap::new();
    for (point, result) in results {
        let first = by_point.entry(point).or_insert(result);
        if first.verdict == Verdict::InvalidClock {
            *first = result;
        }
    }
    by_point
}

/// How a trial came about.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub(crate) struct Trial {
    /// Its number, from 0.
    pub(crate) nth: usize,
    /// The number of its batch, from 0.
    pub(crate) batch: usize,
    /// The attempt, from 0: another follows where the clock was invalid.
    pub(crate) attempt: u32,
    pub(crate) searcher: String,
    pub(crate) seed: u64,
    /// The budget of the search.
    pub(crate) trials: usize,
    /// Points in a batch.
    pub(crate) batch_size: usize,
    /// The time of each point of a space of so many was estimated first.
    #[serde(default)]
    pub(crate) estimate: usize,
    /// The results that the search started from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) start: Option<Start>,
}

/// An attempt.
#[derive(Clone, PartialEq, Serialize, Deserialize, Debug)]
pub(crate) struct Record {
    /// The version of the format.
    #[serde(rename = "tc-tune")]
    pub(crate) version: u32,
    #[serde(flatten)]
    pub(crate) task: Identity,
    /// What measured it: the class of device.
    pub(crate) device: String,
    /// The version of tc.
    pub(crate) compiler: String,
    pub(crate) point: Values,
    pub(crate) trial: Trial,
    #[serde(flatten)]
    pub(crate) result: Result,
    /// Another file recorded it first: it is a result that a search here starts from, and none that it chose.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) copied: bool,
}

impl Record {
    /// The line of the file that recorded it first: what an attempt is known by.
    pub(crate) fn original(&self) -> String {
        Record { copied: false, ..self.clone() }.line()
    }

    /// A line of the file.
    pub(crate) fn line(&self) -> String {
        // Strings, numbers and maps with names for keys: that cannot fail.
        serde_json::to_string(self).unwrap_or_default() + "\n"
    }
}
