//! The pool that owns expressions: hash-consing, and constructors that fold what can be folded locally.
//!
//! A constructor never drops an operand that may divide by zero, so every expression it returns fails exactly where
//! the one that was asked for fails.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::expr::{BinaryOp, Expr, Node, Var};
use crate::ty::IntType;

/// What is known of a node from its form alone.
#[derive(Clone, Copy, Debug)]
struct Info {
    /// The height of the tree.
    depth: u32,
    /// A superset of the variables, one bit for a class of variables.
    mask: u64,
    /// Yields a truth value.
    boolean: bool,
    /// Holds a division whose divisor is not a non-zero constant.
    may_fail: bool,
    /// The type in which what it is made of is computed with; a literal has none, and takes that of its neighbours.
    ty: Option<IntType>,
}

/// Owns expressions. Ids grow from operands to results, so an operand's id is below its user's.
#[derive(Clone, Debug)]
pub struct Pool {
    nodes: Vec<Node>,
    info: Vec<Info>,
    index: FxHashMap<Node, Expr>,
    names: FxHashMap<Var, Box<str>>,
    /// The types of variables that are not of `index`.
    types: FxHashMap<Var, IntType>,
    /// The variables that may be numbers without headroom.
    huge: FxHashSet<Var>,
}

impl Default for Pool {
    fn default() -> Pool {
        Pool::new()
    }
}

/// Room for as many expressions as a kernel of some loops makes.
const USUAL: usize = 256;

impl Pool {
    /// An empty pool.
    pub fn new() -> Pool {
        Pool {
            nodes: Vec::with_capacity(USUAL),
            info: Vec::with_capacity(USUAL),
            index: FxHashMap::with_capacity_and_hasher(USUAL, Default::default()),
            names: FxHashMap::default(),
            types: FxHashMap::default(),
            huge: FxHashSet::default(),
        }
    }

    /// How many distinct expressions there are.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is no expression yet.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The node of an expression.
    pub fn node(&self, e: Expr) -> Node {
        self.nodes[e.index()]
    }

    /// The height of the expression's tree; a leaf has 1.
    pub fn depth(&self, e: Expr) -> u32 {
        self.info[e.index()].depth
    }

    /// The type in which the expression is computed with: that of its variables and casts, joined. `None` for what is made
    /// of literals alone and for truth values, and where no type holds all of its parts.
    pub fn int_type(&self, e: Expr) -> Option<IntType> {
        self.info[e.index()].ty
    }

    /// The type of a variable.
    pub fn var_type(&self, v: Var) -> IntType {
        self.types.get(&v).copied().unwrap_or(IntType::Index)
    }

    /// Says the type of a variable, before any expression uses it. Without this it is of `index`.
    pub fn declare(&mut self, v: Var, ty: IntType) {
        if self.var_type(v) == ty {
            return;
        }
        self.types.insert(v, ty);
        if let Some(&e) = self.index.get(&Node::Var(v)) {
            self.info[e.index()] = self.describe(Node::Var(v));
        }
    }

    /// Says that `v` may be a number that cannot be multiplied by small factors. A variable of which nothing is said is
    /// taken to have that headroom.
    pub fn declare_huge(&mut self, v: Var) {
        self.huge.insert(v);
    }

    /// Was [`Pool::declare_huge`] said of `v`?
    pub(crate) fn is_huge(&self, v: Var) -> bool {
        self.huge.contains(&v)
    }

    /// Whether the expression yields a truth value.
    pub fn is_bool(&self, e: Expr) -> bool {
        self.info[e.index()].boolean
    }

    /// Whether the expression holds a division that is not, by its form, safe from a zero divisor.
    pub fn may_fail(&self, e: Expr) -> bool {
        self.info[e.index()].may_fail
    }

    /// A superset of the variables as a set of 64 classes: disjoint masks mean disjoint variables.
    pub(crate) fn mask(&self, e: Expr) -> u64 {
        self.info[e.index()].mask
    }

    /// The integer, if the expression is a literal.
    pub fn as_const(&self, e: Expr) -> Option<i64> {
        if let Node::Const(value) = self.node(e) { Some(value) } else { None }
    }

    /// The truth value, if the expression is a literal.
    pub fn as_bool(&self, e: Expr) -> Option<bool> {
        if let Node::Bool(value) = self.node(e) { Some(value) } else { None }
    }

    /// The expression of a node as it stands, with no folding.
    pub(crate) fn intern(&mut self, node: Node) -> Expr {
        if let Some(&e) = self.index.get(&node) {
            return e;
        }
        let e = Expr(u32::try_from(self.nodes.len()).expect("four thousand million nodes do not fit in memory"));
        self.info.push(self.describe(node));
        self.nodes.push(node);
        self.index.insert(node, e);
        e
    }

