//! Expressions: their text and how tightly they bind.

use tc_ir::attrs::BinOp;

/// Precedences of C++, loosest first.
pub(crate) mod prec {
    /// `c ? a : b`
    pub(crate) const TERNARY: u8 = 2;
    /// `a || b`
    pub(crate) const OR: u8 = 3;
    /// `a && b`
    pub(crate) const AND: u8 = 4;
    /// `a | b`
    pub(crate) const BIT_OR: u8 = 5;
    /// `a ^ b`
    pub(crate) const BIT_XOR: u8 = 6;
    /// `a & b`
    pub(crate) const BIT_AND: u8 = 7;
    /// `a == b`
    pub(crate) const EQUAL: u8 = 8;
    /// `a < b`
    pub(crate) const LESS: u8 = 9;
    /// `a << b`
    pub(crate) const SHIFT: u8 = 10;
    /// `a + b`
    pub(crate) const ADD: u8 = 11;
    /// `a * b`
    pub(crate) const MUL: u8 = 12;
    /// `-a`, `(int)a`
    pub(crate) const UNARY: u8 = 13;
    /// `a[i]`, `f(a)`
    pub(crate) const POSTFIX: u8 = 14;
    /// Names and literals.
    pub(crate) const PRIMARY: u8 = 15;
}

/// An expression.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Expr {
    /// The text.
    pub(crate) text: String,
    /// How tightly it binds; see [`prec`].
    pub(crate) prec: u8,
}

impl Expr {
    /// An expression.
    pub(crate) fn new(text: String, prec: u8) -> Expr {
        Expr { text, prec }
    }

    /// A name.
    pub(crate) fn name(text: &str) -> Expr {
        Expr::new(text.to_string(), prec::PRIMARY)
    }

    /// Its text where something that binds as tightly as `least` is wanted.
    pub(crate) fn at(self, least: u8) -> String {
        if self.prec < least { format!("({})", self.text) } else { self.text }
    }
}

/// How tightly `op` binds.
fn precedence(op: BinOp) -> u8 {
    match op {
        BinOp::OrOr => prec::OR,
        BinOp::AndAnd => prec::AND,
        BinOp::Eq | BinOp::Ne => prec::EQUAL,
        BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge => prec::LESS,
        BinOp::BitOr => prec::BIT_OR,
        BinOp::BitXor => prec::BIT_XOR,
        BinOp::BitAnd => prec::BIT_AND,
        BinOp::Shl | BinOp::Shr => prec::SHIFT,
        BinOp::Add | BinOp::Sub => prec::ADD,
        BinOp::Mul | BinOp::Div | BinOp::Mod => prec::MUL,
    }
}

/// `lhs op rhs`
pub(crate) fn binary(op: BinOp, lhs: Expr, rhs: Expr) -> Expr {
    let own = precedence(op);
    let (left, right) = match op {
        // C++ means these well, but readers read them wrong.
        _ if op.is_comparison() => (prec::SHIFT, prec::SHIFT),
        BinOp::Shl | BinOp::Shr | BinOp::BitAnd | BinOp::BitOr | BinOp::BitXor => {
            (if lhs.prec == own { own } else { prec::UNARY }, prec::UNARY)
        }
        BinOp::OrOr => {
            let side = |expr: &Expr| if expr.prec == prec::AND { prec::BIT_OR } else { own };
            (side(&lhs), side(&rhs).max(own + 1))
        }
        _ => (own, own + 1),
    };
    let (lhs, rhs) = (lhs.at(left), rhs.at(right));
    Expr::new(format!("{lhs} {} {rhs}", op.text()), own)
}

/// `f(a, b)`
pub(crate) fn call(function: &str, args: &[Expr]) -> Expr {
    let args: Vec<&str> = args.iter().map(|arg| arg.text.as_str()).collect();
    Expr::new(format!("{function}({})", args.join(", ")), prec::POSTFIX)
}

/// `(ty)value`
pub(crate) fn cast(ty: &str, value: Expr) -> Expr {
    Expr::new(format!("({ty}){}", value.at(prec::UNARY)), prec::UNARY)
}

/// `-value` or `!value`
pub(crate) fn prefix(op: char, value: Expr) -> Expr {
    // Two minuses in a row would be a decrement.
    let least = if value.text.starts_with(op) { prec::POSTFIX } else { prec::UNARY };
    Expr::new(format!("{op}{}", value.at(least)), prec::UNARY)
}

/// `condition ? on_true : on_false`
pub(crate) fn ternary(condition: Expr, on_true: Expr, on_false: Expr) -> Expr {
    let (condition, on_true) = (condition.at(prec::OR), on_true.at(prec::OR));
    Expr::new(format!("{condition} ? {on_true} : {}", on_false.at(prec::TERNARY)), prec::TERNARY)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum() -> Expr {
        binary(BinOp::Add, Expr::name("a"), Expr::name("b"))
    }

    #[test]
    fn parentheses_stand_where_c_needs_them() {
        assert_eq!(binary(BinOp::Mul, sum(), Expr::name("c")).text, "(a + b) * c");
        assert_eq!(binary(BinOp::Sub, sum(), sum()).text, "a + b - (a + b)");
        assert_eq!(binary(BinOp::Shl, sum(), Expr::name("c")).text, "(a + b) << c");
        let less = binary(BinOp::Lt, sum(), Expr::name("c"));
        assert_eq!(binary(BinOp::AndAnd, less.clone(), less.clone()).text, "a + b < c && a + b < c");
        assert_eq!(binary(BinOp::Eq, less.clone(), Expr::name("d")).text, "(a + b < c) == d");
        let shifted = binary(BinOp::Shl, Expr::name("a"), Expr::name("b"));
        assert_eq!(binary(BinOp::Shl, shifted.clone(), shifted).text, "a << b << (a << b)");
        let both = binary(BinOp::AndAnd, Expr::name("a"), Expr::name("b"));
        let either = binary(BinOp::OrOr, both.clone(), both);
        assert_eq!(binary(BinOp::OrOr, either, Expr::name("c")).text, "(a && b) || (a && b) || c");
        assert_eq!(prefix('-', sum()).text, "-(a + b)");
        assert_eq!(prefix('-', prefix('-', Expr::name("x"))).text, "-(-x)");
        assert_eq!(cast("int", sum()).text, "(int)(a + b)");
        let inner = ternary(less.clone(), Expr::name("x"), Expr::name("y"));
        assert_eq!(ternary(less, inner.clone(), inner).text, "a + b < c ? (a + b < c ? x : y) : a + b < c ? x : y");
    }
}
