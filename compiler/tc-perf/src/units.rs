//! Which unit of a multiprocessor does an op of a kernel, in how many instructions.

use tc_dialects::fragment::tile;
use tc_dialects::scope::{Memory, Scope};
use tc_dialects::threads::{Meeting, copy_step, meeting};
use tc_dialects::{arith, mma, tir, wmma};
use tc_ir::attrs::{BinOp, UnOp};
use tc_ir::opdef::Role;
use tc_ir::{Elem, Func, Op};
use tc_target::Unit;

/// What an op asks of the units, for one thread; of tensor cores, for the warp.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Work {
    /// Instructions.
    pub(crate) instructions: f64,
    /// Of them, so many by this unit.
    pub(crate) unit: Option<(Unit, f64)>,
    /// So many by that unit at least, however a compiler writes it.
    pub(crate) least: f64,
    /// Floating-point operations; a product and a sum are two.
    pub(crate) flops: f64,
    /// It is a sum or product of positions, which is computed once for iterations that are unrolled together: what they
    /// add is part of the instructions that access memory.
    pub(crate) is_position: bool,
}

/// Instructions of a quotient of floats, of one of integers by a literal, and by a value.
const FLOAT_QUOTIENT: f64 = 8.0;
const LITERAL_QUOTIENT: f64 = 4.0;
const QUOTIENT: f64 = 20.0;
/// Instructions of a function of floats beside that of the special unit.
const FUNCTION: f64 = 4.0;

/// What `op` asks of the units.
pub(crate) fn work(func: &Func, op: Op) -> Work {
    let opcode = func.opcode(op);
    let one = |unit| Work { instructions: 1.0, unit: Some((unit, 1.0)), least: 1.0, ..Work::default() };
    match opcode {
        mma::SYNC | wmma::MMA => return product(func, op),
        // What lies in registers is there.
        tir::LOAD | tir::STORE
            if Scope::of(func, func.operand(op, 0)).map(Scope::memory) == Some(Memory::Registers) =>
        {
            return Work::default();
        }
        tir::LOAD | tir::STORE => return Work { instructions: 1.0, ..Work::default() },
        _ => {}
    }
    match meeting(func, op) {
        Some(Meeting::Exchange) => one(Unit::Int),
        Some(_) => Work { instructions: 1.0, ..Work::default() },
        None if copy_step(func, op).is_some() => Work { instructions: 1.0, ..Work::default() },
        None if opcode.dialect() == arith::ADD.dialect() => arithmetic(func, op),
        None => Work::default(),
    }
}

/// A product of tiles: on tensor cores, products of two f16 or their like.
fn product(func: &Func, op: Op) -> Work {
    let [sum, a, _] = [0, 1, 2].map(|nth| func.operand(op, nth));
    let (elem, count) = match (tile(func, sum), tile(func, a)) {
        (Some(sum), Some(a)) => {
            let k = a.fragment.map_or(a.image.1, |fragment| fragment.shape[2]);
            (a.elem, sum.image.0 * sum.image.1 * k)
        }
        // What one thread holds of tiles: of m x n and m x k, a thirty-second each; m is 16.
        _ => {
            let held = |value| {
                let (elem, shape, _) = tir::place_type(func, value)?;
                let n = shape.iter().try_fold(1, |n, &extent| Some(n * func.as_int(extent)?))?;
                Some((func.as_scalar(elem)?.elem, n * 32))
            };
            let Some(((_, sums), (elem, factors))) = held(sum).zip(held(a)) else { return Work::default() };
            (elem, sums * factors / 16)
        }
    };
    let count = count as f64;
    let cost = match elem.bits() {
        8 => 0.5,
        16 => 1.0,
        32 => 2.0,
        _ => 16.0,
    };
    Work {
        instructions: (count / 2048.0).max(1.0),
        unit: Some((Unit::Tensor, count * cost)),
        least: count * cost,
        flops: 2.0 * count,
        ..Work::default()
    }
}

