//! Passes of the caller's own, and where they are put.
//!
//! A pass in C is a function from the text of the module to its text: C has no view of the IR, which changes from version
//! to version, and the text is what all passes are told apart by anyway.

use crate::abi::{TcContext, TcPassCall, TcPassOptions, TcSeverity, TcString, read};
use crate::call::call;
use crate::status::TcStatus;
use crate::table::{self, Object};
use rustc_hash::FxHashMap;
use std::ffi::c_void;
use std::ops::Range;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use tc::pass::PassInfo;
use tc::support::Diagnostic;
use tc::text_pass::{TextCall, text_pass};

/// Adds a pass of the caller's own to `context`, for modules that are made in it from now on. A name that is none, or is
/// that of another pass, is `TC_STATUS_BAD_VALUE`. Where the call fails, `drop_user` is not called.
///
/// # Safety
/// `options` is null or points to a `TcPassOptions` whose strings are as they say; `run` and `drop_user` may be called on
/// any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tc_context_add_pass(context: TcContext, options: *const TcPassOptions) -> TcStatus {
    call(|| {
        if options.is_null() {
            return Err(TcStatus::NullArgument);
        }
        // SAFETY: as the caller says.
        let options = unsafe { read(options)? };
        // SAFETY: as the caller says.
        let (name, summary) = unsafe { (options.name.get()?, options.summary.get()?) };
        let run = options.run.ok_or(TcStatus::NullArgument)?;
        let is_name =
            !name.is_empty() && name.bytes().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-');
        if !is_name {
            return Err(TcStatus::BadValue);
        }
        let info = info(name, summary);
        let user = Arc::new(User { user: options.user, drop_user: Mutex::new(None) });
        let pass = Pass { owner: context.id, run, user: user.clone() };
        let make = text_pass(info.name, move |call| pass.run(call));
        table::change_compiler(context.id, |compiler| {
            compiler.passes.add_pass_with(info, make).map_err(|_| TcStatus::BadValue)
        })?;
        // It is the library's from here on.
        *user.drop_user.lock().unwrap_or_else(PoisonError::into_inner) = options.drop_user;
        Ok(())
    })
}

/// Puts passes, a piece of a pipeline such as `mine` or `tir.func(cse)`, at a place of a named pipeline, for modules that
/// are made in `context` from now on. docs/passes.md lists the places. A pipeline or a place that there is not is
/// `TC_STATUS_BAD_VALUE`.
///
/// # Safety
/// Strings are as they say.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tc_context_add_passes_at(
    context: TcContext,
    pipeline: TcString,
    place: TcString,
    passes: TcString,
) -> TcStatus {
    call(|| {
        // SAFETY: as the caller says.
        let (pipeline, place, passes) = unsafe { (pipeline.get()?, place.get()?, passes.get()?) };
        table::change_compiler(context.id, |compiler| {
            compiler.passes.add_at(pipeline, place, passes).map_err(|_| TcStatus::BadValue)
        })
    })
}

/// Gives the text that the module becomes; of several texts the last one counts. Where none is given, the module stays as
/// it is.
///
/// # Safety
/// `text` is as it says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tc_pass_give(pass_call: TcPassCall, text: TcString) -> TcStatus {
    call(|| {
        let (made, _) = table::get::<Arc<Call>>(pass_call.id)?;
        // SAFETY: as the caller says.
        let text = unsafe { text.get()? };
        made.change(|given| given.text = Some(text.to_string()));
        Ok(())
    })
}

/// Reports a diagnostic at `size` bytes of the text that the pass was given, from byte `at` on. `severity` is one of
/// `TcSeverity`; an error fails the pass. `help` may be empty.
///
/// # Safety
/// Strings are as they say.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tc_pass_report(
    pass_call: TcPassCall,
    severity: u32,
    message: TcString,
    help: TcString,
    at: usize,
    size: usize,
) -> TcStatus {
    call(|| {
        let (made, _) = table::get::<Arc<Call>>(pass_call.id)?;
        // SAFETY: as the caller says.
        let (message, help) = unsafe { (message.get()?, help.get()?) };
        let is = |one: TcSeverity| severity == one as u32;
        if ![TcSeverity::Remark, TcSeverity::Warning, TcSeverity::Error].into_iter().any(is) {
            return Err(TcStatus::BadValue);
        }
        let (message, help) = (message.to_string(), help.to_string());
        let bytes = at..at.saturating_add(size);
        made.change(|given| given.found.push(Reported { severity, message, help, bytes }));
        Ok(())
    })
}

/// What the function of a pass was called with, and what it gave.
#[derive(Default)]
pub(crate) struct Call {
    given: Mutex<Given>,
}

#[derive(Default)]
struct Given {
    text: Option<String>,
    found: Vec<Reported>,
}

struct Reported {
    severity: u32,
    message: String,
    help: String,
    bytes: Range<usize>,
}

impl Call {
    fn change<T>(&self, change: impl FnOnce(&mut Given) -> T) -> T {
        change(&mut self.given.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// What the caller hands to its function.
struct User {
    user: *mut c_void,
    drop_user: Mutex<Option<unsafe extern "C" fn(*mut c_void)>>,
}

// SAFETY: the caller says that its functions may be called with it on any thread.
unsafe impl Send for User {}
// SAFETY: as above.
unsafe impl Sync for User {}

impl Drop for User {
    fn drop(&mut self) {
        let drop_user = self.drop_user.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(drop_user) = drop_user {
            // SAFETY: nothing can call the pass any more, and this is done once.
            unsafe { drop_user(self.user) };
        }
    }
}

struct Pass {
    /// The context, which calls are entered with.
    owner: u64,
    run: unsafe extern "C" fn(TcPassCall, TcString, *mut c_void) -> i32,
    user: Arc<User>,
}

impl Pass {
    fn run(&self, text: &mut TextCall<'_>) -> std::result::Result<Option<String>, String> {
        let made = Arc::new(Call::default());
        let id = table::add(self.owner, Object::Call(made.clone())).map_err(|_| "its context was freed".to_string())?;
        // SAFETY: the caller says that it may be called with these, on any thread, and throws nothing.
        let came_to = unsafe { (self.run)(TcPassCall { id }, TcString::of(text.text), self.user.user) };
        // With its context it may have been freed already.
        let _ = table::free::<Arc<Call>>(id);
        let given = made.change(std::mem::take);
        for one in given.found {
            let span = text.span(one.bytes);
            let found = match one.severity {
                severity if severity == TcSeverity::Error as u32 => Diagnostic::error("text-pass", span, one.message),
                severity if severity == TcSeverity::Warning as u32 => {
                    Diagnostic::warning("text-pass", span, one.message)
                }
                _ => Diagnostic::remark("text-pass", span, one.message),
            };
            text.report(if one.help.is_empty() { found } else { found.help(one.help) });
        }
        if came_to == 0 { Ok(given.text) } else { Err(format!("it returned {came_to}")) }
    }
}

/// The row of a pass. Rows are for ever, so there is one for each name and summary, however many contexts add it.
fn info(name: &str, summary: &str) -> &'static PassInfo {
    static ROWS: LazyLock<Mutex<FxHashMap<String, &'static PassInfo>>> = LazyLock::new(Mutex::default);
    let page = format!("{summary}\n");
    let mut rows = ROWS.lock().unwrap_or_else(PoisonError::into_inner);
    rows.entry(format!("{name}\n{page}")).or_insert_with(|| {
        let (name, page) = (name.to_string().leak(), page.leak());
        Box::leak(Box::new(PassInfo { name, page, ..PassInfo::BASE }))
    })
}
