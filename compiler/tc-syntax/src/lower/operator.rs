//! What only operators have: computes and reductions.

use super::state::Lower;
use crate::tree::{Arg, Axis, ExprId, ExprKind, Id, List, Reduce, Tail, TextRange, Value as TreeValue};
use tc_ir::attrs::{AttrData, BinOp, UnOp};
use tc_ir::builder::OpSpec;
use tc_ir::opdef::{Context, Role};
use tc_ir::{Attr, Attrs, Name, Op, Type, TypeData, Value, keys};
use tc_support::{counted, suggest};

/// How deep the expression behind an extent may be: extents are walked by recursion.
const MAX_EXTENT_DEPTH: usize = 64;

impl<'a> Lower<'a> {
    /// `compute V, I[i: n] = argmax[k: m](…)`.
    pub(super) fn compute(
        &mut self,
        range: TextRange,
        names: List<TextRange>,
        axes: List<Axis>,
        value: ExprId,
        tail: Option<Tail>,
    ) {
        if self.compute_op(range, names, axes, value, tail).is_none() {
            self.bind_all(range, names, None);
        }
    }

    fn compute_op(
        &mut self,
        range: TextRange,
        names: List<TextRange>,
        axes: List<Axis>,
        value: ExprId,
        tail: Option<Tail>,
    ) -> Option<()> {
        if self.context != Context::Te {
            self.error(range, "context", "only an operator says `compute`");
            return None;
        }
        let opcode = self.opcode_for(Role::Compute, range)?;
        let bounds = self.axis_bounds(axes)?;
        let mut shape = Vec::with_capacity(axes.len());
        for pair in bounds.chunks(2) {
            match self.extent(pair[0], pair[1]) {
                Some(extent) => shape.push(extent),
                None => {
                    self.error(range, "extent", "an extent is an expression over the sizes of the operator");
                    return None;
                }
            }
        }
        let (attrs, loc) = self.tail(tail, range);
        // The types of the tensors follow from what is computed, which comes next.
        let placeholder = vec![self.func.bool_ty(); names.len()];
        let op =
            self.emit(loc, OpSpec { opcode, operands: &bounds, keyed: 0, attrs, results: &placeholder, n_regions: 1 });
        let body = self.func.op_regions(op)[0];
        let values = self.inside(body, |lower| {
            lower.push_axes(body, axes);
            let values = match lower.tree[value].kind {
                ExprKind::Reduce(reduce) => lower.reduction(value, reduce),
                _ => lower.expr(value, None).map(|value| vec![value]),
            }?;
            let loc = lower.expr_loc(value);
            lower.emit_yield(loc, &values);
            Some(values)
        })?;
        if values.len() != names.len() {
            self.error(
                range,
                "results",
                format!("{} for {}", counted(names.len(), "name"), counted(values.len(), "result")),
            );
            return None;
        }
        let results: Vec<Value> = self.func.results(op).collect();
        for ((&result, &value), nth) in results.iter().zip(&values).zip(0..) {
            let elem = self.func.value_type(value);
            let scope = self.declared_scope(self.tree[names][nth]);
            let ty = self.func.ty(TypeData::Shaped { elem, shape: shape.clone().into(), scope });
            self.func.set_value_type(result, ty);
        }
        self.bind_all(range, names, Some(results));
        Some(())
    }

    /// The scope that the header of an intrinsic declares for the result called by the name at `range`.
    fn declared_scope(&mut self, range: TextRange) -> Option<Name> {
        let name = self.func.find_name(self.text(range))?;
        let declared = self.func.header.results.iter().find(|result| result.name == Some(name))?;
        self.func.as_shaped(declared.ty).and_then(|(_, _, scope)| scope)
    }

    /// The low and high ends of `axes`, in turn.
    fn axis_bounds(&mut self, axes: List<Axis>) -> Option<Vec<Value>> {
        let mut bounds = Vec::with_capacity(axes.len() * 2);
        for &axis in &self.tree[axes] {
            let (lo, hi) = match axis.high {
                Some(high) => (self.index_expr(axis.extent)?, self.index_expr(high)?),
                None => (self.zero(axis.range), self.index_expr(axis.extent)?),
            };
            bounds.extend([lo, hi]);
        }
        Some(bounds)
    }

