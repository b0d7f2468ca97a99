//! Products of a warpgroup: calls of small functions around one line of PTX each, which `tc-kernel` has (`ptx/wgmma.rs`).

use crate::bulk::escaped;
use crate::expr::Expr;
use crate::kernel::Kernel;
use crate::preamble::Helper;
use tc_dialects::wgmma::{Descriptor, Side, shape};
use tc_ir::{Elem, Op, keys};
use tc_kernel::access::element;
use tc_kernel::facts::n_elements;
use tc_kernel::ptx::wgmma::{GRAIN, LEFT_WORDS, Left, Product, Warpgroup, packed};
use tc_kernel::warpgroup::arrays_in_sight;

/// As what the elements of a thread of type `elem` are operands.
fn constraint(elem: Elem) -> &'static str {
    if elem == Elem::F32 { "+f" } else { "+r" }
}

/// The line that takes an array of small elements by words.
fn as_words(sums: Elem) -> &'static str {
    if packed(sums) > 1 { "  unsigned int* c = reinterpret_cast<unsigned int*>(sums);\n" } else { "" }
}

/// The name of the array: of words, where these hold several.
fn array(sums: Elem) -> &'static str {
    if packed(sums) > 1 { "sums" } else { "c" }
}

/// The function of `of`; `number` is what C++ calls an element type.
pub(crate) fn text(of: Warpgroup, number: impl Fn(Elem) -> &'static str) -> String {
    let head = |params: &str| format!("static __device__ __forceinline__ void {}({params}) {{\n", of.name());
    match of {
            // The base is common to the places of a buffer that products read one after another, `ahead` a literal: a product
            // then costs two instructions. The base may lie before the buffer, so the sum is cut to the 14 bits of an address.
            Warpgroup::Descriptor => "static __device__ __forceinline__ unsigned long long tc_wgmma_descriptor(const void* base, unsigned int ahead, unsigned int leading, unsigned int stride, unsigned int swizzle) {\n  const unsigned int mode = swizzle == 128 ? 1 : swizzle == 64 ? 2 : swizzle == 32 ? 3 : 0;\n  const unsigned int address = (unsigned int)__cvta_generic_to_shared(base);\n  const unsigned int low = (((address >> 4) + (ahead >> 4)) & 0x3fffu) | leading >> 4 << 16;\n  return (unsigned long long)(mode << 30 | stride >> 4) << 32 | low;\n}\n".into(),
            Warpgroup::Hold(sums) => {
                let constraint = constraint(sums);
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
                format!("{}{}{}}}\n", head(&params), as_words(sums), body(product))
            }
        }
}

/// A function of the line `ptx` alone, which orders memory.
fn line(head: &str, ptx: &str) -> String {
    format!("{head}  asm volatile(\"{ptx}\" ::: \"memory\");\n}}\n")
}

/// The body of the function of a product.
fn body(product: Product) -> String {
    let (words, constraint) = (product.sum_words(), constraint(product.sums));
    // Operands on lines of eight.
    let lines = |item: &dyn Fn(usize) -> String, indent: &str| {
        let items: Vec<String> = (0..words).map(item).collect();
        items.chunks(8).map(|chunk| chunk.join(", ")).collect::<Vec<_>>().join(&format!(",{indent}"))
    };
    let slots = lines(&|nth| format!("%{nth}"), " \"\n    \"");
    let operands = lines(&|nth| format!("\"{constraint}\"(c[{nth}])"), "\n      ");
    let (line, a) = match product.left {
        Left::Memory { .. } => (String::new(), "\"l\"(a)".to_string()),
        Left::Registers => {
            let given: Vec<String> = (0..LEFT_WORDS).map(|nth| format!("\"r\"(a[{nth}])")).collect();
            let line = "  const unsigned int* a = reinterpret_cast<const unsigned int*>(left);\n".to_string();
            (line, given.join(", "))
        }
    };
    format!(
        "{line}  asm volatile(\"{}\"\n    \"{}\"\n    \"{{{slots}}}{}\"\n    : {operands}\n    : {a}, \"l\"(b)\n    : \"memory\");\n",
        escaped(product.before()),
        product.instruction(),
        escaped(&product.after()),
    )
}

impl Kernel<'_> {
    /// Begins the product `op`.
    pub(crate) fn warpgroup_product(&mut self, op: Op) {
        let func = self.func;
        let product = Product::of(func, op);
        let left = match product.map(|product| product.left) {
            Some(Left::Registers) => Some(self.address(func.operand(op, 1))),
            _ => Side::A.descriptor(func, op).map(|a| self.descriptor(op, Side::A, a)),
        };
        let (Some(product), Some(a), Some(b)) = (product, left, Side::B.descriptor(func, op)) else {
            self.stray("a product of a warpgroup without descriptors");
            return;
        };
        let args = [self.address(func.operand(op, 0)), a, self.descriptor(op, Side::B, b)];
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
        for buffer in arrays_in_sight(func, op) {
            let (Some(name), Some(elem), Some(n)) =
                (self.name_of(buffer), element(func, func.value_type(buffer)), n_elements(func, buffer))
            else {
                continue;
            };
            let function = self.needs.helper(Helper::Warpgroup(Warpgroup::Hold(elem.elem)));
            self.call(op, &format!("{function}<{n}>"), &[Expr::name(&name)]);
        }
    }
}
