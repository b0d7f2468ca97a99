//! Kernels as functions of tvm-ffi, by its C interface (tvm/ffi/c_api.h of `apache-tvm-ffi` 0.1).
//!
//! A function gets its arguments as values of 16 bytes, arrays among them as DLPack's structure, and asks tvm-ffi's environment
//! for the stream. It runs without Python: whatever speaks tvm-ffi can call a kernel. `tirc.ffi` opens the library, and says
//! which versions of it are known.
#![expect(unsafe_code, reason = "calls a C library and is called by it")]

use crate::core::{Core, Looked};
use crate::dlpack::{Device, DlTensor};
use crate::error::alone;
use crate::kernel::Kernel;
use crate::tensor::{Library as Origin, of_dlpack};
use libloading::Library;
use pyo3::prelude::*;
use smallvec::SmallVec;
use std::ffi::{CString, c_char, c_int, c_void};
use std::path::PathBuf;
use std::sync::Arc;
use tc::runtime::shapes::CODE;
use tc::support::{Diagnostic, Location, counted};
use tc::target::Param;

/// A value: a number that says its kind, and eight bytes.
#[repr(C)]
struct Any {
    kind: i32,
    small: u32,
    value: u64,
}

impl Any {
    /// The array that it is.
    fn array(&self) -> Option<&DlTensor> {
        let array = match self.kind {
            BORROWED => self.value as *const DlTensor,
            TENSOR => (self.value as *const u8).wrapping_add(HEAD).cast(),
            _ => return None,
        };
        // SAFETY: values of these kinds point to an array, which the caller keeps for the time of the call.
        Some(unsafe { &*array })
    }
}

/// Kinds of values: an integer, a truth value, a float, a borrowed array, an array of tvm-ffi's own.
const INT: i32 = 1;
const BOOL: i32 = 2;
const FLOAT: i32 = 3;
const BORROWED: i32 = 7;
const TENSOR: i32 = 70;
/// Bytes of the head of an object, after which the array begins.
const HEAD: usize = 24;

type Call = unsafe extern "C" fn(*mut c_void, *const Any, i32, *mut Any) -> c_int;
type Delete = unsafe extern "C" fn(*mut c_void);

#[repr(C)]
struct Bytes {
    data: *const c_char,
    size: usize,
}

/// What is called of the library.
#[derive(Clone, Copy)]
struct Api {
    create: unsafe extern "C" fn(*mut c_void, Call, Delete, *mut *mut c_void) -> c_int,
    set_global: unsafe extern "C" fn(*const Bytes, *mut c_void, c_int) -> c_int,
    drop_object: unsafe extern "C" fn(*mut c_void) -> c_int,
    raise: unsafe extern "C" fn(*const c_char, *const c_char),
    stream: unsafe extern "C" fn(i32, i32) -> *mut c_void,
}

/// A function: its kernel, and the library that it answers to.
struct Function {
    core: Arc<Core>,
    api: Api,
}

/// Makes `kernel` the global function `name` of the tvm-ffi library at `library`.
#[pyfunction]
pub(crate) fn register_ffi(py: Python<'_>, kernel: &Kernel, name: &str, library: PathBuf) -> PyResult<()> {
    let wrong = |text: String| alone(py, Diagnostic::error("tvm-ffi", Location::None, text));
    let api = open(&library).map_err(|error| wrong(format!("cannot use `{}`: {error}", library.display())))?;
    let function = Box::into_raw(Box::new(Function { core: kernel.core.clone(), api })).cast::<c_void>();
    let mut made = std::ptr::null_mut();
    let name = Bytes { data: name.as_ptr().cast(), size: name.len() };
    // SAFETY: the library has these functions with these types, as its version says; what `function` points to is freed by
    // `delete`, which the library calls once. The object is dropped here, and lives on in the table.
    let status = unsafe {
        let status = (api.create)(function, call, delete, &mut made);
        if status != 0 {
            drop(Box::from_raw(function.cast::<Function>()));
            return Err(wrong("tvm-ffi made no function".into()));
        }
        let status = (api.set_global)(&name, made, 1);
        (api.drop_object)(made);
        status
    };
    if status == 0 { Ok(()) } else { Err(wrong("tvm-ffi did not take the function".into())) }
}

