//! Bulk copies by tensor maps, and barriers in shared memory: calls of small functions around one line of PTX each, which
//! `tc-kernel` has (`ptx/bulk.rs`).
//!
//! A map is a parameter of the kernel, `const __grid_constant__`, so that it has an address that the engine of copies reads.

use crate::expr::{self, Expr, prec};
use crate::kernel::Kernel;
use crate::preamble::Helper;
use tc_dialects::update::UpdateKind;
use tc_dialects::{mbarrier, tma};
use tc_ir::attrs::BinOp;
use tc_ir::{Elem, Op, Value, keys};
use tc_kernel::bulk::{coordinates, fits_word};
use tc_kernel::ptx::bulk::{Bulk, Operand};
use tc_target::Feature;
use tc_target::maps::MAX_EXTENT;

/// The parameter of a function that is `operand`; `None` for a literal, which is one of its template.
fn param(operand: Operand) -> Option<String> {
    let ty = match operand {
        Operand::To => "void*",
        Operand::From => "const void*",
        Operand::Barrier => "unsigned long long*",
        Operand::Map => "const tc_tensor_map*",
        Operand::Blocks => "unsigned short",
        Operand::Block => "unsigned int",
        Operand::Count | Operand::Bytes | Operand::Parity | Operand::Coordinate(_) => "int",
        Operand::Pending | Operand::Registers => return None,
    };
    Some(format!("{ty} {}", operand.name()))
}

/// The operand as a line takes it.
fn input(operand: Operand) -> String {
    let name = operand.name();
    match operand {
        Operand::To | Operand::From | Operand::Barrier => {
            format!("\"r\"((unsigned int)__cvta_generic_to_shared({name}))")
        }
        Operand::Map => format!("\"l\"({name})"),
        Operand::Blocks => format!("\"h\"({name})"),
        Operand::Pending | Operand::Registers => format!("\"n\"({name})"),
        _ => format!("\"r\"({name})"),
    }
}

/// The line `ptx` within a string of C++.
pub(crate) fn escaped(ptx: &str) -> String {
    ptx.replace('\n', "\\n")
}

/// The function of `bulk`.
pub(crate) fn text(bulk: Bulk) -> String {
    let name = bulk.name();
    match bulk {
        Bulk::Coordinate => {
            let least = i32::MIN;
            return format!(
                "static __device__ __forceinline__ int {name}(long long at) {{\n  return (int)(at < {least}LL ? {least}LL : at > {MAX_EXTENT}LL ? {MAX_EXTENT}LL : at);\n}}\n"
            );
        }
        Bulk::UnsignedCoordinate => {
            return format!(
                "static __device__ __forceinline__ int {name}(unsigned long long at) {{\n  return (int)(at > {MAX_EXTENT}ULL ? {MAX_EXTENT}ULL : at);\n}}\n"
            );
        }
        _ => {}
    }
    let operands = bulk.operands();
    let params: Vec<String> = operands.iter().copied().filter_map(param).collect();
    let inputs: Vec<String> = operands.iter().copied().map(input).collect();
    let inputs = if inputs.is_empty() { String::new() } else { format!(" {}", inputs.join(", ")) };
    let template: String = operands
        .iter()
        .filter(|&&operand| param(operand).is_none())
        .map(|operand| format!("template <int {}>\n", operand.name()))
        .collect();
    let mut body = String::new();
    for line in bulk.lines() {
        let line = escaped(&line);
        body.push_str(&match bulk {
            Bulk::Load { .. } | Bulk::Store { .. } | Bulk::Reduce { .. } => {
                format!("  asm volatile(\"{line}\"\n    ::{inputs}\n    : \"memory\");\n")
            }
            Bulk::ArriveRemote => format!("  asm volatile(\"{line}\"\n    ::{inputs} : \"memory\");\n"),
            Bulk::Wait { .. } => format!(
                "  unsigned int done;\n  do {{\n    asm volatile(\"{line}\"\n      : \"=r\"(done)\n      :{inputs}\n      : \"memory\");\n  }} while (done == 0);\n"
            ),
            Bulk::SetMaxNReg { .. } => format!("  asm volatile(\"{line}\" ::{inputs});\n"),
            _ if inputs.is_empty() => format!("  asm volatile(\"{line}\" ::: \"memory\");\n"),
            _ => format!("  asm volatile(\"{line}\" ::{inputs} : \"memory\");\n"),
        });
    }
    let params = params.join(", ");
    format!("{template}static __device__ __forceinline__ void {name}({params}) {{\n{body}}}\n")
}

