//! The arenas of a syntax tree, the ids into them, and how they are filled.

use super::{
    Arg, Attr, Axis, BinaryOp, Block, Dict, Expr, ExprId, ExprKind, For, If, Op, Param, Reduce, Region, ResultType,
    Slice, Stmt, SymbolParam, Tail, Terminator, TextRange, Type, TypeArg, Value,
};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::num::NonZeroU32;
use std::ops::Index;
use tc_support::{Pos, Span};

/// The id of a node `T` in one of the arenas of a [`Tree`]. An `Option` of it takes no more room.
pub struct Id<T>(NonZeroU32, PhantomData<fn() -> T>);

/// Some nodes `T` that stand one after another in one of the arenas of a [`Tree`].
pub struct List<T> {
    start: u32,
    len: u32,
    kind: PhantomData<fn() -> T>,
}

impl<T> Id<T> {
    pub(super) fn at(idx: usize) -> Id<T> {
        // A node takes at least one byte of text, and files are shorter than 2 GiB.
        let number = u32::try_from(idx + 1).ok().and_then(NonZeroU32::new).expect("a file is shorter than 2 GiB");
        Id(number, PhantomData)
    }

    fn idx(self) -> usize {
        self.0.get() as usize - 1
    }
}

impl<T> List<T> {
    /// The list of nothing.
    pub const EMPTY: List<T> = List { start: 0, len: 0, kind: PhantomData };

    pub(super) fn at(start: usize, len: usize) -> List<T> {
        List { start: start as u32, len: len as u32, kind: PhantomData }
    }

    /// How many nodes there are.
    pub fn len(self) -> usize {
        self.len as usize
    }

    /// Are there none?
    pub fn is_empty(self) -> bool {
        self.len == 0
    }
}

// Written out because the derived ones would ask for `T: Clone` and so on.
impl<T> Clone for Id<T> {
    fn clone(&self) -> Id<T> {
        *self
    }
}
impl<T> Copy for Id<T> {}
impl<T> PartialEq for Id<T> {
    fn eq(&self, other: &Id<T>) -> bool {
        self.0 == other.0
    }
}
impl<T> Eq for Id<T> {}
impl<T> Hash for Id<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}
impl<T> fmt::Debug for Id<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0.get() - 1)
    }
}
impl<T> Clone for List<T> {
    fn clone(&self) -> List<T> {
        *self
    }
}
impl<T> Copy for List<T> {}
impl<T> fmt::Debug for List<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[#{}; {}]", self.start, self.len)
    }
}

/// Where a node of an open list stands.
pub(crate) struct Slot<T>(u32, PhantomData<fn() -> T>);

/// The nodes of one kind, and the lists of them that are still being read.
///
/// A list is read node by node while lists inside its nodes are read too, so open lists form a stack; a list moves
/// into the arena, in one piece, when it is closed.
pub(crate) struct Arena<T> {
    nodes: Vec<T>,
    open: Vec<T>,
}

impl<T> Default for Arena<T> {
    fn default() -> Arena<T> {
        Arena { nodes: Vec::new(), open: Vec::new() }
    }
}

impl<T> Arena<T> {
    /// A vector that a huge item has filled is not kept for the small ones that follow.
    const KEPT: usize = 1 << 16;

    fn clear(&mut self) {
        self.nodes.clear();
        self.open.clear();
        self.nodes.shrink_to(Self::KEPT);
        self.open.shrink_to(Self::KEPT);
    }
}

/// The syntax tree of one item. Ids and lists index it: `tree[expr]` is an [`Expr`], `tree[args]` a slice of [`Arg`].
#[derive(Default)]
pub struct Tree {
    base: Pos,
    /// Operators whose right operand is still being read, with their left operands: outer chains below inner ones.
    pub(crate) pending: Vec<(BinaryOp, ExprId)>,
    exprs: Arena<Expr>,
    reduces: Arena<Reduce>,
    slices: Arena<Slice>,
    args: Arena<Arg>,
    values: Arena<Value>,
    dicts: Arena<Dict>,
    attrs: Arena<Attr>,
    ranges: Arena<TextRange>,
    types: Arena<Type>,
    type_args: Arena<TypeArg>,
    tails: Arena<Tail>,
    params: Arena<Param>,
    symbols: Arena<SymbolParam>,
    axes: Arena<Axis>,
    result_types: Arena<ResultType>,
    regions: Arena<Region>,
    blocks: Arena<Block>,
    terminators: Arena<Terminator>,
    stmts: Arena<Stmt>,
    ops: Arena<Op>,
    fors: Arena<For>,
    ifs: Arena<If>,
    expr_ids: Arena<ExprId>,
}

/// A kind of node that has an arena.
pub(crate) trait Node: Sized + 'static {
    fn arena_mut(tree: &mut Tree) -> &mut Arena<Self>;
}

