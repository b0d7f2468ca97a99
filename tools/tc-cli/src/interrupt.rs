//! Signals that ask the process to end, for a mode that has to tidy up before it does.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Has someone asked the process to end? One that nothing listens for never comes.
#[derive(Clone, Default, Debug)]
pub struct Interrupt {
    came: Arc<AtomicBool>,
    signal: Arc<AtomicUsize>,
}

impl Interrupt {
    /// The signals that a terminal, a shell and a batch system end a process with.
    const SIGNALS: [i32; 3] = [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP];

    /// Listens from now on: a first signal is reported here instead of ending the process, a second one ends it at once.
    pub(crate) fn listen() -> std::io::Result<Interrupt> {
        let interrupt = Interrupt::default();
        let ignored = ignored();
        // Who started the process may have said that it is to ignore some, as `nohup` does.
        for signal in Interrupt::SIGNALS.into_iter().filter(|signal| ignored >> (signal - 1) & 1 == 0) {
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

/// The signals that this process ignores, a bit each, as the kernel tells.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}
