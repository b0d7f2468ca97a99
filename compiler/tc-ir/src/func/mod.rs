//! A function: an item of a module, which owns all that its body refers to.
//!
//! What an op *is* (`OpData`) is apart from *where* it stands (`Place`). Both are reached through ids, and
//! changed only by [`crate::Builder`] and [`crate::Rewriter`].

mod checked;
mod data;
mod edits;
mod header;
mod ops;
mod places;
mod tables;
mod values;

pub use data::{Def, Locs};
pub(crate) use data::{OpData, Place, RegionData};
pub use edits::{StepsUsedUp, Version};
pub use header::{Header, ParamDecl, ResultDecl, SymbolDecl};

use crate::attrs::AttrTable;
use crate::entity::{Attrs, Loc, Op, Region, Value};
use crate::locs::LocTable;
use crate::names::NameTable;
use crate::opdef::{Context, OpDef, Opcode};
use crate::registry::Registry;
use crate::types::TypeTable;
use checked::Checked;
use cranelift_entity::{ListPool, PrimaryMap};
use data::ValueData;
use edits::Edits;
use std::sync::Arc;

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
    edits: Edits,
    checked: Checked,
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
            edits: Edits::new(),
            checked: Checked::default(),
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
}
