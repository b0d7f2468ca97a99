//! Instructions that C++ has no words for: small functions around one line of PTX each.
//!
//! What the compiler may do with such a line is told by its operands, by `volatile` and by the clobber `memory`:
//!
//! - `mma.sync` computes registers from registers, and is `volatile` all the same. It is done by the whole warp, and a
//!   line that is not `volatile` may be moved to where its result is used, into a guarded store, say, which only some
//!   threads reach. It has no clobber, so that loads and stores pass it; the order of the instructions within a block
//!   is settled by ptxas, which sees what they are.
//! - `ldmatrix` is `volatile` for the same reason, and clobbers memory: the compiler knows its operand as a number and
//!   not as a place, and would otherwise take a store before it for one that nothing reads, or move it behind.
//! - `cp.async`, `commit_group` and `wait_group` write memory, or say when it is written: both.
//! - `cvt.rna.tf32.f32` is neither: equal conversions become one.
//!
//! The arrays that the functions are given hold what one thread has of a tile (`tc_dialects::fragment::element`), two
//! or four elements to a word of 32 bits, which is just what the instructions take. Once the functions are inlined and
//! the loops around them unrolled, every position is a literal and the arrays are registers.

use std::fmt::Write;
use tc_dialects::fragment::ptx_name;
use tc_ir::Elem;

/// A function of one instruction, or of one and its conversions.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Ptx {
    /// `mma.sync` of `n` columns (8, or twice 8) of such factors into such sums.
    Mma { factors: Elem, sums: Elem, n: u8 },
    /// `ldmatrix` of 1, 2 or 4 matrices.
    LoadMatrix { matrices: u8, transposed: bool },
    /// `cp.async` of 4, 8 or 16 bytes; zeros where a condition does not hold, if it takes one.
    CopyAsync { bytes: u8, when: bool },
    /// `cp.async.commit_group`
    CommitGroup,
    /// `cp.async.wait_group`
    WaitGroup,
}

/// The extent k of a product of such factors.
fn depth(factors: Elem) -> i64 {
    tc_dialects::fragment::mma_k(factors.bytes())
}

impl Ptx {
    /// The name of the function.
    pub(crate) fn name(self) -> String {
        match self {
            Ptx::Mma { factors, sums, n } => {
                let k = depth(factors);
                format!("tc_mma_m16n{n}k{k}_{}_{}", factors.as_factor().name(), sums.name())
            }
            Ptx::LoadMatrix { matrices, transposed } => {
                format!("tc_ldmatrix_x{matrices}{}", if transposed { "_trans" } else { "" })
            }
            Ptx::CopyAsync { bytes, when } => format!("tc_copy_async_{bytes}{}", if when { "_when" } else { "" }),
            Ptx::CommitGroup => "tc_commit_group".into(),
            Ptx::WaitGroup => "tc_wait_group".into(),
        }
    }

    /// The function; `number` names the C++ type of an element.
    pub(crate) fn text(self, number: impl Fn(Elem) -> &'static str) -> String {
        let name = self.name();
        let head = |params: &str| format!("static __device__ __forceinline__ void {name}({params}) {{\n");
        match self {
            Ptx::Mma { factors, sums, n } => {
                let params = format!("{}* d, const {1}* a, const {1}* b", number(sums), number(factors));
                let body = if n == 8 { product(factors, sums) } else { two_products(factors, sums) };
                format!("{}{body}}}\n", head(&params))
            }
            Ptx::LoadMatrix { matrices, transposed } => {
                let n = usize::from(matrices);
                let trans = if transposed { ".trans" } else { "" };
                format!(
                    "{}  unsigned int* d = reinterpret_cast<unsigned int*>(to);\n  asm volatile(\"ldmatrix.sync.aligned.m8n8.x{n}{trans}.shared.b16 {{{}}}, [%{n}];\"\n    : {}\n    : \"r\"((unsigned int)__cvta_generic_to_shared(row))\n    : \"memory\");\n}}\n",
                    head("void* to, const void* row"),
                    slots(0, n),
                    operands("=r", "d", n)
                )
            }
            Ptx::CopyAsync { bytes, when } => {
                // Only copies of 16 bytes may leave the first-level cache alone.
                let cache = if bytes == 16 { "cg" } else { "ca" };
                let (param, size, source) = if when {
                    (", bool when", ", %2", format!(", \"r\"(when ? {bytes} : 0)"))
                } else {
                    ("", "", String::new())
                };
                format!(
                    "{}  asm volatile(\"cp.async.{cache}.shared.global [%0], [%1], {bytes}{size};\"\n    :: \"r\"((unsigned int)__cvta_generic_to_shared(to)), \"l\"(__cvta_generic_to_global(from)){source}\n    : \"memory\");\n}}\n",
                    head(&format!("void* to, const void* from{param}"))
                )
            }
            Ptx::CommitGroup => {
                format!("{}  asm volatile(\"cp.async.commit_group;\" ::: \"memory\");\n}}\n", head(""))
            }
            Ptx::WaitGroup => format!(
                "template <int pending>\n{}  asm volatile(\"cp.async.wait_group %0;\" :: \"n\"(pending) : \"memory\");\n}}\n",
                head("")
            ),
        }
    }

