//! Arrays of PyTorch, CuPy, JAX and others, looked at without a copy.
//!
//! An array is asked in this order: by DLPack's C exchange API (PyTorch, in tens of nanoseconds), by CuPy's attributes, by
//! `__cuda_array_interface__` (Numba), by `__dlpack__` (JAX).
#![expect(unsafe_code, reason = "reads shapes that other libraries point to")]

use crate::dlpack::{CUDA, DataType, Device, DlTensor, Exchange, Lent};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple, PyType};
use std::sync::Mutex;
use tc::runtime::DType;

/// An array.
pub(crate) struct Tensor {
    /// Where it begins.
    pub(crate) address: u64,
    pub(crate) dtype: DataType,
    pub(crate) device: Device,
    pub(crate) shape: Extents,
    /// Its elements lie row by row without gaps.
    pub(crate) is_dense: bool,
    pub(crate) is_read_only: bool,
    /// Who knows the stream that its library works on.
    pub(crate) library: Library,
    /// What lends it.
    _lent: Option<Lent>,
}

/// The extents of an array: its library's, which stay as long as the array, or a copy.
pub(crate) enum Extents {
    Lent(*const i64, usize),
    Own(Box<[i64]>),
}

impl std::ops::Deref for Extents {
    type Target = [i64];

    fn deref(&self) -> &[i64] {
        match self {
            // SAFETY: whoever calls keeps its arrays, and `Tensor` what was lent for it, until the call returns.
            Extents::Lent(at, rank) => unsafe { std::slice::from_raw_parts(*at, *rank) },
            Extents::Own(extents) => extents,
        }
    }
}

/// How a library says which stream it works on.
#[derive(Clone, Copy)]
pub(crate) enum Library {
    Exchange(Exchange),
    CuPy,
    /// By the array.
    Stream(u64),
    /// It does not.
    Other,
}

/// How arrays of a type are looked at.
#[derive(Clone, Copy)]
enum Way {
    Exchange(Exchange),
    CuPy,
    /// By what each of them has.
    Other,
}

/// Types of arrays, each with how they are looked at.
static TYPES: Mutex<Vec<(Py<PyType>, Way)>> = Mutex::new(Vec::new());
/// So many types are remembered, the newest.
const MAX_TYPES: usize = 64;

/// Looks at arrays of one call: most are of one type.
#[derive(Default)]
pub(crate) struct Looker {
    last: Option<(usize, Way)>,
}

impl Looker {
    /// `object` as an array; `None` where it is none.
    pub(crate) fn look(&mut self, object: &Bound<'_, PyAny>) -> PyResult<Option<Tensor>> {
        match self.way(object) {
            Way::Exchange(exchange) => {
                let tensor = exchange.tensor(object)?;
                return Ok(Some(of_dlpack(&tensor, Library::Exchange(exchange), (None, false))));
            }
            Way::CuPy => return of_cupy(object).map(Some),
            Way::Other => {}
        }
        let py = object.py();
        if let Ok(interface) = object.getattr(intern!(py, "__cuda_array_interface__")) {
            return of_interface(object, &interface).map(Some);
        }
        if !object.hasattr(intern!(py, "__dlpack__"))? {
            return Ok(None);
        }
        let lent = Lent::take(&object.call_method0(intern!(py, "__dlpack__"))?)?;
        let is_read_only = lent.is_read_only();
        let tensor = std::ptr::from_ref(lent.tensor());
        // SAFETY: what is lent stays where it is as long as it is lent.
        Ok(Some(of_dlpack(unsafe { &*tensor }, Library::Other, (Some(lent), is_read_only))))
    }

    /// The C exchange API of `object`'s type, if it has one.
    pub(crate) fn exchange(&mut self, object: &Bound<'_, PyAny>) -> Option<Exchange> {
        match self.way(object) {
            Way::Exchange(exchange) => Some(exchange),
            Way::CuPy | Way::Other => None,
        }
    }

    fn way(&mut self, object: &Bound<'_, PyAny>) -> Way {
        let address = object.get_type_ptr() as usize;
        if let Some((last, way)) = self.last
            && last == address
        {
            return way;
        }
        let of = object.get_type();
        let types = || TYPES.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let known = types().iter().find(|(known, _)| known.as_ptr() as usize == address).map(|(_, way)| *way);
        let way = known.unwrap_or_else(|| {
            // A type may run code of its own when it is asked, and call a kernel: nothing is locked meanwhile.
            let way = Way::of(&of);
            let forgotten = {
                let mut types = types();
                let oldest = (types.len() >= MAX_TYPES).then(|| types.remove(0));
                types.push((of.unbind(), way));
                oldest
            };
            drop(forgotten);
            way
        });
        self.last = Some((address, way));
        way
    }
}

impl Way {
    fn of(of: &Bound<'_, PyType>) -> Way {
        if let Some(exchange) = Exchange::of(of) {
            return Way::Exchange(exchange);
        }
        let is_cupy = |name: &str| matches!(name, "cupy.ndarray" | "cupy._core.core.ndarray");
        let is_cupy = of.fully_qualified_name().is_ok_and(|name| is_cupy(&name.to_string_lossy()));
        if is_cupy { Way::CuPy } else { Way::Other }
    }
}

