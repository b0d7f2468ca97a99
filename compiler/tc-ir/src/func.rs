//! A function: an item of a module, which owns all that its body refers to.
//!
//! What an op *is* (`OpData`) is apart from *where* it stands (`Place`). Both are reached through ids, and
//! changed only by [`crate::Builder`] and [`crate::Rewriter`].

use crate::attrs::{AttrData, AttrTable};
use crate::entity::{Attr, Attrs, Loc, Name, Op, Region, Type, Value};
use crate::locs::{LocTable, NamedLoc};
use crate::names::{NameTable, keys};
use crate::opdef::{Context, OpDef, Opcode, ParamKind, Role};
use crate::registry::Registry;
use crate::types::{Elem, Scalar, TypeData, TypeTable};
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntityList, EntityRef, ListPool, PrimaryMap};
use std::sync::Arc;
use tc_support::{LineCol, Location, Sources};

/// Where an op comes from: the operator's text, and the schedule directive that put it there.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Locs {
    /// The operator's, or the program's own.
    pub source: Loc,
    /// The directive's.
    pub directive: Loc,
}

/// What an op is.
#[derive(Clone, Debug)]
pub(crate) struct OpData {
    pub(crate) opcode: Opcode,
    pub(crate) n_results: u16,
    /// Bit k is set if the k-th keyed operand parameter of the row is given.
    pub(crate) keyed: u16,
    /// How many operands there are; [`MANY`] where their number does not fit, and stands in front of them.
    pub(crate) n_operands: u16,
    /// Where in the function's list of operands they begin.
    pub(crate) operands: u32,
    pub(crate) regions: EntityList<Region>,
    /// Results have consecutive numbers.
    pub(crate) first_result: PackedOption<Value>,
    pub(crate) attrs: Attrs,
    pub(crate) locs: Locs,
}

/// The number of operands from which on it is written in front of them.
const MANY: u16 = u16::MAX;

impl OpData {
    /// An op without operands, results, regions and attributes.
    pub(crate) fn new(opcode: Opcode, locs: Locs) -> OpData {
        OpData {
            opcode,
            n_results: 0,
            keyed: 0,
            n_operands: 0,
            operands: 0,
            regions: EntityList::new(),
            first_result: None.into(),
            attrs: Attrs::EMPTY,
            locs,
        }
    }

    /// Where the operands stand in the list of all.
    fn operand_range(&self, all: &[Value]) -> std::ops::Range<usize> {
        let start = self.operands as usize;
        match self.n_operands {
            MANY => start + 1..start + 1 + all[start].index(),
            n => start..start + usize::from(n),
        }
    }
}

/// Where an op stands.
#[derive(Clone, Default, Debug)]
pub(crate) struct Place {
    pub(crate) parent: PackedOption<Region>,
    pub(crate) prev: PackedOption<Op>,
    pub(crate) next: PackedOption<Op>,
}

#[derive(Clone, Debug)]
pub(crate) struct ValueData {
    pub(crate) ty: Type,
    pub(crate) name: PackedOption<Name>,
    pub(crate) n_uses: u32,
    /// The number of the defining op, or that of the region and [`ARG`].
    def: u32,
}

/// Marks the region of an argument: there is no memory for so many ops that their numbers would reach it.
const ARG: u32 = 1 << 31;

#[derive(Clone, Default, Debug)]
pub(crate) struct RegionData {
    pub(crate) parent: PackedOption<Op>,
    pub(crate) args: EntityList<Value>,
    pub(crate) first: PackedOption<Op>,
    pub(crate) last: PackedOption<Op>,
}

/// What defines a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Def {
    /// The n-th result of an op.
    Result(Op, usize),
    /// The n-th argument of a region.
    Arg(Region, usize),
}

/// A symbol of a function, such as `n: 1..65536 = 1024`, or a parameter of a schedule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SymbolDecl {
    /// The name; the function's body knows it as a region argument of the same name.
    pub name: Name,
    /// The range `low .. high`, expressions over earlier symbols.
    pub range: Option<(Attr, Attr)>,
    /// The default.
    pub default: Option<Attr>,
}

