//! A program that stays on a GPU and is launched on memory of the caller: what other runtimes call.
//!
//! A launch takes addresses, shapes and a stream, and returns when its kernels are in the stream. What follows from the
//! shapes (grids, temporaries, tensor maps) is worked out once for each set of shapes, and kept in a [`Plan`].

use super::CudaDevice;
use super::current::Current;
use super::error::driver_error;
use super::launch::image;
use super::maps;
use super::module::Module;
use super::plan::{Plan, Source};
use crate::device::Program;
use crate::shapes::{Fitted, Shape, Signature, fit};
use cudarc::driver::{CudaContext, sys};
use smallvec::SmallVec;
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, PoisonError, RwLock};
use tc_support::Diagnostic;
use tc_target::{KernelManifest, Target};

/// Sets of shapes whose plans are kept.
const MAX_PLANS: usize = 64;

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
        // SAFETY: the plan is for these arguments; the caller sees to the rest.
        unsafe { self.launch_planned(&plan, &words, stream) }
    }

    /// As [`launch`](Resident::launch), by a plan that [`plan`](Resident::plan) gave: `words` are the addresses of the arrays
    /// and the values, in the order of the parameters.
    ///
    /// # Safety
    ///
    /// As for `launch`; the plan is one of this program, for arrays of these shapes.
    pub unsafe fn launch_planned(&self, plan: &Plan, words: &[u64], stream: u64) -> Result<(), Diagnostic> {
        plan.check(&self.manifest, words)?;
        let _current = Current::enter(&self.context)?;
        let stream = stream as sys::CUstream;
        self.note_capture(stream)?;
        let temporaries = Temporaries::new(&plan.temporaries, stream)?;
        let mut made: SmallVec<[sys::CUtensorMap; 4]> = SmallVec::new();
        for map in &plan.maps {
            made.push(match map.of {
                None | Some(Source::Map(_)) => maps::NO_MAP,
                Some(Source::Param(idx)) => map.at(words[idx])?,
                Some(Source::Temporary(idx)) => map.at(temporaries.addresses[idx])?,
                Some(Source::Word(word)) => map.at(word)?,
            });
        }
        for (kernel, sources) in &plan.kernels {
            let pointer = |source: &Source| match source {
                Source::Param(idx) => std::ptr::from_ref(&words[*idx]) as *mut c_void,
                Source::Temporary(idx) => std::ptr::from_ref(&temporaries.addresses[*idx]) as *mut c_void,
                Source::Word(word) => std::ptr::from_ref(word) as *mut c_void,
                Source::Map(idx) => std::ptr::from_ref(&made[*idx]) as *mut c_void,
            };
            let mut values: SmallVec<[*mut c_void; 24]> = sources.iter().map(pointer).collect();
            // SAFETY: the context is current. The manifest, which its emitter writes with the kernel, says how many
            // parameters there are and of which sizes: a map is as large as the type of its parameter, and a word holds
            // anything else; the driver reads them. Temporaries are freed in the order of the stream; the caller sees to
            // the rest.
            unsafe { kernel.enqueue(stream, &mut values) }?;
        }
        Ok(())
    }

    /// The plan for arrays of these shapes; addresses may be others when it is used.
    pub fn plan(&self, given: &[Given<'_>], named: &[(String, i64)]) -> Result<Arc<Plan>, Diagnostic> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_thread_may_launch() {
        fn shared<T: Send + Sync>() {}
        shared::<Resident>();
    }
}
