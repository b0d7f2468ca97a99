//! A program that stays on a GPU and is launched on memory of the caller: what other runtimes call.
//!
//! A launch takes addresses, shapes and a stream, and returns when its kernels are in the stream. What follows from the
//! shapes (grids, temporaries, tensor maps) is worked out once for each set of shapes, and kept in a [`Plan`].

use super::CudaDevice;
use super::error::driver_error;
use super::kernel::KernelLaunch;
use super::launch::{image, low_word};
use super::maps;
use super::module::Module;
use crate::device::Program;
use crate::shapes::{self, Fitted, Shape, Signature, fit};
use cudarc::driver::{CudaContext, sys};
use smallvec::SmallVec;
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use tc_support::{Diagnostic, Location};
use tc_target::{DType, KernelManifest, Param, Target, TensorMap};

/// Sets of shapes whose plans are kept.
const MAX_PLANS: usize = 64;
/// Addresses of a buffer whose tensor maps are kept with a plan.
const MAX_MAPS: usize = 16;

/// What is given for a parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Given<'a> {
    /// An array on the GPU, dense and row-major: the address of its first element, and its shape.
    Array {
        /// Where it begins.
        address: u64,
        /// Its extents, outermost first.
        shape: &'a [i64],
    },
    /// A value, in the first bytes of a word.
    Word(u64),
}

/// A program that is loaded on a GPU.
pub struct Resident {
    context: Arc<CudaContext>,
    target: Target,
    manifest: KernelManifest,
    signature: Signature,
    module: Arc<Module>,
    /// The newest first.
    plans: RwLock<Vec<Arc<Plan>>>,
    /// A CUDA graph may hold its kernels, and does not say when it goes: the module then stays loaded.
    is_captured: AtomicBool,
}

/// What a launch with some shapes takes.
struct Plan {
    /// The shapes of the arrays among the parameters, each after its rank.
    shapes: Vec<i64>,
    /// Sizes that were named beside them.
    named: Vec<(String, i64)>,
    /// Of each parameter that is a buffer: its bytes and its alignment.
    buffers: Vec<Option<(u64, u64)>>,
    /// Bytes of each temporary.
    temporaries: Vec<u64>,
    maps: Vec<PlannedMap>,
    kernels: Vec<(KernelLaunch, Vec<Source>)>,
}

/// Where a parameter of a kernel comes from.
#[derive(Clone, Copy)]
enum Source {
    /// A parameter of the program.
    Param(usize),
    /// The address of a temporary.
    Temporary(usize),
    /// A size.
    Word(u64),
    /// A tensor map.
    Map(usize),
}

/// A tensor map, made once for each address.
struct PlannedMap {
    map: TensorMap,
    /// The buffer that it is of; none where no kernel that is launched takes it.
    of: Option<Source>,
    made: Mutex<Vec<(u64, sys::CUtensorMap)>>,
}

impl Resident {
    /// Compiles `program`, where it is text, and loads it on `device`. Its arrays have the shapes of `signature`.
    pub fn load(device: &CudaDevice, program: &Program, signature: Signature) -> Result<Resident, Diagnostic> {
        program.manifest.validate()?;
        device.accepts(program)?;
        let module = Arc::new(Module::load(&device.context, &image(device, program)?)?);
        Ok(Resident {
            context: device.context.clone(),
            target: program.target,
            manifest: program.manifest.clone(),
            signature,
            module,
            plans: RwLock::new(Vec::new()),
            is_captured: AtomicBool::new(false),
        })
    }

    /// What the program takes.
    pub fn manifest(&self) -> &KernelManifest {
        &self.manifest
    }

