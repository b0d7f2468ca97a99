//! Requests to cancel.

use crate::abi::{Out, TcCancel, TcContext};
use crate::call::call;
use crate::status::TcStatus;
use crate::table::{self, Object};
use std::sync::Arc;
use tc::Compiler;
use tc::support::Cancel;

/// Makes a request to cancel that was not made yet, to be handed to `tc_module_run_with`.
///
/// # Safety
/// `out` is null or points to a `TcCancel`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tc_cancel_create(context: TcContext, out: *mut TcCancel) -> TcStatus {
    call(|| {
        let mut out = Out::new(out, TcCancel::NONE)?;
        let (_, owner) = table::get::<Arc<Compiler>>(context.id)?;
        out.set(TcCancel { id: table::add(owner, Object::Cancel(Cancel::new()))? });
        Ok(())
    })
}

/// Makes the request: runs that were given it, now or later, end soon with `TC_STATUS_ENDED`. Any thread may do so.
#[unsafe(no_mangle)]
pub extern "C" fn tc_cancel_ask(cancel: TcCancel) -> TcStatus {
    call(|| {
        table::get::<Cancel>(cancel.id)?.0.cancel();
        Ok(())
    })
}

/// Frees `cancel`. Freeing 0 does nothing.
#[unsafe(no_mangle)]
pub extern "C" fn tc_cancel_free(cancel: TcCancel) -> TcStatus {
    call(|| table::free::<Cancel>(cancel.id))
}
