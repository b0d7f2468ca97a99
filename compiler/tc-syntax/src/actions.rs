//! What the grammar's actions do: they add nodes to the tree, note errors, and hand out whole items.

use crate::recover::{ErrorText, Shared};
use crate::token::Token;
use crate::tree::{
    Arg, Attr, BinaryOp, Block, Dict, Expr, ExprId, ExprKind, Id, If, Item, List, Op, Param, Reduce, Region,
    ResultType, Slice, Slot, Stmt, StmtKind, SymbolParam, Tail, Terminator, TextRange, Tree, Type, TypeArg, Value,
};
use lalrpop_util::ErrorRecovery;
use tc_support::Pos;

/// What the generated parser hands on for a syntax error.
pub(crate) type Recovered = ErrorRecovery<u32, Token, ()>;

/// Which items are handed out.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Those that are free of syntax errors.
    Whole,
    /// Those whose head is.
    Partial,
}

/// The state of a parse.
pub(crate) struct Parse<'c> {
    pub(crate) tree: Tree,
    pub(crate) shared: &'c Shared,
    pub(crate) source: &'c str,
    pub(crate) sink: &'c mut dyn FnMut(&Tree, &Item),
    /// Up to where the items have been handed out, by this parse or an earlier one.
    pub(crate) done: u32,
    wanted: Wanted,
    /// Has the item at hand an error?
    pub(crate) broken: bool,
}

/// The parts of an item, in the order in which they are written.
pub(crate) struct ItemParts {
    pub(crate) kind: TextRange,
    pub(crate) name: TextRange,
    pub(crate) targets: List<TextRange>,
    pub(crate) symbols: List<SymbolParam>,
    pub(crate) params: Option<List<Param>>,
    pub(crate) results: List<Param>,
    pub(crate) facts: List<ExprId>,
    pub(crate) tail: Option<Id<Tail>>,
    pub(crate) block: Id<Block>,
}

/// A chain of operands and binary operators that is still being read. The operators that wait for their right
/// operand are in [`Tree::pending`], from `base` on.
#[derive(Clone, Copy)]
pub(crate) struct Chain {
    base: u32,
    last: ExprId,
}

impl Param {
    /// A result without a name.
    pub(crate) fn unnamed(range: TextRange, ty: Id<Type>) -> Param {
        let name = TextRange::new(range.start, range.start);
        Param { range, name, ty: Some(ty), within: None, default: None, attrs: List::EMPTY }
    }
}

