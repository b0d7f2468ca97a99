//! The clocks under which samples were taken, and what becomes of samples whose clocks say nothing of the program.

use serde_json::{Value, json};

/// What holds a clock down, as NVML's bits tell it; the names are those of `nvmlClocksEventReasons`.
const REASONS: [(u64, &str); 9] = [
    (0x001, "idle"),
    (0x002, "application clocks"),
    (0x004, "power cap"),
    (0x008, "hardware slowdown"),
    (0x010, "sync boost"),
    (0x020, "software thermal"),
    (0x040, "hardware thermal"),
    (0x080, "power brake"),
    (0x100, "display clocks"),
];
const IDLE: u64 = 0x001;
const POWER_CAP: u64 = 0x004;
/// Temperature, and what the hardware does in an emergency: the clock is halved or worse, and for a while.
const SLOWED: u64 = 0x008 | 0x020 | 0x040 | 0x080;
/// What a user or another GPU set: the clock is low, and stays so.
const SET: u64 = 0x002 | 0x010 | 0x100;

/// What NVML tells of a GPU at one time. What a GPU does not tell is `None`.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Reading {
    /// The clock of the multiprocessors in MHz.
    pub sm_mhz: Option<u32>,
    /// The clock of the memory in MHz.
    pub memory_mhz: Option<u32>,
    /// The power in watts at that time.
    pub power_w: Option<f64>,
    /// NVML's bits of what holds the clocks down.
    pub reasons: u64,
}

/// The highest clocks of a GPU in MHz.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Limits {
    /// Of the multiprocessors.
    pub sm_mhz: Option<u32>,
    /// Of the memory.
    pub memory_mhz: Option<u32>,
}

/// What clocks samples were taken under. Times of one class compare.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Class {
    /// Nothing holds the clocks down but what a user set.
    Ok,
    /// The program takes as much power as the GPU may, and the clock is what that leaves: products of f16 run so.
    PowerCap,
    /// The GPU did not raise its clocks from where they are without work.
    Idle,
    /// The GPU is too hot, or its hardware slows down for another emergency.
    Thermal,
}

impl Class {
    /// The name in JSON and tables.
    pub fn name(self) -> &'static str {
        match self {
            Class::Ok => "ok",
            Class::PowerCap => "power cap",
            Class::Idle => "idle clock",
            Class::Thermal => "thermal",
        }
    }

    /// Do times tell of the program, and not of what the GPU did before?
    pub fn is_valid(self) -> bool {
        matches!(self, Class::Ok | Class::PowerCap)
    }
}

/// The class of the samples that were taken between `readings`; `None` without readings.
///
/// One reading that tells of heat or of the power cap is enough, for both come and go within a batch. An idle clock is one
/// that most readings find below half of the highest, without anything that keeps it there: what NVML calls idle is also
/// the moment between two launches. Where a GPU does not tell its highest clock, there is only what NVML calls idle.
pub fn classify(readings: &[Reading], limits: Limits) -> Option<Class> {
    let any = |bits: u64| readings.iter().any(|reading| reading.reasons & bits != 0);
    let idle = readings.iter().filter(|reading| is_idle(reading, limits)).count();
    Some(match () {
        () if readings.is_empty() => return None,
        () if any(SLOWED) => Class::Thermal,
        () if 2 * idle > readings.len() => Class::Idle,
        () if any(POWER_CAP) => Class::PowerCap,
        () => Class::Ok,
    })
}

fn is_idle(reading: &Reading, limits: Limits) -> bool {
    let below_half = |clock: Option<u32>, limit: Option<u32>| Some(clock? < limit? / 2);
    let sm = below_half(reading.sm_mhz, limits.sm_mhz);
    let memory = below_half(reading.memory_mhz, limits.memory_mhz);
    match (sm, memory) {
        (None, None) => reading.reasons & IDLE != 0,
        _ => (sm == Some(true) || memory == Some(true)) && reading.reasons & (POWER_CAP | SET) == 0,
    }
}

/// The clocks that samples were taken under.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Clocks {
    /// What they are taken for.
    pub class: Class,
    /// The median of the readings, as the other numbers: the multiprocessors' clock in MHz.
    pub sm_mhz: Option<u32>,
    /// The memory's clock in MHz.
    pub memory_mhz: Option<u32>,
    /// The power in watts.
    pub power_w: Option<f64>,
    /// NVML's bits of what held the clocks down in any reading.
    pub reasons: u64,
}

