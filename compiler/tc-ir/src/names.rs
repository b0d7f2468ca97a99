//! Interned names, and the keys that every function knows.

use crate::entity::Name;
use cranelift_entity::EntityRef;
use indexmap::IndexSet;
use rustc_hash::FxBuildHasher;

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
    SHARED = "shared",
    SHARED_DYN = "shared.dyn",
    LOCAL = "local",
    WARP = "warp",
    KERNEL = "kernel",
    BLOCK_X = "blockIdx.x",
    BLOCK_Y = "blockIdx.y",
    BLOCK_Z = "blockIdx.z",
    THREAD_X = "threadIdx.x",
    THREAD_Y = "threadIdx.y",
    THREAD_Z = "threadIdx.z",
    VTHREAD = "vthread",
    EXPLICIT = "explicit",
    HAS_WHERE = "has_where",
    N_AXES = "n_axes",
}

/// The names of one function.
#[derive(Clone, Debug)]
pub(crate) struct NameTable {
    set: IndexSet<Box<str>, FxBuildHasher>,
}

impl NameTable {
    pub(crate) fn new() -> NameTable {
        let mut set = IndexSet::with_capacity_and_hasher(KNOWN.len() + 16, FxBuildHasher);
        set.extend(KNOWN.iter().map(|&text| Box::from(text)));
        NameTable { set }
    }

    pub(crate) fn intern(&mut self, text: &str) -> Name {
        if let Some(idx) = self.set.get_index_of(text) {
            return Name::new(idx);
        }
        Name::new(self.set.insert_full(text.into()).0)
    }

    pub(crate) fn find(&self, text: &str) -> Option<Name> {
        self.set.get_index_of(text).map(Name::new)
    }

    pub(crate) fn text(&self, name: Name) -> &str {
        &self.set[name.index()]
    }

    pub(crate) fn shrink(&mut self) {
        self.set.shrink_to_fit();
    }
}
