//! Types: scalars and vectors, shaped values (tensors of te, buffers of tir), references, and dialects' own.

use crate::entity::{Attr, Name, Type};
use cranelift_entity::EntityRef;
use indexmap::IndexSet;
use rustc_hash::FxBuildHasher;

pub use tc_support::elem::{Elem, ElemKind};

/// A number or a short vector of them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Scalar {
    /// The type of one lane.
    pub elem: Elem,
    /// How many lanes; 1 for a plain number.
    pub lanes: u16,
}

impl Scalar {
    /// The most lanes a vector may have.
    pub const MAX_LANES: u16 = 1024;

    /// A plain number.
    pub const fn of(elem: Elem) -> Scalar {
        Scalar { elem, lanes: 1 }
    }

    /// The type named `text`: `f32`, `i8x4`.
    pub fn parse(text: &str) -> Option<Scalar> {
        if let Some(elem) = Elem::parse(text) {
            return Some(Scalar::of(elem));
        }
        let (elem, lanes) = text.rsplit_once('x')?;
        let lanes: u16 = lanes.parse().ok()?;
        (2..=Scalar::MAX_LANES).contains(&lanes).then_some(Scalar { elem: Elem::parse(elem)?, lanes })
    }

    /// The size in memory, in bytes.
    pub fn bytes(self) -> u32 {
        self.elem.bytes() * u32::from(self.lanes)
    }
}

impl std::fmt::Display for Scalar {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.lanes == 1 { f.write_str(self.elem.name()) } else { write!(f, "{}x{}", self.elem.name(), self.lanes) }
    }
}

/// A parameter of a dialect's type.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum TypeParam {
    /// A type; a bare word such as `matrix_a` is one without parameters.
    Type(Type),
    /// A number.
    Int(i64),
    /// A string.
    Str(Box<str>),
}

/// What a type is.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum TypeData {
    /// A number or a vector.
    Scalar(Scalar),
    /// A tensor of te (`scope` is `None`) or a buffer of tir.
    Shaped {
        /// The type of an element: a scalar, a vector or a dialect's type such as a fragment.
        elem: Type,
        /// The extents: integers, or expressions over the function's symbols.
        shape: Box<[Attr]>,
        /// Where a buffer lies.
        scope: Option<Name>,
    },
    /// A reference to an element (`shape` is empty) or a region of a buffer.
    Ref {
        /// The type of an element.
        elem: Type,
        /// The region's extents.
        shape: Box<[Attr]>,
        /// Where the buffer lies.
        scope: Option<Name>,
    },
    /// A dialect's type, such as `wmma.fragment<matrix_a, 16, 16, 16, f16, row_major>`.
    Opaque {
        /// The dotted name.
        path: Name,
        /// The parameters.
        params: Box<[TypeParam]>,
    },
}

/// The types of one function.
#[derive(Clone, Debug, Default)]
pub(crate) struct TypeTable {
    set: IndexSet<TypeData, FxBuildHasher>,
}

impl TypeTable {
    /// A table in which scalar types have fixed numbers: [`Func::scalar`](crate::Func::scalar) needs no lookup.
    pub(crate) fn new() -> TypeTable {
        let mut set = IndexSet::with_capacity_and_hasher(Elem::ALL.len() + 8, FxBuildHasher);
        set.extend(Elem::ALL.iter().map(|&elem| TypeData::Scalar(Scalar::of(elem))));
        TypeTable { set }
    }

    pub(crate) fn elem(elem: Elem) -> Type {
        Type::new(elem as usize)
    }

    pub(crate) fn intern(&mut self, data: TypeData) -> Type {
        Type::new(self.set.insert_full(data).0)
    }

    pub(crate) fn data(&self, ty: Type) -> &TypeData {
        &self.set[ty.index()]
    }

    pub(crate) fn shrink(&mut self) {
        self.set.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_print_as_they_parse() {
        for &elem in Elem::ALL {
            for lanes in [1, 2, 4, 16] {
                let scalar = Scalar { elem, lanes };
                assert_eq!(Scalar::parse(&scalar.to_string()), Some(scalar));
            }
        }
        assert_eq!(Scalar::parse("f32x1"), None);
        assert_eq!(Scalar::parse("f32x99999"), None);
    }
}
