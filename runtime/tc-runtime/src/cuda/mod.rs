//! The device that is an NVIDIA GPU, through the driver that is opened at run time.
#![expect(unsafe_code, reason = "calls the CUDA driver, a C library")]

mod bench;
mod current;
mod error;
mod kernel;
mod launch;
mod maps;
mod memory;
mod module;
mod plan;
mod resident;

use crate::array::Array;
use crate::device::{BenchOptions, BenchReport, Device, Program, RunOptions, RunReport};
use crate::nvml::Gauge;
use cudarc::driver::sys::CUdevice_attribute as Attribute;
use cudarc::driver::{CudaContext, CudaStream, sys};
pub use current::keep_current;
use error::driver_error;
use launch::Prepared;
pub use memory::DeviceMemory;
pub use plan::Plan;
pub use resident::{Given, Resident};
use std::sync::{Arc, OnceLock};
use tc_support::{Diagnostic, Diagnostics, Location};
use tc_target::Target;

/// The oldest CUDA version of a driver that will do, for what is called here exists in all newer ones.
const OLDEST_DRIVER: (u32, u32) = (12, 0);

/// A GPU.
pub struct CudaDevice {
    /// Code keeps the lines of its source, for profilers.
    pub keep_lines: bool,
    context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
    /// Clocks and power, opened by the first measurement.
    gauge: OnceLock<Option<Gauge>>,
    target: Target,
    capability: (u32, u32),
    driver_version: (u32, u32),
    l2_bytes: usize,
    n_multiprocessors: usize,
    name: String,
    uuid: String,
}

impl CudaDevice {
    /// Opens GPU number `ordinal`.
    pub fn open(ordinal: usize) -> Result<CudaDevice, Diagnostic> {
        let driver_version = driver_version()?;
        let count = CudaDevice::count()?;
        if ordinal >= count {
            return Err(no_gpu(ordinal, count));
        }
        let failed = |error| driver_error(&format!("GPU {ordinal} cannot be opened"), error);
        let context = CudaContext::new(ordinal).map_err(failed)?;
        // SAFETY: one stream does all the work here, so that no event has to order two; events of cudarc's own would
        // also end up in captured graphs.
        unsafe { context.disable_event_tracking() };
        let (major, minor) = context.compute_capability().map_err(failed)?;
        let capability = (u32::try_from(major).unwrap_or(0), u32::try_from(minor).unwrap_or(0));
        let attribute = |attribute| context.attribute(attribute).map(|value| usize::try_from(value).unwrap_or(0));
        Ok(CudaDevice {
            stream: context.new_stream().map_err(failed)?,
            gauge: OnceLock::new(),
            keep_lines: false,
            target: Target::for_device(capability.0, capability.1)?,
            capability,
            driver_version,
            l2_bytes: attribute(Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE).map_err(failed)?,
            n_multiprocessors: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT).map_err(failed)?,
            name: context.name().map_err(failed)?,
            uuid: uuid(context.uuid().map_err(failed)?.bytes.map(|byte| byte.cast_unsigned())),
            context,
        })
    }

    /// The number of GPUs.
    pub fn count() -> Result<usize, Diagnostic> {
        driver_version()?;
        cudarc::driver::result::init().map_err(|error| driver_error("the CUDA driver does not start", error))?;
        let count = CudaContext::device_count();
        count
            .map(|count| usize::try_from(count).unwrap_or(0))
            .map_err(|error| driver_error("the GPUs cannot be counted", error))
    }

    /// Does machine code for `target` run here? Code for an older GPU runs as PTX only.
    pub fn is(&self, target: &Target) -> bool {
        target.runs_on(self.capability.0, self.capability.1) && target.capability == self.capability
    }

    /// What GPU number `ordinal` is compiled for, without opening it.
    pub fn target_of(ordinal: usize) -> Result<Target, Diagnostic> {
        let count = CudaDevice::count()?;
        let nth = i32::try_from(ordinal).ok().filter(|_| ordinal < count).ok_or_else(|| no_gpu(ordinal, count))?;
        let failed = |error| driver_error(&format!("GPU {ordinal} cannot be asked about itself"), error);
        let device = cudarc::driver::result::device::get(nth).map_err(failed)?;
        let attribute = |attribute| {
            // SAFETY: the driver was started, and the device is one of its.
            let value = unsafe { cudarc::driver::result::device::get_attribute(device, attribute) };
            value.map(|value| u32::try_from(value).unwrap_or(0)).map_err(failed)
        };
        let major = attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
        let minor = attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
        Target::for_device(major, minor)
    }

    /// The newest CUDA version, major and minor, that the driver of this machine knows.
    pub fn newest_cuda() -> Result<(u32, u32), Diagnostic> {
        driver_version()
    }

    /// The newest CUDA version, major and minor, that the driver knows.
    pub fn driver_version(&self) -> (u32, u32) {
        self.driver_version
    }

    /// Bytes of the second-level cache.
    pub fn l2_bytes(&self) -> usize {
        self.l2_bytes
    }

    /// The number of multiprocessors.
    pub fn n_multiprocessors(&self) -> usize {
        self.n_multiprocessors
    }

    /// Which GPU it is, wherever it is asked from, as `nvidia-smi --list-gpus` writes it.
    pub fn uuid(&self) -> &str {
        &self.uuid
    }

    fn describe(&self) -> String {
        format!("{} (compute capability {}.{})", self.name, self.capability.0, self.capability.1)
    }

    /// Refuses code that was made for another GPU.
    fn accepts(&self, program: &Program) -> Result<(), Diagnostic> {
        if program.target.runs_on(self.capability.0, self.capability.1) {
            return Ok(());
        }
        let message = format!("code for `{}` does not run on {}", program.target, self.describe());
        let wrong = Diagnostic::error("wrong-target", Location::None, message);
        Err(wrong.help(format!("compile for `{}`", self.target)))
    }

    /// What reads clocks and power, where that can be.
    fn gauge(&self) -> Option<&Gauge> {
        self.gauge.get_or_init(|| Gauge::open(self.pci_address()?)).as_ref()
    }

    fn pci_address(&self) -> Option<String> {
        let part = |attribute| self.context.attribute(attribute).ok();
        let domain = part(Attribute::CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID)?;
        let bus = part(Attribute::CU_DEVICE_ATTRIBUTE_PCI_BUS_ID)?;
        let device = part(Attribute::CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID)?;
        Some(format!("{domain:08x}:{bus:02x}:{device:02x}.0"))
    }
}