    /// Puts the kernels into the stream `stream` (a `CUstream`, 0 for the default one), without waiting for them. `named`
    /// gives values to sizes that no shape says.
    ///
    /// Of the arrays only number, shapes, alignment and that they are somewhere is checked here.
    ///
    /// # Safety
    ///
    /// Each array is memory of this GPU, of as many elements of the parameter's type as its shape says, until the stream
    /// is done with it. The stream is of this GPU's primary context.
    pub unsafe fn launch(&self, given: &[Given<'_>], named: &[(String, i64)], stream: u64) -> Result<(), Diagnostic> {
        let plan = self.plan(given, named)?;
        let words = plan.words(&self.manifest, given)?;
        let _current = Current::enter(&self.context)?;
        let stream = stream as sys::CUstream;
        self.note_capture(stream)?;
        let temporaries = Temporaries::new(&plan.temporaries, stream)?;
        let address = |source: Source| match source {
            Source::Param(idx) => words[idx],
            Source::Temporary(idx) => temporaries.addresses[idx],
            Source::Word(word) => word,
            Source::Map(_) => 0,
        };
        let mut made: SmallVec<[sys::CUtensorMap; 4]> = SmallVec::new();
        for map in &plan.maps {
            made.push(map.of.map_or(Ok(maps::NO_MAP), |of| map.at(address(of)))?);
        }
        for (kernel, sources) in &plan.kernels {
            let held: SmallVec<[u64; 24]> = sources.iter().map(|&source| address(source)).collect();
            let pointer = |(source, word): (&Source, &u64)| match *source {
                Source::Map(idx) => std::ptr::from_ref(&made[idx]) as *mut c_void,
                _ => std::ptr::from_ref(word) as *mut c_void,
            };
            let mut values: SmallVec<[*mut c_void; 24]> = sources.iter().zip(&held).map(pointer).collect();
            // SAFETY: the context is current. The manifest, which its emitter writes with the kernel, says how many
            // parameters there are and of which sizes: a map is as large as the type of its parameter, and a word holds
            // anything else. Temporaries are freed in the order of the stream; the caller sees to the rest.
            unsafe { kernel.enqueue(stream, &mut values) }?;
        }
        Ok(())
    }

    /// The plan for these arguments.
    fn plan(&self, given: &[Given<'_>], named: &[(String, i64)]) -> Result<Arc<Plan>, Diagnostic> {
        let plans = self.plans.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(plan) = plans.iter().find(|plan| plan.fits(given, named)) {
            return Ok(plan.clone());
        }
        drop(plans);
        let plan = Arc::new(self.make_plan(given, named)?);
        let mut plans = self.plans.write().unwrap_or_else(PoisonError::into_inner);
        plans.truncate(MAX_PLANS - 1);
        plans.insert(0, plan.clone());
        Ok(plan)
    }

    fn make_plan(&self, given: &[Given<'_>], named: &[(String, i64)]) -> Result<Plan, Diagnostic> {
        let shapes: Vec<Shape<'_>> = given
            .iter()
            .map(|given| match given {
                Given::Array { shape, .. } => Shape::Array(shape),
                Given::Word(_) => Shape::Scalar,
            })
            .collect();
        let Fitted { manifest, .. } = fit(&self.manifest, &self.signature, &shapes, named)?;
        if let Some(over) = manifest.check_limits(&self.target).into_iter().next() {
            return Err(over);
        }
        let _current = Current::enter(&self.context)?;
        Plan::new(&manifest, (&self.module, &self.target), given, named)
    }

    fn note_capture(&self, stream: sys::CUstream) -> Result<(), Diagnostic> {
        // The default stream cannot be captured, and once is enough.
        if stream.is_null() || self.is_captured.load(Relaxed) {
            return Ok(());
        }
        let mut status = sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
        // SAFETY: the pointer is valid for a write; the stream is of the context that is current.
        let asked = unsafe { sys::cuStreamIsCapturing(stream, &mut status).result() };
        asked.map_err(|error| driver_error("the stream cannot be used", error))?;
        if status != sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE {
            self.is_captured.store(true, Relaxed);
        }
        Ok(())
    }
}

impl Drop for Resident {
    fn drop(&mut self) {
        if self.is_captured.load(Relaxed) {
            std::mem::forget(self.module.clone());
            return;
        }
        // Kernels may be on their way. An error was, or will be, reported elsewhere.
        if let Ok(_current) = Current::enter(&self.context) {
            // SAFETY: a context is current.
            unsafe { sys::cuCtxSynchronize() }.result().ok();
        }
    }
}

impl Plan {
    fn new(
        manifest: &KernelManifest,
        (module, target): (&Arc<Module>, &Target),
        given: &[Given<'_>],
        named: &[(String, i64)],
    ) -> Result<Plan, Diagnostic> {
        let maps = manifest.maps.iter().map(|map| {
            let is_made = manifest.is_needed(&map.name) && !map.is_empty();
            let of = is_made.then(|| source(manifest, &map.buffer)).flatten();
            PlannedMap { map: map.clone(), of, made: Mutex::new(Vec::new()) }
        });
        let kernels = manifest.kernels.iter().map(|kernel| {
            // A manifest that was checked names only what exists.
            let sources = kernel.args.iter().map(|arg| source(manifest, arg)).collect::<Option<Vec<Source>>>();
            Ok((KernelLaunch::new(module, kernel, target)?, sources.expect("the manifest was checked")))
        });
        let buffer = |param: &Param| match param {
            Param::Buffer(buffer) => Some((buffer.bytes, buffer.alignment)),
            Param::Scalar(_) => None,
        };
        Ok(Plan {
            shapes: key(given).collect(),
            named: named.to_vec(),
            buffers: manifest.params.iter().map(buffer).collect(),
            temporaries: manifest.temporaries.iter().map(|buffer| buffer.bytes).collect(),
            maps: maps.collect(),
            kernels: kernels.collect::<Result<_, Diagnostic>>()?,
        })
    }

    /// Is it the plan for such arguments?
    fn fits(&self, given: &[Given<'_>], named: &[(String, i64)]) -> bool {
        given.len() == self.buffers.len() && key(given).eq(self.shapes.iter().copied()) && self.named == named
    }

    /// What the parameters of the program are: addresses, which are checked, and values.
    fn words(&self, manifest: &KernelManifest, given: &[Given<'_>]) -> Result<SmallVec<[u64; 16]>, Diagnostic> {
        let mut words = SmallVec::new();
        for (idx, (given, buffer)) in given.iter().zip(&self.buffers).enumerate() {
            let refuse = |why: &str| {
                let name = manifest.params[idx].name();
                Err(wrong(format!("argument `{name}` of `{}` {why}", manifest.function)))
            };
            match (given, buffer) {
                (Given::Array { address, .. }, Some((bytes, alignment))) => {
                    if *bytes > 0 && (*address == 0 || address.checked_add(*bytes).is_none()) {
                        return refuse("has no memory");
                    }
                    if !address.is_multiple_of(*alignment) {
                        return refuse(&format!("lies at {address:#x}, which is no multiple of {alignment} bytes"));
                    }
                    words.push(*address);
                }
                (Given::Word(word), None) => words.push(*word),
                (Given::Array { .. }, None) => return refuse("is an array, and a value is expected"),
                (Given::Word(_), Some(_)) => return refuse("is a value, and an array is expected"),
            }
        }
        Ok(words)
    }
}

impl PlannedMap {
    /// The map for a buffer at `address`.
    fn at(&self, address: u64) -> Result<sys::CUtensorMap, Diagnostic> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, map)) = made.iter().find(|(of, _)| *of == address) {
            return Ok(*map);
        }
        let map = maps::make(&self.map, address)?;
        made.truncate(MAX_MAPS - 1);
        made.insert(0, (address, map));
        Ok(map)
    }
}

/// Where `name` comes from.
fn source(manifest: &KernelManifest, name: &str) -> Option<Source> {
    let param = manifest.params.iter().position(|param| param.name() == name).map(Source::Param);
    let temporary = || manifest.temporaries.iter().position(|buffer| buffer.name == name).map(Source::Temporary);
    let map = || manifest.maps.iter().position(|map| map.name == name).map(Source::Map);
    let size = || {
        let size = manifest.size(name)?;
        Some(Source::Word(match size.dtype {
            // The check of the manifest has seen that it fits.
            DType::I32 => low_word(&(size.value as i32).to_ne_bytes()),
            _ => low_word(&size.value.to_ne_bytes()),
        }))
    };
    param.or_else(temporary).or_else(map).or_else(size)
}

/// The shapes of the arrays among the arguments, each after its rank.
fn key<'a>(given: &'a [Given<'_>]) -> impl Iterator<Item = i64> + 'a {
    given.iter().flat_map(|given| match given {
        Given::Array { shape, .. } => std::iter::once(shape.len() as i64).chain(shape.iter().copied()),
        Given::Word(_) => std::iter::once(-1).chain([].iter().copied()),
    })
}

fn wrong(message: String) -> Diagnostic {
    Diagnostic::error(shapes::CODE, Location::None, message)
}

/// The temporaries of one launch, freed in the order of the stream.
struct Temporaries {
    addresses: SmallVec<[u64; 4]>,
    stream: sys::CUstream,
}

impl Temporaries {
    fn new(bytes: &[u64], stream: sys::CUstream) -> Result<Temporaries, Diagnostic> {
        let mut made = Temporaries { addresses: SmallVec::new(), stream };
        for &n_bytes in bytes {
            let mut address = 0;
            let size = usize::try_from(n_bytes).unwrap_or(usize::MAX).max(1);
            // SAFETY: the pointer is valid for a write, and the stream is of the context that is current.
            let allocated = unsafe { sys::cuMemAllocAsync(&mut address, size, stream).result() };
            allocated
                .map_err(|error| driver_error(&format!("a temporary of {n_bytes} bytes cannot be made"), error))?;
            made.addresses.push(address);
        }
        Ok(made)
    }
}

impl Drop for Temporaries {
    fn drop(&mut self) {
        for &address in &self.addresses {
            // SAFETY: it was allocated in this stream, and what uses it was put into the stream before. An error was, or
            // will be, reported elsewhere.
            unsafe { sys::cuMemFreeAsync(address, self.stream) }.result().ok();
        }
    }
}

/// Makes a context the current one of this thread for as long as it lives.
pub(super) struct Current {
    is_pushed: bool,
}

impl Current {
    pub(super) fn enter(context: &Arc<CudaContext>) -> Result<Current, Diagnostic> {
        let failed = |error| driver_error("the GPU cannot be used", error);
        let mut current = std::ptr::null_mut();
        // SAFETY: the pointer is valid for a write.
        unsafe { sys::cuCtxGetCurrent(&mut current).result() }.map_err(failed)?;
        if current == context.cu_ctx() {
            return Ok(Current { is_pushed: false });
        }
        // SAFETY: the context is alive as long as `context` is.
        unsafe { sys::cuCtxPushCurrent_v2(context.cu_ctx()).result() }.map_err(failed)?;
        Ok(Current { is_pushed: true })
    }
}

impl Drop for Current {
    fn drop(&mut self) {
        if self.is_pushed {
            let mut popped = std::ptr::null_mut();
            // SAFETY: the pointer is valid for a write; what is popped was pushed by `enter`.
            unsafe { sys::cuCtxPopCurrent_v2(&mut popped) }.result().ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_thread_may_launch() {
        fn shared<T: Send + Sync>() {}
        shared::<Resident>();
    }

    #[test]
    fn shapes_with_the_same_numbers_have_different_keys() {
        let array = |shape| Given::Array { address: 16, shape };
        let of = |given: &[Given<'_>]| key(given).collect::<Vec<_>>();
        assert_ne!(of(&[array(&[2, 3]), array(&[4])]), of(&[array(&[2]), array(&[3, 4])]));
        assert_ne!(of(&[Given::Word(2), array(&[3])]), of(&[array(&[2]), array(&[3])]));
        assert_eq!(of(&[array(&[2, 3]), Given::Word(7)]), [2, 2, 3, -1]);
    }
}
