//! Names in scope. A name is bound once: shadowing a name that can be seen is an error.

use crate::tree::TextRange;
use rustc_hash::FxHashMap;
use tc_ir::Value;

/// What a name stands for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Binding {
    pub(super) value: Value,
    /// Where it was bound.
    pub(super) at: TextRange,
}

/// The names that can be seen, innermost scope last.
#[derive(Default)]
pub(super) struct Scopes<'a> {
    names: FxHashMap<&'a str, Binding>,
    /// Names in the order in which they were bound.
    order: Vec<&'a str>,
    /// The lengths of `order` at which scopes opened.
    marks: Vec<usize>,
}

impl<'a> Scopes<'a> {
    /// Opens a scope.
    pub(super) fn open(&mut self) {
        self.marks.push(self.order.len());
    }

    /// Closes the innermost scope and gives what was bound in it, in order.
    pub(super) fn close(&mut self) -> Vec<(&'a str, Binding)> {
        let mark = self.marks.pop().unwrap_or(0);
        let names: Vec<&'a str> = self.order.drain(mark..).collect();
        names.into_iter().filter_map(|name| self.names.remove(name).map(|binding| (name, binding))).collect()
    }

    /// Closes the innermost scope.
    pub(super) fn drop_scope(&mut self) {
        let mark = self.marks.pop().unwrap_or(0);
        for name in self.order.drain(mark..) {
            self.names.remove(name);
        }
    }

    /// Binds `name`; gives the earlier binding if there is one.
    pub(super) fn bind(&mut self, name: &'a str, binding: Binding) -> Result<(), Binding> {
        match self.names.entry(name) {
            std::collections::hash_map::Entry::Occupied(entry) => Err(*entry.get()),
            std::collections::hash_map::Entry::Vacant(entry) => {
                entry.insert(binding);
                self.order.push(name);
                Ok(())
            }
        }
    }

    /// What `name` stands for.
    pub(super) fn get(&self, name: &str) -> Option<Value> {
        self.names.get(name).map(|binding| binding.value)
    }

    /// The names that can be seen, in the order in which they were bound.
    pub(super) fn names(&self) -> impl Iterator<Item = &'a str> + Clone + '_ {
        self.order.iter().copied()
    }
}
