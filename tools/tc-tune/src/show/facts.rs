//! What is shown of the records of a task and class of device.

use super::{OK, class_text, point_text, ranked, reasons};
use crate::records;
use crate::task::{Identity, Values};
use std::collections::BTreeMap;
use tc::support::source::shown_name;

/// What is shown. Its texts hold nothing that a terminal would obey.
pub(crate) struct Facts {
    pub(crate) operator: String,
    pub(crate) schedule: String,
    /// As `name=value`, apart by blanks.
    pub(crate) sizes: String,
    pub(crate) device: String,
    pub(crate) target: String,
    pub(crate) n_attempts: usize,
    /// Points with a time.
    pub(crate) n_timed: usize,
    /// The fastest of them, the first first.
    pub(crate) best: Vec<Best>,
    /// Classes of clocks, by name, where there are several: times compare within one.
    pub(crate) classes: Vec<String>,
    /// How many attempts have no time, and why, the most frequent first.
    pub(crate) reasons: Vec<(String, usize)>,
    /// The trials, from 1, at which the best became better, with its time.
    pub(crate) curve: Vec<(usize, f64)>,
    pub(crate) effects: Vec<Effect>,
}

/// A fast point.
pub(crate) struct Best {
    pub(crate) point: String,
    pub(crate) time: f64,
    /// Over the best time of its class of clocks.
    pub(crate) over: f64,
    /// Its class of clocks, where that is worth a word.
    pub(crate) class: String,
}

/// What a parameter does.
pub(crate) struct Effect {
    pub(crate) name: String,
    /// For each value, the best time with it over the best of all.
    pub(crate) values: Vec<(i64, f64)>,
}

impl Facts {
    /// The facts of `trials`, which are of this task and class of device, with the `top` best.
    pub(crate) fn of((identity, device): (&Identity, &str), trials: &[(Values, records::Result)], top: usize) -> Facts {
        let ranked = ranked(trials);
        // By class of clocks: the best time. Where clocks are not known, nothing is known to have held them down.
        let mut by_class: BTreeMap<&str, f64> = BTreeMap::new();
        for (_, result) in &ranked {
            by_class.entry(result.class().unwrap_or(OK)).or_insert(result.median().unwrap_or(1.0));
        }
        let best = |(point, result): &(&Values, &records::Result)| {
            let time = result.median().unwrap_or(f64::NAN);
            Best {
                point: point_text(point),
                time,
                over: time / by_class.get(result.class().unwrap_or(OK)).copied().unwrap_or(time),
                class: class_text(result.class()).trim().to_string(),
            }
        };
        let classes = by_class.keys().map(|class| shown_name(class).into_owned());
        Facts {
            operator: shown_name(&identity.operator).into_owned(),
            schedule: shown_name(&identity.schedule).into_owned(),
            sizes: point_text(&identity.sizes),
            device: shown_name(device).into_owned(),
            target: shown_name(&identity.target).into_owned(),
            n_attempts: trials.len(),
            n_timed: ranked.len(),
            best: ranked.iter().take(top).map(best).collect(),
            classes: if by_class.len() > 1 { classes.collect() } else { Vec::new() },
            reasons: reasons(trials).into_iter().map(|(why, n)| (shown_name(&why).into_owned(), n)).collect(),
            curve: curve(trials),
            effects: effects(&ranked),
        }
    }

    /// Operator, schedule and sizes.
    pub(crate) fn task(&self) -> String {
        let sizes = if self.sizes.is_empty() { String::new() } else { format!(", {}", self.sizes) };
        format!("{} @{}{sizes}", self.operator, self.schedule)
    }

    /// The fastest time.
    pub(crate) fn fastest(&self) -> Option<f64> {
        self.curve.last().map(|&(_, time)| time)
    }
}

/// The trials at which the best became better.
fn curve(trials: &[(Values, records::Result)]) -> Vec<(usize, f64)> {
    let mut best = f64::INFINITY;
    let mut steps = Vec::new();
    for (nth, (_, result)) in trials.iter().enumerate() {
        if let Some(time) = result.median().filter(|&time| time < best) {
            best = time;
            steps.push((nth + 1, time));
        }
    }
    steps
}

/// For each value of each parameter, the best time with it.
fn effects(ranked: &[(&Values, &records::Result)]) -> Vec<Effect> {
    let Some((first, fastest)) = ranked.first() else { return Vec::new() };
    let fastest = fastest.median().unwrap_or(1.0);
    let effect = |name: &String| {
        let mut by_value: BTreeMap<i64, f64> = BTreeMap::new();
        for (point, result) in ranked {
            if let (Some(&value), Some(time)) = (point.get(name), result.median()) {
                let least = by_value.entry(value).or_insert(time);
                *least = least.min(time);
            }
        }
        let values = by_value.into_iter().map(|(value, time)| (value, time / fastest)).collect();
        Effect { name: shown_name(name).into_owned(), values }
    };
    first.keys().map(effect).collect()
}
