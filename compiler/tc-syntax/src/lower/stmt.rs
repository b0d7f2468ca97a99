//! Statements.

use super::call::Written;
use super::state::Lower;
use crate::tree::{
    Block, ExprId, ExprKind, Id, List, Region as TreeRegion, Stmt, StmtKind, Terminator, TerminatorKind, TextRange,
};
use tc_ir::builder::OpSpec;
use tc_ir::opdef::{Context, Role};
use tc_ir::{Attrs, Opcode, Region, Type, Value};
use tc_support::{counted, suggest};

impl<'a> Lower<'a> {
    /// Lowers the statements of `block` into the current region, and its end with the types that are expected.
    pub(super) fn block(&mut self, block: Id<Block>, expected: &[Type]) {
        let block = self.tree[block];
        for stmt in &self.tree[block.stmts] {
            self.stmt(stmt);
        }
        if let Some(end) = block.end {
            self.terminator(self.tree[end], expected);
        }
    }

    fn terminator(&mut self, end: Terminator, expected: &[Type]) {
        let role = match end.kind {
            TerminatorKind::Return => Role::Return,
            TerminatorKind::Yield => Role::Yield,
        };
        let Some(opcode) = self.func.registry().by_role(self.context, role) else {
            self.error(end.range, "context", "a program returns nothing: it stores its results");
            return;
        };
        let mut values = Vec::with_capacity(end.values.len());
        for (nth, &value) in self.tree[end.values].iter().enumerate() {
            let Some(value) = self.expr(value, expected.get(nth).copied()) else { return };
            values.push(value);
        }
        let loc = self.loc(end.range);
        self.emit(loc, OpSpec { opcode, operands: &values, keyed: 0, attrs: Attrs::EMPTY, results: &[], n_regions: 0 });
    }

    fn stmt(&mut self, stmt: &Stmt) {
        let tail = stmt.tail.map(|tail| self.tree[tail]);
        let around = self.directive;
        self.directive = self.written_directive(tail);
        self.stmt_with(stmt, tail);
        self.directive = around;
    }

    fn stmt_with(&mut self, stmt: &Stmt, tail: Option<crate::tree::Tail>) {
        match stmt.kind {
            StmtKind::Compute { names, axes, value } => {
                self.compute(stmt.range, names, axes, value, tail);
            }
            StmtKind::Store { place, value } => {
                self.store(stmt.range, place, value, tail);
            }
            StmtKind::Let { name, ty, value } => {
                self.let_stmt(name, ty, value, tail);
            }
            StmtKind::Alloc { name, ty, scope } => {
                if self.context != Context::Tir && !self.in_program_block() {
                    return self.error(stmt.range, "context", "only a program allocates");
                }
                if self.alloc(stmt.range, name, ty, scope, tail).is_none() {
                    self.bind_missing(name);
                }
            }
            StmtKind::Call(call) => {
                if let Some(op) = self.call(call, None, Written::default())
                    && let Some(tail) = tail
                    && tail.loc.is_some()
                {
                    let (_, loc) = self.tail(Some(tail), stmt.range);
                    self.func.set_source_loc(op, loc);
                }
            }
            StmtKind::Assign { names, value } => self.assign(stmt, names, value),
            StmtKind::Op(op) => self.op_stmt(stmt, op),
            StmtKind::PathBlock { name, block } => self.path_block(name, block),
            StmtKind::For(id) => self.for_loop(stmt, id, tail),
            StmtKind::If { names, branch } if self.context == Context::Sched => self.schedule_if(names, branch),
            StmtKind::If { names, branch } => self.if_stmt(names, branch),
        }
    }

    fn let_stmt(
        &mut self,
        name: TextRange,
        ty: Option<Id<crate::tree::Type>>,
        value: ExprId,
        tail: Option<crate::tree::Tail>,
    ) {
        let expected = match ty {
            Some(ty) => match self.declared_type(ty, None) {
                Some(ty) => Some(ty),
                None => return self.bind_missing(name),
            },
            None => None,
        };
        // In an operator a `let` names an index expression.
        let outer = self.mixing;
        self.mixing |= self.context == Context::Te;
        let lowered = self.expr(value, expected);
        self.mixing = outer;
        let Some(lowered) = lowered else { return self.bind_missing(name) };
        if let Some(expected) = expected
            && self.func.value_type(lowered) != expected
        {
            let (want, have) = (self.func.show_type(expected), self.func.show_type(self.func.value_type(lowered)));
            self.error(
                self.tree[value].range,
                "type",
                format!("`{}` is declared `{want}`, not `{have}`", self.text(name)),
            );
        }
        if let Some(tail) = tail
            && let Some(first) = self.tree[tail.attrs].first()
        {
            let help = "write the op as a call: `x = tir.load(A, i, aligned = 16)`".to_string();
            self.error_with(first.key, "attribute", "a `let` has no attributes".to_string(), Some(help));
        }
        if let Some(tail) = tail
            && let Some(op) = self.func.def_op(lowered)
            && tail.loc.is_some()
        {
            let (_, loc) = self.tail(Some(tail), name);
            self.func.set_source_loc(op, loc);
        }
        self.bind(name, lowered);
    }

    /// Notes a name whose definition failed, so that its uses are not reported as well.
    pub(super) fn bind_missing(&mut self, name: TextRange) {
        self.missing.insert(self.text(name));
    }

