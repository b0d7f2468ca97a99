//! As much of the CUDA driver as the example needs. A program of yours has a crate for it, such as `cudarc`.

use libloading::{Library, Symbol};
use std::ffi::{c_int, c_void};

/// The driver, with the first GPU current in this thread.
pub struct Driver(Library);

/// What the driver says of a call.
fn done(error: c_int, what: &str) -> Result<(), String> {
    if error == 0 { Ok(()) } else { Err(format!("{what} failed with error {error}")) }
}

impl Driver {
    /// Opens the driver.
    pub fn open() -> Result<Driver, Box<dyn std::error::Error>> {
        // SAFETY: the driver's own library, whose functions have the types that its header says.
        unsafe {
            let library = Library::new("libcuda.so.1")?;
            let (mut device, mut context) = (0, std::ptr::null_mut());
            let init: Symbol<unsafe extern "C" fn(u32) -> c_int> = library.get(b"cuInit")?;
            done(init(0), "cuInit")?;
            let get: Symbol<unsafe extern "C" fn(*mut c_int, c_int) -> c_int> = library.get(b"cuDeviceGet")?;
            done(get(&mut device, 0), "cuDeviceGet")?;
            let retain: Symbol<unsafe extern "C" fn(*mut *mut c_void, c_int) -> c_int> =
                library.get(b"cuDevicePrimaryCtxRetain")?;
            done(retain(&mut context, device), "cuDevicePrimaryCtxRetain")?;
            let current: Symbol<unsafe extern "C" fn(*mut c_void) -> c_int> = library.get(b"cuCtxSetCurrent")?;
            done(current(context), "cuCtxSetCurrent")?;
            Ok(Driver(library))
        }
    }

    /// The address of a copy of `list` on the device, which lives as long as the program.
    pub fn copy(&self, list: &[f32]) -> Result<u64, Box<dyn std::error::Error>> {
        let (bytes, mut address) = (size_of_val(list), 0);
        // SAFETY: as above; so many bytes are in the list, and are allocated.
        unsafe {
            let allocate: Symbol<unsafe extern "C" fn(*mut u64, usize) -> c_int> = self.0.get(b"cuMemAlloc_v2")?;
            done(allocate(&mut address, bytes), "cuMemAlloc")?;
            let copy: Symbol<unsafe extern "C" fn(u64, *const c_void, usize) -> c_int> =
                self.0.get(b"cuMemcpyHtoD_v2")?;
            done(copy(address, list.as_ptr().cast(), bytes), "cuMemcpyHtoD")?;
        }
        Ok(address)
    }

    /// Waits for the kernels, and copies from the device into `list`.
    pub fn read(&self, list: &mut [f32], address: u64) -> Result<(), Box<dyn std::error::Error>> {
        // SAFETY: as above; so many bytes are in the list, and were allocated at the address.
        unsafe {
            let wait: Symbol<unsafe extern "C" fn() -> c_int> = self.0.get(b"cuCtxSynchronize")?;
            done(wait(), "cuCtxSynchronize")?;
            let copy: Symbol<unsafe extern "C" fn(*mut c_void, u64, usize) -> c_int> =
                self.0.get(b"cuMemcpyDtoH_v2")?;
            done(copy(list.as_mut_ptr().cast(), address, size_of_val(list)), "cuMemcpyDtoH")?;
        }
        Ok(())
    }
}
