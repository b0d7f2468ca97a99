//! Conversions: each rounds once, as the emitter of CUDA has it.

use crate::arith::{Made, is_small_float, is_unsigned};
use crate::kernel::Kernel;
use crate::types;
use std::rc::Rc;
use tc_ir::types::ElemKind;
use tc_ir::{Elem, Scalar};

/// `value`, of type `from`, as a `to`, under some name.
pub(crate) fn convert(k: &mut Kernel<'_>, value: &Rc<str>, from: Elem, to: Scalar) -> Rc<str> {
    let made = cast(k, value, from, to);
    k.made(made)
}

/// `value`, of type `from`, as a `to`.
pub(crate) fn cast(k: &mut Kernel<'_>, value: &Rc<str>, from: Elem, to: Scalar) -> Made {
    let lanes = to.lanes;
    // What tf32 holds is an f32 already.
    let from = if from == Elem::TF32 && to.elem != Elem::TF32 { Elem::F32 } else { from };
    let wide = |elem: Elem| Scalar { elem, lanes };
    let (of, ty) = (types::value(wide(from)), types::value(to));
    let op = |name: &str| Made::Op(format!("arith.{name} {value} : {of} to {ty}"));
    if from == to.elem {
        return Made::Is(value.clone());
    }
    match (from.kind(), to.elem.kind()) {
        (ElemKind::Float, ElemKind::Bool) => {
            let zero = k.constant(crate::constants::float(0.0, from));
            let zero = k.broadcast(&zero, wide(from));
            // A NaN is not 0.
            Made::Op(format!("arith.cmpf une, {value}, {zero} : {of}"))
        }
        (_, ElemKind::Bool) => {
            let zero = k.int(0, types::number(from));
            let zero = k.broadcast(&zero, wide(from));
            Made::Op(format!("arith.cmpi ne, {value}, {zero} : {of}"))
        }
        (ElemKind::Float, ElemKind::Float) => float_to_float(k, value, from, to),
        (ElemKind::Float, _) => {
            let name = if is_unsigned(to.elem) { "fptoui" } else { "fptosi" };
            let (value, of) = if is_small_float(from) {
                (convert(k, value, from, wide(Elem::F32)), types::value(wide(Elem::F32)))
            } else {
                (value.clone(), of)
            };
            Made::Op(format!("arith.{name} {value} : {of} to {ty}"))
        }
        (_, ElemKind::Float) => int_to_float(k, value, from, to),
        _ if types::number(from) == types::number(to.elem) => Made::Is(value.clone()),
        _ if to.elem.bits() < from.bits() => op("trunci"),
        _ if is_unsigned(from) => op("extui"),
        _ => op("extsi"),
    }
}

fn int_to_float(k: &mut Kernel<'_>, value: &Rc<str>, from: Elem, to: Scalar) -> Made {
    let name = if is_unsigned(from) { "uitofp" } else { "sitofp" };
    let of = types::value(Scalar { elem: from, lanes: to.lanes });
    // Of more than 24 bits, f32 would round before bf16 and tf32 do; f64 holds all of 32. What f32 does not hold is
    // infinite as f16.
    let by = match to.elem {
        Elem::BF16 | Elem::TF32 if from.bits() >= 32 => Elem::F64,
        _ if is_small_float(to.elem) => Elem::F32,
        elem => elem,
    };
    let between = Scalar { elem: by, lanes: to.lanes };
    let text = format!("arith.{name} {value} : {of} to {}", types::value(between));
    if by == to.elem {
        return Made::Op(text);
    }
    let value = k.temp(text);
    float_to_float(k, &value, by, to)
}

fn float_to_float(k: &mut Kernel<'_>, value: &Rc<str>, from: Elem, to: Scalar) -> Made {
    let narrow = Scalar { elem: Elem::F32, lanes: to.lanes };
    let (of, ty) = (types::value(Scalar { elem: from, lanes: to.lanes }), types::value(to));
    match (from, to.elem) {
        (Elem::F64, Elem::BF16 | Elem::TF32) => {
            let odd = round_to_odd(k, value, to.lanes);
            float_to_float(k, &odd, Elem::F32, to)
        }
        (_, Elem::TF32) => {
            let value = if from == Elem::F32 { value.clone() } else { convert(k, value, from, narrow) };
            round_to_tf32(k, &value, narrow)
        }
        (Elem::F16, Elem::BF16) | (Elem::BF16, Elem::F16) => {
            let value = convert(k, value, from, narrow);
            float_to_float(k, &value, Elem::F32, to)
        }
        _ if to.elem.bits() < from.bits() => Made::Op(format!("arith.truncf {value} : {of} to {ty}")),
        _ => Made::Op(format!("arith.extf {value} : {of} to {ty}")),
    }
}

/// An f64 as an f32 that is odd where it is not exact, so that what is rounded after that counts as rounded once.
fn round_to_odd(k: &mut Kernel<'_>, value: &Rc<str>, lanes: u16) -> Rc<str> {
    let (from, to) = (Scalar { elem: Elem::F64, lanes }, Scalar { elem: Elem::F32, lanes });
    let made = k.each_lane(&[(value.clone(), from)], to, |k, lane| {
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
    let truth = types::value(Scalar { elem: Elem::Bool, lanes: of.lanes });
    let special = k.temp(format!("arith.cmpi eq, {found}, {exponent} : {int}"));
    let by = if of.lanes == 1 { String::new() } else { format!("{truth}, ") };
    let bits = k.temp(format!("arith.select {special}, {bits}, {rounded} : {by}{int}"));
    Made::Op(format!("arith.bitcast {bits} : {int} to {float}"))
}
