//! The names, types, attributes and locations of a function, each kept once.

use super::Func;
use crate::attrs::AttrData;
use crate::entity::{Attr, Attrs, Loc, Name, Op, Type};
use crate::locs::NamedLoc;
use crate::types::{Elem, Scalar, TypeData, TypeTable};
use std::sync::Arc;
use tc_support::{LineCol, Location, Sources};

impl Func {
    /// The name `text`.
    pub fn name(&mut self, text: &str) -> Name {
        self.names.intern(text)
    }

    /// The name `text`, if this function knows it.
    pub fn find_name(&self, text: &str) -> Option<Name> {
        self.names.find(text)
    }

    /// The text of `name`.
    pub fn text(&self, name: Name) -> &str {
        self.names.text(name)
    }

    /// The number of names known here; ids are below it.
    pub fn n_names(&self) -> usize {
        self.names.len()
    }

    /// The type with this data.
    pub fn ty(&mut self, data: TypeData) -> Type {
        match data {
            TypeData::Scalar(Scalar { elem, lanes: 1 }) => TypeTable::elem(elem),
            data => self.types.intern(data),
        }
    }

    /// The type of a plain number. It has the same number in every function.
    pub fn elem_ty(&self, elem: Elem) -> Type {
        TypeTable::elem(elem)
    }

    /// The type of a number or vector.
    pub fn scalar_ty(&mut self, scalar: Scalar) -> Type {
        self.ty(TypeData::Scalar(scalar))
    }

    /// `index`
    pub fn index_ty(&self) -> Type {
        TypeTable::elem(Elem::Index)
    }

    /// `bool`
    pub fn bool_ty(&self) -> Type {
        TypeTable::elem(Elem::Bool)
    }

    /// What a type is.
    #[inline]
    pub fn type_data(&self, ty: Type) -> &TypeData {
        self.types.data(ty)
    }

    /// The scalar or vector type behind `ty`.
    #[inline]
    pub fn as_scalar(&self, ty: Type) -> Option<Scalar> {
        match self.type_data(ty) {
            TypeData::Scalar(scalar) => Some(*scalar),
            _ => None,
        }
    }

    /// Element type, extents and scope of a tensor or a buffer.
    #[inline]
    pub fn as_shaped(&self, ty: Type) -> Option<(Type, &[Attr], Option<Name>)> {
        match self.type_data(ty) {
            TypeData::Shaped { elem, shape, scope } => Some((*elem, shape, *scope)),
            _ => None,
        }
    }

    /// The attribute with this data.
    pub fn attr(&mut self, data: AttrData) -> Attr {
        self.attrs.intern(data)
    }

    /// The integer `value`.
    pub fn int_attr(&mut self, value: i64) -> Attr {
        self.attr(AttrData::int(value))
    }

    /// The string `text`.
    pub fn str_attr(&mut self, text: &str) -> Attr {
        self.attr(AttrData::Str(text.into()))
    }

    /// The word `text`.
    pub fn word_attr(&mut self, text: &str) -> Attr {
        let name = self.name(text);
        self.attr(AttrData::Word(name))
    }

    /// What an attribute is.
    #[inline]
    pub fn attr_data(&self, attr: Attr) -> &AttrData {
        self.attrs.data(attr)
    }

    /// The integer that `attr` is.
    #[inline]
    pub fn as_int(&self, attr: Attr) -> Option<i64> {
        match self.attr_data(attr) {
            AttrData::Int(value, _) => i64::try_from(*value).ok(),
            _ => None,
        }
    }

    /// The word or string that `attr` is.
    pub fn as_word(&self, attr: Attr) -> Option<&str> {
        match self.attr_data(attr) {
            AttrData::Word(name) => Some(self.text(*name)),
            AttrData::Str(text) => Some(text),
            _ => None,
        }
    }

    /// The list of attributes with these entries.
    pub fn dict(&mut self, entries: &[(Name, Attr)]) -> Attrs {
        self.attrs.intern_dict(entries)
    }

    /// The number of lists of attributes known here; ids are below it.
    pub(crate) fn n_attr_lists(&self) -> usize {
        self.attrs.n_dicts()
    }

    /// The entries of a list of attributes.
    #[inline]
    pub fn entries(&self, attrs: Attrs) -> &[(Name, Attr)] {
        self.attrs.dict(attrs)
    }

    /// The entry `key` of a list of attributes.
    #[inline]
    pub fn entry(&self, attrs: Attrs, key: Name) -> Option<Attr> {
        self.entries(attrs).iter().find(|(name, _)| *name == key).map(|(_, attr)| *attr)
    }

    /// `attrs` with `key` set to `value`; a new key comes last.
    pub fn with_entry(&mut self, attrs: Attrs, key: Name, value: Attr) -> Attrs {
        let mut entries = self.entries(attrs).to_vec();
        match entries.iter_mut().find(|(name, _)| *name == key) {
            Some(entry) => entry.1 = value,
            None => entries.push((key, value)),
        }
        self.dict(&entries)
    }

    /// `attrs` without `key`.
    pub fn without_entry(&mut self, attrs: Attrs, key: Name) -> Attrs {
        let entries: Vec<_> = self.entries(attrs).iter().copied().filter(|(name, _)| *name != key).collect();
        self.dict(&entries)
    }

    // Locations.

    /// The location of a place that a text named.
    pub fn named_loc(&mut self, file: Option<&str>, at: LineCol) -> Loc {
        self.locs.add(NamedLoc { file: file.map(Arc::from), at })
    }

    /// `loc` for a diagnostic.
    pub fn location(&self, loc: Loc) -> Location {
        self.locs.to_location(loc)
    }

    /// The directive that put `op` there, or the nearest enclosing op that a directive put there; `None` where none did.
    pub fn directive_location(&self, op: Op) -> Option<Location> {
        let mut at = Some(op);
        while let Some(op) = at {
            let loc = self.op_locs(op).directive;
            if !loc.is_none() {
                return Some(self.location(loc));
            }
            at = self.parent_op(op);
        }
        None
    }

    /// Where the text asks for `op`, for a diagnostic on how it is done: the directive that spoke of it last, or where it comes
    /// from if none did.
    pub fn asked_location(&self, op: Op) -> Location {
        let directive = self.op_locs(op).directive;
        if directive.is_none() { self.op_location(op) } else { self.location(directive) }
    }

    /// Where an op comes from, for a diagnostic: its own location, or the nearest enclosing op's that has one.
    pub fn op_location(&self, op: Op) -> Location {
        let mut at = Some(op);
        while let Some(op) = at {
            let loc = self.op_locs(op).source;
            if !loc.is_none() {
                return self.location(loc);
            }
            at = self.parent_op(op);
        }
        self.location(self.header.loc)
    }

    /// The file, line and column of `loc`; the file is `None` where the text named none.
    pub fn file_line_col(&self, loc: Loc, sources: &Sources) -> Option<(Option<Arc<str>>, LineCol)> {
        self.locs.file_line_col(loc, sources)
    }
}
