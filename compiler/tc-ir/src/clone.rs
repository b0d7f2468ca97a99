//! Copies of ops, within a function and from one function into another.

use crate::attrs::AttrData;
use crate::builder::{Builder, OpSpec};
use crate::entity::{Attr, Attrs, Loc, Name, Op, Region, Type, Value};
use crate::func::{Func, Locs};
use crate::locs::LocKind;
use crate::types::{TypeData, TypeParam};
use rustc_hash::FxHashMap;

/// Which value stands for which in a copy; a value that is not in it stands for itself.
pub type ValueMap = FxHashMap<Value, Value>;

/// Copies `op` and all in its regions to the builder's place. Results and region arguments of the copy are
/// added to `map`. Names and locations come along.
pub fn clone_op(b: &mut Builder<'_>, op: Op, map: &mut ValueMap) -> Op {
    let operands: Vec<Value> = b.func.operands(op).iter().map(|value| *map.get(value).unwrap_or(value)).collect();
    let types: Vec<Type> = b.func.results(op).map(|value| b.func.value_type(value)).collect();
    let regions = b.func.op_regions(op).to_vec();
    let saved = b.locs;
    b.locs = b.func.op_locs(op);
    let copy = b.op(OpSpec {
        opcode: b.func.opcode(op),
        operands: &operands,
        keyed: b.func.keyed_mask(op),
        attrs: b.func.op_attrs(op),
        results: &types,
        n_regions: regions.len(),
    });
    b.locs = saved;
    for (old, new) in b.func.results(op).zip(b.func.results(copy)) {
        let name = b.func.value_name(old);
        b.func.set_value_name(new, name);
        map.insert(old, new);
    }
    for (idx, region) in regions.into_iter().enumerate() {
        let target = b.func.op_regions(copy)[idx];
        for old in b.func.region_args(region).to_vec() {
            let ty = b.func.value_type(old);
            let new = b.func.push_arg(target, ty, None);
            let name = b.func.value_name(old);
            b.func.set_value_name(new, name);
            map.insert(old, new);
        }
        b.within(target, |b| clone_ops(b, region, map));
    }
    copy
}

/// Copies all ops of `region`, its terminator included, to the builder's place.
pub fn clone_ops(b: &mut Builder<'_>, region: Region, map: &mut ValueMap) {
    let ops: Vec<Op> = b.func.ops(region).collect();
    for op in ops {
        clone_op(b, op, map);
    }
}

/// Copies the ops of `region` but its terminator to the builder's place, and gives what it would have yielded.
pub fn clone_body(b: &mut Builder<'_>, region: Region, map: &mut ValueMap) -> Vec<Value> {
    let end = b.func.terminator(region);
    let ops: Vec<Op> = b.func.ops(region).filter(|&op| Some(op) != end).collect();
    for op in ops {
        clone_op(b, op, map);
    }
    b.func.yielded(region).iter().map(|value| *map.get(value).unwrap_or(value)).collect()
}

/// Copies from one function into another: types, attributes and names are interned anew.
pub struct Importer<'a> {
    src: &'a Func,
    types: FxHashMap<Type, Type>,
    attrs: FxHashMap<Attr, Attr>,
    dicts: FxHashMap<Attrs, Attrs>,
    /// The values of the copy.
    pub values: ValueMap,
}

impl<'a> Importer<'a> {
    /// Copies out of `src`.
    pub fn new(src: &'a Func) -> Importer<'a> {
        Importer {
            src,
            types: FxHashMap::default(),
            attrs: FxHashMap::default(),
            dicts: FxHashMap::default(),
            values: ValueMap::default(),
        }
    }

    /// The function copied out of.
    pub fn src(&self) -> &'a Func {
        self.src
    }

    /// The name in `dst`.
    pub fn name(&self, dst: &mut Func, name: Name) -> Name {
        dst.name(self.src.text(name))
    }

    /// The type in `dst`.
    pub fn ty(&mut self, dst: &mut Func, ty: Type) -> Type {
        if let Some(&known) = self.types.get(&ty) {
            return known;
        }
        let data = match self.src.type_data(ty).clone() {
            TypeData::Scalar(scalar) => TypeData::Scalar(scalar),
            TypeData::Shaped { elem, shape, scope } => TypeData::Shaped {
                elem: self.ty(dst, elem),
                shape: shape.iter().map(|&dim| self.attr(dst, dim)).collect(),
                scope: scope.map(|scope| self.name(dst, scope)),
            },
            TypeData::Ref { elem, shape, scope } => TypeData::Ref {
                elem: self.ty(dst, elem),
                shape: shape.iter().map(|&dim| self.attr(dst, dim)).collect(),
                scope: scope.map(|scope| self.name(dst, scope)),
            },
            TypeData::Opaque { path, params } => TypeData::Opaque {
                path: self.name(dst, path),
                params: params
                    .iter()
                    .map(|param| match param {
                        TypeParam::Type(ty) => TypeParam::Type(self.ty(dst, *ty)),
                        other => other.clone(),
                    })
                    .collect(),
            },
        };
        let new = dst.ty(data);
        self.types.insert(ty, new);
        new
    }

