//! Conversions: each rounds once, as the emitter of CUDA has it.

use crate::arith::{Made, by, is_unsigned};
use crate::kernel::Kernel;
use crate::types;
use std::rc::Rc;
use tc_ir::types::ElemKind;
use tc_ir::{Elem, Scalar};

/// How a number becomes one of another type.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Conversion {
    /// It is one as it is.
    AsItIs,
    /// By this op.
    Op(&'static str),
    /// By way of f64, which holds it.
    ByF64,
    /// By way of an f32 that is odd where it is not exact, so that what is rounded after that counts as rounded once.
    ByOdd,
    /// To nearest even, by its bits.
    RoundTf32,
}

/// How a `from` becomes a `to`; `None` where that takes several steps of the program, or would be rounded twice.
pub(crate) fn conversion(from: Elem, to: Elem) -> Option<Conversion> {
    use Elem::{F32, F64};
    Some(match (from, to) {
        // What tf32 holds is an f32 already.
        _ if from == to || from.in_memory() == to => Conversion::AsItIs,
        (_, Elem::Bool) => return None,
        _ if to.in_memory() == from => Conversion::RoundTf32,
        (F64, _) if to.is_cut_f32() => Conversion::ByOdd,
        (F32, F64) => Conversion::Op("arith.extf"),
        (_, F32) if from.is_half() => Conversion::Op("arith.extf"),
        (F64, F32) => Conversion::Op("arith.truncf"),
        (F32 | F64, _) if to.is_half() => Conversion::Op("arith.truncf"),
        (Elem::I32 | Elem::U32, _) if to.is_half() && to.is_cut_f32() => Conversion::ByF64,
        (F32 | F64, _) if !to.is_float() => {
            Conversion::Op(if is_unsigned(to) { "arith.fptoui" } else { "arith.fptosi" })
        }
        (_, F32 | F64) if !from.is_float() => {
            Conversion::Op(if is_unsigned(from) { "arith.uitofp" } else { "arith.sitofp" })
        }
        _ if from.is_float() || to.is_float() => return None,
        _ if types::number(from) == types::number(to) => Conversion::AsItIs,
        _ if from.kind() != ElemKind::Bool && to.bits() < from.bits() => Conversion::Op("arith.trunci"),
        _ if is_unsigned(from) => Conversion::Op("arith.extui"),
        _ => Conversion::Op("arith.extsi"),
    })
}

/// `value`, of type `from`, as a `to`.
pub(crate) fn cast(k: &mut Kernel<'_>, value: &Rc<str>, from: Elem, to: Scalar) -> Made {
    let wide = |elem: Elem| Scalar { elem, lanes: to.lanes };
    let of = wide(from);
    match conversion(from, to.elem) {
        Some(Conversion::AsItIs) => Made::Is(value.clone()),
        Some(Conversion::Op(name)) => {
            Made::Op(format!("{name} {value} : {} to {}", types::value(of), types::value(to)))
        }
        Some(Conversion::ByF64) => {
            let made = cast(k, value, from, wide(Elem::F64));
            let value = k.made(made);
            cast(k, &value, Elem::F64, to)
        }
        Some(Conversion::ByOdd) => {
            let odd = round_to_odd(k, value, of);
            cast(k, &odd, Elem::F32, to)
        }
        Some(Conversion::RoundTf32) => round_to_tf32(k, value, of),
        None => Made::Is(k.stray("a conversion that takes several steps")),
    }
}

/// An f64 as an f32 that is odd where it is not exact.
fn round_to_odd(k: &mut Kernel<'_>, value: &Rc<str>, from: Scalar) -> Rc<str> {
    let made = k.each_lane(std::slice::from_ref(value), from, Elem::F32, |k, lane| {
        let cut = k.temp(format!("llvm.call_intrinsic \"llvm.nvvm.d2f.rz\"({}) : (f64) -> f32", lane[0]));
        let back = k.temp(format!("arith.extf {cut} : f32 to f64"));
        let differs = k.temp(format!("arith.cmpf une, {back}, {} : f64", lane[0]));
        let odd = k.temp(format!("arith.extui {differs} : i1 to i32"));
        let bits = k.temp(format!("arith.bitcast {cut} : f32 to i32"));
        let bits = k.temp(format!("arith.ori {bits}, {odd} : i32"));
        Made::Op(format!("arith.bitcast {bits} : i32 to f32"))
    });
    k.made(made)
}

/// An f32 as tf32 holds it, rounded to nearest even: the last 13 of its bits are 0.
fn round_to_tf32(k: &mut Kernel<'_>, value: &str, of: Scalar) -> Made {
    let word = Scalar { elem: Elem::I32, lanes: of.lanes };
    let (float, int) = (types::value(of), types::value(word));
    let number = |k: &mut Kernel<'_>, value: i128| {
        let name = k.int(value, "i32");
        k.broadcast(&name, word)
    };
    let bits = k.temp(format!("arith.bitcast {value} : {float} to {int}"));
    let (thirteen, unit) = (number(k, 13), number(k, 1));
    let last = k.temp(format!("arith.shrui {bits}, {thirteen} : {int}"));
    let last = k.temp(format!("arith.andi {last}, {unit} : {int}"));
    let most = number(k, 0xfff);
    let sum = k.temp(format!("arith.addi {bits}, {most} : {int}"));
    let sum = k.temp(format!("arith.addi {sum}, {last} : {int}"));
    let kept = number(k, -0x2000);
    let rounded = k.temp(format!("arith.andi {sum}, {kept} : {int}"));
    let exponent = number(k, 0x7f80_0000);
    let found = k.temp(format!("arith.andi {bits}, {exponent} : {int}"));
    let special = k.temp(format!("arith.cmpi eq, {found}, {exponent} : {int}"));
    let by = by(Scalar { elem: Elem::Bool, lanes: of.lanes });
    let bits = k.temp(format!("arith.select {special}, {bits}, {rounded} : {by}{int}"));
    Made::Op(format!("arith.bitcast {bits} : {int} to {float}"))
}
