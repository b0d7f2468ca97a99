//! The functions that TVM FFI calls, in C: `__tvm_ffi_NAME` for each function of the program.

use crate::agree::{Function, Interface, Parameter};
use crate::{spell, types};
use std::fmt::Write;

/// What begins the part, in C that is the same in every bundle, and what ends it.
pub(crate) const SUPPORT: &str = include_str!("c/ffi.c");
pub(crate) const END: &str = "\n#endif\n";

/// The functions of `interface`.
pub(crate) fn text(interface: &Interface) -> String {
    interface.functions.iter().map(function).collect()
}

fn function(function: &Function) -> String {
    let (name, n_params) = (&function.c_name, function.params.len());
    let n_buffers = function.buffers().count();
    let n_args = n_params + function.sizes.len();
    let export =
        format!("__tvm_ffi_{name}(void *tc_handle, const TVMFFIAny *tc_args, int32_t tc_n_args, TVMFFIAny *tc_result)");
    let mut out = format!("\n$$_TC_FFI_EXPORT int {export};\n\nint {export} {{\n");
    for (nth, param) in function.params.iter().enumerate() {
        let _ = match value(param) {
            Value::Buffer => writeln!(out, "  void *tc_p{nth} = NULL;"),
            Value::Int => writeln!(out, "  int64_t tc_p{nth} = 0;"),
            Value::Float => writeln!(out, "  double tc_p{nth} = 0;"),
        };
    }
    (0..function.sizes.len()).for_each(|nth| out.push_str(&format!("  int64_t tc_s{nth} = 0;\n")));
    if n_buffers > 0 {
        let _ = writeln!(out, "  uint64_t tc_bytes[{n_buffers}];\n  $_status tc_status;");
    }
    out.push_str("  int tc_device = -1;\n  void *tc_stream = NULL;\n  (void)tc_handle;\n");
    if n_args == 0 {
        out.push_str("  (void)tc_args;\n");
    }
    let text = spell::string(&function.symbol);
    let _ = writeln!(out, "  $$_TC_FFI_TRY($_tc_ffi_count(tc_n_args, {n_args}, {text}));");
    for (nth, (size, _)) in function.sizes.iter().enumerate() {
        let (arg, text) = (n_params + nth, spell::string(&size.name));
        let _ =
            writeln!(out, "  $$_TC_FFI_TRY($_tc_ffi_int(&tc_args[{arg}], INT64_MIN, INT64_MAX, &tc_s{nth}, {text}));");
    }
    out.push_str(&arguments(function));
    out.push_str("  $$_TC_FFI_TRY($_tc_ffi_stream(tc_device, &tc_stream));\n");
    let param = |(nth, param): (usize, &Parameter)| match value(param) {
        Value::Buffer => format!(", ({} *)tc_p{nth}", pointee(param)),
        _ => format!(", ({})tc_p{nth}", types::c_value(param.dtype)),
    };
    let params: String = function.params.iter().enumerate().map(param).collect();
    let sizes: String = (0..function.sizes.len()).map(|nth| format!(", tc_s{nth}")).collect();
    let _ = writeln!(out, "  return $_tc_ffi_end($_{name}(tc_stream{params}{sizes}), tc_result);\n}}");
    out
}

/// What an argument is read as.
enum Value {
    Buffer,
    Int,
    Float,
}

fn value(param: &Parameter) -> Value {
    match &param.buffer {
        Some(_) => Value::Buffer,
        None if types::is_wide_float(param.dtype) => Value::Float,
        None => Value::Int,
    }
}

fn pointee(param: &Parameter) -> String {
    let qualifier = if param.buffer.as_ref().is_some_and(|buffer| buffer.is_read_only) { "const " } else { "" };
    format!("{qualifier}{}", types::c_pointee(param.dtype))
}

/// Reads the buffers and values.
fn arguments(function: &Function) -> String {
    let mut out = String::new();
    let sizes: String = (0..function.sizes.len()).map(|nth| format!("tc_s{nth}, ")).collect();
    if function.buffers().next().is_some() {
        let check = format!("$_tc_of_{}_check({sizes}tc_bytes)", function.c_name);
        let _ = writeln!(out, "  tc_status = {check};\n  if (tc_status != $$_OK) return $_tc_ffi_raise(tc_status);");
    }
    let mut n_buffers = 0;
    for (nth, param) in function.params.iter().enumerate() {
        let (arg, text) = (format!("&tc_args[{nth}]"), spell::string(&param.name));
        let call = match value(param) {
            Value::Buffer => {
                let (code, bits) = (types::dlpack_code(param.dtype), 8 * param.dtype.bytes());
                n_buffers += 1;
                format!("buffer({arg}, {code}, {bits}, tc_bytes[{}], &tc_device, &tc_p{nth}, {text})", n_buffers - 1)
            }
            Value::Int => {
                let (low, high) = types::c_range(param.dtype);
                format!("int({arg}, {low}, {high}, &tc_p{nth}, {text})")
            }
            Value::Float => format!("float({arg}, &tc_p{nth}, {text})"),
        };
        let _ = writeln!(out, "  $$_TC_FFI_TRY($_tc_ffi_{call});");
    }
    out
}
