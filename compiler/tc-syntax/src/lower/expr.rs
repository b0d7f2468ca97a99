//! Expressions.

use super::decode;
use super::state::Lower;
use crate::tree::{Arg, BinaryOp, ExprId, ExprKind, List, TextRange, UnaryOp, Value as TreeValue};
use tc_ir::attrs::AttrData;
use tc_ir::builder::OpSpec;
use tc_ir::opdef::Role;
use tc_ir::types::ElemKind;
use tc_ir::{Attrs, Elem, Func, Loc, Op, Opcode, Rewriter, Scalar, Type, Value, effects, keys};
use tc_support::suggest;

fn predicate(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Eq => "eq",
        BinaryOp::Ne => "ne",
        BinaryOp::Lt => "lt",
        BinaryOp::Le => "le",
        BinaryOp::Gt => "gt",
        _ => "ge",
    }
}

impl<'a> Lower<'a> {
    /// Lowers `expr`; free literals in it take the type `expected`. `None` after an error, which is reported.
    pub(super) fn expr(&mut self, expr: ExprId, expected: Option<Type>) -> Option<Value> {
        let node = self.tree[expr];
        let loc = self.expr_loc(expr);
        match node.kind {
            ExprKind::Path => self.path(node.range),
            ExprKind::Int => self.int_literal(node.range, node.range, false, expected),
            ExprKind::Float => self.float_literal(node.range, node.range, false, expected),
            ExprKind::Bool(value) => {
                let attr = self.func.attr(AttrData::Bool(value));
                let ty = self.func.bool_ty();
                Some(self.literal(loc, attr, ty))
            }
            ExprKind::Index { .. } => self.load(expr),
            ExprKind::Call { .. } => self.call_value(expr, expected),
            ExprKind::Cast { ty, value } => self.cast(loc, self.tree[ty], value),
            ExprKind::Unary { op, value } => self.unary(node.range, op, value, expected),
            ExprKind::Binary { .. } => self.chain(expr, expected),
            ExprKind::Ref(place) => self.reference(expr, place),
            ExprKind::Reduce(_) => self.reduction_value(expr),
            ExprKind::Str | ExprKind::Sym | ExprKind::List(_) => {
                let what = match node.kind {
                    ExprKind::Str => "a string",
                    ExprKind::Sym => "a symbol",
                    _ => "a list",
                };
                self.error(node.range, "not-a-value", format!("{what} is no value here"));
                None
            }
        }
    }

    /// Lowers an expression that must be a truth value.
    pub(super) fn condition(&mut self, expr: ExprId) -> Option<Value> {
        let ty = self.func.bool_ty();
        let value = self.expr(expr, Some(ty))?;
        self.as_condition(expr, value)
    }

    fn as_condition(&mut self, expr: ExprId, value: Value) -> Option<Value> {
        if self.func.value_type(value) != self.func.bool_ty() {
            let have = self.func.show_type(self.func.value_type(value));
            self.error(self.tree[expr].range, "type", format!("a condition must be `bool`, not `{have}`"));
            return None;
        }
        Some(value)
    }

    /// Lowers an index or a bound: an integer; here `index` and other integers mix.
    pub(super) fn index_expr(&mut self, expr: ExprId) -> Option<Value> {
        let expected = self.func.index_ty();
        let value = self.mixing(|lower| lower.expr(expr, Some(expected)))?;
        if !self.func.value_scalar(value).is_some_and(|scalar| scalar.elem.is_int()) {
            let have = self.func.show_type(self.func.value_type(value));
            self.error(self.tree[expr].range, "type", format!("an index must be an integer, not `{have}`"));
            return None;
        }
        Some(value)
    }

    fn path(&mut self, range: TextRange) -> Option<Value> {
        let text = self.text(range);
        if let Some(value) = self.lookup(text) {
            return Some(value);
        }
        self.schedule_path(range)
    }

