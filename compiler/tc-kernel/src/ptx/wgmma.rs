//! Products of a warpgroup.
//!
//! The sums are the operands of the line, registers that it reads and writes; but the hardware writes them later, until
//! the group is waited for, and reads a left factor in registers until then. A compiler does not know that: a computation
//! on sums could go between the product and the wait. So every fence and every wait *holds* the arrays of sums and factors
//! that are in sight: lines without instructions that seem to change each element. After `wgmma.wait_group` nothing that
//! reads a sum moves before it, and before `wgmma.fence` nothing that writes one moves behind.
//!
//! A product is volatile and clobbers memory, for it reads shared memory that the compiler sees stores to.

use tc_dialects::fragment::{mma_k, ptx_name};
use tc_dialects::wgmma::{Major, Side, left_in_registers, major, shape};
use tc_ir::{Elem, Func, Op};

/// A function of one instruction of a warpgroup, or of none.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Warpgroup {
    /// The descriptor of a factor.
    Descriptor,
    /// Lets the compiler take sums, or a factor, of this type for changed.
    Hold(Elem),
    /// `wgmma.fence`
    Fence,
    /// `wgmma.mma_async` of 64 rows and `n` columns.
    Mma(Product),
    /// `wgmma.commit_group`
    CommitGroup,
    /// `wgmma.wait_group`
    WaitGroup,
    /// `bar.sync` of the threads of the own warpgroup
    Barrier,
}

/// A product of a warpgroup.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Product {
    /// The type of the factors.
    pub factors: Elem,
    /// The type of the sums.
    pub sums: Elem,
    /// The columns.
    pub n: u16,
    /// Where the left factor lies.
    pub left: Left,
    /// The right factor runs along n.
    pub right_across: bool,
}

/// Where the left factor of a product lies.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[allow(missing_docs, reason = "the fields are told with their variant")]
pub enum Left {
    /// In shared memory; it runs along m where `across` says so.
    Memory { across: bool },
    /// In registers.
    Registers,
}

/// The words of 32 bits that a thread holds of a left factor, of whatever type: 64 rows of 32 bytes.
pub const LEFT_WORDS: usize = 4;

/// The bytes that a descriptor counts addresses in.
pub const GRAIN: i64 = 16;

/// How many of the elements of type `elem` in registers stand in a word.
pub fn packed(elem: Elem) -> usize {
    4 / (elem.bytes() as usize).clamp(1, 4)
}

impl Warpgroup {
    /// The name of the function.
    pub fn name(self) -> String {
        match self {
            Warpgroup::Descriptor => "tc_wgmma_descriptor".into(),
            Warpgroup::Hold(_) => "tc_wgmma_hold".into(),
            Warpgroup::Fence => "tc_wgmma_fence".into(),
            Warpgroup::Mma(Product { factors, sums, n, left, right_across }) => {
                let k = mma_k(factors.bytes());
                let left = match left {
                    Left::Memory { across: false } => "n",
                    Left::Memory { across: true } => "t",
                    Left::Registers => "r",
                };
                let layouts = match (left, if right_across { "t" } else { "n" }) {
                    ("n", "n") => String::new(),
                    (left, right) => format!("_{left}{right}"),
                };
                format!("tc_wgmma_m64n{n}k{k}_{}_{}{layouts}", factors.as_factor().name(), sums.name())
            }
            Warpgroup::CommitGroup => "tc_wgmma_commit_group".into(),
            Warpgroup::WaitGroup => "tc_wgmma_wait_group".into(),
            Warpgroup::Barrier => "tc_warpgroup_barrier".into(),
        }
    }
}

impl Product {
    /// The product that `op` begins.
    pub fn of(func: &Func, op: Op) -> Option<Product> {
        let shape = shape(func, op)?;
        let across = |side: Side| major(func, op, side) == Major::Mn;
        let left = match left_in_registers(func, op) {
            true => Left::Registers,
            false => Left::Memory { across: across(Side::A) },
        };
        let n = u16::try_from(shape.n).ok()?;
        Some(Product { factors: shape.factors, sums: shape.sums, n, left, right_across: across(Side::B) })
    }

    /// The types of what lies in registers.
    pub fn in_registers(self) -> impl Iterator<Item = Elem> {
        let left = (self.left == Left::Registers).then_some(self.factors);
        std::iter::once(self.sums).chain(left)
    }

    /// The words of 32 bits that a thread holds of the sums.
    pub fn sum_words(self) -> usize {
        usize::from(self.n) / 2 / packed(self.sums)
    }

    /// What stands before the instruction: the predicate that says to add to the sums.
    pub fn before(self) -> &'static str {
        "{\n.reg .pred p;\nsetp.ne.b32 p, 1, 0;\n"
    }

    /// The instruction without its operands.
    pub fn instruction(self) -> String {
        let Product { factors, sums, n, .. } = self;
        let (factor, sum, k) = (ptx_name(factors.as_factor()), ptx_name(sums), mma_k(factors.bytes()));
        format!("wgmma.mma_async.sync.aligned.m64n{n}k{k}.{sum}.{factor}.{factor} ")
    }

    /// The operands after the sums, which are the first ones, and what stands behind the instruction: the left factor, a descriptor or
    /// [`LEFT_WORDS`] words, and the descriptor of the right one.
    pub fn after(self) -> String {
        let Product { factors, left, right_across, .. } = self;
        let words = self.sum_words();
        // No factor is negated; products of integers cannot be told so, and only factors of 16 bits may lie across.
        let signs = if factors.is_int() { "" } else { ", 1, 1" };
        let right = u8::from(right_across);
        let layouts = match left {
            _ if factors.bytes() != 2 => String::new(),
            Left::Memory { across } => format!(", {}, {right}", u8::from(across)),
            Left::Registers => format!(", {right}"),
        };
        let (a, n_left) = match left {
            Left::Memory { .. } => (format!("%{words}"), 1),
            Left::Registers => {
                let slots: Vec<String> = (words..words + LEFT_WORDS).map(|nth| format!("%{nth}")).collect();
                (format!("{{{}}}", slots.join(", ")), LEFT_WORDS)
            }
        };
        format!(", {a}, %{}, p{signs}{layouts};\n}}", words + n_left)
    }
}
