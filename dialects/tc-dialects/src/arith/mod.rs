//! Numbers: literals, arithmetic, comparisons, functions of scalars.
//!
//! Signed overflow of 32 and 64 bits and of `index` is an error of the program; unsigned and narrower integers
//! wrap. `/` and `%` round down. Floats are IEEE; nothing here is contracted or reassociated.

pub mod eval;
mod fold;
pub mod functions;
mod verify;

use functions::{Exact, Function, Shape, Term};
use tc_ir::attrs::{BinOp, UnOp};
use tc_ir::opdef::{Effect, Infer, Results, Role};

pub use verify::Predicate;

tc_ir::dialect! {
    /// The rows of `arith`.
    dialect "arith" = 1;

    /// A literal; integers, floats and truth values.
    Constant CONSTANT "constant" (value: any)
    { results: Results::Count(1), role: Role::Constant, verify_alone: Some(verify::constant) }

    /// Sum.
    Add ADD "add" (lhs: value, rhs: value)
    { results: Results::Count(1), infer: Infer::Same(0), role: Role::Binary(BinOp::Add), verify_alone: Some(verify::numbers), fold: Some(fold::binary), commutative: true }

    /// Difference.
    Sub SUB "sub" (lhs: value, rhs: value)
    { results: Results::Count(1), infer: Infer::Same(0), role: Role::Binary(BinOp::Sub), verify_alone: Some(verify::numbers), fold: Some(fold::binary) }

    /// Product.
    Mul MUL "mul" (lhs: value, rhs: value)
    { results: Results::Count(1), infer: Infer::Same(0), role: Role::Binary(BinOp::Mul), verify_alone: Some(verify::numbers), fold: Some(fold::binary), commutative: true }

    /// Quotient: of integers, rounded down; division by zero is an error.
    Div DIV "div" (lhs: value, rhs: value)
    { results: Results::Count(1), infer: Infer::Same(0), role: Role::Binary(BinOp::Div), verify_alone: Some(verify::numbers), fold: Some(fold::binary), short: Some("floordiv"), effect: Effect::DIVISION }

    /// Remainder of the quotient that is rounded down; it has the sign of the divisor.
    Mod MOD "mod" (lhs: value, rhs: value)
    { results: Results::Count(1), infer: Infer::Same(0), role: Role::Binary(BinOp::Mod), verify_alone: Some(verify::numbers), fold: Some(fold::binary), short: Some("floormod"), effect: Effect::DIVISION }

    /// Both, of truth values; evaluates both.
    And AND "and" (lhs: value, rhs: value)
    { results: Results::Count(1), infer: Infer::Same(0), role: Role::Binary(BinOp::AndAnd), verify_alone: Some(verify::truths), fold: Some(fold::binary), commutative: true }

    /// Either, of truth values; evaluates both.
    Or OR "or" (lhs: value, rhs: value)
    { results: Results::Count(1), infer: Infer::Same(0), role: Role::Binary(BinOp::OrOr), verify_alone: Some(verify::truths), fold: Some(fold::binary), commutative: true }

    /// Bitwise and.
    BitAnd BITAND "bitand" (lhs: value, rhs: value)
    { results: Results::Count(1), infer: Infer::Same(0), role: Role::Binary(BinOp::BitAnd), verify_alone: Some(verify::integers), fold: Some(fold::binary), commutative: true }

    /// Bitwise or.
    BitOr BITOR "bitor" (lhs: value, rhs: value)
    { results: Results::Count(1), infer: Infer::Same(0), role: Role::Binary(BinOp::BitOr), verify_alone: Some(verify::integers), fold: Some(fold::binary), commutative: true }

    /// Bitwise exclusive or.
    BitXor BITXOR "bitxor" (lhs: value, rhs: value)
    { results: Results::Count(1), infer: Infer::Same(0), role: Role::Binary(BinOp::BitXor), verify_alone: Some(verify::integers), fold: Some(fold::binary), commutative: true }

    /// Left shift; a count outside 0 to bits - 1 is an error.
    Shl SHL "shl" (lhs: value, rhs: value)
    { results: Results::Count(1), infer: Infer::Same(0), role: Role::Binary(BinOp::Shl), verify_alone: Some(verify::integers), fold: Some(fold::binary), short: Some("shl"), effect: Effect::NOT_SPECULATABLE }

    /// Right shift, arithmetic for signed types; a count outside 0 to bits - 1 is an error.
    Shr SHR "shr" (lhs: value, rhs: value)
    { results: Results::Count(1), infer: Infer::Same(0), role: Role::Binary(BinOp::Shr), verify_alone: Some(verify::integers), fold: Some(fold::binary), short: Some("shr"), effect: Effect::NOT_SPECULATABLE }

    /// Comparison: `eq ne lt le gt ge`.
    Cmp CMP "cmp" (lhs: value, rhs: value, predicate: word key)
    { results: Results::Count(1), infer: Infer::Predicate, role: Role::Compare, verify_alone: Some(verify::cmp), fold: Some(fold::cmp) }

    /// Negation.
    Neg NEG "neg" (value: value)
    { results: Results::Count(1), infer: Infer::Same(0), role: Role::Unary(UnOp::Neg), verify_alone: Some(verify::numbers), fold: Some(fold::unary) }

    /// The other truth value.
    Not NOT "not" (value: value)
    { results: Results::Count(1), infer: Infer::Same(0), role: Role::Unary(UnOp::Not), verify_alone: Some(verify::truths), fold: Some(fold::unary) }

    /// Conversion to the result's type: floats round to nearest even, floats to integers truncate, integers to narrower ones wrap.
    Cast CAST "cast" (value: value)
    { results: Results::Count(1), role: Role::Cast, verify_alone: Some(verify::cast), fold: Some(fold::cast) }

    /// Quotient rounded towards zero; division by zero is an error.
    TruncDiv TDIV "tdiv" (lhs: value, rhs: value)
    { results: Results::Count(1), infer: Infer::Same(0), short: Some("tdiv"), verify_alone: Some(verify::integers), fold: Some(fold::binary), effect: Effect::DIVISION }

    /// Remainder of the quotient that is rounded towards zero; by -1 it is 0, also of the least number.
    TruncMod TMOD "tmod" (lhs: value, rhs: value)
    { results: Results::Count(1), infer: Infer::Same(0), short: Some("tmod"), verify_alone: Some(verify::integers), fold: Some(fold::binary), effect: Effect::DIVISION }

    /// The lesser; of floats, the other operand where one is NaN.
    Min MIN "min" (lhs: value, rhs: value)
    { results: Results::Count(1), infer: Infer::Same(0), short: Some("min"), verify_alone: Some(verify::numbers), fold: Some(fold::binary), commutative: true }

    /// The greater; of floats, the other operand where one is NaN.
    Max MAX "max" (lhs: value, rhs: value)
    { results: Results::Count(1), infer: Infer::Same(0), short: Some("max"), verify_alone: Some(verify::numbers), fold: Some(fold::binary), commutative: true }

    /// Power.
    Pow POW "pow" (lhs: value, rhs: value)
    { results: Results::Count(1), infer: Infer::Same(0), short: Some("pow"), verify_alone: Some(verify::floats) }

    /// `a * b + c`, rounded once.
    Fma FMA "fma" (a: value, b: value, c: value)
    { results: Results::Count(1), infer: Infer::Same(0), short: Some("fma"), verify_alone: Some(verify::floats) }

    /// One of two values; evaluates both.
    Select SELECT "select" (condition: value, on_true: value, on_false: value)
    { results: Results::Count(1), infer: Infer::Same(1), short: Some("select"), verify_alone: Some(verify::select), fold: Some(fold::select) }

    /// e to the power.
    Exp EXP "exp" (value: value)
    { results: Results::Count(1), infer: Infer::Same(0), short: Some("exp"), verify_alone: Some(verify::floats) }

    /// 2 to the power.
    Exp2 EXP2 "exp2" (value: value)
    { results: Results::Count(1), infer: Infer::Same(0), short: Some("exp2"), verify_alone: Some(verify::floats) }

    /// Natural logarithm.
    Log LOG "log" (value: value)
    { results: Results::Count(1), infer: Infer::Same(0), short: Some("log"), verify_alone: Some(verify::floats) }

    /// Logarithm to base 2.
    Log2 LOG2 "log2" (value: value)
    { results: Results::Count(1), infer: Infer::Same(0), short: Some("log2"), verify_alone: Some(verify::floats) }

    /// Square root.
    Sqrt SQRT "sqrt" (value: value)
    { results: Results::Count(1), infer: Infer::Same(0), short: Some("sqrt"), verify_alone: Some(verify::floats) }

    /// Reciprocal of the square root.
    Rsqrt RSQRT "rsqrt" (value: value)
    { results: Results::Count(1), infer: Infer::Same(0), short: Some("rsqrt"), verify_alone: Some(verify::floats) }

    /// Hyperbolic tangent.
    Tanh TANH "tanh" (value: value)
    { results: Results::Count(1), infer: Infer::Same(0), short: Some("tanh"), verify_alone: Some(verify::floats) }

    /// Sine, of radians.
    Sin SIN "sin" (value: value)
    { results: Results::Count(1), infer: Infer::Same(0), short: Some("sin"), verify_alone: Some(verify::floats) }

    /// Cosine, of radians.
    Cos COS "cos" (value: value)
    { results: Results::Count(1), infer: Infer::Same(0), short: Some("cos"), verify_alone: Some(verify::floats) }

    /// Tangent, of radians.
    Tan TAN "tan" (value: value)
    { results: Results::Count(1), infer: Infer::Same(0), short: Some("tan"), verify_alone: Some(verify::floats) }

    /// Error function.
    Erf ERF "erf" (value: value)
    { results: Results::Count(1), infer: Infer::Same(0), short: Some("erf"), verify_alone: Some(verify::floats) }

    /// Rounds down.
    Floor FLOOR "floor" (value: value)
    { results: Results::Count(1), infer: Infer::Same(0), short: Some("floor"), verify_alone: Some(verify::floats) }

    /// Rounds up.
    Ceil CEIL "ceil" (value: value)
    { results: Results::Count(1), infer: Infer::Same(0), short: Some("ceil"), verify_alone: Some(verify::floats) }

    /// Rounds to the nearest, halves to even.
    Round ROUND "round" (value: value)
    { results: Results::Count(1), infer: Infer::Same(0), short: Some("round"), verify_alone: Some(verify::floats) }

    /// Rounds towards zero.
    Trunc TRUNC "trunc" (value: value)
    { results: Results::Count(1), infer: Infer::Same(0), short: Some("trunc"), verify_alone: Some(verify::floats) }

    /// `1 / (1 + exp(-x))`.
    Sigmoid SIGMOID "sigmoid" (value: value)
    { results: Results::Count(1), infer: Infer::Same(0), short: Some("sigmoid"), verify_alone: Some(verify::floats) }

    /// 2 to the power, of f32, by the hardware's approximation: off by at most 2^-22 of the result; one below 2^-126 is 0.
    Exp2Approx EXP2_APPROX "exp2.approx" (value: value)
    { results: Results::Count(1), infer: Infer::Same(0), short: Some("exp2.approx"), verify_alone: Some(verify::f32s) }

    /// Hyperbolic tangent, of f32, by the hardware's approximation: off by at most 2^-10.98 of the result.
    TanhApprox TANH_APPROX "tanh.approx" (value: value)
    { results: Results::Count(1), infer: Infer::Same(0), short: Some("tanh.approx"), verify_alone: Some(verify::f32s) }

    /// Reciprocal, of f32, by the hardware's approximation: off by at most 2^-23 of the result; operands and results below 2^-126 count as 0.
    RcpApprox RCP_APPROX "rcp.approx" (value: value)
    { results: Results::Count(1), infer: Infer::Same(0), short: Some("rcp.approx"), verify_alone: Some(verify::f32s) }

    /// Reciprocal of the square root, of f32, by the hardware's approximation: off by at most 2^-22.9 of the result; an operand below 2^-126 counts as 0.
    RsqrtApprox RSQRT_APPROX "rsqrt.approx" (value: value)
    { results: Results::Count(1), infer: Infer::Same(0), short: Some("rsqrt.approx"), verify_alone: Some(verify::f32s) }

    /// Absolute value.
    Abs ABS "abs" (value: value)
    { results: Results::Count(1), infer: Infer::Same(0), short: Some("abs"), verify_alone: Some(verify::numbers), fold: Some(fold::unary) }

    /// Number of set bits.
    Popcount POPCOUNT "popcount" (value: value)
    { results: Results::Count(1), infer: Infer::Same(0), short: Some("popcount"), verify_alone: Some(verify::integers), fold: Some(|func, op| fold::of_bits(func, op, |bits| bits.count_ones().into())) }

    /// The same truth value; tells that it mostly holds, and that loops may be split by it.
    Likely LIKELY "likely" (condition: value)
    { results: Results::Count(1), infer: Infer::Same(0), short: Some("likely"), verify_alone: Some(verify::truths) }

    /// The vector `base, base + stride, …`.
    Ramp RAMP "ramp" (base: value, stride: value, lanes: int)
    { results: Results::Count(1), infer: Infer::By(verify::infer_ramp), short: Some("ramp"), verify_alone: Some(verify::integers) }

    /// The vector that holds one value in every lane.
    Broadcast BROADCAST "broadcast" (value: value, lanes: int)
    { results: Results::Count(1), infer: Infer::By(verify::infer_broadcast), short: Some("broadcast"), verify_alone: Some(verify::broadcast) }
}

