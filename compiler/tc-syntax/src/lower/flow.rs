//! Loops and conditionals.

use super::state::Lower;
use crate::tree::{Else, ExprId, ExprKind, For, Id, If, List, Stmt, Tail, TextRange, Value as TreeValue};
use tc_ir::builder::OpSpec;
use tc_ir::opdef::{Context, Role};
use tc_ir::{Attr, Attrs, Name, Region, Type, Value, keys};
use tc_support::{counted, suggest};

/// A value that a loop carries: its name inside, and what it starts from.
type Carried = (TextRange, Value);

impl<'a> Lower<'a> {
    /// `for i in low..high kind carry(a = e) attributes {…} { … }`.
    pub(super) fn for_loop(&mut self, stmt: &Stmt, id: Id<For>, tail: Option<Tail>) {
        let node = self.tree[id];
        if self.context != Context::Tir && !self.in_program_block() {
            self.error(stmt.range, "context", "only a program has loops");
            return self.bind_all(stmt.range, node.names, None);
        }
        let Some((lo, hi)) = self.bounds(node.low, node.high) else {
            return self.bind_all(stmt.range, node.names, None);
        };
        let mut attrs: Vec<(Name, Attr)> = Vec::new();
        let mut carried: Vec<Carried> = Vec::new();
        for &kind in &self.tree[node.kinds] {
            if self.loop_kind(kind, &mut attrs, &mut carried).is_none() {
                return self.bind_all(stmt.range, node.names, None);
            }
        }
        let Some(opcode) = self.opcode_for(Role::For, stmt.range) else { return };
        let (extra, loc) = self.tail(tail, stmt.range);
        let attrs = self.join_attrs(stmt.range, &attrs, extra);
        let types: Vec<Type> = carried.iter().map(|&(_, init)| self.func.value_type(init)).collect();
        let mut operands = vec![lo, hi];
        operands.extend(carried.iter().map(|&(_, init)| init));
        let op = self.emit(loc, OpSpec { opcode, operands: &operands, keyed: 0, attrs, results: &types, n_regions: 1 });
        let region = self.func.op_regions(op)[0];
        let var_ty = self.func.value_type(lo);
        self.inside(region, |lower| {
            let var = lower.func.push_arg(region, var_ty, None);
            lower.bind(node.var, var);
            for (&(name, _), &ty) in carried.iter().zip(&types) {
                let value = lower.func.push_arg(region, ty, None);
                lower.bind(name, value);
            }
            lower.block(node.block, &types);
        });
        let results: Vec<Value> = self.func.results(op).collect();
        if node.names.is_empty() && results.is_empty() {
            return;
        }
        self.bind_all(stmt.range, node.names, Some(results));
    }

