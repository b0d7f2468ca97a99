//! What crosses the boundary: handles, strings, structs with their sizes, and the only places where pointers are used.

use crate::call::Result;
use crate::status::TcStatus;
use std::ffi::{c_char, c_void};

/// A compiler with its settings. Any number of threads may use one at a time.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TcContext {
    /// A number; 0 stands for nothing.
    pub id: u64,
}

/// A program. One thread at a time may use it; a second one gets `TC_STATUS_BUSY`.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TcModule {
    /// A number; 0 stands for nothing.
    pub id: u64,
}

/// Diagnostics of a call, in their order.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TcDiagnostics {
    /// A number; 0 stands for nothing.
    pub id: u64,
}

/// A text that the library made.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TcText {
    /// A number; 0 stands for nothing.
    pub id: u64,
}

/// A request to cancel, which one thread makes and a run on another looks at.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TcCancel {
    /// A number; 0 stands for nothing.
    pub id: u64,
}

/// A call of a pass of one's own. It is good until the function returns.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TcPassCall {
    /// A number; 0 stands for nothing.
    pub id: u64,
}

macro_rules! none {
    ($($name:ident)*) => {
        $(impl $name {
            pub(crate) const NONE: $name = $name { id: 0 };
        })*
    };
}

none!(TcContext TcModule TcDiagnostics TcText TcCancel);

/// UTF-8 text of `size` bytes. It need not end in a 0.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TcString {
    /// The first byte; may be null where `size` is 0.
    pub data: *const c_char,
    /// How many bytes there are.
    pub size: usize,
}

impl TcString {
    pub(crate) const EMPTY: TcString = TcString { data: std::ptr::null(), size: 0 };

    /// A view of `text`.
    pub(crate) fn of(text: &str) -> TcString {
        TcString { data: text.as_ptr().cast(), size: text.len() }
    }

    /// The text.
    ///
    /// # Safety
    /// `data` is null or points to `size` bytes that stay as they are for `'a`.
    pub(crate) unsafe fn get<'a>(self) -> Result<&'a str> {
        if self.size == 0 {
            return Ok("");
        }
        if self.data.is_null() {
            return Err(TcStatus::NullArgument);
        }
        if isize::try_from(self.size).is_err() {
            return Err(TcStatus::BadValue);
        }
        // SAFETY: the caller says that so many bytes are there; it is not null, and no slice is larger than `isize::MAX`.
        let bytes = unsafe { std::slice::from_raw_parts(self.data.cast::<u8>(), self.size) };
        std::str::from_utf8(bytes).map_err(|_| TcStatus::NotUtf8)
    }
}

/// How a context compiles. All 0, but for `struct_size`, stands for the defaults.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TcContextOptions {
    /// `sizeof(TcContextOptions)`.
    pub struct_size: usize,
    /// The GPU that is compiled for, such as `sm_90`; empty stands for `sm_80`.
    pub target: TcString,
    /// How many functions a pass runs on at a time, four a core at the most; 0 stands for as many as there are cores.
    pub threads: u32,
    /// 1 to leave out checking the program after each pass, 0 not to.
    pub no_verify: u32,
    /// 1 to leave sizes open that have a default, 0 not to.
    pub symbolic: u32,
    /// 0.
    pub reserved: u32,
}

/// What `tc_module_emit` makes.
#[repr(u32)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TcEmit {
    /// CUDA C++.
    Cuda = 0,
    /// Text for `mlir-opt` 22.
    Mlir = 1,
    /// PTX; `via` says how.
    Ptx = 2,
}

/// The way from a program to PTX.
#[repr(u32)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TcVia {
    /// CUDA C++, and NVIDIA's run-time compiler, which must be installed.
    Cuda = 0,
    /// MLIR and LLVM, which the library must have been built with.
    Mlir = 1,
}

