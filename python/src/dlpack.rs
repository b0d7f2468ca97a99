//! DLPack's structures, version 1.3 (dlpack.h), as far as arrays are read here: the C exchange API, by which an array is looked
//! at without a capsule, and capsules.
#![expect(unsafe_code, reason = "reads the structures of other libraries")]

use pyo3::exceptions::PyBufferError;
use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;
use std::ffi::{CStr, c_int, c_void};

/// The major version whose structures these are.
const MAJOR: u32 = 1;
/// The kinds of devices whose memory a kernel may use: `kDLCUDA`, `kDLCUDAManaged`.
pub(crate) const CUDA: [i32; 2] = [2, 13];
/// The kind of the host.
pub(crate) const CPU: i32 = 1;
/// The flag of an array that must not be written.
const READ_ONLY: u64 = 1;

#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Device {
    pub(crate) kind: i32,
    pub(crate) id: i32,
}

#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct DataType {
    pub(crate) code: u8,
    pub(crate) bits: u8,
    pub(crate) lanes: u16,
}

#[repr(C)]
pub(crate) struct DlTensor {
    pub(crate) data: *mut c_void,
    pub(crate) device: Device,
    pub(crate) ndim: i32,
    pub(crate) dtype: DataType,
    pub(crate) shape: *mut i64,
    pub(crate) strides: *mut i64,
    pub(crate) byte_offset: u64,
}

impl DlTensor {
    /// One to be filled in.
    pub(crate) fn empty() -> DlTensor {
        DlTensor {
            data: std::ptr::null_mut(),
            device: Device { kind: 0, id: 0 },
            ndim: 0,
            dtype: DataType { code: 0, bits: 0, lanes: 0 },
            shape: std::ptr::null_mut(),
            strides: std::ptr::null_mut(),
            byte_offset: 0,
        }
    }

    /// Where it begins.
    pub(crate) fn address(&self) -> u64 {
        (self.data as u64).wrapping_add(self.byte_offset)
    }

    /// Its extents, and its strides in elements: none where it is dense, as versions before 1.2 say it.
    pub(crate) fn numbers(&self) -> (&[i64], &[i64]) {
        let rank = usize::try_from(self.ndim).unwrap_or(0);
        // SAFETY: DLPack: both point to as many numbers as there are dimensions, or to nothing.
        let list = |pointer: *mut i64| unsafe {
            if pointer.is_null() || rank == 0 { &[][..] } else { std::slice::from_raw_parts(pointer, rank) }
        };
        (list(self.shape), list(self.strides))
    }
}

#[repr(C)]
struct Version {
    major: u32,
    minor: u32,
}

#[repr(C)]
struct ApiHeader {
    version: Version,
    older: *const ApiHeader,
}

type FromPyObject = unsafe extern "C" fn(*mut PyObject, *mut DlTensor) -> c_int;
type CurrentStream = unsafe extern "C" fn(i32, i32, *mut *mut c_void) -> c_int;

#[repr(C)]
struct Api {
    header: ApiHeader,
    allocator: *const c_void,
    managed_from_py_object: *const c_void,
    managed_to_py_object: *const c_void,
    from_py_object: Option<FromPyObject>,
    current_stream: Option<CurrentStream>,
}

