//! The context that is current in a thread: what other libraries in the process call the current GPU.

use super::error::driver_error;
use cudarc::driver::{CudaContext, sys};
use std::sync::Arc;
use tc_support::Diagnostic;

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

/// Runs `work`, and makes the context that was current before it the current one again: GPUs that are opened, loaded on and
/// left change it.
pub fn keep_current<T>(work: impl FnOnce() -> T) -> T {
    // Without a driver there is no context.
    let _kept = super::driver_version().is_ok().then(Kept::new);
    work()
}

/// The context that is current again at the end.
struct Kept(sys::CUcontext);

impl Kept {
    fn new() -> Kept {
        let mut current = std::ptr::null_mut();
        // SAFETY: the pointer is valid for a write. Before the driver was started nothing is current, as nothing is written.
        unsafe { sys::cuCtxGetCurrent(&mut current) }.result().ok();
        Kept(current)
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        // SAFETY: the context was current, and is its library's, or it is none. An error was, or will be, reported elsewhere.
        unsafe { sys::cuCtxSetCurrent(self.0) }.result().ok();
    }
}