impl Kernel<'_> {
    /// Begins the bulk copy `op`.
    pub(crate) fn bulk_load(&mut self, op: Op) {
        let func = self.func;
        let (Some(map), Some(barrier), Some(coordinates)) =
            (tma::map_of(func, func.operand(op, 1)), tma::load_barrier(func, op), coordinates(func, op))
        else {
            self.stray("a bulk copy without a map or a barrier");
            return;
        };
        let Some(map) = func.result(map) else { return };
        let map = self.buffer(map);
        let rank = u8::try_from(coordinates.len()).unwrap_or(0);
        let mut args =
            vec![self.address(func.operand(op, 0)), Expr::new(format!("&{map}"), prec::UNARY), self.address(barrier)];
        let multicast = tma::is_multicast(func, op);
        if multicast {
            args.push(Expr::name(&((1u32 << self.facts.cluster) - 1).to_string()));
        }
        args.extend(coordinates.iter().rev().map(|terms| self.coordinate_of(op, terms)));
        let function = self.needs.helper(Helper::Bulk(Bulk::Load { rank, multicast }));
        self.call(op, &function, &args);
    }

    /// Begins the bulk copy `op` to a tensor, or the update of one.
    pub(crate) fn bulk_store(&mut self, op: Op) {
        let func = self.func;
        let [shared, boxed] = tma::sides(func, op);
        let (Some(map), Some(coordinates)) =
            (tma::map_of(func, boxed).and_then(|map| func.result(map)), coordinates(func, op))
        else {
            self.stray("a bulk copy without a map");
            return;
        };
        let map = self.buffer(map);
        let rank = u8::try_from(coordinates.len()).unwrap_or(0);
        let mut args = vec![Expr::new(format!("&{map}"), prec::UNARY), self.address(shared)];
        args.extend(coordinates.iter().rev().map(|terms| self.coordinate_of(op, terms)));
        let function = match UpdateKind::of(func, op) {
            Some(kind) => Bulk::Reduce { rank, kind },
            None => Bulk::Store { rank },
        };
        let function = self.needs.helper(Helper::Bulk(function));
        self.call(op, &function, &args);
    }

    /// Waits for groups of bulk copies to tensors.
    pub(crate) fn wait_for_stores(&mut self, op: Op) {
        let pending = self.func.int_of(op, keys::PENDING).unwrap_or(0);
        let read = tma::is_of_reads(self.func, op);
        let function = self.needs.helper(Helper::Bulk(Bulk::WaitStores { read }));
        self.call(op, &format!("{function}<{pending}>"), &[]);
    }

    /// An instruction without operands.
    pub(crate) fn bulk_call(&mut self, op: Op, function: Bulk) {
        let function = self.needs.helper(Helper::Bulk(function));
        self.call(op, &function, &[]);
    }

    /// The sum of `terms`, as 32 bits: a coordinate of the copy `op`.
    fn coordinate_of(&mut self, op: Op, terms: &[Value]) -> Expr {
        let fits = fits_word(self.func, op, terms);
        let mut sum: Option<Expr> = None;
        for &term in terms {
            if self.bare_int(term) == Some(0) {
                continue;
            }
            let elem = self.func.value_scalar(term).map(|scalar| scalar.elem);
            let of = match elem {
                Some(Elem::I64 | Elem::U64) if fits => Some("int"),
                Some(Elem::I64) => None,
                // Alone: of a sum it is known that 64 bits are enough.
                Some(Elem::U64) if terms.len() == 1 => None,
                _ => (!fits).then_some("long long"),
            };
            let term = self.lane(term, 0);
            let term = match of {
                Some(of) => expr::cast(of, term),
                None => term,
            };
            sum = Some(match sum {
                Some(sum) => expr::binary(BinOp::Add, term, sum),
                None => term,
            });
        }
        let sum = sum.unwrap_or_else(|| Expr::name("0"));
        if fits {
            return sum;
        }
        let is_unsigned = |&term: &Value| self.func.value_scalar(term).is_some_and(|scalar| scalar.elem == Elem::U64);
        let clamp = match terms {
            [term] if is_unsigned(term) => Bulk::UnsignedCoordinate,
            _ => Bulk::Coordinate,
        };
        let function = self.needs.helper(Helper::Bulk(clamp));
        expr::call(&function, &[sum])
    }

    /// A barrier, and a number that the op `op` says by `key`.
    pub(crate) fn barrier_call(&mut self, op: Op, function: Bulk, key: Option<tc_ir::Name>) {
        let func = self.func;
        let mut args = Vec::new();
        for (nth, &operand) in func.operands(op).iter().enumerate() {
            args.push(if nth == 0 { self.address(operand) } else { self.lane(operand, 0) });
        }
        args.extend(key.and_then(|key| func.int_of(op, key)).map(|number| Expr::name(&number.to_string())));
        let function = self.needs.helper(Helper::Bulk(function));
        self.call(op, &function, &args);
    }

    /// Arrives at a barrier of this block, or of another one.
    pub(crate) fn arrive_at_barrier(&mut self, op: Op) {
        let is_remote = mbarrier::block_of(self.func, op).is_some();
        self.barrier_call(op, if is_remote { Bulk::ArriveRemote } else { Bulk::Arrive }, None);
    }

    /// Waits at a barrier.
    pub(crate) fn wait_at_barrier(&mut self, op: Op) {
        let suspends = self.target.has(Feature::Tma);
        self.barrier_call(op, Bulk::Wait { suspends }, None);
    }

    /// Waits for the kernels before, or lets the next one be launched.
    pub(crate) fn overlap_launches(&mut self, op: Op) {
        let wait = self.func.word_of(op, keys::ACTION) == Some("wait");
        self.bulk_call(op, Bulk::GridDepControl { wait });
    }

    /// Sets how many registers the threads have.
    pub(crate) fn set_registers(&mut self, op: Op) {
        let count = self.func.int_of(op, keys::COUNT).unwrap_or(0);
        let increase = self.func.word_of(op, keys::ACTION) == Some("increase");
        let function = self.needs.helper(Helper::Bulk(Bulk::SetMaxNReg { increase }));
        self.call(op, &format!("{function}<{count}>"), &[]);
    }
}
