//! Arithmetic: one lane of one op, in the meaning of the simulator.
//!
//! - Integers of 8 and 16 bits are computed as `int` and cut back; 32 and 64 bits must not overflow if signed.
//! - f32 and f64 use C's operators, and never a fast variant of a function.
//! - f16, and bf16 from sm_80 on, use the `_rn` intrinsics, which no compiler contracts. 8-bit floats, and what of the
//!   other two has no intrinsic, are computed in f32 and rounded once more: for sums, differences, products, quotients
//!   and square roots that is the correctly rounded result (Figueroa 1995: 24 >= 2 * 11 + 2). The pass `legalize-dtype`
//!   leaves less of it to be done here.
//! - A fused multiply-add stands only where the program has one.

use crate::expr::{self, Expr, prec};
use crate::kernel::Kernel;
use crate::literals;
use crate::preamble::Helper;
use crate::types;
use tc_dialects::arith::{self, Predicate};
use tc_ir::attrs::{AttrData, BinOp};
use tc_ir::types::ElemKind;
use tc_ir::{Elem, Op, Opcode, Role, Value};
use tc_kernel::division;
use tc_target::Feature;

/// Functions of floats: the op, and the C function of doubles, to which `f` is added for floats.
const FUNCTIONS: &[(Opcode, &str)] = &[
    (arith::MIN, "fmin"),
    (arith::MAX, "fmax"),
    (arith::POW, "pow"),
    (arith::FMA, "fma"),
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
    (arith::ROUND, "rint"),
    (arith::TRUNC, "trunc"),
    (arith::ABS, "fabs"),
];

/// What CUDA has for halves of both kinds.
const HALF_FUNCTIONS: &[(Opcode, &str)] = &[
    (arith::FMA, "__hfma"),
    (arith::ADD, "__hadd_rn"),
    (arith::SUB, "__hsub_rn"),
    (arith::MUL, "__hmul_rn"),
    (arith::MIN, "__hmin"),
    (arith::MAX, "__hmax"),
    (arith::NEG, "__hneg"),
    (arith::ABS, "__habs"),
];

