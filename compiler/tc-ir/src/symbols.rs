//! The symbols of a module, and the verifier of them.
//!
//! - A symbol table declares a name once. Operators, combiners and programs share one table, intrinsics have another,
//!   and a schedule is known by its operator and its name.
//! - What refers to a symbol fits what the symbol names: the row's own check says so
//!   ([`OpDef::verify_symbols`](crate::OpDef::verify_symbols)).
//!
//! One function is verified without its module ([`verify`](crate::verify::verify)): passes work on parts of a module. A
//! module is verified here, as a whole, when it is read.

use crate::func::Func;
use crate::module::Module;
use crate::opdef::SymbolTable;
use rustc_hash::FxHashMap;
use tc_support::{Diagnostic, Diagnostics, suggest};

/// Diagnostics beyond this number are dropped: one wrong name may be used everywhere.
const MAX_DIAGNOSTICS: usize = 100;

/// The symbols of a module. Of two items of one name the first is found.
pub struct Symbols<'m> {
    module: &'m Module,
    items: FxHashMap<(SymbolTable, &'m str), usize>,
}

impl<'m> Symbols<'m> {
    /// The symbols of `module`, and the items that declare a name again, each with the item that has it.
    fn of(module: &'m Module) -> (Symbols<'m>, Vec<(usize, usize)>) {
        let (mut items, mut again) = (FxHashMap::default(), Vec::new());
        for (idx, item) in module.items.iter().enumerate() {
            let table = Module::table_of(item);
            if table == SymbolTable::Schedules {
                continue;
            }
            let first = *items.entry((table, item.symbol())).or_insert(idx);
            if first != idx {
                again.push((idx, first));
            }
        }
        (Symbols { module, items }, again)
    }

    /// The operator, combiner or program called `symbol`.
    pub fn function(&self, symbol: &str) -> Option<&'m Func> {
        // The keys' lifetime is the module's; a lookup by a shorter one needs the same only in type.
        self.items.get(&(SymbolTable::Functions, symbol)).map(|&idx| &self.module.items[idx])
    }

    /// The operators, combiners and programs, in order.
    pub fn functions(&self) -> impl Iterator<Item = &'m Func> + Clone + use<'m> {
        self.module.items.iter().filter(|item| Module::table_of(item) == SymbolTable::Functions)
    }

    /// The schedule function called `symbol`.
    pub fn schedule_function(&self, symbol: &str) -> Option<&'m Func> {
        self.items.get(&(SymbolTable::ScheduleFunctions, symbol)).map(|&idx| &self.module.items[idx])
    }

    /// The schedule functions, in order.
    pub fn schedule_functions(&self) -> impl Iterator<Item = &'m Func> + Clone + use<'m> {
        self.module.items.iter().filter(|item| Module::table_of(item) == SymbolTable::ScheduleFunctions)
    }

    /// `` did you mean `@f`? `` for the nearest of `names`, or a list of them if none is near.
    pub fn near<'a>(symbol: &str, names: impl Iterator<Item = &'a str> + Clone) -> Option<String> {
        if let Some(near) = suggest::nearest(symbol, names.clone()) {
            return Some(format!("did you mean `@{near}`?"));
        }
        const MOST: usize = 24;
        let all: Vec<String> = names.take(MOST + 1).map(|name| format!("`@{name}`")).collect();
        (!all.is_empty() && all.len() <= MOST).then(|| format!("there is {}", all.join(", ")))
    }
}

/// What is wrong with `module`: with each item by itself, and with the symbols if the items are right.
pub fn verify_module(module: &Module) -> Diagnostics {
    and_symbols(module, module.items.iter().flat_map(crate::verify::verify).collect())
}

/// As [`verify_module`], by [`verify_edited`](crate::verify::verify_edited).
pub fn verify_module_edited(module: &mut Module) -> Diagnostics {
    let found = module.items.iter_mut().flat_map(crate::verify::verify_edited).collect();
    and_symbols(module, found)
}

fn and_symbols(module: &Module, mut found: Diagnostics) -> Diagnostics {
    if !found.has_errors() {
        found.append(verify_symbols(module));
    }
    found
}

/// What is wrong with the symbols of `module`.
pub fn verify_symbols(module: &Module) -> Diagnostics {
    let (symbols, again) = Symbols::of(module);
    let mut found = Diagnostics::new();
    for (idx, first) in again.into_iter().take(MAX_DIAGNOSTICS) {
        found.push(declared_twice(&module.items[first], &module.items[idx]));
    }
    schedules(module, &mut found);
    for item in &module.items {
        if found.len() >= MAX_DIAGNOSTICS {
            return found;
        }
        if let Some(check) = item.item_row().verify_symbols {
            check(&symbols, item, None, &mut found);
        }
        for op in crate::walk::all_ops(item) {
            if found.len() >= MAX_DIAGNOSTICS {
                return found;
            }
            if let Some(check) = item.row(op).verify_symbols {
                check(&symbols, item, Some(op), &mut found);
            }
        }
    }
    found
}

fn declared_twice(first: &Func, again: &Func) -> Diagnostic {
    let (was, is) = (first.item_row().name, again.item_row().name);
    let symbol = suggest::shorten(again.symbol());
    let text = if was == is {
        format!("`@{symbol}` is declared twice")
    } else {
        format!("`@{symbol}` is declared twice, as `{was}` and as `{is}`")
    };
    let help = match Module::table_of(again) {
        SymbolTable::Functions => "operators, combiners and programs share one table of names: rename one of the two",
        _ => "rename one of the two",
    };
    Diagnostic::error("symbol-taken", again.location(again.header.loc), text)
        .label(first.location(first.header.loc), "it was declared here")
        .help(help)
}

/// An operator has one schedule of a name, which names the operator once.
fn schedules(module: &Module, found: &mut Diagnostics) {
    let mut known: FxHashMap<(&str, &str), usize> = FxHashMap::default();
    for (idx, item) in module.items.iter().enumerate() {
        if Module::table_of(item) != SymbolTable::Schedules || found.len() >= MAX_DIAGNOSTICS {
            continue;
        }
        let name = suggest::shorten(item.symbol());
        for target in item.header.targets.iter() {
            let Some(first) = known.insert((target, item.symbol()), idx) else { continue };
            let operator = suggest::shorten(target);
            let at = item.location(item.header.loc);
            let wrong = if first == idx {
                let text = format!("the schedule `@{name}` names `@{operator}` twice");
                Diagnostic::error("symbol-taken", at, text).help("name each operator once")
            } else {
                let text = format!("`@{operator}` has two schedules `@{name}`");
                let first = &module.items[first];
                Diagnostic::error("symbol-taken", at, text)
                    .label(first.location(first.header.loc), "it was declared here")
                    .help("rename one of the two")
            };
            found.push(wrong);
        }
    }
}
