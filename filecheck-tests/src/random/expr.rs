//! Expressions of operators, as data that can be made smaller.

use std::fmt::Write as _;

/// An expression of an operator.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Expr {
    /// An index.
    Int(i64),
    /// A literal with its type, as it is written.
    Literal(String),
    /// A size of the operator, by its number.
    Size(usize),
    /// An axis or a `let`.
    Name(String),
    /// An element of a tensor.
    Read(String, Vec<Expr>),
    /// An infix operator.
    Infix(&'static str, Box<Expr>, Box<Expr>),
    /// A function of scalars.
    Call(&'static str, Vec<Expr>),
    /// A conversion.
    Cast(&'static str, Box<Expr>),
}

impl Expr {
    /// `self OP other`.
    pub fn infix(self, op: &'static str, other: Expr) -> Expr {
        Expr::Infix(op, Box::new(self), Box::new(other))
    }

    /// `self + n`, which is `self` where `n` is 0.
    pub fn plus(self, n: i64) -> Expr {
        match n {
            0 => self,
            n if n < 0 => self.infix("-", Expr::Int(-n)),
            n => self.infix("+", Expr::Int(n)),
        }
    }

    /// The value of an expression over sizes; `None` where it reads what only a run knows.
    pub fn value(&self, sizes: &[i64]) -> Option<i64> {
        Some(match self {
            Expr::Int(n) => *n,
            Expr::Size(nth) => *sizes.get(*nth)?,
            Expr::Infix(op, a, b) => {
                let (a, b) = (a.value(sizes)?, b.value(sizes)?);
                match *op {
                    "+" => a.checked_add(b)?,
                    "-" => a.checked_sub(b)?,
                    "*" => a.checked_mul(b)?,
                    "/" => a.checked_div_euclid(b)?,
                    "%" => a.checked_rem_euclid(b)?,
                    _ => return None,
                }
            }
            _ => return None,
        })
    }

    /// The parts.
    pub fn parts(&self) -> Vec<&Expr> {
        match self {
            Expr::Int(_) | Expr::Literal(_) | Expr::Size(_) | Expr::Name(_) => Vec::new(),
            Expr::Read(_, list) | Expr::Call(_, list) => list.iter().collect(),
            Expr::Infix(_, a, b) => vec![a, b],
            Expr::Cast(_, a) => vec![a],
        }
    }

    /// Part `nth`, to be replaced.
    fn part_mut(&mut self, nth: usize) -> Option<&mut Expr> {
        match self {
            Expr::Int(_) | Expr::Literal(_) | Expr::Size(_) | Expr::Name(_) => None,
            Expr::Read(_, list) | Expr::Call(_, list) => list.get_mut(nth),
            Expr::Infix(_, a, b) => [a, b].into_iter().nth(nth).map(|part| &mut **part),
            Expr::Cast(_, a) => (nth == 0).then_some(&mut **a),
        }
    }

    /// The expression at `path`: the number of the part to go to, at each level.
    pub fn at_mut(&mut self, path: &[usize]) -> Option<&mut Expr> {
        path.iter().try_fold(self, |expr, &nth| expr.part_mut(nth))
    }

    /// The paths to all expressions inside, outer ones first.
    pub fn paths(&self) -> Vec<Vec<usize>> {
        let mut found = vec![Vec::new()];
        let mut at = 0;
        let mut exprs = vec![self];
        while at < exprs.len() {
            for (nth, part) in exprs[at].parts().into_iter().enumerate() {
                found.push([&found[at][..], &[nth]].concat());
                exprs.push(part);
            }
            at += 1;
        }
        found
    }

    /// Calls `see` with the name of every tensor that is read.
    pub fn each_read(&self, see: &mut dyn FnMut(&str)) {
        let mut pending = vec![self];
        while let Some(expr) = pending.pop() {
            if let Expr::Read(name, _) = expr {
                see(name);
            }
            pending.extend(expr.parts());
        }
    }

    /// The text; `size` names the sizes.
    pub fn text(&self, size: &dyn Fn(usize) -> String) -> String {
        let mut out = String::new();
        self.write(size, &mut out);
        out
    }

    fn write(&self, size: &dyn Fn(usize) -> String, out: &mut String) {
        let list = |out: &mut String, list: &[Expr]| {
            for (nth, expr) in list.iter().enumerate() {
                out.push_str(if nth > 0 { ", " } else { "" });
                expr.write(size, out);
            }
        };
        match self {
            Expr::Int(n) if *n < 0 => {
                let _ = write!(out, "({n})");
            }
            Expr::Int(n) => {
                let _ = write!(out, "{n}");
            }
            Expr::Literal(text) | Expr::Name(text) => out.push_str(text),
            Expr::Size(nth) => out.push_str(&size(*nth)),
            Expr::Read(name, indices) => {
                out.push_str(name);
                out.push('[');
                list(out, indices);
                out.push(']');
            }
            Expr::Infix(op, a, b) => {
                out.push('(');
                a.write(size, out);
                let _ = write!(out, " {op} ");
                b.write(size, out);
                out.push(')');
            }
            Expr::Call(name, args) => {
                out.push_str(name);
                out.push('(');
                list(out, args);
                out.push(')');
            }
            Expr::Cast(elem, a) => {
                let _ = write!(out, "cast<{elem}>(");
                a.write(size, out);
                out.push(')');
            }
        }
    }
}