/// A parameter of a schedule: `p: i32 in [8, 16]`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParamDecl {
    /// The parameter's attributes: alignment and strides of a buffer.
    pub attrs: Attrs,
    /// What follows `in` where it is no scope: the choices of a schedule's parameter.
    pub choices: Option<Attr>,
}

/// A result of a function as its header declares it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ResultDecl {
    /// The name, where it has one (intrinsics).
    pub name: Option<Name>,
    /// The type.
    pub ty: Type,
    /// The attributes.
    pub attrs: Attrs,
}

/// What stands before the body of a function.
#[derive(Clone, Debug)]
pub struct Header {
    /// The item's row.
    pub opcode: Opcode,
    /// The symbol, without `@`.
    pub symbol: String,
    /// The operators that a schedule is for.
    pub targets: Vec<String>,
    /// Symbols; they are the first arguments of the body.
    pub symbols: Vec<SymbolDecl>,
    /// Parameters; they are the arguments of the body after the symbols.
    pub params: Vec<ParamDecl>,
    /// Results.
    pub results: Vec<ResultDecl>,
    /// The conditions after `where`.
    pub facts: Vec<Attr>,
    /// Attributes.
    pub attrs: Attrs,
    /// Where the item opens.
    pub loc: Loc,
}

/// An item of a module, with everything that its body refers to.
#[derive(Clone, Debug)]
pub struct Func {
    registry: Arc<Registry>,
    /// What stands before the body.
    pub header: Header,
    pub(crate) body: Region,
    pub(crate) ops: PrimaryMap<Op, OpData>,
    pub(crate) places: PrimaryMap<Op, Place>,
    pub(crate) values: PrimaryMap<Value, ValueData>,
    pub(crate) regions: PrimaryMap<Region, RegionData>,
    /// The operands of all ops. What an op leaves behind when it gets more of them stays unused.
    operands: Vec<Value>,
    /// The arguments of regions.
    pub(crate) value_lists: ListPool<Value>,
    pub(crate) region_lists: ListPool<Region>,
    pub(crate) types: TypeTable,
    pub(crate) attrs: AttrTable,
    pub(crate) names: NameTable,
    pub(crate) locs: LocTable,
}

impl Func {
    /// An empty function of the item row `opcode`.
    pub fn new(registry: Arc<Registry>, opcode: Opcode, symbol: impl Into<String>) -> Func {
        let mut regions = PrimaryMap::new();
        let body = regions.push(RegionData::default());
        Func {
            registry,
            header: Header {
                opcode,
                symbol: symbol.into(),
                targets: Vec::new(),
                symbols: Vec::new(),
                params: Vec::new(),
                results: Vec::new(),
                facts: Vec::new(),
                attrs: Attrs::EMPTY,
                loc: Loc::NONE,
            },
            body,
            ops: PrimaryMap::new(),
            places: PrimaryMap::new(),
            values: PrimaryMap::new(),
            regions,
            operands: Vec::new(),
            value_lists: ListPool::new(),
            region_lists: ListPool::new(),
            types: TypeTable::new(),
            attrs: AttrTable::new(),
            names: NameTable::new(),
            locs: LocTable::default(),
        }
    }

    /// The dialects this function is written in.
    #[inline]
    pub fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// The region that holds the body.
    #[inline]
    pub fn body(&self) -> Region {
        self.body
    }

    /// The symbol, without `@`.
    pub fn symbol(&self) -> &str {
        &self.header.symbol
    }

