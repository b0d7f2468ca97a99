//! When there are enough samples: in batches with their clocks, until the median is known as well as asked.
//!
//! Nothing here knows a GPU: what samples are taken of is a [`Subject`].

use crate::clocks::{Clocks, Limits, Reading};
use crate::device::BenchOptions;
use crate::stats::width;
use std::time::Duration;
use tc_support::Diagnostic;

/// The least time of a batch: a GPU's power and clocks are measured and steered in steps of milliseconds, and what is read
/// around a shorter batch says little of it.
const LEAST_BATCH: Duration = Duration::from_millis(20);
/// Samples that are taken even where that takes longer than allowed.
const LEAST_SAMPLES: usize = 5;
/// How often a batch is taken whose clocks are invalid.
const TRIES: u32 = 3;
/// The number of samples doubles so often at most. Few looks at the interval matter too: to stop at the first of many that
/// is narrow enough would make intervals that are too often wrong.
const DOUBLINGS: u32 = 4;
/// How long a hot GPU is left alone before the next try, times the number of the try.
const COOLING: Duration = Duration::from_millis(500);
/// How long a GPU with an idle clock is worked before the next try, times the number of the try.
const RAISING: Duration = Duration::from_millis(200);

/// What samples are taken of, with a clock of its own, so that a test needs neither GPU nor time.
pub(crate) trait Subject {
    /// Works for so long, and measures nothing.
    fn work(&mut self, time: Duration) -> Result<(), Diagnostic>;
    /// A sample in microseconds.
    fn sample(&mut self) -> Result<f64, Diagnostic>;
    /// What the clocks are while it works; nothing where they cannot be read.
    fn readings(&mut self) -> Result<Vec<Reading>, Diagnostic>;
    /// The highest clocks.
    fn limits(&self) -> Limits;
    /// Does nothing for so long.
    fn rest(&mut self, time: Duration);
    /// The time since any moment.
    fn now(&self) -> Duration;
}

/// Samples, and the clocks that they were taken under, where these can be read.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Batch {
    pub(crate) samples: Vec<f64>,
    readings: Vec<Reading>,
    pub(crate) clocks: Option<Clocks>,
}

/// Takes samples until the interval of their median is as narrow as asked, or the budget is spent. Samples whose clocks are
/// invalid are returned only where three tries gave no others.
pub(crate) fn take(subject: &mut impl Subject, options: &BenchOptions) -> Result<Batch, Diagnostic> {
    subject.work(seconds(options.warm_up_ms / 1e3))?;
    let end = subject.now().saturating_add(seconds(options.max_seconds));
    let mut kept = valid_batch(subject, options.repetitions, end)?;
    for _ in 0..DOUBLINGS {
        if kept.is_enough(options.interval) || subject.now() >= end {
            break;
        }
        let more = valid_batch(subject, kept.samples.len(), end)?;
        if !more.is_valid() {
            break;
        }
        kept = kept.and(more, subject.limits());
    }
    Ok(kept)
}

/// A batch, taken again where its clocks are invalid.
fn valid_batch(subject: &mut impl Subject, n: usize, end: Duration) -> Result<Batch, Diagnostic> {
    let mut batch = batch(subject, n, end)?;
    for nth in 1..TRIES {
        match batch.clocks.map(|clocks| clocks.class) {
            Some(class) if class.is_valid() => break,
            None => break,
            Some(crate::clocks::Class::Thermal) => {
                subject.rest(COOLING * nth);
                // A rest cools the clock too.
                subject.work(RAISING)?;
            }
            Some(_) => subject.work(RAISING * nth)?,
        }
        batch = self::batch(subject, n, end)?;
    }
    Ok(batch)
}

/// At least `n` samples and 20 ms of them, or as many as there is time for.
fn batch(subject: &mut impl Subject, n: usize, end: Duration) -> Result<Batch, Diagnostic> {
    let mut readings = subject.readings()?;
    let start = subject.now();
    let mut samples = Vec::new();
    loop {
        let now = subject.now();
        let is_whole = samples.len() >= n && now.saturating_sub(start) >= LEAST_BATCH;
        if is_whole || (samples.len() >= LEAST_SAMPLES && now >= end) {
            break;
        }
        samples.push(subject.sample()?);
    }
    readings.extend(subject.readings()?);
    let clocks = Clocks::of(&readings, subject.limits());
    Ok(Batch { samples, readings, clocks })
}

impl Batch {
    fn is_valid(&self) -> bool {
        self.clocks.is_none_or(|clocks| clocks.class.is_valid())
    }

    /// Is the interval of the median as narrow as asked? More samples make nothing better of invalid ones.
    fn is_enough(&self, interval: Option<f64>) -> bool {
        let is_narrow = interval.is_none_or(|most| width(&self.samples).is_some_and(|width| width <= most));
        is_narrow || !self.is_valid()
    }

    /// This batch and a later one. Where the class of the clocks changed, the later one counts alone: samples of two classes
    /// have no median in common, and a GPU that reached its power cap stays there.
    fn and(self, later: Batch, limits: Limits) -> Batch {
        let class = |batch: &Batch| batch.clocks.map(|clocks| clocks.class);
        if class(&self) != class(&later) {
            return later;
        }
        let samples = [self.samples, later.samples].concat();
        let readings = [self.readings, later.readings].concat();
        let clocks = Clocks::of(&readings, limits);
        Batch { samples, readings, clocks }
    }
}

