//! Code on the device: modules and the kernels in them.

use super::error::driver_error;
use crate::device::KernelReport;
use cudarc::driver::{CudaContext, result, sys};
use std::ffi::{CString, c_void};
use std::sync::Arc;
use sys::CUfunction_attribute as Attribute;
use tc_support::{Diagnostic, Location};

/// A module in a context, unloaded with its last use.
pub(super) struct Module {
    raw: sys::CUmodule,
    context: Arc<CudaContext>,
}

// SAFETY: the handle is a number to this process. The driver takes calls with it from any thread whose current context is
// its own; each call here binds that context first, or is documented to want it bound.
unsafe impl Send for Module {}
// SAFETY: as above: the driver synchronises its own calls.
unsafe impl Sync for Module {}

/// The bytes that the driver's compiler may write its log into.
const LOG_BYTES: usize = 8192;

impl Module {
    /// Loads machine code, or PTX that ends in a zero byte, which the driver then compiles.
    pub(super) fn load(context: &Arc<CudaContext>, image: &[u8]) -> Result<Module, Diagnostic> {
        context.bind_to_thread().map_err(|error| driver_error("the GPU cannot be used", error))?;
        let mut log = vec![0u8; LOG_BYTES];
        let mut options =
            [sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER, sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
        // The second value is a number that travels in place of a pointer.
        let mut values = [log.as_mut_ptr().cast::<c_void>(), LOG_BYTES as *mut c_void];
        let mut raw = std::ptr::null_mut();
        // SAFETY: a context is current; the image is PTX that ends in zero, or machine code, which knows its size; both
        // lists have the announced length, and the log has room for the announced bytes.
        let loaded = unsafe {
            let (options, values) = (options.as_mut_ptr(), values.as_mut_ptr());
            sys::cuModuleLoadDataEx(&mut raw, image.as_ptr().cast(), 2, options, values).result()
        };
        match loaded {
            Ok(()) => Ok(Module { raw, context: context.clone() }),
            Err(error) => {
                let end = log.iter().position(|&byte| byte == 0).unwrap_or(LOG_BYTES);
                let log = String::from_utf8_lossy(&log[..end]).trim().to_string();
                let wrong = driver_error("the driver cannot load the program", error);
                Err(if log.is_empty() { wrong } else { wrong.note(format!("its log:\n{log}")) })
            }
        }
    }

    /// The kernel named `name`.
    pub(super) fn function(self: &Arc<Self>, name: &str) -> Result<Function, Diagnostic> {
        let c_name = CString::new(name).map_err(|_| {
            Diagnostic::error("bad-manifest", Location::None, "the name of a kernel holds a zero byte".to_string())
        })?;
        // SAFETY: the module is loaded.
        let raw = unsafe { result::module::get_function(self.raw, c_name) }
            .map_err(|error| driver_error(&format!("there is no kernel `{name}` in the program"), error))?;
        Ok(Function { raw, name: name.to_string(), _module: self.clone() })
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        if self.context.bind_to_thread().is_ok() {
            // SAFETY: the module is loaded, and functions of it keep it alive. An error here leaves nothing to do.
            unsafe { result::module::unload(self.raw) }.ok();
        }
    }
}

/// A kernel of a module.
pub(super) struct Function {
    pub(super) raw: sys::CUfunction,
    pub(super) name: String,
    _module: Arc<Module>,
}

// SAFETY: as for `Module`, to which it belongs and which it keeps loaded.
unsafe impl Send for Function {}
// SAFETY: as for `Module`.
unsafe impl Sync for Function {}

impl Function {
    fn attribute(&self, attribute: Attribute) -> Result<u64, Diagnostic> {
        // SAFETY: the function belongs to a module that is loaded.
        let value = unsafe { result::function::get_function_attribute(self.raw, attribute) }
            .map_err(|error| driver_error(&format!("kernel `{}` cannot be asked about itself", self.name), error))?;
        Ok(u64::try_from(value).unwrap_or(0))
    }

    /// Makes room for `dynamic` bytes of dynamic shared memory, which above `free` bytes has to be asked for.
    pub(super) fn allow_shared(&self, dynamic: u64, free: u64) -> Result<(), Diagnostic> {
        if self.attribute(Attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?.saturating_add(dynamic) <= free {
            return Ok(());
        }
        let bytes = i32::try_from(dynamic).unwrap_or(i32::MAX);
        let attribute = Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        // SAFETY: the function belongs to a module that is loaded.
        unsafe { result::function::set_function_attribute(self.raw, attribute, bytes) }.map_err(|error| {
            driver_error(&format!("kernel `{}` cannot have {dynamic} bytes of shared memory", self.name), error)
        })
    }

    /// What the device knows of the kernel when it runs blocks of `threads` with `dynamic` bytes of shared memory.
    pub(super) fn report(&self, threads: u64, dynamic: u64) -> Result<KernelReport, Diagnostic> {
        let threads = i32::try_from(threads).unwrap_or(i32::MAX);
        // SAFETY: the function belongs to a module that is loaded.
        let blocks =
            unsafe { result::occupancy::max_active_block_per_multiprocessor(self.raw, threads, dynamic as usize) }
                .map_err(|error| {
                    driver_error(&format!("kernel `{}` cannot be asked about itself", self.name), error)
                })?;
        Ok(KernelReport {
            name: self.name.clone(),
            registers: Some(self.attribute(Attribute::CU_FUNC_ATTRIBUTE_NUM_REGS)?),
            local_bytes: Some(self.attribute(Attribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?),
            static_shared: Some(self.attribute(Attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?),
            dynamic_shared: Some(dynamic),
            blocks_per_sm: u64::try_from(blocks).ok(),
        })
    }
}
