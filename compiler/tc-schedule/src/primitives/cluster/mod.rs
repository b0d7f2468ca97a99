//! Makes clusters of blocks that follow each other, which bring what they read alike once, for all of them.
//!
//! # Arguments
//!
//! `cluster(axis, size = 2)`: the axis is bound to `blockIdx.x`, and so many of its iterations, from 2 to 8, that follow each
//! other are a cluster, from a multiple of `size` on.
//!
//! What `bulk_copy` brings alike to all of them is divided: each block brings a part, to the same place in the shared
//! memory of all (multicast). Usually the axis is a `fuse` of a loop over clusters and one over the blocks of a cluster,
//! and a tile of one factor is read by all of a cluster. No schedule says which copies are shared: the pass
//! `warp-specialize` proves it, and derives the barriers between the blocks.
//!
//! # Legality
//!
//! - `axis` is a loop of its stage, bound to `blockIdx.x` before or after this directive, which is checked at the end of the
//!   schedule.
//!
//! Passes check the rest: `verify-gpu-limits` that the number of blocks is a constant which `size` divides and that the target
//! has clusters (sm_90 and newer); `warp-specialize` that the blocks of a cluster bring equally many boxes, share one at least, and read
//! boxes by products of warpgroups alone.
//!
//! # Rewrite
//!
//! ```tir
//! for b in 0..132 bind(blockIdx.x) { … }
//! -> cluster(b, size = 2)
//! for b in 0..132 bind(blockIdx.x) attributes {cluster = 2} { … }
//! ```
//!
//! # Known elsewhere as
//!
//! `__cluster_dims__` (CUDA), `clusterCtaIdx` (TVM), `cluster_dims` (Triton, TileLang), `gpu.launch clusters` (MLIR).

mod check;

use super::{AxisPart, Primitive};
use crate::check::Check;
use crate::directive::{Cx, Done, Item};
use crate::graph::{AxisId, StageId};
use tc_dialects::sched::Cluster;
use tc_dialects::tir::MAX_CLUSTER;
use tc_ir::{Attr, Func, Loc, Name, keys};

/// How many iterations of a loop over blocks are a cluster, and the directive that says so.
#[derive(Clone, Debug)]
pub(crate) struct Clustered {
    size: i64,
    loc: Loc,
}

impl Primitive for Cluster {
    type Legal = (AxisId, i64);

    fn legality(cx: &Cx<'_>) -> Done<(AxisId, i64)> {
        let axis = cx.leaf(cx.operand(0))?;
        let size = cx.int(cx.operand(1))?;
        if !(2..=MAX_CLUSTER).contains(&size) {
            let text = format!("a cluster has 2 to {MAX_CLUSTER} blocks, not {size}");
            return Err(cx.wrong_number(text).help("take `size = 2`, or leave it out").into());
        }
        if let Some(Clustered { loc, .. }) = cx.graph[axis].parts.get() {
            let text = format!("that blocks along `{}` make clusters was said before", cx.show(axis));
            return Err(cx.said_twice(text).label(cx.location(*loc), "here").into());
        }
        Ok((axis, size))
    }

    fn edit(cx: &mut Cx<'_>, (axis, size): (AxisId, i64)) -> Vec<Item> {
        let loc = cx.loc();
        cx.graph[axis].parts.set(Clustered { size, loc });
        cx.touch_loop(axis);
        Vec::new()
    }
}

impl AxisPart for Clustered {
    fn check(&self, check: &mut Check<'_>, stage: StageId, axis: AxisId) {
        if check.is_whole() {
            check::are_blocks(self, check, stage, axis);
        }
    }

    fn attrs(&self, func: &mut Func) -> Vec<(Name, Attr)> {
        vec![(keys::CLUSTER, func.int_attr(self.size))]
    }
}