const X: Term = Term::X;
const ONE: Term = Term::Number(1.0);
/// As operators write it, in f32.
const LOG2_E: Term = Term::Number(std::f32::consts::LOG2_E as f64);

/// The functions of one float.
pub static FUNCTIONS: &[Function] = &[
    Function { opcode: EXP, value: f64::exp, magnitude: |at| at.y * (1.0 + at.m), exact: Exact::Exp },
    Function {
        opcode: EXP2,
        value: f64::exp2,
        magnitude: |at| at.y * (1.0 + at.m),
        exact: Exact::By(
            &Term::Of(EXP, &Term::Div(&X, &LOG2_E)),
            Shape::Rising { from: f64::NEG_INFINITY, least: 0.0 },
        ),
    },
    Function { opcode: LOG, value: f64::ln, magnitude: |at| at.y + 1.5 * at.m / at.x.abs(), exact: Exact::Log },
    Function {
        opcode: LOG2,
        value: f64::log2,
        magnitude: |at| at.y + 1.5 * at.m / at.x.abs(),
        exact: Exact::By(
            &Term::Mul(&Term::Of(LOG, &X), &LOG2_E),
            Shape::Rising { from: 0.0, least: f64::NEG_INFINITY },
        ),
    },
    // Half of m/f, and no less than the value.
    Function { opcode: SQRT, value: f64::sqrt, magnitude: |at| at.y.max(at.m / at.y), exact: Exact::Sqrt },
    Function {
        opcode: RSQRT,
        value: |x| 1.0 / x.sqrt(),
        magnitude: |at| at.y * (at.m / at.x.abs()).max(1.0),
        exact: Exact::By(&Term::Div(&ONE, &Term::Of(SQRT, &X)), Shape::OfTerm),
    },
    Function {
        opcode: TANH,
        value: f64::tanh,
        magnitude: |at| at.y + 1.2 * at.m,
        // 1 - 2 / (exp(2 x) + 1)
        exact: Exact::By(
            &Term::Add(&ONE, &Term::Div(&Term::Number(-2.0), &Term::Add(&Term::Of(EXP, &Term::Add(&X, &X)), &ONE))),
            Shape::RISING,
        ),
    },
    Function { opcode: SIN, value: f64::sin, magnitude: |at| at.y + 1.2 * at.m, exact: Exact::Opaque(Shape::Wave) },
    Function { opcode: COS, value: f64::cos, magnitude: |at| at.y + 1.2 * at.m, exact: Exact::Opaque(Shape::Wave) },
    Function {
        opcode: TAN,
        value: f64::tan,
        magnitude: |at| at.y + at.m * (1.0 + at.y * at.y),
        exact: Exact::By(&Term::Div(&Term::Of(SIN, &X), &Term::Of(COS, &X)), Shape::OfTerm),
    },
    Function { opcode: ERF, value: libm::erf, magnitude: |at| at.y + 1.2 * at.m, exact: Exact::Opaque(Shape::RISING) },
    Function { opcode: FLOOR, value: f64::floor, magnitude: |at| at.m, exact: Exact::Whole },
    Function { opcode: CEIL, value: f64::ceil, magnitude: |at| at.m, exact: Exact::Whole },
    Function { opcode: ROUND, value: f64::round_ties_even, magnitude: |at| at.m, exact: Exact::Whole },
    Function { opcode: TRUNC, value: f64::trunc, magnitude: |at| at.m, exact: Exact::Whole },
    Function {
        opcode: SIGMOID,
        value: |x| 1.0 / (1.0 + (-x).exp()),
        magnitude: |at| at.y + 1.2 * at.m,
        exact: Exact::By(
            &Term::Div(&ONE, &Term::Add(&ONE, &Term::Of(EXP, &Term::Mul(&Term::Number(-1.0), &X)))),
            Shape::RISING,
        ),
    },
    Function {
        opcode: EXP2_APPROX,
        value: |x| flushed(x.exp2()),
        magnitude: |at| at.y * (1.0 + at.m),
        exact: Exact::By(&Term::Of(EXP2, &X), Shape::Rising { from: f64::NEG_INFINITY, least: 0.0 }),
    },
    Function {
        opcode: TANH_APPROX,
        value: f64::tanh,
        // 2^-10.98 are 520 of the 2^-20 that a number of f32 is allowed, whatever it is summed from.
        magnitude: |at| 520.0 * at.y + 1.2 * at.m,
        exact: Exact::By(&Term::Of(TANH, &X), Shape::RISING),
    },
    Function {
        opcode: RCP_APPROX,
        value: |x| flushed(1.0 / flushed(x)),
        magnitude: |at| at.y * (at.m / at.x.abs()).max(1.0),
        exact: Exact::By(&Term::Div(&ONE, &X), Shape::OfTerm),
    },
    Function {
        opcode: RSQRT_APPROX,
        value: |x| 1.0 / flushed(x).sqrt(),
        magnitude: |at| at.y * (at.m / at.x.abs()).max(1.0),
        exact: Exact::By(&Term::Div(&ONE, &Term::Of(SQRT, &X)), Shape::OfTerm),
    },
];

/// `x`, or 0 of its sign where an f32 has no full precision.
fn flushed(x: f64) -> f64 {
    if x.abs() < f64::from(f32::MIN_POSITIVE) { 0.0f64.copysign(x) } else { x }
}