    fn describe(&self, node: Node) -> Info {
        let leaf = |mask, boolean, ty| Info { depth: 1, mask, boolean, may_fail: false, ty };
        let join = |a: Info, b: Info| Info {
            depth: a.depth.max(b.depth),
            mask: a.mask | b.mask,
            boolean: a.boolean && b.boolean,
            may_fail: a.may_fail || b.may_fail,
            ty: match (a.ty, b.ty) {
                (Some(a), Some(b)) => a.join(b),
                (one, other) => one.or(other),
            },
        };
        let of = |e: Expr| self.info[e.index()];
        let mut info = match node {
            Node::Const(_) => return leaf(0, false, None),
            Node::Bool(_) => return leaf(0, true, None),
            Node::Var(v) => {
                let ty = self.var_type(v);
                let boolean = ty == IntType::Bool;
                return leaf(1 << (v.0.wrapping_mul(0x9E37_79B9) >> 26), boolean, (!boolean).then_some(ty));
            }
            Node::Not(a) | Node::Likely(a) => of(a),
            Node::Cast(ty, a) => Info { boolean: false, ty: Some(ty), ..of(a) },
            Node::Binary(op, a, b) => {
                let unsafe_divisor = op.is_division() && !matches!(self.node(b), Node::Const(c) if c != 0);
                let both = join(of(a), of(b));
                let ty = both.ty.filter(|_| !op.is_boolean());
                Info { boolean: op.is_boolean(), may_fail: both.may_fail || unsafe_divisor, ty, ..both }
            }
            Node::Select(c, a, b) => {
                let branches = join(of(a), of(b));
                Info { boolean: branches.boolean, ty: branches.ty, ..join(of(c), branches) }
            }
        };
        info.depth = info.depth.saturating_add(1);
        info
    }

    /// An integer literal.
    pub fn int(&mut self, value: i64) -> Expr {
        self.intern(Node::Const(value))
    }

    /// A truth literal.
    pub fn bool(&mut self, value: bool) -> Expr {
        self.intern(Node::Bool(value))
    }

    /// A variable.
    pub fn var(&mut self, v: Var) -> Expr {
        self.intern(Node::Var(v))
    }

    /// A variable that is printed under a name.
    pub fn named_var(&mut self, v: Var, name: &str) -> Expr {
        if self.name(v) != Some(name) {
            self.names.insert(v, name.into());
        }
        self.var(v)
    }

    /// The name a variable is printed under, if it was given one.
    pub fn name(&self, v: Var) -> Option<&str> {
        self.names.get(&v).map(|name| &**name)
    }

    /// The expression of an operator, folded where that is plain to see.
    pub fn binary(&mut self, op: BinaryOp, a: Expr, b: Expr) -> Expr {
        if matches!(op, BinaryOp::And | BinaryOp::Or) {
            let (a, b) = (self.truth_of(a), self.truth_of(b));
            return self.clause(op == BinaryOp::And, a, b);
        }
        let (mut a, mut b) = (self.number_of(a), self.number_of(b));
        if op == BinaryOp::Mul && self.as_const(a).is_some() {
            (a, b) = (b, a);
        }
        if let (Some(x), Some(y)) = (self.as_const(a), self.as_const(b)) {
            if let Ok(value) = op.apply(x, y) {
                return if op.is_boolean() { self.bool(value != 0) } else { self.int(value) };
            }
        } else if let Some(folded) = self.fold_identity(op, a, b) {
            return folded;
        }
        self.intern(Node::Binary(op, a, b))
    }

    /// `x + 0`, `x * 1`, `x - x` and their like.
    fn fold_identity(&mut self, op: BinaryOp, a: Expr, b: Expr) -> Option<Expr> {
        use BinaryOp::*;
        let (left, right) = (self.as_const(a), self.as_const(b));
        let same = a == b && !self.may_fail(a);
        match (op, left, right) {
            (Add | Sub | Shl | Shr, _, Some(0)) | (Mul | FloorDiv | TruncDiv, _, Some(1)) => Some(a),
            (Add, Some(0), _) => Some(b),
            (Mul, _, Some(0)) if !self.may_fail(a) => Some(b),
            (FloorMod | TruncMod, _, Some(1)) if !self.may_fail(a) => Some(self.int(0)),
            (Min | Max, ..) if a == b => Some(a),
            (Sub, ..) if same => Some(self.int(0)),
            (Eq | Le, ..) if same => Some(self.bool(true)),
            (Ne | Lt, ..) if same => Some(self.bool(false)),
            (Eq, _, Some(1)) | (Ne, _, Some(0)) if self.is_bool(a) => Some(a),
            (Eq, _, Some(0)) | (Ne, _, Some(1)) if self.is_bool(a) => Some(self.not(a)),
            _ => None,
        }
    }

    /// `a && b` or `a || b` of two truth values. What stands on the left is evaluated in any case.
    fn clause(&mut self, and: bool, a: Expr, b: Expr) -> Expr {
        let stops = |known: Option<bool>| known == Some(!and);
        let (left, right) = (self.as_bool(a), self.as_bool(b));
        if a == b || stops(left) || right == Some(and) {
            a
        } else if left == Some(and) || (stops(right) && !self.may_fail(a)) {
            b
        } else {
            self.intern(Node::Binary(if and { BinaryOp::And } else { BinaryOp::Or }, a, b))
        }
    }

