//! Arrays of the host: bytes with a type and a shape, which `tirc.arrays` makes of NumPy's arrays and back.

use crate::error::alone;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tc::runtime::{Array, DType};
use tc::support::{Diagnostic, Location};

/// An array with its name: name, element type, shape, bytes.
pub(crate) type Named<'py> = (String, String, Vec<u64>, Bound<'py, PyBytes>);

/// `named` as arrays of the runtime.
pub(crate) fn given(py: Python<'_>, named: Vec<Named<'_>>) -> PyResult<Vec<(String, Array)>> {
    named
        .into_iter()
        .map(|(name, dtype, shape, bytes)| {
            let unknown = || {
                let text = format!("there is no element type `{dtype}`");
                alone(py, Diagnostic::error("bad-argument", Location::None, text))
            };
            let dtype = DType::parse(&dtype).ok_or_else(unknown)?;
            let array =
                Array::from_bytes(dtype, &shape, bytes.as_bytes().to_vec()).map_err(|wrong| alone(py, wrong))?;
            Ok((name, array))
        })
        .collect()
}

/// `array` for Python.
pub(crate) fn shown<'py>(py: Python<'py>, name: &str, array: &Array) -> Named<'py> {
    (name.to_string(), array.dtype().to_string(), array.shape().to_vec(), PyBytes::new(py, array.bytes()))
}
