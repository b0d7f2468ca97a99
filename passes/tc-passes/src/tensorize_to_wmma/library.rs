//! The intrinsics of a run: those of the module, and those that the run lends.

use std::sync::{Arc, OnceLock};
use tc_dialects::te;
use tc_ir::opdef::SymbolTable;
use tc_ir::{Func, Module};

/// The extension by which a run lends intrinsics to this pass. They are made when they are asked for the first time:
/// most programs ask for none.
#[derive(Clone)]
pub struct Library(Arc<Shelf>);

struct Shelf {
    make: Box<dyn Fn() -> Vec<Func> + Send + Sync>,
    items: OnceLock<Vec<Func>>,
}

impl Library {
    /// A library of the items that `make` makes. Their locations are told to readers of other files, so they must name
    /// their file themselves.
    pub fn new(make: impl Fn() -> Vec<Func> + Send + Sync + 'static) -> Library {
        Library(Arc::new(Shelf { make: Box::new(make), items: OnceLock::new() }))
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
}

impl Shelves {
    pub(super) fn of(module: &Module, lent: Option<Library>) -> Shelves {
        let own = module.items.iter().filter(|item| Module::table_of(item) == SymbolTable::Intrinsics);
        Shelves { own: own.cloned().collect(), lent }
    }

    /// The intrinsics that are lent.
    pub(super) fn lent(&self) -> &[Func] {
        self.lent.as_ref().map_or(&[], |library| library.items())
    }

    /// The intrinsic called `symbol`; one of the module hides one that is lent.
    pub(super) fn find(&self, symbol: &str) -> Option<&Func> {
        let named = |item: &&Func| item.symbol() == symbol && item.header.opcode == te::INTRIN;
        self.own.iter().find(named).or_else(|| self.lent().iter().find(named))
    }

    /// All names, those of the module first.
    pub(super) fn names(&self) -> Vec<&str> {
        self.own.iter().chain(self.lent()).map(Func::symbol).collect()
    }
}
