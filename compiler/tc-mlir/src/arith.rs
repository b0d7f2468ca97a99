//! Arithmetic, in the meaning of the simulator and to the bits of what the emitter of CUDA writes, as the table [`OPS`]
//! spells it.
//!
//! - Signed integers of 32 and 64 bits must not overflow, and are marked so; others wrap.
//! - No op has a fast-math flag, so nothing is contracted: a fused multiply-add stands only where the program has one.
//! - f16, and bf16, are added, subtracted and multiplied as they are; what else there is of them, and all of narrower
//!   types, the pass `legalize-dtype` has made arithmetic of f32.
//! - Where MLIR's way to PTX would call a library for what is one instruction, or round approximately, LLVM's own
//!   function is called instead: `math.sqrt` would be approximate, and `math.fma` of halves rounded twice.
//!
//! An op that the table has no words for on numbers of its type is not accepted.

use crate::kernel::Kernel;
use crate::{cast, types};
use Spelling::{By, Called, Exact, Intrinsic, Lanes, Named, Native, No, Plain, Suffixed, Wide};
use std::rc::Rc;
use tc_dialects::arith::{self, Predicate};
use tc_ir::types::ElemKind;
use tc_ir::{Elem, Func, Op, Opcode, Scalar};
use tc_kernel::arithmetic::{self, type_of};
use tc_target::Target;

/// Ops that are read and not written, and that are one op of ours: on numbers as they are.
#[cfg(feature = "mlir")]
pub(crate) const READ: &[(&str, Opcode)] = &[
    ("arith.maxnumf", arith::MAX),
    ("arith.minnumf", arith::MIN),
    ("arith.floordivsi", arith::DIV),
    ("math.absf", arith::ABS),
    ("math.absi", arith::ABS),
    ("math.ceil", arith::CEIL),
    ("math.ctpop", arith::POPCOUNT),
    ("math.floor", arith::FLOOR),
    ("math.fma", arith::FMA),
    ("math.roundeven", arith::ROUND),
    ("math.sqrt", arith::SQRT),
    ("math.trunc", arith::TRUNC),
];

/// What an op makes.
pub(crate) enum Made {
    /// The result of this op.
    Op(String),
    /// What has this name already.
    Is(Rc<str>),
}