    fn int_literal(
        &mut self,
        range: TextRange,
        at: TextRange,
        negative: bool,
        expected: Option<Type>,
    ) -> Option<Value> {
        let decoded = match decode::int(self.text(range)) {
            Ok(decoded) => decoded,
            Err(reason) => {
                self.error(at, "literal", reason);
                return None;
            }
        };
        let value = if negative { -decoded.value } else { decoded.value };
        let elem = match (decoded.elem, expected.and_then(|ty| self.func.as_scalar(ty))) {
            (Some(elem), _) => elem,
            (None, Some(Scalar { elem, .. })) if elem.is_int() => elem,
            (None, Some(Scalar { elem, .. })) if elem.is_float() => {
                let help = format!("write `{value}.0`");
                self.error_with(at, "type", format!("an integer literal is no `{}`", elem.name()), Some(help));
                return None;
            }
            (None, _) => Elem::Index,
        };
        if elem.is_float() {
            return self.typed_float(at, value as f64, elem);
        }
        let Some((min, max)) = elem.int_range() else {
            self.error(at, "type", format!("an integer literal is no `{}`", elem.name()));
            return None;
        };
        if !(min..=max).contains(&value) {
            let text = format!("{value} does not fit `{}`, which holds {min} to {max}", elem.name());
            self.error(at, "literal", text);
            return None;
        }
        let attr = self.func.attr(AttrData::Int(value, None));
        let ty = self.func.elem_ty(elem);
        let loc = self.loc(at);
        Some(self.literal(loc, attr, ty))
    }

    fn float_literal(
        &mut self,
        range: TextRange,
        at: TextRange,
        negative: bool,
        expected: Option<Type>,
    ) -> Option<Value> {
        let decoded = match decode::float(self.text(range)) {
            Ok(decoded) => decoded,
            Err(reason) => {
                self.error(at, "literal", reason);
                return None;
            }
        };
        let elem = match (decoded.elem, expected.and_then(|ty| self.func.as_scalar(ty))) {
            (Some(elem), _) => elem,
            (None, Some(Scalar { elem, .. })) if elem.is_float() => elem,
            (None, Some(Scalar { elem, .. })) => {
                self.error(at, "type", format!("a float literal is no `{}`", elem.name()));
                return None;
            }
            (None, None) => Elem::F32,
        };
        let value = decoded.rounded(elem);
        self.typed_float(at, if negative { -value } else { value }, elem)
    }

    fn typed_float(&mut self, at: TextRange, value: f64, elem: Elem) -> Option<Value> {
        if !elem.is_float() {
            self.error(at, "type", format!("a float literal is no `{}`", elem.name()));
            return None;
        }
        let rounded = elem.round(value);
        let attr = self.func.attr(AttrData::float(rounded));
        let ty = self.func.elem_ty(elem);
        let loc = self.loc(at);
        Some(self.literal(loc, attr, ty))
    }

    fn cast(&mut self, loc: Loc, ty: TextRange, value: ExprId) -> Option<Value> {
        let Some(scalar) = Scalar::parse(self.text(ty)) else {
            let text = suggest::shorten(self.text(ty));
            self.error(ty, "type", format!("there is no type `{text}`"));
            return None;
        };
        let value = self.expr(value, None)?;
        let ty = self.func.scalar_ty(scalar);
        Some(self.emit_value(loc, self.sugar.cast, &[value], Attrs::EMPTY, ty))
    }

    fn unary(&mut self, range: TextRange, op: UnaryOp, value: ExprId, expected: Option<Type>) -> Option<Value> {
        let inner = self.tree[value];
        if op == UnaryOp::Neg && self.is_signed(range, inner.range) {
            match inner.kind {
                ExprKind::Int if !self.wraps(range, inner.range, expected) => {
                    return self.int_literal(inner.range, range, true, expected);
                }
                ExprKind::Float => return self.float_literal(inner.range, range, true, expected),
                _ => {}
            }
        }
        let expected = if op == UnaryOp::Not { Some(self.func.bool_ty()) } else { expected };
        let operand = self.expr(value, expected)?;
        let ty = self.func.value_type(operand);
        let loc = self.loc(range);
        if let Some(opcode) = self.func.operator(operand, Role::OwnUnary(op)) {
            return self.own(range, loc, opcode, &[operand]);
        }
        Some(self.emit_value(loc, self.sugar.unary(op), &[operand], Attrs::EMPTY, ty))
    }

