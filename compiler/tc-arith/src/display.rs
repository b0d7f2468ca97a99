//! Printing with the fewest parentheses, in the operators of the language.

use std::fmt;

use crate::expr::{BinaryOp, Expr, Node};
use crate::pool::Pool;

/// An expression that can be printed; see [`Pool::display`].
pub struct Display<'a> {
    pool: &'a Pool,
    expr: Expr,
}

impl Pool {
    /// The expression as text, cut off where it would become very long. A variable without a name prints as `v` and its number.
    pub fn display(&self, expr: Expr) -> Display<'_> {
        Display { pool: self, expr }
    }
}

/// A small graph of shared nodes can be an astronomical tree; its text ends with `…` after so many pieces.
const MAX_PIECES: u32 = 50_000;

/// How tightly a form binds; a tighter one stands in a looser one without parentheses.
const LOOSEST: u8 = 0;
const UNARY: u8 = 10;
const ATOM: u8 = 11;

fn precedence(op: BinaryOp) -> u8 {
    use BinaryOp::*;
    match op {
        Or => 1,
        And => 2,
        Eq | Ne | Lt | Le => 3,
        BitOr => 4,
        BitXor => 5,
        BitAnd => 6,
        Shl | Shr => 7,
        Add | Sub => 8,
        Mul | FloorDiv | FloorMod => 9,
        TruncDiv | TruncMod | Min | Max => ATOM,
    }
}

fn symbol(op: BinaryOp) -> &'static str {
    use BinaryOp::*;
    match op {
        Add => " + ",
        Sub => " - ",
        Mul => " * ",
        FloorDiv => " / ",
        FloorMod => " % ",
        TruncDiv => "tdiv(",
        TruncMod => "tmod(",
        Min => "min(",
        Max => "max(",
        Eq => " == ",
        Ne => " != ",
        Lt => " < ",
        Le => " <= ",
        And => " && ",
        Or => " || ",
        Shl => " << ",
        Shr => " >> ",
        BitAnd => " & ",
        BitOr => " | ",
        BitXor => " ^ ",
    }
}

/// What is still to be printed. An explicit stack, so that depth costs no stack.
enum Pending {
    Text(&'static str),
    /// An expression in a place that takes this precedence or a tighter one.
    Expr(Expr, u8),
}

impl fmt::Display for Display<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut stack = vec![Pending::Expr(self.expr, LOOSEST)];
        for printed in 0.. {
            let Some(piece) = stack.pop() else { break };
            if printed >= MAX_PIECES {
                return f.write_str("…");
            }
            match piece {
                Pending::Text(text) => f.write_str(text)?,
                Pending::Expr(e, place) => self.write(f, e, place, &mut stack)?,
            }
        }
        Ok(())
    }
}

impl Display<'_> {
    fn write(&self, f: &mut fmt::Formatter<'_>, e: Expr, place: u8, stack: &mut Vec<Pending>) -> fmt::Result {
        use Pending::{Expr as Sub, Text};
        let pieces: Vec<Pending>;
        let own = match self.pool.node(e) {
            Node::Const(value) => return write!(f, "{value}"),
            Node::Bool(value) => return write!(f, "{value}"),
            Node::Var(v) => {
                return match self.pool.name(v) {
                    Some(name) => f.write_str(name),
                    None => write!(f, "v{}", v.0),
                };
            }
            Node::Not(a) => {
                pieces = vec![Text("!"), Sub(a, ATOM)];
                UNARY
            }
            Node::Likely(a) => {
                pieces = vec![Text("likely("), Sub(a, LOOSEST), Text(")")];
                ATOM
            }
            Node::Cast(ty, a) => {
                pieces = vec![Text("cast<"), Text(ty.name()), Text(">("), Sub(a, LOOSEST), Text(")")];
                ATOM
            }
            Node::Select(c, a, b) => {
                let [c, a, b] = [c, a, b].map(|e| Sub(e, LOOSEST));
                pieces = vec![Text("select("), c, Text(", "), a, Text(", "), b, Text(")")];
                ATOM
            }
            Node::Binary(BinaryOp::Sub, zero, a) if self.pool.as_const(zero) == Some(0) => {
                pieces = vec![Text("-"), Sub(a, ATOM)];
                UNARY
            }
            Node::Binary(op, a, b) => {
                let own = precedence(op);
                pieces = if own == ATOM {
                    vec![Text(symbol(op)), Sub(a, LOOSEST), Text(", "), Sub(b, LOOSEST), Text(")")]
                } else {
                    vec![Sub(a, own + u8::from(op.is_comparison())), Text(symbol(op)), Sub(b, own + 1)]
                };
                own
            }
        };
        let enclose = own < place;
        if enclose {
            f.write_str("(")?;
            stack.push(Text(")"));
        }
        stack.extend(pieces.into_iter().rev());
        Ok(())
    }
}
