//! Interned names, and the keys that every function knows.

use crate::entity::Name;
use cranelift_entity::EntityRef;
use hashbrown::HashTable;
use rustc_hash::FxHasher;
use std::hash::Hasher;

macro_rules! known_keys {
    ($($const:ident = $text:literal),* $(,)?) => {
        /// Names with the same number in every function: the attribute keys and words that passes ask for.
        pub mod keys {
            use crate::entity::Name;
            known_keys!(@consts 0u32; $($const $text,)*);
        }
        const KNOWN: &[&str] = &[$($text),*];
    };
    (@consts $n:expr;) => {};
    (@consts $n:expr; $const:ident $text:literal, $($rest:tt)*) => {
        #[doc = concat!("`", $text, "`")]
        pub const $const: Name = Name::known($n);
        known_keys!(@consts $n + 1u32; $($rest)*);
    };
}

known_keys! {
    VALUE = "value",
    KIND = "kind",
    AXIS = "axis",
    FACTOR = "factor",
    PREDICATE = "predicate",
    CALLEE = "callee",
    SCOPE = "scope",
    ALIGN = "align",
    ALIGNED = "aligned",
    STRIDES = "strides",
    LAYOUT = "layout",
    LANES = "lanes",
    NAME = "name",
    COMBINER = "combiner",
    NOALIAS = "noalias",
    PRIVATE = "private",
    ASSUMED = "assumed",
    THREADED = "threaded",
    DEVICE = "device",
    IMPLEMENTS = "implements",
    TARGET = "target",
    OP_NAME = "op.name",
    SERIAL = "serial",
    UNROLL = "unroll",
    VECTORIZE = "vectorize",
    BIND = "bind",
    GLOBAL = "global",
    KERNEL = "kernel",
    EXPLICIT = "explicit",
    HAS_WHERE = "has_where",
    N_AXES = "n_axes",
    STAGES = "stages",
    AXES = "axes",
    MODE = "mode",
    WIDTH = "width",
    TENSORIZE = "tensorize",
    ASYNC = "async",
    SWIZZLE = "swizzle",
    SWIZZLED = "swizzled",
    STRIDE = "stride",
    TRANSPOSED = "transposed",
    A_LAYOUT = "a_layout",
    B_LAYOUT = "b_layout",
    WHEN = "when",
    PENDING = "pending",
    ROW_MAJOR = "row_major",
    COL_MAJOR = "col_major",
    NUMERICS = "numerics",
    OFFSET_FACTOR = "offset_factor",
    PANEL = "panel",
    BULK = "bulk",
    BULK_OUT = "bulk_out",
    BYTES = "bytes",
    COUNT = "count",
    EXTENTS = "extents",
    STEPS = "steps",
    READ = "read",
    BACKGROUND = "background",
    ACTION = "action",
    CLUSTER = "cluster",
    MULTICAST = "multicast",
    A_DESCRIPTOR = "a_descriptor",
    B_DESCRIPTOR = "b_descriptor",
    NAMED = "named",
    A_ROWS = "a_rows",
    PIECES = "pieces",
}

/// The name `text`, if it is one that has the same number in every function.
pub(crate) fn known(text: &str) -> Option<Name> {
    KNOWN.iter().position(|&known| known == text).map(|idx| Name::known(idx as u32))
}

/// The names of one function, in one piece of text: a name costs its letters, an offset and a place in the index.
#[derive(Clone, Debug)]
pub(crate) struct NameTable {
    text: String,
    /// Where each name ends; it starts where the one before it ends.
    ends: Vec<u32>,
    index: HashTable<u32>,
}

fn hash_of(text: &str) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(text.as_bytes());
    hasher.finish()
}

/// The text of name number `idx`.
fn slice<'t>(text: &'t str, ends: &[u32], idx: usize) -> &'t str {
    let start = if idx == 0 { 0 } else { ends[idx - 1] };
    &text[start as usize..ends[idx] as usize]
}

impl NameTable {
    pub(crate) fn new() -> NameTable {
        let mut table = NameTable { text: String::new(), ends: Vec::new(), index: HashTable::new() };
        for text in KNOWN {
            table.intern(text);
        }
        table
    }

    pub(crate) fn intern(&mut self, text: &str) -> Name {
        let hash = hash_of(text);
        let NameTable { text: all, ends, index } = self;
        if let Some(&idx) = index.find(hash, |&idx| slice(all, ends, idx as usize) == text) {
            return Name::from_u32(idx);
        }
        let idx = ends.len() as u32;
        all.push_str(text);
        ends.push(all.len() as u32);
        if index.len() == index.capacity() {
            self.grow();
        } else {
            index.insert_unique(hash, idx, |_| unreachable!("there is room"));
        }
        Name::from_u32(idx)
    }

    /// Makes the index anew, twice as large. In the order of the text, which is read faster so than in that of the hashes.
    #[cold]
    fn grow(&mut self) {
        let mut index = HashTable::with_capacity(2 * self.index.capacity().max(KNOWN.len()));
        for idx in 0..self.ends.len() {
            let hash = hash_of(slice(&self.text, &self.ends, idx));
            index.insert_unique(hash, idx as u32, |_| unreachable!("there is room"));
        }
        self.index = index;
    }

    pub(crate) fn find(&self, text: &str) -> Option<Name> {
        let found = self.index.find(hash_of(text), |&idx| slice(&self.text, &self.ends, idx as usize) == text);
        found.copied().map(Name::from_u32)
    }

    pub(crate) fn text(&self, name: Name) -> &str {
        slice(&self.text, &self.ends, name.index())
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn shrink(&mut self) {
        self.text.shrink_to_fit();
        self.ends.shrink_to_fit();
    }
}
