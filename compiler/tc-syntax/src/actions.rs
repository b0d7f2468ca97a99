//! What the grammar's actions do: they add nodes to the tree, note errors, and hand out whole items.

use crate::recover::{Finding, Shared};
use crate::token::Token;
use crate::tree::{
    Arg, BinaryOp, Block, Expr, ExprId, ExprKind, Id, If, Item, List, Op, Param, Reduce, Region, ResultType, Slice,
    Stmt, StmtKind, SymbolParam, Tail, TextRange, Tree, Type, TypeArg,
};
use lalrpop_util::ErrorRecovery;

/// What the generated parser hands on for a syntax error.
pub(crate) type Recovered = ErrorRecovery<u32, Token, ()>;

/// The state of a parse.
pub(crate) struct Parse<'c> {
    pub(crate) tree: Tree,
    pub(crate) shared: &'c Shared,
    pub(crate) source: &'c str,
    pub(crate) sink: &'c mut dyn FnMut(&Tree, &Item),
    /// How many items at the start of the file are not handed out, because an earlier parse has done it.
    pub(crate) skipped: usize,
    /// How many whole items there were.
    pub(crate) n_items: usize,
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
        Param { range, name, ty: Some(ty), within: None, attrs: List::EMPTY }
    }
}

impl Stmt {
    /// A statement from `start` to `end`.
    pub(crate) fn new(start: u32, end: u32, tail: Option<Id<Tail>>, kind: StmtKind) -> Stmt {
        Stmt { range: TextRange::new(start, end), tail, kind }
    }
}

impl Parse<'_> {
    /// The line `tir 1`.
    pub(crate) fn version(&mut self, word: TextRange, number: TextRange) {
        if word.of(self.source) != "tir" || number.of(self.source) != "1" {
            let finding = Finding::new("unknown version of the language").help("the version line is `tir 1`");
            self.shared.report(word.to(number), finding);
        }
    }

    /// A whole item: hands it out, and forgets it.
    pub(crate) fn item(&mut self, range: TextRange, parts: ItemParts) {
        let ItemParts { kind, name, targets, symbols, params, results, facts, tail, block } = parts;
        if !self.broken && !self.shared.take_broken() {
            let item = Item { range, kind, name, targets, symbols, params, results, facts, tail, block };
            self.n_items += 1;
            if self.n_items > self.skipped {
                (self.sink)(&self.tree, &item);
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
    }

    /// A statement that does not parse. The node that stands for it is never seen: its item is not handed out.
    pub(crate) fn broken_stmt(&mut self, error: Recovered) -> Stmt {
        self.shared.syntax_error(error);
        self.broken = true;
        self.shared.angles.set(0);
        self.tree.pending.clear();
        let call = self.atom(TextRange::default(), ExprKind::Path);
        Stmt::new(0, 0, None, StmtKind::Call(call))
    }

    /// A name. Its range is all there is to it.
    pub(crate) fn name(&mut self, range: TextRange) -> TextRange {
        self.shared.idle.set(0);
        range
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
        let node = self.tree.expr_mut(expr);
        if matches!(node.kind, ExprKind::Binary { .. } | ExprKind::Unary { .. } | ExprKind::Ref(_)) {
            node.range = range;
        }
        expr
    }

    /// A chain begins with `first`.
    pub(crate) fn open_chain(&mut self, first: ExprId) -> Chain {
        Chain { base: self.tree.pending.len() as u32, last: first }
    }

    /// A chain goes on with `op`, which stands at `at`, and `operand`.
    pub(crate) fn push_chain(&mut self, mut chain: Chain, at: u32, op: BinaryOp, operand: ExprId) -> Chain {
        while self.tree.pending.len() > chain.base as usize
            && let Some(&(waiting, lhs)) = self.tree.pending.last()
            && waiting.precedence() >= op.precedence()
        {
            if waiting.is_comparison() && op.is_comparison() {
                let finding =
                    Finding::new(format!("comparisons do not chain: `{}` after `{}`", op.text(), waiting.text()))
                        .help(format!("write `a {} b && b {} c`, or parentheses", waiting.text(), op.text()));
                self.shared.report(TextRange::new(at, at + op.text().len() as u32), finding);
                self.broken = true;
            }
            self.tree.pending.pop();
            chain.last = self.binary(waiting, lhs, chain.last);
        }
        self.tree.pending.push((op, chain.last));
        if !self.shared.fits(self.tree.pending.len()) {
            self.shared.too_deep(TextRange::new(at, at + op.text().len() as u32));
        }
        Chain { base: chain.base, last: operand }
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
    pub(crate) fn close_angle(&mut self, start: Option<u32>) -> List<TypeArg> {
        self.shared.angles.set(self.shared.angles.get().saturating_sub(1));
        self.tree.close(start)
    }

    /// What trails something.
    pub(crate) fn tail(&mut self, attrs: List<crate::tree::Attr>, loc: Option<TextRange>) -> Id<Tail> {
        let loc = loc.map(|loc| self.tree.add(loc));
        self.tree.add(Tail { attrs, loc })
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
    pub(crate) fn typed_op(&mut self, call: ExprId, types: Option<u32>, regions: Option<u32>) -> Op {
        let types: List<ResultType> = self.tree.close(types);
        let regions: List<Region> = self.tree.close(regions);
        Op { names: List::EMPTY, call, types, regions }
    }

    /// The statement that an op is.
    pub(crate) fn op(
        &mut self,
        start: u32,
        end: u32,
        names: Option<List<TextRange>>,
        op: Op,
        loc: Option<Id<Tail>>,
    ) -> Stmt {
        let op = self.tree.add(Op { names: names.unwrap_or(List::EMPTY), ..op });
        Stmt::new(start, end, loc, StmtKind::Op(op))
    }

    /// The statement that a conditional is.
    pub(crate) fn if_stmt(&mut self, start: u32, end: u32, names: Option<List<TextRange>>, branch: Id<If>) -> Stmt {
        let names = names.unwrap_or(List::EMPTY);
        Stmt::new(start, end, self.tree[branch].tail, StmtKind::If { names, branch })
    }
}
