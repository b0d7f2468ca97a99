//! Arithmetic, in the meaning of the simulator and to the bits of what the emitter of CUDA writes.
//!
//! - Signed integers of 32 and 64 bits must not overflow, and are marked so; others wrap.
//! - No op has a fast-math flag, so nothing is contracted: a fused multiply-add stands only where the program has one.
//! - f16, and bf16, are added, subtracted and multiplied as they are; what else there is of them, and all of narrower
//!   types, is computed in f32 and rounded once more, as the emitter of CUDA does it.
//! - Where MLIR's way to PTX would call a library for what is one instruction, or round approximately, LLVM's own
//!   function is called instead: `math.sqrt` would be approximate, and `math.fma` of halves rounded twice.

use crate::kernel::Kernel;
use crate::{cast, types};
use std::rc::Rc;
use tc_dialects::arith::{self, Predicate};
use tc_ir::attrs::BinOp;
use tc_ir::types::ElemKind;
use tc_ir::{Elem, Op, Opcode, Role, Scalar};
use tc_kernel::division;

/// What an op makes.
pub(crate) enum Made {
    /// The result of this op.
    Op(String),
    /// What has this name already.
    Is(Rc<str>),
}

/// Functions of floats that a library has: the op, and that of the dialect `math`.
const LIBRARY: &[(Opcode, &str)] = &[
    (arith::POW, "powf"),
    (arith::EXP, "exp"),
    (arith::EXP2, "exp2"),
    (arith::LOG, "log"),
    (arith::LOG2, "log2"),
    (arith::RSQRT, "rsqrt"),
    (arith::TANH, "tanh"),
    (arith::SIN, "sin"),
    (arith::COS, "cos"),
    (arith::TAN, "tan"),
    (arith::ERF, "erf"),
];

/// Functions of floats that are instructions: the op, and LLVM's function.
const INSTRUCTIONS: &[(Opcode, &str)] = &[
    (arith::FLOOR, "llvm.floor"),
    (arith::CEIL, "llvm.ceil"),
    (arith::ROUND, "llvm.rint"),
    (arith::TRUNC, "llvm.trunc"),
    (arith::ABS, "llvm.fabs"),
];