/// Seconds as a duration, also where the number is none.
fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(if seconds > 0.0 { Duration::MAX } else { Duration::ZERO })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clocks::Class;
    use std::collections::VecDeque;

    /// A subject whose samples come round, and whose clocks follow a list; the last of the list stays.
    struct Fake {
        samples: Vec<f64>,
        reasons: VecDeque<u64>,
        sample_time: Duration,
        now: Duration,
        taken: usize,
        rested: Duration,
        is_blind: bool,
    }

    fn fake(samples: &[f64], reasons: &[u64]) -> Fake {
        Fake {
            samples: samples.to_vec(),
            reasons: reasons.iter().copied().collect(),
            sample_time: Duration::from_micros(400),
            now: Duration::ZERO,
            taken: 0,
            rested: Duration::ZERO,
            is_blind: reasons.is_empty(),
        }
    }

    impl Subject for Fake {
        fn work(&mut self, time: Duration) -> Result<(), Diagnostic> {
            self.now += time;
            Ok(())
        }

        fn sample(&mut self) -> Result<f64, Diagnostic> {
            self.now += self.sample_time;
            self.taken += 1;
            Ok(self.samples[(self.taken - 1) % self.samples.len()])
        }

        fn readings(&mut self) -> Result<Vec<Reading>, Diagnostic> {
            if self.is_blind {
                return Ok(Vec::new());
            }
            let first = self.reasons[0];
            if self.reasons.len() > 1 {
                self.reasons.pop_front();
            }
            Ok(vec![Reading { sm_mhz: Some(1980), reasons: first, ..Reading::default() }])
        }

        fn limits(&self) -> Limits {
            Limits { sm_mhz: Some(1980), memory_mhz: None }
        }

        fn rest(&mut self, time: Duration) {
            self.now += time;
            self.rested += time;
        }

        fn now(&self) -> Duration {
            self.now
        }
    }

    fn options(repetitions: usize, interval: Option<f64>) -> BenchOptions {
        BenchOptions { repetitions, interval, warm_up_ms: 20.0, max_seconds: 10.0, ..BenchOptions::default() }
    }

    fn class(batch: &Batch) -> Option<Class> {
        batch.clocks.map(|clocks| clocks.class)
    }

    #[test]
    fn samples_that_agree_are_as_many_as_asked() {
        let mut subject = fake(&[1.0, 1.001], &[0]);
        let batch = take(&mut subject, &options(50, Some(0.01))).expect("no error");
        assert_eq!((batch.samples.len(), class(&batch)), (50, Some(Class::Ok)));
    }

    #[test]
    fn a_batch_takes_twenty_milliseconds() {
        let mut subject = fake(&[1.0], &[]);
        let batch = take(&mut subject, &options(10, None)).expect("no error");
        assert_eq!((batch.samples.len(), batch.clocks), (50, None));
    }

    #[test]
    fn samples_that_do_not_agree_double_until_they_do_or_there_are_enough() {
        // The interval of the median of 0 to 99 narrows with the root of the number.
        let spread: Vec<f64> = (0..100).map(|nth| 100.0 + f64::from(nth * 37 % 100) / 100.0).collect();
        let n = |interval: f64| {
            let taken = take(&mut fake(&spread, &[0]), &options(50, Some(interval)));
            taken.expect("no error").samples.len()
        };
        assert_eq!(n(0.01), 50);
        assert!(n(0.002) > 50 && n(0.002) < 800, "{}", n(0.002));
        assert_eq!(n(1e-9), 800);
    }

    #[test]
    fn the_budget_ends_it() {
        let mut subject = fake(&[1.0, 2.0], &[0]);
        subject.sample_time = Duration::from_secs(1);
        let batch = take(&mut subject, &options(50, Some(0.01))).expect("no error");
        assert_eq!(batch.samples.len(), 10);
        subject.sample_time = Duration::from_secs(100);
        let batch = take(&mut subject, &options(50, Some(0.01))).expect("no error");
        assert_eq!(batch.samples.len(), LEAST_SAMPLES);
    }

    #[test]
    fn a_hot_batch_is_taken_again() {
        let mut subject = fake(&[1.0], &[0, 0x20, 0, 0]);
        let batch = take(&mut subject, &options(50, None)).expect("no error");
        assert_eq!((class(&batch), batch.samples.len(), subject.taken), (Some(Class::Ok), 50, 100));
        assert_eq!(subject.rested, COOLING);
    }

    #[test]
    fn three_tries_are_all() {
        let mut subject = fake(&[1.0, 2.0], &[0x20]);
        let batch = take(&mut subject, &options(50, Some(0.01))).expect("no error");
        assert_eq!((class(&batch), subject.taken), (Some(Class::Thermal), 150));
        // What was valid before is kept.
        let mut subject = fake(&[1.0, 2.0], &[0, 0, 0x20]);
        let batch = take(&mut subject, &options(50, Some(0.01))).expect("no error");
        assert_eq!((class(&batch), batch.samples.len(), subject.taken), (Some(Class::Ok), 50, 200));
    }

    #[test]
    fn a_batch_under_the_power_cap_is_not_repeated_and_not_mixed() {
        let mut subject = fake(&[1.0], &[0x4]);
        let batch = take(&mut subject, &options(50, Some(0.01))).expect("no error");
        assert_eq!((class(&batch), subject.taken), (Some(Class::PowerCap), 50));
        // The first batch of 50 is free, the second is not, and the third has as many as the second.
        let mut subject = fake(&[1.0, 2.0], &[0, 0, 0x4]);
        let batch = take(&mut subject, &options(50, Some(0.01))).expect("no error");
        assert_eq!((class(&batch), batch.samples.len()), (Some(Class::PowerCap), 400));
    }
}
