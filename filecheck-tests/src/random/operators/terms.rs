//! What is done with an element: conversions, further operands, conditions.

use super::shapes::Draft;
use super::{Maker, Source, literal};
use crate::random::expr::Expr;
use crate::random::operator::Axis;

impl Maker<'_> {
    /// The element type of a stage that reads `source`: mostly the same.
    pub(super) fn elem_of(&mut self, source: &Source) -> &'static str {
        let mut ways = vec![source.elem];
        if source.elem == "bool" {
            ways = vec!["f32", "i32"];
        } else if self.rng.chance(20) {
            ways = vec!["f32", "f64"];
            if source.small {
                ways.push("f16");
            }
            if source.exact && source.small {
                ways.extend(["i32", "bool"]);
            }
        }
        self.rng.pick(&ways)
    }

    /// `read`, an element of `source`, as an `elem`.
    pub(super) fn converted(&mut self, source: &Source, elem: &'static str, read: Expr) -> Expr {
        match (source.elem, elem) {
            (from, to) if from == to => read,
            ("bool", to) => Expr::Call("select", vec![read, literal(to, 1, false), literal(to, 0, false)]),
            (from, "bool") => read.infix(self.rng.pick(&[">", "<=", "!="]), literal(from, 0, false)),
            (_, to) => Expr::Cast(to, Box::new(read)),
        }
    }

    /// `body` with something done to it.
    pub(super) fn with_term(&mut self, body: Expr, elem: &'static str, draft: &Draft) -> Expr {
        let call = |name, args| Expr::Call(name, args);
        match (elem, self.rng.below(12)) {
            ("bool", 0..=5) => {
                Expr::Call("select", vec![self.condition(&draft.axes, &draft.reduced), body, literal(elem, 0, false)])
            }
            ("bool", _) => body,
            (_, 0) => call("max", vec![body, literal(elem, 0, false)]),
            (_, 1) => call("min", vec![body, literal(elem, 3, false)]),
            (_, 2 | 3) => self.with_operand(body, elem, draft, "*"),
            (_, 4) => self.with_operand(body, elem, draft, "+"),
            (_, 5) => self.with_operand(body, elem, draft, "-"),
            (_, 6) => {
                let how = self.rng.pick(&["if_then_else", "select"]);
                let condition = self.condition(&draft.axes, &draft.reduced);
                call(how, vec![condition, body, literal(elem, 1, false)])
            }
            ("i32", 7) => body.infix(self.rng.pick(&["%", "/"]), literal(elem, 3, false)),
            ("i32", 8) => body.infix(self.rng.pick(&["&", "^", "|"]), literal(elem, 5, false)),
            ("i32", 9) => body.infix(">>", literal(elem, 1, false)),
            ("i32" | "i8", _) => body.infix("+", literal(elem, 1, false)),
            (_, 7) => {
                self.rounds = true;
                let name = self.rng.pick(&["tanh", "sigmoid", "abs"]);
                call(name, vec![body])
            }
            (_, 8) => {
                self.rounds = true;
                body.infix("/", literal(elem, 2, true))
            }
            ("f32" | "f64", 9) if !draft.axes.is_empty() => {
                self.rounds = true;
                let axis = Expr::Name(self.rng.pick(&draft.axes).name);
                body.infix("+", Expr::Cast(elem, Box::new(axis)))
            }
            _ => {
                self.rounds = true;
                body.infix(self.rng.pick(&["*", "+"]), literal(elem, 0, true))
            }
        }
    }

    /// `body OP P[…]`, where `P` is an argument over some of the axes or a stage of the same shape.
    fn with_operand(&mut self, body: Expr, elem: &'static str, draft: &Draft, op: &'static str) -> Expr {
        self.rounds = true;
        let shape: Vec<Expr> = draft.axes.iter().map(|axis| axis.high.clone()).collect();
        let fits = |source: &&Source| source.elem == elem && source.shape == shape && (op != "*" || source.small);
        let known: Vec<Source> = self.sources.iter().filter(fits).cloned().collect();
        let all: Vec<&Axis> = draft.axes.iter().chain(&draft.reduced).collect();
        if !known.is_empty() && draft.reduced.is_empty() && self.rng.chance(50) {
            let other = self.rng.pick(&known);
            let index = draft.axes.iter().map(|axis| Expr::Name(axis.name.clone())).collect();
            return body.infix(op, Expr::Read(other.name, index));
        }
        let mut over: Vec<&Axis> = all.into_iter().filter(|_| self.rng.chance(60)).collect();
        over.truncate(3);
        if over.is_empty() {
            return body.infix(op, literal(elem, 2, false));
        }
        let shape = over.iter().map(|axis| axis.high.clone()).collect();
        let index = over.iter().map(|axis| Expr::Name(axis.name.clone())).collect();
        let other = self.param("W", elem, shape);
        body.infix(op, Expr::Read(other.name, index))
    }

    /// A condition over axes, or an element of a mask.
    pub(super) fn condition(&mut self, axes: &[Axis], reduced: &[Axis]) -> Expr {
        let all: Vec<&Axis> = axes.iter().chain(reduced).collect();
        if all.is_empty() {
            return Expr::Literal("true".into());
        }
        let one = self.rng.pick(&all);
        let other = self.rng.pick(&all);
        let (name, high) = (Expr::Name(one.name.clone()), one.high.clone());
        match self.rng.below(5) {
            0 => {
                let mask = self.param("M", "bool", vec![high]);
                Expr::Read(mask.name, vec![name])
            }
            1 => name.infix("!=", Expr::Int(1)),
            2 => name.infix("+", Expr::Name(other.name.clone())).infix("%", Expr::Int(2)).infix("==", Expr::Int(0)),
            3 => name.infix("<=", Expr::Name(other.name.clone())),
            _ => name.clone().infix(">=", Expr::Int(1)).infix("&&", name.infix("<", high.plus(-1))),
        }
    }
}