    /// The expression read as a truth value: an integer means "is not zero".
    pub fn truth_of(&mut self, e: Expr) -> Expr {
        if self.is_bool(e) {
            return e;
        }
        let zero = self.int(0);
        self.binary(BinaryOp::Ne, e, zero)
    }

    fn number_of(&mut self, e: Expr) -> Expr {
        if let Node::Bool(value) = self.node(e) { self.int(i64::from(value)) } else { e }
    }

    /// `!a`; comparisons are turned round.
    pub fn not(&mut self, a: Expr) -> Expr {
        let a = self.truth_of(a);
        match self.node(a) {
            Node::Bool(value) => self.bool(!value),
            Node::Not(inner) => inner,
            Node::Likely(inner) => self.not(inner),
            Node::Binary(BinaryOp::Lt, x, y) => self.le(y, x),
            Node::Binary(BinaryOp::Le, x, y) => self.lt(y, x),
            Node::Binary(BinaryOp::Eq, x, y) => self.ne(x, y),
            Node::Binary(BinaryOp::Ne, x, y) => self.eq(x, y),
            _ => self.intern(Node::Not(a)),
        }
    }

    /// `likely(a)`.
    pub fn likely(&mut self, a: Expr) -> Expr {
        let a = self.truth_of(a);
        match self.node(a) {
            Node::Bool(_) | Node::Likely(_) => a,
            _ => self.intern(Node::Likely(a)),
        }
    }

    /// `select(condition, then, otherwise)`.
    pub fn select(&mut self, condition: Expr, then: Expr, otherwise: Expr) -> Expr {
        let condition = self.truth_of(condition);
        let (mut then, mut otherwise) = (then, otherwise);
        if self.is_bool(then) != self.is_bool(otherwise) {
            (then, otherwise) = (self.number_of(then), self.number_of(otherwise));
        }
        match self.as_bool(condition) {
            Some(true) if !self.may_fail(otherwise) => then,
            Some(false) if !self.may_fail(then) => otherwise,
            None if then == otherwise && !self.may_fail(condition) => then,
            _ => self.intern(Node::Select(condition, then, otherwise)),
        }
    }

    /// `cast<ty>(e)`.
    pub fn cast(&mut self, ty: IntType, e: Expr) -> Expr {
        if let Some(value) = self.as_const(e).and_then(|value| ty.wrap(value)) {
            return self.int(value);
        }
        let keeps = |from: IntType| ty.holds(from);
        match self.node(e) {
            Node::Var(v) if keeps(self.var_type(v)) => e,
            Node::Cast(from, _) if keeps(from) => e,
            // Of what the inner one drops the outer one drops all.
            Node::Cast(from, inner) if from.bits() >= ty.bits() => self.cast(ty, inner),
            _ if matches!(ty, IntType::I64 | IntType::Index) || (self.is_bool(e) && ty != IntType::Bool) => e,
            _ => self.intern(Node::Cast(ty, e)),
        }
    }

    /// The conjunction of several truth values; `true` for none.
    pub fn all(&mut self, clauses: &[Expr]) -> Expr {
        let mut result = self.bool(true);
        for &clause in clauses {
            result = self.and(result, clause);
        }
        result
    }
}

/// One method an operator.
macro_rules! operators {
    ($($(#[$doc:meta])* $name:ident = $op:ident;)*) => {
        impl Pool {
            $($(#[$doc])* pub fn $name(&mut self, a: Expr, b: Expr) -> Expr {
                self.binary(BinaryOp::$op, a, b)
            })*
        }
    };
}

operators! {
    /// `a + b`.
    add = Add;
    /// `a - b`.
    sub = Sub;
    /// `a * b`.
    mul = Mul;
    /// `a / b`, floored.
    floor_div = FloorDiv;
    /// `a % b`, floored.
    floor_mod = FloorMod;
    /// `tdiv(a, b)`, truncated.
    trunc_div = TruncDiv;
    /// `tmod(a, b)`, truncated.
    trunc_mod = TruncMod;
    /// `min(a, b)`.
    min = Min;
    /// `max(a, b)`.
    max = Max;
    /// `a == b`.
    eq = Eq;
    /// `a != b`.
    ne = Ne;
    /// `a < b`.
    lt = Lt;
    /// `a <= b`.
    le = Le;
    /// `a && b`.
    and = And;
    /// `a || b`.
    or = Or;
    /// `a << b`.
    shl = Shl;
    /// `a >> b`.
    shr = Shr;
    /// `a & b`.
    bit_and = BitAnd;
    /// `a | b`.
    bit_or = BitOr;
    /// `a ^ b`.
    bit_xor = BitXor;
}

impl Pool {
    /// `a > b`, kept as `b < a`.
    pub fn gt(&mut self, a: Expr, b: Expr) -> Expr {
        self.lt(b, a)
    }

    /// `a >= b`, kept as `b <= a`.
    pub fn ge(&mut self, a: Expr, b: Expr) -> Expr {
        self.le(b, a)
    }
}