/// How a program is emitted. All 0, but for `struct_size`, stands for the defaults.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TcEmitOptions {
    /// `sizeof(TcEmitOptions)`.
    pub struct_size: usize,
    /// One of `TcEmit`.
    pub kind: u32,
    /// 1 to tell where each statement comes from, by `#line` in CUDA and by `loc` in MLIR, 0 not to; for PTX 0.
    pub locations: u32,
    /// One of `TcVia`, for PTX; else 0.
    pub via: u32,
    /// 0.
    pub reserved: u32,
}

/// How a pipeline is run. All 0, but for `struct_size`, stands for the defaults.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TcRunOptions {
    /// `sizeof(TcRunOptions)`.
    pub struct_size: usize,
    /// The most edits that all passes may make together; 0 for no limit.
    pub max_steps: u64,
    /// A request to cancel that the run looks at, or 0.
    pub cancel: TcCancel,
    /// Values for parameters of schedules and sizes of operators, `block=64 n=1000`.
    pub defines: TcString,
}

/// What is asked of a search space. All 0, but for `struct_size`, stands for the defaults.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TcSpaceOptions {
    /// `sizeof(TcSpaceOptions)`.
    pub struct_size: usize,
    /// The schedule; may be empty where one schedule has parameters.
    pub schedule: TcString,
    /// Values for some parameters and sizes, `block=64 n=1000`.
    pub defines: TcString,
    /// How many points are judged, from the first on; 0 for 200000.
    pub limit: u64,
    /// How many points are given at most; 0 for all that are valid.
    pub n_points: u64,
    /// 1 to draw points all over the space, by `seed`, 0 to give the first ones. Drawing wants `n_points`.
    pub is_sample: u32,
    /// 0.
    pub reserved: u32,
    /// Chooses which points are drawn.
    pub seed: u64,
}

/// A pass of one's own: it is given the text of the module, and `tc_pass_give` takes the text that it becomes. It returns 0,
/// or, if it failed, another number. It is called on threads of the library, for several modules at a time; nothing may be
/// thrown out of it. `user` is that of `TcPassOptions`.
pub type TcPassFn = Option<unsafe extern "C" fn(call: TcPassCall, text: TcString, user: *mut c_void) -> i32>;

/// A pass of one's own.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TcPassOptions {
    /// `sizeof(TcPassOptions)`.
    pub struct_size: usize,
    /// Its name in pipelines: small letters, digits and `-`.
    pub name: TcString,
    /// What it does, in a sentence.
    pub summary: TcString,
    /// What it does.
    pub run: TcPassFn,
    /// Handed to `run`.
    pub user: *mut c_void,
    /// Called with `user` once nothing can call `run` any more; may be null.
    pub drop_user: Option<unsafe extern "C" fn(user: *mut c_void)>,
}

/// What was emitted. Its texts are to be freed.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TcEmitted {
    /// `sizeof(TcEmitted)`.
    pub struct_size: usize,
    /// The text of all kernels.
    pub source: TcText,
    /// How they are launched: a JSON array with a manifest for each program.
    pub manifest: TcText,
}

/// How bad a diagnostic is.
#[repr(u32)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TcSeverity {
    /// Something worth knowing.
    Remark = 0,
    /// Probably not what was meant.
    Warning = 1,
    /// The call failed.
    Error = 2,
}

/// Who has to act on a diagnostic.
#[repr(u32)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TcFault {
    /// Whoever wrote the text.
    Input = 0,
    /// Whoever wrote the pipeline.
    PassAssumption = 1,
    /// Whoever wrote the compiler.
    Bug = 2,
    /// Whoever wrote a pass that was added to the compiler.
    ForeignPass = 3,
}

/// A place in a text; all 0 where there is none.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TcPlace {
    /// The name that the text was given.
    pub file: TcString,
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
    /// The line where it ends.
    pub end_line: u32,
    /// The column behind its end.
    pub end_column: u32,
}

