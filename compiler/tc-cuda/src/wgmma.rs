//! Products of a warpgroup: calls of small functions around one line of PTX each.
//!
//! The sums are the operands of the line, registers that it reads and writes; but the hardware writes them later, until
//! the group is waited for. The compiler does not know that: a computation on sums could go between the product and the
//! wait. So every fence and every wait *holds* the arrays of sums that are in sight: lines without instructions that seem
//! to change each sum. After `wgmma.wait_group` nothing that reads a sum moves before it, and before `wgmma.fence` nothing
//! that writes one moves behind.
//!
//! A product has `volatile` and the clobber `memory`, for it reads shared memory that the compiler sees stores to.

use crate::expr::Expr;
use crate::kernel::Kernel;
use crate::preamble::Helper;
use tc_dialects::fragment::{mma_k, ptx_name};
use tc_dialects::wgmma::{Descriptor, Major, Side, major, shape};
use tc_ir::walk::ancestors;
use tc_ir::{Elem, Op, keys};
use tc_kernel::access::element;
use tc_kernel::facts::n_elements;
use tc_kernel::warpgroup::accumulators;

/// A function of one instruction of a warpgroup, or of none.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Warpgroup {
    /// The descriptor of a factor.
    Descriptor,
    /// Lets the compiler take sums of this type for changed.
    Hold(Elem),
    /// `wgmma.fence`
    Fence,
    /// `wgmma.mma_async` of 64 rows and `n` columns; the factors run along m or n where `across` says so.
    Mma { factors: Elem, sums: Elem, n: u16, across: [bool; 2] },
    /// `wgmma.commit_group`
    CommitGroup,
    /// `wgmma.wait_group`
    WaitGroup,
    /// `bar.sync` of the threads of the own warpgroup
    Barrier,
}

/// How the sums of a thread, `n` of them of type `sums`, are operands: how many words, as what, and from which array. Sums
/// of 16 bits stand two to a word.
fn words(sums: Elem, n: usize) -> (usize, &'static str) {
    match sums {
        _ if sums.is_half() => (n / 2, "+r"),
        Elem::I32 => (n, "+r"),
        _ => (n, "+f"),
    }
}

/// The line that takes an array of 16-bit sums by words.
fn as_words(sums: Elem) -> &'static str {
    if sums.is_half() { "  unsigned int* c = reinterpret_cast<unsigned int*>(sums);\n" } else { "" }
}

/// The name of the array of sums: of words, where these hold two.
fn array(sums: Elem) -> &'static str {
    if sums.is_half() { "sums" } else { "c" }
}

impl Warpgroup {
    /// The name of the function.
    pub(crate) fn name(self) -> String {
        match self {
            Warpgroup::Descriptor => "tc_wgmma_descriptor".into(),
            Warpgroup::Hold(_) => "tc_wgmma_hold".into(),
            Warpgroup::Fence => "tc_wgmma_fence".into(),
            Warpgroup::Mma { factors, sums, n, across } => {
                let k = mma_k(factors.bytes());
                let across = across.map(|across| if across { "t" } else { "n" });
                let layouts = if across == ["n", "n"] { String::new() } else { format!("_{}", across.concat()) };
                format!("tc_wgmma_m64n{n}k{k}_{}_{}{layouts}", factors.as_factor().name(), sums.name())
            }
            Warpgroup::CommitGroup => "tc_wgmma_commit_group".into(),
            Warpgroup::WaitGroup => "tc_wgmma_wait_group".into(),
            Warpgroup::Barrier => "tc_warpgroup_barrier".into(),
        }
    }

    /// The function; `number` is what C++ calls an element type.
    pub(crate) fn text(self, number: impl Fn(Elem) -> &'static str) -> String {
        let head = |params: &str| format!("static __device__ __forceinline__ void {}({params}) {{\n", self.name());
        match self {
            Warpgroup::Descriptor => "static __device__ __forceinline__ unsigned long long tc_wgmma_descriptor(const void* start, unsigned int leading, unsigned int stride, unsigned int swizzle) {\n  const unsigned int mode = swizzle == 128 ? 1 : swizzle == 64 ? 2 : swizzle == 32 ? 3 : 0;\n  const unsigned int address = (unsigned int)__cvta_generic_to_shared(start);\n  return (unsigned long long)(mode << 30 | stride >> 4) << 32 | (leading >> 4 << 16 | (address & 0x3ffffu) >> 4);\n}\n".into(),
            Warpgroup::Hold(sums) => {
                let (words, constraint) = words(sums, 2);
                let n = if words == 1 { "n / 2" } else { "n" };
                format!(
                    "template <int n>\n{}{}  #pragma unroll\n  for (int i = 0; i < {n}; ++i) {{\n    asm volatile(\"\" : \"{constraint}\"(c[i]));\n  }}\n}}\n",
                    head(&format!("{}* {}", number(sums), array(sums))),
                    as_words(sums)
                )
            }
            Warpgroup::Fence => line(&head(""), "wgmma.fence.sync.aligned;"),
            Warpgroup::CommitGroup => line(&head(""), "wgmma.commit_group.sync.aligned;"),
            Warpgroup::WaitGroup => format!(
                "template <int pending>\n{}  asm volatile(\"wgmma.wait_group.sync.aligned %0;\" :: \"n\"(pending) : \"memory\");\n}}\n",
                head("")
            ),
            // Barrier 0 is that of the block.
            Warpgroup::Barrier => format!(
                "{}  const unsigned int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);\n  asm volatile(\"bar.sync %0, 128;\" :: \"r\"(1 + thread / 128) : \"memory\");\n}}\n",
                head("")
            ),
            Warpgroup::Mma { factors, sums, n, across } => {
                let params =
                    format!("{}* {}, unsigned long long a, unsigned long long b", number(sums), array(sums));
                format!("{}{}{}}}\n", head(&params), as_words(sums), product(factors, sums, n, across))
            }
        }
    }
}