    fn zero(&mut self, range: TextRange) -> Value {
        let attr = self.func.int_attr(0);
        let (loc, ty) = (self.loc(range), self.func.index_ty());
        self.literal(loc, attr, ty)
    }

    fn push_axes(&mut self, body: tc_ir::Region, axes: List<Axis>) {
        let ty = self.func.index_ty();
        for &axis in &self.tree[axes] {
            let value = self.func.push_arg(body, ty, None);
            self.bind(axis.name, value);
        }
    }

    /// `hi - lo` as an attribute over the sizes of the operator; integers are computed.
    fn extent(&mut self, lo: Value, hi: Value) -> Option<Attr> {
        let (lo, hi) = (self.size_attr(lo, 0)?, self.size_attr(hi, 0)?);
        match (self.func.as_int(lo), self.func.as_int(hi)) {
            (Some(0), _) => Some(hi),
            (Some(lo), Some(hi)) => Some(self.func.attr(AttrData::Int(i128::from(hi) - i128::from(lo), None))),
            _ => Some(self.func.attr(AttrData::Binary(BinOp::Sub, hi, lo))),
        }
    }

    /// The index value `value` as an attribute over the sizes of the operator.
    fn size_attr(&mut self, value: Value, depth: usize) -> Option<Attr> {
        if depth > MAX_EXTENT_DEPTH {
            return None;
        }
        if let Some(attr) = self.func.constant(value) {
            return Some(attr);
        }
        let Some(op) = self.func.def_op(value) else {
            let name = self.func.value_name(value)?;
            return Some(self.func.attr(AttrData::Word(name)));
        };
        let operands = self.func.operands(op).to_vec();
        let mut args = Vec::with_capacity(operands.len());
        for operand in operands {
            args.push(self.size_attr(operand, depth + 1)?);
        }
        let row = self.func.row(op);
        let data = match (row.role, &args[..]) {
            (Role::Binary(op), &[lhs, rhs]) => match (op, self.func.as_int(lhs), self.func.as_int(rhs)) {
                (BinOp::Add, Some(lhs), Some(rhs)) => AttrData::int(lhs.checked_add(rhs)?),
                (BinOp::Sub, Some(lhs), Some(rhs)) => AttrData::int(lhs.checked_sub(rhs)?),
                (BinOp::Mul, Some(lhs), Some(rhs)) => AttrData::int(lhs.checked_mul(rhs)?),
                _ => AttrData::Binary(op, lhs, rhs),
            },
            (Role::Unary(UnOp::Neg), &[arg]) => AttrData::Unary(UnOp::Neg, arg),
            (Role::Plain, _) => AttrData::Call(self.func.name(row.short?), args.into()),
            _ => return None,
        };
        Some(self.func.attr(data))
    }

    /// A reduction where only a value can stand: it has one result.
    pub(super) fn reduction_value(&mut self, expr: ExprId) -> Option<Value> {
        let ExprKind::Reduce(reduce) = self.tree[expr].kind else { return None };
        let results = self.reduction(expr, reduce)?;
        if results.len() != 1 {
            self.error(
                self.tree[expr].range,
                "results",
                format!("this reduction has {}, not one", counted(results.len(), "result")),
            );
            return None;
        }
        results.first().copied()
    }

