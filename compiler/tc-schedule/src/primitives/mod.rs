//! The primitives: a folder each, and the table of them.
//!
//! A [`Primitive`] checks that a directive is legal, which changes nothing, and edits the graph, which cannot fail. What it
//! says of a stage or an axis that loops and attachments do not show is a part of its own (`part.rs`). docs/add-a-primitive.md
//! goes through it step by step.

pub(crate) mod bind;
mod bulk_copy;
mod cache_read;
mod cache_write;
mod cluster;
pub(crate) mod compute_at;
pub(crate) mod compute_root;
mod dispatch;
mod double_buffer;
mod fuse;
mod inline;
mod pad;
mod part;
mod pipeline;
mod pragma;
mod reorder;
mod rfactor;
pub(crate) mod set_scope;
mod set_store_predicate;
mod split;
mod storage_align;
mod swizzle;
mod tensorize;
mod tile;
mod transform_layout;
mod unroll;
mod vectorize;

pub(crate) use part::{AxisPart, Part, StagePart};
pub use transform_layout::Layout;

use crate::directive::{Cx, Done, Item};
use tc_dialects::sched;
use tc_ir::Opcode;

/// What a directive does to the graph; of the view of its op.
pub(crate) trait Primitive {
    /// What tells apart two schedules that have such directives.
    const COMPARED: Compared = Compared::Directives;
    /// Does it say where a stage is computed?
    const ATTACHES: bool = false;

    /// Does the author promise something that nothing checks?
    const PROMISES: bool = false;

    /// What a legal directive asks for.
    type Legal;

    /// Reads the operands, and refuses what is not legal.
    fn legality(cx: &Cx<'_>) -> Done<Self::Legal>;

    /// Does it, and gives what the results stand for.
    fn edit(cx: &mut Cx<'_>, legal: Self::Legal) -> Vec<Item>;
}

/// What the membership test compares of two schedules with directives of a kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Compared {
    /// Stages, loops and attachments, which show all that the directives say.
    Graph,
    /// The directives as well, operand by operand and attribute by attribute.
    Directives,
}

/// A row: what is known of a primitive.
pub struct PrimitiveInfo {
    /// The name in schedules.
    pub name: &'static str,
    /// The page: the text at the head of its `mod.rs`.
    pub page: &'static str,
    /// The op that stands for it.
    pub opcode: Opcode,
    /// Does the author promise something that nothing checks?
    pub promises: bool,
    pub(crate) compared: Compared,
    pub(crate) attaches: bool,
    /// Checks a directive and applies it; gives what its results stand for.
    pub(crate) apply: fn(&mut Cx<'_>) -> Done<Vec<Item>>,
}

impl PrimitiveInfo {
    const fn of<P: Primitive>(name: &'static str, page: &'static str, opcode: Opcode) -> PrimitiveInfo {
        let apply = |cx: &mut Cx<'_>| {
            let legal = P::legality(cx)?;
            Ok(P::edit(cx, legal))
        };
        let (promises, compared, attaches) = (P::PROMISES, P::COMPARED, P::ATTACHES);
        PrimitiveInfo { name, page, opcode, promises, compared, attaches, apply }
    }

    /// The first paragraph of the page.
    pub fn summary(&self) -> String {
        self.page.split("\n\n").next().unwrap_or("").trim().replace('\n', " ")
    }
}

/// Makes the table, and the sets of the parts that it names. A line has the name, which is that of the folder, the view of
/// the op, and the part that the primitive leaves in a stage, in an axis.
macro_rules! table {
    ($($name:ident $primitive:ident $(stage $stage:ident)? $(axis $axis:ident)?;)*) => {
        const TABLE: &[PrimitiveInfo] = &[$(PrimitiveInfo::of::<sched::$primitive>(
            stringify!($name),
            tc_support::page!(concat!(stringify!($name), "/mod.rs")),
            sched::$primitive::OPCODE,
        )),*];

        part::parts! {
            /// What primitives left in a stage.
            StageParts of StagePart; $($($name: $name::$stage,)?)*
        }

        part::parts! {
            /// What primitives left in an axis.
            AxisParts of AxisPart; $($($name: $name::$axis,)?)*
        }
    };
}

// In the order of the documents, which is that of the attributes that parts write.
table! {
    split Split;
    fuse Fuse;
    tile Tile;
    reorder Reorder;
    bind Bind;
    vectorize Vectorize;
    unroll Unroll;
    pragma Pragma axis Hints;
    cluster Cluster axis Clustered;
    tensorize Tensorize axis Intrinsic;
    cache_read CacheRead;
    cache_write CacheWrite;
    rfactor Rfactor;
    compute_at ComputeAt;
    inline Inline;
    compute_root ComputeRoot;
    set_scope SetScope;
    transform_layout TransformLayout stage Layout;
    double_buffer DoubleBuffer stage Twofold;
    pipeline Pipeline stage CopiedAhead axis Pipelined;
    bulk_copy BulkCopy stage CopiedInBulk;
    swizzle Swizzle stage XorBits;
    storage_align StorageAlign stage Paddings;
    pad Pad stage Padded;
    set_store_predicate SetStorePredicate stage Predicate;
    dispatch Dispatch;
}

/// Every primitive, in the order of the documents.
pub fn primitives() -> &'static [PrimitiveInfo] {
    TABLE
}

/// The primitive that `opcode` stands for.
pub(crate) fn find(opcode: Opcode) -> Option<&'static PrimitiveInfo> {
    TABLE.iter().find(|info| info.opcode == opcode)
}