impl Device for CudaDevice {
    fn name(&self) -> String {
        format!("cuda:{} {}", self.context.ordinal(), self.name)
    }

    fn target(&self) -> Option<Target> {
        Some(self.target)
    }

    fn run(&mut self, program: &Program, args: &mut [Array], options: &RunOptions) -> Result<RunReport, Diagnostic> {
        let module = launch::load(self, program, args)?;
        let prepared = Prepared::new(self, (&module, program), args, options.poison)?;
        let kernels = prepared.run()?;
        prepared.copy_back(args)?;
        Ok(RunReport { kernels, diagnostics: Diagnostics::new() })
    }

    fn bench(&mut self, program: &Program, args: &[Array], options: &BenchOptions) -> Result<BenchReport, Diagnostic> {
        let module = launch::load(self, program, args)?;
        let prepare = || Prepared::new(self, (&module, program), args, false);
        let first = prepare()?;
        // Once by itself: an error is then known by its kernel.
        let kernels = first.run()?;
        let others = bench::copies(program, options.l2, self.l2_bytes) - 1;
        let mut sets = vec![first];
        for _ in 0..others {
            sets.push(prepare()?);
        }
        let (timing, clocks) = bench::bench(self, &sets, options)?;
        Ok(BenchReport { timing, clocks, kernels })
    }
}

fn no_gpu(ordinal: usize, count: usize) -> Diagnostic {
    let message = format!("there is no GPU {ordinal}: there are {count}, numbered from 0");
    Diagnostic::error("no-gpu", Location::None, message)
}

fn uuid(bytes: [u8; 16]) -> String {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let parts = [&bytes[..4], &bytes[4..6], &bytes[6..8], &bytes[8..10], &bytes[10..]].map(hex);
    format!("GPU-{}", parts.join("-"))
}

/// Opens the driver and asks for its version. All other calls come after this one, for cudarc panics without it.
fn driver_version() -> Result<(u32, u32), Diagnostic> {
    // SAFETY: opening the driver's library runs its initialisers, which have no preconditions.
    if !unsafe { sys::is_culib_present() } {
        let message = "no CUDA driver found: `libcuda.so` could not be opened";
        return Err(Diagnostic::error("no-cuda-driver", Location::None, message)
            .help("install NVIDIA's driver and see whether `nvidia-smi` runs, or use the device `sim`"));
    }
    let mut version = 0;
    // SAFETY: the pointer is valid for a write; this call needs no initialised driver.
    unsafe { sys::cuDriverGetVersion(&mut version) }
        .result()
        .map_err(|error| driver_error("the CUDA driver does not say its version", error))?;
    let version = u32::try_from(version).map_or((0, 0), |version| (version / 1000, version % 1000 / 10));
    if version < OLDEST_DRIVER {
        let message = format!("the CUDA driver is too old: it knows CUDA {}.{}", version.0, version.1);
        return Err(Diagnostic::error("old-cuda-driver", Location::None, message)
            .help(format!("a driver for CUDA {}.{} or newer is needed", OLDEST_DRIVER.0, OLDEST_DRIVER.1)));
    }
    Ok(version)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_uuid_is_written_as_nvidia_smi_writes_it() {
        let bytes = 0x2882bd8a_1d67_4cd6_646d_962e5a6e60de_u128.to_be_bytes();
        assert_eq!(super::uuid(bytes), "GPU-2882bd8a-1d67-4cd6-646d-962e5a6e60de");
    }
}