    fn bounds(&mut self, low: ExprId, high: ExprId) -> Option<(Value, Value)> {
        let expected = self.func.index_ty();
        let ty = self.common_type(&[low, high], Some(expected));
        if let Some(ty) = ty
            && !self.func.as_scalar(ty).is_some_and(|scalar| scalar.elem.is_int())
        {
            let have = self.func.show_type(ty);
            let range = self.tree[low].range.to(self.tree[high].range);
            self.error(range, "type", format!("the bounds of a loop must be integers, not `{have}`"));
            return None;
        }
        let lo = self.mixing(|lower| lower.expr(low, ty))?;
        let hi = self.mixing(|lower| lower.expr(high, ty))?;
        let (lo_ty, hi_ty) = (self.func.value_type(lo), self.func.value_type(hi));
        if lo_ty == hi_ty {
            return Some((lo, hi));
        }
        // `index` and other integers mix in bounds.
        let loc = self.expr_loc(low);
        let cast = |lower: &mut Lower<'a>, value: Value| {
            let is_int = lower.func.value_scalar(value).is_some_and(|scalar| scalar.elem.is_int() && scalar.lanes == 1);
            if is_int && lower.func.value_type(value) != expected {
                return lower.emit_value(loc, lower.sugar.cast, &[value], Attrs::EMPTY, expected);
            }
            value
        };
        Some((cast(self, lo), cast(self, hi)))
    }

    fn loop_kind(&mut self, kind: ExprId, attrs: &mut Vec<(Name, Attr)>, carried: &mut Vec<Carried>) -> Option<()> {
        let range = self.tree[kind].range;
        let word = self.text(self.tree.name(kind));
        let (name, args) = match self.tree[kind].kind {
            ExprKind::Call { symbol: false, args, .. } => (word, args),
            ExprKind::Path => (word, List::EMPTY),
            _ => return self.bad_kind(range, word),
        };
        if name == "carry" {
            for &arg in &self.tree[args] {
                let (Some(key), TreeValue::Expr(init)) = (arg.key, arg.value) else {
                    self.error(range, "loop-kind", "`carry` takes `name = start`");
                    return None;
                };
                let init = self.expr(init, None)?;
                carried.push((self.tree[key], init));
            }
            return Some(());
        }
        if attrs.iter().any(|(key, _)| *key == keys::KIND) {
            self.error(range, "loop-kind", "a loop has one kind");
            return None;
        }
        match name {
            "serial" | "vectorize" if args.is_empty() => {
                let word = self.func.word_attr(name);
                attrs.push((keys::KIND, word));
            }
            "unroll" => {
                let word = self.func.word_attr(name);
                attrs.push((keys::KIND, word));
                for &arg in &self.tree[args] {
                    if arg.key.is_none_or(|key| self.text(self.tree[key]) != "factor") {
                        self.error(range, "loop-kind", "`unroll` takes `factor = n`");
                        return None;
                    }
                    let factor = self.attr_value(arg.value)?;
                    attrs.push((keys::FACTOR, factor));
                }
            }
            "bind" => {
                let axes: Vec<ExprId> = self.positional(args).collect();
                let &[axis] = &axes[..] else {
                    self.error(range, "loop-kind", "`bind` takes one launch coordinate, such as `threadIdx.x`");
                    return None;
                };
                let word = self.func.word_attr(name);
                attrs.push((keys::KIND, word));
                let axis = self.axis_attr(self.text(self.tree[axis].range));
                attrs.push(axis);
            }
            _ => return self.bad_kind(range, word),
        }
        Some(())
    }

    fn bad_kind(&mut self, range: TextRange, word: &str) -> Option<()> {
        let help = suggest::did_you_mean(word, ["serial", "unroll", "vectorize", "bind", "carry"]);
        self.error_with(range, "loop-kind", format!("there is no kind of loop `{}`", suggest::shorten(word)), help);
        None
    }

    /// `if c { … } else { … }`, with names for what the branches yield.
    pub(super) fn if_stmt(&mut self, names: List<TextRange>, id: Id<If>) {
        let node = self.tree[id];
        let Some(results) = self.if_chain(id, names.len(), &[]) else {
            return self.bind_all(node.range, names, None);
        };
        if names.is_empty() && results.is_empty() {
            return;
        }
        self.bind_all(node.range, names, Some(results));
    }

    /// Lowers a conditional of `n_results` results; `known` are their types where they are known already.
    fn if_chain(&mut self, id: Id<If>, n_results: usize, known: &[Type]) -> Option<Vec<Value>> {
        let node = self.tree[id];
        let tail = node.tail.map(|tail| self.tree[tail]);
        self.directive = self.written_directive(tail);
        let condition = self.condition(node.condition)?;
        let (attrs, loc) = self.tail(tail, node.range);
        if n_results > 0 && matches!(node.otherwise, Else::None) {
            self.error(node.range, "branch", "an `if` with results needs an `else`");
            return None;
        }
        let n_regions = if matches!(node.otherwise, Else::None) { 1 } else { 2 };
        let placeholder = vec![self.func.bool_ty(); n_results];
        let opcode = self.sugar.branch;
        let op = self
            .emit(loc, OpSpec { opcode, operands: &[condition], keyed: 0, attrs, results: &placeholder, n_regions });
        let then = self.func.op_regions(op)[0];
        self.inside(then, |lower| lower.block(node.then, known));
        let types: Vec<Type> = self.func.yielded(then).iter().map(|&value| self.func.value_type(value)).collect();
        if types.len() != n_results {
            self.error(
                node.range,
                "branch",
                format!("a branch yields {}, not {n_results}", counted(types.len(), "value")),
            );
            return None;
        }
        for (value, &ty) in self.func.results(op).zip(&types) {
            self.func.set_value_type(value, ty);
        }
        let region = self.func.op_regions(op).get(1).copied();
        match (node.otherwise, region) {
            (Else::Block(block), Some(region)) => self.inside(region, |lower| lower.block(block, &types)),
            (Else::If(inner), Some(region)) => self.else_if(region, inner, &types),
            _ => {}
        }
        Some(self.func.results(op).collect())
    }

    fn else_if(&mut self, region: Region, inner: Id<If>, types: &[Type]) {
        self.inside(region, |lower| {
            let loc = lower.loc(lower.tree[inner].range);
            if let Some(results) = lower.if_chain(inner, types.len(), types)
                && !results.is_empty()
            {
                lower.emit_yield(loc, &results);
            }
        });
    }
}
