//! The native module of the Python package `tirc`: the facade of tc, and kernels that take arrays of other libraries.
//!
//! | module | what it holds |
//! |---|---|
//! | [`module`] | a text that was read: passes, checks, kernels made of it |
//! | [`options`] | what calls are told: target, sizes, parameters |
//! | [`arrays`] | arrays of the host, as bytes with a type and a shape |
//! | [`core`], [`kernel`] | a kernel that takes arrays on a GPU: what a launch asks of them, and its class |
//! | [`again`] | launches that are like one before |
//! | [`ffi`] | kernels as functions of tvm-ffi |
//! | [`tensor`], [`dlpack`] | arrays of PyTorch, CuPy and others, without a copy |
//! | [`owned`] | arrays on a GPU that no library made |
//! | [`store`] | machine code that was made before |
//! | [`error`] | diagnostics as Python's exceptions |
//!
//! What needs no speed is written in Python beside it (`python/tirc/`).

mod again;
mod arrays;
mod core;
mod dlpack;
mod error;
mod ffi;
mod kernel;
mod module;
mod options;
mod owned;
mod store;
mod tensor;

use pyo3::prelude::*;
use std::sync::Once;

/// The native part of `tirc`.
#[pymodule]
mod _native {
    use super::silence;
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::ffi::register_ffi;
    #[pymodule_export]
    use super::kernel::Kernel;
    #[pymodule_export]
    use super::module::{Module, add_toolkit_folder, default_target, parse, targets};
    #[pymodule_export]
    use super::owned::{DeviceArray, synchronize};
    #[pymodule_export]
    use super::store::{cache_entries, cache_folder, clear_cache};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        silence();
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}

/// A panic of the compiler becomes an exception, and no message on stderr as well. The hook is that of this shared library's
/// own copy of Rust's standard library; other panics are left to the hook before.
fn silence() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !tc::guard::is_compiler_thread() {
                before(info);
            }
        }));
    });
}
