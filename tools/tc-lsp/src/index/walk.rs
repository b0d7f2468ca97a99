//! A walk through the tree of an item: its definitions, and the uses that its own scopes resolve.

use super::{DefIdx, DefKind, Definition, Fold, Index, IndexItem, ItemIdx, Mention, What};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use tc::dialects::sched;
use tc::ir::opdef::Context;
use tc::ir::{Attrs, Func, Opcode, Registry};
use tc::syntax::tree::{
    Block, Else, ExprId, ExprKind, Id, If, Item, List, Op, Param, Stmt, StmtKind, TextRange, Tree, Value,
};

/// A use that needs other items to be known.
pub(super) struct Pending {
    pub(super) range: TextRange,
    pub(super) item: ItemIdx,
    pub(super) kind: PendingKind,
}

/// What such a use names.
pub(super) enum PendingKind {
    /// What a schedule is for.
    Target,
    /// A symbol that is called.
    Callee,
    /// A symbol that is given.
    Symbol,
    /// A word that may be a combiner.
    Combiner,
    /// A stage of the schedule's operator, or an axis of one.
    Path {
        /// What the part before the dot stands for, where that is known.
        head: Option<DefIdx>,
        /// The stage that the statement makes of the path, by whose axes it is known.
        makes: Option<DefIdx>,
    },
}

/// How many loops around a store can be named by its buffer.
const MAX_LOOPS: usize = 16;

/// The walk.
pub(super) struct Walk<'s> {
    pub(super) source: &'s str,
    pub(super) registry: &'s Registry,
    stage_rows: Vec<Opcode>,
    pub(super) index: Index,
    pending: Vec<Pending>,
    pub(super) scopes: Scopes<'s>,
    /// Ends of the blocks around.
    ends: Vec<u32>,
    pub(super) context: Context,
    item: ItemIdx,
    /// The loops around the statement, for what stores name them by.
    loops: Vec<DefIdx>,
    /// The stages that the statement makes of its first argument.
    pub(super) makes: Option<DefIdx>,
}

/// The names that can be seen.
#[derive(Default)]
pub(super) struct Scopes<'s> {
    seen: FxHashMap<&'s str, Vec<DefIdx>>,
    pub(super) order: Vec<&'s str>,
}

impl<'s> Scopes<'s> {
    fn bind(&mut self, name: &'s str, def: DefIdx) {
        self.seen.entry(name).or_default().push(def);
        self.order.push(name);
    }

    pub(super) fn get(&self, name: &str) -> Option<DefIdx> {
        self.seen.get(name)?.last().copied()
    }

    pub(super) fn close(&mut self, mark: usize) {
        for name in self.order.drain(mark..) {
            if let Some(defs) = self.seen.get_mut(name) {
                defs.pop();
            }
        }
    }

    fn clear(&mut self) {
        self.seen.clear();
        self.order.clear();
    }
}

