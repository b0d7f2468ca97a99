//! What the machine code of a kernel takes of a thread, which only an assembler knows.

/// What a kernel takes of each of its threads.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Resources {
    /// The kernel, by its name in the code.
    pub kernel: String,
    /// Registers of 32 bits.
    pub registers: u64,
    /// Bytes of local memory: arrays that are in no registers, and what did not fit them.
    pub local_bytes: u64,
}
