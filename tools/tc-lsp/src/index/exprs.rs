//! The walk through expressions, types and attributes: uses of names, rows, and the axes of reductions.

use super::walk::{PendingKind, Walk, symbol_name};
use super::{CallSite, DefIdx, DefKind, What};
use tc::ir::opdef::{Context, ParamKind};
use tc::ir::{Opcode, Registry};
use tc::syntax::tree::{
    Arg, Attr, ExprId, ExprKind, Id, List, Reduce, Slice, Tail, TextRange, Tree, Type, TypeArg, Value,
};

impl Walk<'_> {
    pub(super) fn reduce(&mut self, tree: &Tree, expr: ExprId, id: Id<Reduce>, of: Option<(DefIdx, TextRange)>) {
        let node = tree[id];
        let whole = tree[expr].range;
        self.pend(tree.name(expr), PendingKind::Combiner);
        let mark = self.scopes.order.len();
        for slice in &tree[node.axes] {
            let Slice { range, first, second, third } = *slice;
            for end in second.into_iter().chain(third) {
                self.expr(tree, end);
            }
            let extent = second.map(|low| third.map_or(tree[low].range, |high| tree[low].range.to(tree[high].range)));
            let name = tree[first].range;
            let axis = self.bind_as(DefKind::Axis, name, range, |def| {
                (def.extent, def.scope) = (extent, whole);
                def.of = of.map(|(of, _)| of);
            });
            self.index.axes.extend(of.zip(axis).map(|((of, _), axis)| (of, axis)));
        }
        self.args(tree, node.args, None);
        self.scopes.close(mark);
    }

    pub(super) fn expr(&mut self, tree: &Tree, expr: ExprId) {
        let mut spine = tree.left_spine(expr);
        let mut rest: Vec<ExprId> = spine.by_ref().map(|(_, _, operand)| operand).collect();
        self.operand(tree, spine.first());
        while let Some(operand) = rest.pop() {
            self.expr(tree, operand);
        }
    }

    fn operand(&mut self, tree: &Tree, expr: ExprId) {
        match tree[expr].kind {
            ExprKind::Path => self.path(tree[expr].range),
            ExprKind::Index { slices, .. } => {
                self.path(tree.name(expr));
                for slice in &tree[slices] {
                    let parts = [Some(slice.first), slice.second, slice.third];
                    parts.into_iter().flatten().for_each(|part| self.expr(tree, part));
                }
            }
            ExprKind::Call { symbol, args, .. } => self.call(tree, expr, symbol, args),
            ExprKind::Reduce(id) => self.reduce(tree, expr, id, None),
            ExprKind::Cast { value, .. } | ExprKind::Unary { value, .. } | ExprKind::Ref(value) => {
                self.expr(tree, value);
            }
            ExprKind::List(values) => tree[values].iter().for_each(|&value| self.value(tree, value)),
            ExprKind::Sym => self.pend(symbol_name(tree[expr].range, self.source), PendingKind::Symbol),
            ExprKind::Int | ExprKind::Float | ExprKind::Bool(_) | ExprKind::Str => {}
            // A chain, which `expr` takes apart.
            ExprKind::Binary { .. } => {}
        }
    }

    fn call(&mut self, tree: &Tree, expr: ExprId, symbol: bool, args: List<Arg>) {
        let name = tree.name(expr);
        self.index.calls.push(CallSite { range: tree[expr].range });
        if symbol {
            self.pend(symbol_name(name, self.source), PendingKind::Callee);
            return self.args(tree, args, None);
        }
        let row = self.row(name);
        self.args(tree, args, row);
    }

    fn args(&mut self, tree: &Tree, args: List<Arg>, row: Option<Opcode>) {
        let mut nth = 0;
        for arg in &tree[args] {
            if let Some(key) = arg.key {
                self.mention(tree[key], What::Key);
                self.value(tree, arg.value);
                continue;
            }
            let kind = row.and_then(|row| param_kind(self.registry, row, nth));
            nth += 1;
            match (kind, arg.value) {
                (Some(ParamKind::Word), Value::Expr(expr)) if matches!(tree[expr].kind, ExprKind::Path) => {
                    self.mention(tree[expr].range, What::Word);
                }
                (_, value) => self.value(tree, value),
            }
            // Only the first argument is what a stage is made of.
            self.makes = None;
        }
    }

    pub(super) fn value(&mut self, tree: &Tree, value: Value) {
        match value {
            Value::Expr(expr) => self.expr(tree, expr),
            Value::Type(ty) => self.ty(tree, ty),
            Value::Dict(dict) => self.attrs(tree, tree[dict].attrs),
        }
    }

    /// An expression, or a word where only that can stand.
    pub(super) fn expr_or_word(&mut self, tree: &Tree, expr: ExprId) {
        let range = tree[expr].range;
        if matches!(tree[expr].kind, ExprKind::Path) && self.scopes.get(range.of(self.source)).is_none() {
            return self.mention(range, What::Word);
        }
        self.expr(tree, expr);
    }

    /// A name, or in a schedule a stage or an axis.
    fn path(&mut self, range: TextRange) {
        let text = range.of(self.source);
        let makes = self.makes.take();
        if let Some(def) = self.scopes.get(text) {
            if let Some(made) = makes {
                self.index.defs[made].of = Some(def);
            }
            return self.mention(range, What::Use(def));
        }
        if self.context != Context::Sched {
            if text.contains('.') {
                self.mention(range, What::Word);
            }
            return;
        }
        let head = text.split_once('.').and_then(|(head, _)| self.scopes.get(head));
        self.pend(range, PendingKind::Path { head, makes });
    }

    pub(super) fn ty(&mut self, tree: &Tree, id: Id<Type>) {
        let Type { name, element, args, shape, .. } = tree[id];
        if !element {
            self.mention(name, What::Type);
        }
        for &arg in args.map_or(&[][..], |args| &tree[args]) {
            if let TypeArg::Type(inner) = arg {
                self.ty(tree, inner);
            }
        }
        for &extent in shape.map_or(&[][..], |shape| &tree[shape]) {
            self.expr(tree, extent);
        }
    }

    pub(super) fn tail(&mut self, tree: &Tree, tail: Option<Id<Tail>>) {
        if let Some(tail) = tail {
            self.attrs(tree, tree[tail].attrs);
        }
    }

    pub(super) fn attrs(&mut self, tree: &Tree, attrs: List<Attr>) {
        for attr in &tree[attrs] {
            self.mention(attr.key, What::Key);
            match attr.value {
                Some(Value::Expr(expr)) => self.expr_or_word(tree, expr),
                Some(value) => self.value(tree, value),
                None => {}
            }
        }
    }
}

/// What stands at the argument `nth`, of those without a key.
fn param_kind(registry: &Registry, row: Opcode, nth: usize) -> Option<ParamKind> {
    let mut params = registry.row(row).params.iter().filter(|param| !param.keyed).enumerate();
    params.find(|(at, param)| *at == nth || param.kind == ParamKind::Values).map(|(_, param)| param.kind)
}
