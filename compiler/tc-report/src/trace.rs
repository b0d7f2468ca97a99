//! Time as a Chrome trace, which Perfetto and `chrome://tracing` read.

use serde_json::{Value, json};
use std::time::Duration;
use tc_pass::PassRecord;

/// The number under which the process stands in the trace.
const PROCESS: u32 = 1;

/// Events of a run of the tool, each with its beginning and its length.
#[derive(Clone, Default, Debug)]
pub struct Trace {
    events: Vec<Value>,
}

impl Trace {
    /// A trace of the process `name`, without events.
    pub fn new(name: &str) -> Trace {
        let args = json!({ "name": name });
        Trace { events: vec![json!({ "name": "process_name", "ph": "M", "pid": PROCESS, "tid": 0, "args": args })] }
    }

    /// Names a track: each text that is compiled has one.
    pub fn track(&mut self, track: u32, name: &str) {
        let args = json!({ "name": name });
        self.events.push(json!({ "name": "thread_name", "ph": "M", "pid": PROCESS, "tid": track, "args": args }));
    }

    /// Something that began at `start`, counted from the beginning of the trace, and took `time`.
    pub fn event(&mut self, track: u32, category: &str, name: &str, (start, time): (Duration, Duration), args: Value) {
        self.events.push(json!({
            "name": name, "cat": category, "ph": "X", "ts": micros(start), "dur": micros(time),
            "pid": PROCESS, "tid": track, "args": args,
        }));
    }

    /// The passes of a run that began at `start`; the checks of each stand behind it.
    pub fn run(&mut self, track: u32, start: Duration, records: &[PassRecord]) {
        for (nth, record) in records.iter().enumerate() {
            let begin = start + record.start;
            let counters: serde_json::Map<String, Value> =
                record.stats.iter().map(|(name, n)| (name.to_string(), n.into())).collect();
            let args = json!({
                "number": nth + 1, "anchor": record.anchor, "items": record.n_items, "changed": record.changed,
                "ops_before": record.ops.map(|ops| ops.before), "ops_after": record.ops.map(|ops| ops.after),
                "counters": counters,
            });
            self.event(track, "pass", record.name, (begin, record.time), args);
            if !record.verify_time.is_zero() {
                let name = format!("check {}", record.name);
                self.event(track, "check", &name, (begin + record.time, record.verify_time), json!({}));
            }
        }
    }

    /// The events of `other`, which counts its time from the same beginning.
    pub fn append(&mut self, other: Trace) {
        self.events.extend(other.events);
    }

    /// The document.
    pub fn json(&self) -> Value {
        json!({ "traceEvents": self.events, "displayTimeUnit": "ms" })
    }
}

fn micros(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e3
}