/// One diagnostic. Its strings stay until the diagnostics are freed.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TcDiagnostic {
    /// `sizeof(TcDiagnostic)`.
    pub struct_size: usize,
    /// One of `TcSeverity`.
    pub severity: u32,
    /// One of `TcFault`.
    pub fault: u32,
    /// A name of this kind of diagnostic that does not change, such as `unknown-name`.
    pub code: TcString,
    /// What is wrong, in one sentence.
    pub message: TcString,
    /// The help; empty where none is known.
    pub help: TcString,
    /// Where.
    pub place: TcPlace,
    /// How many other places belong to it.
    pub n_labels: usize,
    /// How many further facts there are.
    pub n_notes: usize,
}

/// A second place that belongs to a diagnostic. Its strings stay until the diagnostics are freed.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TcLabel {
    /// `sizeof(TcLabel)`.
    pub struct_size: usize,
    /// What is to be seen there.
    pub text: TcString,
    /// The place.
    pub place: TcPlace,
}

/// Structs are no larger than this in any version.
const MAX_STRUCT_SIZE: usize = 4096;

/// A struct whose first field is its size.
///
/// # Safety
/// The struct is `repr(C)`, begins with `struct_size: usize`, and holds integers and pointers only, so that any bytes
/// are one of it.
pub(crate) unsafe trait Sized1: Copy {
    /// The size that it had in the first version.
    const FIRST_SIZE: usize;
}

// SAFETY: as the trait asks, by the definitions above.
unsafe impl Sized1 for TcContextOptions {
    const FIRST_SIZE: usize = 40;
}
// SAFETY: as above.
unsafe impl Sized1 for TcEmitOptions {
    const FIRST_SIZE: usize = 16;
}
// SAFETY: as above.
unsafe impl Sized1 for TcRunOptions {
    const FIRST_SIZE: usize = 40;
}
// SAFETY: as above.
unsafe impl Sized1 for TcSpaceOptions {
    const FIRST_SIZE: usize = 72;
}
// SAFETY: as above: no address, all bits 0, is `None`, and any other is one of a function, as the caller says.
unsafe impl Sized1 for TcPassOptions {
    const FIRST_SIZE: usize = 64;
}
// SAFETY: as above.
unsafe impl Sized1 for TcEmitted {
    const FIRST_SIZE: usize = 24;
}
// SAFETY: as above.
unsafe impl Sized1 for TcDiagnostic {
    const FIRST_SIZE: usize = 112;
}
// SAFETY: as above.
unsafe impl Sized1 for TcLabel {
    const FIRST_SIZE: usize = 56;
}

/// The size that the struct at `at` says it has.
///
/// # Safety
/// `at` points to a `usize`, aligned or not.
unsafe fn struct_size<T: Sized1>(at: *const T) -> Result<usize> {
    // SAFETY: as the caller says.
    let size = unsafe { at.cast::<usize>().read_unaligned() };
    if (T::FIRST_SIZE..=MAX_STRUCT_SIZE).contains(&size) { Ok(size) } else { Err(TcStatus::BadStructSize) }
}

/// Reads options; a null pointer stands for the defaults.
///
/// # Safety
/// `at` is null or points to as many bytes as the `usize` there says.
pub(crate) unsafe fn read<T: Sized1>(at: *const T) -> Result<T> {
    // SAFETY: any bytes are a `T`, those that are 0 too.
    let mut read: T = unsafe { std::mem::zeroed() };
    if at.is_null() {
        return Ok(read);
    }
    // SAFETY: as the caller says.
    let size = unsafe { struct_size(at)? };
    // SAFETY: so many bytes are there.
    let bytes = unsafe { std::slice::from_raw_parts(at.cast::<u8>(), size) };
    let known = size.min(size_of::<T>());
    // A program that was made for a newer library may use a newer struct, if it asks nothing new of this one.
    if bytes[known..].iter().any(|&byte| byte != 0) {
        return Err(TcStatus::UnknownField);
    }
    // SAFETY: both have `known` bytes, and do not overlap.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), (&raw mut read).cast::<u8>(), known) };
    Ok(read)
}

