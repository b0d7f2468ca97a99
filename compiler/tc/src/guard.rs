//! What stands between the compiler and whoever calls it: a stack that is deep enough, and an end to panics.
//!
//! Parts of the compiler recurse over what is nested, within bounds that a stack of 64 MiB is enough for, and the stack
//! of a caller may be smaller: 8 MiB in a main thread, 2 MiB or less in others. So each call of the facade runs on a
//! thread of its own with such a stack, except where it is on one already. Starting it takes a fraction of a millisecond; whoever makes
//! thousands of calls makes all of them inside one [`on_big_stack`].
//!
//! Whoever has such a stack already, or a target without threads, has calls run where they are made: [`in_place`] for what is
//! inside it, and all calls where the crate is built without its feature `threads`.
//!
//! A panic in the compiler is a defect of it. It ends here, as a [`Failure`] whose diagnostic is a `Bug`, and the caller
//! goes on. One trace of it no library can keep in: Rust calls the *panic hook* of the process before anybody can catch
//! the panic, and the hook that a program starts with writes to stderr. The hook belongs to the program. This crate
//! never sets it, as that would be state that all libraries of a process share; a host that wants silence sets one that
//! asks [`is_compiler_thread`]:
//!
//! ```
//! let usual = std::panic::take_hook();
//! std::panic::set_hook(Box::new(move |info| {
//!     if !tc::guard::is_compiler_thread() {
//!         usual(info);
//!     }
//! }));
//! let failure = tc::on_big_stack(|| panic!("a defect")).expect_err("it panicked");
//! assert!(failure.is_bug() && failure.text().contains("a defect"));
//! ```
//!
//! The C interface sets such a hook: the library that C programs load has a hook of its own, which no other code sees.
//!
//! That a thread has a large stack is written down in a variable of that thread, which is set once, when it begins. It
//! is no state of the compiler: nothing but the place where a call runs depends on it. [`in_place`] sets it while it runs.

use crate::failure::Failure;
use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
pub use tc_support::workers::STACK;
use tc_support::{Diagnostic, Location, Sources};

/// The name of the threads that the compiler starts.
pub const THREAD: &str = "tc";

thread_local! {
    static HAS_BIG_STACK: Cell<bool> = const { Cell::new(false) };
}

/// Does this code run on a thread that the compiler started? A panic here becomes a [`Failure`].
pub fn is_compiler_thread() -> bool {
    HAS_BIG_STACK.get() || std::thread::current().name() == Some(THREAD)
}

/// Runs `run` on a stack that is deep enough for the compiler; a panic becomes a [`Failure`]. All calls of the facade
/// inside `run` stay on that stack.
pub fn on_big_stack<T: Send>(run: impl FnOnce() -> T + Send) -> Result<T, Failure> {
    guarded("working for its host", &Sources::new(), || Ok(run()))
}

/// Runs `run` where it is, and all calls of the facade inside it too: no thread is started for them. The stack has to be
/// deep enough, [`STACK`] bytes for programs of any nesting that the compiler accepts; a smaller one may overflow, which ends
/// the process. A panic becomes a [`Failure`] all the same, unless the program is built to abort at one.
///
/// ```
/// let text = tc::guard::in_place(|| {
///     let compiler = tc::Compiler::new();
///     let module = compiler.parse("one.tir", "tir.func @f(A: f32[1]) {\n  A[0] = 1.0\n}\n")?.module;
///     compiler.print(&module)
/// })?;
/// assert!(text?.contains("A[0] = 1.0"));
/// # Ok::<(), tc::Failure>(())
/// ```
pub fn in_place<T>(run: impl FnOnce() -> T) -> Result<T, Failure> {
    let _restored = Restored(HAS_BIG_STACK.replace(true));
    guarded_here("working for its host", &Sources::new(), || Ok(run()))
}

/// Sets [`HAS_BIG_STACK`] to what it was before.
struct Restored(bool);

impl Drop for Restored {
    fn drop(&mut self) {
        HAS_BIG_STACK.set(self.0);
    }
}

/// Marks this thread, whose stack has [`STACK`] bytes, as one that needs no other.
pub(crate) fn begin_thread() {
    HAS_BIG_STACK.set(true);
}

/// Runs `run` on a stack that is deep enough. `doing` and `sources` are for the diagnostic that a panic becomes.
pub(crate) fn guarded<T: Send>(
    doing: &str,
    sources: &Sources,
    run: impl FnOnce() -> Result<T, Failure> + Send,
) -> Result<T, Failure> {
    if HAS_BIG_STACK.get() || cfg!(not(feature = "threads")) {
        return guarded_here(doing, sources, run);
    }
    let fail = |diagnostic: Diagnostic| Failure { diagnostics: diagnostic.into(), sources: sources.clone() };
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().name(THREAD.to_string()).stack_size(STACK);
        let inside = || {
            begin_thread();
            run()
        };
        match builder.spawn_scoped(scope, inside) {
            Ok(thread) => thread.join().unwrap_or_else(|payload| Err(fail(panicked(doing, &*payload)))),
            Err(error) => {
                let message = format!("cannot start a thread with a stack of {} MiB: {error}", STACK >> 20);
                Err(fail(Diagnostic::error("no-thread", Location::None, message)))
            }
        }
    })
}

/// As [`guarded`], for what cannot go to another thread: it runs where it is.
pub(crate) fn guarded_here<T>(
    doing: &str,
    sources: &Sources,
    run: impl FnOnce() -> Result<T, Failure>,
) -> Result<T, Failure> {
    let fail = |diagnostic: Diagnostic| Failure { diagnostics: diagnostic.into(), sources: sources.clone() };
    caught(run).unwrap_or_else(|payload| Err(fail(panicked(doing, &*payload))))
}

fn caught<T>(run: impl FnOnce() -> T) -> Result<T, Box<dyn Any + Send>> {
    catch_unwind(AssertUnwindSafe(run))
}

/// The diagnostic that a panic becomes.
pub(crate) fn panicked(doing: &str, payload: &(dyn Any + Send)) -> Diagnostic {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
    Diagnostic::bug("panicked", Location::None, format!("the compiler panicked while {doing}: {text}"))
        .help("this is a defect of the compiler: report it with the text and the pipeline that led here")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread::{ThreadId, current};

    fn thread_of_a_call() -> ThreadId {
        guarded("telling its thread", &Sources::new(), || Ok(current().id())).unwrap_or_else(|why| panic!("{why}"))
    }

    #[test]
    fn calls_in_place_stay_where_they_are_until_the_end() {
        let here = current().id();
        assert_eq!(thread_of_a_call() != here, cfg!(feature = "threads"));
        let inside =
            in_place(|| [thread_of_a_call(), in_place(thread_of_a_call).unwrap_or_else(|why| panic!("{why}"))]);
        assert_eq!(inside.unwrap_or_else(|why| panic!("{why}")), [here, here]);
        assert_eq!(thread_of_a_call() != here, cfg!(feature = "threads"));
    }

    #[test]
    fn a_panic_in_place_is_a_failure_and_ends_the_place() {
        let failure = in_place::<()>(|| panic!("a defect")).expect_err("it panicked");
        assert!(failure.is_bug() && failure.text().contains("a defect"));
        assert_eq!(thread_of_a_call() != current().id(), cfg!(feature = "threads"));
    }
}