/// An array of CuPy by its attributes, which cost a fraction of its interface.
fn of_cupy(object: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    let py = object.py();
    let data = object.getattr(intern!(py, "data"))?;
    let shape: Box<[i64]> = object
        .getattr(intern!(py, "shape"))?
        .cast::<PyTuple>()?
        .iter()
        .map(|extent| extent.extract())
        .collect::<PyResult<_>>()?;
    let dtype = object.getattr(intern!(py, "dtype"))?.getattr(intern!(py, "str"))?;
    Ok(Tensor {
        address: data.getattr(intern!(py, "ptr"))?.extract()?,
        dtype: of_numpy(&dtype.cast::<PyString>()?.to_string_lossy()),
        device: Device { kind: CUDA[0], id: data.getattr(intern!(py, "device_id"))?.extract()? },
        shape: Extents::Own(shape),
        is_dense: object.getattr(intern!(py, "_c_contiguous"))?.extract()?,
        is_read_only: false,
        library: Library::CuPy,
        _lent: None,
    })
}

/// An array that DLPack's structure describes.
pub(crate) fn of_dlpack(tensor: &DlTensor, library: Library, (lent, is_read_only): (Option<Lent>, bool)) -> Tensor {
    let (shape, strides) = tensor.numbers();
    Tensor {
        address: tensor.address(),
        dtype: tensor.dtype,
        device: tensor.device,
        is_dense: strides.is_empty() || is_dense(shape, strides),
        shape: Extents::Lent(shape.as_ptr(), shape.len()),
        is_read_only,
        library,
        _lent: lent,
    }
}

/// Do elements with these strides lie row by row without gaps?
fn is_dense(shape: &[i64], strides: &[i64]) -> bool {
    if shape.len() != strides.len() {
        return false;
    }
    if shape.contains(&0) {
        return true;
    }
    let mut expected = 1i64;
    for (&extent, &stride) in shape.iter().zip(strides).rev() {
        if extent != 1 && stride != expected {
            return false;
        }
        expected = expected.wrapping_mul(extent);
    }
    true
}

/// An array that has a CUDA array interface (version 3, Numba's documentation).
fn of_interface(object: &Bound<'_, PyAny>, interface: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    let py = object.py();
    let interface = interface.cast::<PyDict>()?;
    let item = |name| {
        let absent = || pyo3::exceptions::PyBufferError::new_err(format!("the array's interface has no `{name}`"));
        interface.get_item(name)?.ok_or_else(absent)
    };
    let (address, is_read_only): (u64, bool) = item("data")?.extract()?;
    let shape: Vec<i64> = item("shape")?.extract()?;
    let dtype = of_numpy(&item("typestr")?.extract::<String>()?);
    let strides: Option<Vec<i64>> = match interface.get_item("strides")? {
        Some(strides) => strides.extract()?,
        None => None,
    };
    let given = |name: &str| -> PyResult<Option<Bound<'_, PyAny>>> {
        Ok(interface.get_item(name)?.filter(|value| !value.is_none()))
    };
    if given("mask")?.is_some() {
        return Err(pyo3::exceptions::PyBufferError::new_err("it has a mask"));
    }
    // 1 and 2 are the default streams, which the driver takes as they are.
    let library = match given("stream")? {
        Some(stream) => Library::Stream(stream.extract()?),
        None => Library::Other,
    };
    let width = i64::from(dtype.bits / 8).max(1);
    let is_dense = strides.is_none_or(|strides| {
        let elements: Vec<i64> = strides.iter().map(|stride| stride / width).collect();
        strides.iter().all(|stride| stride % width == 0) && is_dense(&shape, &elements)
    });
    // The interface does not say which GPU: libraries do.
    let id = match object.getattr(intern!(py, "device")) {
        Ok(device) => device.getattr(intern!(py, "id")).and_then(|id| id.extract()).unwrap_or(0),
        Err(_) => 0,
    };
    Ok(Tensor {
        address,
        dtype,
        device: Device { kind: CUDA[0], id },
        shape: Extents::Own(shape.into()),
        is_dense,
        is_read_only,
        library,
        _lent: None,
    })
}

/// The type that a `typestr` of NumPy says; bits of 0 for one that no element has.
fn of_numpy(text: &str) -> DataType {
    let (order, rest) = text.split_at_checked(1).unwrap_or(("", ""));
    let (kind, bytes) = rest.split_at_checked(1).unwrap_or(("", ""));
    let bits = bytes.parse::<u8>().ok().and_then(|bytes| bytes.checked_mul(8)).unwrap_or(0);
    let code = match kind {
        "i" => Some(0),
        "u" => Some(1),
        "f" => Some(2),
        "b" => Some(6),
        _ => None,
    };
    match code.filter(|_| matches!(order, "<" | "|" | "=")) {
        Some(code) => DataType { code, bits, lanes: 1 },
        None => DataType { code: u8::MAX, bits: 0, lanes: 1 },
    }
}

/// What DLPack calls `dtype`.
pub(crate) fn data_type(dtype: DType) -> DataType {
    let bits = u8::try_from(dtype.bytes() * 8).unwrap_or(0);
    let exponent = dtype.elem().format().map(|format| format.exponent_bits);
    let code = match (exponent, bits) {
        (Some(4), 8) => 10,
        (Some(5), 8) => 12,
        (Some(8), 16) => 4,
        (Some(_), _) => 2,
        (None, _) if dtype.to_string() == "bool" => 6,
        (None, _) if dtype.is_signed() => 0,
        (None, _) => 1,
    };
    DataType { code, bits, lanes: 1 }
}

/// A type as people write it.
pub(crate) fn type_name(of: DataType) -> String {
    let DataType { code, bits, lanes } = of;
    let name = match code {
        0 => format!("i{bits}"),
        1 => format!("u{bits}"),
        2 => format!("f{bits}"),
        4 => format!("bf{bits}"),
        6 => "bool".to_string(),
        10 => "f8e4m3".to_string(),
        12 => "f8e5m2".to_string(),
        code => format!("type {code} of {bits} bits"),
    };
    if lanes == 1 { name } else { format!("{name}x{lanes}") }
}