    /// What has to be declared before it.
    pub(crate) fn part(self) -> Option<Ptx> {
        match self {
            Ptx::Mma { factors, sums, n: 16 } => Some(Ptx::Mma { factors, sums, n: 8 }),
            _ => None,
        }
    }
}

/// `%from, …`, `n` of them.
fn slots(from: usize, n: usize) -> String {
    let slots: Vec<String> = (from..from + n).map(|slot| format!("%{slot}")).collect();
    slots.join(", ")
}

/// `"r"(name[0]), …`, `n` of them.
fn operands(constraint: &str, name: &str, n: usize) -> String {
    let operands: Vec<String> = (0..n).map(|nth| format!("\"{constraint}\"({name}[{nth}])")).collect();
    operands.join(", ")
}

/// The body of a product with 8 columns.
fn product(factors: Elem, sums: Elem) -> String {
    let mut out = String::new();
    // Sums of 16 bits stand two to a word, too.
    let (n_sums, sum, constraint) = match sums {
        _ if sums.is_half() => (2, "c", "+r"),
        Elem::I32 => (4, "d", "+r"),
        _ => (4, "d", "+f"),
    };
    if sums.is_half() {
        out.push_str("  unsigned int* c = reinterpret_cast<unsigned int*>(d);\n");
    }
    if factors.as_factor() != factors {
        for (to, from, n) in [("x", "a", 4), ("y", "b", 2)] {
            let _ = writeln!(out, "  unsigned int {to}[{n}];");
            let _ = writeln!(out, "  #pragma unroll");
            let _ = writeln!(out, "  for (int i = 0; i < {n}; ++i) {{");
            let _ = writeln!(out, "    asm(\"cvt.rna.tf32.f32 %0, %1;\" : \"=r\"({to}[i]) : \"f\"({from}[i]));");
            let _ = writeln!(out, "  }}");
        }
    } else {
        for (to, from) in [("x", "a"), ("y", "b")] {
            let _ = writeln!(out, "  const unsigned int* {to} = reinterpret_cast<const unsigned int*>({from});");
        }
    }
    let (factor, total, k) = (ptx_name(factors.as_factor()), ptx_name(sums), depth(factors));
    let _ = writeln!(
        out,
        "  asm volatile(\"mma.sync.aligned.m16n8k{k}.row.col.{total}.{factor}.{factor}.{total} {{{0}}}, {{{1}}}, {{{2}}}, {{{0}}};\"",
        slots(0, n_sums),
        slots(n_sums, 4),
        slots(n_sums + 4, 2)
    );
    let _ = writeln!(out, "    : {}", operands(constraint, sum, n_sums));
    let _ = writeln!(out, "    : {}, {});", operands("r", "x", 4), operands("r", "y", 2));
    out
}

/// The body of a product with 16 columns: its tiles are two of 8 side by side.
fn two_products(factors: Elem, sums: Elem) -> String {
    let half = Ptx::Mma { factors, sums, n: 8 }.name();
    let n_b = tc_dialects::fragment::per_lane(depth(factors) * 8);
    format!("  {half}(d, a, b);\n  {half}(d + 4, a, b + {n_b});\n")
}
