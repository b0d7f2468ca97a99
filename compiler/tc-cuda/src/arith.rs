//! Arithmetic: one lane of one op, in the meaning of the simulator, as the table [`OPS`] spells it.
//!
//! - Integers of 8 and 16 bits are computed as `int` and cut back; 32 and 64 bits must not overflow if signed.
//! - f32 and f64 use C's operators, and a fast variant of a function only where the program names it.
//! - f16, and bf16 from sm_80 on, use the `_rn` intrinsics, which no compiler contracts. What they have none for, and all
//!   arithmetic of 8-bit floats and tf32, the pass `legalize-dtype` has made arithmetic of f32.
//! - A fused multiply-add stands only where the program has one.
//!
//! An op that the table has no words for on numbers of its type is not accepted.

use crate::expr::{self, Expr, prec};
use crate::kernel::Kernel;
use crate::literals;
use crate::preamble::Helper;
use crate::types;
use Spelling::{By, Call, Function, Half, Infix, Instruction, No, Prefix};
use tc_dialects::algebra::predicate_op;
use tc_dialects::arith::{self, Predicate};
use tc_ir::attrs::{AttrData, BinOp};
use tc_ir::types::ElemKind;
use tc_ir::{Elem, Func, Op, Opcode, Value};
use tc_kernel::arithmetic::{self, type_of};
use tc_target::Target;

