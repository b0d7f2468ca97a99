//! How long a program takes on a GPU.
//!
//! With the cache kept, many launches are captured into one graph, so that the time of a launch from the host does
//! not count, and a replay is as long as the clock of the events is sure of. With buffers rotated, the launches of the
//! graph take copies of the buffers in turn, so that none finds its own in the cache. With the cache flushed, each
//! launch stands between two events of its own, behind a write of twice the cache's size that keeps the stream busy
//! while the host prepares it.

use super::CudaDevice;
use super::error::driver_error;
use super::launch::Prepared;
use crate::clocks::{Clocks, Limits, Reading};
use crate::device::{BenchOptions, Program};
use crate::sampling::{self, Subject};
use crate::stats::{L2, Timing};
use cudarc::driver::{CudaEvent, CudaGraph, CudaSlice, DevicePtr, DriverError, result, sys};
use std::time::{Duration, Instant};
use tc_support::{Diagnostic, Location};
use tc_target::Param;

/// Launches in one graph at most: their nodes take memory and time to build.
const MAX_LAUNCHES: usize = 4096;
/// Copies of the buffers at most, each of which takes calls of the driver.
const MAX_COPIES: usize = 1024;
/// Readings of the clocks before a batch, and after it.
const READINGS: usize = 2;
/// Microseconds of work that a reading is taken in.
const READING_US: f64 = 2000.0;

/// How many copies of its buffers `program` is measured with. The copies fill the cache twice: before one has its turn
/// again, at least as much as the cache holds was used since.
pub(super) fn copies(program: &Program, l2: L2, l2_bytes: usize) -> usize {
    let manifest = &program.manifest;
    let params = manifest.params.iter().map(|param| match param {
        Param::Buffer(buffer) => buffer.bytes,
        Param::Scalar(_) => 0,
    });
    let n_bytes = params.chain(manifest.temporaries.iter().map(|buffer| buffer.bytes)).fold(0, u64::saturating_add);
    match l2 {
        L2::Rotated => copies_of(n_bytes, l2_bytes as u64),
        L2::Kept | L2::Flushed => 1,
    }
}

fn copies_of(n_bytes: u64, l2_bytes: u64) -> usize {
    let n = (2 * l2_bytes).div_ceil(n_bytes.max(1));
    usize::try_from(n).unwrap_or(MAX_COPIES).clamp(1, MAX_COPIES)
}

/// Measures a program on `device`; `sets` is it with each copy of its buffers.
pub(super) fn bench(
    device: &CudaDevice,
    sets: &[Prepared],
    options: &BenchOptions,
) -> Result<(Timing, Option<Clocks>), Diagnostic> {
    let clock = Clock::new(device)?;
    let (batch, launches) = match options.l2 {
        L2::Kept | L2::Rotated => {
            let replay = Replay::of_least_time(&clock, sets, options.min_replay_us)?;
            let launches = replay.launches;
            (sampling::take(&mut Timed::new(clock, replay, launches), options)?, launches)
        }
        L2::Flushed => {
            let cold = Cold { memory: flush_memory(device)?, prepared: &sets[0] };
            (sampling::take(&mut Timed::new(clock, cold, 1), options)?, 1)
        }
    };
    let timing = Timing::from_samples(batch.samples, launches, options.l2).ok_or_else(|| {
        Diagnostic::error("bench", Location::None, "no samples were taken: at least one repetition is needed")
    })?;
    Ok((timing, batch.clocks))
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
    fn time(&self, work: impl FnOnce() -> Result<(), Diagnostic>) -> Result<f64, Diagnostic> {
        let stream = &self.device.stream;
        self.start.record(stream).map_err(failed)?;
        work()?;
        self.stop.record(stream).map_err(failed)?;
        let milliseconds = self.start.elapsed_ms(&self.stop).map_err(failed)?;
        Ok(f64::from(milliseconds) * 1e3)
    }
}

fn failed(error: DriverError) -> Diagnostic {
    driver_error("the measurement failed", error)
}

/// What a sample is the time of.
trait Work {
    /// Puts into the stream what comes before, and is not timed.
    fn prepare(&mut self, _device: &CudaDevice) -> Result<(), Diagnostic> {
        Ok(())
    }

    /// Puts into the stream what is timed.
    fn enqueue(&mut self, device: &CudaDevice) -> Result<(), Diagnostic>;
}

/// Work that samples are taken of.
struct Timed<'a, W> {
    clock: Clock<'a>,
    work: W,
    /// Launches in a sample.
    launches: usize,
    /// Microseconds that the last sample took, with all its launches.
    last_us: f64,
    start: Instant,
}

