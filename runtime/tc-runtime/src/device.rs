//! What runs programs: the device trait, programs as devices take them, and what comes back.

use crate::array::Array;
use crate::clocks::Clocks;
use crate::stats::{L2, Timing};
use std::any::Any;
use std::fmt;
use std::sync::Arc;
use tc_support::{Diagnostic, Diagnostics};
use tc_target::{KernelManifest, Target};

/// The kernels of one host function, for a device to run.
#[derive(Clone, Debug)]
pub struct Program {
    /// What a launch needs to know: parameters, temporaries, kernels and their extents.
    pub manifest: KernelManifest,
    /// What the code was made for.
    pub target: Target,
    /// The code.
    pub code: Code,
}

/// The code of a program, in one of the forms that devices take.
#[derive(Clone)]
pub enum Code {
    /// CUDA C++, compiled when it is loaded.
    Cuda(String),
    /// PTX, which the driver compiles.
    Ptx(String),
    /// Machine code of the target.
    Cubin(Vec<u8>),
    /// What only another device understands, such as the IR that a simulator runs; that device downcasts it.
    Foreign(Arc<dyn Any + Send + Sync>),
}

impl Code {
    /// What kind of code it is, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Code::Cuda(_) => "CUDA C++",
            Code::Ptx(_) => "PTX",
            Code::Cubin(_) => "machine code",
            Code::Foreign(_) => "another device's program",
        }
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind())
    }
}

/// How to run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RunOptions {
    /// Fill buffers that are only written, and temporaries, with bytes of 0xff (not-a-number in every float type)
    /// before the run, so that a cell no thread wrote is seen.
    pub poison: bool,
}

impl Default for RunOptions {
    fn default() -> RunOptions {
        RunOptions { poison: true }
    }
}

/// How to measure.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct BenchOptions {
    /// What the second-level cache holds before each launch.
    pub l2: L2,
    /// Samples to take; more, where that takes less than 20 ms or `interval` asks for them.
    pub repetitions: usize,
    /// How wide the interval of the median may be, as a part of the median: up to 16 times as many samples are taken until
    /// it is narrower.
    pub interval: Option<f64>,
    /// The least time of one sample in microseconds; as many launches go into one as that takes.
    pub min_replay_us: f64,
    /// How long to run before the first sample, in milliseconds: clocks rise and caches fill.
    pub warm_up_ms: f64,
    /// A bound on the time of all samples, in seconds, for slow programs: fewer are taken then, but at least 5.
    pub max_seconds: f64,
}

impl Default for BenchOptions {
    fn default() -> BenchOptions {
        BenchOptions {
            l2: L2::Kept,
            repetitions: 50,
            interval: None,
            min_replay_us: 200.0,
            warm_up_ms: 100.0,
            max_seconds: 10.0,
        }
    }
}

/// What a run tells beside the contents of the arrays.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct RunReport {
    /// What became of each kernel, in launch order.
    pub kernels: Vec<KernelReport>,
    /// What the device found while it ran, such as races; a device that checks nothing finds nothing.
    pub diagnostics: Diagnostics,
}

/// What a measurement tells.
#[derive(Clone, PartialEq, Debug)]
pub struct BenchReport {
    /// How long one run takes, all kernels together.
    pub timing: Timing,
    /// The clocks of the samples, where the device tells them. Of invalid ones three tries gave no others.
    pub clocks: Option<Clocks>,
    /// What the device knows of each kernel, in launch order.
    pub kernels: Vec<KernelReport>,
}

/// One kernel as the device sees it. What a device does not know is `None`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct KernelReport {
    /// Its name.
    pub name: String,
    /// Registers of a thread.
    pub registers: Option<u64>,
    /// Bytes of a thread's memory that did not fit its registers.
    pub local_bytes: Option<u64>,
    /// Bytes of shared memory with a fixed size.
    pub static_shared: Option<u64>,
    /// Bytes of shared memory whose size the launch says.
    pub dynamic_shared: Option<u64>,
    /// Blocks that a multiprocessor holds at once.
    pub blocks_per_sm: Option<u64>,
}

/// Something that runs programs.
///
/// `args` are the manifest's parameters in order; a scalar parameter takes an array of rank 0.
pub trait Device {
    /// What it is, in words: `sim`, `cuda:0 NVIDIA H200`.
    fn name(&self) -> String;

    /// The best target for this device; `None` for a device that runs code for any.
    fn target(&self) -> Option<Target>;

    /// Runs `program` once and puts what it wrote into `args`.
    fn run(&mut self, program: &Program, args: &mut [Array], options: &RunOptions) -> Result<RunReport, Diagnostic>;

    /// Measures one run of `program`, all its kernels together, and leaves `args` as they are.
    fn bench(&mut self, program: &Program, args: &[Array], options: &BenchOptions) -> Result<BenchReport, Diagnostic>;
}
