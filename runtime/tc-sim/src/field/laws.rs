//! The laws of the field, on random elements.

use super::Number;
use crate::code::{FloatOp, UnaryOp};
use crate::inputs::SplitMix;
use tc_dialects::arith::{self, Predicate, functions};
use tc_ir::Opcode;

/// A number with some bits of fraction; 0, small integers and negative numbers among them.
fn drawn(random: &mut SplitMix) -> Number {
    let bits = random.below(20) as i32;
    let value = random.below(1 << (bits + 1)) as f64 - f64::from(1u32 << bits);
    Number::exact(value * 2f64.powi(-(random.below(24) as i32)))
}

fn each(law: impl Fn(Number, Number, Number)) {
    let mut random = SplitMix::new(7);
    for _ in 0..2000 {
        law(drawn(&mut random), drawn(&mut random), drawn(&mut random));
    }
}

fn function(opcode: Opcode) -> UnaryOp {
    UnaryOp::Function(functions::of(opcode).expect("it is one"))
}

fn add(a: Number, b: Number) -> Number {
    a.binary(FloatOp::Add, b)
}

fn mul(a: Number, b: Number) -> Number {
    a.binary(FloatOp::Mul, b)
}

fn div(a: Number, b: Number) -> Number {
    a.binary(FloatOp::Div, b)
}

fn exp(a: Number) -> Number {
    a.unary(function(arith::EXP))
}

/// The same element, and nothing in doubt; the ranges must meet.
fn assert_same(a: Number, b: Number, law: &str) {
    assert!(a.value.same(b.value), "{law}: {a:?} {b:?}");
    assert!(!a.value.tainted && !b.value.tainted, "{law}: {a:?} {b:?}");
    assert!(a.range.lo <= b.range.hi && b.range.lo <= a.range.hi, "{law}: {a:?} {b:?}");
}

#[test]
fn sums_and_products_may_be_taken_in_any_order() {
    each(|a, b, c| {
        assert_same(add(a, b), add(b, a), "a + b = b + a");
        assert_same(mul(a, b), mul(b, a), "a b = b a");
        assert_same(add(add(a, b), c), add(a, add(b, c)), "(a + b) + c = a + (b + c)");
        assert_same(mul(mul(a, b), c), mul(a, mul(b, c)), "(a b) c = a (b c)");
        assert_same(mul(a, add(b, c)), add(mul(a, b), mul(a, c)), "a (b + c) = a b + a c");
        assert_same(super::fma(tc_ir::Elem::F32, a, b, c), add(mul(a, b), c), "fma");
        assert_same(add(add(a, b), b.unary(UnaryOp::Neg)), a, "(a + b) - b = a");
    });
}

#[test]
fn a_quotient_times_its_divisor_is_what_was_divided() {
    each(|a, b, c| {
        if b.value.same(Number::ZERO.value) || c.value.same(Number::ZERO.value) {
            return;
        }
        assert_same(mul(div(a, b), b), a, "(a / b) b = a");
        assert_same(add(div(a, c), div(b, c)), div(add(a, b), c), "a / c + b / c = (a + b) / c");
        assert_same(div(div(a, b), c), div(a, mul(b, c)), "(a / b) / c = a / (b c)");
    });
}

#[test]
fn an_exponential_of_a_sum_is_the_product_of_the_exponentials() {
    each(|a, b, c| {
        assert_same(exp(add(a, b)), mul(exp(a), exp(b)), "exp(a + b) = exp(a) exp(b)");
        assert_same(exp(a.binary(FloatOp::Sub, b)), div(exp(a), exp(b)), "exp(a - b) = exp(a) / exp(b)");
        let exp2 = |a: Number| a.unary(function(arith::EXP2));
        assert_same(exp2(add(a, c)), mul(exp2(a), exp2(c)), "exp2(a + b) = exp2(a) exp2(b)");
        let log2_e = Number::literal(tc_ir::Elem::F32, u64::from(std::f32::consts::LOG2_E.to_bits()));
        assert_same(exp2(mul(a, log2_e)), exp(a), "exp2(a log2 e) = exp(a)");
        let ln_2 = Number::literal(tc_ir::Elem::F32, u64::from(std::f32::consts::LN_2.to_bits()));
        assert_same(exp(mul(a, ln_2)), exp2(a), "exp(a ln 2) = exp2(a)");
    });
    assert_same(exp(Number::exact(f64::NEG_INFINITY)), Number::ZERO, "exp(-inf) = 0");
    assert_same(exp(Number::ZERO), Number::exact(1.0), "exp(0) = 1");
}