impl<'a, W: Work> Timed<'a, W> {
    fn new(clock: Clock<'a>, work: W, launches: usize) -> Timed<'a, W> {
        Timed { clock, work, launches, last_us: READING_US, start: Instant::now() }
    }
}

impl<W: Work> Subject for Timed<'_, W> {
    fn work(&mut self, time: Duration) -> Result<(), Diagnostic> {
        let start = Instant::now();
        loop {
            self.sample()?;
            if start.elapsed() >= time {
                return Ok(());
            }
        }
    }

    fn sample(&mut self) -> Result<f64, Diagnostic> {
        let Timed { clock, work, .. } = self;
        work.prepare(clock.device)?;
        self.last_us = clock.time(|| work.enqueue(clock.device))?;
        Ok(self.last_us / self.launches as f64)
    }

    /// The clocks are read while the GPU works, for without work they fall; none of that work is timed, for to read them
    /// takes the driver's time.
    fn readings(&mut self) -> Result<Vec<Reading>, Diagnostic> {
        let device = self.clock.device;
        let Some(gauge) = device.gauge() else { return Ok(Vec::new()) };
        let n = (READING_US / self.last_us.max(1.0)).ceil().clamp(1.0, 256.0) as usize;
        let mut readings = Vec::new();
        for _ in 0..READINGS {
            for _ in 0..n {
                self.work.prepare(device)?;
                self.work.enqueue(device)?;
            }
            readings.extend(gauge.read());
            device.stream.synchronize().map_err(failed)?;
        }
        Ok(readings)
    }

    fn limits(&self) -> Limits {
        self.clock.device.gauge().map_or(Limits::default(), |gauge| gauge.limits())
    }

    fn rest(&mut self, time: Duration) {
        std::thread::sleep(time);
    }

    fn now(&self) -> Duration {
        self.start.elapsed()
    }
}

/// A graph of a number of launches.
struct Replay {
    graph: CudaGraph,
    launches: usize,
}

impl Replay {
    /// A graph with as many launches as take `min_us`, and each copy of the buffers as often as any other, found by
    /// measuring ever longer ones.
    fn of_least_time(clock: &Clock<'_>, sets: &[Prepared], min_us: f64) -> Result<Replay, Diagnostic> {
        let most = MAX_LAUNCHES / sets.len() * sets.len();
        let mut launches = sets.len();
        loop {
            let replay = Replay::capture(clock.device, sets, launches)?;
            // The first launch of a graph also uploads it.
            clock.time(|| replay.launch())?;
            let us = clock.time(|| replay.launch())?;
            if us >= min_us || launches >= most {
                return Ok(replay);
            }
            // A tenth more than seems needed, but not at one blow: a short replay is mostly the graph's own time.
            let wanted = (launches as f64 * min_us * 1.1 / us.max(0.1)).ceil().min(most as f64) as usize;
            let wanted = wanted.clamp(launches + 1, launches.saturating_mul(16));
            launches = wanted.next_multiple_of(sets.len()).min(most);
        }
    }

    fn capture(device: &CudaDevice, sets: &[Prepared], launches: usize) -> Result<Replay, Diagnostic> {
        let failed = |error| driver_error("the launches cannot be made into a graph", error);
        let stream = &device.stream;
        stream.begin_capture(sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL).map_err(failed)?;
        let enqueued = sets.iter().cycle().take(launches).try_for_each(|prepared| prepared.enqueue(stream));
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

impl Work for Replay {
    fn enqueue(&mut self, _: &CudaDevice) -> Result<(), Diagnostic> {
        self.launch()
    }
}

/// Launches each of which finds nothing of its own in the cache, for other memory was written before it.
struct Cold<'p> {
    memory: CudaSlice<u8>,
    prepared: &'p Prepared,
}

/// Memory of twice the size of the second-level cache, which pushes all else out of it when it is written.
fn flush_memory(device: &CudaDevice) -> Result<CudaSlice<u8>, Diagnostic> {
    device.stream.alloc_zeros((2 * device.l2_bytes).max(1 << 20)).map_err(failed)
}

impl Work for Cold<'_> {
    fn prepare(&mut self, device: &CudaDevice) -> Result<(), Diagnostic> {
        let stream = &device.stream;
        let address = self.memory.device_ptr(stream).0;
        // SAFETY: the address is that of as many bytes, allocated in this stream and read by nothing.
        unsafe { result::memset_d8_async(address, 0, self.memory.len(), stream.cu_stream()) }.map_err(failed)
    }

    fn enqueue(&mut self, device: &CudaDevice) -> Result<(), Diagnostic> {
        self.prepared.enqueue(&device.stream)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_fill_the_cache_twice() {
        let l2 = 50 << 20;
        assert_eq!(copies_of(200 << 20, l2), 1);
        assert_eq!(copies_of(100 << 20, l2), 1);
        assert_eq!(copies_of(60 << 20, l2), 2);
        assert_eq!(copies_of(1 << 20, l2), 100);
        assert_eq!((copies_of(4096, l2), copies_of(0, l2), copies_of(4096, 0)), (MAX_COPIES, MAX_COPIES, 1));
    }
}
