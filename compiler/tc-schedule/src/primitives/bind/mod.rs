//! Binds a loop to a launch coordinate, or to virtual threads.
//!
//! # Arguments
//!
//! `bind(axis, blockIdx.x)`, also `.y` and `.z`, and `threadIdx`; or `bind(axis, vthread)`: virtual threads, which one
//! thread interleaves statement by statement (the pass `inject-virtual-thread`).
//!
//! # Legality
//!
//! - `axis` is a loop of its stage that is not bound, vectorized or unrolled.
//! - A stage binds a launch coordinate once.
//! - Loops of one kernel that are bound to one launch coordinate have equal extents; if one is shorter, a guard
//!   protects its body. If shared memory is filled inside it, a guard is impossible: the error names both directives.
//! - A reduction axis may be bound to threads, which then reduce together, but not to blocks, which no barrier orders.
//!   No data loop may be inside a loop of such a reduction, and all its thread loops have the extent of the launch.
//! - A stage in a storage scope `wmma.…` or `mma.…` has no loop bound to `threadIdx.x`: the 32 threads of a warp hold
//!   its tiles together. If the kernel around it binds `threadIdx.x`, its extent is a multiple of 32. For `wgmma.…` it is
//!   the 128 threads of a warpgroup, and a multiple of 128.
//!
//! # Rewrite
//!
//! ```tir
//! for i in 0..128 { A[i] = 0.0 }
//! ->
//! for i in 0..128 bind(threadIdx.x) { A[i] = 0.0 }
//! ```
//!
//! # Known elsewhere as
//!
//! `bind` (TVM), `gpu_blocks` and `gpu_threads` (Halide), mapping to `gpu.block` and `gpu.thread` (MLIR).

pub(crate) mod remedies;

use super::{Compared, Primitive};
use crate::directive::{Cx, Done, Item, code_list};
use crate::graph::{AxisId, Kind};
use remedies::other_coordinate;
use tc_dialects::sched::Bind;
use tc_dialects::tir::Coordinate;

impl Primitive for Bind {
    const COMPARED: Compared = Compared::Graph;
    type Legal = (AxisId, Kind);

    fn legality(cx: &Cx<'_>) -> Done<(AxisId, Kind)> {
        let axis = cx.leaf(cx.operand(0))?;
        let word = cx.sched.attr_named(cx.at, "thread").and_then(|attr| cx.sched.as_word(attr)).unwrap_or("");
        let kind = match Coordinate::parse(word) {
            Some(coordinate) => Kind::Launch(coordinate),
            None if word == "vthread" => Kind::Vthread,
            None => {
                return Err(cx.error("launch-coordinate", format!("there is no launch coordinate `{word}`")).into());
            }
        };
        cx.check_unsaid(axis)?;
        if let Kind::Launch(coordinate) = kind {
            let stage = cx.graph[axis].stage;
            if let Some(&other) = cx.graph[stage].leaves.iter().find(|&&leaf| cx.graph[leaf].kind == kind) {
                let name = coordinate.name();
                let text = format!(
                    "`{name}` is bound twice in `{}`: to `{}` and to `{}`",
                    cx.graph[stage].name, cx.graph[other].name, cx.graph[axis].name
                );
                let place = cx.location(cx.graph[other].kind_loc);
                let free: Vec<&str> = Coordinate::ALL
                    .into_iter()
                    .filter(|free| free.is_thread() == coordinate.is_thread())
                    .filter(|&free| {
                        !cx.graph[stage].leaves.iter().any(|&leaf| cx.graph[leaf].kind == Kind::Launch(free))
                    })
                    .map(Coordinate::name)
                    .collect();
                let help = match free[..] {
                    [] => "`fuse` the loops, and bind the one that results".to_string(),
                    _ => format!("free are {}; or `fuse` the loops", code_list(&free)),
                };
                return Err(cx
                    .error("bound-twice", text)
                    .label(place, format!("`{name}` is bound here"))
                    .help(help)
                    .fix_its(&[other_coordinate])
                    .into());
            }
            if cx.graph[axis].reduce && !coordinate.is_thread() {
                let text = format!(
                    "`{}` is an axis of a reduction, and nothing orders the blocks that would add to one element",
                    cx.show(axis)
                );
                let help = "bind it to threads, or `rfactor` it and bind the axis of the parts";
                return Err(cx.error("bind-reduction", text).help(help).into());
            }
        }
        Ok((axis, kind))
    }

    fn edit(cx: &mut Cx<'_>, (axis, kind): (AxisId, Kind)) -> Vec<Item> {
        cx.set_kind(axis, kind);
        Vec::new()
    }
}
