//! The time that a step takes, on every target.
//!
//! WebAssembly without a host interface (`wasm32-unknown-unknown`) has no clock, and the standard library panics there
//! when it is asked. Times are no part of any result, so they are zero there; whoever hosts the module measures by a
//! clock of its own.

use std::time::Duration;

/// A moment, to measure from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Instant(#[cfg(not(all(target_family = "wasm", target_os = "unknown")))] std::time::Instant);

#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
impl Instant {
    /// Now.
    pub fn now() -> Instant {
        Instant(std::time::Instant::now())
    }

    /// How long ago it was.
    pub fn elapsed(self) -> Duration {
        self.0.elapsed()
    }

    /// The time from `earlier` to this moment; zero where that is later.
    pub fn duration_since(self, earlier: Instant) -> Duration {
        self.0.saturating_duration_since(earlier.0)
    }
}

#[cfg(all(target_family = "wasm", target_os = "unknown"))]
impl Instant {
    /// Now, on a target without a clock.
    pub fn now() -> Instant {
        Instant()
    }

    /// Zero, on a target without a clock.
    pub fn elapsed(self) -> Duration {
        Duration::ZERO
    }

    /// Zero, on a target without a clock.
    pub fn duration_since(self, _: Instant) -> Duration {
        Duration::ZERO
    }
}
