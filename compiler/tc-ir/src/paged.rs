//! A table by entity that costs what is written to it, not what the function is long.

use cranelift_entity::EntityRef;
use std::marker::PhantomData;

/// The entries of a page.
const PAGE: usize = 256;

/// What each entity has; the default until something is set. A table of the few entities that a question is about is
/// made in no time in a function of a million ops.
pub struct Paged<K, T> {
    pages: Vec<Option<Box<[T; PAGE]>>>,
    keys: PhantomData<K>,
}

impl<K, T> Default for Paged<K, T> {
    fn default() -> Paged<K, T> {
        Paged { pages: Vec::new(), keys: PhantomData }
    }
}

impl<K: EntityRef, T: Copy + Default> Paged<K, T> {
    /// What `key` has.
    #[inline]
    pub fn get(&self, key: K) -> T {
        match self.pages.get(key.index() / PAGE) {
            Some(Some(page)) => page[key.index() % PAGE],
            _ => T::default(),
        }
    }

    /// Lets `key` have `entry`.
    pub fn set(&mut self, key: K, entry: T) {
        let at = key.index() / PAGE;
        if self.pages.len() <= at {
            self.pages.resize_with(at + 1, || None);
        }
        self.pages[at].get_or_insert_with(|| Box::new([T::default(); PAGE]))[key.index() % PAGE] = entry;
    }
}
