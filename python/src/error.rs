//! Diagnostics as Python's exceptions.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use tc::Failure;
use tc::run::Refused;
use tc::support::{Diagnostic, Diagnostics, Sources};

/// The exception for `failure`: of `tirc.errors`, which chooses its class by the codes and carries the diagnostics.
pub(crate) fn raised(py: Python<'_>, failure: &Failure) -> PyErr {
    static MAKE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let make = || -> PyResult<PyErr> {
        let make = MAKE.import(py, "tirc.errors", "make")?;
        Ok(PyErr::from_value(make.call1((failure.text(), failure.json()))?))
    };
    // Without the Python part there is at least the text.
    make().unwrap_or_else(|_| PyRuntimeError::new_err(failure.text()))
}

/// The exception for what has no text to point into.
pub(crate) fn alone(py: Python<'_>, diagnostic: Diagnostic) -> PyErr {
    raised(py, &failure(diagnostic, &Sources::new()))
}

/// `diagnostic` as a failure.
pub(crate) fn failure(diagnostic: Diagnostic, sources: &Sources) -> Failure {
    Failure { diagnostics: Diagnostics::from(diagnostic), sources: sources.clone() }
}

/// Why nothing was chosen, as a failure.
pub(crate) fn refused(refused: Refused, sources: &Sources) -> Failure {
    let (Refused::Call(found) | Refused::Input(found)) = refused;
    failure(*found, sources)
}