    /// `sum[k: n](e, where = c, init = e0)`.
    fn reduction(&mut self, expr: ExprId, id: Id<Reduce>) -> Option<Vec<Value>> {
        let range = self.tree[expr].range;
        let node = self.tree[id];
        if self.context != Context::Te {
            self.error(range, "context", "only an operator reduces");
            return None;
        }
        let opcode = self.opcode_for(Role::Reduce, range)?;
        let mut axes: Vec<(TextRange, Value, Value)> = Vec::new();
        for &slice in &self.tree[node.axes] {
            let is_name = matches!(self.tree[slice.first].kind, ExprKind::Path);
            let (true, Some(extent)) = (is_name, slice.second) else {
                self.error(slice.range, "axes", "an axis of a reduction is `name: extent`");
                return None;
            };
            let (lo, hi) = match slice.third {
                Some(high) => (self.index_expr(extent)?, self.index_expr(high)?),
                None => (self.zero(slice.range), self.index_expr(extent)?),
            };
            axes.push((self.tree[slice.first].range, lo, hi));
        }
        let (exprs, condition, init) = self.reduction_args(node.args)?;
        let mut operands: Vec<Value> = axes.iter().flat_map(|&(_, lo, hi)| [lo, hi]).collect();
        for (nth, init) in init.into_iter().enumerate() {
            let elem = exprs.get(nth).and_then(|&expr| self.peek(expr));
            operands.push(self.expr(init, elem)?);
        }
        let combiner = self.func.word_attr(self.text(self.tree.name(expr)));
        let n_axes = self.func.int_attr(axes.len() as i64);
        let mut attrs = vec![(keys::N_AXES, n_axes), (keys::COMBINER, combiner)];
        if condition.is_some() {
            let unit = self.func.attr(AttrData::Unit);
            attrs.push((keys::HAS_WHERE, unit));
        }
        let attrs: Attrs = self.func.dict(&attrs);
        let placeholder = vec![self.func.bool_ty(); exprs.len()];
        let loc = self.expr_loc(expr);
        let op = self
            .emit(loc, OpSpec { opcode, operands: &operands, keyed: 0, attrs, results: &placeholder, n_regions: 1 });
        self.reduction_body(op, &axes, &exprs, condition)?;
        Some(self.func.results(op).collect())
    }

    fn reduction_body(
        &mut self,
        op: Op,
        axes: &[(TextRange, Value, Value)],
        exprs: &[ExprId],
        condition: Option<ExprId>,
    ) -> Option<()> {
        let body = self.func.op_regions(op)[0];
        let loc = self.func.op_locs(op).source;
        let types: Vec<Type> = self.inside(body, |lower| {
            let index = lower.func.index_ty();
            for &(name, _, _) in axes {
                let value = lower.func.push_arg(body, index, None);
                lower.bind(name, value);
            }
            let mut values = Vec::with_capacity(exprs.len() + 1);
            for &expr in exprs {
                values.push(lower.expr(expr, None)?);
            }
            let types = values.iter().map(|&value| lower.func.value_type(value)).collect();
            if let Some(condition) = condition {
                values.push(lower.condition(condition)?);
            }
            lower.emit_yield(loc, &values);
            Some(types)
        })?;
        for (value, ty) in self.func.results(op).zip(types) {
            self.func.set_value_type(value, ty);
        }
        Some(())
    }

    fn reduction_args(&mut self, args: List<Arg>) -> Option<(Vec<ExprId>, Option<ExprId>, Vec<ExprId>)> {
        let (mut exprs, mut condition, mut init) = (Vec::new(), None, Vec::new());
        for &arg in &self.tree[args] {
            let TreeValue::Expr(expr) = arg.value else {
                self.error(self.value_range(arg.value), "arguments", "expected a value");
                return None;
            };
            match arg.key.map(|key| (self.text(self.tree[key]), self.tree[key])) {
                None => exprs.push(expr),
                Some(("where", _)) if condition.is_none() => condition = Some(expr),
                Some(("init", _)) if init.is_empty() => match self.tree[expr].kind {
                    ExprKind::List(list) => {
                        for &value in &self.tree[list] {
                            if let TreeValue::Expr(expr) = value {
                                init.push(expr);
                            }
                        }
                    }
                    _ => init.push(expr),
                },
                Some((key, range)) => {
                    let help = suggest::did_you_mean(key, ["where", "init"]);
                    self.error_with(
                        range,
                        "arguments",
                        format!("a reduction has no argument `{}`", suggest::shorten(key)),
                        help,
                    );
                    return None;
                }
            }
        }
        Some((exprs, condition, init))
    }
}