    /// `-1` is a literal, in brackets as well, `(-1)`; `-(1)` negates one. `range` is that of the minus with what follows,
    /// and brackets around it.
    pub(super) fn is_signed(&self, range: TextRange, literal: TextRange) -> bool {
        let before = self.text(TextRange::new(range.start, literal.start));
        before.rsplit('-').next().is_none_or(|between| !between.contains('('))
    }

    /// Is `(-9u64)` meant, in brackets: the number that `9u64` is negated to?
    fn wraps(&self, range: TextRange, literal: TextRange, expected: Option<Type>) -> bool {
        let suffix = self.text(literal).trim_start_matches(|c: char| c.is_ascii_hexdigit() || c == 'x' || c == '_');
        let of_type = || {
            expected
                .and_then(|ty| self.func.as_scalar(ty))
                .is_some_and(|scalar| scalar.elem.kind() == ElemKind::Unsigned)
        };
        let is_unsigned = if suffix.is_empty() { of_type() } else { suffix.starts_with('u') };
        is_unsigned && self.text(range).starts_with('(')
    }

    /// A chain of binary operators, lowered from its left end without recursion along the chain.
    fn chain(&mut self, expr: ExprId, expected: Option<Type>) -> Option<Value> {
        let mut spine = self.tree.left_spine(expr);
        let mut steps: Vec<(ExprId, BinaryOp, ExprId)> = spine.by_ref().collect();
        let first = spine.first();
        steps.reverse();
        let left = if self.may_be_free(first) { self.type_for_first(first, &steps, expected) } else { None };
        let mut acc = self.lazy_start(&steps, first, left)?;
        for &(node, op, rhs) in &steps {
            acc = self.step(node, op, acc, rhs)?;
        }
        Some(acc)
    }

    fn lazy_start(&mut self, steps: &[(ExprId, BinaryOp, ExprId)], first: ExprId, left: Option<Type>) -> Option<Value> {
        let is_logical = matches!(steps.first(), Some((_, BinaryOp::AndAnd | BinaryOp::OrOr, _)));
        if !is_logical {
            return self.expr(first, left);
        }
        let value = self.expr(first, Some(self.func.bool_ty()))?;
        // Of several lanes each is a truth value; both sides are evaluated then.
        match self.func.value_scalar(value) {
            Some(Scalar { elem: Elem::Bool, lanes: 2.. }) => Some(value),
            _ => self.as_condition(first, value),
        }
    }

    /// The type that the leftmost operand of a chain takes if it is free.
    fn type_for_first(
        &mut self,
        first: ExprId,
        steps: &[(ExprId, BinaryOp, ExprId)],
        expected: Option<Type>,
    ) -> Option<Type> {
        if let Some(ty) = self.peek(first) {
            return Some(ty);
        }
        for &(_, op, rhs) in steps {
            match op {
                BinaryOp::AndAnd | BinaryOp::OrOr => return Some(self.func.bool_ty()),
                _ => {
                    if let Some(ty) = self.peek(rhs) {
                        return Some(ty);
                    }
                    // The operands of a comparison know nothing of what is around it.
                    if op.is_comparison() {
                        return None;
                    }
                }
            }
        }
        expected
    }

