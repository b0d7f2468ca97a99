//! Products of tiles that lie in known registers, and the loads that fill them: `nvvm.mma.sync` and `nvvm.ldmatrix`.
//!
//! What a thread holds of a tile is an array of numbers in private memory (`tc_dialects::fragment::element`), two or four
//! to a register of 32 bits, which is just what the instructions take.

use crate::kernel::Kernel;
use crate::types::{self, Register};
use crate::wmma::{list, structure};
use std::rc::Rc;
use tc_dialects::fragment::{mma_k, per_lane, ptx_name};
use tc_dialects::mma::{self, held, transposed};
use tc_ir::{Elem, Op, Value};

/// How the numbers of a tile lie in registers.
#[derive(Clone, Copy)]
struct Packing {
    /// Numbers to a register.
    n: u16,
    /// What is loaded and stored: a number or a vector of them.
    memory: &'static str,
    /// The register.
    register: &'static str,
}

/// How factors of `elem` are handed over.
fn factor(elem: Elem) -> Packing {
    let Register { n, packed, factor } = types::register(elem);
    Packing { n, memory: packed, register: factor }
}

/// How sums of `elem` are.
fn sum(elem: Elem) -> Packing {
    let Register { n, packed, .. } = types::register(elem);
    Packing { n, memory: packed, register: packed }
}

/// What a product says of the types of its factors, where their registers do not.
fn attributes(factors: Elem) -> String {
    if factor(factors).register != "i32" {
        return String::new();
    }
    let name = ptx_name(factors.as_factor());
    let overflow = if factors.is_int() { "intOverflowBehavior = #nvvm.mma_int_overflow<wrapped>, " } else { "" };
    format!("{overflow}multiplicandAPtxType = #nvvm.mma_type<{name}>, multiplicandBPtxType = #nvvm.mma_type<{name}>, ")
}

impl Kernel<'_> {
    /// `n` registers of the tile at `place`, from number `from` on.
    fn take(&mut self, place: Value, from: u16, n: u16, packing: Packing) -> Vec<Rc<str>> {
        let (memory, start) = self.position(place);
        let mut taken = Vec::new();
        for nth in 0..n {
            let at = self.register(&start, from + nth * packing.n);
            let value = if packing.n == 1 {
                self.temp(format!("memref.load {}[{at}] : {}", memory.name, memory.ty))
            } else {
                let Packing { memory: vector, .. } = packing;
                self.temp(format!(
                    "vector.load {}[{at}] {{alignment = 4 : i64}} : {}, {vector}",
                    memory.name, memory.ty
                ))
            };
            taken.push(match packing {
                Packing { memory: "f32", register: "i32", .. } => self.tf32(&value),
                Packing { memory, register, .. } if memory != register => {
                    self.temp(format!("llvm.bitcast {value} : {memory} to {register}"))
                }
                _ => value,
            });
        }
        taken
    }

    /// Puts registers into the tile at `place`, from number `from` on.
    fn put(&mut self, place: Value, from: u16, registers: &[Rc<str>], packing: Packing) {
        let (memory, start) = self.position(place);
        for (nth, value) in (0u16..).zip(registers) {
            let at = self.register(&start, from + nth * packing.n);
            let Packing { memory: ty, register, .. } = packing;
            let value = if ty == register {
                value.clone()
            } else {
                self.temp(format!("llvm.bitcast {value} : {register} to {ty}"))
            };
            if packing.n == 1 {
                self.line(format!("memref.store {value}, {}[{at}] : {}", memory.name, memory.ty));
            } else {
                self.line(format!(
                    "vector.store {value}, {}[{at}] {{alignment = 4 : i64}} : {}, {ty}",
                    memory.name, memory.ty
                ));
            }
        }
    }
}

/// Writes the op `op`.
pub(crate) fn write(kernel: &mut Kernel<'_>, op: Op) {
    let func = kernel.func;
    let written = if func.opcode(op) == mma::SYNC { product(kernel, op) } else { load(kernel, op) };
    if written.is_none() {
        kernel.stray("a matrix op of an unknown shape");
    }
}

fn product(kernel: &mut Kernel<'_>, op: Op) -> Option<()> {
    let func = kernel.func;
    let places = [0, 1, 2].map(|nth| func.operand(op, nth));
    let ((sums, n_sums), (factors, _)) = (held(func, places[0])?, held(func, places[1])?);
    let (of_factor, of_sum) = (factor(factors), sum(sums));
    let k = mma_k(factors.bytes());
    let left = kernel.take(places[1], 0, 4, of_factor);
    // A tile with 16 columns is two with 8 side by side.
    let halves = if n_sums == 8 { 2 } else { 1 };
    let n_right = u16::try_from(per_lane(k * 8)).ok()?;
    for half in 0..halves {
        let right = kernel.take(places[2], half * n_right, 2, of_factor);
        let n = 4 / of_sum.n;
        let before = kernel.take(places[0], half * 4, n, of_sum);
        let made = kernel.temp(format!(
            "nvvm.mma.sync A[{}] B[{}] C[{}] {{{}layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, shape = #nvvm.shape<m = 16, n = 8, k = {k}>}} : ({}, {}, {}) -> {}",
            list(&left),
            list(&right),
            list(&before),
            attributes(factors),
            of_factor.register,
            of_factor.register,
            of_sum.register,
            structure(of_sum.register, n.into())
        ));
        // The factor's register and the sum's say all three types of the op.
        let after = kernel.fields(&made, of_sum.register, n.into());
        kernel.put(places[0], half * 4, &after, of_sum);
    }
    Some(())
}

fn load(kernel: &mut Kernel<'_>, op: Op) -> Option<()> {
    let func = kernel.func;
    let (to, from) = (func.operand(op, 0), func.operand(op, 1));
    let (elem, numbers) = held(func, to)?;
    let n = u16::try_from(numbers.checked_mul(elem.bytes().into())? / 4).ok()?;
    let (row, pointer) = kernel.pointer(from);
    let order = if transposed(func, op) { "col" } else { "row" };
    let result = if n == 1 { "i32".to_string() } else { structure("i32", n.into()) };
    let loaded = kernel.temp(format!(
        "nvvm.ldmatrix {row} {{eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<{order}>, num = {n} : i32, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>}} : ({pointer}) -> {result}"
    ));
    let words = kernel.fields(&loaded, "i32", n.into());
    kernel.put(to, 0, &words, Packing { register: "i32", ..factor(elem) });
    Some(())
}
