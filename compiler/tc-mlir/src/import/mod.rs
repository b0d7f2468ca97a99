//! From MLIR to programs.
//!
//! MLIR's own parser reads the text, with the dialects that the emitter writes, and verifies it. Each `gpu.func` becomes a
//! program op by op; what has no counterpart is refused at its place in the text, with help.
//!
//! Kernels of our own emitter carry what MLIR has no place for as texts of tc: `tc.kernel`, the function without what its
//! threads do, and `tc.hosts`, the functions of the host that launch them. They come back as they were. A kernel of
//! somebody else's becomes a program of its own, with loops over the blocks and threads that its attributes or its launches
//! tell.
//!
//! - `text` is where things are in the text; `types` what MLIR's types stand for; `state` what reading a kernel carries.
//! - `scan` refuses what MLIR's parser must not be given; `module` finds the kernels, `header` reads their heads, `launch` how many threads there are, `walk` their ops.
//! - `values` is for constants and conversions, `arith` for the rest of arithmetic, by the emitter's table, `bits` for
//!   bits of floats, `vectors` for lanes, `memory` for buffers and accesses, `control` for loops and conditionals, `gpu` for
//!   what threads know and exchange, `pointers` for addresses and copies that run ahead, `fragments` for products of tiles.

mod arith;
mod bits;
mod control;
mod fragments;
mod gpu;
mod header;
mod launch;
mod memory;
mod module;
mod pointers;
mod scan;
mod state;
mod text;
mod types;
mod values;
mod vectors;
mod walk;

pub(crate) use launch::{LaunchOp, launches_of};
pub use module::import_operation;
pub(crate) use module::{name as name_of, ops as ops_of, symbol as symbol_of};

use std::sync::Arc;
use tc_ir::{Module, Registry};
use tc_support::{Diagnostic, Diagnostics, FileId, Location};

/// Reads an MLIR text into a module of its own. `name` is what messages call it.
pub fn import_module(name: &str, text: &str, registry: &Arc<Registry>) -> (Module, Diagnostics) {
    let mut module = Module::new(registry.clone());
    match module.sources.add(name, text) {
        Ok(file) => {
            let found = import_file(&mut module, file);
            (module, found)
        }
        Err(_) => {
            let text = format!("`{name}` is too large: all files together may have 2 GiB");
            (module, Diagnostic::error("too-large", Location::None, text).into())
        }
    }
}

/// Reads a file of `module.sources`, MLIR, and adds its kernels to the module. Kernels with errors are left out; all errors
/// are reported.
pub fn import_file(module: &mut Module, file: FileId) -> Diagnostics {
    module::import(module, file)
}
