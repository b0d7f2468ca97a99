//! The syntax tree of one item: flat arenas, `u32` ids, ranges of the text instead of strings.
//!
//! A million statements have to be read in a fraction of a second, so nothing here is boxed and no name is copied.
//! The arenas are cleared and used again for the next item; ids are therefore good only while the item is at hand.
//!
//! How deep a walk may get: brackets, blocks, runs of unary operators, `else if` chains and nested types together
//! go at most [`MAX_DEPTH`](crate::MAX_DEPTH) levels deep, so recursion over them is safe. Chains of binary operators
//! are not bounded: they lean to the left (`a + b + c` is `(a + b) + c`), and whoever walks them must follow the
//! left operands in a loop; see
//! [`Tree::left_spine`].

mod arena;
mod dump;

pub(crate) use arena::Slot;
pub use arena::{Id, LeftSpine, List, Tree};

/// A piece of the file's text, as byte offsets from the start of the file.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct TextRange {
    /// The first byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl TextRange {
    /// The piece from `start` to `end`.
    pub fn new(start: u32, end: u32) -> TextRange {
        TextRange { start, end }
    }

    /// The text of this piece; empty if `source` is not the text that was parsed.
    pub fn of(self, source: &str) -> &str {
        source.get(self.start as usize..self.end as usize).unwrap_or("")
    }

    /// The smallest piece that holds both.
    pub fn to(self, other: TextRange) -> TextRange {
        TextRange { start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// Is there no text in it?
    pub fn is_empty(self) -> bool {
        self.start >= self.end
    }
}

/// Operators are those of the IR: text and program have one table of them.
pub use tc_ir::attrs::{BinOp as BinaryOp, UnOp as UnaryOp};

/// The id of an expression.
pub type ExprId = Id<Expr>;

/// An expression.
#[derive(Clone, Copy, Debug)]
pub struct Expr {
    /// Where it stands. Parentheses round an operator belong to it, those round an atom do not:
    /// the range of a name or a literal is exactly its text.
    pub range: TextRange,
    /// What it is.
    pub kind: ExprKind,
}

/// What an expression is.
#[derive(Clone, Copy, Debug)]
pub enum ExprKind {
    /// A name or a dotted name; its range is the text.
    Path,
    /// An integer literal; see [`literal::int`](crate::literal::int).
    Int,
    /// A float literal, `inf` and `nan` among them; see [`literal::float`](crate::literal::float).
    Float,
    /// `true` or `false`.
    Bool(bool),
    /// A string literal with its quotes; see [`literal::string`](crate::literal::string).
    Str,
    /// `@name` or `@"any name"`; see [`literal::symbol`](crate::literal::symbol).
    Sym,
    /// `A[i, j]`, `A[i * 16 : 16]`. The name is [`Tree::name`].
    Index {
        /// Where the name ends.
        name_end: u32,
        /// What stands in the brackets.
        slices: List<Slice>,
    },
    /// `f(x, key = value)`, `dialect.op(…)`, `@f(…)`. The callee is [`Tree::name`].
    Call {
        /// Is the callee a symbol?
        symbol: bool,
        /// Where the callee ends.
        name_end: u32,
        /// What stands in the parentheses.
        args: List<Arg>,
    },
    /// `sum[k: n](e, where = c)`.
    Reduce(Id<Reduce>),
    /// `cast<f32>(e)`.
    Cast {
        /// The element type; see [`literal::dtype`](crate::literal::dtype).
        ty: Id<TextRange>,
        /// What is converted.
        value: ExprId,
    },
    /// `-e`, `!e`.
    Unary {
        /// The operator.
        op: UnaryOp,
        /// The operand.
        value: ExprId,
    },
    /// `a + b`.
    Binary {
        /// The operator.
        op: BinaryOp,
        /// The left operand. Chains lean to the left without bound.
        lhs: ExprId,
        /// The right operand.
        rhs: ExprId,
    },
    /// `&A[i]`: a reference. The grammar takes any atom here; only places mean something.
    Ref(ExprId),
    /// `[a, b]`.
    List(List<Value>),
}

/// A reduction, `name[axes](args)`. Its name begins where the expression does.
#[derive(Clone, Copy, Debug)]
pub struct Reduce {
    /// Where the name ends.
    pub name_end: u32,
    /// What stands in the brackets.
    pub axes: List<Slice>,
    /// What stands in the parentheses.
    pub args: List<Arg>,
}

/// One entry in the brackets of an [`ExprKind::Index`] or a [`Reduce`]: `i`, `start : length`, `axis: low..high`.
#[derive(Clone, Copy, Debug)]
pub struct Slice {
    /// All of it.
    pub range: TextRange,
    /// What stands before the colon: an index, a start, or an axis name.
    pub first: ExprId,
    /// What stands after the colon: a length, an extent, or a low end.
    pub second: Option<ExprId>,
    /// What stands after `..`: a high end.
    pub third: Option<ExprId>,
}

/// An argument.
#[derive(Clone, Copy, Debug)]
pub struct Arg {
    /// The key, if it is `key = value`. Any word may be a key.
    pub key: Option<Id<TextRange>>,
    /// The value.
    pub value: Value,
}

/// The value of an argument, an attribute, or an entry of a list.
#[derive(Clone, Copy, Debug)]
pub enum Value {
    /// An expression.
    Expr(ExprId),
    /// An element type with an optional shape: `f32`, `f32[4, n]`.
    Type(Id<Type>),
    /// `{a = 1, b}`.
    Dict(Id<Dict>),
}

/// A dictionary, `{a = 1, b}`.
#[derive(Clone, Copy, Debug)]
pub struct Dict {
    /// All of it.
    pub range: TextRange,
    /// The entries.
    pub attrs: List<Attr>,
}

/// An attribute: `key = value`, or `key` alone.
#[derive(Clone, Copy, Debug)]
pub struct Attr {
    /// The key. Any word may be a key.
    pub key: TextRange,
    /// The value.
    pub value: Option<Value>,
}

/// A type: `f32`, `f32x4[n]`, `wmma.fragment<matrix_a, 16>[8]`.
#[derive(Clone, Copy, Debug)]
pub struct Type {
    /// All of it.
    pub range: TextRange,
    /// The element type's text, or the dialect type's name.
    pub name: TextRange,
    /// Is it an element type (see [`literal::dtype`](crate::literal::dtype)), not a dialect's?
    pub element: bool,
    /// What stands between `<` and `>`; `None` if they are not there.
    pub args: Option<List<TypeArg>>,
    /// The extents; `None` if there are no brackets.
    pub shape: Option<List<ExprId>>,
}

/// An argument of a dialect type.
#[derive(Clone, Copy, Debug)]
pub enum TypeArg {
    /// A type; a bare word such as `matrix_a` comes as one without arguments and shape.
    Type(Id<Type>),
    /// An integer literal.
    Int(TextRange),
    /// A string literal.
    Str(TextRange),
}

/// What may trail a statement or an item header: `attributes {…}`, then locations.
#[derive(Clone, Copy, Debug)]
pub struct Tail {
    /// The attributes, which may be none.
    pub attrs: List<Attr>,
    /// The location `#12:5`, `#"f.tir":12:5`; see [`literal::location`](crate::literal::location).
    pub loc: Option<Id<TextRange>>,
    /// The location of the directive that made a statement, behind the first.
    pub directive: Option<Id<TextRange>>,
}

/// A parameter of an item or a region, or a result of an item.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// All of it.
    pub range: TextRange,
    /// The name; empty for a result without one.
    pub name: TextRange,
    /// The type.
    pub ty: Option<Id<Type>>,
    /// What stands after `in`: a scope, or a parameter's choices.
    pub within: Option<ExprId>,
    /// What stands after `=`: the default of a schedule function's parameter.
    pub default: Option<ExprId>,
    /// The attributes, which may be none.
    pub attrs: List<Attr>,
}

