//! Sizes: numbers, or expressions over the sizes of an operator that stay open.
//!
//! Most programs are made for fixed sizes, and then every size is a number. A size that is not fixed is a variable of
//! the index algebra, and what follows from it is an expression over such variables.

use crate::body::Vars;
use crate::operator::Operator;
use tc_arith::{Analyzer, BinaryOp, Expr, Node, Pool, Var};
use tc_dialects::algebra::{self, infix_op};
use tc_dialects::arith;
use tc_ir::attrs::{AttrData, BinOp, UnOp};
use tc_ir::opdef::Role;
use tc_ir::{Attr, Func, Name, Op};

/// How deep an expression of a header may be.
const MAX_DEPTH: usize = 200;

/// How much there is of something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Size {
    /// A number.
    Int(i64),
    /// An expression over the operator's sizes, in the pool of the bounds.
    Expr(Expr),
}

impl From<i64> for Size {
    fn from(int: i64) -> Size {
        Size::Int(int)
    }
}

impl PartialEq<i64> for Size {
    fn eq(&self, int: &i64) -> bool {
        *self == Size::Int(*int)
    }
}

impl Size {
    /// What `expr` says: a number where it is one.
    pub fn of(pool: &Pool, expr: Expr) -> Size {
        pool.as_const(expr).map_or(Size::Expr(expr), Size::Int)
    }

    /// What `expr` comes to.
    pub(crate) fn simplified(az: &mut Analyzer, expr: Expr) -> Size {
        let expr = az.simplify(expr);
        Size::of(&az.pool, expr)
    }

    /// The number.
    pub fn int(self) -> Option<i64> {
        match self {
            Size::Int(int) => Some(int),
            Size::Expr(_) => None,
        }
    }

    /// As an expression.
    pub fn expr(self, pool: &mut Pool) -> Expr {
        match self {
            Size::Int(int) => pool.int(int),
            Size::Expr(expr) => expr,
        }
    }

    /// It, or 1 if it is 0: nothing divides by 0.
    pub(crate) fn at_least_one(self) -> Size {
        if self == 0 { Size::Int(1) } else { self }
    }

    /// The extent that a split by `factor` asks for: no more than there is, where that is known.
    pub(crate) fn at_most(self, factor: i64) -> Size {
        match self {
            Size::Int(extent) if extent != 0 => Size::Int(factor.min(extent)),
            _ => Size::Int(factor),
        }
    }

    /// `self / factor`, rounded up, as it stands; `factor` is at least 1.
    pub(crate) fn parts_of(self, pool: &mut Pool, factor: i64) -> Size {
        match self {
            Size::Int(int) => Size::Int(int / factor + i64::from(int % factor != 0)),
            Size::Expr(expr) => {
                let (more, by) = (pool.int(factor - 1), pool.int(factor));
                let sum = pool.add(expr, more);
                Size::Expr(pool.floor_div(sum, by))
            }
        }
    }

    /// `self * other`, as it stands; `None` where it overflows.
    pub(crate) fn product(self, pool: &mut Pool, other: Size) -> Option<Size> {
        match (self, other) {
            (Size::Int(a), Size::Int(b)) => a.checked_mul(b).map(Size::Int),
            _ => {
                let (a, b) = (self.expr(pool), other.expr(pool));
                let product = pool.mul(a, b);
                Some(Size::of(pool, product))
            }
        }
    }

    /// May it be more than 1?
    pub fn is_several(self) -> bool {
        !matches!(self, Size::Int(..=1))
    }

    /// May it be less than `other`?
    pub fn may_be_below(self, other: Size) -> bool {
        match (self, other) {
            (Size::Int(a), Size::Int(b)) => a < b,
            _ => self != other,
        }
    }

    /// Text for messages.
    pub fn show(self, pool: &Pool) -> String {
        match self {
            Size::Int(int) => int.to_string(),
            Size::Expr(expr) => pool.display(expr).to_string(),
        }
    }

    /// The greatest number that it may be, where there is one.
    pub(crate) fn most(self, az: &mut Analyzer) -> Option<i64> {
        match self {
            Size::Int(int) => Some(int),
            Size::Expr(expr) => az.bounds(expr).max(),
        }
    }

    /// `self - 1`, but of what is empty 0.
    pub(crate) fn last(self, az: &mut Analyzer) -> Expr {
        match self {
            Size::Int(int) => az.pool.int((int - 1).max(0)),
            Size::Expr(expr) => {
                let one = az.pool.int(1);
                let last = az.pool.sub(expr, one);
                az.simplify(last)
            }
        }
    }