    fn step(&mut self, node: ExprId, op: BinaryOp, lhs: Value, rhs: ExprId) -> Option<Value> {
        let loc = self.expr_loc(node);
        if matches!(op, BinaryOp::AndAnd | BinaryOp::OrOr) {
            return self.logical(node, op, lhs, rhs);
        }
        let ty = self.func.value_type(lhs);
        let rhs_value = self.expr(rhs, Some(ty))?;
        let (lhs, rhs_value) = self.unify(loc, lhs, rhs_value);
        let own = Role::OwnBinary(op);
        if let Some(opcode) = [lhs, rhs_value].into_iter().find_map(|value| self.func.operator(value, own)) {
            return self.own(self.tree[node].range, loc, opcode, &[lhs, rhs_value]);
        }
        let (lhs_ty, rhs_ty) = (self.func.value_type(lhs), self.func.value_type(rhs_value));
        if lhs_ty != rhs_ty || self.func.as_scalar(lhs_ty).is_none() {
            let (lhs, rhs) = (self.func.show_type(lhs_ty), self.func.show_type(rhs_ty));
            let help =
                (lhs != rhs && self.func.as_scalar(rhs_ty).is_some()).then(|| format!("convert one: `cast<{lhs}>(…)`"));
            let text = format!("`{}` takes two numbers of one type, not `{lhs}` and `{rhs}`", op.text());
            self.error_with(self.tree[node].range, "type", text, help);
            return None;
        }
        if op.is_comparison() {
            let word = self.func.word_attr(predicate(op));
            let attrs = self.func.dict(&[(keys::PREDICATE, word)]);
            let lanes = self.func.as_scalar(lhs_ty).map_or(1, |scalar| scalar.lanes);
            let ty = self.func.scalar_ty(Scalar { elem: Elem::Bool, lanes });
            return Some(self.emit_value(loc, self.sugar.compare, &[lhs, rhs_value], attrs, ty));
        }
        Some(self.emit_value(loc, self.sugar.binary(op), &[lhs, rhs_value], Attrs::EMPTY, lhs_ty))
    }

    /// An operator over a type of a dialect, whose row says what comes out.
    fn own(&mut self, range: TextRange, loc: Loc, opcode: Opcode, operands: &[Value]) -> Option<Value> {
        match self.func.infer_type(opcode, operands, Attrs::EMPTY) {
            Ok(ty) => Some(self.emit_value(loc, opcode, operands, Attrs::EMPTY, ty)),
            Err(reason) => {
                self.error(range, "type", reason);
                None
            }
        }
    }

    /// Inside brackets and bounds, converts an integer to `index` where it meets one.
    fn unify(&mut self, loc: Loc, lhs: Value, rhs: Value) -> (Value, Value) {
        let (Some(left), Some(right)) = (self.func.value_scalar(lhs), self.func.value_scalar(rhs)) else {
            return (lhs, rhs);
        };
        if !self.mixing || left == right || left.lanes != right.lanes || !left.elem.is_int() || !right.elem.is_int() {
            return (lhs, rhs);
        }
        let ty = self.func.scalar_ty(Scalar { elem: Elem::Index, lanes: left.lanes });
        let mut convert = |value: Value, from: Scalar| match from.elem {
            Elem::Index => value,
            _ => self.emit_value(loc, self.sugar.cast, &[value], Attrs::EMPTY, ty),
        };
        if left.elem == Elem::Index || right.elem == Elem::Index {
            (convert(lhs, left), convert(rhs, right))
        } else {
            (lhs, rhs)
        }
    }

