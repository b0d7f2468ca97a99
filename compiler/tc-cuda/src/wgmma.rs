//! Products of a warpgroup: calls of small functions around one line of PTX each.
//!
//! The sums are the operands of the line, registers that it reads and writes; but the hardware writes them later, until
//! the group is waited for, and reads a left factor in registers until then. The compiler does not know that: a computation
//! on sums could go between the product and the wait. So every fence and every wait *holds* the arrays of sums and factors
//! that are in sight: lines without instructions that seem to change each element. After `wgmma.wait_group` nothing that
//! reads a sum moves before it, and before `wgmma.fence` nothing that writes one moves behind.
//!
//! A product has `volatile` and the clobber `memory`, for it reads shared memory that the compiler sees stores to.

use crate::expr::Expr;
use crate::kernel::Kernel;
use crate::preamble::Helper;
use tc_dialects::fragment::{mma_k, ptx_name};
use tc_dialects::wgmma::{Descriptor, Major, Side, left_in_registers, major, shape};
use tc_ir::walk::ancestors;
use tc_ir::{Elem, Op, keys};
use tc_kernel::access::element;
use tc_kernel::facts::n_elements;
use tc_kernel::warpgroup::arrays;

/// A function of one instruction of a warpgroup, or of none.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Warpgroup {
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
pub(crate) struct Product {
    factors: Elem,
    sums: Elem,
    n: u16,
    left: Left,
    /// The right factor runs along n.
    right_across: bool,
}

/// Where the left factor of a product lies.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Left {
    /// In shared memory; it runs along m where `across` says so.
    Memory { across: bool },
    /// In registers.
    Registers,
}

/// The words of 32 bits that a thread holds of a left factor, of whatever type: 64 rows of 32 bytes.
const LEFT_WORDS: usize = 4;

/// The bytes that a descriptor counts addresses in.
const GRAIN: i64 = 16;

/// How many of the elements of type `elem` in registers stand in a word.
fn packed(elem: Elem) -> usize {
    4 / (elem.bytes() as usize).clamp(1, 4)
}

/// How the elements of a thread, `n` of them of type `elem`, are operands: how many words, and as what.
fn words(elem: Elem, n: usize) -> (usize, &'static str) {
    (n / packed(elem), if elem == Elem::F32 { "+f" } else { "+r" })
}

/// The line that takes an array of small elements by words.
fn as_words(sums: Elem) -> &'static str {
    if packed(sums) > 1 { "  unsigned int* c = reinterpret_cast<unsigned int*>(sums);\n" } else { "" }
}

/// The name of the array: of words, where these hold several.
fn array(sums: Elem) -> &'static str {
    if packed(sums) > 1 { "sums" } else { "c" }
}

