//! How long warps take that share units: each waits for its own values, and for others at each unit.
//!
//! Mean value analysis of a closed network of queues (Reiser and Lavenberg 1980): a warp that comes to a unit finds there as many
//! others as there are in the mean with one warp less.

/// Warps that are added one by one, at most; more take as much longer as there are more.
const MOST: f64 = 256.0;

/// The cycles that `warps` warps take beside each other. Each keeps the units busy for `demands`, and takes `alone` cycles where
/// nothing else holds it up.
pub(crate) fn cycles(demands: &[f64], alone: f64, warps: f64) -> f64 {
    let busiest = demands.iter().copied().fold(0.0, f64::max);
    let waits = (alone - demands.iter().sum::<f64>()).max(0.0);
    let mut queued = vec![0.0; demands.len()];
    let mut cycle = alone;
    let n = warps.min(MOST).ceil().max(1.0);
    for others in 0..n as u64 {
        let at: Vec<f64> = demands.iter().zip(&queued).map(|(demand, queued)| demand * (1.0 + queued)).collect();
        cycle = at.iter().sum::<f64>() + waits;
        if cycle > 0.0 {
            let rate = (others + 1) as f64 / cycle;
            queued = at.iter().map(|at| rate * at).collect();
        }
    }
    (cycle * warps / n).max(busiest * warps)
}