    /// `a && b`, `a || b`: eager where `b` may be evaluated anyway, else a conditional.
    fn logical(&mut self, node: ExprId, op: BinaryOp, lhs: Value, rhs: ExprId) -> Option<Value> {
        let loc = self.expr_loc(node);
        let bool_ty = self.func.bool_ty();
        let lanes = self.func.value_scalar(lhs).filter(|scalar| scalar.elem == Elem::Bool && scalar.lanes > 1);
        if lanes.is_some() {
            // Lanes are no conditions: both sides are evaluated, each lane on its own.
            let ty = self.func.value_type(lhs);
            let rhs = self.expr(rhs, Some(ty))?;
            if self.func.value_type(rhs) != ty {
                let [lhs, rhs] = [lhs, rhs].map(|value| self.func.show_type(self.func.value_type(value)));
                let text = format!("`{}` takes two of one type, not `{lhs}` and `{rhs}`", op.text());
                self.error(self.tree[node].range, "type", text);
                return None;
            }
            return Some(self.emit_value(loc, self.sugar.binary(op), &[lhs, rhs], Attrs::EMPTY, ty));
        }
        if self.func.value_type(lhs) != bool_ty {
            let have = self.func.show_type(self.func.value_type(lhs));
            self.error(self.tree[node].range, "type", format!("`{}` takes truth values, not `{have}`", op.text()));
            return None;
        }
        let mark = self.func.last_op(self.region);
        let rhs = self.condition(rhs)?;
        let made = ops_after(&self.func, self.region, mark);
        if made.iter().all(|&op| effects::summary(&self.func, op).speculatable) {
            return Some(self.emit_value(loc, self.sugar.binary(op), &[lhs, rhs], Attrs::EMPTY, bool_ty));
        }
        let branch = self.emit(
            loc,
            OpSpec {
                opcode: self.sugar.branch,
                operands: &[lhs],
                keyed: 0,
                attrs: Attrs::EMPTY,
                results: &[bool_ty],
                n_regions: 2,
            },
        );
        let &[then, otherwise] = self.func.op_regions(branch) else { return None };
        let (lazy, known) = if op == BinaryOp::AndAnd { (then, otherwise) } else { (otherwise, then) };
        let mut rw = Rewriter::new(&mut self.func);
        for op in made {
            rw.move_to_end(op, lazy);
        }
        drop(rw);
        self.inside(lazy, |lower| lower.emit_yield(loc, &[rhs]));
        self.inside(known, |lower| {
            let attr = lower.func.attr(AttrData::Bool(op == BinaryOp::OrOr));
            let value = lower.literal(loc, attr, bool_ty);
            lower.emit_yield(loc, &[value]);
        });
        self.func.result(branch)
    }

    /// `if_then_else(c, a, b)`: evaluates one arm.
    pub(super) fn if_then_else(&mut self, expr: ExprId, args: List<Arg>, expected: Option<Type>) -> Option<Value> {
        let range = self.tree[expr].range;
        let arms: Vec<ExprId> = self.positional(args).collect();
        let &[condition, on_true, on_false] = &arms[..] else {
            self.error(range, "arguments", "`if_then_else` takes a condition and two values");
            return None;
        };
        if self.tree[args].iter().any(|arg| arg.key.is_some() || !matches!(arg.value, TreeValue::Expr(_))) {
            self.error(range, "arguments", "`if_then_else` takes a condition and two values");
            return None;
        }
        let loc = self.expr_loc(expr);
        let condition = self.condition(condition)?;
        let expected = self.common_type(&[on_true, on_false], expected);
        let placeholder = self.func.bool_ty();
        let branch = self.emit(
            loc,
            OpSpec {
                opcode: self.sugar.branch,
                operands: &[condition],
                keyed: 0,
                attrs: Attrs::EMPTY,
                results: &[placeholder],
                n_regions: 2,
            },
        );
        let &[then, otherwise] = self.func.op_regions(branch) else { return None };
        let first = self.inside(then, |lower| lower.arm(loc, on_true, expected))?;
        let ty = self.func.value_type(first);
        let second = self.inside(otherwise, |lower| lower.arm(loc, on_false, Some(ty)))?;
        let other = self.func.value_type(second);
        if ty != other {
            let (ty, other) = (self.func.show_type(ty), self.func.show_type(other));
            self.error(range, "type", format!("the arms of `if_then_else` have types `{ty}` and `{other}`"));
            return None;
        }
        let result = self.func.result(branch)?;
        self.func.set_value_type(result, ty);
        Some(result)
    }

    fn arm(&mut self, loc: Loc, expr: ExprId, expected: Option<Type>) -> Option<Value> {
        let value = self.expr(expr, expected)?;
        self.emit_yield(loc, &[value]);
        Some(value)
    }
}

/// The ops of `region` behind `mark`.
pub(super) fn ops_after(func: &Func, region: tc_ir::Region, mark: Option<Op>) -> Vec<Op> {
    let first = match mark {
        Some(op) => func.next_op(op),
        None => func.first_op(region),
    };
    std::iter::successors(first, |&op| func.next_op(op)).collect()
}
