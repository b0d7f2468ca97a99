//! The time that a step takes, on every target.
//!
//! WebAssembly without a host interface (`wasm32-unknown-unknown`) has no clock, and the standard library panics there
//! when it is asked. Times are no part of any result, so they are zero there until the host gives its own clock, by
//! `set_host_clock`, which is there on that target alone.

use std::time::Duration;

#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
type Moment = std::time::Instant;
/// The time since some moment that the host chooses.
#[cfg(all(target_family = "wasm", target_os = "unknown"))]
type Moment = Duration;

#[cfg(all(target_family = "wasm", target_os = "unknown"))]
static HOST_CLOCK: std::sync::OnceLock<fn() -> Duration> = std::sync::OnceLock::new();

/// Makes `clock` the clock of the module: it gives the time since some moment, and does not go back. The first call counts.
#[cfg(all(target_family = "wasm", target_os = "unknown"))]
pub fn set_host_clock(clock: fn() -> Duration) {
    HOST_CLOCK.get_or_init(|| clock);
}

/// A moment, to measure from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Instant(Moment);

impl Instant {
    /// Now.
    #[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
    pub fn now() -> Instant {
        Instant(Moment::now())
    }

    /// Now; always the same moment as long as the host has given no clock.
    #[cfg(all(target_family = "wasm", target_os = "unknown"))]
    pub fn now() -> Instant {
        Instant(HOST_CLOCK.get().map_or(Duration::ZERO, |clock| clock()))
    }

    /// How long ago it was.
    pub fn elapsed(self) -> Duration {
        Instant::now().duration_since(self)
    }

    /// The time from `earlier` to this moment; zero where that is later.
    #[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
    pub fn duration_since(self, earlier: Instant) -> Duration {
        self.0.saturating_duration_since(earlier.0)
    }

    /// The time from `earlier` to this moment; zero where that is later.
    #[cfg(all(target_family = "wasm", target_os = "unknown"))]
    pub fn duration_since(self, earlier: Instant) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}