impl<'c> Parse<'c> {
    /// A parse of `source` that does not hand out the items before `done`, and those that are `wanted` of the others.
    pub(crate) fn new(
        source: &'c str,
        base: Pos,
        sink: &'c mut dyn FnMut(&Tree, &Item),
        shared: &'c Shared,
        (done, wanted): (u32, Wanted),
    ) -> Parse<'c> {
        Parse { tree: Tree::new(base), shared, source, sink, done, wanted, broken: false }
    }

    /// The line `tir 1`.
    pub(crate) fn version(&mut self, word: TextRange, number: TextRange) {
        if word.of(self.source) != "tir" || number.of(self.source) != "1" {
            let error_text = ErrorText::new("unknown version of the language").help("the version line is `tir 1`");
            self.shared.report(word.to(number), error_text);
        }
    }

    /// A whole item: hands it out, and forgets it.
    pub(crate) fn item(&mut self, range: TextRange, parts: ItemParts) {
        let ItemParts { kind, name, targets, symbols, params, results, facts, tail, block } = parts;
        if self.wanted == Wanted::Partial || (!self.broken && !self.shared.take_broken()) {
            let item = Item { range, kind, name, targets, symbols, params, results, facts, tail, block };
            if range.start >= self.done {
                (self.sink)(&self.tree, &item);
                self.done = range.end;
            }
        }
        self.next_item();
    }

    /// An item that does not parse.
    pub(crate) fn broken_item(&mut self, error: Recovered) {
        self.shared.syntax_error(error);
        self.next_item();
    }

    fn next_item(&mut self) {
        self.broken = false;
        self.tree.clear();
        self.shared.take_broken();
        self.shared.angles.set(0);
        self.shared.peak.set(self.shared.depth.get());
    }

    /// A statement that does not parse. The node that stands for it is seen only by who wants broken items:
    /// its range is empty.
    pub(crate) fn broken_stmt(&mut self, error: Recovered) -> Slot<Stmt> {
        self.shared.syntax_error(error);
        self.broken = true;
        self.shared.angles.set(0);
        self.tree.pending.clear();
        let call = self.atom(TextRange::default(), ExprKind::Path);
        self.stmt(0, 0, None, StmtKind::Call(call))
    }

    /// A statement from `start` to `end`.
    pub(crate) fn stmt(&mut self, start: u32, end: u32, tail: Option<Id<Tail>>, kind: StmtKind) -> Slot<Stmt> {
        self.tree.open(Stmt { range: TextRange::new(start, end), tail, kind })
    }

    /// Attributes that do not parse.
    pub(crate) fn broken_attributes(&mut self, error: Recovered) -> List<Attr> {
        self.shared.syntax_error(error);
        self.broken = true;
        List::EMPTY
    }

    /// A token of which the tree keeps the text.
    pub(crate) fn text(&mut self, start: u32, end: u32) -> TextRange {
        self.shared.idle.set(0);
        TextRange::new(start, end)
    }

    /// A block.
    pub(crate) fn block(
        &mut self,
        start: u32,
        end: u32,
        stmts: Option<Slot<Stmt>>,
        terminator: Option<Id<Terminator>>,
    ) -> Id<Block> {
        let stmts = self.tree.close(stmts);
        let range = self.text(start, end);
        self.tree.add(Block { range, stmts, end: terminator })
    }

    /// A dictionary.
    pub(crate) fn dict(&mut self, start: u32, end: u32, attrs: List<Attr>) -> Value {
        let range = self.text(start, end);
        Value::Dict(self.tree.add(Dict { range, attrs }))
    }

    /// An expression.
    pub(crate) fn atom(&mut self, range: TextRange, kind: ExprKind) -> ExprId {
        self.shared.idle.set(0);
        self.tree.add(Expr { range, kind })
    }

    /// `name[axes](args)`.
    pub(crate) fn reduce(&mut self, range: TextRange, name: TextRange, axes: List<Slice>, args: List<Arg>) -> ExprId {
        let node = self.tree.add(Reduce { name_end: name.end, axes, args });
        self.atom(range, ExprKind::Reduce(node))
    }

    /// `(e)`. Parentheses leave nothing behind but the range of an operator.
    pub(crate) fn parens(&mut self, range: TextRange, expr: ExprId) -> ExprId {
        let node = self.tree.node_mut(expr);
        if matches!(node.kind, ExprKind::Binary { .. } | ExprKind::Unary { .. } | ExprKind::Ref(_)) {
            node.range = range;
        }
        expr
    }

    /// A chain begins with `first`, `op`, which stands at `at`, and `operand`.
    pub(crate) fn open_chain(&mut self, first: ExprId, at: u32, op: BinaryOp, operand: ExprId) -> Chain {
        let base = self.tree.pending.len() as u32;
        self.wait(at, op, first);
        Chain { base, last: operand }
    }

    /// A chain goes on with `op`, which stands at `at`, and `operand`.
    pub(crate) fn push_chain(&mut self, mut chain: Chain, at: u32, op: BinaryOp, operand: ExprId) -> Chain {
        while self.tree.pending.len() > chain.base as usize
            && let Some(&(waiting, lhs)) = self.tree.pending.last()
            && waiting.precedence() >= op.precedence()
        {
            if waiting.is_comparison() && op.is_comparison() {
                let error_text =
                    ErrorText::new(format!("comparisons do not chain: `{}` after `{}`", op.text(), waiting.text()))
                        .help(format!("write `a {} b && b {} c`, or parentheses", waiting.text(), op.text()));
                self.shared.report(TextRange::new(at, at + op.text().len() as u32), error_text);
                self.broken = true;
            }
            self.tree.pending.pop();
            chain.last = self.binary(waiting, lhs, chain.last);
        }
        self.wait(at, op, chain.last);
        Chain { base: chain.base, last: operand }
    }

    /// An operator and its left operand wait for the right operand to be whole.
    fn wait(&mut self, at: u32, op: BinaryOp, lhs: ExprId) {
        self.tree.pending.push((op, lhs));
        if !self.shared.fits(self.tree.pending.len()) {
            self.shared.too_deep(TextRange::new(at, at + op.text().len() as u32));
        }
    }

    /// A chain ends.
    pub(crate) fn close_chain(&mut self, chain: Chain) -> ExprId {
        let mut last = chain.last;
        while self.tree.pending.len() > chain.base as usize
            && let Some((op, lhs)) = self.tree.pending.pop()
        {
            last = self.binary(op, lhs, last);
        }
        last
    }

    fn binary(&mut self, op: BinaryOp, lhs: ExprId, rhs: ExprId) -> ExprId {
        let range = TextRange::new(self.tree[lhs].range.start, self.tree[rhs].range.end);
        self.atom(range, ExprKind::Binary { op, lhs, rhs })
    }

    /// Type arguments begin: the token after their `<` is at `at`.
    pub(crate) fn open_angle(&mut self, at: u32) {
        self.shared.angles.set(self.shared.angles.get() + 1);
        if !self.shared.fits(0) {
            self.shared.too_deep(TextRange::new(at, at));
        }
    }

    /// Type arguments end.
    pub(crate) fn close_angle(&mut self, start: Option<Slot<TypeArg>>) -> List<TypeArg> {
        self.shared.angles.set(self.shared.angles.get().saturating_sub(1));
        self.tree.close(start)
    }

    /// What trails something.
    pub(crate) fn tail(&mut self, attrs: List<Attr>, locs: Option<(TextRange, Option<TextRange>)>) -> Id<Tail> {
        let loc = locs.map(|(loc, _)| self.tree.add(loc));
        let directive = locs.and_then(|(_, directive)| directive).map(|directive| self.tree.add(directive));
        self.tree.add(Tail { attrs, loc, directive })
    }

    /// The only result of an item, written without parentheses.
    pub(crate) fn result(&mut self, range: TextRange, ty: Id<Type>) -> List<Param> {
        let start = self.tree.open(Param::unnamed(range, ty));
        self.tree.close(Some(start))
    }

    /// A result type of an op.
    pub(crate) fn result_type(&mut self, ty: Id<Type>, scope: Option<TextRange>) -> ResultType {
        let scope = scope.map(|scope| self.tree.add(scope));
        ResultType { ty, scope }
    }

    /// An op with result types or regions, so far without names.
    pub(crate) fn typed_op(
        &mut self,
        call: ExprId,
        types: Option<Slot<ResultType>>,
        regions: Option<Slot<Region>>,
    ) -> Id<Op> {
        let types = self.tree.close(types);
        let regions = self.tree.close(regions);
        self.tree.add(Op { names: List::EMPTY, call, types, regions })
    }

    /// The statement that an op is.
    pub(crate) fn op(
        &mut self,
        start: u32,
        end: u32,
        names: Option<List<TextRange>>,
        op: Id<Op>,
        loc: Option<Id<Tail>>,
    ) -> Slot<Stmt> {
        if let Some(names) = names {
            self.tree.node_mut(op).names = names;
        }
        self.stmt(start, end, loc, StmtKind::Op(op))
    }

    /// The statement that a conditional is.
    pub(crate) fn if_stmt(
        &mut self,
        start: u32,
        end: u32,
        names: Option<List<TextRange>>,
        branch: Id<If>,
    ) -> Slot<Stmt> {
        let names = names.unwrap_or(List::EMPTY);
        self.stmt(start, end, self.tree[branch].tail, StmtKind::If { names, branch })
    }

    /// A loop's kind without arguments.
    pub(crate) fn kind(&mut self, name: TextRange) -> Slot<ExprId> {
        let kind = self.atom(name, ExprKind::Path);
        self.tree.open(kind)
    }

    /// A parameter, or a result of an item with a name.
    pub(crate) fn param(
        &mut self,
        range: TextRange,
        name: TextRange,
        ty: Option<Id<Type>>,
        tail: ParamTail,
    ) -> Slot<Param> {
        let ParamTail { within, default, attrs } = tail;
        self.tree.open(Param { range, name, ty, within, default, attrs: attrs.unwrap_or(List::EMPTY) })
    }
}

/// What stands behind the type of a parameter.
pub(crate) struct ParamTail {
    pub(crate) within: Option<ExprId>,
    pub(crate) default: Option<ExprId>,
    pub(crate) attrs: Option<List<Attr>>,
}
