//! Identifiers of the program: the author's names, made safe for CUDA C++ and unique where they are visible.
//!
//! C++ lets a block hide a name of an outer one. That is never used here: a name is taken while it is visible, so
//! that every mention means what its author meant.

use rustc_hash::{FxHashMap, FxHashSet};

/// Longer names are cut.
const MAX_LENGTH: usize = 64;

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

/// `name` as an identifier that may be declared; `fallback` where there is none.
fn safe(name: &str, fallback: &str) -> String {
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

/// The names of kernels and others at the outermost level.
#[derive(Default)]
pub(crate) struct Globals {
    taken: FxHashSet<String>,
}

impl Globals {
    /// A name for the kernel `symbol`.
    pub(crate) fn declare(&mut self, symbol: &str) -> String {
        let base = safe(symbol, "kernel");
        let mut name = base.clone();
        let mut nth = 0;
        while !self.taken.insert(name.clone()) {
            nth += 1;
            name = format!("{base}_{nth}");
        }
        name
    }
}

/// A name that is visible.
struct Entry {
    name: Box<str>,
    /// The author's name it was made from, and how many times that had been taken before.
    base: Box<str>,
    before: u32,
}

/// The names of one kernel.
pub(crate) struct Names {
    visible: FxHashSet<Box<str>>,
    /// How many visible names were made from each author's name.
    counts: FxHashMap<Box<str>, u32>,
    stack: Vec<Entry>,
    /// Names of the author's that numbered ones keep clear of, so that those stay as they are.
    kept: FxHashSet<Box<str>>,
    n_temporaries: u32,
}

impl Names {
    /// No names yet. The author's names are `authors`.
    pub(crate) fn new<'a>(authors: impl Iterator<Item = &'a str>) -> Names {
        Names {
            visible: FxHashSet::default(),
            counts: FxHashMap::default(),
            stack: Vec::new(),
            kept: authors.map(Box::from).collect(),
            n_temporaries: 0,
        }
    }

    /// Opens a block. What is declared from now on goes out of sight when [`Names::leave`] is given the result.
    pub(crate) fn enter(&self) -> usize {
        self.stack.len()
    }

    /// Closes a block.
    pub(crate) fn leave(&mut self, mark: usize) {
        for entry in self.stack.drain(mark..).rev() {
            self.visible.remove(&entry.name);
            self.counts.insert(entry.base, entry.before);
        }
    }

    /// Declares a name made from the author's name `wanted`, or from `fallback` where that is empty.
    pub(crate) fn declare(&mut self, wanted: &str, fallback: &str) -> Box<str> {
        let base: Box<str> = safe(wanted, fallback).into();
        let before = self.counts.get(&base).copied().unwrap_or(0);
        let (mut nth, mut name) = (before, base.clone());
        while self.visible.contains(&name) || (nth > 0 && *name != *wanted && self.kept.contains(&name)) {
            nth += 1;
            let gap = if base.ends_with('_') { "" } else { "_" };
            name = format!("{base}{gap}{nth}").into();
        }
        self.push(name, base, before, nth)
    }

    /// Declares a name for a value that has none.
    pub(crate) fn temporary(&mut self) -> Box<str> {
        loop {
            self.n_temporaries += 1;
            let name: Box<str> = format!("t{}", self.n_temporaries).into();
            if !self.visible.contains(&name) && !self.kept.contains(&name) {
                return self.push(name.clone(), name, 0, 0);
            }
        }
    }

    fn push(&mut self, name: Box<str>, base: Box<str>, before: u32, count: u32) -> Box<str> {
        self.visible.insert(name.clone());
        self.counts.insert(base.clone(), count);
        self.stack.push(Entry { name: name.clone(), base, before });
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_kept_where_they_can_be() {
        let mut names = Names::new(["x", "t1", "x_1", "float"].into_iter());
        assert_eq!(&*names.declare("x", "v"), "x");
        let mark = names.enter();
        assert_eq!(&*names.declare("x", "v"), "x_2", "`x_1` is the author's");
        assert_eq!(&*names.declare("x_1", "v"), "x_1");
        assert_eq!(&*names.temporary(), "t2", "`t1` is the author's");
        names.leave(mark);
        assert_eq!(&*names.declare("x", "v"), "x_2", "the block is closed, so its names are free");
    }

    #[test]
    fn what_cuda_reserves_is_changed() {
        let mut names = Names::new(std::iter::empty());
        for (name, want) in [
            ("float", "float_"),
            ("threadIdx", "threadIdx_"),
            ("__x", "v__x"),
            ("_X", "v_X"),
            ("_x", "_x"),
            ("expf", "expf_"),
            ("float4", "float4_"),
            ("make_int2", "make_int2_"),
            ("i$1", "i_1"),
            ("tc_lane", "tc_lane_"),
            ("ünder", "_nder"),
            ("", "v"),
            ("4th", "v4th"),
            ("r", "r"),
        ] {
            assert_eq!(&*names.declare(name, "v"), want);
        }
        assert_eq!(names.declare(&"x".repeat(1 << 20), "v").len(), MAX_LENGTH);
    }

    #[test]
    fn many_equal_names_cost_no_more_than_as_many_different_ones() {
        let mut names = Names::new(std::iter::empty());
        for nth in 0..100_000u32 {
            let want = if nth == 0 { "i".to_string() } else { format!("i_{nth}") };
            assert_eq!(*names.declare("i", "v"), *want);
        }
    }
}
