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

/// The registers of 32 bits in which tensor cores take numbers.
#[derive(Clone, Copy)]
pub(crate) struct Register {
    /// Numbers to a register.
    pub(crate) n: u16,
    /// The type that holds so many of them: what is loaded and stored, and what a register of sums is.
    pub(crate) packed: &'static str,
    /// What a register of factors is.
    pub(crate) factor: &'static str,
}

/// How tensor cores take numbers of type `elem`.
pub(crate) fn register(elem: Elem) -> Register {
    let (n, packed) = match elem {
        // NVVM has these as vectors, and all others as the words that they lie in.
        Elem::F16 => return Register { n: 2, packed: "vector<2xf16>", factor: "vector<2xf16>" },
        Elem::BF16 => (2, "vector<2xbf16>"),
        Elem::I8 | Elem::U8 => (4, "vector<4xi8>"),
        Elem::I32 => (1, "i32"),
        _ => (1, "f32"),
    };
    Register { n, packed, factor: "i32" }
}

/// What is loaded and stored as a word of 32 bits of numbers of type `elem`.
pub(crate) fn word(elem: Elem) -> &'static str {
    match elem.bytes() {
        1 => "vector<4xi8>",
        _ => register(elem).packed,
    }
}

/// The blocks of a cluster, a bit each.
pub(crate) const BLOCKS: &str = "i16";

/// Has MLIR 22 fragments of `elem` for `wmma`?
pub(crate) fn has_fragments(elem: Elem) -> bool {
    elem != Elem::BF16
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