    /// The row of the item itself.
    pub fn item_row(&self) -> &'static OpDef {
        self.registry.row(self.header.opcode)
    }

    /// The level of the language that the body is written at.
    pub fn context(&self) -> Context {
        self.item_row().item.map_or(Context::Any, |item| item.context)
    }

    /// The parameters of the body after the symbols: buffers and scalars in the order of the header.
    #[inline]
    pub fn params(&self) -> &[Value] {
        &self.region_args(self.body)[self.header.symbols.len()..]
    }

    /// Gives memory back that growth left over.
    pub fn shrink(&mut self) {
        self.ops.shrink_to_fit();
        self.places.shrink_to_fit();
        self.values.shrink_to_fit();
        self.regions.shrink_to_fit();
        self.operands.shrink_to_fit();
        // A pool has no way to shrink, but its copy is exact.
        self.value_lists = self.value_lists.clone();
        self.region_lists = self.region_lists.clone();
        self.types.shrink();
        self.attrs.shrink();
        self.names.shrink();
    }

    /// The bytes that ops, places, values, regions and operand lists take, for statistics. Interned tables,
    /// which do not grow with the number of ops, are left out.
    pub fn storage_bytes(&self) -> usize {
        self.ops.len() * size_of::<OpData>()
            + self.operands.len() * size_of::<Value>()
            + self.places.len() * size_of::<Place>()
            + self.values.len() * size_of::<ValueData>()
            + self.regions.len() * size_of::<RegionData>()
    }

    // Interning.

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

    // Ops.

    /// The row number of `op`.
    #[inline]
    pub fn opcode(&self, op: Op) -> Opcode {
        self.ops[op].opcode
    }

    /// The row of `op`.
    #[inline]
    pub fn row(&self, op: Op) -> &'static OpDef {
        self.registry.row(self.ops[op].opcode)
    }

    /// The sugar that `op` stands behind.
    #[inline]
    pub fn role(&self, op: Op) -> Role {
        self.row(op).role
    }

    /// The dotted name of `op`, that of an unknown op included.
    pub fn op_name(&self, op: Op) -> &str {
        if self.opcode(op) == Opcode::UNKNOWN
            && let Some(name) = self.attr_of(op, keys::OP_NAME)
            && let Some(word) = self.as_word(name)
        {
            return word;
        }
        self.row(op).name
    }

    /// The operands of `op`.
    #[inline]
    pub fn operands(&self, op: Op) -> &[Value] {
        &self.operands[self.ops[op].operand_range(&self.operands)]
    }

    /// Sets operand `idx` of `op`; use counts are the caller's to keep.
    pub(crate) fn put_operand(&mut self, op: Op, idx: usize, value: Value) {
        let range = self.ops[op].operand_range(&self.operands);
        self.operands[range][idx] = value;
    }

    /// Sets all operands of `op`; use counts are the caller's to keep.
    pub(crate) fn put_operands(&mut self, op: Op, operands: &[Value]) {
        let old = self.ops[op].operand_range(&self.operands);
        let data = &mut self.ops[op];
        if operands.len() <= old.len() && data.n_operands != MANY {
            // What fits is written over the old ones.
            data.n_operands = operands.len() as u16;
            self.operands[old.start..old.start + operands.len()].copy_from_slice(operands);
            return;
        }
        data.operands = u32::try_from(self.operands.len()).expect("there is no memory for so many operands");
        data.n_operands = u16::try_from(operands.len()).unwrap_or(MANY);
        if data.n_operands == MANY {
            self.operands.push(Value::new(operands.len()));
        }
        self.operands.extend_from_slice(operands);
    }

    /// The first operand of `op`. Panics if it has none.
    #[inline]
    pub fn operand(&self, op: Op, idx: usize) -> Value {
        self.operands(op)[idx]
    }

    /// The bit set of given keyed operand parameters, in the order of the row.
    pub fn keyed_mask(&self, op: Op) -> u16 {
        self.ops[op].keyed
    }

    /// The operands at parameter number `param` of the row: none for an attribute or an optional operand that
    /// was left out.
    pub fn param_operands(&self, op: Op, param: usize) -> &[Value] {
        let row = self.row(op);
        let operands = self.operands(op);
        let (mut start, mut len) = (0, 0);
        self.for_each_param(op, row, |idx, at, n| {
            if idx == param {
                (start, len) = (at, n);
            }
        });
        operands.get(start..start + len).unwrap_or(&[])
    }

    /// Calls `visit` with the index, the first operand and the number of operands of each operand parameter:
    /// those by position first, then those by key.
    pub(crate) fn for_each_param(&self, op: Op, row: &OpDef, mut visit: impl FnMut(usize, usize, usize)) {
        let data = &self.ops[op];
        let total = self.operands(op).len();
        if self.registry.facts(data.opcode).n_operands.is_some() {
            let operands = row.params.iter().enumerate().filter(|(_, param)| param.kind.is_operand());
            return operands.enumerate().for_each(|(at, (idx, _))| visit(idx, at, 1));
        }
        let mut n_keyed = 0;
        let given = |n: &mut u32| {
            let bit = data.keyed >> *n & 1 == 1;
            *n += 1;
            bit
        };
        // Everything but the variadic parameter is one operand or none; the variadic one takes the rest.
        let mut n_fixed = 0;
        for param in row.params.iter().filter(|param| param.kind.is_operand()) {
            let present = if param.keyed || param.optional { given(&mut n_keyed) } else { true };
            n_fixed += usize::from(present && !param.kind.is_variadic());
        }
        let rest = total.saturating_sub(n_fixed);
        let mut at = 0;
        for keyed in [false, true] {
            let mut bit = 0;
            for (idx, param) in row.params.iter().enumerate().filter(|(_, param)| param.kind.is_operand()) {
                let present = if param.keyed || param.optional { given(&mut bit) } else { true };
                if param.keyed != keyed {
                    continue;
                }
                let len = if param.kind.is_variadic() { rest } else { usize::from(present) };
                visit(idx, at, len);
                at += len;
            }
        }
    }

    /// Is the optional or keyed operand parameter number `param` given? (An empty list can be.)
    pub fn param_given(&self, op: Op, param: usize) -> bool {
        let row = self.row(op);
        let mut bit = 0;
        for (idx, def) in row.params.iter().enumerate().filter(|(_, def)| def.kind.is_operand()) {
            let masked = def.keyed || def.optional;
            if idx == param {
                return !masked || self.ops[op].keyed >> bit & 1 == 1;
            }
            bit += u32::from(masked);
        }
        false
    }

    /// The results of `op`.
    #[inline]
    pub fn results(&self, op: Op) -> impl ExactSizeIterator<Item = Value> + DoubleEndedIterator + Clone + use<> {
        let data = &self.ops[op];
        let first = data.first_result.expand().map_or(0, |value| value.index());
        (first..first + usize::from(data.n_results)).map(Value::new)
    }

    /// The number of results of `op`.
    #[inline]
    pub fn n_results(&self, op: Op) -> usize {
        usize::from(self.ops[op].n_results)
    }

    /// The one result of `op`, if it has just one.
    #[inline]
    pub fn result(&self, op: Op) -> Option<Value> {
        let data = &self.ops[op];
        if data.n_results == 1 { data.first_result.expand() } else { None }
    }

    /// The regions of `op`.
    #[inline]
    pub fn op_regions(&self, op: Op) -> &[Region] {
        self.ops[op].regions.as_slice(&self.region_lists)
    }

    /// The attributes of `op`.
    #[inline]
    pub fn op_attrs(&self, op: Op) -> Attrs {
        self.ops[op].attrs
    }

    /// The attribute `key` of `op`.
    #[inline]
    pub fn attr_of(&self, op: Op, key: Name) -> Option<Attr> {
        self.entry(self.ops[op].attrs, key)
    }

    /// The attribute called `key` of `op`.
    pub fn attr_named(&self, op: Op, key: &str) -> Option<Attr> {
        self.entries(self.ops[op].attrs).iter().find(|(name, _)| self.text(*name) == key).map(|(_, attr)| *attr)
    }

    /// The word at `key` of `op`.
    pub fn word_of(&self, op: Op, key: Name) -> Option<&str> {
        self.as_word(self.attr_of(op, key)?)
    }

    /// The integer at `key` of `op`.
    pub fn int_of(&self, op: Op, key: Name) -> Option<i64> {
        self.as_int(self.attr_of(op, key)?)
    }

    /// Where `op` comes from.
    #[inline]
    pub fn op_locs(&self, op: Op) -> Locs {
        self.ops[op].locs
    }

    // Values.

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

    /// How many operands are each value, for all that is on record.
    pub(crate) fn kept_use_counts(&self) -> impl Iterator<Item = (Value, u32)> + '_ {
        self.values.iter().map(|(value, data)| (value, data.n_uses))
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
        // Arguments are made one after another, so their numbers rise. One that was taken out is nobody's.
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

    // Places.

    /// The region that `op` stands in; `None` if it was taken out.
    #[inline]
    pub fn region_of(&self, op: Op) -> Option<Region> {
        self.places[op].parent.expand()
    }

    /// The op whose region `op` stands in; `None` at the top of the body.
    #[inline]
    pub fn parent_op(&self, op: Op) -> Option<Op> {
        self.region_parent(self.region_of(op)?)
    }

    /// The op that `region` belongs to; `None` for the body.
    #[inline]
    pub fn region_parent(&self, region: Region) -> Option<Op> {
        self.regions[region].parent.expand()
    }

    /// The arguments of `region`.
    #[inline]
    pub fn region_args(&self, region: Region) -> &[Value] {
        self.regions[region].args.as_slice(&self.value_lists)
    }

    /// The first op of `region`.
    #[inline]
    pub fn first_op(&self, region: Region) -> Option<Op> {
        self.regions[region].first.expand()
    }

    /// The last op of `region`.
    #[inline]
    pub fn last_op(&self, region: Region) -> Option<Op> {
        self.regions[region].last.expand()
    }

    /// The op after `op` in its region.
    #[inline]
    pub fn next_op(&self, op: Op) -> Option<Op> {
        self.places[op].next.expand()
    }

    /// The op before `op` in its region.
    #[inline]
    pub fn prev_op(&self, op: Op) -> Option<Op> {
        self.places[op].prev.expand()
    }

    /// The ops of `region` in order.
    #[inline]
    pub fn ops(&self, region: Region) -> impl Iterator<Item = Op> + Clone + '_ {
        std::iter::successors(self.first_op(region), |&op| self.next_op(op))
    }

    /// The op that ends `region`, if one does.
    #[inline]
    pub fn terminator(&self, region: Region) -> Option<Op> {
        self.last_op(region).filter(|&op| self.row(op).terminator)
    }

    /// What the op that ends `region` hands on.
    #[inline]
    pub fn yielded(&self, region: Region) -> &[Value] {
        self.terminator(region).map_or(&[], |op| self.operands(op))
    }

    /// The number of ops ever made here, those taken out included; ids are below it.
    pub fn n_op_ids(&self) -> usize {
        self.ops.len()
    }

    /// The number of values ever made here; ids are below it.
    pub fn n_value_ids(&self) -> usize {
        self.values.len()
    }

    /// Is parameter `idx` of the row of `op` one that takes a place?
    pub fn takes_place(&self, op: Op, param: usize) -> bool {
        matches!(self.row(op).params.get(param).map(|param| param.kind), Some(ParamKind::Place(_)))
    }

    /// A new value, a result of `op`.
    pub(crate) fn push_result(&mut self, ty: Type, op: Op) -> Value {
        self.values.push(ValueData { ty, name: None.into(), n_uses: 0, def: op.as_u32() })
    }

    /// A new value, the last argument of `region`.
    pub(crate) fn push_argument(&mut self, ty: Type, region: Region) -> Value {
        let value = self.values.push(ValueData { ty, name: None.into(), n_uses: 0, def: region.as_u32() | ARG });
        self.regions[region].args.push(value, &mut self.value_lists);
        value
    }
}
