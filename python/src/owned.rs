//! Arrays on a GPU that no library made: results for those whose own arrays never change (JAX). They leave by DLPack.
#![expect(unsafe_code, reason = "hands memory to other libraries")]

use crate::dlpack::{CUDA, Device, DlTensor, Managed, OLD};
use crate::error::alone;
use crate::tensor::data_type;
use pyo3::exceptions::PyMemoryError;
use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;
use std::ffi::c_void;
use std::sync::Arc;
use tc::runtime::shapes::CODE;
use tc::runtime::{CudaDevice, DType, DeviceMemory, keep_current};
use tc::support::{Diagnostic, Location};

/// A dense array on a GPU whose contents are anything until a kernel fills it.
#[pyclass(frozen, module = "tirc._native")]
pub(crate) struct DeviceArray {
    memory: Arc<DeviceMemory>,
    dtype: DType,
    shape: Vec<i64>,
    device: i32,
}

/// What an array that was lent keeps.
struct Keeper {
    _memory: Arc<DeviceMemory>,
    /// Shape, then strides.
    extents: Vec<i64>,
}

#[pymethods]
impl DeviceArray {
    /// An array of this shape and type on GPU `device`.
    #[new]
    fn new(py: Python<'_>, shape: Vec<u64>, dtype: &str, device: i32) -> PyResult<DeviceArray> {
        let wrong = |text: String| alone(py, Diagnostic::error(CODE, Location::None, text));
        let dtype = DType::parse(dtype).ok_or_else(|| wrong(format!("there is no element type `{dtype}`")))?;
        let bytes = dtype.bytes_of(&shape).ok_or_else(|| wrong("the array does not fit 63 bits".into()))?;
        let ordinal = usize::try_from(device).unwrap_or(usize::MAX);
        let made = py.detach(|| keep_current(|| CudaDevice::open(ordinal)?.allocate(bytes)));
        let memory = Arc::new(made.map_err(|found| alone(py, found))?);
        let shape = shape.into_iter().map(|extent| i64::try_from(extent).unwrap_or(i64::MAX)).collect();
        Ok(DeviceArray { memory, dtype, shape, device })
    }

    fn __dlpack_device__(&self) -> (i32, i32) {
        (CUDA[0], self.device)
    }

    /// The array as a capsule. No work is waited for: whoever filled it sees to that.
    #[pyo3(signature = (**_named))]
    fn __dlpack__(&self, py: Python<'_>, _named: Option<&Bound<'_, pyo3::types::PyDict>>) -> PyResult<Py<PyAny>> {
        let strides = (0..self.shape.len()).map(|dim| self.shape[dim + 1..].iter().product::<i64>());
        let extents: Vec<i64> = self.shape.iter().copied().chain(strides).collect();
        let mut keeper = Box::new(Keeper { _memory: self.memory.clone(), extents });
        let (shape, strides) = keeper.extents.split_at_mut(self.shape.len());
        let tensor = DlTensor {
            data: self.memory.address() as *mut c_void,
            device: Device { kind: CUDA[0], id: self.device },
            ndim: i32::try_from(self.shape.len()).unwrap_or(i32::MAX),
            dtype: data_type(self.dtype),
            shape: shape.as_mut_ptr(),
            strides: strides.as_mut_ptr(),
            byte_offset: 0,
        };
        let managed = Managed { tensor, context: Box::into_raw(keeper).cast(), deleter: Some(give_back) };
        let managed = Box::into_raw(Box::new(managed));
        // SAFETY: the interpreter is attached; the name lives as long as the program, and what is held until `give_back`.
        let capsule = unsafe { ffi::PyCapsule_New(managed.cast(), OLD.0.as_ptr(), Some(drop_capsule)) };
        if capsule.is_null() {
            // SAFETY: no capsule holds it.
            unsafe { give_back(managed) };
            return Err(PyErr::take(py).unwrap_or_else(|| PyMemoryError::new_err("no capsule")));
        }
        // SAFETY: a new reference.
        Ok(unsafe { Bound::from_owned_ptr(py, capsule) }.unbind())
    }
}

unsafe extern "C" fn give_back(managed: *mut Managed) {
    // SAFETY: it was made by `__dlpack__`, and is given back once.
    unsafe {
        let managed = Box::from_raw(managed);
        drop(Box::from_raw(managed.context.cast::<Keeper>()));
    }
}

/// A capsule that goes without having been used gives back what it holds.
unsafe extern "C" fn drop_capsule(capsule: *mut PyObject) {
    // SAFETY: the functions take any object, and say whether it is a capsule of that name, which one that was used is not.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, OLD.0.as_ptr()) != 0 {
            give_back(ffi::PyCapsule_GetPointer(capsule, OLD.0.as_ptr()).cast());
        }
    }
}

/// Waits for what is in the default stream of GPU `device`.
#[pyfunction]
pub(crate) fn synchronize(py: Python<'_>, device: i32) -> PyResult<()> {
    let ordinal = usize::try_from(device).unwrap_or(usize::MAX);
    py.detach(|| keep_current(|| CudaDevice::open(ordinal)?.synchronize())).map_err(|found| alone(py, found))
}
