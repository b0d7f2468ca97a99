//! `tc-tune worker`: compiles points, checks them and times them, as the lines on its standard input ask.
//!
//! A worker is a process of its own, so that a kernel that breaks the context of its device breaks nothing else.

mod cache;
pub(crate) mod protocol;

use crate::records::{self, Clocks, Time, Verdict};
use crate::task::{Task, Values};
use cache::{Cache, Cached};
use protocol::{Bench, DeviceInfo, Hello, Open, Reply, Request, line};
use std::io::{BufRead, Write};
use std::time::{SystemTime, UNIX_EPOCH};
use tc::ir::Module;
use tc::run::{Built, CheckOptions, Define, Machine, Verified, check_after};
use tc::runtime::code_cache::CodeCache;
use tc::runtime::hash;
use tc::runtime::{BenchOptions, Code, CudaDevice, Device};
use tc::support::{Diagnostic, Diagnostics};
use tc::target::Target;
use tc::{Compiler, Failure};

/// Checks of points share the time of so many: the cells that are compared are chosen by the seed.
const SHARE: usize = 64;

/// What a worker works for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum WorkerDevice {
    /// It compiles, and measures nothing.
    None,
    /// The GPU with this number.
    Cuda(usize),
}

/// Serves until the input ends; returns what kept it from serving.
pub(crate) fn serve(device: WorkerDevice, input: &mut dyn BufRead, output: &mut dyn Write) -> Result<(), Diagnostic> {
    let mut gpu = match device {
        WorkerDevice::None => None,
        WorkerDevice::Cuda(ordinal) => Some(CudaDevice::open(ordinal)?),
    };
    let hello = Hello {
        version: protocol::VERSION,
        compiler: env!("CARGO_PKG_VERSION").to_string(),
        device: gpu.as_ref().map(info),
    };
    let mut job: Option<Job> = None;
    let mut verified = Verified::default();
    // A tuner that is gone wants no answer.
    let mut say = |text: String| output.write_all(text.as_bytes()).and_then(|()| output.flush()).is_ok();
    if !say(line(&hello)) {
        return Ok(());
    }
    let mut text = String::new();
    loop {
        text.clear();
        match input.read_line(&mut text) {
            Ok(0) | Err(_) => return Ok(()),
            Ok(_) => {}
        }
        let reply = match serde_json::from_str::<Request>(&text) {
            Err(error) => Reply::Refused { message: format!("the request cannot be read: {error}") },
            Ok(Request::Open(open)) => match Job::open(*open) {
                Ok(opened) => {
                    (job, verified) = (Some(opened), Verified::default());
                    Reply::Opened
                }
                Err(found) => Reply::Refused { message: first(&found).1 },
            },
            Ok(Request::Compile { ticket, point }) => match &job {
                Some(job) => Reply::Done { ticket, result: Box::new(job.compile(&point)) },
                None => Reply::Refused { message: "nothing is open".to_string() },
            },
            Ok(Request::Measure { ticket, point }) => match (&job, &mut gpu) {
                (Some(job), Some(gpu)) => {
                    Reply::Done { ticket, result: Box::new(job.measure(&point, gpu, &mut verified)) }
                }
                (None, _) => Reply::Refused { message: "nothing is open".to_string() },
                (_, None) => Reply::Refused { message: "this worker has no device".to_string() },
            },
        };
        let ends = match &reply {
            Reply::Refused { .. } => true,
            // The context is gone, and with it this process: the tuner starts another.
            Reply::Done { result, .. } => result.verdict == Verdict::Faulted,
            Reply::Opened => false,
        };
        if !say(line(&reply)) || ends {
            return Ok(());
        }
    }
}

fn info(gpu: &CudaDevice) -> DeviceInfo {
    let name = gpu.name();
    let model = name.split_once(' ').map_or(name.as_str(), |(_, model)| model);
    let (major, minor) = gpu.driver_version();
    DeviceInfo {
        class: format!("{model}, CUDA {major}.{minor}"),
        id: Some(format!("{}/{}", host(), gpu.uuid())),
        target: gpu.target().map_or(String::new(), |target| target.name.to_string()),
        cuda: Some((major, minor)),
    }
}

/// The name of this machine.
fn host() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname");
    name.map_or("localhost".to_string(), |name| name.trim().to_string())
}

/// What is open.
struct Job {
    compiler: Compiler,
    module: Module,
    open: Open,
    cache: Cache,
}

impl Job {
    fn open(open: Open) -> Result<Job, Diagnostics> {
        let mut compiler = Compiler::new();
        // Points by the thousand: what is kept is verified by its values.
        compiler.verify = false;
        compiler.target = Target::parse(&open.target)?;
        let module = compiler.load(&open.file, &open.text).map_err(|failure| failure.diagnostics)?.module;
        let cache = Cache { kept: open.cache.clone().map(CodeCache::new), cuda: open.cuda };
        let job = Job { compiler, module, open, cache };
        job.task()?;
        Ok(job)
    }