/// A size parameter: `n`, `n = 1024`, `m: 1..65536`.
#[derive(Clone, Copy, Debug)]
pub struct SymbolParam {
    /// All of it.
    pub range: TextRange,
    /// The name.
    pub name: TextRange,
    /// The least and the largest value.
    pub bounds: Option<(ExprId, ExprId)>,
    /// The default.
    pub default: Option<ExprId>,
}

/// An axis of a `compute`: `i: n`, `i: low..high`.
#[derive(Clone, Copy, Debug)]
pub struct Axis {
    /// All of it.
    pub range: TextRange,
    /// The name.
    pub name: TextRange,
    /// The extent, or the low end if there is a high one.
    pub extent: ExprId,
    /// The high end.
    pub high: Option<ExprId>,
}

/// A result type of an op: `f32[8, 16] in shared`.
#[derive(Clone, Copy, Debug)]
pub struct ResultType {
    /// The type.
    pub ty: Id<Type>,
    /// The scope.
    pub scope: Option<Id<TextRange>>,
}

/// A region of an op: `(i: index) { … }`.
#[derive(Clone, Copy, Debug)]
pub struct Region {
    /// The parameters.
    pub params: List<Param>,
    /// The body.
    pub block: Id<Block>,
}

/// `{ … }`.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    /// From the opening to the closing brace.
    pub range: TextRange,
    /// The statements, without a final `return` or `yield`.
    pub stmts: List<Stmt>,
    /// The final `return` or `yield`.
    pub end: Option<Id<Terminator>>,
}