#[test]
fn functions_that_others_define_are_those() {
    let one = Number::exact(1.0);
    each(|a, b, _| {
        let sigmoid = div(one, add(one, exp(a.unary(UnaryOp::Neg))));
        assert_same(a.unary(function(arith::SIGMOID)), sigmoid, "sigmoid");
        let twice = Number::exact(2.0);
        // tanh x = 2 sigmoid(2 x) - 1
        let tanh = mul(twice, mul(twice, a).unary(function(arith::SIGMOID))).binary(FloatOp::Sub, one);
        assert_same(a.unary(function(arith::TANH)), tanh, "tanh");
        assert_same(a.binary(FloatOp::Pow, Number::exact(3.0)), mul(a, mul(a, a)), "a^3 = a a a");
        let positive = add(mul(b, b), one);
        assert_same(
            mul(positive.unary(function(arith::SQRT)), positive.unary(function(arith::RSQRT))),
            one,
            "sqrt(a) rsqrt(a) = 1",
        );
    });
}

#[test]
fn maxima_have_an_order_and_minus_infinity_below() {
    let max = |a: Number, b: Number| a.binary(FloatOp::Max, b);
    let bottom = Number::exact(f64::NEG_INFINITY);
    each(|a, b, c| {
        assert_same(max(a, b), max(b, a), "max(a, b) = max(b, a)");
        assert_same(max(max(a, b), c), max(a, max(b, c)), "max(max(a, b), c) = max(a, max(b, c))");
        assert_same(max(a, a), a, "max(a, a) = a");
        assert_same(max(a, bottom), a, "max(a, -inf) = a");
        // A positive scale goes through, as ranges decide; so does what is added.
        let half = Number::exact(0.5);
        assert_same(max(mul(a, half), mul(b, half)), mul(max(a, b), half), "max(a s, b s) = max(a, b) s");
        assert_same(max(add(a, c), add(b, c)), add(max(a, b), c), "max(a + c, b + c) = max(a, b) + c");
        let negated = |a: Number| a.unary(UnaryOp::Neg);
        assert_same(a.binary(FloatOp::Min, b), negated(max(negated(a), negated(b))), "min");
    });
    assert_same(max(Number::exact(f64::NAN), Number::exact(2.0)), Number::exact(2.0), "max(nan, a) = a");
}

#[test]
fn what_ranges_do_not_decide_is_tainted_and_its_range_holds_both() {
    // Ends are those of f32: a third, and a third and a millionth of a millionth.
    let third = div(Number::exact(1.0), Number::exact(3.0));
    let close = add(third, Number::exact(1e-12));
    let [third, close] = [third, close].map(|of| Number::decode(of.value.encode(), of.range.encode()));
    let greater = third.binary(FloatOp::Max, close);
    assert!(greater.value.tainted && greater.range.contains(1.0 / 3.0 + 1e-12));
    assert!(!third.compare(Predicate::Lt, close).1);
    assert_eq!(third.compare(Predicate::Eq, third), (true, true));
    assert!(add(greater, third).value.tainted, "taint spreads");
    assert!(!mul(greater, Number::ZERO).value.tainted, "0 is 0");
    assert!(div(third, add(third, third.unary(UnaryOp::Neg))).value.tainted, "a quotient by 0");
    assert!(exp(exp(third)).value.tainted, "an exponent that is an exponential");
    assert_eq!(exp(exp(third)), exp(exp(third)), "and yet the same for the same");
}

#[test]
fn integer_parts_follow_ranges_and_exact_integers() {
    let floor = |a: Number| a.unary(function(arith::FLOOR));
    assert_same(floor(Number::exact(-2.5)), Number::exact(-3.0), "floor");
    // Three thirds are one, though their range is not a point.
    let third = div(Number::exact(1.0), Number::exact(3.0));
    let one = add(third, add(third, third));
    assert!(one.range.lo < one.range.hi);
    assert_same(floor(one), Number::exact(1.0), "floor(1/3 + 1/3 + 1/3) = 1");
    assert_eq!(one.truncated(), (1.0, true));
    let near = Number { value: third.value, range: one.range };
    assert!(floor(near).value.tainted && !near.truncated().1);
}
