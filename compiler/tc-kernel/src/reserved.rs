//! The author's names, made safe for CUDA C++. Kernels are called so by every emitter, so that one manifest fits what
//! any of them writes.

use crate::names::MAX_LENGTH;

/// Words of C++17 and C++20, and of the preprocessor.
const KEYWORDS: &[&str] = &[
    "alignas",
    "alignof",
    "and",
    "and_eq",
    "asm",
    "auto",
    "bitand",
    "bitor",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "char8_t",
    "char16_t",
    "char32_t",
    "class",
    "co_await",
    "co_return",
    "co_yield",
    "compl",
    "concept",
    "const",
    "const_cast",
    "consteval",
    "constexpr",
    "constinit",
    "continue",
    "decltype",
    "default",
    "defined",
    "delete",
    "do",
    "double",
    "dynamic_cast",
    "else",
    "enum",
    "explicit",
    "export",
    "extern",
    "false",
    "float",
    "for",
    "friend",
    "goto",
    "if",
    "inline",
    "int",
    "long",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "not",
    "not_eq",
    "nullptr",
    "operator",
    "or",
    "or_eq",
    "private",
    "protected",
    "public",
    "register",
    "reinterpret_cast",
    "requires",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "static_assert",
    "static_cast",
    "struct",
    "switch",
    "template",
    "this",
    "thread_local",
    "throw",
    "true",
    "try",
    "typedef",
    "typeid",
    "typename",
    "typeof",
    "union",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
    "wchar_t",
    "while",
    "xor",
    "xor_eq",
];

/// What CUDA declares and the emitted text uses, and macros.
const CUDA: &[&str] =
    &["NULL", "threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize", "min", "max", "abs", "dyn_shared", "nvcuda"];

/// What the functions of the preamble begin with.
const OURS: &str = "tc_";

/// Functions of the C library that NVRTC declares at the outermost level, where kernels stand. Those that the
/// emitted text calls are taken inside kernels too.
const LIBRARY: &[&str] = &[
    "acos",
    "acosh",
    "asin",
    "asinh",
    "assert",
    "atan",
    "atan2",
    "atanh",
    "cbrt",
    "ceil",
    "clock",
    "clock64",
    "cos",
    "cosh",
    "erf",
    "erfc",
    "exp",
    "exp10",
    "exp2",
    "expm1",
    "fabs",
    "fdim",
    "floor",
    "fma",
    "fmax",
    "fmin",
    "fmod",
    "free",
    "frexp",
    "hypot",
    "ilogb",
    "isfinite",
    "isinf",
    "isnan",
    "j0",
    "j1",
    "jn",
    "labs",
    "ldexp",
    "lgamma",
    "llabs",
    "llmax",
    "llmin",
    "llrint",
    "llround",
    "log",
    "log10",
    "log1p",
    "log2",
    "logb",
    "lrint",
    "lround",
    "main",
    "malloc",
    "memcpy",
    "memset",
    "modf",
    "nan",
    "nearbyint",
    "norm",
    "pow",
    "printf",
    "remainder",
    "rint",
    "round",
    "rsqrt",
    "signbit",
    "sin",
    "sincos",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "tgamma",
    "trap",
    "trunc",
    "umax",
    "umin",
    "ullmax",
    "ullmin",
    "y0",
    "y1",
    "yn",
];

/// Built-in vector types and the names that end in lanes.
const VECTORS: &[&str] =
    &["char", "uchar", "short", "ushort", "int", "uint", "longlong", "ulonglong", "float", "double", "half", "dim"];

/// May `name` not be declared inside a kernel?
fn is_reserved(name: &str) -> bool {
    let implementations = name.starts_with("__")
        || name.strip_prefix('_').is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_uppercase()));
    let taken = implementations || name.starts_with(OURS);
    taken || KEYWORDS.contains(&name) || CUDA.contains(&name) || is_library(name) || is_vector(name)
}

fn is_library(name: &str) -> bool {
    LIBRARY.contains(&name) || name.strip_suffix('f').is_some_and(|name| LIBRARY.contains(&name))
}

/// `float4`, `make_float4`, and `f16x8`, of which the emitted text declares its own.
fn is_vector(name: &str) -> bool {
    if tc_ir::Scalar::parse(name).is_some() {
        return true;
    }
    let name = name.strip_prefix("make_").unwrap_or(name);
    name.strip_suffix(|last: char| last.is_ascii_digit()).is_some_and(|base| VECTORS.contains(&base))
}

/// `name` as an identifier of C++ that may be declared; `fallback` where there is none.
pub fn safe(name: &str, fallback: &str) -> String {
    let mut out: String =
        name.chars().take(MAX_LENGTH).map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect();
    if out.is_empty() {
        out.push_str(fallback);
    }
    if out.starts_with(|first: char| first.is_ascii_digit()) {
        out.insert(0, 'v');
    }
    if is_reserved(&out) {
        // A name that opens with an underscore is not mended by another one at its end.
        if out.starts_with('_') {
            out.insert(0, 'v');
        } else {
            out.push('_');
        }
    }
    out
}
