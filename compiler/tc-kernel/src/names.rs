//! Names of an emitted text: the author's, made safe for the language and unique where they are visible.
//!
//! Languages let a block hide a name of an outer one. That is never used here: a name is taken while it is visible, so
//! that every mention means what its author meant.

use rustc_hash::{FxHashMap, FxHashSet};

/// A name as an identifier that may be declared; the second text where there is none.
pub type Safe = fn(&str, &str) -> String;

/// Longer names are cut.
pub const MAX_LENGTH: usize = 64;

/// The names of kernels and others at the outermost level.
pub struct Globals {
    safe: Safe,
    taken: FxHashSet<String>,
}

impl Globals {
    /// No names yet.
    pub fn new(safe: Safe) -> Globals {
        Globals { safe, taken: FxHashSet::default() }
    }

    /// A name for the kernel `symbol`.
    pub fn declare(&mut self, symbol: &str) -> String {
        let base = (self.safe)(symbol, "kernel");
        let mut name = base.clone();
        let mut nth = 0;
        while !self.taken.insert(name.clone()) {
            nth += 1;
            name = format!("{base}_{nth}");
        }
        name
    }
}

/// A name that is visible.
struct Entry {
    name: Box<str>,
    /// The author's name it was made from, and how many times that had been taken before.
    base: Box<str>,
    before: u32,
}

/// The names of one kernel.
pub struct Names {
    safe: Safe,
    visible: FxHashSet<Box<str>>,
    /// How many visible names were made from each author's name.
    counts: FxHashMap<Box<str>, u32>,
    stack: Vec<Entry>,
    /// Names of the author's that numbered ones keep clear of, so that those stay as they are.
    kept: FxHashSet<Box<str>>,
    n_temporaries: u32,
}

impl Names {
    /// No names yet. The author's names are `authors`.
    pub fn new<'a>(safe: Safe, authors: impl Iterator<Item = &'a str>) -> Names {
        Names {
            safe,
            visible: FxHashSet::default(),
            counts: FxHashMap::default(),
            stack: Vec::new(),
            kept: authors.map(Box::from).collect(),
            n_temporaries: 0,
        }
    }

    /// Opens a block. What is declared from now on goes out of sight when [`Names::leave`] is given the result.
    pub fn enter(&self) -> usize {
        self.stack.len()
    }

    /// Closes a block.
    pub fn leave(&mut self, mark: usize) {
        for entry in self.stack.drain(mark..).rev() {
            self.visible.remove(&entry.name);
            self.counts.insert(entry.base, entry.before);
        }
    }

    /// Declares a name made from the author's name `wanted`, or from `fallback` where that is empty.
    pub fn declare(&mut self, wanted: &str, fallback: &str) -> Box<str> {
        let base: Box<str> = (self.safe)(wanted, fallback).into();
        let before = self.counts.get(&base).copied().unwrap_or(0);
        let (mut nth, mut name) = (before, base.clone());
        while self.visible.contains(&name) || (nth > 0 && *name != *wanted && self.kept.contains(&name)) {
            nth += 1;
            let gap = if base.ends_with('_') { "" } else { "_" };
            name = format!("{base}{gap}{nth}").into();
        }
        self.push(name, base, before, nth)
    }

    /// Declares a name for a value that has none.
    pub fn temporary(&mut self) -> Box<str> {
        loop {
            self.n_temporaries += 1;
            let name: Box<str> = format!("t{}", self.n_temporaries).into();
            if !self.visible.contains(&name) && !self.kept.contains(&name) {
                return self.push(name.clone(), name, 0, 0);
            }
        }
    }

    fn push(&mut self, name: Box<str>, base: Box<str>, before: u32, count: u32) -> Box<str> {
        self.visible.insert(name.clone());
        self.counts.insert(base.clone(), count);
        self.stack.push(Entry { name: name.clone(), base, before });
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reserved::safe;

    #[test]
    fn names_are_kept_where_they_can_be() {
        let mut names = Names::new(safe, ["x", "t1", "x_1", "float"].into_iter());
        assert_eq!(&*names.declare("x", "v"), "x");
        let mark = names.enter();
        assert_eq!(&*names.declare("x", "v"), "x_2", "`x_1` is the author's");
        assert_eq!(&*names.declare("x_1", "v"), "x_1");
        assert_eq!(&*names.temporary(), "t2", "`t1` is the author's");
        names.leave(mark);
        assert_eq!(&*names.declare("x", "v"), "x_2", "the block is closed, so its names are free");
    }

    #[test]
    fn what_cuda_reserves_is_changed() {
        let mut names = Names::new(safe, std::iter::empty());
        for (name, want) in [
            ("float", "float_"),
            ("threadIdx", "threadIdx_"),
            ("__x", "v__x"),
            ("_X", "v_X"),
            ("_x", "_x"),
            ("expf", "expf_"),
            ("float4", "float4_"),
            ("make_int2", "make_int2_"),
            ("i$1", "i_1"),
            ("tc_lane", "tc_lane_"),
            ("ünder", "_nder"),
            ("", "v"),
            ("4th", "v4th"),
            ("r", "r"),
        ] {
            assert_eq!(&*names.declare(name, "v"), want);
        }
        assert_eq!(names.declare(&"x".repeat(1 << 20), "v").len(), MAX_LENGTH);
    }

    #[test]
    fn many_equal_names_cost_no_more_than_as_many_different_ones() {
        let mut names = Names::new(safe, std::iter::empty());
        for nth in 0..100_000u32 {
            let want = if nth == 0 { "i".to_string() } else { format!("i_{nth}") };
            assert_eq!(*names.declare("i", "v"), *want);
        }
    }
}