/// The C exchange API of a type of arrays. A library leaves it where it is as long as the process runs.
#[derive(Clone, Copy)]
pub(crate) struct Exchange(&'static Api);

impl PartialEq for Exchange {
    fn eq(&self, other: &Exchange) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

// SAFETY: the structure is constant, and its functions are called with the interpreter attached.
unsafe impl Send for Exchange {}
// SAFETY: as above.
unsafe impl Sync for Exchange {}

/// The name of the capsule that holds the API.
const API_NAME: &CStr = c"dlpack_exchange_api";

impl Exchange {
    /// The API of arrays of the type `of`, if it has one of a version that is known here.
    pub(crate) fn of(of: &Bound<'_, PyAny>) -> Option<Exchange> {
        let capsule = of.getattr("__dlpack_c_exchange_api__").ok()?;
        // SAFETY: the functions take any object, and say whether it is a capsule of that name.
        let mut header = unsafe {
            if ffi::PyCapsule_IsValid(capsule.as_ptr(), API_NAME.as_ptr()) == 0 {
                return None;
            }
            ffi::PyCapsule_GetPointer(capsule.as_ptr(), API_NAME.as_ptr()) as *const ApiHeader
        };
        // SAFETY: such a capsule holds the API, or what begins with its head; heads lead to older ones, or to nothing.
        unsafe {
            while let Some(known) = header.as_ref() {
                if known.version.major == MAJOR {
                    let api = &*header.cast::<Api>();
                    return api.from_py_object.is_some().then_some(Exchange(api));
                }
                header = known.older;
            }
        }
        None
    }

    /// What `object`, of the type that this API is of, is made of. It is valid as long as the object.
    pub(crate) fn tensor(self, object: &Bound<'_, PyAny>) -> PyResult<DlTensor> {
        let mut tensor = DlTensor::empty();
        self.read(object, &mut tensor).map(|()| tensor)
    }

    /// As [`tensor`](Exchange::tensor), written where it is to be.
    pub(crate) fn read(self, object: &Bound<'_, PyAny>, tensor: &mut DlTensor) -> PyResult<()> {
        let Some(from_py_object) = self.0.from_py_object else { return Err(unreadable()) };
        // SAFETY: the object is of the API's type, and the interpreter is attached; the pointer is valid for a write.
        match unsafe { from_py_object(object.as_ptr(), tensor) } {
            0 => Ok(()),
            _ => Err(PyErr::take(object.py()).unwrap_or_else(unreadable)),
        }
    }

    /// The stream that the library works on now; `None` where it does not say.
    pub(crate) fn stream(self, py: Python<'_>, device: Device) -> PyResult<Option<u64>> {
        let Some(current_stream) = self.0.current_stream else { return Ok(None) };
        let mut stream = std::ptr::null_mut();
        // SAFETY: the interpreter is attached, and the pointer is valid for a write.
        match unsafe { current_stream(device.kind, device.id, &mut stream) } {
            0 => Ok(Some(stream as u64)),
            _ => Err(PyErr::take(py).unwrap_or_else(unreadable)),
        }
    }
}

fn unreadable() -> PyErr {
    PyBufferError::new_err("the array cannot be read by DLPack")
}

#[repr(C)]
pub(crate) struct Managed {
    pub(crate) tensor: DlTensor,
    pub(crate) context: *mut c_void,
    pub(crate) deleter: Option<unsafe extern "C" fn(*mut Managed)>,
}

#[repr(C)]
struct ManagedVersioned {
    version: Version,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut ManagedVersioned)>,
    flags: u64,
    tensor: DlTensor,
}

/// An array that `__dlpack__` lent, given back with this.
pub(crate) enum Lent {
    Old(*mut c_void),
    Versioned(*mut c_void),
}

pub(crate) const OLD: (&CStr, &CStr) = (c"dltensor", c"used_dltensor");
const VERSIONED: (&CStr, &CStr) = (c"dltensor_versioned", c"used_dltensor_versioned");

impl Lent {
    /// Takes what the capsule holds.
    pub(crate) fn take(capsule: &Bound<'_, PyAny>) -> PyResult<Lent> {
        let pointer = capsule.as_ptr();
        // SAFETY: the functions take any object, and say whether it is a capsule of that name.
        let held = |(name, _): (&CStr, &'static CStr)| unsafe {
            let is_valid = ffi::PyCapsule_IsValid(pointer, name.as_ptr()) != 0;
            is_valid.then(|| ffi::PyCapsule_GetPointer(pointer, name.as_ptr()))
        };
        // SAFETY: the capsule was just seen to be one; the name that it is given lives as long as the program.
        let take = |(_, used): (&CStr, &'static CStr)| unsafe { ffi::PyCapsule_SetName(pointer, used.as_ptr()) };
        if let Some(held) = held(VERSIONED) {
            // SAFETY: what a capsule of that name holds begins with a version.
            let version = unsafe { &*held.cast::<Version>() };
            if version.major != MAJOR {
                // The capsule keeps what it holds, and gives it back.
                return Err(PyBufferError::new_err(format!("DLPack {} is not known here", version.major)));
            }
            take(VERSIONED);
            return Ok(Lent::Versioned(held));
        }
        let held = held(OLD).ok_or_else(unreadable)?;
        take(OLD);
        Ok(Lent::Old(held))
    }

    /// The array, valid as long as this.
    pub(crate) fn tensor(&self) -> &DlTensor {
        // SAFETY: the capsule's name told what is held, which stays until its deleter is called.
        unsafe {
            match self {
                Lent::Old(held) => &(*held.cast::<Managed>()).tensor,
                Lent::Versioned(held) => &(*held.cast::<ManagedVersioned>()).tensor,
            }
        }
    }

    /// Must it not be written?
    pub(crate) fn is_read_only(&self) -> bool {
        match self {
            Lent::Old(_) => false,
            // SAFETY: as in `tensor`.
            Lent::Versioned(held) => unsafe { (*held.cast::<ManagedVersioned>()).flags & READ_ONLY != 0 },
        }
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        // SAFETY: the capsule was told that what it holds was taken, so that it is given back here and nowhere else.
        unsafe {
            match self {
                Lent::Old(held) => {
                    let held = held.cast::<Managed>();
                    if let Some(deleter) = (*held).deleter {
                        deleter(held);
                    }
                }
                Lent::Versioned(held) => {
                    let held = held.cast::<ManagedVersioned>();
                    if let Some(deleter) = (*held).deleter {
                        deleter(held);
                    }
                }
            }
        }
    }
}