    /// `lo + self`; `None` where it overflows.
    pub(crate) fn after(self, az: &mut Analyzer, lo: i64) -> Option<Size> {
        match self {
            Size::Int(int) => lo.checked_add(int).map(Size::Int),
            Size::Expr(expr) => {
                let lo = az.pool.int(lo);
                let sum = az.pool.add(expr, lo);
                Some(Size::simplified(az, sum))
            }
        }
    }

    /// `self / factor`, rounded up; `factor` is at least 1.
    pub(crate) fn div_ceil(self, az: &mut Analyzer, factor: i64) -> Size {
        match self {
            Size::Int(_) => self.parts_of(&mut az.pool, factor),
            Size::Expr(expr) => {
                let by = az.pool.int(factor);
                let divides = az.modular(expr).residue(factor) == Some(0);
                let dividend = match (divides, factor.checked_sub(1)) {
                    (false, Some(more)) => {
                        let more = az.pool.int(more);
                        az.pool.add(expr, more)
                    }
                    _ => expr,
                };
                let quotient = az.pool.floor_div(dividend, by);
                Size::simplified(az, quotient)
            }
        }
    }

    /// `self * other`; `None` where it overflows.
    pub(crate) fn times(self, az: &mut Analyzer, other: Size) -> Option<Size> {
        match self.product(&mut az.pool, other)? {
            Size::Int(int) => Some(Size::Int(int)),
            Size::Expr(expr) => Some(Size::simplified(az, expr)),
        }
    }

    /// Is it known to equal `other`?
    pub(crate) fn is_equal(self, az: &mut Analyzer, other: Size) -> bool {
        match (self, other) {
            (Size::Int(a), Size::Int(b)) => a == b,
            _ => {
                let (a, b) = (self.expr(&mut az.pool), other.expr(&mut az.pool));
                az.can_prove_equal(a, b)
            }
        }
    }

    /// Is every value of `e` below it?
    pub(crate) fn is_above(self, az: &mut Analyzer, e: Expr) -> bool {
        match self {
            Size::Int(int) => az.bounds(e).all_at_most(int - 1),
            Size::Expr(size) => {
                let below = az.pool.lt(e, size);
                az.can_prove(below)
            }
        }
    }
}

/// A size of the operator that is not fixed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Symbol {
    /// Its place in the header of the operator.
    pub(crate) nth: usize,
    pub(crate) var: Var,
    pub(crate) low: Option<Expr>,
    /// The first number that is too large.
    pub(crate) high: Option<Expr>,
    /// What the tools run it with.
    pub(crate) default: Option<Expr>,
}

/// The sizes that stay open, and what is known of them.
#[derive(Clone, Default)]
pub(crate) struct Symbols {
    /// Holds all expressions over them that the operator needs.
    pub(crate) pool: Pool,
    pub(crate) list: Vec<Symbol>,
    /// The facts that speak of them, as the operator says them, and as expressions where the algebra has one.
    pub(crate) facts: Vec<(Attr, Option<Expr>)>,
}

impl Symbols {
    /// An analyzer that knows the ranges and facts, over the expressions of `pool`, which began as these.
    pub(crate) fn analyzer(&self, pool: &Pool) -> Analyzer {
        if self.list.is_empty() {
            return Analyzer::new();
        }
        let mut az = Analyzer::with_pool(pool.clone());
        for symbol in &self.list {
            let low = symbol.low.map_or(Some(0), |low| az.bounds(low).min());
            let high = symbol.high.and_then(|high| az.bounds(high).max());
            az.bind_range(symbol.var, low, high.and_then(|high| high.checked_sub(1)));
        }
        for symbol in &self.list {
            let var = az.pool.var(symbol.var);
            for (bound, is_low) in [(symbol.low, true), (symbol.high, false)] {
                if let Some(bound) = bound.filter(|&bound| az.pool.as_const(bound).is_none()) {
                    let condition = if is_low { az.pool.le(bound, var) } else { az.pool.lt(var, bound) };
                    az.constrain(condition);
                }
            }
        }
        for fact in self.facts.iter().filter_map(|&(_, fact)| fact) {
            az.constrain(fact);
        }
        az
    }

    /// The expression of an attribute over names; `None` where it is none of the algebra's, or may divide by zero.
    pub(crate) fn attr(&mut self, te: &Func, attr: Attr, names: &dyn Fn(Name) -> Option<Size>) -> Option<Expr> {
        let used = words(te, attr)?;
        let known: Vec<(Name, Expr)> =
            used.into_iter().map(|name| Some((name, names(name)?.expr(&mut self.pool)))).collect::<Option<_>>()?;
        let of_name = |name| known.iter().find(|(known, _)| *known == name).map(|&(_, expr)| expr);
        let expr = algebra::attr_expr(te, attr, &mut self.pool, &of_name).ok()?;
        (!self.pool.may_fail(expr)).then_some(expr)
    }