    fn task(&self) -> Result<Task<'_>, Diagnostic> {
        let names = (Some(self.open.func.as_str()), Some(self.open.schedule.as_str()));
        Task::choose(&self.compiler, &self.module, names, Vec::new())
    }

    fn defines(&self, point: &Values) -> Vec<Define> {
        let sizes = self.open.defines.iter().filter(|(name, _)| !point.contains_key(*name));
        sizes.chain(point).map(|(name, &value)| (name.clone(), value)).collect()
    }

    fn build(&self, task: &Task<'_>, point: &Values) -> Result<(Built, tc::runtime::Program), Failure> {
        let built = self.compiler.build(&self.module, &task.case, &self.defines(point), true)?;
        let program = self.compiler.program(&built)?;
        Ok((built, program))
    }

    fn compile(&self, point: &Values) -> records::Result {
        let compiled = || -> Result<String, Diagnostics> {
            let task = self.task()?;
            let (_, program) = self.build(&task, point).map_err(|failure| failure.diagnostics)?;
            self.cache.compile(&program)?;
            let Code::Cuda(source) = &program.code else { return Ok(String::new()) };
            Ok(hash(source))
        };
        let started = now_ms();
        let result = match compiled() {
            Ok(code) => records::Result { code: Some(code), ..ok() },
            Err(found) => failed(Verdict::Rejected, &found),
        };
        records::Result { compile_ms: Some((started, now_ms())), ..result }
    }

    fn measure(&self, point: &Values, gpu: &mut CudaDevice, verified: &mut Verified) -> records::Result {
        let started = now_ms();
        let mut device = Cached { device: gpu, cache: &self.cache };
        let mut result = self.measure_on(point, &mut device, verified).unwrap_or_else(|failure| match failure {
            Measured::Refused(found) => failed(Verdict::Rejected, &found),
            Measured::Device(found) => failed(Verdict::Faulted, &found),
            Measured::Wrong(found) => failed(Verdict::Wrong, &found),
        });
        result.device_ms = Some((started, now_ms()));
        result
    }

    fn measure_on(
        &self,
        point: &Values,
        device: &mut dyn Device,
        verified: &mut Verified,
    ) -> Result<records::Result, Measured> {
        let task = self.task().map_err(|wrong| Measured::Refused(wrong.into()))?;
        let options = CheckOptions {
            seed: self.open.seed,
            defines: self.defines(point),
            n_cases: SHARE,
            ..CheckOptions::default()
        };
        let mut machine = Machine::Device(device);
        let (compiler, module) = (&self.compiler, &self.module);
        if self.open.bench.check {
            let with = (&options, &mut *verified);
            let checked = check_after(compiler, module, &task.case, &mut machine, with).map_err(Measured::of)?;
            if !checked.ok {
                return Err(Measured::Wrong(checked.diagnostics));
            }
        }
        let how = bench_options(&self.open.bench);
        let measured = tc::run::bench(compiler, module, &task.case, &mut machine, (&options, &how));
        Ok(timed(&measured.map_err(Measured::of)?))
    }
}

/// What a measurement comes to. A time under clocks that say nothing of the program is kept, and does not count.
fn timed(measured: &tc::run::Measured) -> records::Result {
    let timing = measured.timing;
    let time = Time { median: timing.median_us, low: timing.low_us, high: timing.high_us, n: timing.n };
    let invalid = measured.clocks.map(|clocks| clocks.class).filter(|class| !class.is_valid());
    let result = match invalid {
        None => ok(),
        Some(class) => {
            let message = format!("the GPU's clock was invalid in three tries: {}", class.name());
            records::Result::failed(Verdict::InvalidClock, class.name(), &message)
        }
    };
    records::Result {
        time_us: Some(time),
        clocks: measured.clocks.as_ref().map(|clocks| Box::new(Clocks::of(clocks))),
        registers: measured.kernels.iter().filter_map(|kernel| kernel.registers).collect(),
        ..result
    }
}

/// Why there is no time.
enum Measured {
    Refused(Diagnostics),
    Wrong(Diagnostics),
    Device(Diagnostics),
}

impl Measured {
    fn of(failure: Failure) -> Measured {
        let of_device = |found: &Diagnostic| matches!(found.code, "cuda" | "bench");
        match failure.diagnostics.iter().any(of_device) {
            true => Measured::Device(failure.diagnostics),
            false => Measured::Refused(failure.diagnostics),
        }
    }
}

fn ok() -> records::Result {
    records::Result {
        verdict: Verdict::Ok,
        reason: None,
        message: None,
        ..records::Result::failed(Verdict::Ok, "", "")
    }
}

/// The code and the message of the first error.
fn first(found: &Diagnostics) -> (String, String) {
    let error = found.iter().find(|found| found.is_error());
    error.map_or((String::new(), String::new()), |error| (error.code.to_string(), error.message.clone()))
}

fn failed(verdict: Verdict, found: &Diagnostics) -> records::Result {
    let (reason, message) = first(found);
    records::Result::failed(verdict, &reason, &message)
}

fn bench_options(bench: &Bench) -> BenchOptions {
    BenchOptions {
        l2: bench.l2(),
        repetitions: bench.repeat,
        interval: bench.interval,
        min_replay_us: bench.min_sample_us,
        warm_up_ms: bench.warm_up_ms,
        max_seconds: bench.budget_s.unwrap_or(BenchOptions::default().max_seconds),
    }
}

/// Milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
