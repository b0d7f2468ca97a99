//! Names in scope. A name is bound once: shadowing a name that can be seen is an error.
//!
//! Names are the function's own: looking one up costs the one hash that interning it costs.

use crate::tree::TextRange;
use tc_ir::{Name, Value};

/// What a name stands for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Binding {
    pub(super) value: Value,
    /// Where it was bound.
    pub(super) at: TextRange,
}

/// The names that can be seen, innermost scope last.
#[derive(Default)]
pub(super) struct Scopes {
    bindings: Vec<Option<Binding>>,
    /// Names in the order in which they were bound.
    order: Vec<Name>,
    /// The lengths of `order` at which scopes opened.
    marks: Vec<usize>,
}

impl Scopes {
    /// Opens a scope.
    pub(super) fn open(&mut self) {
        self.marks.push(self.order.len());
    }

    /// Closes the innermost scope and gives what was bound in it, in order.
    pub(super) fn close(&mut self) -> Vec<(Name, Binding)> {
        let mark = self.marks.pop().unwrap_or(0);
        let bindings = &mut self.bindings;
        let bound = self.order.drain(mark..);
        bound.filter_map(|name| bindings[idx(name)].take().map(|binding| (name, binding))).collect()
    }

    /// Closes the innermost scope.
    pub(super) fn drop_scope(&mut self) {
        let mark = self.marks.pop().unwrap_or(0);
        for name in self.order.drain(mark..) {
            self.bindings[idx(name)] = None;
        }
    }

    /// Binds `name`; gives the earlier binding if there is one.
    pub(super) fn bind(&mut self, name: Name, binding: Binding) -> Result<(), Binding> {
        if self.bindings.len() <= idx(name) {
            self.bindings.resize(idx(name) + 1, None);
        }
        match &mut self.bindings[idx(name)] {
            Some(earlier) => Err(*earlier),
            free => {
                *free = Some(binding);
                self.order.push(name);
                Ok(())
            }
        }
    }

    /// What `name` stands for.
    pub(super) fn get(&self, name: Name) -> Option<Value> {
        self.bindings.get(idx(name)).copied().flatten().map(|binding| binding.value)
    }

    /// The names that can be seen, in the order in which they were bound.
    pub(super) fn names(&self) -> impl Iterator<Item = Name> + Clone + '_ {
        self.order.iter().copied()
    }
}

fn idx(name: Name) -> usize {
    name.as_u32() as usize
}
