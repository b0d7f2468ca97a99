//! Requests and answers over the memory of the module.
//!
//! The host calls `tc_request(n)`, which gives it the address of `n` bytes, writes a request there, and calls `tc_answer()`,
//! which gives it the length of the answer; `tc_answer_at()` tells its address. `tc_version()` is the version of this interface.
//! Both buffers belong to the module, and the next request takes their place. Where the compiler panicked, the answer has the place
//! in its source as `panicked_at`: the module is a program of its own, and its panic hook notes it. The host lends its clock as
//! `host.now`, in milliseconds.
#![expect(unsafe_code, reason = "names that a host can find, and its clock; no function here dereferences a pointer")]

use std::cell::{Cell, RefCell};
use std::sync::Once;
use std::time::Duration;

#[link(wasm_import_module = "host")]
// SAFETY: the host provides a function of this name and type, or the module is not instantiated.
unsafe extern "C" {
    /// Milliseconds since some moment.
    safe fn now() -> f64;
}

thread_local! {
    static REQUEST: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static ANSWER: RefCell<String> = const { RefCell::new(String::new()) };
    static PANICKED_AT: Cell<Option<String>> = const { Cell::new(None) };
}

static HOOK: Once = Once::new();

/// The version of this interface.
// SAFETY: no other function of the module has this name.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn tc_version() -> u32 {
    1
}

/// Makes room for a request of `n` bytes; its address.
// SAFETY: no other function of the module has this name.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn tc_request(n: usize) -> *mut u8 {
    REQUEST.with_borrow_mut(|request| {
        request.clear();
        request.resize(n, 0);
        request.as_mut_ptr()
    })
}

/// Answers the request; the length of the answer in bytes.
// SAFETY: no other function of the module has this name.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn tc_answer() -> usize {
    let request = REQUEST.take();
    HOOK.call_once(|| {
        // What is no time, such as a negative one, counts as none.
        tc::support::clock::set_host_clock(|| Duration::try_from_secs_f64(now() / 1e3).unwrap_or_default());
        std::panic::set_hook(Box::new(|info| PANICKED_AT.set(info.location().map(ToString::to_string))));
    });
    let mut text = crate::answer(&String::from_utf8_lossy(&request));
    if let Some(place) = PANICKED_AT.take()
        && text.contains("\"fault\":\"bug\"")
    {
        text.pop();
        text.push_str(&format!(",\"panicked_at\":{}}}", serde_json::Value::from(place)));
    }
    let n = text.len();
    ANSWER.set(text);
    n
}

/// The address of the answer.
// SAFETY: no other function of the module has this name.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn tc_answer_at() -> *const u8 {
    ANSWER.with_borrow(|answer| answer.as_ptr())
}
