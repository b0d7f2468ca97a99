//! One kernel with the extents that it is launched with.

use super::error::driver_error;
use super::module::{Function, Module};
use crate::device::KernelReport;
use cudarc::driver::{DriverError, sys};
use std::ffi::c_void;
use std::mem;
use std::sync::Arc;
use tc_support::Diagnostic;
use tc_target::{Kernel, Target};

/// A kernel of a loaded module, ready to be launched.
pub(super) struct KernelLaunch {
    function: Function,
    grid: [u32; 3],
    block: [u32; 3],
    cluster: [u32; 3],
    overlaps: bool,
    dynamic_shared: u32,
}

impl KernelLaunch {
    /// The kernel that `kernel` describes, of a manifest whose limits were checked for `target`.
    pub(super) fn new(module: &Arc<Module>, kernel: &Kernel, target: &Target) -> Result<KernelLaunch, Diagnostic> {
        let function = module.function(&kernel.name)?;
        function.allow_shared(kernel.dynamic_shared, target.opt_in_above())?;
        let narrow = |extents: [u64; 3]| extents.map(|extent| u32::try_from(extent).expect("limits were checked"));
        Ok(KernelLaunch {
            function,
            grid: narrow(kernel.grid),
            block: narrow(kernel.block),
            cluster: narrow(kernel.cluster),
            overlaps: kernel.overlaps,
            dynamic_shared: u32::try_from(kernel.dynamic_shared).expect("limits were checked"),
        })
    }

    /// The name of the kernel.
    pub(super) fn name(&self) -> &str {
        &self.function.name
    }

    /// What the device knows of the kernel as it is launched here.
    pub(super) fn report(&self) -> Result<KernelReport, Diagnostic> {
        let threads = self.block.iter().map(|&extent| u64::from(extent)).product();
        self.function.report(threads, self.dynamic_shared.into())
    }

    /// Puts the kernel into `stream`, without waiting for it; one whose grid is empty is left out.
    ///
    /// # Safety
    ///
    /// The context of the module is current, and the stream is of it. `values` has one pointer for each parameter of the
    /// kernel, to at least as many bytes as it has. What addresses among them point to stays until the stream is done.
    pub(super) unsafe fn enqueue(&self, stream: sys::CUstream, values: &mut [*mut c_void]) -> Result<(), Diagnostic> {
        if self.grid.contains(&0) {
            return Ok(());
        }
        let (grid, block) = (self.grid, self.block);
        if self.cluster == [1, 1, 1] && !self.overlaps {
            let ([x, y, z], [wide, high, deep], shared) = (grid, block, self.dynamic_shared);
            let (raw, values, none) = (self.function.raw, values.as_mut_ptr(), std::ptr::null_mut());
            // SAFETY: as below; this call takes less time.
            let launched =
                unsafe { sys::cuLaunchKernel(raw, x, y, z, wide, high, deep, shared, stream, values, none).result() };
            return launched.map_err(|error| self.failed(error));
        }
        let mut attributes = [cluster_attribute(self.cluster), overlap_attribute()];
        let used = match (self.cluster != [1, 1, 1], self.overlaps) {
            (has_cluster, true) => &mut attributes[usize::from(!has_cluster)..],
            (has_cluster, false) => &mut attributes[..usize::from(has_cluster)],
        };
        let config = sys::CUlaunchConfig {
            gridDimX: grid[0],
            gridDimY: grid[1],
            gridDimZ: grid[2],
            blockDimX: block[0],
            blockDimY: block[1],
            blockDimZ: block[2],
            sharedMemBytes: self.dynamic_shared,
            hStream: stream,
            attrs: if used.is_empty() { std::ptr::null_mut() } else { used.as_mut_ptr() },
            numAttrs: used.len() as u32,
        };
        // SAFETY: the function is alive with its module; the caller sees to the context, the stream and the values, which
        // the driver copies with the attributes before it returns.
        let launched = unsafe {
            sys::cuLaunchKernelEx(&config, self.function.raw, values.as_mut_ptr(), std::ptr::null_mut()).result()
        };
        launched.map_err(|error| self.failed(error))
    }

    fn failed(&self, error: DriverError) -> Diagnostic {
        driver_error(&format!("kernel `{}` cannot be launched", self.name()), error)
    }
}

/// The kernel waits for those before it by itself.
fn overlap_attribute() -> sys::CUlaunchAttribute {
    // SAFETY: as below.
    let mut attribute: sys::CUlaunchAttribute = unsafe { mem::zeroed() };
    attribute.id = sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    attribute.value.programmaticStreamSerializationAllowed = 1;
    attribute
}

fn cluster_attribute(cluster: [u32; 3]) -> sys::CUlaunchAttribute {
    // SAFETY: all fields of the attribute are plain data for which zeros are a value.
    let mut attribute: sys::CUlaunchAttribute = unsafe { mem::zeroed() };
    attribute.id = sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attribute.value.clusterDim.x = cluster[0];
    attribute.value.clusterDim.y = cluster[1];
    attribute.value.clusterDim.z = cluster[2];
    attribute
}