/// A place to write what a call gives. It is 0 until something is written.
pub(crate) struct Out<T: Copy> {
    at: *mut T,
}

impl<T: Copy> Out<T> {
    /// The place at `at`, which is null, for an error, or writable.
    pub(crate) fn new(at: *mut T, none: T) -> Result<Out<T>> {
        if at.is_null() {
            return Err(TcStatus::NullArgument);
        }
        let mut out = Out { at };
        out.set(none);
        Ok(out)
    }

    pub(crate) fn set(&mut self, value: T) {
        // SAFETY: it is not null, and whoever called from C says that a `T` may be written there, aligned or not.
        unsafe { self.at.write_unaligned(value) };
    }
}

/// As [`Out`], for what a caller need not ask for.
pub(crate) struct OptionalOut<T: Copy>(Option<Out<T>>);

impl<T: Copy> OptionalOut<T> {
    pub(crate) fn new(at: *mut T, none: T) -> OptionalOut<T> {
        OptionalOut(Out::new(at, none).ok())
    }

    pub(crate) fn is_wanted(&self) -> bool {
        self.0.is_some()
    }

    pub(crate) fn set(&mut self, value: T) {
        if let Some(out) = &mut self.0 {
            out.set(value);
        }
    }
}

/// As [`Out`], for structs with a size: fields that the caller's version lacks are left out.
pub(crate) struct OutStruct<T: Sized1> {
    at: *mut T,
    size: usize,
}

impl<T: Sized1> OutStruct<T> {
    /// # Safety
    /// `at` is null or points to as many bytes as the `usize` there says, which may be written.
    pub(crate) unsafe fn new(at: *mut T) -> Result<OutStruct<T>> {
        if at.is_null() {
            return Err(TcStatus::NullArgument);
        }
        // SAFETY: as the caller says.
        let size = unsafe { struct_size(at.cast_const())? };
        let out = OutStruct { at, size };
        // SAFETY: `size` bytes are there, of which the first hold the size itself.
        unsafe { out.at.cast::<u8>().add(size_of::<usize>()).write_bytes(0, size - size_of::<usize>()) };
        Ok(out)
    }

    /// Writes `value`, but for its size.
    pub(crate) fn set(&mut self, value: T) {
        let (first, known) = (size_of::<usize>(), self.size.min(size_of::<T>()));
        let from = (&raw const value).cast::<u8>();
        // SAFETY: both have at least `known` bytes, and do not overlap: `value` is on this stack.
        unsafe { std::ptr::copy_nonoverlapping(from.add(first), self.at.cast::<u8>().add(first), known - first) };
    }
}

/// 0 or 1.
pub(crate) fn flag(value: u32) -> Result<bool> {
    match value {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(TcStatus::BadValue),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structs_have_the_sizes_of_the_first_version() {
        assert_eq!(size_of::<TcContextOptions>(), TcContextOptions::FIRST_SIZE);
        // `via` came later.
        assert_eq!(std::mem::offset_of!(TcEmitOptions, via), TcEmitOptions::FIRST_SIZE);
        assert_eq!(size_of::<TcRunOptions>(), TcRunOptions::FIRST_SIZE);
        assert_eq!(size_of::<TcSpaceOptions>(), TcSpaceOptions::FIRST_SIZE);
        assert_eq!(size_of::<TcPassOptions>(), TcPassOptions::FIRST_SIZE);
        assert_eq!(size_of::<TcEmitted>(), TcEmitted::FIRST_SIZE);
        assert_eq!(size_of::<TcDiagnostic>(), TcDiagnostic::FIRST_SIZE);
        assert_eq!(size_of::<TcLabel>(), TcLabel::FIRST_SIZE);
    }
}