macro_rules! nodes {
    ($($node:ident $field:ident),* $(,)?) => {
        $(impl Node for $node {
            fn arena_mut(tree: &mut Tree) -> &mut Arena<$node> {
                &mut tree.$field
            }
        }
        impl Index<Id<$node>> for Tree {
            type Output = $node;
            fn index(&self, id: Id<$node>) -> &$node {
                &self.$field.nodes[id.idx()]
            }
        }
        impl Index<List<$node>> for Tree {
            type Output = [$node];
            fn index(&self, list: List<$node>) -> &[$node] {
                &self.$field.nodes[list.start as usize..][..list.len as usize]
            }
        })*

        impl Tree {
            /// Forgets all nodes and keeps the storage.
            pub(crate) fn clear(&mut self) {
                self.pending.clear();
                $(self.$field.clear();)*
            }
        }
    };
}

nodes! {
    Expr exprs,
    Reduce reduces,
    Slice slices,
    Arg args,
    Value values,
    Dict dicts,
    Attr attrs,
    TextRange ranges,
    Type types,
    TypeArg type_args,
    Tail tails,
    Param params,
    SymbolParam symbols,
    Axis axes,
    ResultType result_types,
    Region regions,
    Block blocks,
    Terminator terminators,
    Stmt stmts,
    Op ops,
    For fors,
    If ifs,
    ExprId expr_ids,
}

impl Tree {
    /// An empty tree for a file that starts at `base`.
    pub(crate) fn new(base: Pos) -> Tree {
        Tree { base, ..Tree::default() }
    }

    /// The position range of a piece of the text, for diagnostics.
    pub fn span(&self, range: TextRange) -> Span {
        let at = |offset: u32| Pos(self.base.0.saturating_add(offset));
        Span::new(at(range.start), at(range.end))
    }

    /// The name that an [`ExprKind::Index`], a reduction or a call begins with, or the text of any other expression.
    pub fn name(&self, expr: ExprId) -> TextRange {
        let Expr { range, kind } = self[expr];
        match kind {
            ExprKind::Index { name_end, .. } | ExprKind::Call { name_end, .. } => TextRange::new(range.start, name_end),
            ExprKind::Reduce(id) => TextRange::new(range.start, self[id].name_end),
            _ => range,
        }
    }

    /// The operators of a chain from the last to the first, each with its node and right operand; then
    /// [`LeftSpine::first`] is the leftmost operand. `a + b * c - d` gives `- d`, `+ b * c`, and then `a`.
    ///
    /// A chain may have a million operators, so a walk must not recurse into left operands.
    pub fn left_spine(&self, expr: ExprId) -> LeftSpine<'_> {
        LeftSpine { tree: self, at: expr }
    }

    /// A node, to be changed.
    pub(crate) fn node_mut<T: Node>(&mut self, id: Id<T>) -> &mut T {
        &mut T::arena_mut(self).nodes[id.idx()]
    }

    /// Adds a node.
    pub(crate) fn add<T: Node>(&mut self, node: T) -> Id<T> {
        let nodes = &mut T::arena_mut(self).nodes;
        nodes.push(node);
        Id::at(nodes.len() - 1)
    }

    /// Adds a node to the innermost open list, or opens a list with it.
    pub(crate) fn open<T: Node>(&mut self, node: T) -> Slot<T> {
        let open = &mut T::arena_mut(self).open;
        open.push(node);
        Slot(open.len() as u32 - 1, PhantomData)
    }

    /// Closes the innermost open list, which begins at `start`; `None` is the empty list.
    pub(crate) fn close<T: Node>(&mut self, start: Option<Slot<T>>) -> List<T> {
        let Some(Slot(start, _)) = start else { return List::EMPTY };
        let Arena { nodes, open } = T::arena_mut(self);
        // After a syntax error `start` may lie past the end, and nodes of a list that was given up be at its end; only
        // `parse_partial` hands out such a tree.
        let start = (start as usize).min(open.len());
        let list = List::at(nodes.len(), open.len() - start);
        nodes.extend(open.drain(start..));
        list
    }
}

/// See [`Tree::left_spine`].
pub struct LeftSpine<'t> {
    tree: &'t Tree,
    at: ExprId,
}

impl LeftSpine<'_> {
    /// The expression to the left of the operators given so far.
    pub fn first(&self) -> ExprId {
        self.at
    }
}

impl Iterator for LeftSpine<'_> {
    /// The node, its operator, its right operand.
    type Item = (ExprId, BinaryOp, ExprId);

    fn next(&mut self) -> Option<(ExprId, BinaryOp, ExprId)> {
        let ExprKind::Binary { op, lhs, rhs } = self.tree[self.at].kind else { return None };
        Some((std::mem::replace(&mut self.at, lhs), op, rhs))
    }
}
