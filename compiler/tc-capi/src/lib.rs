//! The compiler for programs in C: a shared library, `libtc_capi.so`, and its header, `include/tc.h`.
//!
//! The header is made from this crate by cbindgen (`cargo xtask gen`); docs/embedding.md shows a first program. What C
//! cannot check is checked here, so that a wrong call ends in a [`TcStatus`] and not in undefined behaviour:
//!
//! - **Handles are numbers**, looked up in a table (`table`). A number that was never given, one that was freed, one of
//!   something else: each has a status of its own. Numbers are not used twice.
//! - **Structs carry their size** (`abi`). Fields are only ever added at the end, so a program and a library of different
//!   age understand each other, or say that they do not.
//! - **Strings carry their length**, and are checked to be UTF-8 (`abi`).
//! - **No panic leaves** (`call`), and nothing is written to a stream.
//!
//! What remains for the caller: a pointer that is not null points to as many bytes as it should, and what
//! `tc_text_get` and the functions of diagnostics point to is not read after the handle is freed.
//!
//! The table is the one variable that this library shares between its callers. It holds what they made and nothing
//! else: contexts know nothing of each other.

#![allow(unsafe_code, reason = "pointers of C are read and written: in `abi`, each with its reason")]

mod abi;
mod call;
mod cancel;
mod context;
mod diagnostics;
mod module;
mod pass;
mod space;
mod status;
mod table;
mod text;

pub use abi::{
    TcCancel, TcContext, TcContextOptions, TcDiagnostic, TcDiagnostics, TcEmit, TcEmitOptions, TcEmitted, TcFault,
    TcLabel, TcModule, TcPassCall, TcPassFn, TcPassOptions, TcPlace, TcRunOptions, TcSeverity, TcSpaceOptions,
    TcString, TcText, TcVia,
};
pub use cancel::{tc_cancel_ask, tc_cancel_create, tc_cancel_free};
pub use context::{TC_ABI_VERSION, tc_abi_version, tc_context_create, tc_context_free, tc_status_name, tc_version};
pub use diagnostics::{
    tc_diagnostics_count, tc_diagnostics_free, tc_diagnostics_get, tc_diagnostics_json, tc_diagnostics_label,
    tc_diagnostics_note, tc_diagnostics_text,
};
pub use module::{
    tc_module_clone, tc_module_emit, tc_module_free, tc_module_parse, tc_module_print, tc_module_run,
    tc_module_run_with,
};
pub use pass::{tc_context_add_pass, tc_context_add_passes_at, tc_pass_give, tc_pass_report};
pub use space::{tc_module_points, tc_module_space};
pub use status::TcStatus;
pub use text::{tc_text_free, tc_text_get};
