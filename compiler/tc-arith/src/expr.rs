//! Expressions of the index algebra: what a node is, and what each operator means on numbers.
//!
//! Values are mathematical integers that fit in 64 bits; truth is 1 and falsehood 0. An operation whose result does not
//! fit, and a division by zero, is an [`EvalError`]. `&&` and `||` go from left to right and stop early; `select`
//! evaluates the branch it takes.

use crate::ty::IntType;

/// An expression of one [`Pool`](crate::Pool). Two expressions of a pool are structurally equal exactly when their ids are.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct Expr(pub(crate) u32);

impl Expr {
    /// The position of the expression in its pool, for side tables.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A variable; the number is the caller's choice.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Var(pub u32);

/// One node of an expression.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Node {
    /// An integer.
    Const(i64),
    /// A truth value.
    Bool(bool),
    /// A variable.
    Var(Var),
    /// An operator of two operands.
    Binary(BinaryOp, Expr, Expr),
    /// Negation of a truth value.
    Not(Expr),
    /// A truth value that is marked as nearly always true. It means its operand.
    Likely(Expr),
    /// `select(condition, then, else)`.
    Select(Expr, Expr, Expr),
    /// `cast<type>(e)`: the number of the type that is congruent to `e` modulo two to the power of its width. A cast that
    /// changes no number is no node.
    Cast(IntType, Expr),
}

impl Node {
    /// The operands, from left to right.
    pub fn operands(self) -> impl Iterator<Item = Expr> {
        let operands = match self {
            Node::Const(_) | Node::Bool(_) | Node::Var(_) => [None; 3],
            Node::Not(a) | Node::Likely(a) | Node::Cast(_, a) => [Some(a), None, None],
            Node::Binary(_, a, b) => [Some(a), Some(b), None],
            Node::Select(c, a, b) => [Some(c), Some(a), Some(b)],
        };
        operands.into_iter().flatten()
    }
}

/// The operators of two operands. `>` and `>=` are written by exchanging operands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BinaryOp {
    /// `a + b`.
    Add,
    /// `a - b`.
    Sub,
    /// `a * b`.
    Mul,
    /// `a / b`, rounded towards minus infinity.
    FloorDiv,
    /// `a % b`, of the sign of `b`.
    FloorMod,
    /// `tdiv(a, b)`, rounded towards zero.
    TruncDiv,
    /// `tmod(a, b)`, of the sign of `a`.
    TruncMod,
    /// `min(a, b)`.
    Min,
    /// `max(a, b)`.
    Max,
    /// `a == b`.
    Eq,
    /// `a != b`.
    Ne,
    /// `a < b`.
    Lt,
    /// `a <= b`.
    Le,
    /// `a && b`.
    And,
    /// `a || b`.
    Or,
    /// `a << b`: `a` times two to the power of `b`, `b` from 0 to 62.
    Shl,
    /// `a >> b`, arithmetic, `b` from 0 to 63.
    Shr,
    /// `a & b` in two's complement.
    BitAnd,
    /// `a | b` in two's complement.
    BitOr,
    /// `a ^ b` in two's complement.
    BitXor,
}

/// Why an expression has no value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EvalError {
    /// A result does not fit in 64 bits.
    Overflow,
    /// A division or remainder by zero.
    DivisionByZero,
    /// A part of it is not known.
    Unknown,
}