    /// The attribute in `dst`.
    pub fn attr(&mut self, dst: &mut Func, attr: Attr) -> Attr {
        if let Some(&known) = self.attrs.get(&attr) {
            return known;
        }
        let data = match self.src.attr_data(attr).clone() {
            AttrData::Type(ty) => AttrData::Type(self.ty(dst, ty)),
            AttrData::Word(name) => AttrData::Word(self.name(dst, name)),
            AttrData::List(list) => AttrData::List(list.iter().map(|&attr| self.attr(dst, attr)).collect()),
            AttrData::Dict(attrs) => AttrData::Dict(self.dict(dst, attrs)),
            AttrData::Unary(op, arg) => AttrData::Unary(op, self.attr(dst, arg)),
            AttrData::Binary(op, lhs, rhs) => AttrData::Binary(op, self.attr(dst, lhs), self.attr(dst, rhs)),
            AttrData::Call(name, args) => {
                let args = args.iter().map(|&attr| self.attr(dst, attr)).collect();
                AttrData::Call(self.name(dst, name), args)
            }
            same => same,
        };
        let new = dst.attr(data);
        self.attrs.insert(attr, new);
        new
    }

    /// The list of attributes in `dst`.
    pub fn dict(&mut self, dst: &mut Func, attrs: Attrs) -> Attrs {
        if attrs == Attrs::EMPTY {
            return attrs;
        }
        if let Some(&known) = self.dicts.get(&attrs) {
            return known;
        }
        let entries: Vec<(Name, Attr)> =
            self.src.entries(attrs).iter().map(|&(name, attr)| (self.name(dst, name), self.attr(dst, attr))).collect();
        let new = dst.dict(&entries);
        self.dicts.insert(attrs, new);
        new
    }

    /// The location in `dst`.
    pub fn loc(&self, dst: &mut Func, loc: Loc) -> Loc {
        match loc.kind() {
            LocKind::None | LocKind::Pos(_) => loc,
            LocKind::Named(number) => dst.locs.add(self.src.locs.named(number).clone()),
        }
    }

    /// Copies `op` and all in its regions to the builder's place. An op without a directive gets the builder's.
    pub fn op(&mut self, b: &mut Builder<'_>, op: Op) -> Op {
        let src = self.src;
        let operands: Vec<Value> = src
            .operands(op)
            .iter()
            .map(|value| *self.values.get(value).expect("operands are copied before their users"))
            .collect();
        let types: Vec<Type> = src.results(op).map(|value| self.ty(b.func, src.value_type(value))).collect();
        let saved = b.locs;
        let Locs { source, directive } = src.op_locs(op);
        let directive = if directive.is_none() { saved.directive } else { self.loc(b.func, directive) };
        b.locs = Locs { source: self.loc(b.func, source), directive };
        let attrs = self.dict(b.func, src.op_attrs(op));
        let copy = b.op(OpSpec {
            opcode: src.opcode(op),
            operands: &operands,
            keyed: src.keyed_mask(op),
            attrs,
            results: &types,
            n_regions: src.op_regions(op).len(),
        });
        for (old, new) in src.results(op).zip(b.func.results(copy)) {
            self.bind(b.func, old, new);
        }
        for (idx, &region) in src.op_regions(op).iter().enumerate() {
            let target = b.func.op_regions(copy)[idx];
            for &old in src.region_args(region) {
                let ty = self.ty(b.func, src.value_type(old));
                let new = b.func.push_arg(target, ty, None);
                self.bind(b.func, old, new);
            }
            b.within(target, |b| {
                for op in src.ops(region) {
                    self.op(b, op);
                }
            });
        }
        b.locs = saved;
        copy
    }

    fn bind(&mut self, dst: &mut Func, old: Value, new: Value) {
        let name = self.src.value_name(old).map(|name| self.name(dst, name));
        dst.set_value_name(new, name);
        self.values.insert(old, new);
    }
}
