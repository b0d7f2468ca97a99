//! The end of a search: the best few, once more.

use crate::executor::{Executor, Job, Report};
use crate::records::{self, Time};
use crate::show;
use crate::task::Values;
use crate::tune::Outcome;
use crate::worker::protocol::Ticket;
use std::time::Duration;
use tc::runtime::{L2, Timing};
use tc_cli::Session;

/// The best points that are measured once more, in turn.
const FINALISTS: usize = 3;
/// How often: the interval of the median of six is that of 95 %.
const ROUNDS: usize = 6;

/// A point that was measured again.
pub(crate) struct Final {
    pub(crate) point: Values,
    pub(crate) time: Time,
    /// The class of the clocks, where they could be read.
    pub(crate) class: Option<String>,
}

impl Final {
    /// How this compares with the best.
    pub(crate) fn beside(&self, best: &Final) -> String {
        match (&self.class, &best.class) {
            (Some(this), Some(other)) if this != other => {
                format!("not compared: its clocks are `{this}`, those of the best `{other}`")
            }
            _ if self.time.low > best.time.high => "slower".to_string(),
            _ => "does not differ from the best at 95 %".to_string(),
        }
    }
}

/// The best few, measured again in turn on one device: what chance made fast is not fast again.
pub(crate) fn finals(session: &Session<'_>, outcome: &Outcome, executor: &mut dyn Executor) -> Result<Vec<Final>, u8> {
    let mut ranked = show::ranked(&outcome.trials);
    ranked.truncate(FINALISTS);
    if records::is_estimated(executor.device()) {
        // An estimate is the same each time.
        let of = |(point, result): (&Values, &records::Result)| {
            Some(Final { point: point.clone(), time: result.time_us?, class: None })
        };
        return Ok(ranked.into_iter().filter_map(of).collect());
    }
    let points: Vec<Values> = ranked.into_iter().map(|(point, _)| point.clone()).collect();
    let mut results: Vec<Vec<(Option<String>, f64)>> = vec![Vec::new(); points.len()];
    for round in 0..ROUNDS {
        for (nth, point) in points.iter().enumerate() {
            let ticket = Ticket { id: (round * FINALISTS + nth) as u64, attempt: 1 };
            executor.submit(Job { ticket, point: point.clone(), again: true });
        }
    }
    let mut left = ROUNDS * points.len();
    while left > 0 {
        let answer = executor.poll(Duration::from_secs(1)).map_err(|wrong| session.refuse_with(&wrong))?;
        let Some(Report { ticket, result }) = answer else { continue };
        if ticket.attempt == 1 {
            left -= 1;
            let class = result.class().map(str::to_string);
            results[ticket.id as usize % FINALISTS].extend(result.median().map(|median| (class, median)));
        }
    }
    let of_point = |(point, results): (Values, Vec<(Option<String>, f64)>)| {
        let (class, medians) = of_one_class(results)?;
        let timing = Timing::from_samples(medians, 1, L2::Kept)?;
        let time = Time { median: timing.median_us, low: timing.low_us, high: timing.high_us, n: timing.n };
        Some(Final { point, time, class })
    };
    let mut finals: Vec<Final> = points.into_iter().zip(results).filter_map(of_point).collect();
    finals.sort_by(|a, b| a.time.median.total_cmp(&b.time.median));
    Ok(finals)
}

/// The times of the class that most rounds were of; of two with as many, that which came later.
fn of_one_class(results: Vec<(Option<String>, f64)>) -> Option<(Option<String>, Vec<f64>)> {
    let n_of = |class: &Option<String>| results.iter().filter(|(other, _)| other == class).count();
    let class = results.iter().map(|(class, _)| class).max_by_key(|class| n_of(class))?.clone();
    let medians = results.iter().filter(|(other, _)| *other == class).map(|&(_, median)| median).collect();
    Some((class, medians))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(name: &str) -> Option<String> {
        Some(name.to_string())
    }

    #[test]
    fn a_median_is_of_one_class() {
        let results =
            vec![(class("ok"), 1.0), (class("power cap"), 2.0), (class("power cap"), 2.5), (class("ok"), 1.5)];
        assert_eq!(of_one_class(results[..3].to_vec()), Some((class("power cap"), vec![2.0, 2.5])));
        assert_eq!(of_one_class(results), Some((class("ok"), vec![1.0, 1.5])), "the later of two");
        assert_eq!(of_one_class(vec![(None, 3.0)]), Some((None, vec![3.0])));
        assert_eq!(of_one_class(Vec::new()), None);
    }

    #[test]
    fn only_times_of_one_class_are_compared() {
        let of = |median: f64, class: Option<String>| {
            let time = Time { median, low: median, high: median, n: 6 };
            Final { point: Values::new(), time, class }
        };
        let best = of(1.0, class("ok"));
        assert_eq!(of(2.0, class("ok")).beside(&best), "slower");
        assert_eq!(of(1.0, None).beside(&best), "does not differ from the best at 95 %");
        assert!(of(2.0, class("power cap")).beside(&best).starts_with("not compared: its clocks are `power cap`"));
    }
}