fn named(table: &[(Opcode, &'static str)], opcode: Opcode) -> Option<&'static str> {
    table.iter().find(|(op, _)| *op == opcode).map(|(_, name)| *name)
}

/// Is `opcode` one of the ops that are written here?
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
        arith::SELECT,
        arith::SIGMOID,
        arith::POPCOUNT,
        arith::RAMP,
        arith::BROADCAST,
    ];
    OTHERS.contains(&opcode) || named(FUNCTIONS, opcode).is_some()
}

/// The infix operator of an integer op.
fn int_operator(opcode: Opcode, role: Role) -> Option<BinOp> {
    match role {
        Role::Binary(op) => Some(op),
        _ if opcode == arith::TDIV => Some(BinOp::Div),
        _ if opcode == arith::TMOD => Some(BinOp::Mod),
        _ => None,
    }
}

impl Kernel<'_> {
    /// The literal at `value`.
    pub(crate) fn literal(&mut self, value: &AttrData, elem: Elem) -> Expr {
        match value {
            AttrData::Bool(value) => Expr::name(if *value { "true" } else { "false" }),
            AttrData::Int(value, _) => literals::int(*value, elem),
            AttrData::Float(bits, _) => {
                let value = elem.round(f64::from_bits(*bits));
                match elem {
                    Elem::F64 => literals::double(value),
                    Elem::F32 | Elem::TF32 => literals::float(value),
                    _ => self.narrow(elem, literals::float(value)),
                }
            }
            _ => self.stray("a literal of an unknown kind"),
        }
    }

    /// Lane `lane` of the arithmetic op `op`.
    pub(crate) fn arith(&mut self, op: Op, lane: usize) -> Expr {
        let func = self.func;
        let opcode = func.opcode(op);
        if opcode == arith::CAST {
            return self.cast(op, lane);
        }
        if opcode == arith::SELECT {
            let parts = [0, 1, 2].map(|nth| self.lane(func.operand(op, nth), lane));
            let [condition, on_true, on_false] = parts;
            return expr::ternary(condition, on_true, on_false);
        }
        let Some(elem) = func.value_scalar(func.operand(op, 0)).map(|scalar| scalar.elem) else {
            return self.stray("arithmetic on something that is no number");
        };
        if opcode == arith::CMP {
            return self.compare(op, elem, lane);
        }
        match elem.kind() {
            ElemKind::Bool => self.logic(op, lane),
            ElemKind::Signed | ElemKind::Unsigned => self.int_arith(op, elem, lane),
            ElemKind::Float => self.float_arith(op, elem, lane),
        }
    }

    fn lanes_of_operands(&mut self, op: Op, lane: usize) -> Vec<Expr> {
        let func = self.func;
        func.operands(op).iter().map(|&operand| self.lane(operand, lane)).collect()
    }

    fn logic(&mut self, op: Op, lane: usize) -> Expr {
        let mut operands = self.lanes_of_operands(op, lane);
        match (self.func.role(op), operands.pop(), operands.pop()) {
            (Role::Binary(operator), Some(rhs), Some(lhs)) => expr::binary(operator, lhs, rhs),
            (_, Some(value), None) if self.func.opcode(op) == arith::NOT => expr::prefix('!', value),
            _ => self.stray("an op on truth values"),
        }
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

    fn int_arith(&mut self, op: Op, elem: Elem, lane: usize) -> Expr {
        let opcode = self.func.opcode(op);
        let mut operands = self.lanes_of_operands(op, lane);
        let (Some(last), first) = (operands.pop(), operands.pop()) else {
            return self.stray("an op without operands");
        };
        if let Some(lhs) = first {
            if division::may_overflow(self.func, op) {
                return expr::call(&self.needs.helper(Helper::TruncMod(elem)), &[lhs, last]);
            }
            if let Some(operator) = int_operator(opcode, self.func.role(op)) {
                return self.int_binary(operator, elem, lhs, last);
            }
            let value = expr::call(if opcode == arith::MIN { "min" } else { "max" }, &[lhs, last]);
            return self.fit(elem, value);
        }
        let is_unsigned = elem.kind() == ElemKind::Unsigned;
        match opcode {
            arith::NEG if is_unsigned && elem.bits() >= 32 => expr::binary(BinOp::Sub, literals::int(0, elem), last),
            arith::NEG => self.fit(elem, expr::prefix('-', last)),
            arith::ABS if is_unsigned => last,
            arith::ABS => {
                let value = expr::call("abs", &[last]);
                self.fit(elem, value)
            }
            arith::POPCOUNT => self.popcount(elem, last),
            _ => self.stray("an op on integers"),
        }
    }

    fn popcount(&mut self, elem: Elem, value: Expr) -> Expr {
        // The bits above a narrow type are copies of its sign, and count for nothing.
        let unsigned = match elem.bits() {
            8 => "unsigned char",
            16 => "unsigned short",
            32 => "unsigned int",
            _ => "unsigned long long",
        };
        let count = expr::call(if elem.bits() == 64 { "__popcll" } else { "__popc" }, &[expr::cast(unsigned, value)]);
        if elem == Elem::I32 { count } else { expr::cast(&self.type_name(elem), count) }
    }

    fn float_arith(&mut self, op: Op, elem: Elem, lane: usize) -> Expr {
        let func = self.func;
        let opcode = func.opcode(op);
        if opcode == arith::MOD {
            return self.float_mod(op, elem, lane);
        }
        let has_instructions = match elem {
            Elem::F16 => true,
            Elem::BF16 => self.target.has(Feature::Bf16),
            _ => false,
        };
        if has_instructions && let Some(function) = named(HALF_FUNCTIONS, opcode) {
            let operands = self.lanes_of_operands(op, lane);
            return expr::call(function, &operands);
        }
        if opcode == arith::FMA && elem == Elem::BF16 {
            let operands = self.lanes_of_operands(op, lane);
            return expr::call(&self.needs.helper(Helper::Bf16Fma), &operands);
        }
        if opcode == arith::FMA && elem.is_small_float() {
            // A product and a sum of 8-bit floats do not fit f32.
            let operands = self.as_doubles(op, elem, lane);
            return self.round_double(elem, expr::call("fma", &operands));
        }
        let operands: Vec<Expr> = func.operands(op).iter().map(|&operand| self.wide(operand, lane)).collect();
        let value = self.native(op, elem == Elem::F64, operands);
        if elem.is_small_float() { self.narrow(elem, value) } else { value }
    }

    /// The operands of `op`, floats of type `elem`, as f64.
    fn as_doubles(&mut self, op: Op, elem: Elem, lane: usize) -> Vec<Expr> {
        let func = self.func;
        let mut widen = |&operand: &Value| {
            let value = self.wide(operand, lane);
            if elem == Elem::F64 { value } else { expr::cast("double", value) }
        };
        func.operands(op).iter().map(&mut widen).collect()
    }

    /// An op of f32 or f64.
    fn native(&mut self, op: Op, is_double: bool, mut operands: Vec<Expr>) -> Expr {
        let opcode = self.func.opcode(op);
        let function = |name: &str| if is_double { name.to_string() } else { format!("{name}f") };
        if let Some(name) = named(FUNCTIONS, opcode) {
            return expr::call(&function(name), &operands);
        }
        match (self.func.role(op), operands.pop(), operands.pop()) {
            (Role::Binary(operator), Some(rhs), Some(lhs)) => expr::binary(operator, lhs, rhs),
            (_, Some(value), None) if opcode == arith::NEG => expr::prefix('-', value),
            (_, Some(value), None) if opcode == arith::SIGMOID => {
                let one = if is_double { "1.0" } else { "1.0f" };
                let exp = expr::call(&function("exp"), &[expr::prefix('-', value)]);
                expr::binary(BinOp::Div, Expr::name(one), expr::binary(BinOp::Add, Expr::name(one), exp))
            }
            _ => self.stray("an op on floats"),
        }
    }

    /// The remainder of the quotient that is rounded down, computed in f64 and rounded once.
    fn float_mod(&mut self, op: Op, elem: Elem, lane: usize) -> Expr {
        let operands = self.as_doubles(op, elem, lane);
        let value = expr::call(&self.needs.helper(Helper::FloorMod), &operands);
        self.round_double(elem, value)
    }

    fn compare(&mut self, op: Op, elem: Elem, lane: usize) -> Expr {
        let func = self.func;
        let (first, second) = (func.operand(op, 0), func.operand(op, 1));
        let Some(predicate) = Predicate::of(func, op) else { return self.stray("a comparison") };
        if elem == Elem::F16 {
            let function = match predicate {
                Predicate::Eq => "__heq",
                // A NaN differs from everything.
                Predicate::Ne => "__hneu",
                Predicate::Lt => "__hlt",
                Predicate::Le => "__hle",
                Predicate::Gt => "__hgt",
                Predicate::Ge => "__hge",
            };
            let operands = self.lanes_of_operands(op, lane);
            return expr::call(function, &operands);
        }
        let is_zero = |value: Value| self.bare_int(value) == Some(0);
        if elem.kind() == ElemKind::Unsigned {
            // NVRTC warns of comparisons that cannot come out otherwise.
            match predicate {
                Predicate::Lt if is_zero(second) => return Expr::name("false"),
                Predicate::Gt if is_zero(first) => return Expr::name("false"),
                Predicate::Ge if is_zero(second) => return Expr::name("true"),
                Predicate::Le if is_zero(first) => return Expr::name("true"),
                _ => {}
            }
        }
        let operator = match predicate {
            Predicate::Eq => BinOp::Eq,
            Predicate::Ne => BinOp::Ne,
            Predicate::Lt => BinOp::Lt,
            Predicate::Le => BinOp::Le,
            Predicate::Gt => BinOp::Gt,
            Predicate::Ge => BinOp::Ge,
        };
        let (lhs, rhs) = (self.wide(first, lane), self.wide(second, lane));
        expr::binary(operator, lhs, rhs)
    }

    /// A lane of `value`; of a float narrower than f32, as an f32.
    fn wide(&mut self, value: Value, lane: usize) -> Expr {
        let func = self.func;
        let elem = func.value_scalar(value).map_or(Elem::F32, |scalar| scalar.elem);
        if !elem.is_small_float() {
            return self.lane(value, lane);
        }
        // What the narrow type holds, f32 holds too.
        if self.name_of(value).is_none()
            && let Some(AttrData::Float(bits, _)) = func.constant(value).map(|attr| func.attr_data(attr))
        {
            return literals::float(elem.round(f64::from_bits(*bits)));
        }
        let value = self.lane(value, lane);
        self.widen(elem, value)
    }

    fn widen(&mut self, elem: Elem, value: Expr) -> Expr {
        self.needs.elem(elem);
        match elem {
            Elem::F16 => expr::call("__half2float", &[value]),
            Elem::BF16 => expr::call("__bfloat162float", &[value]),
            _ if elem.is_float8() => expr::cast("float", value),
            _ => value,
        }
    }

    /// The f32 `value` as a float of type `elem`.
    fn narrow(&mut self, elem: Elem, value: Expr) -> Expr {
        self.needs.elem(elem);
        match elem {
            Elem::F16 => expr::call("__float2half_rn", &[value]),
            Elem::BF16 => expr::call("__float2bfloat16_rn", &[value]),
            _ if elem.is_float8() => expr::call(&self.needs.helper(Helper::ToF8(elem)), &[value]),
            Elem::TF32 => expr::call(&self.needs.helper(Helper::ToTf32), &[value]),
            _ => value,
        }
    }

    /// The f64 `value` as a float of type `elem`, rounded once.
    fn round_double(&mut self, elem: Elem, value: Expr) -> Expr {
        self.needs.elem(elem);
        match elem {
            Elem::F16 => expr::call("__double2half", &[value]),
            Elem::BF16 => expr::call("__double2bfloat16", &[value]),
            _ if elem.is_float8() => expr::call(&self.needs.helper(Helper::F64ToF8(elem)), &[value]),
            Elem::TF32 => {
                self.needs.helper(Helper::ToTf32);
                expr::call(&self.needs.helper(Helper::F64ToTf32), &[value])
            }
            Elem::F64 => value,
            _ => expr::cast("float", value),
        }
    }

    fn cast(&mut self, op: Op, lane: usize) -> Expr {
        let func = self.func;
        let operand = func.operand(op, 0);
        let result = func.result(op).and_then(|value| func.value_scalar(value));
        let (Some(from), Some(to)) = (func.value_scalar(operand), result) else {
            return self.stray("a conversion of something that is no number");
        };
        let (from, to) = (from.elem, to.elem);
        if from == to {
            return self.lane(operand, lane);
        }
        match (from.kind(), to.kind()) {
            (ElemKind::Float, ElemKind::Float) if from == Elem::F64 => {
                let value = self.lane(operand, lane);
                self.round_double(to, value)
            }
            (_, ElemKind::Bool) => {
                let value = self.wide(operand, lane);
                let zero = match from {
                    Elem::F64 => literals::double(0.0),
                    _ if from.is_float() => literals::float(0.0),
                    _ => literals::int(0, from),
                };
                expr::binary(BinOp::Ne, value, zero)
            }
            (ElemKind::Signed | ElemKind::Unsigned, ElemKind::Float) if to == Elem::BF16 && from.bits() >= 32 => {
                let function = match from {
                    Elem::I32 => "__int2bfloat16_rn",
                    Elem::U32 => "__uint2bfloat16_rn",
                    Elem::I64 => "__ll2bfloat16_rn",
                    _ => "__ull2bfloat16_rn",
                };
                self.needs.elem(to);
                let value = self.lane(operand, lane);
                expr::call(function, &[value])
            }
            // f64 holds all of 32 bits; those of 64 are rounded to it first.
            (ElemKind::Signed | ElemKind::Unsigned, ElemKind::Float) if to == Elem::TF32 && from.bits() >= 32 => {
                let value = self.lane(operand, lane);
                self.round_double(to, expr::cast("double", value))
            }
            // An integer that f32 does not hold is infinite as f16 or f8, before and after it is rounded to f32.
            _ if to.is_small_float() => {
                let value = self.wide(operand, lane);
                let value = if from.is_float() { value } else { expr::cast("float", value) };
                self.narrow(to, value)
            }
            _ => {
                let value = self.wide(operand, lane);
                // `wide` has made an f32 of it.
                if to == Elem::F32 && from.is_small_float() {
                    return value;
                }
                expr::cast(&self.type_name(to), value)
            }
        }
    }

    /// The name of the type `elem`.
    pub(crate) fn type_name(&mut self, elem: Elem) -> String {
        self.needs.type_name(tc_ir::Scalar::of(elem))
    }

    /// Lane `lane` of the vector that the ramp `op` is.
    pub(crate) fn ramp(&mut self, op: Op, lane: usize) -> Expr {
        let func = self.func;
        let (base, stride) = (func.operand(op, 0), func.operand(op, 1));
        let elem = func.value_scalar(base).map_or(Elem::I32, |scalar| scalar.elem);
        match func.const_int(stride) {
            Some(stride) => self.offset(base, elem, i128::from(stride) * lane as i128),
            None => {
                let base = self.lane(base, 0);
                let stride = self.lane(stride, 0);
                let step = match lane {
                    0 => return base,
                    1 => stride,
                    _ => expr::binary(BinOp::Mul, stride, literals::int(lane as i128, elem)),
                };
                self.int_binary(BinOp::Add, elem, base, step)
            }
        }
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
        if let Some(op) = func.def_op(base).filter(|&op| func.opcode(op) == arith::ADD && self.plan.is_inline(op))
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
