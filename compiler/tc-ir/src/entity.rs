//! The ids of the entities of a function. Each is a `u32`; its `Debug` form carries the entity's sigil.

use cranelift_entity::entity_impl;

/// An operation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Op(u32);
entity_impl!(Op, "op");

/// A result of an operation or an argument of a region.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Value(u32);
entity_impl!(Value, "v");

/// A region: its arguments and one block of operations.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Region(u32);
entity_impl!(Region, "region");

/// An interned type.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Type(u32);
entity_impl!(Type, "ty");

/// An interned attribute.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Attr(u32);
entity_impl!(Attr, "attr");

/// An interned list of keys and attributes. Number 0 is the empty one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Attrs(u32);
entity_impl!(Attrs, "attrs");

impl Attrs {
    /// No attributes.
    pub const EMPTY: Attrs = Attrs(0);
}

/// An interned name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(u32);
entity_impl!(Name, "name");

impl Name {
    /// The name with number `number`; for the table of well-known names.
    pub(crate) const fn known(number: u32) -> Name {
        Name(number)
    }
}

/// Where an operation comes from: nowhere, a byte position of a loaded file, or a place that a text named.
/// [`crate::locs`] takes it apart.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Loc(pub(crate) u32);
