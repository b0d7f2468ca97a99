//! Expressions.
//!
//! A literal prints with its type where the parser would give it another one. The parser gives a literal without a
//! type the one that is expected of it; `expected` below is that type, and [`Body::is_free`] asks of an op what the
//! parser asks of a text: has it a type of its own, whatever its context?

use super::Body;
use super::form::{Form, lengths, name_of};
use super::inline::left_precedence;
use super::style::Style;
use super::types::{write_attr, write_float, write_int, write_type};
use crate::attrs::{AttrData, BinOp, UnOp};
use crate::entity::{Op, Type, Value};
use crate::opdef::ParamKind;
use crate::types::{Elem, Scalar};

/// How tightly the operand of a prefix operator binds.
const PREFIX: u8 = 10;

/// An operator of a chain that waits for its right operand.
pub(super) struct Link {
    op: BinOp,
    rhs: Value,
    /// The type of the left operand.
    ty: Type,
    parens: bool,
}

impl Body<'_> {
    /// Writes `value`: the op behind it where that prints inside its user, else its name. Operators that bind more
    /// loosely than `outer` are put in parentheses.
    pub(super) fn expr(&mut self, value: Value, outer: u8, expected: Option<Type>) {
        match self.inline_op(value) {
            Some(op) => self.op_expr(op, outer, expected),
            None => self.name(value),
        }
    }

    /// Writes the name of `value`.
    pub(super) fn name(&mut self, value: Value) {
        self.names.write(self.func, &mut self.out, value);
    }

    /// Writes `op` as an expression.
    pub(super) fn op_expr(&mut self, op: Op, outer: u8, expected: Option<Type>) {
        let func = self.func;
        match self.state(op).form {
            Form::Literal => self.literal(op, expected),
            Form::Infix(_) | Form::Lazy(_) => self.chain(op, outer, expected),
            Form::Choose => self.choose(op, expected),
            Form::Unary(prefix) => self.unary(op, prefix, expected),
            Form::Cast => {
                self.out.push_str("cast<");
                if let Some(result) = func.result(op) {
                    write_type(&mut self.out, func, func.value_type(result));
                }
                self.out.push_str(">(");
                self.expr(func.operand(op, 0), 0, None);
                self.out.push(')');
            }
            Form::Load => self.place(op),
            Form::RefElement => {
                self.out.push('&');
                match func.operands(op) {
                    &[buffer] => self.name(buffer),
                    _ => self.place(op),
                }
            }
            Form::RefRegion => self.region_ref(op),
            Form::Stage => self.out.push_str(name_of(func, op).unwrap_or("")),
            Form::Axis => self.axis(op),
            _ => {
                let style = self.style(op);
                self.out.push_str(style.call);
                self.arguments(op, style, expected);
            }
        }
    }

    fn literal(&mut self, op: Op, expected: Option<Type>) {
        let func = self.func;
        let Some((value, Scalar { elem, .. })) =
            func.attr_named(op, "value").zip(func.result(op).and_then(|result| func.value_scalar(result)))
        else {
            return;
        };
        let expected = expected.and_then(|ty| func.as_scalar(ty)).map(|scalar| scalar.elem);
        match func.attr_data(value) {
            AttrData::Int(value, _) => {
                let given = match expected {
                    Some(elem) if elem.is_int() => Some(elem),
                    Some(elem) if elem.is_float() => None,
                    _ => Some(Elem::Index),
                };
                write_int(&mut self.out, *value, (given != Some(elem)).then_some(elem));
            }
            AttrData::Float(bits, _) => {
                let given = expected.unwrap_or(Elem::F32);
                write_float(&mut self.out, f64::from_bits(*bits), elem, (given != elem).then_some(elem));
            }
            AttrData::Bool(value) => self.out.push_str(if *value { "true" } else { "false" }),
            _ => {}
        }
    }

    fn unary(&mut self, op: Op, prefix: UnOp, expected: Option<Type>) {
        let operand = self.func.operand(op, 0);
        self.out.push_str(prefix.text());
        let expected = if prefix == UnOp::Not { Some(self.func.bool_ty()) } else { expected };
        // `-1` would be read as a literal.
        let folds = prefix == UnOp::Neg && self.is_positive_literal(operand);
        if folds {
            self.out.push('(');
        }
        self.expr(operand, PREFIX, expected);
        if folds {
            self.out.push(')');
        }
    }

    fn is_positive_literal(&self, value: Value) -> bool {
        let literal = self.inline_op(value).filter(|&op| self.state(op).form == Form::Literal);
        let attr = literal.and_then(|op| self.func.attr_named(op, "value"));
        match attr.map(|attr| self.func.attr_data(attr)) {
            Some(AttrData::Int(value, _)) => *value >= 0,
            Some(AttrData::Float(bits, _)) => {
                let value = f64::from_bits(*bits);
                value.is_nan() || value.is_sign_positive()
            }
            _ => false,
        }
    }

    /// The operator of `op` and its operands; of a lazy one, what its open arm yields.
    fn infix(&self, op: Op) -> Option<(BinOp, Value, Value)> {
        let operands = self.func.operands(op);
        match self.state(op).form {
            Form::Infix(infix) => Some((infix, operands[0], operands[1])),
            Form::Lazy(infix) => {
                let arm = self.func.op_regions(op)[usize::from(infix == BinOp::OrOr)];
                Some((infix, operands[0], self.func.yielded(arm)[0]))
            }
            _ => None,
        }
    }

    /// A chain of operators that leans to the left, of any length.
    fn chain(&mut self, root: Op, outer: u8, expected: Option<Type>) {
        let base = self.links.len();
        let (mut at, mut need) = (Some(root), outer);
        let mut first = None;
        while let Some((op, lhs, rhs)) = at.and_then(|op| self.infix(op)) {
            let parens = op.precedence() < need;
            if parens {
                self.out.push('(');
            }
            self.links.push(Link { op, rhs, ty: self.func.value_type(lhs), parens });
            need = left_precedence(op);
            first = Some(lhs);
            at = self.inline_op(lhs);
        }
        if let Some(first) = first {
            let expected = self.expected_of_first(first, base, expected);
            self.expr(first, need, expected);
        }
        while self.links.len() > base
            && let Some(Link { op, rhs, ty, parens }) = self.links.pop()
        {
            self.out.push(' ');
            self.out.push_str(op.text());
            self.out.push(' ');
            self.expr(rhs, op.precedence() + 1, Some(ty));
            if parens {
                self.out.push(')');
            }
        }
    }

    /// The type that is expected of the leftmost operand of a chain: its own, that of the next one that has one, or
    /// what is expected of the chain. The operands of a comparison know nothing of what is around it.
    fn expected_of_first(&self, first: Value, base: usize, expected: Option<Type>) -> Option<Type> {
        if !self.is_free(first) {
            return Some(self.func.value_type(first));
        }
        for link in self.links[base..].iter().rev() {
            if matches!(link.op, BinOp::AndAnd | BinOp::OrOr) {
                return Some(self.func.bool_ty());
            }
            if !self.is_free(link.rhs) {
                return Some(self.func.value_type(link.rhs));
            }
            if link.op.is_comparison() {
                return None;
            }
        }
        expected
    }

    fn choose(&mut self, op: Op, expected: Option<Type>) {
        let func = self.func;
        let &[then, otherwise] = func.op_regions(op) else { return };
        let (first, second) = (func.yielded(then)[0], func.yielded(otherwise)[0]);
        let expected = self.common_type(&[first, second], expected);
        self.out.push_str("if_then_else(");
        self.expr(func.operand(op, 0), 0, Some(func.bool_ty()));
        self.out.push_str(", ");
        self.expr(first, 0, expected);
        self.out.push_str(", ");
        self.expr(second, 0, Some(func.value_type(first)));
        self.out.push(')');
    }

    /// The type of the first of `values` that has one, or `expected`.
    pub(super) fn common_type(&self, values: &[Value], expected: Option<Type>) -> Option<Type> {
        let known = values.iter().find(|&&value| !self.is_free(value));
        known.map_or(expected, |&value| Some(self.func.value_type(value)))
    }

    /// Has what prints for `value` no type of its own?
    pub(super) fn is_free(&self, value: Value) -> bool {
        let Some(op) = self.inline_op(value) else { return false };
        let func = self.func;
        match self.state(op).form {
            Form::Literal => func.value_type(value) != func.bool_ty(),
            Form::Infix(_) => self.is_free_chain(op),
            Form::Unary(UnOp::Neg) => self.is_free(func.operand(op, 0)),
            Form::Choose => {
                func.op_regions(op).iter().all(|&arm| func.yielded(arm).iter().all(|&arm| self.is_free(arm)))
            }
            // The parser tells the type of an access by its last index.
            Form::Stage | Form::Axis | Form::RefElement | Form::RefRegion => true,
            Form::Load => func.operands(op).len() == 1,
            Form::Call => match self.style(op).group {
                Some(_) if self.style(op).is_predicate => false,
                Some(from) => func.operands(op).iter().skip(from).all(|&operand| self.is_free(operand)),
                None => true,
            },
            _ => false,
        }
    }

    fn is_free_chain(&self, root: Op) -> bool {
        let mut at = root;
        loop {
            let Some((op, lhs, rhs)) = self.infix(at) else { return false };
            if op.is_comparison() || matches!(op, BinOp::AndAnd | BinOp::OrOr) || !self.is_free(rhs) {
                return false;
            }
            match self.inline_op(lhs).filter(|&lhs| self.state(lhs).form.infix().is_some()) {
                Some(next) => at = next,
                None => return self.is_free(lhs),
            }
        }
    }

    /// `A[i, j]`
    fn place(&mut self, op: Op) {
        let Some((&buffer, indices)) = self.func.operands(op).split_first() else { return };
        self.indexed(buffer, indices);
    }

    /// `A[i, j]`
    pub(super) fn indexed(&mut self, buffer: Value, indices: &[Value]) {
        self.name(buffer);
        self.out.push('[');
        for (nth, &index) in indices.iter().enumerate() {
            if nth > 0 {
                self.out.push_str(", ");
            }
            self.expr(index, 0, Some(self.func.index_ty()));
        }
        self.out.push(']');
    }

    /// `&A[i : n, j : m]`
    fn region_ref(&mut self, op: Op) {
        let func = self.func;
        let (Some((&buffer, starts)), Some(lengths)) = (func.operands(op).split_first(), lengths(func, op)) else {
            return;
        };
        self.out.push('&');
        self.name(buffer);
        self.out.push('[');
        for (nth, (&start, &length)) in starts.iter().zip(lengths).enumerate() {
            if nth > 0 {
                self.out.push_str(", ");
            }
            self.expr(start, 0, Some(func.index_ty()));
            self.out.push_str(" : ");
            write_attr(&mut self.out, func, length);
        }
        self.out.push(']');
    }

    /// `B.i`
    fn axis(&mut self, op: Op) {
        let func = self.func;
        let stage = func.operand(op, 0);
        let inline = self.inline_op(stage);
        // A dot stands behind a word, not behind a number alone.
        let dotted = match inline {
            Some(stage) => self.state(stage).form == Form::Stage,
            None => !self.names.is_number(func, stage),
        };
        if dotted {
            self.expr(stage, 0, None);
            self.out.push('.');
            self.out.push_str(name_of(func, op).unwrap_or(""));
        } else {
            let style = self.style(op);
            self.out.push_str(style.row.name);
            self.arguments(op, style, None);
        }
    }

    /// Writes the operands of `op` that stand at a parameter by position; `nth` counts those before.
    pub(super) fn operand(&mut self, style: &Style, kind: ParamKind, nth: usize, value: Value, group: Option<Type>) {
        if self.options.generic {
            return self.name(value);
        }
        let expected = match style.group {
            _ if matches!(kind, ParamKind::Place(_)) => None,
            Some(from) if nth >= from => group,
            // What stands before the group is a condition.
            Some(_) => Some(self.func.bool_ty()),
            None => None,
        };
        self.expr(value, 0, expected);
    }

    /// The type that free literals among the operands of `op` take.
    pub(super) fn group_type(&self, op: Op, style: &Style, expected: Option<Type>) -> Option<Type> {
        let from = style.group?;
        let func = self.func;
        let expected = match expected {
            Some(_) if style.is_predicate => None,
            Some(ty) if style.widens => func.as_scalar(ty).map(|scalar| func.elem_ty(scalar.elem)),
            expected => expected,
        };
        self.common_type(func.operands(op).get(from..).unwrap_or(&[]), expected)
    }
}