fn named(table: &[(Opcode, &'static str)], opcode: Opcode) -> Option<&'static str> {
    table.iter().find(|(op, _)| *op == opcode).map(|(_, name)| *name)
}

/// Is there text for such ops?
pub(crate) fn has_emitter(opcode: Opcode) -> bool {
    const OTHERS: &[Opcode] = &[
        arith::CONSTANT,
        arith::ADD,
        arith::SUB,
        arith::MUL,
        arith::DIV,
        arith::MOD,
        arith::AND,
        arith::OR,
        arith::BITAND,
        arith::BITOR,
        arith::BITXOR,
        arith::SHL,
        arith::SHR,
        arith::CMP,
        arith::NEG,
        arith::NOT,
        arith::CAST,
        arith::TDIV,
        arith::TMOD,
        arith::MIN,
        arith::MAX,
        arith::FMA,
        arith::SQRT,
        arith::SELECT,
        arith::SIGMOID,
        arith::POPCOUNT,
        arith::RAMP,
        arith::BROADCAST,
    ];
    OTHERS.contains(&opcode) || named(LIBRARY, opcode).is_some() || named(INSTRUCTIONS, opcode).is_some()
}

/// Is it an unsigned integer, or a truth value?
pub(crate) fn is_unsigned(elem: Elem) -> bool {
    matches!(elem.kind(), ElemKind::Unsigned | ElemKind::Bool)
}

/// What sums, differences and products of integers of type `elem` are marked with.
pub(crate) fn flags(elem: Elem) -> &'static str {
    if matches!(elem, Elem::I32 | Elem::I64) { " overflow<nsw>" } else { "" }
}

/// Is an op on `elem` computed in f32?
pub(crate) fn is_small_float(elem: Elem) -> bool {
    matches!(elem, Elem::F16 | Elem::BF16 | Elem::TF32)
}

impl Kernel<'_> {
    /// The name of what was made.
    pub(crate) fn made(&mut self, made: Made) -> Rc<str> {
        match made {
            Made::Op(text) => self.temp(text),
            Made::Is(name) => name,
        }
    }

    /// What `f` makes of each lane, put together to a `to`; `operands` are the operands with their types.
    pub(crate) fn each_lane(
        &mut self,
        operands: &[(Rc<str>, Scalar)],
        to: Scalar,
        mut f: impl FnMut(&mut Self, &[Rc<str>]) -> Made,
    ) -> Made {
        if to.lanes == 1 {
            let lane: Vec<Rc<str>> = operands.iter().map(|(name, _)| name.clone()).collect();
            return f(self, &lane);
        }
        let mut lanes = Vec::new();
        for lane in 0..usize::from(to.lanes) {
            let parts: Vec<Rc<str>> = operands.iter().map(|(name, scalar)| self.extract(name, *scalar, lane)).collect();
            let made = f(self, &parts);
            lanes.push(self.made(made));
        }
        Made::Is(self.vector_of(to, &lanes))
    }
}

/// The result of the arithmetic op `op`.
pub(crate) fn arith(k: &mut Kernel<'_>, op: Op) -> Made {
    let func = k.func;
    let opcode = func.opcode(op);
    let Some(result) = func.result(op).and_then(|value| func.value_scalar(value)) else {
        return Made::Is(k.stray("an op without a value"));
    };
    if opcode == arith::CONSTANT {
        return constant(k, op, result);
    }
    let Some(of) = func.operands(op).first().and_then(|&operand| func.value_scalar(operand)) else {
        return Made::Is(k.stray("arithmetic on something that is no number"));
    };
    let operands: Vec<Rc<str>> = func.operands(op).iter().map(|&operand| k.value(operand)).collect();
    match (opcode, &operands[..]) {
        (arith::CAST, [value]) => {
            // A size that is left open has a width here.
            let is_size = tc_dialects::algebra::is_symbol(func, func.operand(op, 0));
            let from = if is_size { tc_kernel::sizes::elem(func, func.operand(op, 0)) } else { of.elem };
            cast::cast(k, value, from, result)
        }
        (arith::SELECT, [condition, on_true, on_false]) => {
            let ty = types::value(result);
            let by = if of.lanes == 1 { String::new() } else { format!("{}, ", types::value(of)) };
            // A condition of one truth value is for all lanes.
            Made::Op(format!("arith.select {condition}, {on_true}, {on_false} : {by}{ty}"))
        }
        (arith::CMP, [lhs, rhs]) => compare(k, op, of, lhs, rhs),
        _ => match of.elem.kind() {
            ElemKind::Bool => logic(k, op, of, &operands),
            ElemKind::Signed | ElemKind::Unsigned => int_arith(k, op, of, &operands),
            ElemKind::Float => float_arith(k, op, of, &operands),
        },
    }
}

fn constant(k: &mut Kernel<'_>, op: Op, scalar: Scalar) -> Made {
    let func = k.func;
    let Some(attr) = func.result(op).and_then(|value| func.constant(value)) else {
        return Made::Is(k.stray("a literal without a value"));
    };
    let name = k.literal(func.attr_data(attr), scalar.elem);
    if scalar.lanes == 1 { Made::Is(name) } else { Made::Is(k.broadcast(&name, scalar)) }
}

fn logic(k: &mut Kernel<'_>, op: Op, of: Scalar, operands: &[Rc<str>]) -> Made {
    let ty = types::value(of);
    match (k.func.role(op), operands) {
        (Role::Binary(BinOp::AndAnd | BinOp::BitAnd), [lhs, rhs]) => {
            Made::Op(format!("arith.andi {lhs}, {rhs} : {ty}"))
        }
        (Role::Binary(BinOp::OrOr | BinOp::BitOr), [lhs, rhs]) => Made::Op(format!("arith.ori {lhs}, {rhs} : {ty}")),
        (Role::Binary(BinOp::BitXor), [lhs, rhs]) => Made::Op(format!("arith.xori {lhs}, {rhs} : {ty}")),
        (_, [value]) if k.func.opcode(op) == arith::NOT => {
            let all = k.constants.truth(true);
            let all = k.broadcast(&all, of);
            Made::Op(format!("arith.xori {value}, {all} : {ty}"))
        }
        _ => Made::Is(k.stray("an op on truth values")),
    }
}

/// `lhs` divided by `rhs`, or what is left over, in 8 or 16 bits: the least number divided by -1 wraps, which LLVM leaves
/// undefined in a type's own width.
fn narrow_division(k: &mut Kernel<'_>, opcode: Opcode, of: Scalar, lhs: &str, rhs: &str) -> Made {
    let (ty, wide) = (types::value(of), types::value(Scalar { elem: Elem::I32, ..of }));
    let [lhs, rhs] = [lhs, rhs].map(|side| k.temp(format!("arith.extsi {side} : {ty} to {wide}")));
    let name = if opcode == arith::TDIV { "divsi" } else { "remsi" };
    let done = k.temp(format!("arith.{name} {lhs}, {rhs} : {wide}"));
    Made::Op(format!("arith.trunci {done} : {wide} to {ty}"))
}

/// A divisor of the same remainder that is never -1, whose remainder of the least number is poison to LLVM: by 1 it is 0 as
/// well.
fn careful_divisor(k: &mut Kernel<'_>, of: Scalar, rhs: &str) -> Rc<str> {
    let (ty, truths) = (types::value(of), types::value(Scalar { elem: Elem::Bool, ..of }));
    let [minus, one] = [-1, 1].map(|number| {
        let number = k.int(number, types::number(of.elem));
        k.broadcast(&number, of)
    });
    let is_minus = k.temp(format!("arith.cmpi eq, {rhs}, {minus} : {ty}"));
    let by = if of.lanes == 1 { String::new() } else { format!("{truths}, ") };
    k.temp(format!("arith.select {is_minus}, {one}, {rhs} : {by}{ty}"))
}

fn int_arith(k: &mut Kernel<'_>, op: Op, of: Scalar, operands: &[Rc<str>]) -> Made {
    let (ty, flags) = (types::value(of), flags(of.elem));
    let sign = if is_unsigned(of.elem) { "u" } else { "s" };
    let opcode = k.func.opcode(op);
    match (operands, k.func.role(op)) {
        ([lhs, rhs], role) => {
            let name = match (role, opcode) {
                (Role::Binary(BinOp::Add), _) => format!("addi {lhs}, {rhs}{flags}"),
                (Role::Binary(BinOp::Sub), _) => format!("subi {lhs}, {rhs}{flags}"),
                (Role::Binary(BinOp::Mul), _) => format!("muli {lhs}, {rhs}{flags}"),
                (Role::Binary(BinOp::BitAnd), _) => format!("andi {lhs}, {rhs}"),
                (Role::Binary(BinOp::BitOr), _) => format!("ori {lhs}, {rhs}"),
                (Role::Binary(BinOp::BitXor), _) => format!("xori {lhs}, {rhs}"),
                (Role::Binary(BinOp::Shl), _) => format!("shli {lhs}, {rhs}"),
                (Role::Binary(BinOp::Shr), _) => format!("shr{sign}i {lhs}, {rhs}"),
                (_, arith::TDIV | arith::TMOD) if matches!(of.elem, Elem::I8 | Elem::I16) => {
                    return narrow_division(k, opcode, of, lhs, rhs);
                }
                (_, arith::TDIV) => format!("div{sign}i {lhs}, {rhs}"),
                (_, arith::TMOD) if division::may_overflow(k.func, op) => {
                    let rhs = careful_divisor(k, of, rhs);
                    format!("remsi {lhs}, {rhs}")
                }
                (_, arith::TMOD) => format!("rem{sign}i {lhs}, {rhs}"),
                (_, arith::MIN) => format!("min{sign}i {lhs}, {rhs}"),
                (_, arith::MAX) => format!("max{sign}i {lhs}, {rhs}"),
                _ => return Made::Is(k.stray("an op on integers")),
            };
            Made::Op(format!("arith.{name} : {ty}"))
        }
        ([value], _) => match opcode {
            arith::ABS if is_unsigned(of.elem) => Made::Is(value.clone()),
            arith::NEG | arith::ABS => {
                let zero = k.int(0, types::number(of.elem));
                let zero = k.broadcast(&zero, of);
                let negated = format!("arith.subi {zero}, {value}{flags} : {ty}");
                if opcode == arith::NEG {
                    return Made::Op(negated);
                }
                let negated = k.temp(negated);
                Made::Op(format!("arith.maxsi {value}, {negated} : {ty}"))
            }
            arith::POPCOUNT => Made::Op(format!("llvm.intr.ctpop({value}) : ({ty}) -> {ty}")),
            _ => Made::Is(k.stray("an op on integers")),
        },
        _ => Made::Is(k.stray("an op on integers")),
    }
}

fn float_arith(k: &mut Kernel<'_>, op: Op, of: Scalar, operands: &[Rc<str>]) -> Made {
    let opcode = k.func.opcode(op);
    let ty = types::value(of);
    if opcode == arith::MOD {
        return float_mod(k, of, operands);
    }
    let is_half = matches!(of.elem, Elem::F16 | Elem::BF16);
    let is_native = matches!(
        opcode,
        arith::ADD | arith::SUB | arith::MUL | arith::MIN | arith::MAX | arith::NEG | arith::ABS | arith::FMA
    );
    if is_small_float(of.elem) && !(is_half && is_native) {
        if opcode == arith::FMA {
            let wide = Scalar { elem: Elem::F64, lanes: of.lanes };
            let operands: Vec<Rc<str>> = operands.iter().map(|value| cast::convert(k, value, of.elem, wide)).collect();
            let made = native(k, op, wide, &operands);
            let value = k.made(made);
            return cast::cast(k, &value, Elem::F64, of);
        }
        let wide = Scalar { elem: Elem::F32, lanes: of.lanes };
        let operands: Vec<Rc<str>> = operands.iter().map(|value| cast::convert(k, value, of.elem, wide)).collect();
        let made = native(k, op, wide, &operands);
        let value = k.made(made);
        return cast::cast(k, &value, Elem::F32, of);
    }
    if opcode == arith::ABS && is_half {
        let bits = types::lanes_of("i16", of.lanes);
        let word = k.temp(format!("arith.bitcast {} : {ty} to {bits}", operands[0]));
        let mask = k.int(0x7fff, "i16");
        let mask = k.broadcast(&mask, Scalar { elem: Elem::I16, lanes: of.lanes });
        let word = k.temp(format!("arith.andi {word}, {mask} : {bits}"));
        return Made::Op(format!("arith.bitcast {word} : {bits} to {ty}"));
    }
    native(k, op, of, operands)
}

/// An op of a type that has it.
fn native(k: &mut Kernel<'_>, op: Op, of: Scalar, operands: &[Rc<str>]) -> Made {
    let opcode = k.func.opcode(op);
    let ty = types::value(of);
    let number = types::number(of.elem);
    let one = Scalar::of(of.elem);
    let typed: Vec<(Rc<str>, Scalar)> = operands.iter().map(|name| (name.clone(), of)).collect();
    if let Some(name) = named(LIBRARY, opcode) {
        return k.each_lane(&typed, of, |_, lane| Made::Op(format!("math.{name} {} : {number}", lane.join(", "))));
    }
    let intrinsic = if opcode == arith::SQRT {
        // Rounded, which `math.sqrt` is not.
        Some(if one.elem == Elem::F64 { "llvm.nvvm.sqrt.rn.d".into() } else { "llvm.nvvm.sqrt.rn.f".to_string() })
    } else {
        named(INSTRUCTIONS, opcode).map(|name| format!("{name}.{number}"))
    };
    if let Some(name) = intrinsic {
        return k.each_lane(&typed, of, |_, lane| {
            Made::Op(format!("llvm.call_intrinsic \"{name}\"({}) : ({number}) -> {number}", lane.join(", ")))
        });
    }
    match (k.func.role(op), operands) {
        (_, [a, b, c]) if opcode == arith::FMA => {
            Made::Op(format!("llvm.intr.fma({a}, {b}, {c}) : ({ty}, {ty}, {ty}) -> {ty}"))
        }
        (_, [lhs, rhs]) if matches!(opcode, arith::MIN | arith::MAX) => {
            let name = if opcode == arith::MIN { "minnum" } else { "maxnum" };
            Made::Op(format!("llvm.intr.{name}({lhs}, {rhs}) : ({ty}, {ty}) -> {ty}"))
        }
        (Role::Binary(operator), [lhs, rhs]) => {
            let name = match operator {
                BinOp::Add => "addf",
                BinOp::Sub => "subf",
                BinOp::Mul => "mulf",
                BinOp::Div => "divf",
                _ => return Made::Is(k.stray("an op on floats")),
            };
            Made::Op(format!("arith.{name} {lhs}, {rhs} : {ty}"))
        }
        (_, [value]) if opcode == arith::NEG => Made::Op(format!("arith.negf {value} : {ty}")),
        (_, [value]) if opcode == arith::SIGMOID => {
            let unit = k.constant(crate::constants::float(1.0, of.elem));
            let unit = k.broadcast(&unit, of);
            let negated = k.temp(format!("arith.negf {value} : {ty}"));
            let made =
                k.each_lane(&[(negated, of)], of, |_, lane| Made::Op(format!("math.exp {} : {number}", lane[0])));
            let exp = k.made(made);
            let sum = k.temp(format!("arith.addf {unit}, {exp} : {ty}"));
            Made::Op(format!("arith.divf {unit}, {sum} : {ty}"))
        }
        _ => Made::Is(k.stray("an op on floats")),
    }
}

/// The remainder of the quotient that is rounded down, computed in f64 and rounded once.
fn float_mod(k: &mut Kernel<'_>, of: Scalar, operands: &[Rc<str>]) -> Made {
    let wide = Scalar { elem: Elem::F64, lanes: of.lanes };
    let ty = types::value(wide);
    let [lhs, rhs] = operands else { return Made::Is(k.stray("a remainder")) };
    let (lhs, rhs) = (cast::convert(k, lhs, of.elem, wide), cast::convert(k, rhs, of.elem, wide));
    let quotient = k.temp(format!("arith.divf {lhs}, {rhs} : {ty}"));
    let made = k.each_lane(&[(quotient, wide)], wide, |_, lane| {
        Made::Op(format!("llvm.call_intrinsic \"llvm.floor.f64\"({}) : (f64) -> f64", lane[0]))
    });
    let whole = k.made(made);
    let product = k.temp(format!("arith.mulf {whole}, {rhs} : {ty}"));
    let rest = format!("arith.subf {lhs}, {product} : {ty}");
    if of.elem == Elem::F64 {
        return Made::Op(rest);
    }
    let rest = k.temp(rest);
    cast::cast(k, &rest, Elem::F64, of)
}

fn compare(k: &mut Kernel<'_>, op: Op, of: Scalar, lhs: &str, rhs: &str) -> Made {
    let Some(predicate) = Predicate::of(k.func, op) else { return Made::Is(k.stray("a comparison")) };
    let ty = types::value(of);
    let name = predicate.word();
    if of.elem.kind() == ElemKind::Float {
        // A NaN differs from everything, and compares with nothing.
        let order = if predicate == Predicate::Ne { "u" } else { "o" };
        return Made::Op(format!("arith.cmpf {order}{name}, {lhs}, {rhs} : {ty}"));
    }
    let sign = match predicate {
        Predicate::Eq | Predicate::Ne => "",
        _ if is_unsigned(of.elem) => "u",
        _ => "s",
    };
    Made::Op(format!("arith.cmpi {sign}{name}, {lhs}, {rhs} : {ty}"))
}
