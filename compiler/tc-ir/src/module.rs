//! A module: the items of a file, and the sources they came from.

use crate::func::Func;
use crate::opdef::SymbolTable;
use crate::registry::Registry;
use std::sync::Arc;
use tc_support::Sources;

/// The items of a file in their order.
#[derive(Clone, Debug)]
pub struct Module {
    /// The dialects that the items are written in.
    pub registry: Arc<Registry>,
    /// The files that locations point into.
    pub sources: Sources,
    /// The items.
    pub items: Vec<Func>,
    /// The pass that failed on the module and left it half changed: it is good for looking at, and for nothing else.
    pub spoiled_by: Option<&'static str>,
}

impl Module {
    /// The version that the first line of a file may name.
    pub const VERSION: u32 = 1;

    /// A module without items.
    pub fn new(registry: Arc<Registry>) -> Module {
        Module { registry, sources: Sources::new(), items: Vec::new(), spoiled_by: None }
    }

    /// The symbol table that `item` lives in.
    pub fn table_of(item: &Func) -> SymbolTable {
        item.item_row().item.map_or(SymbolTable::Functions, |item| item.table)
    }

    /// The index of the item called `symbol` in a table other than that of schedules.
    pub fn find(&self, table: SymbolTable, symbol: &str) -> Option<usize> {
        self.items.iter().position(|item| Module::table_of(item) == table && item.symbol() == symbol)
    }

    /// The function or combiner called `symbol`.
    pub fn function(&self, symbol: &str) -> Option<&Func> {
        self.find(SymbolTable::Functions, symbol).map(|idx| &self.items[idx])
    }

    /// The indices of the schedules for the operator `operator`, in order.
    pub fn schedules_for<'a>(&'a self, operator: &'a str) -> impl Iterator<Item = usize> + 'a {
        self.items.iter().enumerate().filter_map(move |(idx, item)| {
            let is_one = Module::table_of(item) == SymbolTable::Schedules
                && item.header.targets.iter().any(|target| target == operator);
            is_one.then_some(idx)
        })
    }
}