/// What each operator means on two numbers of a type of the host, in one text for all of them.
macro_rules! meaning {
    ($op:expr, $a:ident, $b:ident, $int:ty) => {{
        use BinaryOp::*;
        let (op, a, b) = ($op, $a, $b);
        if op.is_division() && b == 0 {
            return Err(EvalError::DivisionByZero);
        }
        // Where rounding down is not rounding to zero.
        let down = |b: $int| a.wrapping_rem(b) != 0 && (a < 0) != (b < 0);
        let bits = <$int>::BITS as $int;
        let value = match op {
            Add => a.checked_add(b),
            Sub => a.checked_sub(b),
            Mul => a.checked_mul(b),
            FloorDiv => a.checked_div(b).map(|quotient| quotient - <$int>::from(down(b))),
            FloorMod => Some(a.wrapping_rem(b) + if down(b) { b } else { 0 }),
            TruncDiv => a.checked_div(b),
            TruncMod => Some(a.wrapping_rem(b)),
            Min => Some(a.min(b)),
            Max => Some(a.max(b)),
            Eq => Some(<$int>::from(a == b)),
            Ne => Some(<$int>::from(a != b)),
            Lt => Some(<$int>::from(a < b)),
            Le => Some(<$int>::from(a <= b)),
            And => Some(<$int>::from(a != 0 && b != 0)),
            Or => Some(<$int>::from(a != 0 || b != 0)),
            Shl => (0..bits - 1).contains(&b).then(|| a.checked_mul(1 << b)).flatten(),
            Shr => (0..bits).contains(&b).then(|| a >> b),
            BitAnd => Some(a & b),
            BitOr => Some(a | b),
            BitXor => Some(a ^ b),
        };
        value.ok_or(EvalError::Overflow)
    }};
}

impl BinaryOp {
    /// Whether the operator compares two integers.
    pub fn is_comparison(self) -> bool {
        matches!(self, BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le)
    }

    /// Whether the operator yields a truth value.
    pub fn is_boolean(self) -> bool {
        self.is_comparison() || matches!(self, BinaryOp::And | BinaryOp::Or)
    }

    /// Whether the operator divides, and so has no value where its right operand is zero.
    pub fn is_division(self) -> bool {
        matches!(self, BinaryOp::FloorDiv | BinaryOp::FloorMod | BinaryOp::TruncDiv | BinaryOp::TruncMod)
    }

    /// Whether exchanging the operands keeps the value where both have one.
    pub fn is_commutative(self) -> bool {
        use BinaryOp::*;
        matches!(self, Add | Mul | Min | Max | Eq | Ne | And | Or | BitAnd | BitOr | BitXor)
    }

    /// The value on two operands, of which the second is asked for only where the first does not decide: `&&` and `||`
    /// stop early. This is the one place that says what an operator means on numbers; what evaluates expressions of any
    /// kind (index arithmetic, attributes, sizes, parameters of schedules, formulas of manifests) calls it.
    pub fn eval(self, a: Result<i64, EvalError>, b: impl FnOnce() -> Result<i64, EvalError>) -> Result<i64, EvalError> {
        match (self, a?) {
            (BinaryOp::And, 0) => Ok(0),
            (BinaryOp::Or, a) if a != 0 => Ok(1),
            (_, a) => self.apply(a, b()?),
        }
    }

    /// The operator that is called by this name, as `min(a, b)`.
    pub fn of_name(name: &str) -> Option<BinaryOp> {
        Some(match name {
            "min" => BinaryOp::Min,
            "max" => BinaryOp::Max,
            "floordiv" => BinaryOp::FloorDiv,
            "floormod" => BinaryOp::FloorMod,
            "tdiv" => BinaryOp::TruncDiv,
            "tmod" => BinaryOp::TruncMod,
            "shl" => BinaryOp::Shl,
            "shr" => BinaryOp::Shr,
            _ => return None,
        })
    }

    /// The value on two numbers.
    pub fn apply(self, a: i64, b: i64) -> Result<i64, EvalError> {
        meaning!(self, a, b, i64)
    }

    /// [`BinaryOp::apply`] on numbers of more bits, among which are all of any machine type.
    pub fn apply_wide(self, a: i128, b: i128) -> Result<i128, EvalError> {
        meaning!(self, a, b, i128)
    }
}

/// `a / b` rounded towards minus infinity; `None` where it does not fit. `b` is not zero.
pub(crate) fn floor_div(a: i64, b: i64) -> Option<i64> {
    BinaryOp::FloorDiv.apply(a, b).ok()
}

/// The remainder that belongs to [`floor_div`]. `b` is not zero.
pub(crate) fn floor_mod(a: i64, b: i64) -> i64 {
    BinaryOp::FloorMod.apply(a, b).unwrap_or(0)
}
