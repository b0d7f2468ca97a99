//! What a run may cost, so that a hostile program ends with a message and not with the machine.

/// The limits of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Steps: one is one op done by one thread. Past it the run ends with an error that names `--step-limit`.
    pub steps: u64,
    /// Bytes of all buffers together, the simulator's notes on them included.
    pub memory: u64,
    /// Diagnostics of one kind that are kept; further ones are counted.
    pub diagnostics: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { steps: 20_000_000_000, memory: 4 << 30, diagnostics: 20 }
    }
}

/// Regions inside regions that the simulator follows.
pub(crate) const MAX_DEPTH: usize = 400;

/// Instructions that one kernel may be compiled to.
pub(crate) const MAX_CODE: usize = 4_000_000;

/// Threads of one block that the simulator runs.
pub(crate) const MAX_THREADS: u64 = 1 << 14;

/// Sets of thread coordinates, blocks times threads, that a launch may have.
pub(crate) const MAX_BLOCKS: u64 = u32::MAX as u64 - 1;
