//! The names that values print under.
//!
//! A value keeps its author's name where nothing else in sight prints so; otherwise a number follows, `x$1`. A value
//! without a name is a number alone, `$3`. The least free number is taken, and numbers are free again when the
//! region ends in which they were given; since regions nest, the numbers in use are always the first few.

use super::words::{as_name, is_name, push_u64};
use crate::entity::{Name, Value};
use crate::func::Func;
use cranelift_entity::EntityRef;
use rustc_hash::FxHashMap;

/// A value that prints under the name of another one; the rest of the number says which.
const SHARED: u32 = 1 << 31;
/// A stem that is no name of the function; the rest of the number is its place among those.
const MADE: u32 = 1 << 31;
const UNKNOWN: u32 = u32::MAX;

/// The names in sight at one point of the text.
#[derive(Default)]
pub(super) struct Names {
    /// For each value: the number behind its stem, 0 for none.
    numbers: Vec<u32>,
    /// For each name of the function: the stem that it prints as.
    stems: Vec<u32>,
    /// For each stem that is a name of the function: how many values in sight have it.
    counts: Vec<u32>,
    /// Other stems, and how many values in sight have them.
    made: Vec<(Box<str>, u32)>,
    made_by_text: FxHashMap<Box<str>, u32>,
    /// The stems given, in order.
    given: Vec<u32>,
    unnamed: u32,
}

/// A point to go back to.
#[derive(Clone, Copy)]
pub(super) struct Mark {
    given: usize,
    unnamed: u32,
}

impl Names {
    /// Forgets all, and makes room for the values of `func`.
    pub(super) fn reset(&mut self, func: &Func) {
        self.numbers.clear();
        self.numbers.resize(func.n_value_ids(), 0);
        self.stems.clear();
        self.counts.clear();
        self.made.clear();
        self.made_by_text.clear();
        self.given.clear();
        self.unnamed = 0;
    }

    /// This point.
    pub(super) fn mark(&self) -> Mark {
        Mark { given: self.given.len(), unnamed: self.unnamed }
    }

    /// Takes back what was given since `mark`.
    pub(super) fn restore(&mut self, mark: Mark) {
        while self.given.len() > mark.given
            && let Some(stem) = self.given.pop()
        {
            *self.count(stem) -= 1;
        }
        self.unnamed = mark.unnamed;
    }

    /// Gives `value` its name, unless it shares one.
    pub(super) fn give(&mut self, func: &Func, value: Value) {
        if self.shares(value) {
            return;
        }
        let Some(name) = func.value_name(value) else {
            self.unnamed += 1;
            self.numbers[value.index()] = self.unnamed;
            return;
        };
        let stem = self.stem(func, name);
        let count = self.count(stem);
        let number = *count;
        *count += 1;
        self.numbers[value.index()] = number;
        self.given.push(stem);
    }

    /// Lets `value` print under the name of `other`.
    pub(super) fn share(&mut self, value: Value, other: Value) {
        let other = self.root(other);
        self.numbers[value.index()] = SHARED | other.as_u32();
    }

    /// Does `value` print under the name of another one?
    pub(super) fn shares(&self, value: Value) -> bool {
        self.numbers[value.index()] & SHARED != 0
    }

    /// Do `value` and `other` print under one name?
    pub(super) fn share_one(&self, value: Value, other: Value) -> bool {
        self.root(value) == self.root(other)
    }

    /// Keeps values from printing as `text`.
    pub(super) fn reserve(&mut self, func: &Func, text: &str) {
        let stem = match func.find_name(text) {
            Some(name) => name.as_u32(),
            None => self.made_stem(text),
        };
        let count = self.count(stem);
        *count = (*count).max(1);
    }

    /// Does `value` print as a number alone?
    pub(super) fn is_number(&self, func: &Func, value: Value) -> bool {
        func.value_name(self.root(value)).is_none()
    }

    /// Writes the name of `value`.
    pub(super) fn write(&self, func: &Func, out: &mut String, value: Value) {
        let value = self.root(value);
        let number = self.numbers[value.index()];
        let Some(name) = func.value_name(value) else {
            out.push('$');
            push_u64(out, u64::from(number));
            return;
        };
        match self.stems.get(name.index()) {
            Some(&stem) if stem != UNKNOWN && stem & MADE != 0 => out.push_str(&self.made[(stem & !MADE) as usize].0),
            Some(&stem) if stem != UNKNOWN => out.push_str(func.text(Name::from_u32(stem))),
            // A value that nothing gave a name: its function does not pass the verifier.
            _ => out.push_str(&as_name(func.text(name))),
        }
        if number > 0 {
            out.push('$');
            push_u64(out, u64::from(number));
        }
    }

    fn root(&self, value: Value) -> Value {
        match self.numbers[value.index()] {
            number if number & SHARED != 0 => Value::from_u32(number & !SHARED),
            _ => value,
        }
    }

    fn stem(&mut self, func: &Func, name: Name) -> u32 {
        if let Some(&stem) = self.stems.get(name.index())
            && stem != UNKNOWN
        {
            return stem;
        }
        let text = func.text(name);
        let stem = if is_name(text) {
            name.as_u32()
        } else {
            let text = as_name(text);
            match func.find_name(&text) {
                Some(name) => name.as_u32(),
                None => self.made_stem(&text),
            }
        };
        if self.stems.len() <= name.index() {
            self.stems.resize(name.index() + 1, UNKNOWN);
        }
        self.stems[name.index()] = stem;
        stem
    }

    fn made_stem(&mut self, text: &str) -> u32 {
        if let Some(&stem) = self.made_by_text.get(text) {
            return stem;
        }
        let stem = MADE | self.made.len() as u32;
        self.made.push((text.into(), 0));
        self.made_by_text.insert(text.into(), stem);
        stem
    }

    fn count(&mut self, stem: u32) -> &mut u32 {
        if stem & MADE != 0 {
            return &mut self.made[(stem & !MADE) as usize].1;
        }
        let idx = stem as usize;
        if self.counts.len() <= idx {
            self.counts.resize(idx + 1, 0);
        }
        &mut self.counts[idx]
    }
}