impl<'s> Walk<'s> {
    pub(super) fn new(source: &'s str, registry: &'s Arc<Registry>) -> Walk<'s> {
        Walk {
            source,
            registry,
            stage_rows: stage_rows(registry),
            index: Index::default(),
            pending: Vec::new(),
            scopes: Scopes::default(),
            ends: Vec::new(),
            context: Context::Any,
            item: 0,
            loops: Vec::new(),
            makes: None,
        }
    }

    pub(super) fn finish(self) -> (Index, Vec<Pending>) {
        (self.index, self.pending)
    }

    /// Takes in an item.
    pub(super) fn item(&mut self, tree: &Tree, item: &Item) {
        let row = self.registry.item(item.kind.of(self.source)).map(|(row, _)| row);
        self.item = self.index.items.len();
        self.context = row.map_or(Context::Any, |row| row.context);
        self.scopes.clear();
        self.loops.clear();
        self.ends = vec![item.range.end];
        let block = tree[item.block].range;
        let first = self.index.defs.len();
        self.index.items.push(IndexItem {
            range: item.range,
            keyword: item.kind,
            block,
            table: row.map(|row| row.table),
            def: first,
            targets: Vec::new(),
            names: Vec::new(),
            defs: first..first,
        });
        self.mention(item.kind, What::ItemKeyword);
        let name = symbol_name(item.name, self.source);
        let def = self.define(DefKind::Item, name, item.range, None);
        self.index.defs[def].scope = TextRange::new(0, self.source.len() as u32);
        for &target in &tree[item.targets] {
            self.pend(symbol_name(target, self.source), PendingKind::Target);
        }
        self.header(tree, item);
        self.block(tree, item.block);
        let end = self.index.defs.len();
        self.index.items[self.item].defs = first..end;
    }

    fn header(&mut self, tree: &Tree, item: &Item) {
        for symbol in &tree[item.symbols] {
            let bounds = symbol.bounds.map(|(low, high)| tree[low].range.to(tree[high].range));
            self.bind_as(DefKind::Size, symbol.name, symbol.range, |def| def.extent = bounds);
            symbol.default.into_iter().for_each(|default| self.expr(tree, default));
        }
        item.params.into_iter().for_each(|params| self.params(tree, params));
        for &result in &tree[item.results] {
            result.ty.into_iter().for_each(|ty| self.ty(tree, ty));
        }
        tree[item.facts].iter().for_each(|&fact| self.expr(tree, fact));
        self.tail(tree, item.tail);
    }

    fn params(&mut self, tree: &Tree, params: List<Param>) {
        for param in &tree[params] {
            let ty = param.ty.map(|ty| tree[ty].range);
            param.ty.into_iter().for_each(|ty| self.ty(tree, ty));
            if let Some(within) = param.within {
                self.expr_or_word(tree, within);
            }
            param.default.into_iter().for_each(|default| self.expr(tree, default));
            self.attrs(tree, param.attrs);
            self.bind_as(DefKind::Param, param.name, param.range, |def| def.ty = ty);
        }
    }

    fn block(&mut self, tree: &Tree, id: Id<Block>) {
        let block = tree[id];
        self.index.folds.push(Fold { range: block.range });
        self.ends.push(block.range.end);
        for stmt in &tree[block.stmts] {
            self.stmt(tree, stmt);
        }
        if let Some(end) = block.end {
            tree[tree[end].values].iter().for_each(|&value| self.expr(tree, value));
        }
        self.ends.pop();
    }

    /// A block with a scope of its own.
    fn inner_block(&mut self, tree: &Tree, id: Id<Block>) {
        let mark = self.scopes.order.len();
        self.block(tree, id);
        self.scopes.close(mark);
    }

    fn stmt(&mut self, tree: &Tree, stmt: &Stmt) {
        self.makes = None;
        self.tail(tree, stmt.tail);
        match stmt.kind {
            StmtKind::Compute { names, axes, value } => self.compute(tree, (names, stmt.range), axes, value),
            StmtKind::Store { place, value } => self.store(tree, place, value),
            StmtKind::Let { name, ty, value } => {
                let written = ty.map(|ty| tree[ty].range);
                ty.into_iter().for_each(|ty| self.ty(tree, ty));
                self.expr(tree, value);
                self.bind_as(DefKind::Value, name, stmt.range, |def| def.ty = written);
            }
            StmtKind::Alloc { name, ty, scope } => {
                self.ty(tree, ty);
                self.mention(scope, What::Word);
                let written = tree[ty].range;
                self.bind_as(DefKind::Buffer, name, stmt.range, |def| def.ty = Some(written));
            }
            StmtKind::Call(call) => self.expr(tree, call),
            StmtKind::Assign { names, value } => self.assign(tree, names, value, stmt.range),
            StmtKind::Op(op) => self.op(tree, op, stmt.range),
            StmtKind::PathBlock { name, block } => {
                self.row(name);
                self.inner_block(tree, block);
            }
            StmtKind::For(id) => self.for_loop(tree, id, stmt.range),
            StmtKind::If { names, branch } => {
                self.branch(tree, branch);
                self.names(tree, names, DefKind::Value, stmt.range);
            }
        }
    }

    fn compute(
        &mut self,
        tree: &Tree,
        (names, whole): (List<TextRange>, TextRange),
        axes: List<tc::syntax::tree::Axis>,
        value: ExprId,
    ) {
        // The axes belong to the tensor, which can be seen after the statement only.
        let first = self.index.defs.len();
        let tensors: Vec<DefIdx> =
            tree[names].iter().map(|&name| self.define(DefKind::Tensor, name, whole, None)).collect();
        tensors.iter().skip(1).for_each(|&tensor| self.index.defs[tensor].of = Some(first));
        let mark = self.scopes.order.len();
        for axis in &tree[axes] {
            self.expr(tree, axis.extent);
            axis.high.into_iter().for_each(|high| self.expr(tree, high));
            let low = tree[axis.extent].range;
            let extent = axis.high.map_or(low, |high| low.to(tree[high].range));
            self.bind_axis(axis.name, axis.range, extent, (first, whole));
        }
        match tree[value].kind {
            ExprKind::Reduce(reduce) => self.reduce(tree, value, reduce, Some((first, whole))),
            _ => self.expr(tree, value),
        }
        self.scopes.close(mark);
        for tensor in tensors {
            let name = self.index.defs[tensor].name.of(self.source);
            self.scopes.bind(name, tensor);
            self.index.defs[tensor].scope = TextRange::new(whole.end, self.end());
        }
    }

    fn bind_axis(&mut self, name: TextRange, whole: TextRange, extent: TextRange, (of, scope): (DefIdx, TextRange)) {
        let axis = self.bind_as(DefKind::Axis, name, whole, |def| {
            (def.extent, def.of, def.scope) = (Some(extent), Some(of), scope);
        });
        self.index.axes.extend(axis.map(|axis| (of, axis)));
    }

    fn store(&mut self, tree: &Tree, place: ExprId, value: ExprId) {
        self.expr(tree, place);
        self.expr(tree, value);
        // A schedule of the program names a loop by what is stored in it.
        let Some(buffer) = self.scopes.get(tree.name(place).of(self.source)) else { return };
        let around = self.loops.iter().rev().take(MAX_LOOPS);
        self.index.axes.extend(around.map(|&around| (buffer, around)));
    }

    fn for_loop(&mut self, tree: &Tree, id: Id<tc::syntax::tree::For>, whole: TextRange) {
        let node = tree[id];
        self.expr(tree, node.low);
        self.expr(tree, node.high);
        let mark = self.scopes.order.len();
        let extent = tree[node.low].range.to(tree[node.high].range);
        self.ends.push(tree[node.block].range.end);
        let var = self.bind_as(DefKind::Loop, node.var, whole, |def| def.extent = Some(extent));
        for &kind in &tree[node.kinds] {
            self.loop_kind(tree, kind);
        }
        self.loops.extend(var);
        self.block(tree, node.block);
        if var.is_some() {
            self.loops.pop();
        }
        self.ends.pop();
        self.scopes.close(mark);
        self.names(tree, node.names, DefKind::Value, whole);
    }

    /// `bind(threadIdx.x)`, `unroll`, `carry(a = e)`, whose keys are names.
    fn loop_kind(&mut self, tree: &Tree, kind: ExprId) {
        let name = tree.name(kind);
        self.mention(name, What::Word);
        let ExprKind::Call { args, .. } = tree[kind].kind else { return };
        let carries = name.of(self.source) == "carry";
        for arg in &tree[args] {
            match arg.key {
                Some(key) if carries => {
                    self.value(tree, arg.value);
                    let whole = tree[key];
                    self.bind_as(DefKind::Value, whole, whole, |_| {});
                }
                Some(key) => {
                    self.mention(tree[key], What::Key);
                    self.value(tree, arg.value);
                }
                None => match arg.value {
                    Value::Expr(expr) => self.expr_or_word(tree, expr),
                    value => self.value(tree, value),
                },
            }
        }
    }

    fn branch(&mut self, tree: &Tree, first: Id<If>) {
        let mut next = Some(first);
        while let Some(id) = next.take() {
            let node = tree[id];
            self.expr(tree, node.condition);
            self.branch_block(tree, node.then);
            match node.otherwise {
                Else::None => {}
                Else::Block(block) => self.branch_block(tree, block),
                Else::If(id) => next = Some(id),
            }
        }
    }

    /// What a branch of a schedule binds can be seen after it.
    fn branch_block(&mut self, tree: &Tree, block: Id<Block>) {
        if self.context != Context::Sched {
            return self.inner_block(tree, block);
        }
        let (ends, outer) = (self.ends.len(), self.end());
        self.index.folds.push(Fold { range: tree[block].range });
        for stmt in &tree[tree[block].stmts] {
            self.stmt(tree, stmt);
        }
        debug_assert_eq!((ends, outer), (self.ends.len(), self.end()), "blocks are closed");
    }

    fn assign(&mut self, tree: &Tree, names: List<TextRange>, value: ExprId, whole: TextRange) {
        if self.context != Context::Sched {
            self.expr(tree, value);
            return self.names(tree, names, DefKind::Value, whole);
        }
        let kind = match tree[value].kind {
            ExprKind::Call { .. } if self.makes_stage(tree.name(value).of(self.source)) => DefKind::Stage,
            ExprKind::Path if !tree[value].range.of(self.source).contains('.') => DefKind::Stage,
            _ => DefKind::SplitAxis,
        };
        // The names are bound after the value is read, which may use an earlier one.
        let first = self.index.defs.len();
        for &name in &tree[names] {
            if name.of(self.source) != "_" {
                self.define(kind, name, whole, None);
            }
        }
        let end = self.index.defs.len();
        self.makes = (kind == DefKind::Stage && end == first + 1).then_some(first);
        self.expr(tree, value);
        self.makes = None;
        for def in first..end {
            self.index.defs[def].scope = TextRange::new(whole.end, self.end());
            let name = self.index.defs[def].name.of(self.source);
            self.scopes.bind(name, def);
        }
    }

    /// Does the directive `name` give a stage?
    fn makes_stage(&self, name: &str) -> bool {
        self.registry.by_short(Context::Sched, name).is_some_and(|row| self.stage_rows.contains(&row))
    }

    fn op(&mut self, tree: &Tree, id: Id<Op>, whole: TextRange) {
        let node = tree[id];
        self.expr(tree, node.call);
        for result in &tree[node.types] {
            self.ty(tree, result.ty);
            result.scope.into_iter().for_each(|scope| self.mention(tree[scope], What::Word));
        }
        for region in &tree[node.regions] {
            let mark = self.scopes.order.len();
            self.ends.push(tree[region.block].range.end);
            self.params(tree, region.params);
            self.block(tree, region.block);
            self.ends.pop();
            self.scopes.close(mark);
        }
        self.names(tree, node.names, DefKind::Value, whole);
    }

    fn names(&mut self, tree: &Tree, names: List<TextRange>, kind: DefKind, whole: TextRange) {
        for &name in &tree[names] {
            self.bind_as(kind, name, whole, |_| {});
        }
    }

    // Notes.

    fn end(&self) -> u32 {
        self.ends.last().copied().unwrap_or_default()
    }

    pub(super) fn mention(&mut self, range: TextRange, what: What) {
        self.index.mentions.push(Mention { range, what });
    }

    pub(super) fn pend(&mut self, range: TextRange, kind: PendingKind) {
        self.pending.push(Pending { range, item: self.item, kind });
    }

    /// The name of an op.
    pub(super) fn row(&mut self, name: TextRange) -> Option<Opcode> {
        let text = name.of(self.source);
        let row = self.registry.by_name(text);
        let row = row.or_else(|| self.registry.by_short(self.context, text));
        let row = row.or_else(|| self.registry.by_short(Context::Any, text))?;
        self.mention(name, What::Row(row));
        Some(row)
    }

    fn define(&mut self, kind: DefKind, name: TextRange, whole: TextRange, ty: Option<TextRange>) -> DefIdx {
        let def = self.index.defs.len();
        let scope = TextRange::new(whole.end, self.end());
        self.index.defs.push(Definition { name, whole, kind, item: self.item, scope, ty, extent: None, of: None });
        self.mention(name, What::Definition(def));
        def
    }

    /// Defines the name and binds it, unless it is `_` or empty.
    pub(super) fn bind_as(
        &mut self,
        kind: DefKind,
        name: TextRange,
        whole: TextRange,
        more: impl FnOnce(&mut Definition),
    ) -> Option<DefIdx> {
        let text = name.of(self.source);
        if text.is_empty() || text == "_" {
            return None;
        }
        let def = self.define(kind, name, whole, None);
        if matches!(kind, DefKind::Loop) {
            // It can be seen in the loop, which ends where the innermost block does.
            self.index.defs[def].scope = TextRange::new(name.end, self.end());
        }
        more(&mut self.index.defs[def]);
        self.scopes.bind(text, def);
        Some(def)
    }
}

/// The directives that give a stage, as their rows say.
fn stage_rows(registry: &Arc<Registry>) -> Vec<Opcode> {
    let mut func = Func::new(registry.clone(), sched::SCHEDULE, "");
    let stage = sched::stage_type(&mut func);
    let rows = registry.short_names(Context::Sched).filter_map(|name| registry.by_short(Context::Sched, name));
    let of_sched = rows.filter(|&opcode| opcode.dialect() == sched::SCHEDULE.dialect());
    // What they give does not depend on what they are given.
    of_sched.filter(|&opcode| func.infer_types(opcode, &[], Attrs::EMPTY).is_ok_and(|types| types == [stage])).collect()
}

/// `name` of `@name`.
pub(super) fn symbol_name(range: TextRange, source: &str) -> TextRange {
    let skip = u32::from(range.of(source).starts_with('@'));
    TextRange::new(range.start + skip, range.end)
}
