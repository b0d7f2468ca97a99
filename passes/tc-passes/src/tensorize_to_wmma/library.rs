//! The intrinsics of a run: those of the module, and those that the run lends.

use super::find;
use std::sync::{Arc, OnceLock};
use tc_dialects::intrinsics::wgmma;
use tc_dialects::{te, tir};
use tc_ir::opdef::SymbolTable;
use tc_ir::walk::all_ops;
use tc_ir::{AttrData, Elem, Func, Module, keys};

/// The extension by which a run lends intrinsics to this pass. They are made when they are asked for the first time:
/// most programs ask for none. Some are made one by one, of their name.
#[derive(Clone)]
pub struct Library(Arc<Shelf>);

/// Makes all items.
type Make = dyn Fn() -> Vec<Func> + Send + Sync;
/// Makes the item of a name.
type ByName = dyn Fn(&str) -> Option<Func> + Send + Sync;

struct Shelf {
    make: Box<Make>,
    by_name: Box<ByName>,
    items: OnceLock<Vec<Func>>,
}

impl Library {
    /// A library of the items that `make` makes. Their locations are told to readers of other files, so they must name
    /// their file themselves.
    pub fn new(make: impl Fn() -> Vec<Func> + Send + Sync + 'static) -> Library {
        Library::with_names(make, |_| None)
    }

    /// The same, and what `by_name` makes of a name that is none of the items'.
    pub fn with_names(
        make: impl Fn() -> Vec<Func> + Send + Sync + 'static,
        by_name: impl Fn(&str) -> Option<Func> + Send + Sync + 'static,
    ) -> Library {
        Library(Arc::new(Shelf { make: Box::new(make), by_name: Box::new(by_name), items: OnceLock::new() }))
    }

    /// The items.
    pub fn items(&self) -> &[Func] {
        self.0.items.get_or_init(|| (self.0.make)())
    }
}

/// What a mark may name.
pub(super) struct Shelves {
    own: Vec<Func>,
    lent: Option<Library>,
    /// Those that marks name and that are made of their name.
    made: Vec<Func>,
}

impl Shelves {
    pub(super) fn of(module: &Module, lent: Option<Library>) -> Shelves {
        let own = module.items.iter().filter(|item| Module::table_of(item) == SymbolTable::Intrinsics);
        let own: Vec<Func> = own.cloned().collect();
        let mut made: Vec<Func> = Vec::new();
        if let Some(Library(shelf)) = &lent {
            for item in module.items.iter().filter(|item| item.header.opcode == tir::FUNC) {
                for symbol in all_ops(item).filter_map(|op| find::mark(item, op)) {
                    let is_known = own.iter().chain(&made).any(|item| item.symbol() == symbol);
                    if !is_known {
                        made.extend((shelf.by_name)(symbol));
                    }
                }
            }
        }
        Shelves { own, lent, made }
    }

    /// The intrinsics that are lent.
    pub(super) fn lent(&self) -> &[Func] {
        self.lent.as_ref().map_or(&[], |library| library.items())
    }

    /// The intrinsic called `symbol`; one of the module hides one that is lent.
    pub(super) fn find(&self, symbol: &str) -> Option<&Func> {
        let named = |item: &&Func| item.symbol() == symbol && item.header.opcode == te::INTRIN;
        let known = self.own.iter().chain(&self.made).find(named);
        known.or_else(|| self.lent().iter().find(named))
    }

    /// The intrinsics of the family `symbol` that may be meant for loops of these extents over buffers of these types, those
    /// with the shortest names first.
    pub(super) fn family(&self, symbol: &str, extents: &[i64], elems: &[Elem]) -> Vec<Func> {
        let is_one = |item: &&Func| item.header.opcode == te::INTRIN && is_of_family(item, symbol);
        let mut all: Vec<Func> = self.own.iter().chain(self.lent()).filter(is_one).cloned().collect();
        if let Some(Library(shelf)) = &self.lent
            && symbol.split('_').next() == Some(wgmma::FAMILY)
        {
            let made = wgmma::family(extents, elems);
            all.extend(made.iter().filter_map(|name| (shelf.by_name)(name)).filter(|item| is_of_family(item, symbol)));
        }
        all.sort_by_key(|item| item.symbol().split('_').count());
        all
    }

    /// All names, those of the module first; of those that are made of their name some.
    pub(super) fn names(&self) -> Vec<&str> {
        self.own.iter().chain(self.lent()).map(Func::symbol).chain(wgmma::EXAMPLES.iter().copied()).collect()
    }
}

/// Is `item` of the family `symbol`, whose words are some of the item's, the first of them among them? An intrinsic that computes
/// in other numbers than it takes is of a family that names these: `@wgmma_tf32`.
fn is_of_family(item: &Func, symbol: &str) -> bool {
    let mut words = item.symbol().split('_');
    let starts_alike = symbol.split('_').next() == item.symbol().split('_').next();
    let numerics = item.entry(item.header.attrs, keys::NUMERICS).map(|attr| item.attr_data(attr));
    let is_named = match numerics {
        Some(AttrData::Str(numbers)) => symbol.split('_').any(|word| *word == **numbers),
        other => other.is_none(),
    };
    starts_alike && is_named && symbol.split('_').all(|word| words.any(|other| other == word))
}
