//! The types that literals take from what is around them.
//!
//! A literal without a suffix is *free*: it takes the type of what it meets. [`Lower::peek`] tells the type that an
//! expression has whatever its context, or `None` if everything in it is free. The printer asks the same question
//! of ops when it decides whether a literal needs its suffix.

use super::decode;
use super::state::Lower;
use crate::tree::{Arg, BinaryOp, ExprId, ExprKind, List, UnaryOp, Value};
use tc_ir::opdef::{Infer, OpDef};
use tc_ir::types::TypeData;
use tc_ir::{Scalar, Type};

impl<'a> Lower<'a> {
    /// Can `expr` be free? A quick no for what cannot.
    pub(super) fn may_be_free(&self, expr: ExprId) -> bool {
        matches!(
            self.tree[expr].kind,
            ExprKind::Int | ExprKind::Float | ExprKind::Unary { .. } | ExprKind::Call { .. } | ExprKind::Binary { .. }
        )
    }

    /// The type of `expr`, if it does not hang on the context.
    pub(super) fn peek(&mut self, expr: ExprId) -> Option<Type> {
        match self.tree[expr].kind {
            ExprKind::Path => {
                let text = self.text(self.tree[expr].range);
                self.lookup(text).map(|value| self.func.value_type(value))
            }
            ExprKind::Int => {
                decode::int(self.text(self.tree[expr].range)).ok()?.elem.map(|elem| self.func.elem_ty(elem))
            }
            ExprKind::Float => {
                decode::float(self.text(self.tree[expr].range)).ok()?.elem.map(|elem| self.func.elem_ty(elem))
            }
            ExprKind::Bool(_) => Some(self.func.bool_ty()),
            ExprKind::Unary { op: UnaryOp::Not, .. } => Some(self.func.bool_ty()),
            ExprKind::Unary { op: UnaryOp::Neg, value } => self.peek(value),
            ExprKind::Cast { ty, .. } => {
                let text = self.text(self.tree[ty]);
                Scalar::parse(text).map(|scalar| self.func.scalar_ty(scalar))
            }
            ExprKind::Index { slices, .. } => {
                let name = self.text(self.tree.name(expr));
                let place = self.lookup(name)?;
                let elem = match self.func.type_data(self.func.value_type(place)) {
                    TypeData::Shaped { elem, .. } | TypeData::Ref { elem, .. } => *elem,
                    _ => return None,
                };
                let last = self.tree[slices].last()?.first;
                let lanes = self.peek(last).and_then(|ty| self.func.as_scalar(ty)).map_or(1, |scalar| scalar.lanes);
                match self.func.as_scalar(elem) {
                    Some(scalar) if lanes > 1 => Some(self.func.scalar_ty(Scalar { lanes, ..scalar })),
                    _ => Some(elem),
                }
            }
            ExprKind::Call { symbol: false, args, .. } if self.text(self.tree.name(expr)) == "if_then_else" => {
                let arms: Vec<ExprId> = self.positional(args).skip(1).collect();
                arms.into_iter().find_map(|arm| self.peek(arm))
            }
            ExprKind::Call { symbol: false, args, .. } => {
                let row = self.called_row(expr)?;
                self.peek_call(row, args)
            }
            ExprKind::Binary { .. } => self.peek_chain(expr),
            ExprKind::Call { .. }
            | ExprKind::Str
            | ExprKind::Sym
            | ExprKind::Reduce(_)
            | ExprKind::Ref(_)
            | ExprKind::List(_) => None,
        }
    }

    /// [`Lower::peek`] of a chain of operators, without recursion along the chain.
    fn peek_chain(&mut self, expr: ExprId) -> Option<Type> {
        let mut spine = self.tree.left_spine(expr);
        let mut chain = Vec::new();
        for (_, op, rhs) in spine.by_ref() {
            // Whatever is left of a comparison or a logical operator, its result is a truth value.
            if op.is_comparison() || matches!(op, BinaryOp::AndAnd | BinaryOp::OrOr) {
                return Some(self.func.bool_ty());
            }
            chain.push(rhs);
        }
        let first = spine.first();
        if let Some(ty) = self.peek(first) {
            return Some(ty);
        }
        chain.into_iter().rev().find_map(|rhs| self.peek(rhs))
    }

    fn peek_call(&mut self, row: &'static OpDef, args: List<Arg>) -> Option<Type> {
        let group = operand_group(row)?;
        let exprs: Vec<ExprId> = self.positional(args).skip(group).collect();
        let ty = exprs.into_iter().find_map(|arg| self.peek(arg));
        match row.infer {
            Infer::Same(_) => ty,
            Infer::Predicate => Some(self.func.bool_ty()),
            // `ramp` and `broadcast` widen; their lanes are the last argument.
            Infer::By(_) if row.params.last().is_some_and(|param| param.name == "lanes") => {
                let elem = ty.and_then(|ty| self.func.as_scalar(ty))?.elem;
                let last = self.positional(args).last()?;
                let lanes = u16::try_from(decode::int(self.text(self.tree[last].range)).ok()?.value).ok()?;
                Some(self.func.scalar_ty(Scalar { elem, lanes }))
            }
            Infer::By(_) | Infer::All(_) | Infer::Written => None,
        }
    }

    /// The positional arguments that are expressions.
    pub(super) fn positional(&self, args: List<Arg>) -> impl Iterator<Item = ExprId> + use<'a> {
        let tree = self.tree;
        tree[args].iter().filter_map(|arg| match (arg.key, arg.value) {
            (None, Value::Expr(expr)) => Some(expr),
            _ => None,
        })
    }

    /// The type of the first of `exprs` that has one, or `expected`.
    pub(super) fn common_type(&mut self, exprs: &[ExprId], expected: Option<Type>) -> Option<Type> {
        exprs.iter().find_map(|&expr| self.peek(expr)).or(expected)
    }

    /// The scalar type of a value that is expected, without its lanes.
    pub(super) fn scalar_of(&self, ty: Option<Type>) -> Option<Type> {
        self.func.as_scalar(ty?).map(|scalar| self.func.elem_ty(scalar.elem))
    }
}

/// From which operand on the operands of a pure row are of one type; `None` if they are not.
pub(super) fn operand_group(row: &OpDef) -> Option<usize> {
    match row.infer {
        Infer::Same(from) => Some(from),
        Infer::Predicate => Some(0),
        Infer::By(_) if row.params.last().is_some_and(|param| param.name == "lanes") => Some(0),
        Infer::By(_) | Infer::All(_) | Infer::Written => None,
    }
}
