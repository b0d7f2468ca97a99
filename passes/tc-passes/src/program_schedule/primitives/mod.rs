//! The directives over programs: a file each, and the table of them.
//!
//! A [`Primitive`] checks that a directive is legal, which changes nothing, and edits the program, which cannot fail.

mod bind;
mod bulk_copy;
mod cache_read;
mod cache_write;
mod cluster;
mod compute_at;
mod distribute;
mod double_buffer;
mod fuse;
mod pipeline;
mod pragma;
mod refuse;
mod reorder;
mod reverse_compute_at;
mod set_scope;
mod split;
mod storage_align;
mod swizzle;
mod tensorize;
mod tile;
mod transform_layout;
mod unroll;
mod vectorize;

pub(super) use refuse::explained;

use super::Item;
use super::cx::{Cx, Done};
use tc_dialects::sched;
use tc_ir::Opcode;

/// What a directive does to a program; of the view of its op.
trait Primitive {
    /// What a legal directive asks for.
    type Legal;

    /// Reads the operands, and refuses what is not legal.
    fn legality(cx: &Cx<'_>) -> Done<Self::Legal>;

    /// Does it, and gives what the results stand for.
    fn edit(cx: &mut Cx<'_>, legal: Self::Legal) -> Vec<Item>;
}

/// A row: what is known of a directive.
pub struct Directive {
    /// The name in schedules.
    pub name: &'static str,
    /// The page: the text at the head of its file.
    pub page: &'static str,
    opcode: Opcode,
    /// Checks a directive and applies it; gives what its results stand for.
    pub(super) apply: fn(&mut Cx<'_>) -> Done<Vec<Item>>,
}

impl Directive {
    const fn of<P: Primitive>(name: &'static str, page: &'static str, opcode: Opcode) -> Directive {
        let apply = |cx: &mut Cx<'_>| {
            let legal = P::legality(cx)?;
            Ok(P::edit(cx, legal))
        };
        Directive { name, page, opcode, apply }
    }

    /// The first paragraph of the page.
    pub fn summary(&self) -> String {
        self.page.split("\n\n").next().unwrap_or("").trim().replace('\n', " ")
    }
}

/// Makes the table. A line has the name, which is that of the file, and the view of the op.
macro_rules! table {
    ($($name:ident $primitive:ident;)*) => {
        const TABLE: &[Directive] = &[$(Directive::of::<sched::$primitive>(
            stringify!($name),
            tc_support::page!(concat!(stringify!($name), ".rs")),
            sched::$primitive::OPCODE,
        )),*];
    };
}

table! {
    split Split;
    fuse Fuse;
    tile Tile;
    reorder Reorder;
    distribute Distribute;
    bind Bind;
    vectorize Vectorize;
    unroll Unroll;
    pragma Pragma;
    cluster Cluster;
    tensorize Tensorize;
    cache_read CacheRead;
    cache_write CacheWrite;
    compute_at ComputeAt;
    reverse_compute_at ReverseComputeAt;
    set_scope SetScope;
    double_buffer DoubleBuffer;
    pipeline Pipeline;
    bulk_copy BulkCopy;
    storage_align StorageAlign;
    swizzle Swizzle;
    transform_layout TransformLayout;
}

/// The directives that a schedule of a program may use, in the order of the documents.
pub fn directives() -> &'static [Directive] {
    TABLE
}

/// The directive that `opcode` stands for.
pub(super) fn find(opcode: Opcode) -> Option<&'static Directive> {
    TABLE.iter().find(|info| info.opcode == opcode)
}