/// How an op is written. In names, `?` is `u` for unsigned integers and `s` for others.
#[derive(Clone, Copy)]
pub(crate) enum Spelling {
    /// It is not, on these numbers.
    No,
    /// `name a, b : ty`
    Plain(&'static str),
    /// The same, marked where the numbers must not overflow.
    Exact(&'static str),
    /// The same, of numbers of 32 and 64 bits if they are signed: of fewer, LLVM leaves the least one by -1 undefined.
    Wide(&'static str),
    /// `name(a, b) : (ty, ty) -> ty`
    Intrinsic(&'static str),
    /// The same, of bf16 where the target computes in it.
    Native(&'static str),
    /// `name a, b : ty`, lane by lane: a function of a library.
    Lanes(&'static str),
    /// LLVM's function of this name and type, lane by lane.
    Called(&'static str),
    /// The same with `f` or `d` in the place of the type.
    Suffixed(&'static str),
    /// LLVM's function of this name, lane by lane.
    Named(&'static str),
    /// In a way of its own.
    By(fn(&mut Kernel<'_>, Op, &[Rc<str>]) -> Made),
}

pub(crate) type Row = arithmetic::Row<Spelling>;

/// An op on truth values, integers, halves, and f32 or f64.
const fn row(opcode: Opcode, spelled: [Spelling; 4]) -> Row {
    Row::new(opcode, spelled, No)
}

/// An op of integers.
const fn ints(opcode: Opcode, how: Spelling) -> Row {
    row(opcode, [No, how, No, No])
}

/// A function of f32 and f64.
const fn floats(opcode: Opcode, how: Spelling) -> Row {
    row(opcode, [No, No, No, how])
}

/// An op that is the same for all numbers but 8-bit floats.
const fn all(opcode: Opcode, how: fn(&mut Kernel<'_>, Op, &[Rc<str>]) -> Made) -> Row {
    Row::new(opcode, [By(how); 4], By(how))
}

/// All arithmetic that is written. Ramps and broadcasts stand where they are used: [`value`](crate::value).
static OPS: &[Row] = &[
    // On truth values, integers, halves, and f32 or f64:
    row(arith::ADD, [No, Exact("arith.addi"), Plain("arith.addf"), Plain("arith.addf")]),
    row(arith::SUB, [No, Exact("arith.subi"), Plain("arith.subf"), Plain("arith.subf")]),
    row(arith::MUL, [No, Exact("arith.muli"), Plain("arith.mulf"), Plain("arith.mulf")]),
    row(arith::NEG, [No, By(negated), Plain("arith.negf"), Plain("arith.negf")]),
    row(arith::ABS, [No, By(absolute), By(absolute_half), Called("llvm.fabs")]),
    row(arith::MIN, [No, Plain("arith.min?i"), Intrinsic("llvm.intr.minnum"), Intrinsic("llvm.intr.minnum")]),
    row(arith::MAX, [No, Plain("arith.max?i"), Intrinsic("llvm.intr.maxnum"), Intrinsic("llvm.intr.maxnum")]),
    row(arith::FMA, [No, No, Native("llvm.intr.fma"), Intrinsic("llvm.intr.fma")]),
    row(arith::AND, [Plain("arith.andi"), No, No, No]),
    row(arith::OR, [Plain("arith.ori"), No, No, No]),
    row(arith::NOT, [By(not), No, No, No]),
    row(arith::SELECT, [By(select), No, No, No]),
    ints(arith::BITAND, Plain("arith.andi")),
    ints(arith::BITOR, Plain("arith.ori")),
    ints(arith::BITXOR, Plain("arith.xori")),
    ints(arith::SHL, Plain("arith.shli")),
    ints(arith::SHR, Plain("arith.shr?i")),
    ints(arith::TDIV, Wide("arith.div?i")),
    ints(arith::TMOD, Wide("arith.rem?i")),
    ints(arith::POPCOUNT, Intrinsic("llvm.intr.ctpop")),
    floats(arith::DIV, Plain("arith.divf")),
    floats(arith::POW, Lanes("math.powf")),
    floats(arith::EXP, Lanes("math.exp")),
    floats(arith::EXP2, Lanes("math.exp2")),
    floats(arith::LOG, Lanes("math.log")),
    floats(arith::LOG2, Lanes("math.log2")),
    floats(arith::RSQRT, Lanes("math.rsqrt")),
    floats(arith::TANH, Lanes("math.tanh")),
    floats(arith::SIN, Lanes("math.sin")),
    floats(arith::COS, Lanes("math.cos")),
    floats(arith::TAN, Lanes("math.tan")),
    floats(arith::ERF, Lanes("math.erf")),
    // Rounded, which `math.sqrt` is not.
    floats(arith::SQRT, Suffixed("llvm.nvvm.sqrt.rn")),
    floats(arith::FLOOR, Called("llvm.floor")),
    floats(arith::CEIL, Called("llvm.ceil")),
    floats(arith::ROUND, Called("llvm.rint")),
    floats(arith::TRUNC, Called("llvm.trunc")),
    floats(arith::EXP2_APPROX, Named("llvm.nvvm.ex2.approx.ftz.f")),
    floats(arith::TANH_APPROX, No),
    floats(arith::RCP_APPROX, Named("llvm.nvvm.rcp.approx.ftz.f")),
    floats(arith::RSQRT_APPROX, Named("llvm.nvvm.rsqrt.approx.ftz.f")),
    all(arith::CMP, compare),
    all(arith::CAST, convert),
    all(arith::CONSTANT, constant),
    all(arith::RAMP, whole),
    all(arith::BROADCAST, whole),
];

/// The table, for those who read what it writes.
#[cfg(any(feature = "mlir", test))]
pub(crate) fn rows() -> &'static [Row] {
    OPS
}

/// How `opcode` is written on numbers of type `elem`.
fn spelling(opcode: Opcode, elem: Elem, target: &Target) -> Spelling {
    match arithmetic::spelling(OPS, opcode, elem) {
        _ if elem.is_float8() => No,
        Some(Native(_)) if !target.computes_in(elem) => No,
        Some(Wide(_)) if matches!(elem, Elem::I8 | Elem::I16) => No,
        found => found.unwrap_or(No),
    }
}

/// Is the arithmetic op `op` written on numbers of its type?
pub(crate) fn spells(func: &Func, op: Op, target: &Target) -> bool {
    let Some(of) = type_of(func, op) else { return false };
    let to = func.result(op).and_then(|value| func.value_scalar(value)).unwrap_or(of);
    match func.opcode(op) {
        // Numbers that are only moved.
        arith::BROADCAST => true,
        arith::CAST => cast::conversion(of.elem, to.elem).is_some(),
        opcode => !matches!(spelling(opcode, of.elem, target), No),
    }
}

/// Is it an unsigned integer, or a truth value?
pub(crate) fn is_unsigned(elem: Elem) -> bool {
    matches!(elem.kind(), ElemKind::Unsigned | ElemKind::Bool)
}

/// What sums, differences and products of integers of type `elem` are marked with.
pub(crate) fn flags(elem: Elem) -> &'static str {
    if matches!(elem, Elem::I32 | Elem::I64) { " overflow<nsw>" } else { "" }
}

impl Kernel<'_> {
    /// The name of what was made.
    pub(crate) fn made(&mut self, made: Made) -> Rc<str> {
        match made {
            Made::Op(text) => self.temp(text),
            Made::Is(name) => name,
        }
    }

    /// What `f` makes of each lane of `operands`, which are of type `of`, put together to a `to`.
    pub(crate) fn each_lane(
        &mut self,
        operands: &[Rc<str>],
        of: Scalar,
        to: Elem,
        mut f: impl FnMut(&mut Self, &[Rc<str>]) -> Made,
    ) -> Made {
        if of.lanes == 1 {
            return f(self, operands);
        }
        let mut lanes = Vec::new();
        for lane in 0..usize::from(of.lanes) {
            let parts: Vec<Rc<str>> = operands.iter().map(|name| self.extract(name, of, lane)).collect();
            let made = f(self, &parts);
            lanes.push(self.made(made));
        }
        Made::Is(self.vector_of(Scalar { elem: to, ..of }, &lanes))
    }
}

/// The result of the arithmetic op `op`.
pub(crate) fn arith(k: &mut Kernel<'_>, op: Op) -> Made {
    let func = k.func;
    let opcode = func.opcode(op);
    let Some(of) = type_of(func, op) else {
        return Made::Is(k.stray("arithmetic on something that is no number"));
    };
    let operands: Vec<Rc<str>> = func.operands(op).iter().map(|&operand| k.value(operand)).collect();
    let ty = types::value(of);
    let number = types::number(of.elem);
    let listed = operands.join(", ");
    let signed = |name: &str| name.replace('?', if is_unsigned(of.elem) { "u" } else { "s" });
    match spelling(opcode, of.elem, k.target) {
        No => Made::Is(k.stray("an op that is not written on such numbers")),
        Plain(name) | Wide(name) => Made::Op(format!("{} {listed} : {ty}", signed(name))),
        Exact(name) => Made::Op(format!("{name} {listed}{} : {ty}", flags(of.elem))),
        Intrinsic(name) | Native(name) => {
            let types = vec![&*ty; operands.len()].join(", ");
            Made::Op(format!("{name}({listed}) : ({types}) -> {ty}"))
        }
        Lanes(name) => {
            k.each_lane(&operands, of, of.elem, |_, lane| Made::Op(format!("{name} {} : {number}", lane.join(", "))))
        }
        Called(name) => {
            k.each_lane(&operands, of, of.elem, |_, lane| called(&format!("{name}.{number}"), lane, number))
        }
        Suffixed(name) => k.each_lane(&operands, of, of.elem, |_, lane| called(&suffixed(name, of.elem), lane, number)),
        Named(name) => k.each_lane(&operands, of, of.elem, |_, lane| called(name, lane, number)),
        By(write) => write(k, op, &operands),
    }
}

/// A call of LLVM's function `name` of numbers of type `number`.
fn called(name: &str, operands: &[Rc<str>], number: &str) -> Made {
    Made::Op(format!("llvm.call_intrinsic \"{name}\"({}) : ({number}) -> {number}", operands.join(", ")))
}

/// `name` with the letter that stands for `elem`.
pub(crate) fn suffixed(name: &str, elem: Elem) -> String {
    format!("{name}.{}", if elem == Elem::F64 { 'd' } else { 'f' })
}

/// The type of the first operand of `op`, whose row has been found by it.
fn of(k: &Kernel<'_>, op: Op) -> Scalar {
    type_of(k.func, op).unwrap_or(Scalar::of(Elem::I32))
}

/// The condition's type, where a vector is chosen by lanes, as `arith.select` wants it before that of what is chosen.
pub(crate) fn by(condition: Scalar) -> String {
    if condition.lanes == 1 { String::new() } else { format!("{}, ", types::value(condition)) }
}

fn constant(k: &mut Kernel<'_>, op: Op, _: &[Rc<str>]) -> Made {
    let (func, scalar) = (k.func, of(k, op));
    let Some(attr) = func.result(op).and_then(|value| func.constant(value)) else {
        return Made::Is(k.stray("a literal without a value"));
    };
    let name = k.literal(func.attr_data(attr), scalar.elem);
    Made::Is(k.broadcast(&name, scalar))
}

/// A vector that stands where it is used.
fn whole(k: &mut Kernel<'_>, op: Op, _: &[Rc<str>]) -> Made {
    match k.func.result(op) {
        Some(value) => Made::Is(k.value(value)),
        None => Made::Is(k.stray("a vector without a value")),
    }
}

fn not(k: &mut Kernel<'_>, op: Op, operands: &[Rc<str>]) -> Made {
    let of = of(k, op);
    let all = k.constants.truth(true);
    let all = k.broadcast(&all, of);
    Made::Op(format!("arith.xori {}, {all} : {}", operands[0], types::value(of)))
}

/// A condition of one truth value is for all lanes.
fn select(k: &mut Kernel<'_>, op: Op, operands: &[Rc<str>]) -> Made {
    let Some(result) = k.func.result(op).and_then(|value| k.func.value_scalar(value)) else {
        return Made::Is(k.stray("a choice without a value"));
    };
    Made::Op(format!("arith.select {} : {}{}", operands.join(", "), by(of(k, op)), types::value(result)))
}

fn negated(k: &mut Kernel<'_>, op: Op, operands: &[Rc<str>]) -> Made {
    let of = of(k, op);
    let zero = k.int(0, types::number(of.elem));
    let zero = k.broadcast(&zero, of);
    Made::Op(format!("arith.subi {zero}, {}{} : {}", operands[0], flags(of.elem), types::value(of)))
}

fn absolute(k: &mut Kernel<'_>, op: Op, operands: &[Rc<str>]) -> Made {
    let negated = negated(k, op, operands);
    let negated = k.made(negated);
    Made::Op(format!("arith.maxsi {}, {negated} : {}", operands[0], types::value(of(k, op))))
}

/// The bits without that of the sign.
fn absolute_half(k: &mut Kernel<'_>, op: Op, operands: &[Rc<str>]) -> Made {
    let of = of(k, op);
    let (ty, bits) = (types::value(of), types::lanes_of("i16", of.lanes));
    let word = k.temp(format!("arith.bitcast {} : {ty} to {bits}", operands[0]));
    let mask = k.int(0x7fff, "i16");
    let mask = k.broadcast(&mask, Scalar { elem: Elem::I16, lanes: of.lanes });
    let word = k.temp(format!("arith.andi {word}, {mask} : {bits}"));
    Made::Op(format!("arith.bitcast {word} : {bits} to {ty}"))
}

fn convert(k: &mut Kernel<'_>, op: Op, operands: &[Rc<str>]) -> Made {
    let func = k.func;
    let Some(result) = func.result(op).and_then(|value| func.value_scalar(value)) else {
        return Made::Is(k.stray("a conversion without a value"));
    };
    // A size that is left open has a width here.
    let is_size = tc_dialects::algebra::is_symbol(func, func.operand(op, 0));
    let from = if is_size { tc_kernel::sizes::elem(func, func.operand(op, 0)) } else { of(k, op).elem };
    cast::cast(k, &operands[0], from, result)
}

fn compare(k: &mut Kernel<'_>, op: Op, operands: &[Rc<str>]) -> Made {
    let Some(predicate) = Predicate::of(k.func, op) else { return Made::Is(k.stray("a comparison")) };
    let of = of(k, op);
    let (name, listed, ty) = (predicate.word(), operands.join(", "), types::value(of));
    if of.elem.kind() == ElemKind::Float {
        // A NaN differs from everything, and compares with nothing.
        let order = if predicate == Predicate::Ne { "u" } else { "o" };
        return Made::Op(format!("arith.cmpf {order}{name}, {listed} : {ty}"));
    }
    let sign = match predicate {
        Predicate::Eq | Predicate::Ne => "",
        _ if is_unsigned(of.elem) => "u",
        _ => "s",
    };
    Made::Op(format!("arith.cmpi {sign}{name}, {listed} : {ty}"))
}