fn open(path: &std::path::Path) -> Result<Api, libloading::Error> {
    // SAFETY: the library was loaded by its own package; opening it again runs nothing.
    let library = unsafe { Library::new(path)? };
    // SAFETY: the functions have these types in all versions that `tirc.ffi` accepts.
    let api = unsafe {
        Api {
            create: *library.get(b"TVMFFIFunctionCreate\0")?,
            set_global: *library.get(b"TVMFFIFunctionSetGlobal\0")?,
            drop_object: *library.get(b"TVMFFIObjectDecRef\0")?,
            raise: *library.get(b"TVMFFIErrorSetRaisedFromCStr\0")?,
            stream: *library.get(b"TVMFFIEnvGetStream\0")?,
        }
    };
    // Its functions are called as long as the process runs.
    std::mem::forget(library);
    Ok(api)
}

unsafe extern "C" fn delete(function: *mut c_void) {
    // SAFETY: it was made by `register_ffi`, and the library gives it back once.
    drop(unsafe { Box::from_raw(function.cast::<Function>()) });
}

unsafe extern "C" fn call(function: *mut c_void, args: *const Any, n: i32, result: *mut Any) -> c_int {
    // SAFETY: it was made by `register_ffi`, and lives until `delete`.
    let function = unsafe { &*function.cast::<Function>() };
    let n = usize::try_from(n).unwrap_or(0);
    // SAFETY: the caller has so many arguments.
    let args = if n == 0 { &[][..] } else { unsafe { std::slice::from_raw_parts(args, n) } };
    // A panic must not cross the C interface.
    let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| function.run(args)));
    let found = match done {
        Ok(Ok(())) => {
            // SAFETY: the caller wants a value there; this one is nothing.
            unsafe { result.write(Any { kind: 0, small: 0, value: 0 }) };
            return 0;
        }
        Ok(Err(found)) => found,
        Err(_) => Diagnostic::bug("panic", Location::None, "the launch panicked"),
    };
    let kind = if found.code == CODE { c"ValueError" } else { c"RuntimeError" };
    let help = found.help.map_or(String::new(), |help| format!("\n  help: {help}"));
    let text = CString::new(format!("{}{help}", found.message).replace('\0', " ")).unwrap_or_default();
    // SAFETY: the library copies both texts.
    unsafe { (function.api.raise)(kind.as_ptr(), text.as_ptr()) };
    -1
}

impl Function {
    fn run(&self, args: &[Any]) -> Result<(), Diagnostic> {
        let params = &self.core.program.manifest.params;
        if args.len() != params.len() {
            let (takes, function) = (counted(params.len(), "argument"), &self.core.program.manifest.function);
            let text = format!("`{function}` takes {takes}, and is given {}", args.len());
            return Err(Diagnostic::error(CODE, Location::None, text).help("pass the outputs too"));
        }
        // SAFETY: the function takes any numbers.
        let stream = |device: Device| unsafe { (self.api.stream)(device.kind, device.id) } as u64;
        let tensors: Option<SmallVec<[&DlTensor; 8]>> = args.iter().map(Any::array).collect();
        if let Some(tensors) = &tensors
            && let Some((launch, addresses)) = self.core.like_before(tensors)
        {
            return self.core.launch_again(&launch, &addresses, stream(tensors[0].device));
        }
        let mut looked: SmallVec<[Looked; 12]> = SmallVec::with_capacity(args.len());
        for (idx, arg) in args.iter().enumerate() {
            looked.push(self.look(idx, arg)?);
        }
        let device = looked.iter().find_map(Looked::array).map(|array| array.device);
        self.core.launch(&looked, &[], || Ok(device.map_or(0, stream)))?;
        if let Some(tensors) = &tensors {
            self.core.remember(tensors, &looked);
        }
        Ok(())
    }

    fn look(&self, idx: usize, arg: &Any) -> Result<Looked, Diagnostic> {
        if let Param::Scalar(scalar) = &self.core.program.manifest.params[idx] {
            let value = match arg.kind {
                INT | BOOL => tc::runtime::Element::Int((arg.value as i64).into()),
                FLOAT => tc::runtime::Element::Float(f64::from_bits(arg.value)),
                _ => return Err(self.core.wrong(idx, "is an array or an object, and a value is expected")),
            };
            let word = crate::core::word(scalar.dtype, value);
            return word
                .map(Looked::Word)
                .ok_or_else(|| self.core.wrong(idx, format!("is no value of type `{}`", scalar.dtype)));
        }
        let array = arg.array().ok_or_else(|| self.core.wrong(idx, "is no array"))?;
        let tensor = of_dlpack(array, Origin::Other, (None, false));
        match self.core.refuse(idx, &tensor) {
            None => Ok(Looked::Array(tensor)),
            Some(wrong) => Err(wrong),
        }
    }
}