    /// `lhs op rhs`, unless it may divide by zero.
    pub(crate) fn binary(&mut self, op: BinaryOp, lhs: Expr, rhs: Expr) -> Option<Expr> {
        if op.is_division() && self.pool.as_const(rhs).is_none_or(|divisor| divisor == 0) {
            return None;
        }
        Some(self.pool.binary(op, lhs, rhs))
    }
}

/// The names that an attribute uses; `None` for what is too deep.
fn words(te: &Func, attr: Attr) -> Option<Vec<Name>> {
    let mut worklist = vec![(attr, MAX_DEPTH)];
    let mut words = Vec::new();
    while let Some((attr, depth)) = worklist.pop() {
        let depth = depth.checked_sub(1)?;
        match te.attr_data(attr) {
            AttrData::Word(name) => words.push(*name),
            AttrData::Unary(_, arg) => worklist.push((*arg, depth)),
            AttrData::Binary(_, lhs, rhs) => worklist.extend([(*lhs, depth), (*rhs, depth)]),
            AttrData::Call(_, args) => worklist.extend(args.iter().map(|&arg| (arg, depth))),
            _ => {}
        }
    }
    Some(words)
}

/// The operator of the algebra that the arithmetic op `op` is.
pub(crate) fn binary_of(te: &Func, op: Op) -> Option<BinaryOp> {
    match (te.role(op), te.opcode(op)) {
        (Role::Binary(op @ (BinOp::Add | BinOp::Sub | BinOp::Mul | BinOp::Div | BinOp::Mod)), _) => {
            Some(infix_op(op).0)
        }
        (_, arith::MIN) => Some(BinaryOp::Min),
        (_, arith::MAX) => Some(BinaryOp::Max),
        (_, arith::TDIV) => Some(BinaryOp::TruncDiv),
        (_, arith::TMOD) => Some(BinaryOp::TruncMod),
        _ => None,
    }
}

/// The attribute that says `expr`, which is over sizes, in the function `func`; `None` where text has no word for it.
pub(crate) fn to_attr(
    func: &mut Func,
    pool: &Pool,
    expr: Expr,
    name: &mut dyn FnMut(&mut Func, Var) -> Option<Attr>,
) -> Option<Attr> {
    if pool.depth(expr) as usize > MAX_DEPTH {
        return None;
    }
    Some(match pool.node(expr) {
        Node::Const(int) => func.int_attr(int),
        Node::Bool(truth) => func.attr(AttrData::Bool(truth)),
        Node::Var(var) => name(func, var)?,
        Node::Likely(arg) => to_attr(func, pool, arg, name)?,
        Node::Not(arg) => {
            let arg = to_attr(func, pool, arg, name)?;
            func.attr(AttrData::Unary(UnOp::Not, arg))
        }
        Node::Select(..) | Node::Cast(..) => return None,
        Node::Binary(op, lhs, rhs) => {
            let (lhs, rhs) = (to_attr(func, pool, lhs, name)?, to_attr(func, pool, rhs, name)?);
            let text = match op {
                BinaryOp::Add => BinOp::Add,
                BinaryOp::Sub => BinOp::Sub,
                BinaryOp::Mul => BinOp::Mul,
                BinaryOp::FloorDiv => BinOp::Div,
                BinaryOp::FloorMod => BinOp::Mod,
                BinaryOp::Or => BinOp::OrOr,
                BinaryOp::And => BinOp::AndAnd,
                BinaryOp::Eq => BinOp::Eq,
                BinaryOp::Ne => BinOp::Ne,
                BinaryOp::Lt => BinOp::Lt,
                BinaryOp::Le => BinOp::Le,
                BinaryOp::Min | BinaryOp::Max | BinaryOp::TruncDiv | BinaryOp::TruncMod => {
                    let name = func.name(match op {
                        BinaryOp::Min => "min",
                        BinaryOp::Max => "max",
                        BinaryOp::TruncDiv => "tdiv",
                        _ => "tmod",
                    });
                    return Some(func.attr(AttrData::Call(name, [lhs, rhs].into())));
                }
                BinaryOp::Shl | BinaryOp::Shr | BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor => return None,
            };
            func.attr(AttrData::Binary(text, lhs, rhs))
        }
    })
}

impl Operator<'_> {
    /// The names of the open sizes that `size` depends on, for messages.
    pub(crate) fn names_in(&self, pool: &Pool, size: Size) -> Vec<String> {
        let Size::Expr(expr) = size else { return Vec::new() };
        let vars = pool.vars(expr).into_iter().filter(|&var| Vars::is_size(var));
        vars.filter_map(|var| pool.name(var)).map(str::to_string).collect()
    }
}