fn arithmetic(func: &Func, op: Op) -> Work {
    let operand = func.operands(op).first().copied();
    let Some(result) = func.result(op).and_then(|value| func.value_scalar(value)) else { return Work::default() };
    let from = operand.and_then(|value| func.value_scalar(value)).unwrap_or(result);
    let lanes = f64::from(result.lanes);
    let of = |elem: Elem, instructions: f64, flops: f64| {
        let n = instructions * lanes;
        // A pair of f16 is one instruction.
        let issued = if elem.is_float() && elem.bits() == 16 && result.lanes > 1 { n / 2.0 } else { n };
        let unit = Some((unit_of(elem), n));
        Work { instructions: issued, unit, least: n, flops: flops * lanes, ..Work::default() }
    };
    let literal = func.operands(op).get(1).is_some_and(|&value| func.const_int(value).is_some());
    let is_float = result.elem.is_float();
    match (func.role(op), func.opcode(op)) {
        (Role::Constant, _) | (_, arith::LIKELY | arith::BROADCAST | arith::RAMP) => Work::default(),
        (Role::Binary(BinOp::Div | BinOp::Mod), _) | (_, arith::TDIV | arith::TMOD) => match (is_float, literal) {
            // One by a power of two is a product; one of f16 may be done in f32.
            (true, _) => {
                let least = if matches!(unit_of(result.elem), Unit::Half) { 0.0 } else { lanes };
                Work { least, ..of(result.elem, FLOAT_QUOTIENT, 1.0) }
            }
            (false, true) => of(result.elem, LITERAL_QUOTIENT, 0.0),
            (false, false) => of(result.elem, QUOTIENT, 0.0),
        },
        (Role::Binary(BinOp::Add | BinOp::Sub | BinOp::Mul | BinOp::Shl), _) if !is_float => {
            // A literal that is added is part of the instruction that takes the sum.
            let is_offset = literal && matches!(func.role(op), Role::Binary(BinOp::Add | BinOp::Sub));
            if is_offset { Work::default() } else { Work { is_position: true, ..of(result.elem, 1.0, 0.0) } }
        }
        (_, arith::FMA) => of(result.elem, 1.0, 2.0),
        // The instruction that takes the value turns its sign.
        (Role::Unary(UnOp::Neg), _) if is_float => Work { least: 0.0, ..of(result.elem, 1.0, 1.0) },
        (Role::Binary(_) | Role::Unary(_), _) => of(result.elem, 1.0, if is_float { 1.0 } else { 0.0 }),
        (Role::Compare, _) | (_, arith::SELECT) => of(Elem::I32, 1.0, 0.0),
        (_, arith::MIN | arith::MAX | arith::ABS) => of(Elem::I32, 1.0, if is_float { 1.0 } else { 0.0 }),
        // Some are an instruction of another unit.
        (Role::Cast, _) if from.elem.is_float() || is_float => Work { least: 0.0, ..special(lanes, 1.0, 0.0) },
        (Role::Cast, _) if from.elem.bits() == result.elem.bits() || from.elem == Elem::Bool => Work::default(),
        (Role::Cast, _) => of(Elem::I32, 1.0, 0.0),
        _ if is_float => special(lanes, 1.0 + FUNCTION, 1.0),
        _ => of(result.elem, 1.0, 0.0),
    }
}

fn special(lanes: f64, instructions: f64, flops: f64) -> Work {
    Work {
        instructions: instructions * lanes,
        unit: Some((Unit::Special, lanes)),
        least: lanes,
        flops: flops * lanes,
        ..Work::default()
    }
}

fn unit_of(elem: Elem) -> Unit {
    match elem {
        Elem::F64 => Unit::F64,
        _ if elem.is_float() && elem.bits() < 32 => Unit::Half,
        _ if elem.is_float() => Unit::F32,
        _ => Unit::Int,
    }
}
