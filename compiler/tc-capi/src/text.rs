//! Texts that the library made.

use crate::abi::{Out, TcString, TcText};
use crate::call::call;
use crate::status::TcStatus;
use crate::table;
use std::sync::Arc;

/// Gives the bytes of `text`, which stay where they are until `text` or its context is freed.
///
/// # Safety
/// `out` is null or points to a `TcString`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tc_text_get(text: TcText, out: *mut TcString) -> TcStatus {
    call(|| {
        let mut out = Out::new(out, TcString::EMPTY)?;
        let (text, _) = table::get::<Arc<str>>(text.id)?;
        // The table keeps the text until it is freed.
        out.set(TcString::of(&text));
        Ok(())
    })
}

/// Frees `text`. Freeing 0 does nothing.
#[unsafe(no_mangle)]
pub extern "C" fn tc_text_free(text: TcText) -> TcStatus {
    call(|| table::free::<Arc<str>>(text.id))
}
