//! From MLIR to programs, in a build without MLIR: all is refused.

use std::sync::Arc;
use tc_ir::{Module, Registry};
use tc_support::{Diagnostics, FileId};

/// Refuses the text: nothing here reads MLIR.
pub fn import_module(_name: &str, _text: &str, registry: &Arc<Registry>) -> (Module, Diagnostics) {
    (Module::new(registry.clone()), crate::lower::not_built().into())
}

/// Refuses the file: nothing here reads MLIR.
pub fn import_file(_module: &mut Module, _file: FileId) -> Diagnostics {
    crate::lower::not_built().into()
}
