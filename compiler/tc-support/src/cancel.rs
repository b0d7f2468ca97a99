//! A request to end what is going on, from another thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A request to cancel. Copies are of the same request; whoever works looks at it every now and then.
#[derive(Clone, Default, Debug)]
pub struct Cancel {
    asked: Arc<AtomicBool>,
}

/// What unwinds where work that returns nothing was cancelled; whoever gave it the request catches it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cancelled;

impl Cancel {
    /// A request that was not made yet.
    pub fn new() -> Cancel {
        Cancel::default()
    }

    /// Makes the request. It stays made.
    pub fn cancel(&self) {
        // Nothing is handed over with it, so no order is needed.
        self.asked.store(true, Ordering::Relaxed);
    }

    /// Was it made?
    pub fn is_cancelled(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    /// Unwinds with [`Cancelled`], without a panic's message, if it was made.
    pub fn check(&self) {
        if self.is_cancelled() {
            std::panic::resume_unwind(Box::new(Cancelled));
        }
    }
}
