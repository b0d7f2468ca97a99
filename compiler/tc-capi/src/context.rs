//! Contexts, and what is known without one.

use crate::abi::{Out, TcContext, TcContextOptions, TcString, flag, read};
use crate::call::call;
use crate::status::TcStatus;
use crate::table;
use std::ffi::c_char;
use std::sync::Arc;
use tc::Compiler;
use tc::target::Target;

/// The version of this interface. It changes when a program that was made for the one before would no longer work.
pub const TC_ABI_VERSION: u32 = 1;

/// The version of the interface that the library has: `TC_ABI_VERSION` of its header.
#[unsafe(no_mangle)]
pub extern "C" fn tc_abi_version() -> u32 {
    TC_ABI_VERSION
}

/// The version of the compiler, such as `0.1.0`.
#[unsafe(no_mangle)]
pub extern "C" fn tc_version() -> TcString {
    TcString::of(env!("CARGO_PKG_VERSION"))
}

/// What a status says, in a few words; it ends in a 0 and stays.
#[unsafe(no_mangle)]
pub extern "C" fn tc_status_name(status: u32) -> *const c_char {
    let status = usize::try_from(status).ok().and_then(|number| TcStatus::ALL.get(number));
    status.map_or(c"no such status", |status| status.text()).as_ptr()
}

/// Makes a context. `abi_version` is `TC_ABI_VERSION`; `options` may be null. A target that is not known is
/// `TC_STATUS_BAD_VALUE`.
///
/// # Safety
/// `options` is null or points to a `TcContextOptions`, `out` is null or points to a `TcContext`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tc_context_create(
    abi_version: u32,
    options: *const TcContextOptions,
    out: *mut TcContext,
) -> TcStatus {
    call(|| {
        let mut out = Out::new(out, TcContext::NONE)?;
        if abi_version != TC_ABI_VERSION {
            return Err(TcStatus::BadAbiVersion);
        }
        // SAFETY: as the caller says.
        let options = unsafe { read(options)? };
        // SAFETY: as the caller says.
        let target = unsafe { options.target.get()? };
        let mut compiler = Compiler::new();
        if !target.is_empty() {
            compiler.target = Target::parse(target).map_err(|_| TcStatus::BadValue)?;
        }
        compiler.threads = options.threads as usize;
        compiler.verify = !flag(options.no_verify)?;
        compiler.symbolic = flag(options.symbolic)?;
        if options.reserved != 0 {
            return Err(TcStatus::UnknownField);
        }
        out.set(TcContext { id: table::add_context(compiler) });
        Ok(())
    })
}

/// Frees `context` and all that was made with it: modules, diagnostics, texts. Freeing 0 does nothing.
#[unsafe(no_mangle)]
pub extern "C" fn tc_context_free(context: TcContext) -> TcStatus {
    call(|| table::free::<Arc<Compiler>>(context.id))
}
