//! Where compiled programs run: arrays and their files, devices, launches and timing.
//!
//! | module | what it holds |
//! |---|---|
//! | [`mod@array`] | an array on the host; [`npy`] reads and writes it, [`random`] fills it, [`mod@compare`] compares two |
//! | [`device`] | the [`Device`] trait, programs, and what a run reports |
//! | [`check`] | do these arguments fit this manifest? |
//! | [`shapes`] | the sizes that the shapes of arguments say |
//! | [`stats`] | from samples to a median with its confidence interval |
//! | [`clocks`] | the clocks that samples were taken under, and which of them compare; `nvml` reads them, `sampling` repeats |
//! | [`toolkit`], [`nvrtc`], [`ptxas`], [`nvdisasm`] | finding NVIDIA's compiler, assembler and disassembler at run time and calling them; no GPU is needed |
//! | [`scratch`] | folders for what such programs read and write |
//! | [`code_cache`] | machine code that was made before, below the user's cache folder |
//! | [`cubin`] | what machine code says of its kernels |
//! | [`cuda`] | the device that is a GPU |
//!
//! The modules from [`nvrtc`] on, and what finds kernels' resources, are there with the feature `cuda`, which is on unless an
//! embedder turns it off: without it no library is opened and no program is started.
//!
//! No CUDA is needed to build this crate, and none to load it: the driver and the compiler are opened on first use,
//! and their absence is a diagnostic. This crate knows no IR. Unsafe code is confined to [`nvrtc`] and [`cuda`].

pub mod array;
pub mod check;
pub mod clocks;
#[cfg(feature = "cuda")]
pub mod code_cache;
pub mod compare;
#[cfg(feature = "cuda")]
pub mod cubin;
#[cfg(feature = "cuda")]
pub mod cuda;
pub mod device;
mod element;
mod hash;
pub mod npy;
#[cfg(feature = "cuda")]
pub mod nvdisasm;
#[cfg(feature = "cuda")]
mod nvml;
#[cfg(feature = "cuda")]
pub mod nvrtc;
#[cfg(feature = "cuda")]
pub mod ptxas;
pub mod random;
#[cfg(feature = "cuda")]
mod sampling;
pub mod scratch;
pub mod shapes;
pub mod stats;
pub mod toolkit;

pub use array::Array;
pub use clocks::Clocks;
pub use compare::{Comparison, compare};
#[cfg(feature = "cuda")]
pub use cuda::{CudaDevice, DeviceMemory, Given, Plan, Resident, keep_current};
pub use device::{BenchOptions, BenchReport, Code, Device, KernelReport, Program, RunOptions, RunReport};
pub use element::Element;
pub use hash::hash;
pub use random::Fill;
pub use stats::{L2, Timing};
pub use tc_target::DType;
