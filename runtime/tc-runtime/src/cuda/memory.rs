//! Memory on a GPU that a caller holds, for results of programs that stay there.

use super::CudaDevice;
use super::current::Current;
use super::error::driver_error;
use cudarc::driver::{CudaContext, sys};
use std::sync::Arc;
use tc_support::Diagnostic;

/// Memory on a GPU, freed with this. What still uses it then, the driver waits for.
pub struct DeviceMemory {
    address: u64,
    context: Arc<CudaContext>,
}

impl CudaDevice {
    /// So many bytes, whose contents are anything.
    pub fn allocate(&self, bytes: u64) -> Result<DeviceMemory, Diagnostic> {
        let _current = Current::enter(&self.context)?;
        let (mut address, size) = (0, usize::try_from(bytes).unwrap_or(usize::MAX).max(1));
        // SAFETY: a context is current, and the pointer is valid for a write.
        let allocated = unsafe { sys::cuMemAlloc_v2(&mut address, size).result() };
        allocated.map_err(|error| driver_error(&format!("{bytes} bytes cannot be allocated"), error))?;
        Ok(DeviceMemory { address, context: self.context.clone() })
    }

    /// Waits for all that is in the default stream of this GPU.
    pub fn synchronize(&self) -> Result<(), Diagnostic> {
        let _current = Current::enter(&self.context)?;
        // SAFETY: a context is current, and the null stream is its default one.
        let waited = unsafe { sys::cuStreamSynchronize(std::ptr::null_mut()).result() };
        waited.map_err(|error| driver_error("a kernel failed", error))
    }
}

impl DeviceMemory {
    /// Where it begins.
    pub fn address(&self) -> u64 {
        self.address
    }
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        if let Ok(_current) = Current::enter(&self.context) {
            // SAFETY: it was allocated in this context, and is freed once. An error here leaves nothing to do.
            unsafe { sys::cuMemFree_v2(self.address) }.result().ok();
        }
    }
}