    fn assign(&mut self, stmt: &Stmt, names: List<TextRange>, value: ExprId) {
        let n_names = names.len();
        let is_op = matches!(self.tree[value].kind, ExprKind::Call { .. })
            && self.text(self.tree.name(value)) != "if_then_else";
        let results: Option<Vec<Value>> = if is_op {
            let op = self.call(value, None, Written { n_names, ..Written::default() });
            op.map(|op| {
                if let Some(tail) = stmt.tail {
                    let tail = self.tree[tail];
                    if tail.loc.is_some() {
                        let (_, loc) = self.tail(Some(tail), stmt.range);
                        self.func.set_source_loc(op, loc);
                    }
                    self.extra_attrs(op, stmt.range, tail);
                }
                self.func.results(op).collect()
            })
        } else {
            let n_before = self.func.n_op_ids();
            let result = self.expr(value, None);
            // A second name for what was there before leaves that where it was.
            if let Some(tail) = stmt.tail.map(|tail| self.tree[tail])
                && tail.loc.is_some()
                && let Some(op) = result.and_then(|value| self.func.def_op(value))
                && op.as_u32() as usize >= n_before
            {
                let (_, loc) = self.tail(Some(tail), stmt.range);
                self.func.set_source_loc(op, loc);
            }
            result.map(|value| vec![value])
        };
        self.bind_all(stmt.range, names, results);
    }

    /// Binds `names` to `results`, one each.
    pub(super) fn bind_all(&mut self, range: TextRange, names: List<TextRange>, results: Option<Vec<Value>>) {
        let names: Vec<TextRange> = self.tree[names].to_vec();
        match results {
            Some(results) if results.len() == names.len() => {
                for (&name, value) in names.iter().zip(results) {
                    // A name for what has one is a second name.
                    if self.context == Context::Sched && self.func.value_name(value).is_some() {
                        self.bind_only(name, value);
                    } else {
                        self.bind(name, value);
                    }
                }
            }
            Some(results) => {
                self.error(
                    range,
                    "results",
                    format!("{} for {}", counted(names.len(), "name"), counted(results.len(), "result")),
                );
                names.into_iter().for_each(|name| self.bind_missing(name));
            }
            None => names.into_iter().for_each(|name| self.bind_missing(name)),
        }
    }

    fn extra_attrs(&mut self, op: tc_ir::Op, range: TextRange, tail: crate::tree::Tail) {
        if tail.attrs.is_empty() {
            return;
        }
        let extra = self.op_attrs(tail.attrs);
        let first = self.func.entries(self.func.op_attrs(op)).to_vec();
        let attrs = self.join_attrs(range, &first, extra);
        tc_ir::Rewriter::new(&mut self.func).set_attrs(op, attrs);
    }

    /// `a, b = dialect.op(…) : type, type (x: type) { … }`.
    fn op_stmt(&mut self, stmt: &Stmt, id: Id<crate::tree::Op>) {
        let node = self.tree[id];
        let mut types = Vec::with_capacity(node.types.len());
        for &ty in &self.tree[node.types] {
            match self.result_type(ty) {
                Some(ty) => types.push(ty),
                None => return self.bind_all(stmt.range, node.names, None),
            }
        }
        let written = Written {
            n_names: node.names.len(),
            types: (!types.is_empty()).then_some(&types),
            n_regions: node.regions.len(),
        };
        let Some(op) = self.call(node.call, None, written) else { return self.bind_all(stmt.range, node.names, None) };
        if let Some(tail) = stmt.tail {
            let (_, loc) = self.tail(Some(self.tree[tail]), stmt.range);
            self.func.set_source_loc(op, loc);
        }
        for (idx, &region) in self.tree[node.regions].iter().enumerate() {
            let target = self.func.op_regions(op)[idx];
            self.op_region(op, target, region);
        }
        let results: Vec<Value> = self.func.results(op).collect();
        if node.names.is_empty() && results.is_empty() {
            return;
        }
        self.bind_all(stmt.range, node.names, Some(results));
    }

    fn op_region(&mut self, op: tc_ir::Op, target: Region, region: TreeRegion) {
        let expected: Vec<Type> = self.func.results(op).map(|value| self.func.value_type(value)).collect();
        self.inside(target, |lower| {
            for &param in &lower.tree[region.params] {
                let scope =
                    param.within.map(|scope| lower.tree[scope].range).map(|range| lower.func.name(lower.text(range)));
                let ty = match param.ty {
                    Some(ty) => lower.declared_type(ty, scope),
                    None => Some(lower.func.index_ty()),
                };
                let Some(ty) = ty else { return };
                let value = lower.func.push_arg(target, ty, None);
                lower.bind(param.name, value);
            }
            lower.block(region.block, &expected);
        });
    }

    /// `init { … }`.
    fn path_block(&mut self, name: TextRange, block: Id<Block>) {
        let text = self.text(name);
        let opcode = self.resolve(text);
        let is_block = opcode.is_some_and(|opcode| self.func.registry().row(opcode).role == Role::Block);
        let opcode = match opcode {
            Some(opcode) if is_block => opcode,
            None if self.options.allow_unknown_ops => Opcode::UNKNOWN,
            _ => {
                let names = self.func.registry().short_names(self.context);
                let help = suggest::nearest(text, names).map(|near| format!("did you mean `{near}`?"));
                return self.error_with(name, "unknown-op", format!("unknown op `{}`", suggest::shorten(text)), help);
            }
        };
        let attrs = if opcode == Opcode::UNKNOWN {
            let word = self.func.word_attr(text);
            self.func.dict(&[(tc_ir::keys::OP_NAME, word)])
        } else {
            Attrs::EMPTY
        };
        let loc = self.loc(name);
        let op = self.emit(loc, OpSpec { opcode, operands: &[], keyed: 0, attrs, results: &[], n_regions: 1 });
        let region = self.func.op_regions(op)[0];
        let expected = self.scalar_results();
        self.inside(region, |lower| lower.block(block, &expected));
    }
}
