//! Attributes: the constant part of an op.

use crate::entity::{Attr, Attrs, Name, Type};
use crate::types::Elem;
use cranelift_entity::EntityRef;
use hashbrown::HashTable;
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};

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

/// The attributes of one function: each value and each list once, in one piece of memory, with an index by content.
#[derive(Clone, Debug)]
pub(crate) struct AttrTable {
    data: Vec<AttrData>,
    index: HashTable<u32>,
    /// The entries of all lists; where each list ends. A list starts where the one before it ends.
    entries: Vec<(Name, Attr)>,
    ends: Vec<u32>,
    dict_index: HashTable<u32>,
}

fn hash_of<T: Hash + ?Sized>(content: &T) -> u64 {
    let mut hasher = FxHasher::default();
    content.hash(&mut hasher);
    hasher.finish()
}

/// The entries of list number `idx`.
fn list<'t>(entries: &'t [(Name, Attr)], ends: &[u32], idx: usize) -> &'t [(Name, Attr)] {
    let start = if idx == 0 { 0 } else { ends[idx - 1] };
    &entries[start as usize..ends[idx] as usize]
}

impl AttrTable {
    pub(crate) fn new() -> AttrTable {
        // The first list is the empty one, which is not looked up.
        AttrTable {
            data: Vec::new(),
            index: HashTable::new(),
            entries: Vec::new(),
            ends: vec![0],
            dict_index: HashTable::new(),
        }
    }

    pub(crate) fn intern(&mut self, data: AttrData) -> Attr {
        let hash = hash_of(&data);
        let AttrTable { data: all, index, .. } = self;
        if let Some(&idx) = index.find(hash, |&idx| all[idx as usize] == data) {
            return Attr::from_u32(idx);
        }
        let attr = Attr::new(all.len());
        all.push(data);
        index.insert_unique(hash, attr.as_u32(), |&idx| hash_of(&all[idx as usize]));
        attr
    }

    pub(crate) fn data(&self, attr: Attr) -> &AttrData {
        &self.data[attr.index()]
    }

    pub(crate) fn n_dicts(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn intern_dict(&mut self, wanted: &[(Name, Attr)]) -> Attrs {
        if wanted.is_empty() {
            return Attrs::EMPTY;
        }
        let hash = hash_of(wanted);
        let AttrTable { entries, ends, dict_index: index, .. } = self;
        if let Some(&idx) = index.find(hash, |&idx| list(entries, ends, idx as usize) == wanted) {
            return Attrs::from_u32(idx);
        }
        let attrs = Attrs::new(ends.len());
        entries.extend_from_slice(wanted);
        ends.push(u32::try_from(entries.len()).expect("there is no memory for so many attributes"));
        index.insert_unique(hash, attrs.as_u32(), |&idx| hash_of(list(entries, ends, idx as usize)));
        attrs
    }

    pub(crate) fn dict(&self, attrs: Attrs) -> &[(Name, Attr)] {
        list(&self.entries, &self.ends, attrs.index())
    }

    pub(crate) fn shrink(&mut self) {
        let AttrTable { data, index, entries, ends, dict_index } = self;
        data.shrink_to_fit();
        index.shrink_to_fit(|&idx| hash_of(&data[idx as usize]));
        entries.shrink_to_fit();
        ends.shrink_to_fit();
        dict_index.shrink_to_fit(|&idx| hash_of(list(entries, ends, idx as usize)));
    }
}
