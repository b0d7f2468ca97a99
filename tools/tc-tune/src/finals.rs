//! The end of a search: the best few, once more.

use crate::executor::{Executor, Job, Report};
use crate::records::Time;
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

/// The best few, measured again in turn: what chance made fast is not fast again.
pub(crate) fn finals(
    session: &Session<'_>,
    outcome: &Outcome,
    executor: &mut dyn Executor,
) -> Result<Vec<(Values, Time)>, u8> {
    let mut ranked = show::ranked(&outcome.trials);
    ranked.truncate(FINALISTS);
    let points: Vec<Values> = ranked.into_iter().map(|(point, _)| point.clone()).collect();
    let mut medians = vec![Vec::new(); points.len()];
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
            medians[ticket.id as usize % FINALISTS].extend(result.median());
        }
    }
    let time = |samples: Vec<f64>| {
        let timing = Timing::from_samples(samples, 1, L2::Kept)?;
        Some(Time { median: timing.median_us, low: timing.low_us, high: timing.high_us, n: timing.n })
    };
    let mut finals: Vec<(Values, Time)> =
        points.into_iter().zip(medians).filter_map(|(point, samples)| Some((point, time(samples)?))).collect();
    finals.sort_by(|a, b| a.1.median.total_cmp(&b.1.median));
    Ok(finals)
}
