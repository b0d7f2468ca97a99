//! A program made ready: loaded, its buffers on the device, its launches bound to them.

use super::CudaDevice;
use super::error::driver_error;
use super::kernel::KernelLaunch;
use super::maps;
use super::module::Module;
use crate::array::Array;
use crate::check::check_launch;
use crate::device::{Code, KernelReport, Program};
use crate::nvrtc;
use cudarc::driver::{CudaSlice, CudaStream, DevicePtr, result, sys};
use std::ffi::c_void;
use std::sync::Arc;
use tc_support::{Diagnostic, Location};
use tc_target::{Access, Buffer, DType, Param};

/// The byte that buffers are poisoned with: two or more of them are not-a-number in every float type.
const POISON: u8 = 0xff;

/// A program with its memory on the device.
pub(super) struct Prepared {
    stream: Arc<CudaStream>,
    /// The buffers among the parameters, with their positions, and then the temporaries.
    params: Vec<(usize, Access, CudaSlice<u8>)>,
    _temporaries: Vec<CudaSlice<u8>>,
    launches: Vec<Launch>,
}

/// One kernel, and what it is launched with.
struct Launch {
    kernel: KernelLaunch,
    /// What each parameter of the kernel is.
    args: Vec<Argument>,
}

/// What a kernel is given for a parameter.
#[derive(Clone)]
enum Argument {
    /// An address or a scalar, in the first bytes of a word.
    Word(u64),
    /// A tensor map.
    Map(Box<sys::CUtensorMap>),
}

impl Argument {
    /// Where the driver finds it.
    fn pointer(&self) -> *mut c_void {
        match self {
            Argument::Word(word) => std::ptr::from_ref(word) as *mut c_void,
            Argument::Map(map) => std::ptr::from_ref(&**map) as *mut c_void,
        }
    }
}

/// Checks, compiles and loads `program`.
pub(super) fn load(device: &CudaDevice, program: &Program, args: &[Array]) -> Result<Arc<Module>, Diagnostic> {
    check_launch(program, args)?;
    device.accepts(program)?;
    Ok(Arc::new(Module::load(&device.context, &image(device, program)?)?))
}

impl Prepared {
    /// Allocates and copies, for a program that is loaded as `module`.
    pub(super) fn new(
        device: &CudaDevice,
        (module, program): (&Arc<Module>, &Program),
        args: &[Array],
        poison: bool,
    ) -> Result<Prepared, Diagnostic> {
        let stream = device.stream.clone();
        let mut names: Vec<(&str, u64)> = Vec::new();
        let mut params = Vec::new();
        for (idx, (param, arg)) in program.manifest.params.iter().zip(args).enumerate() {
            match param {
                Param::Scalar(scalar) => names.push((&scalar.name, low_word(arg.bytes()))),
                Param::Buffer(buffer) => {
                    let host = (!poison || buffer.access.reads()).then_some(arg.bytes());
                    let (memory, address) = allocate(&stream, buffer, host)?;
                    names.push((&buffer.name, address));
                    params.push((idx, buffer.access, memory));
                }
            }
        }
        for size in &program.manifest.sizes {
            // The check of the manifest has seen that it fits.
            let word = match size.dtype {
                DType::I32 => low_word(&(size.value as i32).to_ne_bytes()),
                _ => low_word(&size.value.to_ne_bytes()),
            };
            names.push((&size.name, word));
        }
        let mut temporaries = Vec::new();
        for buffer in &program.manifest.temporaries {
            let (memory, address) = allocate(&stream, buffer, None)?;
            names.push((&buffer.name, address));
            temporaries.push(memory);
        }
        let mut named: Vec<(&str, Argument)> = names.iter().map(|&(name, word)| (name, Argument::Word(word))).collect();
        for map in &program.manifest.maps {
            // Where only kernels take it that are left out, its tensor may not fit a map.
            let address = names.iter().find(|(name, _)| *name == map.buffer).map(|&(_, word)| word);
            let made = match address.filter(|_| program.manifest.is_needed(&map.name)) {
                Some(address) => maps::make(map, address)?,
                None => maps::NO_MAP,
            };
            named.push((&map.name, Argument::Map(Box::new(made))));
        }
        let mut launches = Vec::new();
        for kernel in &program.manifest.kernels {
            let launch = KernelLaunch::new(module, kernel, &device.target)?;
            let given = |arg: &String| named.iter().find(|(name, _)| name == arg).map(|(_, given)| given.clone());
            let given = kernel.args.iter().map(given).collect::<Option<Vec<Argument>>>();
            // A manifest that was checked names only what exists; nothing is launched with a parameter missing.
            let args = given.expect("the manifest was checked");
            launches.push(Launch { kernel: launch, args });
        }
        stream.synchronize().map_err(|error| driver_error("the arguments cannot be copied to the GPU", error))?;
        Ok(Prepared { stream, params, _temporaries: temporaries, launches })
    }

