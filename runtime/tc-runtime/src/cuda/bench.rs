//! How long a program takes on a GPU.
//!
//! With the cache kept, many launches are captured into one graph, so that the time of a launch from the host does
//! not count, and a replay is as long as the clock of the events is sure of. With the cache flushed, each launch
//! stands between two events of its own, behind a write of twice the cache's size that keeps the stream busy while
//! the host prepares it.

use super::CudaDevice;
use super::error::driver_error;
use super::launch::Prepared;
use crate::device::BenchOptions;
use crate::stats::{L2, Timing};
use cudarc::driver::{CudaEvent, CudaGraph, CudaSlice, DevicePtr, DriverError, result, sys};
use std::time::{Duration, Instant};
use tc_support::{Diagnostic, Location};

/// Launches in one graph at most: their nodes take memory and time to build.
const MAX_LAUNCHES: usize = 4096;

/// Samples that are taken even where that takes longer than allowed.
const MIN_SAMPLES: usize = 5;

/// Measures `prepared` on `device`.
pub(super) fn bench(device: &CudaDevice, prepared: &Prepared, options: &BenchOptions) -> Result<Timing, Diagnostic> {
    let mut clock = Clock::new(device)?;
    let (samples, launches) = match options.l2 {
        L2::Kept => {
            let replay = Replay::of_least_time(&mut clock, prepared, options.min_replay_us)?;
            let launches = replay.launches;
            (clock.samples(options, launches, |clock| clock.time(|| replay.launch()))?, launches)
        }
        L2::Flushed => {
            let mut flush = Flush::new(device)?;
            let sample = |clock: &mut Clock<'_>| {
                flush.enqueue(clock.device)?;
                clock.time(|| prepared.enqueue(&device.stream))
            };
            (clock.samples(options, 1, sample)?, 1)
        }
    };
    Timing::from_samples(samples, launches, options.l2).ok_or_else(|| {
        Diagnostic::error("bench", Location::None, "no samples were taken: at least one repetition is needed")
    })
}

/// Two events that take the time.
struct Clock<'a> {
    device: &'a CudaDevice,
    start: CudaEvent,
    stop: CudaEvent,
}

impl<'a> Clock<'a> {
    fn new(device: &'a CudaDevice) -> Result<Clock<'a>, Diagnostic> {
        // Without this flag cudarc makes events that take no time.
        let event = || device.context.new_event(Some(sys::CUevent_flags::CU_EVENT_DEFAULT));
        let failed = |error| driver_error("an event cannot be made", error);
        Ok(Clock { device, start: event().map_err(failed)?, stop: event().map_err(failed)? })
    }

    /// The microseconds between the start and the end of what `work` puts into the stream.
    fn time(&mut self, work: impl FnOnce() -> Result<(), Diagnostic>) -> Result<f64, Diagnostic> {
        let stream = &self.device.stream;
        self.start.record(stream).map_err(failed)?;
        work()?;
        self.stop.record(stream).map_err(failed)?;
        let milliseconds = self.start.elapsed_ms(&self.stop).map_err(failed)?;
        Ok(f64::from(milliseconds) * 1e3)
    }

    /// Warms up, and then takes as many samples as asked for, or as the bound on their time admits.
    fn samples(
        &mut self,
        options: &BenchOptions,
        launches: usize,
        mut sample: impl FnMut(&mut Clock<'a>) -> Result<f64, Diagnostic>,
    ) -> Result<Vec<f64>, Diagnostic> {
        let start = Instant::now();
        let warm_up = seconds(options.warm_up_ms / 1e3);
        loop {
            sample(self)?;
            if start.elapsed() >= warm_up {
                break;
            }
        }
        let (start, limit) = (Instant::now(), seconds(options.max_seconds));
        let mut samples = Vec::new();
        while samples.len() < options.repetitions && (samples.len() < MIN_SAMPLES || start.elapsed() < limit) {
            samples.push(sample(self)? / launches as f64);
        }
        Ok(samples)
    }
}

fn failed(error: DriverError) -> Diagnostic {
    driver_error("the measurement failed", error)
}

/// Seconds as a duration, also where the number is none.
fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(if seconds > 0.0 { Duration::MAX } else { Duration::ZERO })
}

/// A graph of a number of launches.
struct Replay {
    graph: CudaGraph,
    launches: usize,
}

impl Replay {
    /// A graph with as many launches as take `min_us`, found by measuring ever longer ones.
    fn of_least_time(clock: &mut Clock<'_>, prepared: &Prepared, min_us: f64) -> Result<Replay, Diagnostic> {
        let mut launches = 1;
        loop {
            let replay = Replay::capture(clock.device, prepared, launches)?;
            // The first launch of a graph also uploads it.
            clock.time(|| replay.launch())?;
            let us = clock.time(|| replay.launch())?;
            if us >= min_us || launches >= MAX_LAUNCHES {
                return Ok(replay);
            }
            // A tenth more than seems needed, but not at one blow: a short replay is mostly the graph's own time.
            let wanted = (launches as f64 * min_us * 1.1 / us.max(0.1)).ceil().min(MAX_LAUNCHES as f64) as usize;
            launches = wanted.clamp(launches + 1, launches.saturating_mul(16)).min(MAX_LAUNCHES);
        }
    }

    fn capture(device: &CudaDevice, prepared: &Prepared, launches: usize) -> Result<Replay, Diagnostic> {
        let failed = |error| driver_error("the launches cannot be made into a graph", error);
        let stream = &device.stream;
        stream.begin_capture(sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL).map_err(failed)?;
        let enqueued = (0..launches).try_for_each(|_| prepared.enqueue(stream));
        // The capture ends in any case; the first error is the one that counts.
        let graph = stream.end_capture(sys::CUgraphInstantiate_flags(0));
        enqueued?;
        let graph = graph.map_err(failed)?.ok_or_else(|| {
            Diagnostic::error("bench", Location::None, "the launches made an empty graph: are there kernels?")
        })?;
        Ok(Replay { graph, launches })
    }

    fn launch(&self) -> Result<(), Diagnostic> {
        self.graph.launch().map_err(failed)
    }
}

/// Memory of twice the size of the second-level cache, which pushes all else out of it when it is written.
struct Flush {
    memory: CudaSlice<u8>,
}

impl Flush {
    fn new(device: &CudaDevice) -> Result<Flush, Diagnostic> {
        let n_bytes = (2 * device.l2_bytes).max(1 << 20);
        Ok(Flush { memory: device.stream.alloc_zeros(n_bytes).map_err(failed)? })
    }

    fn enqueue(&mut self, device: &CudaDevice) -> Result<(), Diagnostic> {
        let stream = &device.stream;
        let address = self.memory.device_ptr(stream).0;
        // SAFETY: the address is that of as many bytes, allocated in this stream and read by nothing.
        unsafe { result::memset_d8_async(address, 0, self.memory.len(), stream.cu_stream()) }.map_err(failed)
    }
}
