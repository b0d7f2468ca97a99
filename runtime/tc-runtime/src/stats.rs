//! From samples of a time to a median that says how sure it is.

use serde_json::{Value, json};
use std::fmt;

/// What the second-level cache holds when a timed launch starts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum L2 {
    /// What the launch before left there: the inputs, if they fit.
    #[default]
    Kept,
    /// Nothing of the inputs: other memory, twice its size, was written in between.
    Flushed,
    /// Other copies of the buffers, of twice its size together: launches take them in turn.
    Rotated,
}

impl L2 {
    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            L2::Kept => "kept",
            L2::Flushed => "flushed",
            L2::Rotated => "rotated",
        }
    }
}

/// How long one launch takes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Timing {
    /// The median of the samples, in microseconds.
    pub median_us: f64,
    /// The lower end of the median's 95 % confidence interval.
    pub low_us: f64,
    /// The upper end of the median's 95 % confidence interval.
    pub high_us: f64,
    /// The number of samples, one for each replay.
    pub n: usize,
    /// Launches in each replay; a sample is the time of a replay over this.
    pub launches_per_replay: usize,
    /// The state of the second-level cache.
    pub l2: L2,
}

impl Timing {
    /// The median of `samples_us` and its confidence interval; `None` without samples, or if one is no number.
    pub fn from_samples(mut samples_us: Vec<f64>, launches_per_replay: usize, l2: L2) -> Option<Timing> {
        let n = samples_us.len();
        if n == 0 || samples_us.iter().any(|sample| !sample.is_finite()) {
            return None;
        }
        samples_us.sort_by(f64::total_cmp);
        let (low, high) = median_interval(n);
        Some(Timing {
            median_us: (samples_us[(n - 1) / 2] + samples_us[n / 2]) / 2.0,
            low_us: samples_us[low],
            high_us: samples_us[high],
            n,
            launches_per_replay,
            l2,
        })
    }

    /// Is this shorter than `other` beyond what chance would do: do the intervals not overlap?
    pub fn clearly_below(&self, other: &Timing) -> bool {
        self.high_us < other.low_us
    }

    /// The fields as a JSON object.
    pub fn to_json(&self) -> Value {
        json!({
            "median_us": self.median_us,
            "low_us": self.low_us,
            "high_us": self.high_us,
            "n": self.n,
            "launches_per_replay": self.launches_per_replay,
            "l2": self.l2.name(),
        })
    }
}

impl fmt::Display for Timing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2} us ({:.2} to {:.2}, n = {})", self.median_us, self.low_us, self.high_us, self.n)
    }
}

/// The width of the interval of the median of `samples`, as a part of the median; `None` where `Timing` is.
#[cfg(any(feature = "cuda", test))]
pub(crate) fn width(samples: &[f64]) -> Option<f64> {
    let timing = Timing::from_samples(samples.to_vec(), 1, L2::Kept)?;
    Some((timing.high_us - timing.low_us) / timing.median_us)
}

/// The indices, from 0, of the two ordered samples of `n` between which the median lies with a probability of at
/// least 95 %; the first and the last where `n` is below 6 and no two samples are that sure.
///
/// The median lies below the k-th smallest of n samples if fewer than k samples lie below it, and their number is
/// binomial with p = 1/2, whatever the distribution (Conover, "Practical Nonparametric Statistics", 3rd ed. 1999,
/// section 3.2; David and Nagaraja, "Order Statistics", 3rd ed. 2003, section 7.1; for timings Le Boudec, "Performance
/// Evaluation", 2010, theorem 2.1).
fn median_interval(n: usize) -> (usize, usize) {
    let mut log_probability = -(n as f64) * std::f64::consts::LN_2;
    let mut below = 0.0;
    let mut low = 0;
    for k in 0..n / 2 {
        below += log_probability.exp();
        if below > 0.025 {
            break;
        }
        // Now P(Bin(n, 1/2) <= k) <= 2.5 %, so that the sample of index k is below the median surely enough.
        low = k;
        log_probability += ((n - k) as f64 / (k + 1) as f64).ln();
    }
    (low, n - 1 - low)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_the_one_of_the_tables() {
        // Le Boudec 2010, table A.1 (ranks from 1): n = 10 is 2..9, 20 is 6..15, 50 is 18..33, 70 is 27..44.
        assert_eq!(median_interval(10), (1, 8));
        assert_eq!(median_interval(20), (5, 14));
        assert_eq!(median_interval(50), (17, 32));
        assert_eq!(median_interval(70), (26, 43));
        assert_eq!(median_interval(6), (0, 5));
        assert_eq!(median_interval(5), (0, 4));
        assert_eq!(median_interval(1), (0, 0));
        // By the normal approximation n/2 +- 0.98 sqrt(n), also where 2^-n is no double any more.
        let (low, high) = median_interval(10_000);
        assert!((4901..=4903).contains(&low) && low + high == 9_999);
    }

    #[test]
    fn the_median_is_that_of_the_samples() {
        let timing = Timing::from_samples((1..=20).rev().map(f64::from).collect(), 7, L2::Kept).expect("samples");
        assert_eq!((timing.median_us, timing.low_us, timing.high_us, timing.n), (10.5, 6.0, 15.0, 20));
        assert_eq!(timing.to_string(), "10.50 us (6.00 to 15.00, n = 20)");
        assert_eq!(timing.to_json()["launches_per_replay"], 7);
        let odd = Timing::from_samples(vec![3.0, 1.0, 2.0], 1, L2::Flushed).expect("samples");
        assert_eq!((odd.median_us, odd.low_us, odd.high_us), (2.0, 1.0, 3.0));
        assert!(odd.clearly_below(&timing) && !timing.clearly_below(&odd));
        assert_eq!(Timing::from_samples(vec![], 1, L2::Kept), None);
        assert_eq!(Timing::from_samples(vec![f64::NAN], 1, L2::Kept), None);
    }

    #[test]
    fn a_width_is_a_part_of_the_median() {
        let samples: Vec<f64> = (1..=20).map(f64::from).collect();
        assert_eq!(width(&samples), Some((15.0 - 6.0) / 10.5));
        assert_eq!((width(&[2.0; 9]), width(&[])), (Some(0.0), None));
    }
}