    /// Puts all kernels into `stream`, without waiting for them.
    pub(super) fn enqueue(&self, stream: &CudaStream) -> Result<(), Diagnostic> {
        self.launches.iter().try_for_each(|launch| launch.enqueue(stream))
    }

    /// Runs the kernels one by one, so that an error is known by its kernel.
    pub(super) fn run(&self) -> Result<Vec<KernelReport>, Diagnostic> {
        let mut reports = Vec::new();
        for launch in &self.launches {
            launch.enqueue(&self.stream)?;
            self.stream
                .synchronize()
                .map_err(|error| driver_error(&format!("kernel `{}` failed", launch.kernel.name()), error))?;
            reports.push(launch.kernel.report()?);
        }
        Ok(reports)
    }

    /// Copies what was written back into `args`.
    pub(super) fn copy_back(&self, args: &mut [Array]) -> Result<(), Diagnostic> {
        let failed = |error| driver_error("the results cannot be copied from the GPU", error);
        for (idx, access, memory) in &self.params {
            let host = args[*idx].bytes_mut();
            if access.writes() && !host.is_empty() {
                self.stream.memcpy_dtoh(&memory.slice(..host.len()), host).map_err(failed)?;
            }
        }
        self.stream.synchronize().map_err(failed)
    }
}

impl Launch {
    fn enqueue(&self, stream: &CudaStream) -> Result<(), Diagnostic> {
        let mut values: Vec<*mut c_void> = self.args.iter().map(Argument::pointer).collect();
        // SAFETY: the stream belongs to the context that is bound here. The manifest, which its emitter writes with the
        // kernel, says how many parameters there are and of which sizes: a map is as large as the type of its parameter,
        // and a word holds anything else. The memory they point to lives as long as `Prepared`, which waits for the
        // stream before it goes.
        unsafe { self.kernel.enqueue(stream.cu_stream(), &mut values) }
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        // Freed memory must not be written by a kernel still on its way. An error was, or will be, reported elsewhere.
        self.stream.synchronize().ok();
    }
}

/// What the driver loads: PTX ending in zero, or machine code.
pub(super) fn image(device: &CudaDevice, program: &Program) -> Result<Vec<u8>, Diagnostic> {
    let mut ptx = match &program.code {
        Code::Cubin(code) if code.starts_with(b"\x7fELF") => return Ok(code.clone()),
        Code::Cuda(source) => {
            let (line_info, max_version) = (device.keep_lines, Some(device.driver_version));
            let options = nvrtc::Options { line_info, max_version, ..Default::default() };
            let name = format!("{}.cu", program.manifest.function);
            nvrtc::compile(source, &name, &program.target, &options)?.code
        }
        Code::Ptx(text) => text.clone().into_bytes(),
        other => {
            let message = format!("{} is not what a GPU runs", other.kind());
            return Err(Diagnostic::error("wrong-code", Location::None, message));
        }
    };
    ptx.push(0);
    Ok(ptx)
}

/// Memory for `buffer`, with `host` in it or poison where that is `None`, and its address.
fn allocate(
    stream: &Arc<CudaStream>,
    buffer: &Buffer,
    host: Option<&[u8]>,
) -> Result<(CudaSlice<u8>, u64), Diagnostic> {
    let failed =
        |error| driver_error(&format!("buffer `{}` of {} bytes cannot be made", buffer.name, buffer.bytes), error);
    let n_bytes = usize::try_from(buffer.bytes).unwrap_or(usize::MAX).max(1);
    // SAFETY: every byte is set below before anything reads it.
    let mut memory = unsafe { stream.alloc::<u8>(n_bytes) }.map_err(failed)?;
    let address = memory.device_ptr(stream).0;
    if !address.is_multiple_of(buffer.alignment) {
        let message =
            format!("buffer `{}` lies at {address:#x}, which is no multiple of {}", buffer.name, buffer.alignment);
        return Err(Diagnostic::error("misaligned-buffer", Location::None, message));
    }
    // SAFETY: the address is that of as many bytes, allocated in this stream.
    unsafe { result::memset_d8_async(address, POISON, n_bytes, stream.cu_stream()) }.map_err(failed)?;
    if let Some(host) = host.filter(|host| !host.is_empty()) {
        stream.memcpy_htod(host, &mut memory.slice_mut(..host.len())).map_err(failed)?;
    }
    Ok((memory, address))
}

/// Up to eight bytes, at the start of a word as memory holds it.
pub(super) fn low_word(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    u64::from_ne_bytes(word)
}
