//! What the tuner and its workers say to one another: JSON lines.
//!
//! The worker speaks first, and says its version and its device. Then it answers each request in the order in which it
//! came. A request and its answer bear the number of a point and of the attempt.
//!
//! A worker that ends while it has a request is the fault of the point, unless it ends with the status `LOST`.

use crate::records;
use crate::task::Values;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use tc::runtime::L2;

/// The version of the protocol.
pub(crate) const VERSION: u32 = 1;

/// The status that tells that no device is there any more, or yet: the worker is started again, and the request is put
/// again. It is `EX_TEMPFAIL` of `sysexits.h`.
pub(crate) const LOST: i32 = 75;

/// What a worker says first.
#[derive(Clone, PartialEq, Serialize, Deserialize, Debug)]
pub(crate) struct Hello {
    /// The version of the protocol.
    #[serde(rename = "tc-tune-worker")]
    pub(crate) version: u32,
    /// The version of tc.
    pub(crate) compiler: String,
    /// The device; a worker without one compiles.
    pub(crate) device: Option<DeviceInfo>,
}

/// A device as records know it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub(crate) struct DeviceInfo {
    /// What times are compared within: the model of the GPU and the driver's version.
    pub(crate) class: String,
    /// Which device it is, with its host: two workers with one name would share it.
    #[serde(default)]
    pub(crate) id: Option<String>,
    /// The target that code is made for.
    pub(crate) target: String,
    /// The newest CUDA version that the driver knows.
    pub(crate) cuda: Option<(u32, u32)>,
}

/// What is tuned, and how it is measured.
#[derive(Clone, PartialEq, Serialize, Deserialize, Debug)]
pub(crate) struct Open {
    /// The name of the file, for messages.
    pub(crate) file: String,
    pub(crate) text: String,
    pub(crate) func: String,
    pub(crate) schedule: String,
    pub(crate) defines: Values,
    pub(crate) target: String,
    /// Where inputs come from.
    pub(crate) seed: u64,
    /// The folder in which machine code is kept, by the hash of its source.
    pub(crate) cache: Option<PathBuf>,
    /// The newest CUDA version that machine code may be of.
    pub(crate) cuda: Option<(u32, u32)>,
    pub(crate) bench: Bench,
}

/// How points are timed.
#[derive(Clone, Copy, PartialEq, Serialize, Deserialize, Debug)]
pub(crate) struct Bench {
    /// Samples.
    pub(crate) repeat: usize,
    /// How wide the interval of the median may be, as a part of the median, before more samples are taken.
    #[serde(default)]
    pub(crate) interval: Option<f64>,
    /// The seconds that samples may take, where that is bounded.
    #[serde(default)]
    pub(crate) budget_s: Option<f64>,
    /// The least time of a sample, in microseconds.
    pub(crate) min_sample_us: f64,
    /// How long to run before the first sample, in milliseconds.
    pub(crate) warm_up_ms: f64,
    /// Is the second-level cache flushed before each launch?
    pub(crate) flush: bool,
    /// Does each launch take another copy of its buffers?
    #[serde(default)]
    pub(crate) rotate: bool,
    /// Are values compared with the definition before anything is timed?
    pub(crate) check: bool,
}

impl Bench {
    /// What times are taken of. Kept is the default, and records of all versions without a word on it are of that.
    pub(crate) fn l2(&self) -> L2 {
        match (self.flush, self.rotate) {
            (true, _) => L2::Flushed,
            (false, true) => L2::Rotated,
            (false, false) => L2::Kept,
        }
    }

    /// What times compare within: the class of a device, and the state of its cache where that is not the default.
    pub(crate) fn class(&self, device: &str) -> String {
        match self.l2() {
            L2::Kept => device.to_string(),
            other => format!("{device}, L2 {}", other.name()),
        }
    }
}

/// Which attempt at which point a request is about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, Debug)]
pub(crate) struct Ticket {
    pub(crate) id: u64,
    pub(crate) attempt: u32,
}

/// What a worker is asked.
#[derive(Clone, PartialEq, Serialize, Deserialize, Debug)]
#[serde(tag = "do", rename_all = "kebab-case")]
pub(crate) enum Request {
    /// Read this; what comes is about it.
    Open(Box<Open>),
    /// Compile a point, and keep the machine code.
    Compile { ticket: Ticket, point: Values },
    /// Check a point, and time it.
    Measure { ticket: Ticket, point: Values },
}

/// What a worker answers.
#[derive(Clone, PartialEq, Serialize, Deserialize, Debug)]
#[serde(tag = "did", rename_all = "kebab-case")]
pub(crate) enum Reply {
    /// The file is read.
    Opened,
    /// What came of a point.
    Done { ticket: Ticket, result: Box<records::Result> },
    /// The request made no sense; the worker ends.
    Refused { message: String },
}

/// A message as a line.
pub(crate) fn line(message: &impl Serialize) -> String {
    // Strings, numbers and maps with names for keys: that cannot fail.
    serde_json::to_string(message).unwrap_or_default() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tuner_of_an_older_version_is_understood() {
        let older = r#"{"repeat":50,"min_sample_us":400.0,"warm_up_ms":20.0,"flush":false,"check":true}"#;
        let bench: Bench = serde_json::from_str(older).expect("it reads");
        assert_eq!((bench.interval, bench.budget_s, bench.l2()), (None, None, L2::Kept));
        assert_eq!(bench.class("NVIDIA H100, CUDA 13.0"), "NVIDIA H100, CUDA 13.0");
        assert_eq!(Bench { flush: true, ..bench }.class("GPU"), "GPU, L2 flushed");
    }
}
