//! Types as MLIR writes them.
//!
//! Integers have no sign of their own. A truth value is an `i1`, and a byte in memory; 8-bit floats are bytes too.

use tc_dialects::scope::{Memory, Scope};
use tc_ir::{Elem, Scalar};

/// The type of one number.
pub(crate) fn number(elem: Elem) -> &'static str {
    match elem {
        Elem::Bool => "i1",
        Elem::I8 | Elem::U8 | Elem::F8E4M3 | Elem::F8E5M2 => "i8",
        Elem::I16 | Elem::U16 => "i16",
        Elem::I32 | Elem::U32 => "i32",
        Elem::I64 | Elem::U64 => "i64",
        Elem::F16 => "f16",
        Elem::BF16 => "bf16",
        Elem::F32 | Elem::TF32 => "f32",
        Elem::F64 => "f64",
        Elem::Index => "index",
    }
}

/// The type of one number in memory.
pub(crate) fn stored(elem: Elem) -> &'static str {
    if elem == Elem::Bool { "i8" } else { number(elem) }
}

/// The number type `number`, or a vector of `lanes` of it.
pub(crate) fn lanes_of(number: &str, lanes: u16) -> String {
    if lanes == 1 { number.to_string() } else { format!("vector<{lanes}x{number}>") }
}

/// The type of a value.
pub(crate) fn value(scalar: Scalar) -> String {
    lanes_of(number(scalar.elem), scalar.lanes)
}

/// Where a buffer lies: the alias that stands for its memory space.
pub(crate) fn space(scope: &str) -> &'static str {
    match Scope::parse(scope).map(Scope::memory) {
        Some(Memory::Shared) => "#shared",
        Some(Memory::Global) => "#global",
        _ => "#private",
    }
}

/// The same as a number of LLVM's.
pub(crate) fn space_number(space: &str) -> u8 {
    match space {
        "#global" => 1,
        "#shared" => 3,
        _ => 0,
    }
}