impl Warpgroup {
    /// The name of the function.
    pub(crate) fn name(self) -> String {
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

    /// The function; `number` is what C++ calls an element type.
    pub(crate) fn text(self, number: impl Fn(Elem) -> &'static str) -> String {
        let head = |params: &str| format!("static __device__ __forceinline__ void {}({params}) {{\n", self.name());
        match self {
            // The base is common to the places of a buffer that products read one after another, `ahead` a literal: a product
            // then costs two instructions. The base may lie before the buffer, so the sum is cut to the 14 bits of an address.
            Warpgroup::Descriptor => "static __device__ __forceinline__ unsigned long long tc_wgmma_descriptor(const void* base, unsigned int ahead, unsigned int leading, unsigned int stride, unsigned int swizzle) {\n  const unsigned int mode = swizzle == 128 ? 1 : swizzle == 64 ? 2 : swizzle == 32 ? 3 : 0;\n  const unsigned int address = (unsigned int)__cvta_generic_to_shared(base);\n  const unsigned int low = (((address >> 4) + (ahead >> 4)) & 0x3fffu) | leading >> 4 << 16;\n  return (unsigned long long)(mode << 30 | stride >> 4) << 32 | low;\n}\n".into(),
            Warpgroup::Hold(sums) => {
                let (_, constraint) = words(sums, 1);
                let n = match packed(sums) {
                    1 => "n".to_string(),
                    packed => format!("n / {packed}"),
                };
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
            Warpgroup::Mma(product) => {
                let sums = product.sums;
                let left = match product.left {
                    Left::Memory { .. } => "unsigned long long a".to_string(),
                    Left::Registers => format!("const {}* left", number(product.factors)),
                };
                let params = format!("{}* {}, {left}, unsigned long long b", number(sums), array(sums));
                format!("{}{}{}}}\n", head(&params), as_words(sums), product.body())
            }
        }
    }
}

/// A function of the line `ptx` alone, which orders memory.
fn line(head: &str, ptx: &str) -> String {
    format!("{head}  asm volatile(\"{ptx}\" ::: \"memory\");\n}}\n")
}

impl Product {
    /// The types of what lies in registers.
    pub(crate) fn in_registers(self) -> impl Iterator<Item = Elem> {
        let left = (self.left == Left::Registers).then_some(self.factors);
        std::iter::once(self.sums).chain(left)
    }

    /// The body of the function.
    fn body(self) -> String {
        let Product { factors, sums, n, left, right_across } = self;
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
        let right = u8::from(right_across);
        let layouts = match left {
            _ if factors.bytes() != 2 => String::new(),
            Left::Memory { across } => format!(", {}, {right}", u8::from(across)),
            Left::Registers => format!(", {right}"),
        };
        let (line, a_slot, a, n_left) = match left {
            Left::Memory { .. } => (String::new(), format!("%{words}"), "\"l\"(a)".to_string(), 1),
            Left::Registers => {
                let slots: Vec<String> = (words..words + LEFT_WORDS).map(|nth| format!("%{nth}")).collect();
                let given: Vec<String> = (0..LEFT_WORDS).map(|nth| format!("\"r\"(a[{nth}])")).collect();
                let line = "  const unsigned int* a = reinterpret_cast<const unsigned int*>(left);\n".to_string();
                (line, format!("{{{}}}", slots.join(", ")), given.join(", "), LEFT_WORDS)
            }
        };
        format!(
            "{line}  asm volatile(\"{{\\n.reg .pred p;\\nsetp.ne.b32 p, 1, 0;\\n\"\n    \"wgmma.mma_async.sync.aligned.m64n{n}k{k}.{sum}.{factor}.{factor} \"\n    \"{{{slots}}}, {a_slot}, %{}, p{signs}{layouts};\\n}}\"\n    : {operands}\n    : {a}, \"l\"(b)\n    : \"memory\");\n",
            words + n_left
        )
    }
}

impl Kernel<'_> {
    /// Begins the product `op`.
    pub(crate) fn warpgroup_product(&mut self, op: Op) {
        let func = self.func;
        let known = shape(func, op).and_then(|shape| Some((shape, u16::try_from(shape.n).ok()?)));
        let across = |side: Side| major(func, op, side) == Major::Mn;
        let left = if left_in_registers(func, op) {
            Some((Left::Registers, self.address(func.operand(op, 1))))
        } else {
            let descriptor = Side::A.descriptor(func, op);
            descriptor.map(|a| (Left::Memory { across: across(Side::A) }, self.descriptor(op, Side::A, a)))
        };
        let (Some((shape, n)), Some((left, a)), Some(b)) = (known, left, Side::B.descriptor(func, op)) else {
            self.stray("a product of a warpgroup without descriptors");
            return;
        };
        let args = [self.address(func.operand(op, 0)), a, self.descriptor(op, Side::B, b)];
        let product = Product { factors: shape.factors, sums: shape.sums, n, left, right_across: across(Side::B) };
        let function = self.needs.helper(Helper::Warpgroup(Warpgroup::Mma(product)));
        self.call(op, &function, &args);
    }

    fn descriptor(&mut self, op: Op, side: Side, descriptor: Descriptor) -> Expr {
        let place = self.func.operand(op, side.operand());
        let bytes = shape(self.func, op).map_or(1, |shape| i64::from(shape.factors.bytes()));
        let (mut base, mut ahead) = self.address_apart(place);
        ahead *= bytes;
        if ahead % GRAIN != 0 {
            (base, ahead) = (self.address(place), 0);
        }
        let mut args = vec![base, Expr::name(&ahead.to_string())];
        args.extend(descriptor.numbers().map(|bytes| Expr::name(&bytes.to_string())));
        let function = self.needs.helper(Helper::Warpgroup(Warpgroup::Descriptor));
        crate::expr::call(&function, &args)
    }

    /// Orders writes of sums before the products that follow.
    pub(crate) fn warpgroup_fence(&mut self, op: Op) {
        self.hold_arrays(op);
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
        self.hold_arrays(op);
    }

    /// Holds the arrays that products access and that are in sight of `op`.
    fn hold_arrays(&mut self, op: Op) {
        let func = self.func;
        let around: Vec<_> =
            std::iter::once(op).chain(ancestors(func, op)).filter_map(|op| func.region_of(op)).collect();
        for buffer in arrays(func) {
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