impl Clocks {
    /// What `readings` come to; `None` without any.
    pub fn of(readings: &[Reading], limits: Limits) -> Option<Clocks> {
        let class = classify(readings, limits)?;
        Some(Clocks {
            class,
            sm_mhz: middle(readings.iter().filter_map(|reading| reading.sm_mhz).collect(), u32::cmp),
            memory_mhz: middle(readings.iter().filter_map(|reading| reading.memory_mhz).collect(), u32::cmp),
            power_w: middle(readings.iter().filter_map(|reading| reading.power_w).collect(), f64::total_cmp),
            reasons: readings.iter().fold(0, |all, reading| all | reading.reasons),
        })
    }

    /// What held the clocks down, in words.
    pub fn reasons(&self) -> Vec<&'static str> {
        REASONS.iter().filter(|(bit, _)| self.reasons & bit != 0).map(|&(_, name)| name).collect()
    }

    /// The fields as a JSON object.
    pub fn to_json(&self) -> Value {
        json!({
            "class": self.class.name(),
            "sm_mhz": self.sm_mhz,
            "memory_mhz": self.memory_mhz,
            "power_w": self.power_w,
            "reasons": self.reasons(),
        })
    }
}

/// The value in the middle, the lower of two.
fn middle<T: Copy>(mut values: Vec<T>, order: impl FnMut(&T, &T) -> std::cmp::Ordering) -> Option<T> {
    values.sort_by(order);
    values.get(values.len().saturating_sub(1) / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An H100.
    const LIMITS: Limits = Limits { sm_mhz: Some(1980), memory_mhz: Some(2619) };

    fn at(sm_mhz: u32, reasons: u64) -> Reading {
        Reading { sm_mhz: Some(sm_mhz), memory_mhz: Some(2619), power_w: Some(f64::from(sm_mhz) / 4.0), reasons }
    }

    #[test]
    fn a_batch_is_of_the_worst_class_that_it_met() {
        let class = |readings: &[Reading]| classify(readings, LIMITS);
        assert_eq!(class(&[at(1980, 0), at(1980, 0)]), Some(Class::Ok));
        assert_eq!(class(&[at(1980, 0), at(1755, 0x4)]), Some(Class::PowerCap));
        assert_eq!(class(&[at(1980, 0x4), at(1200, 0x20)]), Some(Class::Thermal));
        // The hardware's slowdown bears its bit besides that of its cause.
        assert_eq!(class(&[at(990, 0x8 | 0x40)]), Some(Class::Thermal));
        assert_eq!(class(&[at(990, 0x8 | 0x80)]), Some(Class::Thermal));
        assert_eq!(class(&[]), None);
    }

    #[test]
    fn an_idle_clock_is_low_in_most_readings_and_nothing_keeps_it_low() {
        let class = |readings: &[Reading]| classify(readings, LIMITS);
        assert_eq!(class(&[at(345, 0x1), at(345, 0x1), at(1980, 0)]), Some(Class::Idle));
        assert_eq!(class(&[at(345, 0), at(1980, 0)]), Some(Class::Ok), "it rose meanwhile");
        assert_eq!(class(&[at(1980, 0x1), at(1980, 0x1)]), Some(Class::Ok), "a moment without work");
        assert_eq!(class(&[at(705, 0x2), at(705, 0x2)]), Some(Class::Ok), "a user set it");
        assert_eq!(class(&[at(900, 0x4), at(900, 0x4)]), Some(Class::PowerCap));
        let slow_memory = Reading { memory_mhz: Some(405), ..at(1980, 0) };
        assert_eq!(class(&[slow_memory]), Some(Class::Idle));
        // Without the highest clocks there are only NVML's words.
        assert_eq!(classify(&[at(345, 0)], Limits::default()), Some(Class::Ok));
        assert_eq!(classify(&[at(345, 0x1)], Limits::default()), Some(Class::Idle));
    }

    #[test]
    fn only_what_the_program_does_is_valid() {
        let valid = [Class::Ok, Class::PowerCap, Class::Idle, Class::Thermal].map(Class::is_valid);
        assert_eq!(valid, [true, true, false, false]);
    }

    #[test]
    fn clocks_are_medians_and_all_reasons() {
        let readings = [at(1755, 0x4), at(1980, 0x1), at(1740, 0x4), Reading::default()];
        let clocks = Clocks::of(&readings, LIMITS).expect("readings");
        assert_eq!((clocks.sm_mhz, clocks.memory_mhz, clocks.power_w), (Some(1755), Some(2619), Some(438.75)));
        assert_eq!(clocks.reasons(), ["idle", "power cap"]);
        assert_eq!(clocks.to_json()["class"], "power cap");
        assert_eq!(Clocks::of(&[], LIMITS), None);
        assert_eq!(Clocks::of(&[Reading::default()], LIMITS).and_then(|clocks| clocks.sm_mhz), None);
    }
}
