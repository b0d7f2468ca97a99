//! Signals that ask the process to end, for a mode that has to tidy up before it does.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Has someone asked the process to end? One that nobody listens for never comes.
#[derive(Clone, Default, Debug)]
pub struct Interrupt {
    came: Arc<AtomicBool>,
    signal: Arc<AtomicUsize>,
}

impl Interrupt {
    /// The signals that a terminal, a shell and a batch system end a process with.
    const SIGNALS: [i32; 3] = [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP];

    /// Listens from now on: a first signal is told here instead of ending the process, a second one ends it at once.
    pub(crate) fn listen() -> std::io::Result<Interrupt> {
        let interrupt = Interrupt::default();
        for signal in Interrupt::SIGNALS {
            let (came, which) = (&interrupt.came, &interrupt.signal);
            // Of what is registered the first is done first: only a second signal finds the flag up.
            signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, came.clone())?;
            signal_hook::flag::register_usize(signal, which.clone(), signal as usize)?;
            signal_hook::flag::register(signal, came.clone())?;
        }
        Ok(interrupt)
    }

    /// The flag that goes up.
    pub fn flag(&self) -> Arc<AtomicBool> {
        self.came.clone()
    }

    /// The exit status that shells know for the signal, if one came.
    pub fn status(&self) -> Option<u8> {
        let signal = self.signal.load(Ordering::SeqCst);
        self.came.load(Ordering::SeqCst).then(|| u8::try_from(128 + signal).unwrap_or(u8::MAX))
    }
}