/// A function of the line `ptx` alone, which orders memory.
fn line(head: &str, ptx: &str) -> String {
    format!("{head}  asm volatile(\"{ptx}\" ::: \"memory\");\n}}\n")
}

/// The body of a product.
fn product(factors: Elem, sums: Elem, n: u16, across: [bool; 2]) -> String {
    let (words, constraint) = words(sums, usize::from(n) / 2);
    // Operands on lines of eight.
    let lines = |item: &dyn Fn(usize) -> String, indent: &str| {
        let items: Vec<String> = (0..words).map(item).collect();
        items.chunks(8).map(|chunk| chunk.join(", ")).collect::<Vec<_>>().join(&format!(",{indent}"))
    };
    let slots = lines(&|nth| format!("%{nth}"), " \"\n    \"");
    let operands = lines(&|nth| format!("\"{constraint}\"(c[{nth}])"), "\n      ");
    let (factor, sum, k) = (ptx_name(factors.as_factor()), ptx_name(sums), mma_k(factors.bytes()));
    // No factor is negated; products of integers cannot be told so, and only factors of 16 bits may lie across.
    let signs = if factors.is_int() { "" } else { ", 1, 1" };
    let layouts = match across.map(u8::from) {
        [a, b] if factors.bytes() == 2 => format!(", {a}, {b}"),
        _ => String::new(),
    };
    format!(
        "  asm volatile(\"{{\\n.reg .pred p;\\nsetp.ne.b32 p, 1, 0;\\n\"\n    \"wgmma.mma_async.sync.aligned.m64n{n}k{k}.{sum}.{factor}.{factor} \"\n    \"{{{slots}}}, %{words}, %{}, p{signs}{layouts};\\n}}\"\n    : {operands}\n    : \"l\"(a), \"l\"(b)\n    : \"memory\");\n",
        words + 1
    )
}

impl Kernel<'_> {
    /// Begins the product `op`.
    pub(crate) fn warpgroup_product(&mut self, op: Op) {
        let func = self.func;
        let known = shape(func, op).and_then(|shape| Some((shape, u16::try_from(shape.n).ok()?)));
        let descriptors = [Side::A, Side::B].map(|side| side.descriptor(func, op));
        let (Some((shape, n)), [Some(a), Some(b)]) = (known, descriptors) else {
            self.stray("a product of a warpgroup without descriptors");
            return;
        };
        let across = [Side::A, Side::B].map(|side| major(func, op, side) == Major::Mn);
        let sums = self.address(func.operand(op, 0));
        let args = [sums, self.descriptor(op, Side::A, a), self.descriptor(op, Side::B, b)];
        let function = Warpgroup::Mma { factors: shape.factors, sums: shape.sums, n, across };
        let function = self.needs.helper(Helper::Warpgroup(function));
        self.call(op, &function, &args);
    }

    fn descriptor(&mut self, op: Op, side: Side, descriptor: Descriptor) -> Expr {
        let mut args = vec![self.address(self.func.operand(op, side.operand()))];
        args.extend(descriptor.numbers().map(|bytes| Expr::name(&bytes.to_string())));
        let function = self.needs.helper(Helper::Warpgroup(Warpgroup::Descriptor));
        crate::expr::call(&function, &args)
    }

    /// Orders writes of sums before the products that follow.
    pub(crate) fn warpgroup_fence(&mut self, op: Op) {
        self.hold_sums(op);
        let function = self.needs.helper(Helper::Warpgroup(Warpgroup::Fence));
        self.call(op, &function, &[]);
    }

    /// Makes a group of products.
    pub(crate) fn warpgroup_commit(&mut self, op: Op) {
        let function = self.needs.helper(Helper::Warpgroup(Warpgroup::CommitGroup));
        self.call(op, &function, &[]);
    }

    /// Waits for the threads of the own warpgroup.
    pub(crate) fn warpgroup_barrier(&mut self, op: Op) {
        let function = self.needs.helper(Helper::Warpgroup(Warpgroup::Barrier));
        self.call(op, &function, &[]);
    }

    /// Waits for groups of products.
    pub(crate) fn warpgroup_wait(&mut self, op: Op) {
        let pending = self.func.int_of(op, keys::PENDING).unwrap_or(0);
        let function = self.needs.helper(Helper::Warpgroup(Warpgroup::WaitGroup));
        self.call(op, &format!("{function}<{pending}>"), &[]);
        self.hold_sums(op);
    }

    /// Holds the arrays of sums that are in sight of `op`.
    fn hold_sums(&mut self, op: Op) {
        let func = self.func;
        let around: Vec<_> =
            std::iter::once(op).chain(ancestors(func, op)).filter_map(|op| func.region_of(op)).collect();
        for buffer in accumulators(func) {
            let Some(made) = func.def_op(buffer) else { continue };
            let is_in_sight = func.region_of(made).is_some_and(|region| around.contains(&region));
            let (Some(name), Some(elem), Some(n)) =
                (self.name_of(buffer), element(func, func.value_type(buffer)), n_elements(func, buffer))
            else {
                continue;
            };
            if is_in_sight {
                let function = self.needs.helper(Helper::Warpgroup(Warpgroup::Hold(elem.elem)));
                self.call(op, &format!("{function}<{n}>"), &[Expr::name(&name)]);
            }
        }
    }
}
