//! Values: types, names, uses and what defines them.

use super::data::{ARG, ValueData};
use super::{Def, Func};
use crate::entity::{Attr, Name, Op, Region, Type, Value};
use crate::names::keys;
use crate::opdef::Role;
use crate::types::Scalar;
use cranelift_entity::EntityRef;

impl Func {
    /// The type of `value`.
    #[inline]
    pub fn value_type(&self, value: Value) -> Type {
        self.values[value].ty
    }

    /// The scalar type of `value`, if it is a number or vector.
    #[inline]
    pub fn value_scalar(&self, value: Value) -> Option<Scalar> {
        self.as_scalar(self.value_type(value))
    }

    /// The author's name of `value`, or one that a pass gave it.
    #[inline]
    pub fn value_name(&self, value: Value) -> Option<Name> {
        self.values[value].name.expand()
    }

    /// The text of the name of `value`, or `""`.
    pub fn value_text(&self, value: Value) -> &str {
        self.value_name(value).map_or("", |name| self.text(name))
    }

    /// How many operands are `value`.
    #[inline]
    pub fn n_uses(&self, value: Value) -> usize {
        self.values[value].n_uses as usize
    }

    /// What defines `value`.
    #[inline]
    pub fn def(&self, value: Value) -> Def {
        let def = self.values[value].def;
        if def & ARG == 0 {
            let op = Op::from_u32(def);
            let first = self.ops[op].first_result.expand().unwrap_or(value);
            return Def::Result(op, value.index() - first.index());
        }
        let region = Region::from_u32(def & !ARG);
        // Arguments are made one after another, so their numbers rise. One that was taken out belongs to nothing.
        Def::Arg(region, self.region_args(region).binary_search(&value).unwrap_or_default())
    }

    /// The op that defines `value`; `None` for a region's argument.
    #[inline]
    pub fn def_op(&self, value: Value) -> Option<Op> {
        let def = self.values[value].def;
        (def & ARG == 0).then(|| Op::from_u32(def))
    }

    /// The attribute of the literal that `value` is.
    #[inline]
    pub fn constant(&self, value: Value) -> Option<Attr> {
        let op = self.def_op(value)?;
        (self.role(op) == Role::Constant).then(|| self.attr_of(op, keys::VALUE))?
    }

    /// The integer that `value` is a literal of.
    #[inline]
    pub fn const_int(&self, value: Value) -> Option<i64> {
        self.as_int(self.constant(value)?)
    }

    /// Are the two one value, or the same literal? Whether ops share a literal is nothing that text tells.
    pub fn is_same_value(&self, a: Value, b: Value) -> bool {
        let literal = |value: Value| self.constant(value).map(|literal| (literal, self.value_type(value)));
        a == b || literal(a).is_some_and(|a| literal(b) == Some(a))
    }

    /// The attribute `key` of the buffer `value`: of its alloc, or of the function's parameter.
    pub fn buffer_attr(&self, value: Value, key: Name) -> Option<Attr> {
        match self.def(value) {
            Def::Result(op, _) => self.attr_of(op, key),
            Def::Arg(region, idx) if region == self.body => {
                let param = self.header.params.get(idx.checked_sub(self.header.symbols.len())?)?;
                self.entry(param.attrs, key)
            }
            Def::Arg(..) => None,
        }
    }

    /// The number of values ever made here; ids are below it.
    pub fn n_value_ids(&self) -> usize {
        self.values.len()
    }

    /// Sets the type of `value`.
    pub fn set_value_type(&mut self, value: Value, ty: Type) {
        self.step();
        // Who uses the value is not on record.
        self.uncheck_all();
        self.values[value].ty = ty;
    }

    /// Sets or takes away the name of `value`.
    pub fn set_value_name(&mut self, value: Value, name: Option<Name>) {
        self.step();
        self.values[value].name = name.into();
    }

    /// A new value, a result of `op`.
    pub(crate) fn push_result(&mut self, ty: Type, op: Op) -> Value {
        self.values.push(ValueData { ty, name: None.into(), n_uses: 0, def: op.as_u32() })
    }

    /// A new value, the last argument of `region`.
    pub(crate) fn push_argument(&mut self, ty: Type, region: Region) -> Value {
        self.step();
        let value = self.values.push(ValueData { ty, name: None.into(), n_uses: 0, def: region.as_u32() | ARG });
        self.regions[region].args.push(value, &mut self.value_lists);
        value
    }
}
