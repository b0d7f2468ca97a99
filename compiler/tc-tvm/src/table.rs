//! The functions of `T` that have an op of ours, and the operators of Python: one table for both ways.

use tc_dialects::arith;
use tc_ir::Opcode;
use tc_ir::attrs::BinOp;

/// Ops that TVM writes as calls of equally many values, and TVM's names for them.
const CALLS: &[(Opcode, &str)] = &[
    (arith::MIN, "min"),
    (arith::MAX, "max"),
    (arith::TDIV, "truncdiv"),
    (arith::TMOD, "truncmod"),
    (arith::POW, "pow"),
    (arith::FMA, "fma"),
    (arith::SELECT, "Select"),
    (arith::EXP, "exp"),
    (arith::EXP2, "exp2"),
    (arith::LOG, "log"),
    (arith::LOG2, "log2"),
    (arith::SQRT, "sqrt"),
    (arith::RSQRT, "rsqrt"),
    (arith::TANH, "tanh"),
    (arith::SIN, "sin"),
    (arith::COS, "cos"),
    (arith::TAN, "tan"),
    (arith::ERF, "erf"),
    (arith::FLOOR, "floor"),
    (arith::CEIL, "ceil"),
    // `T.round` rounds halves away from zero.
    (arith::ROUND, "nearbyint"),
    (arith::TRUNC, "trunc"),
    (arith::SIGMOID, "sigmoid"),
    (arith::ABS, "abs"),
    (arith::POPCOUNT, "popcount"),
    (arith::LIKELY, "likely"),
];

/// Operators that TVM's text may also write as calls.
const OPERATOR_CALLS: &[(&str, BinOp)] = &[
    ("floordiv", BinOp::Div),
    ("FloorDiv", BinOp::Div),
    ("floormod", BinOp::Mod),
    ("FloorMod", BinOp::Mod),
    ("Div", BinOp::Div),
    ("bitwise_and", BinOp::BitAnd),
    ("bitwise_or", BinOp::BitOr),
    ("bitwise_xor", BinOp::BitXor),
    ("shift_left", BinOp::Shl),
    ("shift_right", BinOp::Shr),
    ("Add", BinOp::Add),
    ("Sub", BinOp::Sub),
    ("Mul", BinOp::Mul),
    ("And", BinOp::AndAnd),
    ("Or", BinOp::OrOr),
    ("EQ", BinOp::Eq),
    ("NE", BinOp::Ne),
    ("LT", BinOp::Lt),
    ("LE", BinOp::Le),
    ("GT", BinOp::Gt),
    ("GE", BinOp::Ge),
];

/// Functions of the table that take integers, too.
pub(crate) const OF_INTEGERS: &[Opcode] =
    &[arith::MIN, arith::MAX, arith::TDIV, arith::TMOD, arith::SELECT, arith::ABS, arith::POPCOUNT];

/// Approximations of the hardware, which TVM has as PTX instructions: the instruction and its modifiers.
pub(crate) const APPROXIMATIONS: &[(Opcode, &str, &[&str])] = &[
    (arith::EXP2_APPROX, "ex2", &["approx", "ftz", "f32"]),
    (arith::TANH_APPROX, "tanh", &["approx", "f32"]),
    (arith::RCP_APPROX, "rcp", &["approx", "ftz", "f32"]),
    (arith::RSQRT_APPROX, "rsqrt", &["approx", "ftz", "f32"]),
];

/// The function of `T` that stands for `opcode`.
pub(crate) fn call_of(opcode: Opcode) -> Option<&'static str> {
    CALLS.iter().find(|(known, _)| *known == opcode).map(|&(_, name)| name)
}

/// The op that the function `name` of `T` stands for.
pub(crate) fn op_of(name: &str) -> Option<Opcode> {
    // TVM writes the absolute value of a float so.
    let name = if name == "fabs" { "abs" } else { name };
    CALLS.iter().find(|(_, known)| *known == name).map(|&(opcode, _)| opcode)
}

/// The operator that the function `name` of `T` stands for.
pub(crate) fn operator_of(name: &str) -> Option<BinOp> {
    OPERATOR_CALLS.iter().find(|(known, _)| *known == name).map(|&(_, sign)| sign)
}

/// All functions of `T` that the tables name, for suggestions.
pub(crate) fn names() -> impl Iterator<Item = &'static str> + Clone {
    CALLS.iter().map(|&(_, name)| name).chain(OPERATOR_CALLS.iter().map(|&(name, _)| name))
}

/// How tightly expressions bind in Python.
pub(crate) mod prec {
    pub(crate) const OR: u8 = 1;
    pub(crate) const AND: u8 = 2;
    pub(crate) const NOT: u8 = 3;
    pub(crate) const COMPARE: u8 = 4;
    pub(crate) const BIT_OR: u8 = 5;
    pub(crate) const BIT_XOR: u8 = 6;
    pub(crate) const BIT_AND: u8 = 7;
    pub(crate) const SHIFT: u8 = 8;
    pub(crate) const SUM: u8 = 9;
    pub(crate) const PRODUCT: u8 = 10;
    pub(crate) const UNARY: u8 = 11;
    pub(crate) const ATOM: u8 = 12;
}

/// The operator `sign` in Python, and how tightly it binds; a quotient of floats is `/`.
pub(crate) fn python(sign: BinOp, of_floats: bool) -> (&'static str, u8) {
    match sign {
        BinOp::OrOr => ("or", prec::OR),
        BinOp::AndAnd => ("and", prec::AND),
        BinOp::BitOr => ("|", prec::BIT_OR),
        BinOp::BitXor => ("^", prec::BIT_XOR),
        BinOp::BitAnd => ("&", prec::BIT_AND),
        BinOp::Shl | BinOp::Shr => (sign.text(), prec::SHIFT),
        BinOp::Add | BinOp::Sub => (sign.text(), prec::SUM),
        BinOp::Div if !of_floats => ("//", prec::PRODUCT),
        BinOp::Mul | BinOp::Div | BinOp::Mod => (sign.text(), prec::PRODUCT),
        BinOp::Eq | BinOp::Ne | BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge => (sign.text(), prec::COMPARE),
    }
}
