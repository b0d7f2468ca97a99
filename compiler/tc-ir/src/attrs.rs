//! Attributes: the constant part of an op.

use crate::entity::{Attr, Attrs, Name, Type};
use crate::types::Elem;
use cranelift_entity::EntityRef;
use indexmap::IndexSet;
use rustc_hash::FxBuildHasher;

/// A binary operator of text, loosest first as [`BinOp::precedence`] says.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[allow(missing_docs, reason = "the operators name themselves")]
pub enum BinOp {
    OrOr,
    AndAnd,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    BitOr,
    BitXor,
    BitAnd,
    Shl,
    Shr,
    Add,
    Sub,
    Mul,
    Div,
    Mod,
}

impl BinOp {
    /// Every operator.
    pub const ALL: &'static [BinOp] = &[
        BinOp::OrOr,
        BinOp::AndAnd,
        BinOp::Eq,
        BinOp::Ne,
        BinOp::Lt,
        BinOp::Le,
        BinOp::Gt,
        BinOp::Ge,
        BinOp::BitOr,
        BinOp::BitXor,
        BinOp::BitAnd,
        BinOp::Shl,
        BinOp::Shr,
        BinOp::Add,
        BinOp::Sub,
        BinOp::Mul,
        BinOp::Div,
        BinOp::Mod,
    ];

    /// The operator in text.
    pub const fn text(self) -> &'static str {
        match self {
            BinOp::OrOr => "||",
            BinOp::AndAnd => "&&",
            BinOp::Eq => "==",
            BinOp::Ne => "!=",
            BinOp::Lt => "<",
            BinOp::Le => "<=",
            BinOp::Gt => ">",
            BinOp::Ge => ">=",
            BinOp::BitOr => "|",
            BinOp::BitXor => "^",
            BinOp::BitAnd => "&",
            BinOp::Shl => "<<",
            BinOp::Shr => ">>",
            BinOp::Add => "+",
            BinOp::Sub => "-",
            BinOp::Mul => "*",
            BinOp::Div => "/",
            BinOp::Mod => "%",
        }
    }

    /// How tightly it binds; operators of one precedence associate to the left, comparisons do not chain.
    pub const fn precedence(self) -> u8 {
        match self {
            BinOp::OrOr => 1,
            BinOp::AndAnd => 2,
            BinOp::Eq | BinOp::Ne | BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge => 3,
            BinOp::BitOr => 4,
            BinOp::BitXor => 5,
            BinOp::BitAnd => 6,
            BinOp::Shl | BinOp::Shr => 7,
            BinOp::Add | BinOp::Sub => 8,
            BinOp::Mul | BinOp::Div | BinOp::Mod => 9,
        }
    }

    /// Is it one of `== != < <= > >=`?
    pub const fn is_comparison(self) -> bool {
        matches!(self, BinOp::Eq | BinOp::Ne | BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge)
    }
}

/// A prefix operator of text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum UnOp {
    /// `-`
    Neg,
    /// `!`
    Not,
}

impl UnOp {
    /// The operator in text.
    pub const fn text(self) -> &'static str {
        match self {
            UnOp::Neg => "-",
            UnOp::Not => "!",
        }
    }
}

/// The value of an attribute.
///
/// Extents of shapes, conditions of schedules and the like are expressions over names: they are attributes
/// too ([`AttrData::Word`], [`AttrData::Binary`] and so on), and mean something only where those names do.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum AttrData {
    /// A key without a value, as in `attributes {noalias}`.
    Unit,
    /// `true` or `false`.
    Bool(bool),
    /// An integer, with the type that its suffix gives.
    Int(i128, Option<Elem>),
    /// A float as the bits of an `f64`, with the type that its suffix gives.
    Float(u64, Option<Elem>),
    /// A string.
    Str(Box<str>),
    /// `@name`
    Symbol(Box<str>),
    /// A type that can only be one, such as `f32` or `f32[4]`.
    Type(Type),
    /// A word or a dotted path.
    Word(Name),
    /// `[a, b]`
    List(Box<[Attr]>),
    /// `{a = 1, b}`
    Dict(Attrs),
    /// `-a`
    Unary(UnOp, Attr),
    /// `a + b`
    Binary(BinOp, Attr, Attr),
    /// `f(a, b)`
    Call(Name, Box<[Attr]>),
}

impl AttrData {
    /// An integer without a suffix.
    pub fn int(value: impl Into<i128>) -> AttrData {
        AttrData::Int(value.into(), None)
    }

    /// A float without a suffix.
    pub fn float(value: f64) -> AttrData {
        AttrData::Float(value.to_bits(), None)
    }
}

/// The attributes of one function.
#[derive(Clone, Debug)]
pub(crate) struct AttrTable {
    set: IndexSet<AttrData, FxBuildHasher>,
    dicts: IndexSet<Box<[(Name, Attr)]>, FxBuildHasher>,
}

impl AttrTable {
    pub(crate) fn new() -> AttrTable {
        let mut dicts = IndexSet::with_hasher(FxBuildHasher);
        dicts.insert(Box::from([]));
        AttrTable { set: IndexSet::with_hasher(FxBuildHasher), dicts }
    }

    pub(crate) fn intern(&mut self, data: AttrData) -> Attr {
        Attr::new(self.set.insert_full(data).0)
    }

    pub(crate) fn data(&self, attr: Attr) -> &AttrData {
        &self.set[attr.index()]
    }

    pub(crate) fn intern_dict(&mut self, entries: &[(Name, Attr)]) -> Attrs {
        if entries.is_empty() {
            return Attrs::EMPTY;
        }
        if let Some(idx) = self.dicts.get_index_of(entries) {
            return Attrs::new(idx);
        }
        Attrs::new(self.dicts.insert_full(entries.into()).0)
    }

    pub(crate) fn dict(&self, attrs: Attrs) -> &[(Name, Attr)] {
        &self.dicts[attrs.index()]
    }

    pub(crate) fn shrink(&mut self) {
        self.set.shrink_to_fit();
        self.dicts.shrink_to_fit();
    }
}
