//! The frame of every call: what goes wrong inside becomes a status.

use crate::status::TcStatus;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;
use tc::guard::is_compiler_thread;

/// What a call comes to.
pub(crate) type Result<T> = std::result::Result<T, TcStatus>;

thread_local! {
    static IN_CALL: Cell<bool> = const { Cell::new(false) };
}

/// Runs the body of a call. No panic leaves it: unwinding into C is undefined.
pub(crate) fn call(body: impl FnOnce() -> Result<()>) -> TcStatus {
    silence();
    let outer = IN_CALL.replace(true);
    let came_to = catch_unwind(AssertUnwindSafe(body));
    IN_CALL.set(outer);
    match came_to {
        Ok(Ok(())) => TcStatus::Ok,
        Ok(Err(status)) => status,
        Err(_) => TcStatus::Bug,
    }
}

/// A panic inside a call is a status, and no message on stderr as well. The hook that says so is that of this shared
/// library's own copy of Rust's standard library; panics of others, where there are any, are left to the hook before.
fn silence() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !IN_CALL.get() && !is_compiler_thread() {
                before(info);
            }
        }));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_a_status() {
        assert_eq!(call(|| panic!("a defect")), TcStatus::Bug);
        assert_eq!(call(|| Err(TcStatus::Busy)), TcStatus::Busy);
        assert_eq!(call(|| Ok(())), TcStatus::Ok);
    }
}
