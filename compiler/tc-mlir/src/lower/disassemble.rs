//! LLVM's bitcode as text, through LLVM's C interface, of which `mlir-sys` declares nothing.

use std::ffi::{CStr, c_char, c_int};
use std::ptr::null_mut;

/// A thing of LLVM, behind a pointer.
type Handle = *mut std::ffi::c_void;

unsafe extern "C" {
    fn LLVMContextCreate() -> Handle;
    fn LLVMContextDispose(context: Handle);
    fn LLVMCreateMemoryBufferWithMemoryRangeCopy(data: *const c_char, len: usize, name: *const c_char) -> Handle;
    fn LLVMDisposeMemoryBuffer(buffer: Handle);
    fn LLVMParseBitcodeInContext2(context: Handle, buffer: Handle, module: *mut Handle) -> c_int;
    fn LLVMPrintModuleToString(module: Handle) -> *mut c_char;
    fn LLVMDisposeMessage(message: *mut c_char);
    fn LLVMDisposeModule(module: Handle);
    fn LLVMContextSetDiagnosticHandler(
        context: Handle,
        handler: Option<unsafe extern "C" fn(Handle, Handle)>,
        with: Handle,
    );
}

/// Keeps LLVM from writing what is wrong with a text to the standard error; that the function fails is enough.
unsafe extern "C" fn hush(_diagnostic: Handle, _with: Handle) {}

/// The LLVM IR that `bitcode` holds.
pub(super) fn text(bitcode: &[u8]) -> Result<String, &'static str> {
    // SAFETY: all calls are in the order that LLVM's manual asks for: the buffer is a copy with a name that ends in zero,
    // the module is read before it is used and disposed of before its context, and so is the string.
    unsafe {
        let context = LLVMContextCreate();
        LLVMContextSetDiagnosticHandler(context, Some(hush), null_mut());
        let name = c"kernels";
        let buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(bitcode.as_ptr().cast(), bitcode.len(), name.as_ptr());
        let mut module = null_mut();
        let failed = LLVMParseBitcodeInContext2(context, buffer, &mut module) != 0 || module.is_null();
        let text = if failed {
            Err("it is no bitcode")
        } else {
            let string = LLVMPrintModuleToString(module);
            let text = CStr::from_ptr(string).to_string_lossy().into_owned();
            LLVMDisposeMessage(string);
            LLVMDisposeModule(module);
            Ok(text)
        };
        LLVMDisposeMemoryBuffer(buffer);
        LLVMContextDispose(context);
        text
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_is_no_bitcode_is_refused() {
        assert_eq!(super::text(b"not bitcode"), Err("it is no bitcode"));
        assert_eq!(super::text(b""), Err("it is no bitcode"));
    }
}