/// How an op is written.
#[derive(Clone, Copy)]
enum Spelling {
    /// It is not, on these numbers.
    No,
    /// `a + b`
    Infix(BinOp),
    /// `-a`
    Prefix(char),
    /// `f(a, b)`
    Call(&'static str),
    /// `f(a, b)`, which bf16 has where the target computes in it.
    Half(&'static str),
    /// `f(a, b)` of doubles, `ff(a, b)` of floats.
    Function(&'static str),
    /// By an instruction on floats.
    Instruction(&'static str),
    /// In a way of its own.
    By(fn(&mut Kernel<'_>, Op, usize) -> Expr),
}

type Row = arithmetic::Row<Spelling>;

/// An op on truth values, integers, halves, and f32 or f64.
const fn row(opcode: Opcode, spelled: [Spelling; 4]) -> Row {
    Row::new(opcode, spelled, No)
}

/// A function of floats, which halves do not have.
const fn function(opcode: Opcode, name: &'static str) -> Row {
    row(opcode, [No, No, No, Function(name)])
}

/// A function that the hardware approximates.
const fn approximation(opcode: Opcode, instruction: &'static str) -> Row {
    row(opcode, [No, No, No, Instruction(instruction)])
}

/// An op that is the same for all numbers.
const fn all(opcode: Opcode, how: Spelling) -> Row {
    Row::new(opcode, [how; 4], how)
}

/// All arithmetic that is written.
static OPS: &[Row] = &[
    // On truth values, integers, halves, and f32 or f64:
    row(arith::ADD, [No, Infix(BinOp::Add), Half("__hadd_rn"), Infix(BinOp::Add)]),
    row(arith::SUB, [No, Infix(BinOp::Sub), Half("__hsub_rn"), Infix(BinOp::Sub)]),
    row(arith::MUL, [No, Infix(BinOp::Mul), Half("__hmul_rn"), Infix(BinOp::Mul)]),
    row(arith::DIV, [No, No, No, Infix(BinOp::Div)]),
    row(arith::TDIV, [No, Infix(BinOp::Div), No, No]),
    row(arith::TMOD, [No, Infix(BinOp::Mod), No, No]),
    row(arith::AND, [Infix(BinOp::AndAnd), No, No, No]),
    row(arith::OR, [Infix(BinOp::OrOr), No, No, No]),
    row(arith::NOT, [Prefix('!'), No, No, No]),
    row(arith::BITAND, [No, Infix(BinOp::BitAnd), No, No]),
    row(arith::BITOR, [No, Infix(BinOp::BitOr), No, No]),
    row(arith::BITXOR, [No, Infix(BinOp::BitXor), No, No]),
    row(arith::SHL, [No, Infix(BinOp::Shl), No, No]),
    row(arith::SHR, [No, Infix(BinOp::Shr), No, No]),
    row(arith::CMP, [By(compare), By(compare), By(compare_halves), By(compare)]),
    row(arith::MIN, [No, Call("min"), Half("__hmin"), Function("fmin")]),
    row(arith::MAX, [No, Call("max"), Half("__hmax"), Function("fmax")]),
    row(arith::NEG, [No, Prefix('-'), Half("__hneg"), Prefix('-')]),
    row(arith::ABS, [No, Call("abs"), Half("__habs"), Function("fabs")]),
    row(arith::FMA, [No, No, By(fma_of_halves), Function("fma")]),
    row(arith::POPCOUNT, [No, By(popcount), No, No]),
    row(arith::SELECT, [By(select), No, No, No]),
    function(arith::POW, "pow"),
    function(arith::EXP, "exp"),
    function(arith::EXP2, "exp2"),
    function(arith::LOG, "log"),
    function(arith::LOG2, "log2"),
    function(arith::SQRT, "sqrt"),
    function(arith::RSQRT, "rsqrt"),
    function(arith::TANH, "tanh"),
    function(arith::SIN, "sin"),
    function(arith::COS, "cos"),
    function(arith::TAN, "tan"),
    function(arith::ERF, "erf"),
    function(arith::FLOOR, "floor"),
    function(arith::CEIL, "ceil"),
    function(arith::ROUND, "rint"),
    function(arith::TRUNC, "trunc"),
    approximation(arith::EXP2_APPROX, "ex2.approx.ftz.f32"),
    approximation(arith::TANH_APPROX, "tanh.approx.f32"),
    approximation(arith::RCP_APPROX, "rcp.approx.ftz.f32"),
    approximation(arith::RSQRT_APPROX, "rsqrt.approx.ftz.f32"),
    all(arith::CAST, By(cast)),
    all(arith::CONSTANT, By(constant)),
    all(arith::RAMP, By(ramp)),
    all(arith::BROADCAST, By(broadcast)),
];

/// Comparisons of halves.
fn half_comparison(predicate: Predicate) -> &'static str {
    match predicate {
        Predicate::Eq => "__heq",
        // A NaN differs from everything.
        Predicate::Ne => "__hneu",
        Predicate::Lt => "__hlt",
        Predicate::Le => "__hle",
        Predicate::Gt => "__hgt",
        Predicate::Ge => "__hge",
    }
}

/// How a number becomes one of another type.
#[derive(Clone, Copy)]
enum Conversion {
    /// It is one as it is.
    AsItIs,
    /// `(ty)x`
    Cast,
    Call(&'static str),
    Helped(Helper),
}

/// How a `from` becomes a `to`; `None` where that takes more than one step.
fn conversion(from: Elem, to: Elem) -> Option<Conversion> {
    Some(match (from, to) {
        _ if from == to || from.in_memory() == to => Conversion::AsItIs,
        (_, Elem::Bool) => return None,
        (Elem::F32, _) if to.is_float8() => Conversion::Helped(Helper::ToF8(to)),
        (Elem::F64, _) if to.is_float8() => Conversion::Helped(Helper::F64ToF8(to)),
        (Elem::F32, _) if !to.is_stored() => Conversion::Helped(Helper::ToTf32),
        (Elem::F64, _) if !to.is_stored() => Conversion::Helped(Helper::F64ToTf32),
        (_, Elem::F32) if from.is_float8() => Conversion::Cast,
        _ if !from.is_small_float() && !to.is_small_float() => Conversion::Cast,
        _ => Conversion::Call(types::half_conversion(from, to)?),
    })
}

/// How `opcode` is written on numbers of type `elem`.
fn spelling(opcode: Opcode, elem: Elem, target: &Target) -> Spelling {
    match arithmetic::spelling(OPS, opcode, elem) {
        Some(Half(_)) if !target.computes_in(elem) => No,
        found => found.unwrap_or(No),
    }
}

fn elem_of(func: &Func, op: Op) -> Option<Elem> {
    type_of(func, op).map(|scalar| scalar.elem)
}

/// Is the arithmetic op `op` written on numbers of its type?
pub(crate) fn spells(func: &Func, op: Op, target: &Target) -> bool {
    let Some(elem) = elem_of(func, op) else { return false };
    let to = func.result(op).and_then(|value| func.value_scalar(value)).map_or(elem, |scalar| scalar.elem);
    !matches!(spelling(func.opcode(op), elem, target), No)
        && (func.opcode(op) != arith::CAST || conversion(elem, to).is_some())
}

impl Kernel<'_> {
    /// Lane `lane` of the arithmetic op `op`.
    pub(crate) fn arith(&mut self, op: Op, lane: usize) -> Expr {
        let func = self.func;
        let Some(elem) = elem_of(func, op) else {
            return self.stray("arithmetic on something that is no number");
        };
        match spelling(func.opcode(op), elem, self.target) {
            No => self.stray("an op that is not written on such numbers"),
            By(write) => write(self, op, lane),
            how => {
                let operands: Vec<Expr> = func.operands(op).iter().map(|&operand| self.lane(operand, lane)).collect();
                self.spelled(how, elem, operands)
            }
        }
    }

    /// An op of `operands` of type `elem`.
    fn spelled(&mut self, how: Spelling, elem: Elem, mut operands: Vec<Expr>) -> Expr {
        let value = match how {
            Infix(operator) => match (operands.pop(), operands.pop()) {
                (Some(rhs), Some(lhs)) if elem.is_int() => return self.int_binary(operator, elem, lhs, rhs),
                (Some(rhs), Some(lhs)) => expr::binary(operator, lhs, rhs),
                _ => self.stray("an infix op without operands"),
            },
            Prefix(sign) => match operands.pop() {
                Some(operand) => expr::prefix(sign, operand),
                None => self.stray("a prefix op without an operand"),
            },
            Function(name) if elem == Elem::F32 => expr::call(&format!("{name}f"), &operands),
            Call(name) | Half(name) | Function(name) => expr::call(name, &operands),
            Instruction(name) => expr::call(&self.needs.helper(Helper::Instruction(name)), &operands),
            No | By(_) => self.stray("an op that is written in another way"),
        };
        if elem.is_int() { self.fit(elem, value) } else { value }
    }

    /// `value`, an `int`, as an integer type of 8 or 16 bits holds it.
    fn fit(&mut self, elem: Elem, value: Expr) -> Expr {
        if elem.bits() >= 32 {
            return value;
        }
        let ty = self.type_name(elem);
        expr::cast(&ty, value)
    }

    /// `lhs op rhs` of integers.
    pub(crate) fn int_binary(&mut self, operator: BinOp, elem: Elem, lhs: Expr, rhs: Expr) -> Expr {
        // Two of 65535 overflow an `int`.
        let lhs = match (operator, elem) {
            (BinOp::Mul, Elem::U16) => expr::cast("unsigned int", lhs),
            // C++ has no left shift of a negative literal.
            (BinOp::Shl, Elem::I32) if lhs.text.starts_with('-') => expr::cast("int", expr::cast("unsigned int", lhs)),
            _ => lhs,
        };
        let value = expr::binary(operator, lhs, rhs);
        self.fit(elem, value)
    }

    /// `value`, a `from`, as a `to`.
    fn converted(&mut self, from: Elem, to: Elem, value: Expr) -> Expr {
        for elem in [from, to].into_iter().filter(|elem| elem.is_float()) {
            self.needs.elem(elem);
        }
        match conversion(from, to) {
            Some(Conversion::AsItIs) => value,
            Some(Conversion::Cast) => expr::cast(&self.type_name(to), value),
            Some(Conversion::Call(function)) => expr::call(function, &[value]),
            Some(Conversion::Helped(helper)) => expr::call(&self.needs.helper(helper), &[value]),
            None => self.stray("a conversion that takes several steps"),
        }
    }

    /// The literal at `value`.
    fn literal(&mut self, value: &AttrData, elem: Elem) -> Expr {
        match value {
            AttrData::Bool(value) => Expr::name(if *value { "true" } else { "false" }),
            AttrData::Int(value, _) => literals::int(*value, elem),
            AttrData::Float(bits, _) => {
                let value = elem.round(f64::from_bits(*bits));
                match elem.in_memory() {
                    Elem::F64 => literals::double(value),
                    Elem::F32 => literals::float(value),
                    _ => self.converted(Elem::F32, elem, literals::float(value)),
                }
            }
            _ => self.stray("a literal of an unknown kind"),
        }
    }

    /// The name of the type `elem`.
    pub(crate) fn type_name(&mut self, elem: Elem) -> String {
        self.needs.type_name(tc_ir::Scalar::of(elem))
    }

    /// The integer that `value` is a literal of, if it is printed as one and not by a name.
    pub(crate) fn bare_int(&self, value: Value) -> Option<i64> {
        self.func.const_int(value).filter(|_| self.name_of(value).is_none())
    }

    /// `base + by`; a literal that `base` ends in is added to `by`.
    pub(crate) fn offset(&mut self, base: Value, elem: Elem, by: i128) -> Expr {
        let func = self.func;
        if let Some(base) = self.bare_int(base)
            && let Some(sum) = elem.fit(i128::from(base) + by)
        {
            return literals::int(sum, elem);
        }
        if let Some(op) = func.def_op(base).filter(|&op| func.opcode(op) == arith::ADD && self.placement.is_inline(op))
            && let Some(last) = self.bare_int(func.operand(op, 1))
            && let Some(sum) = elem.fit(i128::from(last) + by)
        {
            return self.offset(func.operand(op, 0), elem, sum);
        }
        let base = self.lane(base, 0);
        // A literal that the type does not hold would make C++ compute in a wider one.
        let by = if by > 0 || elem.kind() != ElemKind::Unsigned { elem.fit(by).unwrap_or(by) } else { by };
        match by {
            0 => base,
            1.. => self.int_binary(BinOp::Add, elem, base, literals::int(by, elem)),
            _ => self.int_binary(BinOp::Sub, elem, base, literals::int(-by, elem)),
        }
    }

    /// The lanes `lanes` of a vector type `scalar`, put together.
    pub(crate) fn vector_of(&mut self, scalar: tc_ir::Scalar, lanes: &[Expr]) -> Expr {
        let name = self.needs.type_name(scalar);
        match types::built_in(scalar) {
            Some(built_in) => expr::call(&built_in.make, lanes),
            None => {
                let lanes: Vec<&str> = lanes.iter().map(|lane| lane.text.as_str()).collect();
                Expr::new(format!("{name}{{{{{}}}}}", lanes.join(", ")), prec::POSTFIX)
            }
        }
    }
}

fn select(k: &mut Kernel<'_>, op: Op, lane: usize) -> Expr {
    let [condition, on_true, on_false] = [0, 1, 2].map(|nth| k.lane(k.func.operand(op, nth), lane));
    expr::ternary(condition, on_true, on_false)
}

fn compare(k: &mut Kernel<'_>, op: Op, lane: usize) -> Expr {
    let Some(predicate) = Predicate::of(k.func, op) else { return k.stray("a comparison") };
    let operator = predicate_op(predicate);
    let [lhs, rhs] = [0, 1].map(|nth| k.lane(k.func.operand(op, nth), lane));
    expr::binary(operator, lhs, rhs)
}

fn compare_halves(k: &mut Kernel<'_>, op: Op, lane: usize) -> Expr {
    let Some(predicate) = Predicate::of(k.func, op) else { return k.stray("a comparison") };
    let operands = [0, 1].map(|nth| k.lane(k.func.operand(op, nth), lane));
    expr::call(half_comparison(predicate), &operands)
}

fn fma_of_halves(k: &mut Kernel<'_>, op: Op, lane: usize) -> Expr {
    let func = k.func;
    let operands = [0, 1, 2].map(|nth| k.lane(func.operand(op, nth), lane));
    match elem_of(func, op).filter(|&elem| !k.target.computes_in(elem)) {
        Some(elem) => expr::call(&k.needs.helper(Helper::Fma(elem)), &operands),
        None => expr::call("__hfma", &operands),
    }
}

fn popcount(k: &mut Kernel<'_>, op: Op, lane: usize) -> Expr {
    let value = k.lane(k.func.operand(op, 0), lane);
    let Some(elem) = elem_of(k.func, op) else { return value };
    // The bits above a narrow type are copies of its sign, and count for nothing.
    let unsigned = match elem.bits() {
        8 => "unsigned char",
        16 => "unsigned short",
        32 => "unsigned int",
        _ => "unsigned long long",
    };
    let count = expr::call(if elem.bits() == 64 { "__popcll" } else { "__popc" }, &[expr::cast(unsigned, value)]);
    if elem == Elem::I32 { count } else { expr::cast(&k.type_name(elem), count) }
}

fn cast(k: &mut Kernel<'_>, op: Op, lane: usize) -> Expr {
    let func = k.func;
    let operand = func.operand(op, 0);
    let result = func.result(op).and_then(|value| func.value_scalar(value));
    let (Some(from), Some(to)) = (func.value_scalar(operand), result) else {
        return k.stray("a conversion of something that is no number");
    };
    let value = k.lane(operand, lane);
    k.converted(from.elem, to.elem, value)
}

fn constant(k: &mut Kernel<'_>, op: Op, _: usize) -> Expr {
    let func = k.func;
    let value = func.result(op).and_then(|result| Some((func.constant(result)?, func.value_scalar(result)?)));
    match value {
        Some((value, scalar)) => k.literal(func.attr_data(value), scalar.elem),
        None => k.stray("a literal without a value"),
    }
}

/// Lane `lane` of the vector that the ramp `op` is.
fn ramp(k: &mut Kernel<'_>, op: Op, lane: usize) -> Expr {
    let func = k.func;
    let (base, stride) = (func.operand(op, 0), func.operand(op, 1));
    let elem = func.value_scalar(base).map_or(Elem::I32, |scalar| scalar.elem);
    match func.const_int(stride) {
        Some(stride) => k.offset(base, elem, i128::from(stride) * lane as i128),
        None => {
            let base = k.lane(base, 0);
            let stride = k.lane(stride, 0);
            let step = match lane {
                0 => return base,
                1 => stride,
                _ => expr::binary(BinOp::Mul, stride, literals::int(lane as i128, elem)),
            };
            k.int_binary(BinOp::Add, elem, base, step)
        }
    }
}

fn broadcast(k: &mut Kernel<'_>, op: Op, _: usize) -> Expr {
    k.lane(k.func.operand(op, 0), 0)
}