/// `return a, b` or `yield a, b` at the end of a block.
#[derive(Clone, Copy, Debug)]
pub struct Terminator {
    /// All of it.
    pub range: TextRange,
    /// Which of the two.
    pub kind: TerminatorKind,
    /// The values.
    pub values: List<ExprId>,
}

/// Which word ends a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TerminatorKind {
    /// `return`
    Return,
    /// `yield`
    Yield,
}

/// A statement.
#[derive(Clone, Copy, Debug)]
pub struct Stmt {
    /// All of it.
    pub range: TextRange,
    /// What trails it. That of a loop, a conditional stands before its block.
    pub tail: Option<Id<Tail>>,
    /// What it is.
    pub kind: StmtKind,
}

/// What a statement is.
#[derive(Clone, Copy, Debug)]
pub enum StmtKind {
    /// `compute V, I[i: n] = e`.
    Compute {
        /// The tensors that it defines.
        names: List<TextRange>,
        /// The axes; none also without brackets.
        axes: List<Axis>,
        /// The body.
        value: ExprId,
    },
    /// `A[i] = e`.
    Store {
        /// The place, an [`ExprKind::Index`].
        place: ExprId,
        /// What is stored.
        value: ExprId,
    },
    /// `let x: f32 = e`.
    Let {
        /// The name.
        name: TextRange,
        /// The type.
        ty: Option<Id<Type>>,
        /// The value.
        value: ExprId,
    },
    /// `alloc A: f32[64] in shared`.
    Alloc {
        /// The name.
        name: TextRange,
        /// The type.
        ty: Id<Type>,
        /// The scope.
        scope: TextRange,
    },
    /// `f(x)`: a call that names no results.
    Call(ExprId),
    /// `a, b = e`. An op with one result type or none written, a call, or any expression.
    Assign {
        /// The names, at least one; `_` discards.
        names: List<TextRange>,
        /// The value.
        value: ExprId,
    },
    /// `a, b = dialect.op(…) : type, type (param: type) { … }`: an op with result types or regions.
    Op(Id<Op>),
    /// `init { … }`.
    PathBlock {
        /// The op's name.
        name: TextRange,
        /// The body.
        block: Id<Block>,
    },
    /// A loop.
    For(Id<For>),
    /// A conditional.
    If {
        /// The names of the results, which may be none.
        names: List<TextRange>,
        /// The conditional.
        branch: Id<If>,
    },
}

/// An op with result types or regions.
#[derive(Clone, Copy, Debug)]
pub struct Op {
    /// The names of the results, which may be none.
    pub names: List<TextRange>,
    /// The op and its arguments, an [`ExprKind::Call`].
    pub call: ExprId,
    /// The result types.
    pub types: List<ResultType>,
    /// The regions.
    pub regions: List<Region>,
}

/// `names = for i in low..high kind carry(a = e) attributes {…} { … }`.
#[derive(Clone, Copy, Debug)]
pub struct For {
    /// The names of the results, which may be none.
    pub names: List<TextRange>,
    /// The loop variable.
    pub var: TextRange,
    /// The first value.
    pub low: ExprId,
    /// One past the last value.
    pub high: ExprId,
    /// The kinds, and `carry(…)`: each a path or a call.
    pub kinds: List<ExprId>,
    /// The body.
    pub block: Id<Block>,
}

/// `if c { … } else …`.
#[derive(Clone, Copy, Debug)]
pub struct If {
    /// From `if` to the end of the last branch.
    pub range: TextRange,
    /// The condition.
    pub condition: ExprId,
    /// What trails the condition. For the first of a chain the statement has it too.
    pub tail: Option<Id<Tail>>,
    /// What is done if it holds.
    pub then: Id<Block>,
    /// What is done otherwise.
    pub otherwise: Else,
}

/// What follows an `if` and its block.
#[derive(Clone, Copy, Debug)]
pub enum Else {
    /// Nothing.
    None,
    /// `else { … }`.
    Block(Id<Block>),
    /// `else if …`.
    If(Id<If>),
}

/// A top-level item: a function, a schedule, a combiner, whatever its first word says.
#[derive(Clone, Copy, Debug)]
pub struct Item {
    /// All of it.
    pub range: TextRange,
    /// The first word: `te.func`, `schedule`, ….
    pub kind: TextRange,
    /// The symbol it defines.
    pub name: TextRange,
    /// The symbols after `for`.
    pub targets: List<TextRange>,
    /// The size parameters between `<` and `>`.
    pub symbols: List<SymbolParam>,
    /// The parameters; `None` if there are no parentheses.
    pub params: Option<List<Param>>,
    /// The results after `->`.
    pub results: List<Param>,
    /// The facts after `where`.
    pub facts: List<ExprId>,
    /// Attributes and location.
    pub tail: Option<Id<Tail>>,
    /// The body.
    pub block: Id<Block>,
}
