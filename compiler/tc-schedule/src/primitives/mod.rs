//! The primitives: one file each, and the table of them.
//!
//! A primitive reads its operands, checks that it is legal (`legality`, which changes nothing), and edits the graph
//! (`edit`, which cannot fail).

mod bind;
mod cache_read;
mod cache_write;
mod compute_at;
mod compute_root;
mod double_buffer;
mod fuse;
mod inline;
mod pipeline;
mod pragma;
mod reorder;
mod rfactor;
mod set_scope;
mod set_store_predicate;
mod split;
mod storage_align;
mod swizzle;
mod tensorize;
mod tile;
mod transform_layout;
mod unroll;
mod vectorize;

use crate::directive::{Cx, Done};
use tc_dialects::sched;
use tc_ir::Opcode;

/// A row: what is known of a primitive.
pub struct PrimitiveInfo {
    /// The name in schedules.
    pub name: &'static str,
    /// The source of its file: the `//!` text at its head is its page.
    pub source: &'static str,
    /// The op that stands for it.
    pub opcode: Opcode,
    pub(crate) apply: Apply,
}

/// Checks a directive and applies it.
pub(crate) type Apply = fn(&mut Cx<'_>) -> Done<()>;

impl PrimitiveInfo {
    /// The page: the text at the head of the primitive's file.
    pub fn page(&self) -> String {
        let lines = self.source.lines().take_while(|line| line.starts_with("//!"));
        lines.map(|line| line.trim_start_matches("//!").strip_prefix(' ').unwrap_or("").to_string() + "\n").collect()
    }

    /// The first paragraph of the page.
    pub fn summary(&self) -> String {
        self.page().split("\n\n").next().unwrap_or("").trim().replace('\n', " ")
    }
}

macro_rules! table {
    ($($name:literal $module:ident $view:ident;)*) => {
        const TABLE: &[PrimitiveInfo] = &[$(PrimitiveInfo {
            name: $name,
            source: include_str!(concat!(stringify!($module), ".rs")),
            opcode: sched::$view::OPCODE,
            apply: $module::apply,
        }),*];
    };
}

table! {
    "split" split Split;
    "fuse" fuse Fuse;
    "tile" tile Tile;
    "reorder" reorder Reorder;
    "bind" bind Bind;
    "vectorize" vectorize Vectorize;
    "unroll" unroll Unroll;
    "tensorize" tensorize Tensorize;
    "pragma" pragma Pragma;
    "cache_read" cache_read CacheRead;
    "cache_write" cache_write CacheWrite;
    "compute_at" compute_at ComputeAt;
    "inline" inline Inline;
    "compute_root" compute_root ComputeRoot;
    "set_scope" set_scope SetScope;
    "storage_align" storage_align StorageAlign;
    "swizzle" swizzle Swizzle;
    "transform_layout" transform_layout TransformLayout;
    "double_buffer" double_buffer DoubleBuffer;
    "pipeline" pipeline Pipeline;
    "rfactor" rfactor Rfactor;
    "set_store_predicate" set_store_predicate SetStorePredicate;
}

/// Every primitive, in the order of the documents.
pub fn primitives() -> &'static [PrimitiveInfo] {
    TABLE
}

/// The name of the directive `opcode`, and what applies it.
pub(crate) fn find(opcode: Opcode) -> Option<(&'static str, Apply)> {
    TABLE.iter().find(|info| info.opcode == opcode).map(|info| (info.name, info.apply))
}
